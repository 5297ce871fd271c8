"""A site's own `qstat` (Miyabi): its table, its list of queues, and its message for "no such job".

`samples/miyabi_qstat.txt` has the recorded output. Its blocks of `-f` are PBS's own. Only the id, the name and the
state of its table are used: a start in parentheses is planned, and FINISH does not mean success. The table has no end
mark, so a job that is not in it may exist.
"""

import re
from typing import NamedTuple

from hackathon.schedulers.base import HELD, QUEUED, RUNNING, CommandOutput
from hackathon.schedulers.machine import QueueInfo

ACTIVE = {"QUEUED": QUEUED, "RUNNING": RUNNING, "HELD": HELD}
"""State in the table → state; other states need a query for the job itself."""
CUT_NAME = 10
"""Longest name in the table, in characters; `-ll` prints 64."""
MOST_ENDED = 100
"""Ended jobs in a list, at most: a list of this length may be incomplete."""

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
    """The site's name of the state."""


def says_none(answer: CommandOutput) -> bool:
    """Return whether the answer is the complete sentence that there is no such job; its exit code is 0."""
    sentences = {line.strip() for text in (answer.stdout, answer.stderr) for line in text.split("\n")[:-1]}
    return answer.exit_code == 0 and not sentences.isdisjoint(_NONE) and "Job Id:" not in answer.stdout


def table(answer: CommandOutput) -> tuple[list[Row], bool] | None:
    """Return the jobs of a table, and whether each of its lines is valid; None for other output.

    A truncated line is ignored: a truncated number is another job's.
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
    """Return the queues that accept jobs. Subqueues, to which a queue's jobs are routed, accept none themselves.

    The nodes in the list are those of the queue, not the most that a job may have.
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
