"""The request for a plan, and the result of a search."""

from dataclasses import dataclass, field
from typing import Any

from hackathon.parallel.plan.bound import OBJECTIVES
from hackathon.parallel.plan.coarsen import Blocks
from hackathon.parallel.plan.cost import CostedPlan
from hackathon.parallel.plan.devices import Devices
from hackathon.parallel.plan.graph import Graph
from hackathon.text.errors import RequestError
from hackathon.text.messages import Message

PROVEN = 1e-9
"""Relative gap up to which a value counts as the least one."""


@dataclass(frozen=True)
class PlanRequest:
    """The request for a plan."""

    graph: Graph
    devices: Devices
    micro_batches: int
    objective: str = "step"
    stages: int | None = None
    replicas: tuple[int, ...] = ()
    """Of each stage; one number: of every stage; empty: the search chooses them."""
    recompute: str = "never"
    offload: str = "never"
    seconds: float | None = 10.0
    """Time that the search may take; None: until the value is proven."""


@dataclass(frozen=True)
class PlanResult:
    """The best plan (None: none fits), how good any plan can be, and the values of other plans."""

    request: PlanRequest
    plan: CostedPlan | None
    value: float | None
    bound: float | None
    basis: str
    complete: bool
    """Whether the search covered all plans, if none fits."""
    alternatives: dict[str, CostedPlan] = field(default_factory=dict)
    help: tuple[str, ...] = ()
    enough_devices: int | None = None
    """A number of devices with which a plan fits, if none fits and more devices would help."""

    @property
    def gap(self) -> float | None:
        """(value − bound) / value; 0 for a value of 0."""
        if self.value is None or self.bound is None:
            return None
        return max(0.0, (self.value - self.bound) / self.value) if self.value > 0 else 0.0

    @property
    def proven(self) -> bool:
        """Whether the search proved that no plan is better, or that none fits."""
        return self.complete if self.gap is None else self.gap <= PROVEN


def impossible(request: PlanRequest) -> tuple[Message, dict[str, Any]] | None:
    """Return why no plan can have the requested stages and replicas, whatever the memory: a message's id and values.

    None if nothing rules them out.
    """
    most = max(request.replicas, default=1)
    if most > request.micro_batches:
        return Message(
            "plan.idle_replicas", "{replicas} replicas need at least as many micro-batches; there are {micro_batches}"
        ), {"replicas": most, "micro_batches": request.micro_batches}
    several = len(request.replicas) > 1
    needed = sum(request.replicas) if several else most * (request.stages or 1)
    if needed > request.devices.count:
        return Message("plan.too_few_devices", "these stages and replicas need {needed} devices; there are {count}"), {
            "needed": needed,
            "count": request.devices.count,
        }
    stages, most = len(request.replicas) if several else request.stages or 1, len(Blocks(request.graph))
    if stages > most:
        return Message(
            "plan.too_many_stages",
            "the model cannot be cut into {stages} stages: it has {most} parts between which a cut is possible",
        ), {"stages": stages, "most": most}
    return None


def check(request: PlanRequest) -> None:
    """Refuse a request that contradicts itself. Raises RequestError."""
    if request.objective not in OBJECTIVES:
        raise RequestError(
            "plan.objective",
            "unknown objective {name}: choose {names}",
            name=request.objective,
            names=", ".join(OBJECTIVES),
        )
    several = len(request.replicas) > 1
    if several and request.stages is not None and request.stages != len(request.replicas):
        raise RequestError(
            "plan.replicas_stages",
            "--replicas lists {replicas} stages, but --stages is {stages}",
            replicas=len(request.replicas),
            stages=request.stages,
        )
    if request.offload != "never" and request.devices.host_bandwidth is None:
        raise RequestError(
            "plan.no_host_bandwidth",
            "offload needs host_bandwidth in the devices file",
            hint="Add the bytes per second between the main memory and one device, for example 25e9.",
        )
