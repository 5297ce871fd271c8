"""The contract of a scheduler: every hook with an example, and the records in which schedulers are asked and answer.

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

from hackathon.schedulers.accounting import JobAccounting
from hackathon.schedulers.dialect import Dialect, Header
from hackathon.schedulers.machine import NodeGroup, QueueInfo
from hackathon.text.errors import UnavailableError

if TYPE_CHECKING:  # every command that knows a scheduler would load what only `lint` and `convert` need
    from hackathon.schedulers.scripts import ScriptLanguage

# What a scheduler can say about a job. FINISHED: it ended, and the scheduler gives no cause. UNKNOWN: a letter or word
# that this toolkit does not know; it stays visible in `raw`.
QUEUED, HELD, RUNNING, ENDING = "QUEUED", "HELD", "RUNNING", "ENDING"
SUCCEEDED, FAILED, TIMEOUT, OUT_OF_MEMORY = "SUCCEEDED", "FAILED", "TIMEOUT", "OUT_OF_MEMORY"
CANCELLED, NODE_FAILED, FINISHED, UNKNOWN = "CANCELLED", "NODE_FAILED", "FINISHED", "UNKNOWN"
OPEN_STATES = frozenset({QUEUED, HELD, RUNNING, ENDING, UNKNOWN})
ADVICE_COMMANDS = (
    "status_command", "usage_command", "nodes_command", "limits_command", "own_jobs_command", "account_command",
    "server_command", "hosts_command", "reservation_command", "node_command",
)  # fmt: skip
"""Words in the checks of failure rules that a scheduler replaces by a command (`Scheduler.advice_commands`)."""
NO_ANSWER = 124
"""Exit code of an answer that stands for none: a further question that timed out, said too much or could not be asked.
"""


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
    options: tuple[str, ...] = ()
    """What the script cannot say for its request: `Dialect.command_options`."""

    def relative(self, path: Path) -> str:
        """Return a path as seen from the directory: no host prefix, no comma or colon of a parent folder in it."""
        text, base = str(path), str(self.directory)
        return text[len(base) + 1 :] if text.startswith(base + "/") else text


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
    owner: str = ""
    """The account it belongs to, by name or number; empty where the scheduler does not tell."""
    hosts: tuple[str, ...] = ()
    """Hosts it runs or ran on, where known."""
    never_runs: bool = False
    """True when the scheduler says that it can never run."""
    start: float | None = None
    """Seconds since 1970 when it began, where known."""
    end: float | None = None
    """Seconds since 1970 when it ended, where known."""
    id: str = ""
    """The job's id as the scheduler shows it, where it may be asked for in several ways; empty: as it was asked for."""


@dataclass(frozen=True)
class CommandOutput:
    """What one scheduler command printed."""

    argv: tuple[str, ...]
    exit_code: int
    stdout: str
    stderr: str


class SchedulerError(UnavailableError):
    """A scheduler command failed. `transient`: the same call may go through later (exit code 3), else 2."""

    no_job = False
    """Of a submission: True when it is certain that no job came of it, though it may go through later."""

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


@dataclass(frozen=True)
class Shell:
    """How an interactive job is asked for."""

    argv: list[str]
    """The command."""
    reads_rcfile: bool = True
    """False when the person has to source the file in the job's shell, and is told so."""


@dataclass(frozen=True)
class Scheduler(ABC):
    """Pure functions: what to run, and what its output means. The runner (`runner.py`) runs it.

    Parsers raise SchedulerError when the command failed or its output cannot be understood; they never take garbage for
    "no such job". The abstract methods are what every scheduler needs. The others are hooks: each does nothing unless a
    scheduler replaces it. A subclass that has a dialect of its own declares the field again:

        @dataclass(frozen=True)
        class Kumo(Scheduler):
            name: ClassVar[str] = "kumo"
            dialect: KumoDialect = field(default_factory=KumoDialect)
    """

    name: ClassVar[str] = ""
    """What profiles and records call it; the key of the entry point."""
    dialect: Dialect = field(default_factory=Dialect)
    """How this site's scheduler wants to be asked; the class made without it has the dialect's defaults."""
    output_names: ClassVar[tuple[re.Pattern[str], ...]] = ()
    """Names of the files that a job submitted by hand leaves, the job id in the first group, for `hackathon adopt`.
    Example: `kumo-17.out` is `re.compile(r"kumo-(\\d+)\\.out\\Z")`."""
    script_endings: ClassVar[tuple[str, ...]] = (".sh", ".job")
    """Endings of scripts that people submit by hand."""
    job_ids: ClassVar[re.Pattern[str]] = re.compile(r"[A-Za-z0-9][\w.:+%,\[\]-]{0,199}\Z", re.ASCII)
    """What a job's id looks like: nothing else reaches a command. Ids are read from files, also those of other people,
    and a text that begins with `-` would be an option. Example: `re.compile(r"kumo-\\d{1,9}\\Z")`."""

    def is_id(self, text: str) -> bool:
        """Return whether a text can be a job's id, by `job_ids`. Example: `17` can, `-f` and `17 18` cannot."""
        return self.job_ids.match(text) is not None

    # ---- what every scheduler needs

    @abstractmethod
    def submit_argv(self, submission: Submission) -> list[str]:
        """Return the command that submits a script; the runner runs it in `submission.directory`.

        Example: `["kumo-submit", "--name", "hk-abcdefgh", "--output", "logs/scheduler.log", "job.sh"]`.
        """

    @abstractmethod
    def parse_submit(self, answer: CommandOutput) -> str:
        """Return the job id; raises SchedulerError with the scheduler's own words and what they mean.

        Look for the line that is an id: sites print news and balances before it.
        """

    @abstractmethod
    def status_argv(self, ids: list[str]) -> list[list[str]]:
        """Return the commands that ask about jobs, all ids in one call (a second one only for history).

        A scheduler that cannot be asked by ids asks for all of the user's jobs: `parse_status` picks.
        """

    @abstractmethod
    def parse_status(self, answers: list[CommandOutput], ids: list[str]) -> StatusAnswer:
        """Return the jobs that the scheduler knows; `answers` has those of `follow_up_argv` behind the first ones.

        An id that is left out counts as "not known to the scheduler": leave one out only when the answer is whole.
        """

    @abstractmethod
    def cancel_argv(self, job_id: str) -> list[str]:
        """Return the command that cancels one job."""

    @abstractmethod
    def parse_cancel(self, answer: CommandOutput) -> bool:
        """Return True when the job was told to end, False when it had already ended; raises SchedulerError."""

    @abstractmethod
    def find_argv(self, name: str) -> list[list[str]]:
        """Return the commands that look for jobs by name, finished ones too."""

    @abstractmethod
    def parse_find(self, answers: list[CommandOutput]) -> list[str]:
        """Return the ids of the jobs of that name, oldest first."""

    @abstractmethod
    def queues_argv(self) -> list[str]:
        """Return the command that lists queues."""

    @abstractmethod
    def parse_queues(self, answer: CommandOutput) -> list[QueueInfo]:
        """Return the queues."""

    # ---- hooks of a submission

    def supports_after(self, condition: str) -> bool:
        """Return whether a job can wait for another one's end (`any`) or success (`ok`): see `Submission.after`.

        Without it `--after`, `--segments` and `--preflight` are refused before anything is submitted. Example: Grid
        Engine's `-hold_jid` waits for any end: `return condition == "any"`.
        """
        return False

    def files(self, submission: Submission, header: Header) -> Mapping[str, str]:
        """Return name → text of files that are written beside the script before it is submitted.

        For schedulers that read no header in a script. Example: Kubernetes submits `{"job.yaml": …}`, whose container
        runs `bash <submission.directory>/job.sh`, with `kubectl create -f job.yaml`. Names have no folder, and none is
        that of another file of the run.
        """
        return {}

    def undo_argv(self, answer: CommandOutput) -> list[list[str]]:
        """Return commands that remove what a submission left behind whose answer `parse_submit` did not take.

        Each is run once, and what it answers is not read. Example: Kubernetes deletes the Service that it created
        before the Job was refused.
        """
        return []

    def environment(self, inherited: dict[str, str], *, submission: bool) -> dict[str, str]:
        """Return the environment of a command, from one without what belongs to another job (`foreign.py`).

        A submission's may become the job's; a question's may be set so that the answer can be parsed. Example:
        `return inherited if submission else {**inherited, "KUMO_TIME_FORMAT": "%s"}`.
        """
        return inherited

    # ---- hooks of a question

    def processes_argv(self, job_id: str) -> list[str]:
        """Return the command that tells how many processes a job has, for `hackathon adopt`; [] where none tells.

        Example: `["scontrol", "show", "job", "--oneliner", job_id]`, whose `NumTasks=4` `parse_processes` finds.
        """
        return []

    def parse_processes(self, answer: CommandOutput) -> int | None:
        """Return how many processes a job has, None where the answer of `processes_argv` does not tell.

        Example: 4 for the line `JobId=17 NumTasks=4 NumCPUs=8`.
        """
        return None

    def follow_up_argv(self, answers: list[CommandOutput], ids: list[str]) -> list[list[str]]:
        """Return further commands that are needed only because of the first answers, in a status question or a bill.

        Example: `kumo-history 17` when the first answer shows that job 17 has left the queue.
        """
        return []

    def fall_back_argv(self, answers: list[CommandOutput], ids: list[str]) -> list[list[str]]:
        """Return what to ask in a status question in place of a follow-up without an answer (exit code NO_ANSWER).

        Example: a few jobs by id where the list of all was too long.
        """
        return []

    def parse_find_named(self, answers: list[CommandOutput], name: str) -> list[str]:
        """Return what `parse_find` does, for a scheduler whose lists have to be searched for the name.

        Example: a site's command that lists all of a user's jobs.
        """
        return self.parse_find(answers)

    def same_job(self, job_id: str, other: str) -> bool:
        """Return whether two ids mean the same job. Example: `499` and `499.server` on PBS."""
        return job_id == other

    def can_account(self, job_id: str) -> bool:
        """Return whether accounting can be asked about a text that a run's record has for its job's id.

        Records may be anybody's, and one odd text must not spoil the answer about all. Example, where accounting takes
        fewer than `job_ids`: `return job_id.isdigit()`.
        """
        return self.is_id(job_id)

    def accounting_argv(self, ids: list[str]) -> list[list[str]]:
        """Return the commands that ask what jobs used; none where nobody keeps accounts.

        Example: `[["kumo-bill", each] for each in ids]` where accounting takes one id a call.
        """
        return []

    def parse_accounting(self, answers: list[CommandOutput], ids: list[str]) -> dict[str, JobAccounting]:
        """Return id → every life of the job with its nodes and seconds; ids that are not known are left out.

        Example: `{"17": JobAccounting((Charge(start, end, seconds, nodes, gpus, name, owner),))}`; a charge whose owner
        is another one than the run's does not count for the run.
        """
        return {}

    # ---- hooks of an end that the scheduler has forgotten

    def left_files(self, job_id: str, name: str) -> tuple[str, ...]:
        """Return the files in a run's folder into which the scheduler may have written how the job of that name ended.

        They are read when a good answer lacks the job. Example, where nobody remembers ended jobs: `kumo-17.err`, whose
        last line tells what killed the job, `return (f"kumo-{job_id}.err",)`.
        """
        return ()

    def parse_left(self, text: str, job_id: str) -> JobState | None:
        """Return how the job ended by the end of such a file; None where it says nothing whole about this job.

        The job's own output may stand before it. Example: `JobState(TIMEOUT, "limit")` for a last line `17: killed at
        its limit`.
        """
        return None

    # ---- hooks of the machine, for `hackathon clusters check --live` and `clusters new`

    def nodes_argv(self) -> list[list[str]]:
        """Return the commands that describe the nodes; none where an ordinary user is not told.

        Ask for equal nodes in one line where the scheduler can: machines have thousands. What a job may ask of a queue
        is in the answer to `queues_argv`. Example: `[["kumo-nodes", "--by-shape"]]`.
        """
        return []

    def parse_nodes(self, answers: list[CommandOutput]) -> list[NodeGroup]:
        """Return the nodes, equal ones together (see `words.grouped`). Raises SchedulerError.

        Example: `[NodeGroup(4, queues=("main",), cores=36, memory=256 * 2**30, gpus=2, gpu="p100")]`.
        """
        return []

    # ---- hooks of advice

    advice_dialects: ClassVar[tuple[Mapping[str, object], ...]] = ({},)
    """Dialects whose `advice_commands` differ. Example: `({}, {"history": "H"})`."""

    def advice_commands(self) -> Mapping[str, str]:
        """Return ADVICE_COMMANDS → what a person types, for a diagnosis; a check without its command is left out.

        `status_command`: all that the scheduler knows of `{job}`; `usage_command`: memory and time that it used;
        `nodes_command`: nodes that are down; `limits_command`: limits of queues; `own_jobs_command`; `account_command`:
        who may pay; `server_command`: whether it answers; `reservation_command`; inside a job `hosts_command` and
        `node_command`, which starts what follows once on each node. `{job}` and `{queue}` stand as words of their own.
        Example: `{"status_command": "kumo-show {job}", "nodes_command": "kumo-nodes --down"}`.
        """
        return {}

    # ---- hooks of scripts that people write

    def script_language(self) -> "ScriptLanguage | None":
        """Return how its job scripts are read and written, for `hackathon lint` and `hackathon convert`; None: unknown.

        Example: `ScriptLanguage(name="kumo", title="Kumo", prefix="#KUMO", …)`, as each `<name>/script.py` has one.
        """
        return None

    # ---- hooks of an interactive job

    def shell(self, options: list[str], rcfile: Path) -> Shell | None:
        """Return how to get an interactive job with the header's options and a shell that reads a file; None: not here.

        Example: `Shell(["kumo-run", *options, "bash", "--rcfile", str(rcfile), "-i"])`. Options that only a batch job
        may have are the scheduler's to leave out.
        """
        return None
