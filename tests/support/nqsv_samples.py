"""What NQSV printed, from `hackathon/schedulers/nqsv/samples`: public records of Pegasus, Cygnus, SQUID and Kiel."""

import re
from pathlib import Path

from hackathon.schedulers.base import CommandOutput
from hackathon.schedulers.nqsv import commands

SAMPLES = Path(commands.__file__).parent / "samples"


def text(name: str) -> str:
    """Return a sample without its remarks."""
    kept = [line for line in (SAMPLES / name).read_text("utf-8").splitlines(True) if not line.startswith("#")]
    return "".join(kept)


def said(argv: str, out: str = "", err: str = "", code: int = 0) -> CommandOutput:
    return CommandOutput(tuple(argv.split()), code, out, err)


def recorded(name: str) -> dict[str, CommandOutput]:
    """Return command line → answer of every `$ command` of a sample; its exit code is taken to be 0."""
    found = {}
    for line, body in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", text(name), re.MULTILINE):
        argv = re.split(r" {2,}", line)[0]
        found[argv] = said(argv, body)
    return found


BLOCK = recorded("qstat_f.txt")["qstat -f 949571.nqsv"]
"""Post-running, 4 s after its script ended with 17."""
JOB = recorded("qstat_f.txt")["qstat -J -f 949571.nqsv"]
ANSWERS = recorded("qsub_qstat.txt")
LEFT = text("stderr_tail.txt")
QUEUES = recorded("qstat_Q.txt")["qstat -Q"]
TABLE = ANSWERS["qstat"]


def block(number: int = 949571, **values: str) -> str:
    """Return the recorded block of another request, with other values; names have `_` in place of blanks."""
    changed = BLOCK.stdout.replace("949571", str(number))
    for name, value in values.items():
        wanted = rf"^( {{4}}{name.replace('_', ' +')} *=) .*$"
        changed, count = re.subn(wanted, lambda match, value=value: f"{match[1]} {value}", changed, flags=re.MULTILINE)
        assert count == 1, name
    return changed
