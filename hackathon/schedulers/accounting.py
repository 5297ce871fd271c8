"""Records of a scheduler's accounting: every life of a job with its nodes and seconds."""

from dataclasses import dataclass

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
