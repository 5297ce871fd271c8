"""A scheduler of a few lines and a request, for tests of run directories. No product code decides its answers."""

import contextlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hackathon.jobs.request import Request
from hackathon.jobs.script import JobScript
from hackathon.runs.create import create
from hackathon.runs.directory import RunDirectory
from hackathon.schedulers.base import CommandOutput, JobState, Scheduler, SchedulerError, StatusAnswer, Submission
from hackathon.schedulers.pbs.commands import Pbs
from hackathon.schedulers.reports import QueueInfo
from hackathon.schedulers.slurm.commands import Slurm

SCRIPT = JobScript("#!/bin/bash\n. ./hackathon.sh\necho job\n", "#!/bin/bash\necho rank\n", "hk_run() { echo run; }\n")
NOBODY = 65534
COMMAND = Path(__file__).with_name("fake_scheduler.sh")


class FakeScheduler(Scheduler):
    """Jobs are folders below `spool/jobs`; `spool/jobs/<id>/state` is what a status question prints."""

    name = "fake"
    output_names = (*Slurm.output_names, *Pbs.output_names)
    script_endings = Slurm.script_endings

    def __init__(self, spool: Path) -> None:
        super().__init__()
        self.spool = spool
        (spool / "jobs").mkdir(parents=True, exist_ok=True)

    def _argv(self, *words: str) -> list[str]:
        return ["sh", str(COMMAND), str(self.spool), *words]

    def submit_argv(self, submission: Submission) -> list[str]:
        return self._argv("submit", submission.name)

    def parse_submit(self, answer: CommandOutput) -> str:
        if answer.exit_code == 1:
            raise SchedulerError("schedulers.over_limit", transient=False, words=answer.stderr.strip())
        self._check(answer)
        return answer.stdout.strip()

    def status_argv(self, ids: list[str]) -> list[list[str]]:
        return [self._argv("status", *ids)]

    def parse_status(self, answers: list[CommandOutput], ids: list[str]) -> StatusAnswer:
        self._check(answers[0])
        jobs = {}
        for line in answers[0].stdout.splitlines():
            number, state, *reason = line.split(" ", 2)
            jobs[number] = JobState(state, raw=state.lower(), reason=" ".join(reason))
        return StatusAnswer(jobs)

    def cancel_argv(self, job_id: str) -> list[str]:
        return self._argv("cancel", job_id)

    def parse_cancel(self, answer: CommandOutput) -> bool:
        self._check(answer)
        return True

    def find_argv(self, name: str) -> list[list[str]]:
        return [self._argv("find", name)]

    def parse_find(self, answers: list[CommandOutput]) -> list[str]:
        self._check(answers[0])
        return answers[0].stdout.split()

    def queues_argv(self) -> list[str]:
        return self._argv("queues")

    def parse_queues(self, answer: CommandOutput) -> list[QueueInfo]:
        return []

    def supports_after(self, condition: str) -> bool:
        return True

    def _check(self, answer: CommandOutput) -> None:
        if answer.exit_code:
            raise SchedulerError("schedulers.server_down", transient=True, words=answer.stderr.strip())

    # what a test looks at and sets
    def say(self, job_id: str, words: str) -> None:
        """Let the next question about a job be answered with `STATE reason`."""
        (self.spool / "jobs" / job_id / "state").write_text(words + "\n")

    def forget(self, job_id: str) -> None:
        """Let the scheduler not know a job any more."""
        (self.spool / "jobs" / job_id).rename(self.spool / f"gone-{job_id}")

    def jobs(self) -> dict[str, str]:
        """Return id → name of all jobs that were ever queued."""
        return {path.name: (path / "name").read_text().strip() for path in (self.spool / "jobs").iterdir()}

    def calls(self, verb: str) -> list[str]:
        """Return the commands of one kind that were run."""
        path = self.spool / "calls"
        lines = path.read_text().splitlines() if path.exists() else []
        return [line for line in lines if line.split(" ")[0] == verb]


def request(folder: Path, **changes: Any) -> Request:
    """Return a request of one process for the fake scheduler, with `folder` as its source."""
    values: dict[str, Any] = {
        "name": "digits", "recipe": None, "framework": None, "cluster": "box", "scheduler": "fake", "queue": None,
        "group": None, "reservation": None, "nodes": 1, "processes": 1, "processes_per_node": 1, "threads": 1,
        "gpus_per_node": 0, "walltime": 60, "launcher": "local", "starter": "local", "mpi": "auto",
        "command": ("python", "train.py"), "source": str(folder),
    }  # fmt: skip
    return Request(**{**values, **changes})


def project(folder: Path) -> Path:
    """Return a new project folder with a program."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "train.py").write_text("print('training')\n")
    return folder


def new_run(folder: Path, **changes: Any) -> RunDirectory:
    """Return a new run of a project made in `folder`."""
    made = request(project(folder), **changes)
    return create(made, SCRIPT, runs_folder=folder / "runs")


def append_line(path: Path, value: dict[str, Any]) -> None:
    """Append one JSON line with a single write, as jobs do."""
    with path.open("ab", buffering=0) as stream:
        stream.write(f"{json.dumps(value, ensure_ascii=False, allow_nan=False)}\n".encode("utf-8", "surrogateescape"))


def write_event(run: RunDirectory, line: dict[str, Any], name: str = "job") -> None:
    """Append an event as the job would; the job makes its folders itself."""
    (run.path / "events").mkdir(exist_ok=True)
    append_line(run.path / "events" / f"{name}.jsonl", line)


@contextlib.contextmanager
def without_rights() -> Iterator[Path]:
    """Give a folder in which this process has no more rights than a plain user, also when the tests run as root."""
    before = os.geteuid()
    folder = Path(tempfile.mkdtemp())
    time.strptime("0", "%S")  # loads its module at the first call, which a plain user may not be able to read
    if before == 0:
        os.chown(folder, NOBODY, NOBODY)
        os.seteuid(NOBODY)
    try:
        yield folder
    finally:
        os.seteuid(before)
        for path in folder.rglob("*"):
            if path.is_dir():
                path.chmod(0o700)
        shutil.rmtree(folder)


def write(path: Path, value: Any) -> None:
    """Write a value as JSON, with the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))


def sealed(start: float, end: float) -> dict[str, Any]:
    """Return the seal of a run that succeeded, as in `final.json`."""
    return {"state": "SUCCEEDED", "t_created": start - 10, "t_started": start, "t_ended": end}
