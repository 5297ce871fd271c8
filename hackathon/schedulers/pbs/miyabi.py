"""Miyabi, a PBS with the site's own `qstat` (`dialect.history: H`): its commands, its table and its list of queues.

`samples/miyabi_qstat.txt` has its recorded output. With `-f` it prints the blocks of PBS. From its table only the id,
the name and the state count: a start in parentheses is planned, and FINISH does not mean success. The table has no end
mark, so a job that is not in it may still exist.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from hackathon.schedulers.base import (
    HELD,
    QUEUED,
    RUNNING,
    CommandOutput,
    JobState,
    SchedulerError,
    StatusAnswer,
)
from hackathon.schedulers.pbs import history
from hackathon.schedulers.pbs.commands import ADVICE, Pbs
from hackathon.schedulers.pbs.parse import failed, job_number, no_job_found, of_pbs
from hackathon.schedulers.reports import JobAccounting, QueueInfo
from hackathon.schedulers.words import garbage, words

OWN_ADVICE = {
    "status_command": "qstat -H -f {job}",
    "usage_command": 'qstat -H -f {job} | grep -E "resources_used|Resource_List|Exit_status|comment"',
    "limits_command": "qstat --rsc",
    "own_jobs_command": "qstat",
    "server_command": "qstat",
}
"""Commands for users in place of those of PBS."""

ACTIVE = {"QUEUED": QUEUED, "RUNNING": RUNNING, "HELD": HELD}
"""State in the table → state; any other one needs a query of the job itself."""
CUT_NAME = 10
"""Most letters of a name in the table; `-ll` shows 64."""
MOST_ENDED = 100
"""Most finished jobs in the list: a list of as many may be incomplete."""

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
    """Return the jobs of a table, and whether all its lines are jobs; None if the output is not a table.

    A last line without a line break is ignored: an incomplete number would be the id of another job.
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
    """Return the queues that accept jobs. The queues below another one receive its jobs and accept none themselves.

    The nodes in the list are those of a queue, not the most that a job may request.
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
        """Return `qstat -f ID` for a few ids, else the command for the table of all jobs."""
        return [["qstat"]] if len(ids) > history.FEW else [["qstat", "-f", job_id] for job_id in ids]

    def follow_up_argv(self, answers: list[CommandOutput], ids: list[str]) -> list[list[str]]:
        """Return the queries of the jobs that are not active in the first answers."""
        if answers[0].argv != ("qstat",):
            other = [] if "-H" in answers[0].argv else ["-H"]
            return [["qstat", *other, "-f", answer.argv[-1]] for answer in answers if history.says_none(answer)]
        rows = table(answers[0])
        if rows is None:
            return []
        active = {job_number(row.job_id) for row in rows[0] if row.word in ACTIVE}
        missing = [job_id for job_id in ids if job_number(job_id) not in active]
        # the table may hide the jobs of others: a missing row alone proves nothing
        again = [["qstat", "-f", job_id] for job_id in missing] if len(missing) <= history.FEW else []
        return [*again, *(["qstat", "-H", "-f", job_id] for job_id in missing)]

    def parse_status(self, answers: list[CommandOutput], ids: list[str]) -> StatusAnswer:
        """Return the jobs; absent are those that are neither active nor finished."""
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
        """Return the commands for the tables of active and finished jobs, with names of up to 64 letters."""
        return [["qstat", "-ll"], ["qstat", "-H", "-ll"]]

    def parse_find_named(self, answers: list[CommandOutput], name: str) -> list[str]:
        """Return the ids of the jobs with a name, in the order of their numbers.

        Raises SchedulerError if none is listed but one may exist: a line is not a job, a shortened name may be this
        one, or the list of finished jobs is full.
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
            raise SchedulerError(
                "schedulers.garbage",
                "Cannot interpret the output of {command}: {words}",
                hint="Run the command by hand. A proxy or a wrapper of the site may have answered instead. Try "
                "again later.",
                transient=True,
                command="qstat",
                words=doubt,
            )
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
        """Return nothing: it is unclear whether users have `pbsnodes` there."""
        return []

    def advice_commands(self) -> Mapping[str, str]:
        return {**ADVICE, **OWN_ADVICE}


def _lacks(answers: list[CommandOutput], job_id: str) -> bool:
    """Return whether a job is neither active nor finished."""
    about = [answer for answer in answers if answer.argv[-1:] == (job_id,)]
    return {"-H" in answer.argv for answer in about if history.says_none(answer)} == {True, False}
