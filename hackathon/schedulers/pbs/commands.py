"""The commands of PBS; `parse.py` reads their output."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from hackathon.schedulers.base import CommandOutput, Scheduler, Shell, StatusAnswer, Submission
from hackathon.schedulers.pbs import history, machine, parse
from hackathon.schedulers.pbs.dialect import PbsDialect
from hackathon.schedulers.reports import JobAccounting, JobDetails, NodeGroup, QueueInfo

ADVICE = {
    "status_command": "qstat -xf {job}",
    "usage_command": 'qstat -xf {job} | grep -E "resources_used|Resource_List|Exit_status|comment"',
    "nodes_command": "pbsnodes -l",
    "limits_command": "qstat -Qf",
    "own_jobs_command": "qstat -u $USER",
    "account_command": "id -Gn",
    "server_command": "qstat -B",
    "hosts_command": "sort -u $PBS_NODEFILE",
    "reservation_command": "pbs_rstat",
    "node_command": "mpirun --map-by ppr:1:node",
}
"""What a person types, see base.ADVICE_COMMANDS."""


@dataclass(frozen=True)
class Pbs(Scheduler):
    """PBS as pure functions. Sites differ only in the script's header."""

    name: ClassVar[str] = "pbs"
    advice_dialects: ClassVar[tuple[Mapping[str, object], ...]] = ({}, {"history": "H"})
    dialect: PbsDialect = field(default_factory=PbsDialect)
    # `name.o123`, and `123.server.OU` on the node
    output_names: ClassVar[tuple[re.Pattern[str], ...]] = (
        re.compile(r".*\.o(\d+)\Z"),
        re.compile(r"(\d+\.[\w.-]+)\.OU\Z"),
    )
    script_endings: ClassVar[tuple[str, ...]] = (*Scheduler.script_endings, ".pbs", ".qsub")
    job_ids: ClassVar[re.Pattern[str]] = re.compile(rf"(?=.{{1,200}}\Z){parse.JOB_ID.pattern}", re.ASCII)

    def submit_argv(self, submission: Submission) -> list[str]:
        """Return `qsub -N … -o … -j oe [-W depend=…] script`; paths inside the run directory are relative."""
        argv = ["qsub", "-N", submission.name, "-o", submission.relative(submission.output), "-j", "oe"]
        if submission.after:
            condition, job_id = submission.after
            argv += ["-W", f"depend=after{condition}:{job_id}"]
        return [*argv, submission.relative(submission.script)]

    def parse_submit(self, answer: CommandOutput) -> str:
        return parse.submitted_id(answer)

    def status_argv(self, ids: list[str]) -> list[list[str]]:
        """Return `qstat` for few ids, or for the whole queue (see `history`); `-t` lists subjobs of arrays."""
        return history.questions(ids, self.dialect.history)

    def follow_up_argv(self, answers: list[CommandOutput], ids: list[str]) -> list[list[str]]:
        """Return the query for ended jobs, or one for a server without history or without `-w`."""
        return history.follow_ups(answers, ids, self.dialect.history)

    def fall_back_argv(self, answers: list[CommandOutput], ids: list[str]) -> list[list[str]]:
        """Return queries by id if the list of all ended jobs is too long."""
        return history.fall_back(answers, ids)

    def details_argv(self, job_id: str) -> list[list[str]]:
        """Return the queries for the job's state; their answers contain the requested resources."""
        first = self.status_argv([job_id])[0]
        return [first, *(argv for argv in self.accounting_argv([job_id]) if argv != first)]

    def parse_details(self, answers: list[CommandOutput], job_id: str) -> JobDetails:
        from hackathon.schedulers.pbs import details

        return details.details(answers, job_id)

    def parse_status(self, answers: list[CommandOutput], ids: list[str]) -> StatusAnswer:
        return history.status(answers, ids)

    def same_job(self, job_id: str, other: str) -> bool:
        """Return whether two ids differ at most in the server's host, which is optional."""
        return parse.same(job_id, other)

    def accounting_argv(self, ids: list[str]) -> list[list[str]]:
        """Return the query for the jobs: `qstat -f` includes their use; only root reads the accounting logs."""
        return history.bill(ids, self.dialect.history)

    def parse_accounting(self, answers: list[CommandOutput], ids: list[str]) -> dict[str, JobAccounting]:
        return history.accounts(answers, ids)

    def cancel_argv(self, job_id: str) -> list[str]:
        """Return `qdel` with one id, which begins with a digit: several ids in one call have crashed a server."""
        return ["qdel", job_id]

    def parse_cancel(self, answer: CommandOutput) -> bool:
        return parse.was_told(answer)

    def find_argv(self, name: str) -> list[list[str]]:
        """Return `qselect` with history, and without for servers that keep none."""
        past = [["qselect", "-x", "-N", name]] if self.dialect.history == history.X else []
        return [*past, ["qselect", "-N", name]]

    def parse_find(self, answers: list[CommandOutput]) -> list[str]:
        return parse.found_ids(answers)

    def queues_argv(self) -> list[str]:
        """Return `qstat -Q -f`, whose short form cuts names to 15 letters."""
        return ["qstat", "-Q", "-f"]

    def parse_queues(self, answer: CommandOutput) -> list[QueueInfo]:
        return machine.queues(answer)

    def nodes_argv(self) -> list[list[str]]:
        return [["pbsnodes", "-a", "-F", "json"]]

    def parse_nodes(self, answers: list[CommandOutput]) -> list[NodeGroup]:
        return machine.nodes(answers[0])

    def shell(self, options: list[str], rcfile: Path) -> Shell:
        """Return `qsub -I` with the header's options; it accepts no command, so the user has to source the file."""
        return Shell(["qsub", "-I", *(word for word in options if word not in ("-j", "oe"))], reads_rcfile=False)

    def advice_commands(self) -> Mapping[str, str]:
        return ADVICE

    def supports_after(self, condition: str) -> bool:
        """Return True: `-W depend=afterok:` and `afterany:`."""
        return True
