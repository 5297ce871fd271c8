"""The commands of NQSV; `parse.py` reads their output.

The commands have the names of PBS's, but other options. They were never run by the authors of this toolkit.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from hackathon.schedulers.base import CommandOutput, JobState, Scheduler, Shell, StatusAnswer, Submission
from hackathon.schedulers.nqsv import parse, text
from hackathon.schedulers.nqsv.dialect import NqsvDialect
from hackathon.schedulers.reports import QueueInfo

ERRORS = "scheduler-errors.log"
"""The file for stderr, beside the one for stdout."""


@dataclass(frozen=True)
class Nqsv(Scheduler):
    """NQSV as pure functions. Sites differ only in the script's header."""

    name: ClassVar[str] = "nqsv"
    dialect: NqsvDialect = field(default_factory=NqsvDialect)
    output_names: ClassVar[tuple[re.Pattern[str], ...]] = (re.compile(r".*\.o(\d+)\Z"),)
    script_endings: ClassVar[tuple[str, ...]] = (*Scheduler.script_endings, ".nqs", ".qsub")
    job_ids: ClassVar[re.Pattern[str]] = re.compile(rf"{text.ID.pattern}\Z", re.ASCII)

    def submit_argv(self, submission: Submission) -> list[str]:
        """Return `qsub -N … -o … -e … script`. The separate error file ends with the reason for the job's end."""
        output = submission.relative(submission.output)
        errors = submission.relative(submission.output.with_name(ERRORS))
        return ["qsub", "-N", submission.name, "-o", output, "-e", errors, submission.relative(submission.script)]

    def parse_submit(self, answer: CommandOutput) -> str:
        return parse.submitted_id(answer)

    def status_argv(self, ids: list[str]) -> list[list[str]]:
        """Return `qstat -f` with all ids."""
        return [["qstat", "-f", *map(self._whole_id, ids)]]

    def follow_up_argv(self, answers: list[CommandOutput], ids: list[str]) -> list[list[str]]:
        """Return the query for exit codes of requests that have just ended, and one for each id without an answer."""
        if answers[0].exit_code:
            return []
        lacking = parse.unanswered(answers, ids) if len(ids) > 1 else []
        ended = parse.ending_ids(answers, ids)
        return [
            *(["qstat", "-f", self._whole_id(job_id)] for job_id in lacking[: parse.FEW]),
            *([["qstat", "-J", "-f", *map(self._whole_id, ended)]] if ended else []),
        ]

    def parse_status(self, answers: list[CommandOutput], ids: list[str]) -> StatusAnswer:
        return parse.status(answers, ids)

    def same_job(self, job_id: str, other: str) -> bool:
        """Return whether two ids differ at most in the host, which names of output files lack."""
        return text.same(job_id, other)

    def left_files(self, job_id: str, name: str) -> tuple[str, ...]:
        """Return the stderr files of the toolkit's submissions, and of manual ones without `-e`."""
        return (f"logs/{ERRORS}", f"{name}.e{job_id.partition('.')[0]}")

    def parse_left(self, text: str, job_id: str) -> JobState | None:
        return parse.left(text, job_id)

    def cancel_argv(self, job_id: str) -> list[str]:
        """Return `qdel` with one id. It kills at once: NQSV sends no SIGTERM to a job."""
        return ["qdel", self._whole_id(job_id)]

    def parse_cancel(self, answer: CommandOutput) -> bool:
        return parse.was_told(answer)

    def find_argv(self, name: str) -> list[list[str]]:
        """Return the queries for the user's requests: a table, and blocks with full names. Ended ones are unknown."""
        return [["qstat"], ["qstat", "-f"]]

    def parse_find(self, answers: list[CommandOutput]) -> list[str]:
        """Return the ids of all requests: the lists contain all names."""
        return parse.found_ids(answers)

    def parse_find_named(self, answers: list[CommandOutput], name: str) -> list[str]:
        return parse.found_ids(answers, name)

    def queues_argv(self) -> list[str]:
        """Return `qstat -Q`."""
        return ["qstat", "-Q"]

    def parse_queues(self, answer: CommandOutput) -> list[QueueInfo]:
        return parse.queues(answer)

    def shell(self, options: list[str], rcfile: Path) -> Shell:
        """Return `qlogin` with the header's options; the user has to source the file in its shell."""
        return Shell(["qlogin", *options], reads_rcfile=False)

    def _whole_id(self, job_id: str) -> str:
        """Return an id with the site's host, if it lacks one."""
        return f"{job_id}.{self.dialect.host}" if self.dialect.host and "." not in job_id else job_id
