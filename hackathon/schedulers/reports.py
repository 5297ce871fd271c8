"""What a scheduler reports besides states: its queues, its nodes, and its accounting of every life of a job."""

from dataclasses import dataclass


@dataclass(frozen=True)
class QueueInfo:
    """A queue as the scheduler currently reports it."""

    name: str
    enabled: bool = True
    """Whether it currently accepts and starts jobs."""
    nodes: int | None = None
    """Highest number of nodes of a job; None when it is not reported or unlimited."""
    walltime: int | None = None
    """Longest walltime in seconds; None when it is not reported or unlimited."""
    running: int | None = None
    queued: int | None = None
    note: str = ""
    min_nodes: int | None = None
    """Lowest number of nodes of a job, if reported."""
    scatters: bool | None = None
    """Whether each node of a job is a host of its own unless the job says else; None when it is not reported."""
    size: int | None = None
    """Nodes in the queue. If `nodes` equals it, the site may have a smaller limit elsewhere."""


@dataclass(frozen=True)
class NodeGroup:
    """Equal nodes as the scheduler reports them; None and "" for what it does not report."""

    nodes: int
    """Number of nodes."""
    queues: tuple[str, ...] = ()
    """Queues of these nodes; empty when not reported."""
    cores: int | None = None
    """Physical cores per node."""
    cpus: int | None = None
    """CPUs per node that jobs can request: cores, or their hardware threads."""
    memory: int | None = None
    """Configured bytes per node, a little less than installed."""
    gpus: int | None = None
    """GPUs per node."""
    gpu: str = ""
    """The GPU's model in the scheduler's notation."""
    gpu_request: str = ""
    """The dialect's `gpu_request` by which jobs request these GPUs, if that differs between machines."""
    gpu_resource: str = ""
    """The name of the resource for these GPUs, if each machine has its own; several names where `gpus` is not known."""


@dataclass(frozen=True)
class JobDetails:
    """What the scheduler recorded of a job's request; None and "" for what it does not tell."""

    nodes: int | None = None
    processes: int | None = None
    """Total number of ranks."""
    threads: int | None = None
    """Cores per rank."""
    gpus_per_node: int | None = None
    memory: int | None = None
    """Bytes per node."""
    walltime: int | None = None
    """Seconds."""
    queue: str = ""
    group: str = ""
    """The account that is charged."""
    qos: str = ""
    output: str | None = None
    """The path of the file with the job's output."""


MOST_NODES = 1_000_000
"""Highest believable number of nodes of one job."""


@dataclass(frozen=True, slots=True)
class Charge:
    """One life of a job in the scheduler's accounting; a requeue begins another one."""

    start: float
    """Seconds since 1970."""
    end: float | None
    """None while it is running."""
    seconds: float | None
    """Running time without suspensions; None when the scheduler does not report it."""
    nodes: int | None
    """None when the scheduler does not report them: then the run's requested nodes count."""
    gpus: int | None
    """GPUs on all nodes together; None when the scheduler does not account for GPUs."""
    name: str = ""
    """The job's name."""
    owner: str = ""
    """The job's account, by name or number; empty when the scheduler does not report it."""


@dataclass(frozen=True)
class JobAccounting:
    """All charges of one job id."""

    charges: tuple[Charge, ...] = ()
    """Empty for a job that never began. Each element of an array has its own."""
    whole: bool = True
    """False when earlier lives are missing."""
