"""The server of the NQSV stand-in: its configuration and its words; `batch_stub` keeps the jobs.

No line of product code. Answers are those of the samples in `hackathon/schedulers/nqsv/samples`; what is on no record
is marked "not recorded". NQSV itself was never run.

Faults beside those of every stand-in: truncated. Of qsub: accept_then_hang, accept_then_down (the request is there, the
answer is not).
"""

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "batch_stub"))

import store
from store import (  # noqa: F401
    ROOT,
    all_jobs,
    configuration,
    fail,
    fault,
    folder,
    general_fault,
    locked,
    next_number,
    read,
    write,
)

store.DEFAULTS.update(
    server="nqsv",
    hosts=["bnode001", "bnode002", "bnode003", "bnode004"],  # qstat_f.txt: bnode009(9)
    queues={  # qsub_qstat.txt
        "gen_S": {},
        "gpu": {"refusal": "EACCESSDEN"},
        "debug": {"refusal": "EWRNGTYP (Queue type is wrong)"},
    },
    shown=1.0,  # seconds that an ended request stays in qstat; qstat_f.txt: 6
)
WAITING, RUNNING, ENDED, GONE = "Queued", "Running", "Post-running", "gone"


def server() -> str:
    return configuration()["server"]


def full_id(number: int) -> str:
    return f"{number}.{server()}"


def parse_id(text: str):
    """Return the number of `33` or `33.nqsv`, None when it is no request's id."""
    number, _, host = text.partition(".")
    return int(number) if number.isdigit() and host in ("", server()) else None


def known(text: str):
    """Return the request of an id, None for one that was never there or is gone."""
    number = parse_id(text)
    try:
        job = read(number) if number is not None else None
    except FileNotFoundError:
        return None
    return job if job and job["state"] != GONE else None


def change(number: int, **values) -> dict:
    """Change a request under the lock and return it."""
    with locked():
        job = read(number)
        if "state" in values:
            values = {"previous": job["state"], "changed": time.time(), **values}
        job.update(values)
        write(job)
        return job


def clock(moment) -> str:
    """Return a time as qstat_f.txt has it, "Wed Aug 26 16:06:26 2026"; "(none)" for none."""
    return time.strftime("%a %b %e %H:%M:%S %Y", time.localtime(moment)) if moment else "(none)"


def down(command: str) -> None:
    """End as when the server does not answer: not recorded."""
    fail(f"{command}: cannot connect to the batch server", 1)
