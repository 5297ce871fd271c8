"""The profile of a machine: `templates/clusters/*.yaml`."""

from dataclasses import dataclass, field
from typing import Any, Literal

from hackathon.config.fields import Amount, Count, Natural, Positive, Size, Text, Walltime
from hackathon.text.messages import localized, message
from hackathon.text.units import format_walltime

Launcher = Literal["torchrun", "mpirun", "srun", "horovodrun", "horovodrun-mpi", "local"]
PLAIN_LAUNCHERS: tuple[Launcher, ...] = ("torchrun", "mpirun", "srun", "local")
"""What a recipe that names no launcher runs under, the preferred one first."""
ALL_LAUNCHERS: tuple[Launcher, ...] = (*PLAIN_LAUNCHERS, "horovodrun", "horovodrun-mpi")
"""What a profile that names no launcher has. horovodrun (with Gloo, or over MPI) is for programs that use Horovod."""
SCHEDULER_LAUNCHERS: frozenset[str] = frozenset({"srun"})
"""Launchers that only work in the jobs of a scheduler that says so (`Dialect.has_launcher`)."""
Binding = Literal["none", "numa", "cores"]
ALL_BINDINGS: tuple[Binding, ...] = ("none", "numa", "cores")
Starter = Literal["srun", "mpirun", "pbs_tmrsh", "pjrsh", "ssh", "indexed", "local"]
ScriptRule = Literal[
    "no-internet", "modules-unknown", "activate-without-hook", "gpus-given", "no-group-option",
    "environment-not-passed", "container-flag", "trailing-comment", "spaced-equals", "walltime-needed",
]  # fmt: skip
"""Rules of `hackathon lint` that hold on some machines only."""

RESERVED_NAMES = frozenset({"list", "show", "check", "measure", "new"})
"""The sub-verbs of `hackathon clusters`: a profile of such a name could not be shown by `hackathon clusters NAME`."""


@dataclass(frozen=True)
class Node:
    """One compute node."""

    cores: Count = "auto"
    """Physical cores."""
    memory: Size | None = None
    """Main memory."""
    gpus: Count = 0
    """GPUs."""
    gpu: str | None = None
    """The GPU's model, e.g. P100-SXM2-16GB."""
    network: str | None = None
    """The network between nodes, e.g. FDR x2."""


@dataclass(frozen=True)
class LargerJobs:
    """A shorter limit for large jobs of a queue."""

    from_nodes: Positive
    """Least nodes of a job that the limit is for."""
    walltime: Walltime
    """Longest walltime of such a job."""


@dataclass(frozen=True)
class Queue:
    """A queue and its limits."""

    nodes: Positive | None = None
    """Most nodes a job may have."""
    min_nodes: Positive = 1
    """Least nodes a job must have."""
    walltime: Walltime | None = None
    """Longest walltime."""
    larger: list[LargerJobs] = field(default_factory=list)
    """Shorter walltimes of larger jobs, e.g. `{from_nodes: 129, walltime: 24:00:00}`."""
    processes_per_node: Positive | None = None
    """Most processes on a node, where a queue gives less than a whole node."""
    debug: bool = False
    """For short tests: `hackathon try` takes the first queue that says so."""
    note: Text | None = None
    """Shown by `hackathon clusters NAME`."""

    def longest(self, nodes: int) -> int | None:
        """Return the longest walltime (seconds) of a job with so many nodes; None where no limit is known."""
        limits = [self.walltime, *(limit.walltime for limit in self.larger if limit.from_nodes <= nodes)]
        return min((limit for limit in limits if limit is not None), default=None)

    @property
    def remarks(self) -> str:
        """What a person should know of it beside nodes and walltime, in the current language."""
        parts = [message("config.larger_jobs", nodes=limit.from_nodes, walltime=format_walltime(limit.walltime))
                 for limit in self.larger]  # fmt: skip
        return "; ".join([*parts, *([localized(self.note)] if self.note else [])])


@dataclass(frozen=True)
class Rates:
    """What a job costs in the site's tokens."""

    per_node_hour: Amount = 0.0
    """Tokens an hour and node."""
    per_gpu_hour: Amount = 0.0
    """Tokens an hour and GPU (all GPUs of the nodes are counted)."""


@dataclass(frozen=True)
class ProfileSource:
    """Where values of a profile are from."""

    title: Text
    """What was read or asked, e.g. `qstat -Q` on the machine."""
    date: str
    """Day on which it was written, asked or read: YYYY-MM-DD, or YYYY-MM where only the month is known."""
    url: str | None = None
    """Its address, where it is public."""
    confirmed: bool = True
    """`false` for what the machine or its centre did not say itself: users' scripts, memory, a choice of the profile's
    authors. A value that only such sources tell belongs under `unverified` too."""


@dataclass(frozen=True)
class Scripts:
    """What `hackathon lint` knows of job scripts that people write for the machine themselves."""

    signs: dict[str, str] = field(default_factory=dict)
    """Option → regular expression of values that only scripts for this machine have: they tell the machine where nobody
    names it. An option of a list has its name behind it, e.g. `--rsc-list rscgrp`; `-l` alone: a resource's name."""
    rules: list[ScriptRule] = field(default_factory=list)
    """Rules of `hackathon lint` that hold on this machine."""
    internal_queues: dict[str, str] = field(default_factory=dict)
    """Queues that take no jobs themselves → the queue whose jobs they get."""
    scratch: str = ""
    """The folder to write to in place of /tmp, where jobs must not use /tmp."""
    mpi_options: str = ""
    """What mpirun must be given to find the nodes of a job."""
    ssh_option: str = ""
    """The option without which the nodes of a job refuse ssh, e.g. `-v USE_SSH=1`."""


@dataclass(frozen=True)
class Cluster:
    """A machine: scheduler and dialect, queues and limits, node shape, environment, starter."""

    name: str
    """The profile's name; the same as the file's."""
    scheduler: str
    """Name of a scheduler that is built in or installed as a plug-in."""
    node: Node
    """The shape of a node."""
    title: Text = ""
    """The machine's name for people."""
    dialect: dict[str, Any] = field(default_factory=dict)
    """How the site's scheduler wants to be asked. Each scheduler has its own keys; below, its name follows the key."""
    processes_per_node: Count = "auto"
    """Ranks on a full node: normally one per GPU."""
    threads: Positive | None = None
    """Threads a process; default cores ÷ processes_per_node, the same for every point of a study."""
    queues: dict[str, Queue] = field(default_factory=dict)
    """Known queues; empty when the profile does not know them (then only the scheduler can say no)."""
    queue: str | None = None
    """The queue when nobody names one."""
    walltime: Walltime = 600
    """The walltime when nobody names one."""
    launchers: list[Launcher] = field(default_factory=list)
    """Launchers that work here, the preferred one first; empty means every one."""
    starter: Starter = "local"
    """What starts something on every node."""
    mpi: Literal["openmpi", "mpich", "auto"] = "auto"
    """Whose `mpirun` options are used; `auto` asks `mpirun --version` in the job."""
    mpi_options: list[str] = field(default_factory=list)
    """Words added to every mpirun."""
    binding: Binding | None = None
    """Cores of a rank: `numa` those of its GPU's memory node, `cores` some of its own, `none` all of its node; without
    it the launcher decides. With torchrun it needs torch 2.9, GPUs and numactl."""
    environment: list[str] = field(default_factory=list)
    """Shell lines before the program: profile scripts, modules."""
    variables: dict[str, str] = field(default_factory=dict)
    """Exported variables, as double-quoted shell text; `$GROUP`, `$USER` and `$NODES` are known."""
    scratch: str = "${TMPDIR:-/tmp}"
    """Where a node may write temporary files and compiler caches (double-quoted shell text)."""
    directives: list[str] = field(default_factory=list)
    """Further options in the header, e.g. `-v USE_SSH=1`."""
    templates: str | None = None
    """Name of job templates that an installed package brings; they come behind those of a project or an event."""
    patterns: dict[str, str] = field(default_factory=dict)
    """Regular expressions that values in the header must match whole: `queue`, `group`, `reservation`."""
    scripts: Scripts = field(default_factory=Scripts)
    """What `hackathon lint` knows of job scripts that people write for this machine themselves."""
    visible_from_nodes: list[str] = field(default_factory=list)
    """Folders that compute nodes see; empty means all."""
    internet_on_nodes: bool = False
    """Whether compute nodes reach package registries and data on the Internet."""
    rates: Rates = field(default_factory=Rates)
    """What a job costs."""
    peak_tflops: dict[str, Amount] = field(default_factory=dict)
    """Dense peak of one GPU by data type, in TFLOPS."""
    memory_gb_s: Positive | None = None
    """Bandwidth of one GPU's memory, in GB/s (10^9 bytes)."""
    stop_before: Walltime = 60
    """How long before the walltime the `stop` file appears."""
    telemetry_seconds: Natural = 10
    """Seconds between two telemetry lines; 0 turns telemetry off."""
    unverified: list[str] = field(default_factory=list)
    """Key paths of values that nobody has confirmed on the machine."""
    sources: dict[str, ProfileSource] = field(default_factory=dict)
    """Where the values are from, each with a short id that `evidence` uses."""
    evidence: dict[str, str | list[str]] = field(default_factory=dict)
    """Key path of a value, or of a block that holds it → ids of its sources, e.g. `queues.debug: [M, S]`."""
