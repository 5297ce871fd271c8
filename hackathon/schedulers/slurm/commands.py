"""The commands of Slurm; `parse.py` reads their output."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from hackathon.schedulers.base import OPEN_STATES, CommandOutput, Scheduler, Shell, StatusAnswer, Submission
from hackathon.schedulers.reports import JobAccounting, JobDetails, NodeGroup, QueueInfo
from hackathon.schedulers.slurm import machine, parse
from hackathon.schedulers.slurm.dialect import SlurmDialect
from hackathon.schedulers.slurm.ids import JOB_IDS, is_plain
from hackathon.schedulers.slurm.parse import BILL_FIELDS, FIELD, RECORD, SACCT_FIELDS, SQUEUE_FIELDS

HISTORY = "now-30days"
"""Time range of a search by job name."""
ALL_STATES = "BF,CA,CD,DL,F,NF,OOM,PD,PR,R,RQ,RS,RV,S,TO"
"""All states explicitly, because without `-s` sacct omits jobs that were cancelled while held."""

ADVICE = {
    "status_command": "scontrol show job {job}",
    "usage_command": "sacct -j {job} --format=JobID,State,ExitCode,Elapsed,Timelimit,MaxRSS,ReqMem,NodeList",
    "nodes_command": "sinfo -R",
    "limits_command": 'sinfo -o "%P %l %s %D"',
    "own_jobs_command": "squeue -u $USER",
    "account_command": "sacctmgr show assoc user=$USER format=account,partition,qos",
    "server_command": "scontrol ping",
    "hosts_command": "scontrol show hostnames $SLURM_JOB_NODELIST",
    "reservation_command": "scontrol show reservation",
    "node_command": "srun --ntasks-per-node=1",
}
"""Commands for the user, see base.ADVICE_COMMANDS."""


@dataclass(frozen=True)
class Slurm(Scheduler):
    """Slurm as pure functions. Sites differ only in the script's header."""

    name: ClassVar[str] = "slurm"
    dialect: SlurmDialect = field(default_factory=SlurmDialect)
    # sbatch's default name, and a name copied from other schedulers: `#SBATCH -o name.o%j`
    output_names: ClassVar[tuple[re.Pattern[str], ...]] = (
        re.compile(r"slurm-(\d+)\.out\Z"),
        re.compile(r".*\.o(\d+)\Z"),
    )
    script_endings: ClassVar[tuple[str, ...]] = (*Scheduler.script_endings, ".slurm", ".sbatch")
    job_ids: ClassVar[re.Pattern[str]] = JOB_IDS

    def submit_argv(self, submission: Submission) -> list[str]:
        """Return `sbatch --parsable --job-name … --output … [--dependency …] script`."""
        # Slurm replaces %j and similar placeholders, also in the folder that it puts before a relative path.
        folder = str(submission.directory)
        output = str(submission.output) if "%" in folder else submission.relative(submission.output)
        output = output.replace("%", "%%")
        argv = ["sbatch", "--parsable", "--job-name", submission.name, "--output", output]
        if submission.after:
            condition, job_id = submission.after
            argv += ["--dependency", f"after{condition}:{job_id}"]
            if condition == "ok":  # otherwise it stays in the queue forever: DependencyNeverSatisfied
                argv.append("--kill-on-invalid-dep=yes")
        return [*argv, submission.relative(submission.script)]

    def parse_submit(self, answer: CommandOutput) -> str:
        return parse.submitted_id(answer)

    def status_argv(self, ids: list[str]) -> list[list[str]]:
        """Return squeue for jobs that the controller knows and sacct for those that it has forgotten."""
        job_list = ",".join(ids)
        return [
            ["squeue", "-h", "-a", "-t", "all", "-j", job_list, "-o", FIELD.join(SQUEUE_FIELDS) + RECORD],
            [
                "sacct",
                "-X",
                "-D",
                "-n",
                "-p",
                f"--delimiter={FIELD}",
                "-j",
                job_list,
                f"--format={','.join(SACCT_FIELDS)}",
            ],
        ]

    def details_argv(self, job_id: str) -> list[list[str]]:
        """Return scontrol, which reports a job for some minutes after its end, and sacct."""
        from hackathon.schedulers.slurm import details

        form = ["-n", "-P", f"--delimiter={FIELD}", f"--format={','.join(details.FIELDS)}"]
        return [["scontrol", "show", "job", "--oneliner", job_id], ["sacct", "-j", job_id, *form]]

    def parse_details(self, answers: list[CommandOutput], job_id: str) -> JobDetails:
        from hackathon.schedulers.slurm import details

        return details.details(answers, job_id)

    def follow_up_argv(self, answers: list[CommandOutput], ids: list[str]) -> list[list[str]]:
        """Return squeue's exit codes if sacct does not answer and squeue lists an ended job."""
        if len(answers) < 2 or answers[1].exit_code == 0:
            return []
        ended = [job for job, state in parse.queue(answers[0]) if state.state not in OPEN_STATES]
        if not ended:
            return []
        return [["squeue", "-h", "-a", "-t", "all", "-j", ",".join(ended), "-O", "JobArrayID:64,exit_code:16"]]

    def parse_status(self, answers: list[CommandOutput], ids: list[str]) -> StatusAnswer:
        return parse.status(answers, ids)

    def can_account(self, job_id: str) -> bool:
        """Return whether a text in a run's record can be used as an id in accounting queries."""
        return is_plain(job_id)

    def accounting_argv(self, ids: list[str]) -> list[list[str]]:
        """Return sacct for accounting: jobs without their steps (-X), every life of a requeued one (-D)."""
        form = ["-n", "-p", f"--delimiter={FIELD}", f"--format={','.join(BILL_FIELDS)}"]
        return [["sacct", "-X", "-D", "-j", ",".join(ids), *form]]

    def parse_accounting(self, answers: list[CommandOutput], ids: list[str]) -> dict[str, JobAccounting]:
        return parse.accounts(answers, ids)

    def cancel_argv(self, job_id: str) -> list[str]:
        """Return `scancel -v`: without -v it prints nothing about a job that has already ended."""
        return ["scancel", "-v", "--", job_id]

    def parse_cancel(self, answer: CommandOutput) -> bool:
        return parse.was_told(answer)

    def find_argv(self, name: str) -> list[list[str]]:
        """Return squeue and sacct by name."""
        return [
            ["squeue", "-h", "-a", "-t", "all", f"--name={name}", "-o", "%i"],
            ["sacct", "-X", "-n", "-P", f"--name={name}", "-S", HISTORY, "-E", "now", "-s", ALL_STATES, "-o", "JobID"],
        ]

    def parse_find(self, answers: list[CommandOutput]) -> list[str]:
        return parse.found_ids(answers)

    def queues_argv(self) -> list[str]:
        """Return sinfo: one line per partition, `A/I/O/T` counts nodes."""
        return ["sinfo", "-h", "-a", "-o", FIELD.join(machine.QUEUE_FIELDS)]

    def parse_queues(self, answer: CommandOutput) -> list[QueueInfo]:
        return machine.queues(answer)

    def nodes_argv(self) -> list[list[str]]:
        """Return sinfo: one line for equal nodes of a partition; without -e differing numbers become `36+`."""
        return [["sinfo", "-h", "-a", "-e", "-o", FIELD.join(machine.NODE_FIELDS)]]

    def parse_nodes(self, answers: list[CommandOutput]) -> list[NodeGroup]:
        return machine.nodes(answers[0])

    def shell(self, options: list[str], rcfile: Path) -> Shell:
        """Return `salloc` with the header's options, and srun, which starts the shell on the first node."""
        arguments = [word for word in options if word != "--open-mode=append"]
        return Shell(["salloc", *arguments, "srun", "--pty", "bash", "--rcfile", str(rcfile), "-i"])

    def advice_commands(self) -> Mapping[str, str]:
        return ADVICE

    def supports_after(self, condition: str) -> bool:
        """Return True: `--dependency=afterok:` and `afterany:`."""
        return True

    def environment(self, inherited: dict[str, str], *, submission: bool) -> dict[str, str]:
        """Request times in seconds since 1970 and full array ids for queries; a job would inherit these variables."""
        return inherited if submission else {**inherited, "SLURM_TIME_FORMAT": "%s", "SLURM_BITSTR_LEN": "0"}
