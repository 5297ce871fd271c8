"""State of the PBS stand-in: jobs as JSON files under $PBS_STUB_DIR, configuration, faults.

No line of product code. Wordings and exit codes are those of an OpenPBS 23.06.06; every one names its sample, a file of
`hackathon/schedulers/pbs/samples`. What the real server was not seen to do is marked "not recorded".

`$PBS_STUB_DIR/server.json` (all keys optional) changes CONFIGURATION below. `$PBS_STUB_DIR/faults` holds lines
`command fault [count]`, e.g. `qstat down 2`; `*` is every command; with a count the line is used that often. The same
text in $PBS_STUB_FAULT holds for ever. Faults of any command: down, hang, garbage, non_utf8, truncated. Of qsub:
accept_then_hang, accept_then_down (the job is there, the answer is not). Of mom: prologue, mem, dead. Of qstat:
missing_block.
"""

import contextlib
import fcntl
import json
import os
import sys
import time
from pathlib import Path

ROOT = Path(os.environ.get("PBS_STUB_DIR", "/tmp/pbs_stub"))

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


def configuration() -> dict:
    """Return CONFIGURATION with the keys of server.json put over it."""
    try:
        return {**CONFIGURATION, **json.loads((ROOT / "server.json").read_text())}
    except FileNotFoundError:
        return dict(CONFIGURATION)


SERVER = configuration()["server"]


def connected(times: int) -> None:
    """Count connections to the server: reserved_ports.txt, one for each id of a `qstat`."""
    ROOT.mkdir(parents=True, exist_ok=True)
    with (ROOT / "connections").open("a") as stream:
        stream.write("+" * times)


@contextlib.contextmanager
def locked():
    """Hold the server's lock."""
    ROOT.mkdir(parents=True, exist_ok=True)
    with (ROOT / "lock").open("a") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield


def next_number() -> int:
    """Return a job number that was never used; needs the lock."""
    path = ROOT / "next"
    number = int(path.read_text()) if path.exists() else 1
    path.write_text(str(number + 1))
    return number


def folder(name: str) -> Path:
    """Return a folder of the state, made when missing."""
    path = ROOT / name
    path.mkdir(parents=True, exist_ok=True)
    return path


def read(number: int) -> dict:
    return json.loads((folder("jobs") / f"{number}.json").read_text())


def write(job: dict) -> None:
    """Replace a job's record, so that readers see the old or the new one."""
    path = folder("jobs") / f"{job['number']}.json"
    temporary = path.with_suffix(f".{os.getpid()}.tmp")
    temporary.write_text(json.dumps(job))
    temporary.rename(path)


def change(number: int, **values) -> dict:
    """Change a job's attributes under the lock and return it; None removes an attribute."""
    with locked():
        job = read(number)
        job["attributes"] = {
            key: value for key, value in {**job["attributes"], **values, "mtime": clock()}.items() if value is not None
        }
        write(job)
        return job


def all_jobs() -> list:
    """Return all jobs in the order of their numbers."""
    return [read(int(path.stem)) for path in sorted(folder("jobs").glob("*.json"), key=lambda path: int(path.stem))]


def clock(moment=None) -> str:
    """Return a time as the server prints it: qstat_running.txt, "Sat Nov 21 07:07:15 2026"."""
    return time.strftime("%a %b %e %H:%M:%S %Y", time.localtime(moment))


def alive(pid) -> bool:
    try:
        return Path(f"/proc/{int(pid)}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (OSError, ValueError, TypeError):
        return False


def full_id(number: int) -> str:
    return f"{number}.{SERVER}"


def parse_id(text: str):
    """Return the number of `33`, `33.pbslogin` or `33.pbslogin.domain`, None when it is no job id."""
    number, _, host = text.partition(".")
    return int(number) if number.isdigit() and host.partition(".")[0] in ("", SERVER) else None


def fault(command: str) -> str:
    """Return the fault that is to happen now, or ""; a counted one is used up by this."""
    for line in os.environ.get("PBS_STUB_FAULT", "").splitlines():
        name, _, kind = line.strip().partition(" ")
        if name in (command, "*"):
            return kind.strip()
    path = ROOT / "faults"
    if not path.exists():
        return ""
    with locked():
        lines = path.read_text().splitlines()
        for position, line in enumerate(lines):
            name, kind, *count = [*line.split(), "", ""][:3] if line.strip() else ["", "", ""]
            if name not in (command, "*") or (command == "mom" and name == "*"):
                continue
            if count[0]:
                left = int(count[0]) - 1
                lines[position] = f"{name} {kind} {left}" if left else ""
                path.write_text("\n".join(lines))
            return kind
    return ""


def general_fault(command: str) -> str:
    """Do what a fault of any command does; return the fault when it is the command's own."""
    kind = fault(command)
    if kind == "hang":
        time.sleep(3600)
    if kind == "down":
        down(command)
    if kind == "garbage":
        print("<html><body>502 Bad Gateway</body></html>")
        sys.exit(0)
    if kind == "non_utf8":
        # pbsdsh_tmrsh_behaviour.txt: bytes of uninitialised memory in a message
        sys.stdout.buffer.write(b"\xfe\xffmH\x80\x81: \xc3\x28\n")
        sys.stdout.flush()
        sys.exit(0)
    return kind


def down(command: str) -> None:
    """End as when the server's daemon is not there."""
    if command == "qdel":
        # qdel.txt: "Connection refused / Couldn't connect to cluster: pbslogin", exit 162
        fail(f"Connection refused\nCouldn't connect to cluster: {SERVER}", 162)
    # server_down.txt: "qstat: cannot connect to server pbslogin (errno=15010)"; qstat ends with 255, others with 162
    code = 255 if command == "qstat" else 162
    fail(f"Connection refused\n{command}: cannot connect to server {SERVER} (errno=15010)", code)


def fail(text: str, code: int) -> None:
    print(text, file=sys.stderr)
    sys.exit(code)
