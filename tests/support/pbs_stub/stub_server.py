"""The server of the PBS stand-in: its configuration and its words; `batch_stub` keeps the jobs.

No line of product code. Wordings and exit codes are those of an OpenPBS 23.06.06; every one names its sample, a file of
`hackathon/schedulers/pbs/samples`. What the real server was not seen to do is marked "not recorded".

Faults beside those of every stand-in: truncated. Of qsub: accept_then_hang, accept_then_down (the job is there, the
answer is not). Of mom: prologue, mem, dead. Of qstat: missing_block, bad_bytes.
"""

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "batch_stub"))

import store
from store import (  # noqa: F401
    ROOT,
    alive,
    all_jobs,
    configuration,
    fail,
    fault,
    folder,
    locked,
    next_number,
    read,
    write,
)

CONFIGURATION = {
    "server": "pbslogin",  # qstat_running.txt: "server = pbslogin"
    "hosts": ["pn01", "pn02", "pn03", "pn04"],  # pbsnodes_a_with_jobs.json has pn01, pn02
    "ncpus": 16,  # resources_available.ncpus there
    "queues": {  # qstat_Q_f.json
        "workq": {},
        "h-small": {"walltime": 3600, "min_walltime": 10},
        "stopped": {"started": False},
        "disabled": {"enabled": False},
    },
    "default_queue": "workq",
    "default_place": "free",
    "groups": ["gi99"],  # the groups that `-W group_list=` takes
    "history": True,
    "wrap_option": True,  # False: `-w` is a usage error, as on old servers (not recorded)
    "user_limit": 0,  # jobs in the queues; 0: none
    "refuse_root": False,
    "kill_delay": 2.0,  # seconds between TERM and KILL
}


store.DEFAULTS.update(CONFIGURATION)
SERVER = configuration()["server"]


def connected(times: int) -> None:
    """Count connections to the server: reserved_ports.txt, one for each id of a `qstat`."""
    ROOT.mkdir(parents=True, exist_ok=True)
    with (ROOT / "connections").open("a") as stream:
        stream.write("+" * times)


def change(number: int, **values) -> dict:
    """Change a job's attributes under the lock and return it; None removes an attribute."""
    with locked():
        job = read(number)
        job["attributes"] = {
            key: value for key, value in {**job["attributes"], **values, "mtime": clock()}.items() if value is not None
        }
        write(job)
        return job


def clock(moment=None) -> str:
    """Return a time as the server prints it: qstat_running.txt, "Sat Nov 21 07:07:15 2026"."""
    return time.strftime("%a %b %e %H:%M:%S %Y", time.localtime(moment))


def full_id(number: int) -> str:
    return f"{number}.{SERVER}"


def parse_id(text: str):
    """Return the number of `33`, `33.pbslogin` or `33.pbslogin.domain`, None when it is no job id."""
    number, _, host = text.partition(".")
    return int(number) if number.isdigit() and host.partition(".")[0] in ("", SERVER) else None


def general_fault(command: str) -> str:
    """Do what a fault of any command does; return the fault when it is the command's own."""
    return store.general_fault(command, down)


def down(command: str) -> None:
    """End as when the server's daemon is not there."""
    if command == "qdel":
        # qdel.txt: "Connection refused / Couldn't connect to cluster: pbslogin", exit 162
        fail(f"Connection refused\nCouldn't connect to cluster: {SERVER}", 162)
    # server_down.txt: "qstat: cannot connect to server pbslogin (errno=15010)"; qstat ends with 255, others with 162
    code = 255 if command == "qstat" else 162
    fail(f"Connection refused\n{command}: cannot connect to server {SERVER} (errno=15010)", code)
