"""plan.json: the result of a search for other programs."""

from typing import Any

from hackathon.parallel.plan.bound import bound_terms, value_of
from hackathon.parallel.plan.coarsen import Blocks
from hackathon.parallel.plan.cost import CostedPlan
from hackathon.parallel.plan.placement import placed
from hackathon.parallel.plan.plan import blocking
from hackathon.parallel.plan.request import PlanResult


def as_json(result: PlanResult) -> dict[str, Any]:
    """Return plan.json. Times are seconds, per micro-batch and on one device; sizes are bytes on one device."""
    request, plan = result.request, result.plan
    terms = bound_terms(plan, request.objective) if plan is not None else []
    value: dict[str, Any] = {
        "schema_version": 1,
        "graph": request.graph.identity,
        "devices": request.devices.as_json(),
        "objective": request.objective,
        "feasible": plan is not None,
        "value": result.value,
        "bound": result.bound,
        "plan_bound": sum(term.seconds for term in terms) if plan is not None else None,
        "proven": result.proven,
        "gap": result.gap,
        "basis": result.basis,
        "bound_terms": [{"reason": term.reason, "stage": term.stage, "seconds": term.seconds} for term in terms],
        "micro_batches": request.micro_batches,
        "stages": _stages(plan) if plan is not None else [],
        "alternatives": [
            {"name": name, "value": value_of(alternative, request.objective), "feasible": alternative.feasible}
            for name, alternative in result.alternatives.items()
        ],
    }
    if plan is not None and (placement := placed(plan)) is not None:
        value["placement"] = {
            "nodes": placement.nodes,
            "processes_per_node": placement.processes_per_node,
            "stages": [list(nodes) for nodes in placement.stages],
            "step": placement.seconds,
        }
    if plan is None:
        operator, size = blocking(request, Blocks(request.graph))
        value |= {"blocking": {"operator": operator, "bytes": size}, "help": list(result.help)}
        if result.enough_devices is not None:
            value["enough_devices"] = result.enough_devices
    return value


def _stages(plan: CostedPlan) -> list[dict[str, Any]]:
    return [
        {
            "operators": [plan.graph.operators[member].name for member in stage.operators],
            "replicas": stage.replicas,
            "forward": cost.forward,
            "backward": cost.backward,
            "transfer": cost.transfer,
            "memory": {**cost.memory.__dict__, "total": cost.memory.total},
            "recompute": stage.recompute,
            "offload": stage.offload,
        }
        for stage, cost in zip(plan.stages, plan.costs, strict=True)
    ]
