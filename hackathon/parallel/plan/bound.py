"""A lower bound of a plan's value as a sum of terms that users can check."""

from dataclasses import dataclass

from hackathon.parallel.plan.cost import CostedPlan, allreduce_seconds
from hackathon.parallel.plan.simulation import simulate

OBJECTIVES = ("step", "max-load", "fill")


@dataclass(frozen=True)
class Term:
    """One addend: reason, stage (None: all stages), seconds."""

    reason: str
    stage: int | None
    seconds: float


def value_of(plan: CostedPlan, objective: str) -> float:
    """Return the value of a plan under an objective, in seconds."""
    if objective == "max-load":
        return plan.max_load()
    return plan.fill() if objective == "fill" else simulate(plan).seconds


def bound_terms(plan: CostedPlan, objective: str) -> list[Term]:
    """Return terms whose sum is a lower bound of the plan's value; for `max-load` and `fill` it is the value."""
    if objective == "max-load":
        return _load_terms(plan)
    return _fill_terms(plan) if objective == "fill" else _step_terms(plan)


def _load_terms(plan: CostedPlan) -> list[Term]:
    busiest = max(range(len(plan.stages)), key=plan.load)
    cost, replicas = plan.costs[busiest], plan.replicas[busiest]
    parts = {"forward": cost.forward, "backward": cost.backward, "transfer": cost.transfer}
    return [Term(reason, busiest, seconds / replicas) for reason, seconds in parts.items()]


def _fill_terms(plan: CostedPlan) -> list[Term]:
    rounds = plan.micro_batches + len(plan.stages) - 1
    stages = range(len(plan.stages))
    costs, replicas = plan.costs, plan.replicas
    slowest_forward = max(stages, key=lambda s: (costs[s].forward + costs[s].in_forward) / replicas[s])
    slowest_backward = max(stages, key=lambda s: (costs[s].backward + costs[s].out_backward) / replicas[s])
    longest = max(stages, key=lambda s: allreduce_seconds(replicas[s], costs[s].trainable, plan.devices))
    forward, backward, exchange = plan.fill_parts()
    return [
        Term("forward", slowest_forward, rounds * forward),
        Term("backward", slowest_backward, rounds * backward),
        Term("all-reduce", longest, exchange),
    ]


def _step_terms(plan: CostedPlan) -> list[Term]:
    """Return max over s of (the longest path to s and back) + ceil(m / r_s) · (F_s + B_s).

    The first micro-batch passes all stages of a path before its forward pass in s can begin, and after the last
    backward pass of s come those of the same stages. In a chain the path contains all stages before s.
    """
    paths: list[list[Term]] = [[] for _ in plan.stages]
    lengths = [0.0] * len(plan.stages)
    for link in plan.links:  # in rising order of the sender: its own way is complete
        cost = plan.costs[link.sender]
        length = lengths[link.sender] + cost.forward + cost.backward + link.forward + link.backward
        if not paths[link.reader] or length > lengths[link.reader]:
            lengths[link.reader] = length
            paths[link.reader] = [
                *paths[link.sender],
                Term("forward", link.sender, cost.forward),
                Term("transfer", link.sender, link.forward + link.backward),
                Term("backward", link.sender, cost.backward),
            ]
    rounds = [-(-plan.micro_batches // replicas) for replicas in plan.replicas]
    work = [n * (cost.forward + cost.backward) for n, cost in zip(rounds, plan.costs, strict=True)]
    busiest = max(range(len(plan.stages)), key=lambda stage: lengths[stage] + work[stage])
    return [*paths[busiest], Term("passes", busiest, work[busiest])]
