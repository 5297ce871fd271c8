"""The manager of the PJM stand-in: its configuration and its words; `batch_stub` keeps the jobs.

No line of product code. No PJM was at hand: every answer is one on record and names its sample, a file of
`hackathon/schedulers/pjm/samples`, or a page; what is not on record is marked "not recorded".

Faults beside those of every stand-in, of pjsub: accept_then_hang, accept_then_down (the job is there, the answer is
not). Of pjstat: truncated, missing_row. Of mom: dead, memory.
"""

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "batch_stub"))

import store
from store import ROOT, all_jobs, configuration, fail, folder, locked, next_number, read, write  # noqa: F401

CONFIGURATION = {
    "hosts": ["wa01", "wa02", "wa03", "wa04"],
    "queues": {"small": {}},  # pjstat_v_H_fugaku.txt: RSC_GRP "small"
    "stopped": False,  # whether jobs wait: pjm_codes.txt, "RSCGRP STOP"
    "groups": [],  # who may pay; empty: `-g` is not needed
    "accept": 0,  # jobs that a user may have; 0: no limit
    "kill_delay": 10.0,  # seconds between SIGXCPU and SIGKILL: pjm_codes.txt
    "not_before": "",  # a file in the folder of a job: its walltime does not end it before that is there
    "first": 49047829,  # pjstat_v_H_fugaku.txt
}
store.DEFAULTS.update(CONFIGURATION)
OPEN = ("QUE", "RUN", "RNO")


def change(number: int, **values) -> dict:
    """Change a job's record under the lock and return it."""
    with locked():
        job = {**read(number), **values}
        write(job)
        return job


def clock(moment) -> str:
    """Return a time as tables print it, without a year: pjstat_v_H_fugaku.txt, "06/01 15:03:44"."""
    return time.strftime("%m/%d %H:%M:%S", time.localtime(moment))


def general_fault(command: str) -> str:
    """Do what a fault of any command does; return the fault when it is the command's own."""
    return store.general_fault(command, down)


def down(command: str) -> None:
    """End as when the manager is not there; number and words are not recorded."""
    fail(f"[ERR.] PJM 0090 {command} Failed to connect to the job manager.", 1)
