"""Miyabi, a PBS whose `qstat` is the site's own (`dialect.history: H`): its commands, its table and its list of queues.

What is on record of it lies in `samples/miyabi_qstat.txt`. The blocks that it prints with `-f` are PBS's own. Of its
table only the id, the name and the state's word are used: a start in parentheses is planned, and FINISH says nothing
about success. The table has no end mark, so nothing follows from a job that is not in it.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from hackathon.schedulers.accounting import JobAccounting
from hackathon.schedulers.base import (
    HELD,
    QUEUED,
    RUNNING,
    CommandOutput,
    JobState,
    SchedulerError,
    StatusAnswer,
)
from hackathon.schedulers.machine import QueueInfo
from hackathon.schedulers.pbs import history
from hackathon.schedulers.pbs.commands import ADVICE, Pbs
from hackathon.schedulers.pbs.parse import failed, job_number, no_job_found, of_pbs
from hackathon.schedulers.words import garbage, words

OWN_ADVICE = {
    "status_command": "qstat -H -f {job}",
    "usage_command": 'qstat -H -f {job} | grep -E "resources_used|Resource_List|Exit_status|comment"',
    "limits_command": "qstat --rsc",
    "own_jobs_command": "qstat",
    "server_command": "qstat",
}
"""What a person types in place of PBS's own commands."""

ACTIVE = {"QUEUED": QUEUED, "RUNNING": RUNNING, "HELD": HELD}
"""Word of the table → state; every other word needs a question about the job itself."""
CUT_NAME = 10
"""Letters of a name that the table shows at most; `-ll` shows 64."""
MOST_ENDED = 100
"""Ended jobs that are listed at most: a list of as many may lack some."""

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


def table(answer: CommandOutput) -> tuple[list[Row], bool] | None:
    """Return the jobs of a table, and whether each of its lines is one; None for what is no table of this command.

    A line that does not end is left out: a number that is cut off is another job's.
    """
    if answer.exit_code:
        return None
    if no_job_found(answer):
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


@dataclass(frozen=True)
class Miyabi(Pbs):
    """PBS with the site's own `qstat`; all other commands are PBS's."""

    def status_argv(self, ids: list[str]) -> list[list[str]]:
        """Return `qstat -f ID` for few ids, or the table of all jobs."""
        return [["qstat"]] if len(ids) > history.FEW else [["qstat", "-f", job_id] for job_id in ids]

    def follow_up_argv(self, answers: list[CommandOutput], ids: list[str]) -> list[list[str]]:
        """Return the questions about jobs that the first answers do not show as active."""
        if answers[0].argv != ("qstat",):
            other = [] if "-H" in answers[0].argv else ["-H"]
            return [["qstat", *other, "-f", answer.argv[-1]] for answer in answers if history.says_none(answer)]
        rows = table(answers[0])
        if rows is None:
            return []
        active = {job_number(row.job_id) for row in rows[0] if row.word in ACTIVE}
        missing = [job_id for job_id in ids if job_number(job_id) not in active]
        # the table may not show the jobs of others: nothing follows from it alone
        again = [["qstat", "-f", job_id] for job_id in missing] if len(missing) <= history.FEW else []
        return [*again, *(["qstat", "-H", "-f", job_id] for job_id in missing)]

    def parse_status(self, answers: list[CommandOutput], ids: list[str]) -> StatusAnswer:
        """Return the jobs; absent are those that are neither among the active nor among the ended ones."""
        rows = table(answers[0]) if answers[0].argv == ("qstat",) else None
        by_number = {job_number(row.job_id): row for row in rows[0]} if rows else {}

        def active(job_id: str) -> JobState | None:
            row = by_number.get(job_number(job_id))
            if row is None or row.word not in ACTIVE or "[" in job_id:
                return None
            return JobState(ACTIVE[row.word], row.word, started=row.word == "RUNNING" or None)

        return history.states(answers, ids, active, _lacks, of_pbs)

    def accounting_argv(self, ids: list[str]) -> list[list[str]]:
        return [["qstat", "-H", "-f", job_id] for job_id in ids]

    def parse_accounting(self, answers: list[CommandOutput], ids: list[str]) -> dict[str, JobAccounting]:
        return history.accounts(answers, ids, of_pbs)

    def find_argv(self, name: str) -> list[list[str]]:
        """Return the tables of active and of ended jobs, with names of up to 64 letters."""
        return [["qstat", "-ll"], ["qstat", "-H", "-ll"]]

    def parse_find_named(self, answers: list[CommandOutput], name: str) -> list[str]:
        """Return the ids of the jobs of a name, in the order of their numbers.

        Raises SchedulerError where it would not be certain that there is none: a line that is no job, a name that is
        cut off and may be this one, a list of ended jobs that is full.
        """
        ids: dict[str, int] = {}
        doubt = ""
        for answer in answers:
            listed = table(answer)
            if listed is None:
                raise history.nothing_said([answer], of_pbs)
            rows, complete = listed
            ids |= {row.job_id: int(job_number(row.job_id)) for row in rows if row.name == name}
            others = (row.name for row in rows if row.name != name and name.startswith(row.name))
            is_cut = any(len(other) == CUT_NAME for other in others)
            if not complete or is_cut or ("-H" in answer.argv and len(rows) >= MOST_ENDED):
                doubt = words(answer)
        if doubt and not ids:
            raise SchedulerError("schedulers.garbage", transient=True, command="qstat", words=doubt)
        return sorted(ids, key=ids.__getitem__)

    def queues_argv(self) -> list[str]:
        return ["qstat", "--rsc"]

    def parse_queues(self, answer: CommandOutput) -> list[QueueInfo]:
        if answer.exit_code:
            raise failed(answer, other_qstat=of_pbs)
        infos = queues(answer.stdout)
        if not infos:
            raise garbage(answer)
        return infos

    def nodes_argv(self) -> list[list[str]]:
        """Return nothing: users are not known to have `pbsnodes` there."""
        return []

    def advice_commands(self) -> Mapping[str, str]:
        return {**ADVICE, **OWN_ADVICE}


def _lacks(answers: list[CommandOutput], job_id: str) -> bool:
    """Return whether a job is neither among the active nor among the ended ones."""
    about = [answer for answer in answers if answer.argv[-1:] == (job_id,)]
    return {"-H" in answer.argv for answer in about if history.says_none(answer)} == {True, False}
