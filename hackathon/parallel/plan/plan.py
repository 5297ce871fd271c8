"""Finds a plan: prepares the cuts, runs the searches that suit the size, and reports what is proven."""

import time
from collections.abc import Sequence
from dataclasses import replace
from importlib.util import find_spec
from typing import TYPE_CHECKING

from hackathon.parallel.plan.alternatives import Alternatives
from hackathon.parallel.plan.bound import value_of
from hackathon.parallel.plan.coarsen import Blocks
from hackathon.parallel.plan.cost import CostedPlan, Stage, fits
from hackathon.parallel.plan.graph import Operator
from hackathon.parallel.plan.request import PlanRequest, PlanResult, check
from hackathon.text.errors import RequestError

if TYPE_CHECKING:
    from hackathon.parallel.plan.labels import Shape


def make_plan(request: PlanRequest) -> PlanResult:
    """Return the best plan that the search finds, with a lower bound of all plans.

    Raises RequestError for a request that contradicts itself, or if numpy is missing.
    """
    check(request)
    if find_spec("numpy") is None:
        raise RequestError(
            "plan.needs_numpy",
            "hackathon plan needs the package numpy, which is not installed",
            hint="pip install numpy (or, in a clone of the toolkit: pip install '.[plan]'). Without a network: on a "
            "machine with one, pip download numpy -d wheelhouse; copy the folder; pip install --no-index "
            "--find-links wheelhouse numpy",
        )
    from hackathon.parallel.plan.planner import Planner

    blocks = Blocks(request.graph)
    shape = shape_of(request, len(blocks))

    def costed(stages: Sequence[Stage]) -> CostedPlan:
        return CostedPlan(request.graph, request.devices, request.micro_batches, stages)

    baselines = Alternatives(
        blocks, request.devices.count, request.micro_batches, request.devices.memory,
        request.recompute, request.offload, costed,
    )  # fmt: skip
    alternatives = baselines.all()
    deadline = float("inf") if request.seconds is None else time.monotonic() + request.seconds
    planner = Planner(request, blocks, shape, costed, deadline)
    admissible = [
        alternative
        for alternative in alternatives.values()
        if alternative.feasible and shape.allows(alternative.replicas)
    ]
    findings = planner.search(admissible)
    if findings.plan is None:
        complete = findings.complete or _one_never_fits(request)
        names, enough = helpful(request, blocks)
        return PlanResult(request, None, None, None, "search", complete, alternatives, names, enough)
    value = value_of(findings.plan, request.objective)
    return PlanResult(request, findings.plan, value, min(findings.bound, value), findings.basis, True, alternatives)


def shape_of(request: PlanRequest, blocks: int) -> "Shape":
    """Return the numbers of stages and replicas that a request allows for a graph of so many blocks."""
    from hackathon.parallel.plan.labels import Shape

    replicas = request.replicas
    same = len(set(replicas)) == 1
    return Shape(
        devices=min(request.devices.count, blocks * request.micro_batches),
        micro_batches=request.micro_batches,
        stages=len(replicas) if len(replicas) > 1 else request.stages,
        replicas=replicas if replicas and not same else None,
        same_replicas=replicas[0] if same else None,
    )


def helpful(request: PlanRequest, blocks: Blocks) -> tuple[tuple[str, ...], int | None]:
    """Return the changes that would let a plan fit, by a quick search (ids of messages), and enough devices."""
    from hackathon.parallel.plan.planner import Planner

    def works(other: PlanRequest) -> bool:
        def costed(stages: Sequence[Stage]) -> CostedPlan:
            return CostedPlan(other.graph, other.devices, other.micro_batches, stages)

        planner = Planner(other, blocks, shape_of(other, len(blocks)), costed, time.monotonic() + 2.0)
        return planner.fits()

    devices = request.devices
    requests: dict[str, PlanRequest] = {}
    if request.recompute == "never":
        requests["recompute"] = replace(request, recompute="auto")
    if request.offload == "never" and devices.host_bandwidth is not None:
        requests["offload"] = replace(request, offload="auto")
        if request.recompute == "never":
            requests["recompute-and-offload"] = replace(request, recompute="auto", offload="auto")
    if request.stages is not None or request.replicas:
        requests["free-shape"] = replace(request, stages=None, replicas=())
    names = [name for name, other in requests.items() if works(other)]
    count, enough = devices.count, None
    while enough is None and count < min(len(blocks), 64):
        count = min(2 * count, len(blocks), 64)
        if works(replace(request, devices=replace(devices, count=count))):
            enough = count
            names.append("more-devices")
    if "recompute-and-offload" in names and ("recompute" in names or "offload" in names):
        names.remove("recompute-and-offload")
    if blocking(request, blocks)[1] > devices.memory:
        names.append("tensor-parallelism")
    return tuple(names) or ("more-memory",), enough


def blocking(request: PlanRequest, blocks: Blocks) -> tuple[str, float]:
    """Return the operator that is hardest to place, and the least bytes of a stage with its block alone."""
    from hackathon.parallel.plan.alternatives import least_alone

    operators = request.graph.operators
    states = 2 + request.devices.optimizer_bytes_per_parameter_byte
    rough = [sum(_alone(operators[member], states) for member in members) for members in blocks.members]
    largest = sorted(range(len(blocks)), key=rough.__getitem__, reverse=True)[:50]
    sizes = {
        number: least_alone(
            request.graph, request.devices, request.micro_batches, blocks, number, request.recompute, request.offload
        )
        for number in largest
    }
    hardest = max(largest, key=sizes.__getitem__)
    member = max(blocks.members[hardest], key=lambda number: _alone(operators[number], states))
    return operators[member].name, sizes[hardest]


def _one_never_fits(request: PlanRequest) -> bool:
    """Return whether an operator exceeds the memory in every stage that contains it."""
    devices = request.devices
    states = {"never": 2 + devices.optimizer_bytes_per_parameter_byte, "all": 3.0}
    states["auto"] = min(states.values())
    return any(
        not fits(_alone(operator, states[request.offload]), devices.memory) for operator in request.graph.operators
    )


def _alone(operator: Operator, states: float) -> float:
    """Return bytes of an operator with one micro-batch and without its inputs; `states` for each parameter byte."""
    return states * operator.parameters + operator.frozen + operator.buffers + operator.saved + operator.workspace
