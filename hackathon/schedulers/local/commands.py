"""The `local` scheduler: arguments and output of the helper command in `__main__.py`."""

import json
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from hackathon.schedulers.base import (
    UNKNOWN,
    CommandOutput,
    JobState,
    Scheduler,
    SchedulerError,
    Shell,
    StatusAnswer,
    Submission,
)
from hackathon.schedulers.local.dialect import LocalDialect
from hackathon.schedulers.reasons import REASONS
from hackathon.schedulers.reports import QueueInfo
from hackathon.schedulers.words import command, garbage, words
from hackathon.text.messages import _

STATES = frozenset(
    {"QUEUED", "RUNNING", "ENDING", "SUCCEEDED", "FAILED", "TIMEOUT", "CANCELLED", "NODE_FAILED", "UNKNOWN"}
)


@dataclass(frozen=True)
class Local(Scheduler):
    """This machine as pure functions; a supervisor process per job does the work."""

    name: ClassVar[str] = "local"
    dialect: LocalDialect = field(default_factory=LocalDialect)
    job_ids: ClassVar[re.Pattern[str]] = re.compile(r"\d{1,15}\.[A-Za-z0-9_.-]{1,253}\.local\Z", re.ASCII)

    def submit_argv(self, submission: Submission) -> list[str]:
        """Return `… submit NAME DIRECTORY OUTPUT SCRIPT [ok|any JOB_ID]`, or `… submit-part OPTIONS -- NAME …`."""
        paths = [str(submission.directory), str(submission.output), str(submission.script)]
        verb = ("submit-part", *submission.options, "--") if submission.options else ("submit",)
        return _argv(*verb, submission.name, *paths, *(submission.after or ()))

    def parse_submit(self, answer: CommandOutput) -> str:
        """Return the job id; raise SchedulerError.

        The helper command refuses (a folder that is not private, a full disk) before it creates a job. Only when the
        supervisor's process cannot be started is there a job, which has ended.
        """
        try:
            return str(_value(answer, "job_id", str))
        except SchedulerError as error:
            error.no_job = error.id.startswith("local.") and error.id != "local.no_process"
            raise

    def status_argv(self, ids: list[str]) -> list[list[str]]:
        """Return one command for all ids."""
        return [_argv("status", *ids)]

    def parse_status(self, answers: list[CommandOutput], ids: list[str]) -> StatusAnswer:
        """Return the jobs that this machine knows.

        A job of another machine is UNKNOWN with raw "other host" and that machine's name: it was not queried there, so
        it must never count as lost.
        """
        jobs = _value(answers[0], "jobs", dict)
        states = {}
        for job_id in ids:
            if job_id in jobs:
                state = _job(jobs[job_id])
                if state is None:
                    raise garbage(answers[0])
                states[job_id] = state
        return StatusAnswer(states)

    def cancel_argv(self, job_id: str) -> list[str]:
        """Return the command that cancels a job."""
        return _argv("cancel", job_id)

    def parse_cancel(self, answer: CommandOutput) -> bool:
        """Return False when the job had ended; raise SchedulerError, with the host of another machine's job."""
        return bool(_value(answer, "cancelled", bool))

    def find_argv(self, name: str) -> list[list[str]]:
        """Return the command that searches jobs by name."""
        return [_argv("find", name)]

    def parse_find(self, answers: list[CommandOutput]) -> list[str]:
        """Return the ids, oldest first."""
        return [str(job_id) for job_id in _value(answers[0], "ids", list)]

    def queues_argv(self) -> list[str]:
        """Return the command that reports this machine's load."""
        return _argv("queues")

    def parse_queues(self, answer: CommandOutput) -> list[QueueInfo]:
        """Return one queue, this machine."""
        running, queued = _value(answer, "running", int), _value(answer, "queued", int)
        note = _("{slots} slots on {host}", slots=_value(answer, "slots", int), host=_value(answer, "host", str))
        return [QueueInfo("local", nodes=1, running=running, queued=queued, note=note)]

    def shell(self, options: list[str], rcfile: Path) -> Shell:
        """Return bash: an interactive job on this machine is a shell, which ignores the options."""
        return Shell(["bash", "--rcfile", str(rcfile), "-i"])

    def supports_after(self, condition: str) -> bool:
        """Return True: the supervisor waits for another job's end."""
        return True


def _argv(*words: str) -> list[str]:
    """Return the helper command, by path and isolated: the current folder and PYTHONPATH have no effect.

    Names and paths are UTF-8 with surrogates for other bytes, in any locale.
    """
    return [sys.executable, "-I", "-S", "-X", "utf8", str(Path(__file__).with_name("__main__.py")), *words]


def _value(answer: CommandOutput, key: str, kind: type) -> Any:
    """Return one value of the answer; raise SchedulerError for a failure and for other JSON than ours."""
    try:
        value = json.loads(answer.stdout)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        if answer.exit_code:
            details = {"command": command(answer), "code": answer.exit_code, "words": words(answer)}
            raise SchedulerError(
                "schedulers.failed",
                "{command} failed (exit {code}): {words}",
                hint="Run the command by hand. If it fails too, contact the support of the computing centre.",
                transient=answer.exit_code == 3,
                **details,
            )
        raise garbage(answer)
    identifier, values = value.get("error"), value.get("values")
    text, hint = value.get("text"), value.get("hint")
    if isinstance(identifier, str) and isinstance(values, dict) and isinstance(text, str):
        raise SchedulerError(identifier, text, hint=str(hint or ""), transient=answer.exit_code == 3, **values)
    if answer.exit_code or not isinstance(value.get(key), kind):
        raise garbage(answer)
    return value[key]


def _job(value: Any) -> JobState | None:
    """Return a job's state, None for an invalid value."""
    if not isinstance(value, dict) or value.get("state") not in STATES:
        return None
    code = value.get("reason")
    if value["state"] == UNKNOWN:
        return JobState(UNKNOWN, "other host", reason=str(value.get("host")))
    text = REASONS.get(code) if isinstance(code, str) else None
    values = {"other": value.get("other", ""), "words": value.get("words", ""), "host": value.get("host", "")}
    return JobState(
        value["state"],
        value["state"],
        reason=_(text, **values) if text else str(code or ""),
        exit_code=value.get("exit_code"),
        signal=value.get("signal"),
        started=value.get("started"),
        name=str(value.get("name", "")),
        owner=str(value.get("owner", "")),
        hosts=(str(value["host"]),) if value.get("started") and value.get("host") else (),
        start=value.get("start"),
        end=value.get("end"),
    )
