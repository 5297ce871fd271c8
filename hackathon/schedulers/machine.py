"""A scheduler's report on a machine: its queues and its nodes."""

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
