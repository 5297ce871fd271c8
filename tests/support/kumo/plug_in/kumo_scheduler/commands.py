"""What Kumo's command is told, and what its answers mean."""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from hackathon.schedulers import base
from kumo_scheduler.dialect import KumoDialect

LETTERS = {"W": base.QUEUED, "R": base.RUNNING, "L": base.ENDING, "D": base.SUCCEEDED}


@dataclass(frozen=True)
class Kumo(base.Scheduler):
    """Jobs by number; it shows all jobs and cannot be asked about single ones."""

    name: ClassVar[str] = "kumo"
    dialect: KumoDialect = field(default_factory=KumoDialect)

    def submit_argv(self, submission: base.Submission) -> list[str]:
        argv = ["kumo", "sub", "--name", submission.name, "--to", submission.relative(submission.output)]
        if submission.after:
            condition, job_id = submission.after
            argv += ["--behind", f"{'good' if condition == 'ok' else 'end'}-{job_id}"]
        return [*argv, submission.relative(submission.script)]

    def parse_submit(self, answer: base.CommandOutput) -> str:
        if found := re.search(r"^job (\d+) accepted$", self._text(answer), re.MULTILINE):
            return found[1]
        raise self._error(answer, "garbage", transient=True)

    def supports_after(self, condition: str) -> bool:
        return True

    def status_argv(self, ids: list[str]) -> list[list[str]]:
        return [["kumo", "show"]]

    def parse_status(self, answers: list[base.CommandOutput], ids: list[str]) -> base.StatusAnswer:
        return base.StatusAnswer({number: job for number, job in self._jobs(answers[0]).items() if number in ids})

    def cancel_argv(self, job_id: str) -> list[str]:
        return ["kumo", "del", job_id]

    def parse_cancel(self, answer: base.CommandOutput) -> bool:
        return self._text(answer) == "told\n"

    def find_argv(self, name: str) -> list[list[str]]:
        return [["kumo", "show", "--name", name]]

    def parse_find(self, answers: list[base.CommandOutput]) -> list[str]:
        return sorted(self._jobs(answers[0]), key=int)

    def queues_argv(self) -> list[str]:
        return ["kumo", "queues"]

    def parse_queues(self, answer: base.CommandOutput) -> list[base.QueueInfo]:
        return [base.QueueInfo(line) for line in self._text(answer).split()]

    def shell(self, options: list[str], rcfile: Path) -> base.Shell:
        return base.Shell(["kumo", "run", *options, "bash", "--rcfile", str(rcfile), "-i"])

    def _jobs(self, answer: base.CommandOutput) -> dict[str, base.JobState]:
        lines = self._text(answer).splitlines()
        if not lines or not lines[-1].startswith("-- "):  # it ends with a clock: what is cut off says nothing
            raise self._error(answer, "garbage", transient=True)
        jobs = {}
        for line in lines[:-1]:
            number, letter, name, host, started, start, end, code, signal, reason = line.split("|", 9)
            state = LETTERS.get(letter) or letter.removeprefix("X:")
            ran, when = started == "True", [None if each == "None" else float(each) for each in (start, end)]
            numbers = [None if each == "None" else int(each) for each in (code, signal)]
            never = False if started == "False" else None
            jobs[number] = base.JobState(
                state, letter, reason, *numbers, started=True if ran else never, name=name,
                hosts=(host,) if ran else (), start=when[0], end=when[1],
            )  # fmt: skip
        return jobs

    def _text(self, answer: base.CommandOutput) -> str:
        if answer.exit_code:
            raise self._error(answer, "failed", transient=False)
        return answer.stdout

    def _error(self, answer: base.CommandOutput, key: str, *, transient: bool) -> base.SchedulerError:
        told = {"command": "kumo", "code": answer.exit_code, "words": answer.stderr.strip() or answer.stdout[:80]}
        return base.SchedulerError(f"schedulers.{key}", transient=transient, **told)
