"""The contract of a scheduler: every hook with an example, and the records of questions and answers.

A scheduler is a folder: `commands.py` (the commands, a subclass of Scheduler), `parse.py` (what they print),
`dialect.py` (a subclass of Dialect, see `hackathon.schedulers.dialect`), `header.sh.j2`, `identity.sh.j2`,
`hosts.sh.j2`, `samples/` (recorded output for its tests). The registry knows the built-in ones; a plug-in names its
class under the entry point `hackathon.schedulers`. docs/how-to/add-a-scheduler.md walks through a whole one.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from hackathon.schedulers.dialect import Dialect, Header
from hackathon.schedulers.failures import FAILURES
from hackathon.text.errors import UnavailableError

if TYPE_CHECKING:  # otherwise every command would load what few of them need
    from hackathon.schedulers.reports import JobAccounting, JobDetails, NodeGroup, QueueInfo
    from hackathon.schedulers.scripts import ScriptLanguage

# Job states. FINISHED: the job ended, and the scheduler gives no cause. UNKNOWN: a state code without a meaning here;
# `raw` shows it.
QUEUED, HELD, RUNNING, ENDING = "QUEUED", "HELD", "RUNNING", "ENDING"
SUCCEEDED, FAILED, TIMEOUT, OUT_OF_MEMORY = "SUCCEEDED", "FAILED", "TIMEOUT", "OUT_OF_MEMORY"
CANCELLED, NODE_FAILED, FINISHED, UNKNOWN = "CANCELLED", "NODE_FAILED", "FINISHED", "UNKNOWN"
OPEN_STATES = frozenset({QUEUED, HELD, RUNNING, ENDING, UNKNOWN})
ADVICE_COMMANDS = (
    "status_command", "usage_command", "nodes_command", "limits_command", "own_jobs_command", "account_command",
    "server_command", "hosts_command", "reservation_command", "node_command",
)  # fmt: skip
"""Placeholders in the checks of failure rules for a scheduler's commands (`Scheduler.advice_commands`)."""
REPORTS = ("JobAccounting", "JobDetails", "NodeGroup", "QueueInfo")
"""Records of answers, which packages with a scheduler name as `base.QueueInfo`."""
NO_ANSWER = 124
"""Exit code for a follow-up question without an answer: it timed out, printed too much or could not be asked."""


def __getattr__(name: str) -> object:
    """Return one of REPORTS, whose module most commands do without."""
    if name not in REPORTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from hackathon.schedulers import reports

    return getattr(reports, name)


@dataclass(frozen=True)
class Submission:
    """The command-line part of a submission; the script itself contains no run id and no date."""

    script: Path
    """The job script."""
    directory: Path
    """Working directory of the submission: the run directory."""
    name: str
    """The job's name, `hk-<8 random>`."""
    output: Path
    """File for the scheduler's own copy of stdout and stderr (the script redirects its output)."""
    after: tuple[str, str] | None = None
    """(`ok` or `any`, job id): start only after that job succeeded or ended."""
    options: tuple[str, ...] = ()
    """Options that a script cannot contain: `Dialect.command_options`."""

    def relative(self, path: Path) -> str:
        """Return a path relative to the directory, without a host prefix or a parent folder's comma or colon."""
        text, base = str(path), str(self.directory)
        return text[len(base) + 1 :] if text.startswith(base + "/") else text


@dataclass(frozen=True)
class JobState:
    """The scheduler's report on one job."""

    state: str
    """One of the states above."""
    raw: str
    """The scheduler's own state code."""
    reason: str = ""
    """Why it waits or ended, in the scheduler's words."""
    exit_code: int | None = None
    """The job script's exit code, when the scheduler reports it."""
    signal: int | None = None
    """The signal that ended it, when the scheduler reports it."""
    started: bool | None = None
    """False when the scheduler reports that it never ran."""
    name: str = ""
    """The job's name."""
    owner: str = ""
    """The job's account, by name or number; empty when the scheduler does not report it."""
    hosts: tuple[str, ...] = ()
    """The hosts of the job, when known."""
    never_runs: bool = False
    """True when the scheduler reports that it can never run."""
    start: float | None = None
    """Start time in seconds since 1970, when known."""
    end: float | None = None
    """End time in seconds since 1970, when known."""
    id: str = ""
    """The scheduler's form of the id, if there are several; empty: as in the question."""


@dataclass(frozen=True)
class CommandOutput:
    """The output of one scheduler command."""

    argv: tuple[str, ...]
    exit_code: int
    stdout: str
    stderr: str


class SchedulerError(UnavailableError):
    """A scheduler command failed. `transient`: the same call may succeed later (exit code 3), else 2."""

    no_job = False
    """For a submission: True when certainly no job was created, although a later attempt may succeed."""

    def __init__(
        self, identifier: str, text: str = "", /, *, transient: bool, hint: str = "", **values: object
    ) -> None:
        if not text:  # a plug-in names one of the messages that schedulers share
            identifier = FAILURES.get(identifier.removeprefix("schedulers."), identifier)
        super().__init__(identifier, text, hint=hint, exit_code=3 if transient else 2, **values)
        self.transient = transient


@dataclass(frozen=True)
class StatusAnswer:
    """The parsed answer of a status command."""

    jobs: dict[str, JobState] = field(default_factory=dict)
    """By job id as in the question; a job that the scheduler does not know is absent."""
    asked: dict[str, float] = field(default_factory=dict)
    """Job id → time of the answer (seconds since 1970); set by the runner, also for absent jobs."""


@dataclass(frozen=True)
class Shell:
    """The command for an interactive job."""

    argv: list[str]
    """The command."""
    reads_rcfile: bool = True
    """False when the user has to source the file in the job's shell (the toolkit prints how)."""


@dataclass(frozen=True)
class Scheduler(ABC):
    """A scheduler as pure functions: commands to run, and the meaning of their output. `runner.py` runs them.

    Parsers raise SchedulerError when the command failed or its output cannot be understood; they never read garbage as
    "no such job". Every scheduler implements the abstract methods. The other methods are hooks, which do nothing by
    default. A subclass with a dialect of its own declares the field again:

        @dataclass(frozen=True)
        class Kumo(Scheduler):
            name: ClassVar[str] = "kumo"
            dialect: KumoDialect = field(default_factory=KumoDialect)
    """

    name: ClassVar[str] = ""
    """The name in profiles and records; also the key of the entry point."""
    dialect: Dialect = field(default_factory=Dialect)
    """How this site's scheduler is used; by default the dialect's default values."""
    output_names: ClassVar[tuple[re.Pattern[str], ...]] = ()
    r"""Names of the output files of a job submitted by hand, for `hackathon adopt`; the first group is the job id.

    Example: `kumo-17.out` is `re.compile(r"kumo-(\d+)\.out\Z")`.
    """
    script_endings: ClassVar[tuple[str, ...]] = (".sh", ".job")
    """Endings of scripts that people submit by hand."""
    job_ids: ClassVar[re.Pattern[str]] = re.compile(r"[A-Za-z0-9][\w.:+%,\[\]-]{0,199}\Z", re.ASCII)
    r"""The form of a job id. Example: `re.compile(r"kumo-\d{1,9}\Z")`.

    Only matching ids reach a command: they are read from files, also of other people, and a text that begins with `-`
    would be an option.
    """

    def is_id(self, text: str) -> bool:
        """Return whether a text can be a job id, by `job_ids`. Example: `17` can, `-f` and `17 18` cannot."""
        return self.job_ids.match(text) is not None

    # ---- required for every scheduler

    @abstractmethod
    def submit_argv(self, submission: Submission) -> list[str]:
        """Return the command that submits a script; the runner runs it in `submission.directory`.

        Example: `["kumo-submit", "--name", "hk-abcdefgh", "--output", "logs/scheduler.log", "job.sh"]`.
        """

    @abstractmethod
    def parse_submit(self, answer: CommandOutput) -> str:
        """Return the job id; raise SchedulerError with the scheduler's message and its meaning.

        Search for the line with an id: sites print news and balances before it.
        """

    @abstractmethod
    def status_argv(self, ids: list[str]) -> list[list[str]]:
        """Return the commands that query jobs, all ids in one call (a second command only for history).

        A scheduler without queries by id lists all of the user's jobs; `parse_status` selects.
        """

    @abstractmethod
    def parse_status(self, answers: list[CommandOutput], ids: list[str]) -> StatusAnswer:
        """Return the jobs in `answers`: those of `status_argv`, then those of `follow_up_argv`.

        An omitted id means that the scheduler does not know the job: omit one only when the answer is complete.
        """

    @abstractmethod
    def cancel_argv(self, job_id: str) -> list[str]:
        """Return the command that cancels one job."""

    @abstractmethod
    def parse_cancel(self, answer: CommandOutput) -> bool:
        """Return True when the job is being cancelled, False when it had already ended; raise SchedulerError."""

    @abstractmethod
    def find_argv(self, name: str) -> list[list[str]]:
        """Return the commands that search jobs by name, finished ones too."""

    @abstractmethod
    def parse_find(self, answers: list[CommandOutput]) -> list[str]:
        """Return the ids of the jobs with that name, oldest first."""

    @abstractmethod
    def queues_argv(self) -> list[str]:
        """Return the command that lists queues."""

    @abstractmethod
    def parse_queues(self, answer: CommandOutput) -> "list[QueueInfo]":
        """Return the queues."""

    # ---- hooks of a submission

    def supports_after(self, condition: str) -> bool:
        """Return whether a job can wait for another one's end (`any`) or success (`ok`): see `Submission.after`.

        Otherwise `--after`, `--segments` and `--preflight` are refused before anything is submitted. Example: Grid
        Engine's `-hold_jid` waits for any end: `return condition == "any"`.
        """
        return False

    def files(self, submission: Submission, header: Header) -> Mapping[str, str]:
        """Return name → text of files that are written beside the script before it is submitted.

        For schedulers that do not read a header in the script. Example: Kubernetes submits `{"job.yaml": …}`, whose
        container runs `bash <submission.directory>/job.sh`, with `kubectl create -f job.yaml`. A name has no folder and
        differs from the run's other files.
        """
        return {}

    def undo_argv(self, answer: CommandOutput) -> list[list[str]]:
        """Return commands that clean up after a submission whose answer `parse_submit` rejected.

        Each runs once, and its output is ignored. Example: Kubernetes deletes the Service that it created before the
        Job was refused.
        """
        return []

    def environment(self, inherited: dict[str, str], *, submission: bool) -> dict[str, str]:
        """Return the environment of a command, given one without variables of other jobs (`foreign.py`).

        A submission's environment may become the job's; a query's may be set so that the answer can be parsed. Example:
        `return inherited if submission else {**inherited, "KUMO_TIME_FORMAT": "%s"}`.
        """
        return inherited

    # ---- hooks of a query

    def details_argv(self, job_id: str) -> list[list[str]]:
        """Return the commands that report what a job requested, for `hackathon adopt`; [] without one.

        Example: `[["kumo-stat", "--full", job_id], ["kumo-history", job_id]]`.
        """
        return []

    def parse_details(self, answers: list[CommandOutput], job_id: str) -> "JobDetails":
        """Return what the answers say; commands without an answer are left out.

        Example: `JobDetails(nodes=2, processes=4)` for the line `JobId=17 NumNodes=2 NumTasks=4`.
        """
        from hackathon.schedulers.reports import JobDetails

        return JobDetails()

    def follow_up_argv(self, answers: list[CommandOutput], ids: list[str]) -> list[list[str]]:
        """Return further commands that the first answers make necessary, in a status or accounting query.

        Example: `kumo-history 17` when the first answer shows that job 17 has left the queue.
        """
        return []

    def fall_back_argv(self, answers: list[CommandOutput], ids: list[str]) -> list[list[str]]:
        """Return commands of a status query that replace a follow-up without an answer (exit code NO_ANSWER).

        Example: queries for a few jobs by id when the list of all jobs was too long.
        """
        return []

    def parse_find_named(self, answers: list[CommandOutput], name: str) -> list[str]:
        """Return what `parse_find` returns, for a scheduler whose lists contain all names.

        Example: a site's command that lists all of a user's jobs.
        """
        return self.parse_find(answers)

    def same_job(self, job_id: str, other: str) -> bool:
        """Return whether two ids mean the same job. Example: `499` and `499.server` on PBS."""
        return job_id == other

    def can_account(self, job_id: str) -> bool:
        """Return whether a text in a run's record can be used as an id in accounting queries.

        Anybody may have written the record, and one invalid text must not spoil the answer for the others. Example, for
        accounting that accepts fewer forms than `job_ids`: `return job_id.isdigit()`.
        """
        return self.is_id(job_id)

    def accounting_argv(self, ids: list[str]) -> list[list[str]]:
        """Return the commands that query what jobs used; none without accounting.

        Example: `[["kumo-bill", each] for each in ids]` if accounting accepts one id per call.
        """
        return []

    def parse_accounting(self, answers: list[CommandOutput], ids: list[str]) -> "dict[str, JobAccounting]":
        """Return id → every life of the job with its nodes and seconds; unknown ids are omitted.

        Example: `{"17": JobAccounting((Charge(start, end, seconds, nodes, gpus, name, owner),))}`; a charge whose owner
        differs from the run's does not count for the run.
        """
        return {}

    # ---- hooks for jobs that the scheduler has forgotten

    def left_files(self, job_id: str, name: str) -> tuple[str, ...]:
        """Return files in a run's folder in which the scheduler may have recorded the end of the job with this name.

        They are read when a valid answer lacks the job. Example, for a scheduler without history: `kumo-17.err`, whose
        last line gives the reason, `return (f"kumo-{job_id}.err",)`.
        """
        return ()

    def parse_left(self, text: str, job_id: str) -> JobState | None:
        """Return how the job ended according to the end of such a file; None without a complete report on this job.

        The job's own output may precede it. Example: `JobState(TIMEOUT, "limit")` for a last line `17: killed at its
        limit`.
        """
        return None

    # ---- hooks of the machine, for `hackathon clusters check --live` and `clusters new`

    def nodes_argv(self) -> list[list[str]]:
        """Return the commands that describe the nodes; none if ordinary users cannot query them.

        Use one line for equal nodes if possible: machines have thousands. The limits of queues come from `queues_argv`.
        Example: `[["kumo-nodes", "--by-shape"]]`.
        """
        return []

    def nodes_follow_up_argv(self, answers: list[CommandOutput]) -> list[list[str]]:
        """Return further commands that the answers of `nodes_argv` make necessary; `parse_nodes` gets theirs, too.

        Example: a list of nodes tells only what is free, `return [["kumo-node", "--all", "n7"]]`.
        """
        return []

    def parse_nodes(self, answers: list[CommandOutput]) -> "list[NodeGroup]":
        """Return the nodes, equal ones together (see `words.grouped`). Raises SchedulerError.

        Example: `[NodeGroup(4, queues=("main",), cores=36, memory=256 * 2**30, gpus=2, gpu="p100")]`.
        """
        return []

    # ---- hooks of advice

    advice_dialects: ClassVar[tuple[Mapping[str, object], ...]] = ({},)
    """Dialects whose `advice_commands` differ. Example: `({}, {"history": "H"})`."""

    def advice_commands(self) -> Mapping[str, str]:
        """Return ADVICE_COMMANDS → command line for a diagnosis; a check without its command is left out.

        `status_command`: details of `{job}`; `usage_command`: its memory and time; `nodes_command`: nodes that are
        down; `limits_command`: limits of queues; `own_jobs_command`; `account_command`: accounts that the user can
        charge; `server_command`: whether the server answers; `reservation_command`; inside a job `hosts_command` and
        `node_command`, which runs the command after it once on each node. `{job}` and `{queue}` are words of their own.
        Example: `{"status_command": "kumo-show {job}", "nodes_command": "kumo-nodes --down"}`.
        """
        return {}

    # ---- hooks of scripts that people write

    def script_language(self) -> "ScriptLanguage | None":
        """Return how its job scripts are read and written, for `hackathon lint` and `hackathon convert`; or None.

        Example: `ScriptLanguage(name="kumo", title="Kumo", prefix="#KUMO", …)`, as in each `<name>/script.py`.
        """
        return None

    # ---- hooks of an interactive job

    def shell(self, options: list[str], rcfile: Path) -> Shell | None:
        """Return the command for an interactive job with the header's options and a shell that reads a file, or None.

        Example: `Shell(["kumo-run", *options, "bash", "--rcfile", str(rcfile), "-i"])`. The scheduler drops options
        that only a batch job can have.
        """
        return None
