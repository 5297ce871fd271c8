"""What every scheduler module offers, and the words in which it answers."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from hackathon.text.errors import UnavailableError

# What a scheduler can say about a job. FINISHED: it ended, and the scheduler gives no cause. UNKNOWN: a letter or word
# that this toolkit does not know; it stays visible in `raw`.
QUEUED, HELD, RUNNING, ENDING = "QUEUED", "HELD", "RUNNING", "ENDING"
SUCCEEDED, FAILED, TIMEOUT, OUT_OF_MEMORY = "SUCCEEDED", "FAILED", "TIMEOUT", "OUT_OF_MEMORY"
CANCELLED, NODE_FAILED, FINISHED, UNKNOWN = "CANCELLED", "NODE_FAILED", "FINISHED", "UNKNOWN"
OPEN_STATES = frozenset({QUEUED, HELD, RUNNING, ENDING, UNKNOWN})


@dataclass(frozen=True)
class Submission:
    """What goes on the command line beside the script; the script itself has no run id and no date."""

    script: Path
    """The job script."""
    directory: Path
    """Working directory of the submission: the run directory."""
    name: str
    """The job's name, `hk-<8 random>`."""
    output: Path
    """File for what the scheduler itself keeps of stdout and stderr (the script redirects its own)."""
    after: tuple[str, str] | None = None
    """(`ok` or `any`, job id): start only after that job succeeded or ended."""


@dataclass(frozen=True)
class JobState:
    """What the scheduler says about one job."""

    state: str
    """One of the words above."""
    raw: str
    """The scheduler's own letter or word."""
    reason: str = ""
    """Why it waits or ended, in the scheduler's words."""
    exit_code: int | None = None
    """The job script's exit code where the scheduler knows it."""
    signal: int | None = None
    """The signal that ended it where the scheduler knows it."""
    started: bool | None = None
    """False when the scheduler knows that it never ran."""
    name: str = ""
    """The job's name."""
    hosts: tuple[str, ...] = ()
    """Hosts it runs or ran on, where known."""
    never_runs: bool = False
    """True when the scheduler says that it can never run."""
    start: float | None = None
    """Seconds since 1970 when it began, where known."""
    end: float | None = None
    """Seconds since 1970 when it ended, where known."""


@dataclass(frozen=True)
class QueueInfo:
    """A queue as the scheduler describes it now."""

    name: str
    enabled: bool = True
    nodes: int | None = None
    walltime: int | None = None
    """Seconds."""
    running: int | None = None
    queued: int | None = None
    note: str = ""


@dataclass(frozen=True)
class Answer:
    """What one scheduler command printed."""

    argv: tuple[str, ...]
    exit_code: int
    stdout: str
    stderr: str


class SchedulerError(UnavailableError):
    """A scheduler command failed. `transient`: the same call may go through later (exit code 3), else 2."""

    def __init__(self, identifier: str, *, transient: bool, **values: object) -> None:
        super().__init__(identifier, exit_code=3 if transient else 2, **values)
        self.transient = transient


@dataclass(frozen=True)
class StatusAnswer:
    """The parsed answer of a status command."""

    jobs: dict[str, JobState] = field(default_factory=dict)
    """By job id as it was asked for; a job that the scheduler does not know is absent."""
    asked: dict[str, float] = field(default_factory=dict)
    """When the answer about an id was given (seconds since 1970); set by the runner, also for absent jobs."""


class Scheduler(Protocol):
    """Pure functions: what to run, and what its output means. The runner (`runner.py`) runs it.

    Parsers raise SchedulerError when the command failed or its output can not be understood; they never take garbage
    for "no such job".
    """

    name: str

    def submit_argv(self, submission: Submission) -> list[str]:
        """Return the command that submits a script."""

    def parse_submit(self, answer: Answer) -> str:
        """Return the job id; raises SchedulerError with the scheduler's own words and what they mean."""

    def status_argv(self, ids: list[str]) -> list[list[str]]:
        """Return the commands that ask about jobs, all ids in one call (a second one only for history)."""

    def parse_status(self, answers: list[Answer], ids: list[str]) -> StatusAnswer:
        """Return the jobs that the scheduler knows."""

    def cancel_argv(self, job_id: str) -> list[str]:
        """Return the command that cancels one job."""

    def parse_cancel(self, answer: Answer) -> bool:
        """Return True when the job was told to end, False when it had already ended; raises SchedulerError."""

    def find_argv(self, name: str) -> list[list[str]]:
        """Return the commands that look for jobs by name, finished ones too."""

    def parse_find(self, answers: list[Answer]) -> list[str]:
        """Return the ids of the jobs of that name, oldest first."""

    def queues_argv(self) -> list[str]:
        """Return the command that lists queues."""

    def parse_queues(self, answer: Answer) -> list[QueueInfo]:
        """Return the queues."""

    def shell_argv(self, options: list[str]) -> list[str]:
        """Return the command for an interactive job with these header options (`qsub -I …`, `salloc …`)."""
