"""The commands of PJM; `history.py` and `parse.py` read their output. Never run on a real PJM."""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from hackathon.schedulers.base import CommandOutput, Scheduler, Shell, StatusAnswer, Submission
from hackathon.schedulers.pjm import history, parse, table
from hackathon.schedulers.pjm.dialect import PjmDialect
from hackathon.schedulers.reports import QueueInfo


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

    def submit_argv(self, submission: Submission) -> list[str]:
        """Return `pjsub -N … -o … -j script`; paths inside the run directory are relative."""
        output, script = submission.relative(submission.output), submission.relative(submission.script)
        return ["pjsub", "-N", submission.name, "-o", output, "-j", script]

    def parse_submit(self, answer: CommandOutput) -> str:
        return parse.submitted_id(answer)

    def status_argv(self, ids: list[str]) -> list[list[str]]:
        """Return `pjstat` for jobs in the queue; it does not list ended jobs."""
        return history.questions(ids, self.dialect)

    def follow_up_argv(self, answers: list[CommandOutput], ids: list[str]) -> list[list[str]]:
        """Return `pjstat -H` for jobs that are not in the queue."""
        return history.follow_ups(answers, ids, self.dialect)

    def fall_back_argv(self, answers: list[CommandOutput], ids: list[str]) -> list[list[str]]:
        """Return queries by id if a site's list of ended jobs lacks some."""
        return history.fall_back(answers, ids, self.dialect)

    def parse_status(self, answers: list[CommandOutput], ids: list[str]) -> StatusAnswer:
        return history.status(answers, ids, self.dialect)

    def cancel_argv(self, job_id: str) -> list[str]:
        """Return `pjdel`; an id begins with a digit."""
        return ["pjdel", job_id]

    def parse_cancel(self, answer: CommandOutput) -> bool:
        return parse.was_told(answer)

    def find_argv(self, name: str) -> list[list[str]]:
        """Return `pjstat` with a filter, live and ended jobs, each twice; or a site's tables of all jobs."""
        return history.names(name, self.dialect)

    def parse_find(self, answers: list[CommandOutput]) -> list[str]:
        """Return all ids of filtered tables."""
        return self.parse_find_named(answers, "")

    def parse_find_named(self, answers: list[CommandOutput], name: str) -> list[str]:
        """Return the ids of jobs with this name, as far as the tables print it."""
        return parse.found_ids(answers, name, self.dialect.table)

    def queues_argv(self) -> list[str]:
        """Return `pjstat --rscuse` of Wisteria, or `pjstat --rsc`, whose output is not documented."""
        return ["pjstat", "--rscuse" if self.dialect.table == table.SITE else "--rsc"]

    def parse_queues(self, answer: CommandOutput) -> list[QueueInfo]:
        return parse.queues(answer, self.dialect.table)

    def shell(self, options: list[str], rcfile: Path) -> Shell:
        """Return `pjsub --interact` with the header's options.

        It accepts no command: the user has to source the file.
        """
        arguments = [word for word in options if word != "-j"]
        return Shell(["pjsub", "--interact", *arguments, "--sparam", "wait-time=600"], reads_rcfile=False)
