"""The profile of a machine: `templates/clusters/*.yaml`."""

import os
from dataclasses import field
from pathlib import Path
from typing import Any, Literal

from hackathon.config.records import Amount, Count, Natural, Positive, Size, Text, Walltime
from hackathon.text.light_dataclass import dataclass
from hackathon.text.messages import _, localized
from hackathon.text.units import format_walltime

Launcher = Literal["torchrun", "mpirun", "srun", "horovodrun", "horovodrun-mpi", "local"]
PLAIN_LAUNCHERS: tuple[Launcher, ...] = ("torchrun", "mpirun", "srun", "local")
"""Launchers for a recipe that names none, the preferred one first."""
ALL_LAUNCHERS: tuple[Launcher, ...] = (*PLAIN_LAUNCHERS, "horovodrun", "horovodrun-mpi")
"""Launchers for a profile that names none. horovodrun (with Gloo, or over MPI) is for programs that use Horovod."""
SCHEDULER_LAUNCHERS: frozenset[str] = frozenset({"srun"})
"""Launchers that only work in jobs of schedulers that support them (`Dialect.has_launcher`)."""
Binding = Literal["none", "numa", "cores"]
ALL_BINDINGS: tuple[Binding, ...] = ("none", "numa", "cores")
Starter = Literal["srun", "mpirun", "pbs_tmrsh", "pjrsh", "ssh", "indexed", "local"]
ContainerRuntime = Literal[
    "apptainer", "singularity", "pyxis", "podman-hpc", "podman", "shifter", "sarus", "charliecloud"
]
ScriptRule = Literal[
    "no-internet", "modules-unknown", "activate-without-hook", "gpus-given", "no-group-option",
    "environment-not-passed", "container-flag", "trailing-comment", "spaced-equals", "walltime-needed",
]  # fmt: skip
"""Rules of `hackathon lint` that hold on some machines only."""

RESERVED_NAMES = frozenset({"list", "show", "check", "measure", "new"})
"""Sub-verbs of `hackathon clusters`: `hackathon clusters NAME` could not show a profile with such a name."""


def cores_here() -> int:
    """Return the cores that this process may use."""
    return len(os.sched_getaffinity(0))


def gpus_here() -> int:
    """Return the number of NVIDIA GPUs that the driver lists, without starting a program."""
    try:
        return sum(1 for _ in Path("/proc/driver/nvidia/gpus").iterdir())
    except OSError:
        return 0


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

    @property
    def core_count(self) -> int:
        """Its cores; with `auto` those of the machine on which the toolkit runs."""
        return cores_here() if self.cores == "auto" else self.cores

    @property
    def gpu_count(self) -> int:
        """Its GPUs; with `auto` those of the machine on which the toolkit runs."""
        return gpus_here() if self.gpus == "auto" else self.gpus


@dataclass(frozen=True)
class LargerJobs:
    """A shorter limit for large jobs of a queue."""

    from_nodes: Positive
    """Number of nodes from which the limit applies."""
    walltime: Walltime
    """Longest walltime of such a job."""


@dataclass(frozen=True)
class Queue:
    """A queue and its limits."""

    nodes: Positive | None = None
    """Maximum number of nodes of a job."""
    min_nodes: Positive = 1
    """Minimum number of nodes of a job."""
    walltime: Walltime | None = None
    """Longest walltime."""
    larger: list[LargerJobs] = field(default_factory=list)
    """Shorter walltimes of larger jobs, e.g. `{from_nodes: 129, walltime: 24:00:00}`."""
    processes_per_node: Positive | None = None
    """Maximum number of processes per node, if a queue allocates less than whole nodes."""
    partition: str | None = None
    """Slurm: the partition that the queue stands for. Without `partition` and `qos` it is the partition of its name."""
    qos: str | None = None
    """Slurm: the QOS that the queue stands for; without `partition`, jobs name no partition."""
    debug: bool = False
    """For short tests: `hackathon try` uses the first such queue."""
    note: Text | None = None
    """Printed by `hackathon clusters NAME`."""

    def longest(self, nodes: int) -> int | None:
        """Return the longest walltime (seconds) of a job with so many nodes; None without a known limit."""
        limits = [self.walltime, *(limit.walltime for limit in self.larger if limit.from_nodes <= nodes)]
        return min((limit for limit in limits if limit is not None), default=None)

    @property
    def partition_named(self) -> str | None:
        """The partition that its jobs name; "" for none, None for the one of the queue's name."""
        return "" if self.qos and self.partition is None else self.partition

    @property
    def remarks(self) -> str:
        """Remarks for people besides nodes and walltime, in the current language."""
        parts = [_("{walltime} from {nodes} nodes", nodes=limit.from_nodes, walltime=format_walltime(limit.walltime))
                 for limit in self.larger]  # fmt: skip
        stands_for = " ".join(
            f"--{name}={value}" for name, value in (("partition", self.partition), ("qos", self.qos)) if value
        )
        parts += [stands_for] if stands_for else []
        return "; ".join([*parts, *([localized(self.note)] if self.note else [])])


@dataclass(frozen=True)
class Rates:
    """The cost of a job in the site's tokens."""

    per_node_hour: Amount = 0.0
    """Tokens per hour and node."""
    per_gpu_hour: Amount = 0.0
    """Tokens per hour and GPU (all GPUs of the nodes are counted)."""


@dataclass(frozen=True)
class ProfileSource:
    """A source of values in a profile."""

    title: Text
    """The document or command, e.g. `qstat -Q` on the machine."""
    date: str
    """Day on which it was written, run or read: YYYY-MM-DD, or YYYY-MM if only the month is known."""
    url: str | None = None
    """Its address, if it is public."""
    confirmed: bool = True
    """`false` for sources other than the machine or its centre: users' scripts, memory, the profile authors' choices.

    A value with only such sources is also listed under `unverified`.
    """


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
class Container:
    """How a machine runs the `image:` of a project."""

    runtime: ContainerRuntime
    """The site's program; pyxis is Slurm's plug-in, whose options srun has."""
    program: str | None = None
    """Its command, if that is not its name: a path, `apptainer-1.4`."""
    options: list[str] = field(default_factory=list)
    """Further options, e.g. `--mpi` for Podman-HPC and Sarus, `--module=gpu` for Shifter."""
    binds: list[str] = field(default_factory=list)
    """Folders of the nodes that every image gets under the same name, e.g. `/lustre`."""
    gpus: Literal["nvidia", "amd", "none"] | None = None
    """The GPUs that an image gets; default: by the model in `node.gpu`."""


@dataclass(frozen=True)
class Cluster:
    """A machine: scheduler and dialect, queues and limits, node shape, environment, starter."""

    name: str
    """The profile's name; the same as the file's."""
    scheduler: str
    """Name of a built-in scheduler or of an installed plug-in."""
    node: Node
    """The shape of a node."""
    title: Text = ""
    """The machine's display name."""
    dialect: dict[str, Any] = field(default_factory=dict)
    """How the site's scheduler is used. Each scheduler has its own keys; below, its name follows the key."""
    container: Container | None = None
    """How the site runs images; without it `.sif` files run by Apptainer."""
    processes_per_node: Count = "auto"
    """Ranks on a full node: normally one per GPU."""
    threads: Positive | None = None
    """Threads per process; default cores ÷ processes_per_node, the same for every point of a study."""
    queues: dict[str, Queue] = field(default_factory=dict)
    """Known queues; if empty, queues are unknown and only the scheduler can refuse one."""
    queue: str | None = None
    """The default queue."""
    constraint: str | None = None
    """Slurm: the default features of the nodes of a job, `--constraint=`, e.g. `gpu` or `gpu&hbm80g`."""
    walltime: Walltime = 600
    """The default walltime."""
    launchers: list[Launcher] = field(default_factory=list)
    """Launchers that work on this machine, the preferred one first; empty means all."""
    starter: Starter = "local"
    """The command that starts a process on every node."""
    master_addr_suffix: str = ""
    """What is put behind a node's name for its address in the fast network, where the ranks meet (JUWELS: `i`)."""
    mpi: Literal["openmpi", "mpich", "auto"] = "auto"
    """The variant of `mpirun` options; `auto` runs `mpirun --version` in the job."""
    mpi_options: list[str] = field(default_factory=list)
    """Options for every mpirun."""
    binding: Binding | None = None
    """Cores of a rank: `numa` those of its GPU's memory node, `cores` some of its own, `none` all of its node.

    By default the launcher decides. With torchrun it needs torch 2.9, GPUs and numactl.
    """
    environment: list[str] = field(default_factory=list)
    """Shell lines before the program: profile scripts, modules."""
    variables: dict[str, str] = field(default_factory=dict)
    """Exported variables, as double-quoted shell text; `$GROUP`, `$USER` and `$NODES` are defined."""
    scratch: str = "${TMPDIR:-/tmp}"
    """Folder on a node for temporary files and compiler caches (double-quoted shell text)."""
    directives: list[str] = field(default_factory=list)
    """Further options in the header, e.g. `-v USE_SSH=1`."""
    templates: str | None = None
    """Name of job templates that an installed package brings; they come behind those of a project or an event."""
    patterns: dict[str, str] = field(default_factory=dict)
    """Regular expressions that values in the header must match whole: `queue`, `group`, `reservation`,
    `qos`, `constraint`."""
    scripts: Scripts = field(default_factory=Scripts)
    """What `hackathon lint` knows of job scripts that people write for this machine themselves."""
    visible_from_nodes: list[str] = field(default_factory=list)
    """Folders that compute nodes see; empty means all."""
    internet_on_nodes: bool | None = None
    """Whether compute nodes reach package registries and data on the Internet; null: not known, and not counted on."""
    rates: Rates = field(default_factory=Rates)
    """The cost of a job."""
    peak_tflops: dict[str, Amount] = field(default_factory=dict)
    """Dense peak of one GPU by data type, in TFLOPS."""
    memory_gb_s: Positive | None = None
    """Bandwidth of one GPU's memory, in GB/s (10^9 bytes)."""
    stop_before: Walltime = 60
    """How long before the walltime the `stop` file appears."""
    telemetry_seconds: Natural = 10
    """Seconds between two telemetry lines; 0 turns telemetry off."""
    unverified: list[str] = field(default_factory=list)
    """Key paths of values that are not confirmed on the machine."""
    sources: dict[str, ProfileSource] = field(default_factory=dict)
    """Sources of the values, each with a short id that `evidence` uses."""
    evidence: dict[str, str | list[str]] = field(default_factory=dict)
    """Key path of a value, or of a block that contains it → ids of its sources, e.g. `queues.debug: [M, S]`."""

    def is_unverified(self, path: str) -> bool:
        """Return whether a key path, or a block that contains it, is marked as unverified."""
        return any(path == mark or path.startswith(f"{mark}.") for mark in self.unverified)
