"""The commands of Grid Engine; `parse.py` reads their output."""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from hackathon.schedulers.base import CommandOutput, Scheduler, Shell, StatusAnswer, Submission
from hackathon.schedulers.gridengine import ids, parse
from hackathon.schedulers.gridengine.dialect import GridEngineDialect
from hackathon.schedulers.reports import JobAccounting, JobDetails, NodeGroup, QueueInfo

_ONLY_BATCH = {"-S": 2, "-j": 2}
"""Batch options that `qrsh` does not need, with their number of words."""


@dataclass(frozen=True)
class GridEngine(Scheduler):
    """Grid Engine as pure functions. Sites differ only in the script's header and in `-g`."""

    name: ClassVar[str] = "gridengine"
    dialect: GridEngineDialect = field(default_factory=GridEngineDialect)
    # `name.o123`, for an array's task `name.o123.4`
    output_names: ClassVar[tuple[re.Pattern[str], ...]] = (re.compile(r".*\.o(\d+)(?:\.\d+)?\Z"),)
    script_endings: ClassVar[tuple[str, ...]] = (*Scheduler.script_endings, ".sge", ".qsub")
    job_ids: ClassVar[re.Pattern[str]] = ids.JOB_IDS

    def submit_argv(self, submission: Submission) -> list[str]:
        """Return `qsub -terse -N … -o … -j y [-hold_jid …] [-g …] script`; paths in the run directory are relative."""
        output = submission.relative(submission.output)
        argv = ["qsub", "-terse", "-N", submission.name, "-o", output, "-j", "y"]
        if submission.after:
            argv += ["-hold_jid", submission.after[1]]
        return [*argv, *submission.options, submission.relative(submission.script)]

    def parse_submit(self, answer: CommandOutput) -> str:
        return parse.submitted_id(answer)

    def status_argv(self, ids: list[str]) -> list[list[str]]:
        """Return the command that lists all jobs, because other users' runs are queried, too."""
        return [parse.LIST]

    def follow_up_argv(self, answers: list[CommandOutput], ids: list[str]) -> list[list[str]]:
        """Return `qstat -j` for waiting jobs, and `qacct -j` for jobs that are not in the list."""
        return parse.follow_ups(answers, ids, self.dialect.history)

    def fall_back_argv(self, answers: list[CommandOutput], ids: list[str]) -> list[list[str]]:
        """Return `qacct -j` for a few jobs without records by name: those submitted by hand."""
        return parse.not_named(answers, ids)

    def details_argv(self, job_id: str) -> list[list[str]]:
        """Return `qstat -j`, the lists of jobs and of their slots, and the record of an ended job."""
        from hackathon.schedulers.gridengine import details

        past = parse.records_of([job_id]) if self.dialect.history == "qacct" else []
        return [["qstat", "-j", job_id.partition(".")[0]], parse.LIST, details.HOSTS, *past]

    def parse_details(self, answers: list[CommandOutput], job_id: str) -> JobDetails:
        from hackathon.schedulers.gridengine import details

        return details.details(answers, job_id, self.dialect)

    def parse_status(self, answers: list[CommandOutput], ids: list[str]) -> StatusAnswer:
        return parse.status(answers, ids, self.dialect.history)

    def same_job(self, job_id: str, other: str) -> bool:
        """Return whether two ids are of one job: `7` has the tasks `7.1` and `7.2`."""
        return ids.same(job_id, other)

    def accounting_argv(self, ids: list[str]) -> list[list[str]]:
        """Return `qacct -j`, which accepts one number or a pattern of names."""
        return parse.records_of(ids) if self.dialect.history == "qacct" else []

    def parse_accounting(self, answers: list[CommandOutput], ids: list[str]) -> dict[str, JobAccounting]:
        return parse.accounts(answers, ids, self.dialect)

    def cancel_argv(self, job_id: str) -> list[str]:
        """Return `qdel`, which also deletes a job in error."""
        return ["qdel", job_id]

    def parse_cancel(self, answer: CommandOutput) -> bool:
        return parse.was_told(answer)

    def find_argv(self, name: str) -> list[list[str]]:
        """Return the commands that list the jobs and the records with that name."""
        return [parse.LIST, *([["qacct", "-j", name]] if self.dialect.history == "qacct" else [])]

    def parse_find(self, answers: list[CommandOutput]) -> list[str]:
        return parse.found_ids(answers)

    def parse_find_named(self, answers: list[CommandOutput], name: str) -> list[str]:
        """Return the ids; the list contains all names."""
        return parse.found_ids(answers, name)

    def queues_argv(self) -> list[str]:
        """Return `qstat -g c`: one line per queue with its slots."""
        return ["qstat", "-g", "c"]

    def parse_queues(self, answer: CommandOutput) -> list[QueueInfo]:
        return parse.queues(answer)

    def nodes_argv(self) -> list[list[str]]:
        """Return `qhost`, which tells what is free, and `qconf -sc`, which tells how requests count."""
        from hackathon.schedulers.gridengine import machine

        return [machine.HOSTS, machine.COMPLEXES]

    def nodes_follow_up_argv(self, answers: list[CommandOutput]) -> list[list[str]]:
        """Return `qconf -se` for hosts with jobs, whose GPUs are not all free."""
        from hackathon.schedulers.gridengine import machine

        return machine.follow_ups(answers)

    def parse_nodes(self, answers: list[CommandOutput]) -> list[NodeGroup]:
        from hackathon.schedulers.gridengine import machine

        return machine.nodes(answers)

    def supports_after(self, condition: str) -> bool:
        """Return True for `any`: `-hold_jid` waits for any end."""
        return condition == "any"

    def shell(self, options: list[str], rcfile: Path) -> Shell:
        """Return `qrsh` with the header's options; it waits for nodes, and the shell has a terminal."""
        arguments: list[str] = []
        remaining = list(options)
        while remaining:
            words = _ONLY_BATCH.get(remaining[0], 0)
            arguments += [] if words else remaining[:1]
            del remaining[: words or 1]
        return Shell(["qrsh", "-now", "n", *arguments, "-pty", "y", "bash", "--rcfile", str(rcfile), "-i"])
