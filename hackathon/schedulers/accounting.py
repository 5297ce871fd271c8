"""What schedulers write on the bill: every life of a job with its nodes and its seconds."""

from dataclasses import dataclass

MOST_NODES = 1_000_000
"""Nodes of one job that a scheduler can be believed to have given."""


@dataclass(frozen=True, slots=True)
class Charge:
    """One life of a job, as the scheduler accounts for it: a requeue begins another one."""

    start: float
    """Seconds since 1970."""
    end: float | None
    """None while it goes on."""
    seconds: float | None
    """How long it ran, without the time that it was suspended; None where the scheduler does not say."""
    nodes: int | None
    """None where the scheduler does not say: then those that the run asked for."""
    gpus: int | None
    """GPUs of all nodes together; None where the scheduler does not account for GPUs."""
    name: str = ""
    """The job's name."""
    owner: str = ""
    """The account it belongs to, by name or number; empty where the scheduler does not tell."""


@dataclass(frozen=True)
class JobAccounting:
    """All that a scheduler accounts for under one job id."""

    charges: tuple[Charge, ...] = ()
    """Empty for a job that never began. Elements of an array have one each."""
    whole: bool = True
    """False when lives before the last one are not in it."""
