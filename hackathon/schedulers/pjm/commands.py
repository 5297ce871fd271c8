"""The commands of PJM; `history.py` and `parse.py` read their output. Never run on a real PJM.

`wisteria.py` has those of a site whose `pjstat` is its own.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from hackathon.schedulers.base import CommandOutput, Scheduler, Shell, StatusAnswer, Submission
from hackathon.schedulers.pjm import history, parse, table
from hackathon.schedulers.pjm.dialect import PjmDialect
from hackathon.schedulers.reports import QueueInfo

CHOSEN = "jid,st,ec,pc,sn,usr,ermsg"
"""Columns: one word each except the last. Not the name, which the table cuts, and no dates: a start may be planned."""
NAMED = "jid,jnam"


@dataclass(frozen=True)
class Pjm(Scheduler):
    """PJM as pure functions. The form of its accounting is not documented, so none is read.

    A job can wait for another one only if both are steps of one step job, which accepts no more steps once it has
    ended. So `supports_after` stays False: requests that need to wait for another job are refused.
    """

    name: ClassVar[str] = "pjm"
    dialect: PjmDialect = field(default_factory=PjmDialect)
    # `job.sh.123456.out`, and `job.sh.o123456` on older machines
    output_names: ClassVar[tuple[re.Pattern[str], ...]] = (
        re.compile(rf".*\.({table.ID})\.(?:out|err|stats)\Z", re.ASCII),
        re.compile(rf".*\.[oe]({table.ID})\Z", re.ASCII),
    )
    script_endings: ClassVar[tuple[str, ...]] = (*Scheduler.script_endings, ".pjm", ".pjsub")
    job_ids: ClassVar[re.Pattern[str]] = re.compile(rf"{table.ID}\Z", re.ASCII)
    table: ClassVar[str] = table.FUJITSU
    """The form of its tables."""

    @property
    def past(self) -> tuple[str, ...]:
        """The command for ended jobs."""
        days = self.dialect.history_days
        return ("pjstat", "-H", f"day={days}") if days else ("pjstat", "-H")

    def submit_argv(self, submission: Submission) -> list[str]:
        """Return `pjsub -N … -o … -j script`; paths inside the run directory are relative."""
        output, script = submission.relative(submission.output), submission.relative(submission.script)
        return ["pjsub", "-N", submission.name, "-o", output, "-j", script]

    def parse_submit(self, answer: CommandOutput) -> str:
        return parse.submitted_id(answer)

    def status_argv(self, ids: list[str]) -> list[list[str]]:
        """Return `pjstat` for jobs in the queue; it does not list ended jobs."""
        return [["pjstat", "-v", "--choose", CHOSEN, *ids]]

    def follow_up_argv(self, answers: list[CommandOutput], ids: list[str]) -> list[list[str]]:
        """Return `pjstat -H` for jobs that are not in the queue."""
        if table.read(answers[0], self.table) is None:
            return []
        missing = history.missing(answers, ids, self.table)
        return self.ended_argv(missing) if missing else []

    def ended_argv(self, ids: list[str]) -> list[list[str]]:
        """Return the query for ended jobs."""
        return [[*self.past, "-v", "--choose", CHOSEN, *ids]]

    def parse_status(self, answers: list[CommandOutput], ids: list[str]) -> StatusAnswer:
        return history.status(answers, ids, self.table, self.past)

    def cancel_argv(self, job_id: str) -> list[str]:
        """Return `pjdel`; an id begins with a digit."""
        return ["pjdel", job_id]

    def parse_cancel(self, answer: CommandOutput) -> bool:
        return parse.was_told(answer)

    def find_argv(self, name: str) -> list[list[str]]:
        """Return `pjstat` with a filter, because the tables cut names, for live and for ended jobs.

        Each is sent twice: a list without its end looks complete, and a wrong "no such job" would submit a job again.
        """
        chosen = ["-v", "--choose", NAMED, "--filter", f"jnam={name}"]
        return [["pjstat", *chosen], [*self.past, *chosen]] * 2

    def parse_find(self, answers: list[CommandOutput]) -> list[str]:
        """Return all ids of filtered tables."""
        return self.parse_find_named(answers, "")

    def parse_find_named(self, answers: list[CommandOutput], name: str) -> list[str]:
        """Return the ids of jobs with this name, as far as the tables print it."""
        return parse.found_ids(answers, name, self.table)

    def queues_argv(self) -> list[str]:
        """Return `pjstat --rsc`, whose output is not documented."""
        return ["pjstat", "--rsc"]

    def parse_queues(self, answer: CommandOutput) -> list[QueueInfo]:
        """Raise SchedulerError: no record of the output was available."""
        raise parse.failed(answer, self.table) if answer.exit_code else parse.unread_queues()

    def shell(self, options: list[str], rcfile: Path) -> Shell:
        """Return `pjsub --interact` with the header's options.

        It accepts no command: the user has to source the file.
        """
        arguments = [word for word in options if word != "-j"]
        return Shell(["pjsub", "--interact", *arguments, "--sparam", "wait-time=600"], reads_rcfile=False)
