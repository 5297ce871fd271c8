"""The `local` scheduler: argv builders and parsers of the small command in `__main__.py`."""

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hackathon.schedulers.base import UNKNOWN, Answer, JobState, QueueInfo, SchedulerError, StatusAnswer, Submission
from hackathon.schedulers.words import command, words
from hackathon.text.messages import lookup, message

STATES = frozenset(
    {"QUEUED", "RUNNING", "ENDING", "SUCCEEDED", "FAILED", "TIMEOUT", "CANCELLED", "NODE_FAILED", "UNKNOWN"}
)


@dataclass(frozen=True)
class Local:
    """This machine as pure functions; a supervisor process a job does the work."""

    name: str = "local"

    def submit_argv(self, submission: Submission) -> list[str]:
        """Return `… submit NAME DIRECTORY OUTPUT SCRIPT [ok|any JOB_ID]`."""
        paths = [str(submission.directory), str(submission.output), str(submission.script)]
        return _argv("submit", submission.name, *paths, *(submission.after or ()))

    def parse_submit(self, answer: Answer) -> str:
        """Return the job id; raises SchedulerError."""
        return str(_value(answer, "job_id", str))

    def status_argv(self, ids: list[str]) -> list[list[str]]:
        """Return one command for all ids."""
        return [_argv("status", *ids)]

    def parse_status(self, answers: list[Answer], ids: list[str]) -> StatusAnswer:
        """Return the jobs that this machine knows.

        A job of another machine is UNKNOWN with raw "other host" and that machine's name: it was not asked there, so
        it must never be taken for lost.
        """
        jobs = _value(answers[0], "jobs", dict)
        found = {}
        for job_id in ids:
            if job_id in jobs:
                state = _job(jobs[job_id])
                if state is None:
                    raise _garbage(answers[0])
                found[job_id] = state
        return StatusAnswer(found)

    def cancel_argv(self, job_id: str) -> list[str]:
        """Return the command that tells a job to end."""
        return _argv("cancel", job_id)

    def parse_cancel(self, answer: Answer) -> bool:
        """Return False when the job had ended; raises SchedulerError, for a job of another machine with its name."""
        return bool(_value(answer, "cancelled", bool))

    def find_argv(self, name: str) -> list[list[str]]:
        """Return the command that looks for jobs by name."""
        return [_argv("find", name)]

    def parse_find(self, answers: list[Answer]) -> list[str]:
        """Return the ids, oldest first."""
        return [str(job_id) for job_id in _value(answers[0], "ids", list)]

    def queues_argv(self) -> list[str]:
        """Return the command that says how full this machine is."""
        return _argv("queues")

    def parse_queues(self, answer: Answer) -> list[QueueInfo]:
        """Return one queue, this machine."""
        running, queued = _value(answer, "running", int), _value(answer, "queued", int)
        note = message("local.queue_note", slots=_value(answer, "slots", int), host=_value(answer, "host", str))
        return [QueueInfo("local", nodes=1, running=running, queued=queued, note=note)]

    def shell_argv(self, options: list[str]) -> list[str]:
        """Return bash: on this machine an interactive job is a shell, and the options say nothing to it."""
        return ["bash", "-i"]


def _argv(*words: str) -> list[str]:
    """Return the small command, by path and isolated: neither the current folder nor PYTHONPATH can disturb it.

    Names and paths are UTF-8 with surrogates for other bytes, whatever the locale of the day is.
    """
    return [sys.executable, "-I", "-S", "-X", "utf8", str(Path(__file__).with_name("__main__.py")), *words]


def _value(answer: Answer, key: str, kind: type) -> Any:
    """Return one value of the answer; raises SchedulerError for a failure and for what is not our JSON."""
    try:
        value = json.loads(answer.stdout)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        if answer.exit_code:
            told = {"command": command(answer), "code": answer.exit_code, "words": words(answer)}
            raise SchedulerError("schedulers.failed", transient=answer.exit_code == 3, **told)
        raise _garbage(answer)
    identifier, values = value.get("error"), value.get("values")
    if isinstance(identifier, str) and isinstance(values, dict) and lookup(identifier):
        raise SchedulerError(identifier, transient=answer.exit_code == 3, **values)
    if answer.exit_code or not isinstance(value.get(key), kind):
        raise _garbage(answer)
    return value[key]


def _garbage(answer: Answer) -> SchedulerError:
    return SchedulerError("schedulers.garbage", transient=True, command=command(answer), words=words(answer))


def _job(value: Any) -> JobState | None:
    """Return a job's state, None when this is not one."""
    if not isinstance(value, dict) or value.get("state") not in STATES:
        return None
    code = value.get("reason")
    if value["state"] == UNKNOWN:
        return JobState(UNKNOWN, "other host", reason=str(value.get("host")))
    known = isinstance(code, str) and lookup(f"local.reason_{code}")
    told = {"other": value.get("other", ""), "words": value.get("words", ""), "host": value.get("host", "")}
    return JobState(
        value["state"],
        value["state"],
        reason=message(f"local.reason_{code}", **told) if known else str(code or ""),
        exit_code=value.get("exit_code"),
        signal=value.get("signal"),
        started=value.get("started"),
        name=str(value.get("name", "")),
        hosts=(str(value["host"]),) if value.get("started") and value.get("host") else (),
        start=value.get("start"),
        end=value.get("end"),
    )
