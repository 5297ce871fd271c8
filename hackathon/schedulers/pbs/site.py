"""The `qstat` of a site that has its own (Miyabi): its table, its list of queues, and its words for "no such job".

What is on record of it lies in `samples/miyabi_qstat.txt`. The blocks that it prints with `-f` are PBS's own. Of its
table only the id, the name and the state's word are used: a start in parentheses is planned, and FINISH says nothing
about success. The table has no end mark, so nothing follows from a job that is not in it.
"""

import re
from typing import NamedTuple

from hackathon.schedulers.base import HELD, QUEUED, RUNNING, CommandOutput
from hackathon.schedulers.machine import QueueInfo

ACTIVE = {"QUEUED": QUEUED, "RUNNING": RUNNING, "HELD": HELD}
"""Word of the table → state; every other word needs a question about the job itself."""
CUT_NAME = 10
"""Letters of a name that the table shows at most; `-ll` shows 64."""
MOST_ENDED = 100
"""Ended jobs that are listed at most: a list of as many may lack some."""

_NONE = frozenset({"No unfinished job found.", "No finished job found.", "No matching job found."})
_HEADING = re.compile(r"JOB_ID +JOB_NAME +STATUS +PROJECT +QUEUE\b", re.ASCII)
_ROW = re.compile(r"((?:0|[1-9]\d*)(?:\[[\d,:-]*\])?(?:\.[\w.:-]+)?) +(\S+) +([A-Z_]+) +\S+ +\S+ +\S", re.ASCII)
_QUEUE = re.compile(
    r"(?P<branch> *(?:\|--|`--) )?(?P<name>[A-Za-z]\S*)(?: +\[(?P<words>[A-Z, ]+)\] +(?P<nodes>\d+).*)?\Z"
)


class Row(NamedTuple):
    """One job of the table."""

    job_id: str
    name: str
    word: str
    """The state as the site calls it."""


def says_none(answer: CommandOutput) -> bool:
    """Return whether the answer is a whole sentence that there is no such job; its exit code is 0."""
    sentences = {line.strip() for text in (answer.stdout, answer.stderr) for line in text.split("\n")[:-1]}
    return answer.exit_code == 0 and not sentences.isdisjoint(_NONE) and "Job Id:" not in answer.stdout


def table(answer: CommandOutput) -> tuple[list[Row], bool] | None:
    """Return the jobs of a table, and whether each of its lines is one; None for what is no table of this command.

    A line that does not end is left out: a number that is cut off is another job's.
    """
    if answer.exit_code:
        return None
    if says_none(answer):
        return [], True
    lines = iter(answer.stdout.split("\n"))
    if not any(_HEADING.match(line) for line in lines):
        return None
    *body, last = list(lines) or [""]
    matches = [_ROW.match(line) for line in body if line.strip()]
    return [Row(*match.groups()) for match in matches if match], all(matches) and not last


def queues(text: str) -> list[QueueInfo]:
    """Return the queues that take jobs. Those below another one are where its jobs go, and take none themselves.

    The nodes in the list are those that a queue has, not the most that a job may have.
    """
    infos: list[QueueInfo] = []
    for line in text.split("\n")[:-1]:
        match = _QUEUE.match(line.rstrip())
        if not match:
            continue
        is_open = match["words"] is not None and {"ENABLE", "START"} <= set(match["words"].split(", "))
        if match["branch"]:
            if infos:
                note = f"{infos[-1].note} {match['name']}".strip()
                infos[-1] = QueueInfo(infos[-1].name, enabled=infos[-1].enabled or is_open, note=note)
        else:
            infos.append(QueueInfo(match["name"], enabled=is_open))
    return infos
