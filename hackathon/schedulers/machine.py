"""What schedulers say of a machine: its queues and its nodes."""

from dataclasses import dataclass


@dataclass(frozen=True)
class QueueInfo:
    """A queue as the scheduler describes it now."""

    name: str
    enabled: bool = True
    """Whether it takes jobs and starts them now."""
    nodes: int | None = None
    """Most nodes that a job can have; None where the scheduler does not tell, or sets no limit."""
    walltime: int | None = None
    """Longest walltime in seconds; None where the scheduler does not tell, or sets no limit."""
    running: int | None = None
    queued: int | None = None
    note: str = ""
    min_nodes: int | None = None
    """Least nodes of a job, where the scheduler tells."""
    size: int | None = None
    """Nodes that the queue has. Where `nodes` is only this, a site may have smaller limits of another kind."""


@dataclass(frozen=True)
class NodeGroup:
    """Equal nodes as the scheduler describes them; None and "" for what it does not tell."""

    nodes: int
    """How many."""
    queues: tuple[str, ...] = ()
    """Queues that they belong to; empty where the scheduler does not tell."""
    cores: int | None = None
    """Physical cores of one."""
    cpus: int | None = None
    """What jobs can ask for: cores, or their hardware threads."""
    memory: int | None = None
    """Bytes of one, as configured: a little less than what is built in."""
    gpus: int | None = None
    """GPUs of one."""
    gpu: str = ""
    """The GPU's model in the scheduler's words."""
