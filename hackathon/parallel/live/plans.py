"""The plan of a model: read from plan.json, checked against the captured model."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hackathon.parallel.live.capture import Traced
from hackathon.parallel.live.split import SplitError, check
from hackathon.parallel.modules.chain import ModuleChain
from hackathon.parallel.plan.fields import FieldReader, read_object
from hackathon.text.errors import RequestError
from hackathon.text.messages import N_, Message

_PLAN_TEXTS = {
    "missing": Message(
        "auto_parallel.plan_missing",
        "the plan was made for another model: it does not place operator {operator}",
        hint="Make the plan again with this model and this size of micro-batches.",
    ),
    "unknown": Message(
        "auto_parallel.plan_unknown",
        "the plan was made for another model: this one has no operator {operator}",
        hint="Make the plan again with this model and this size of micro-batches.",
    ),
    "glued": Message(
        "auto_parallel.plan_glued", "the plan separates operators {operator} and {other}, which must run in one stage"
    ),
    "backwards": Message(
        "auto_parallel.plan_backwards",
        "the plan runs operator {other} in an earlier stage than operator {operator}, whose result it reads",
    ),
}


@dataclass(frozen=True)
class RunPlan:
    """The runtime's part of a plan; one entry per stage."""

    operators: tuple[tuple[str, ...], ...]
    replicas: tuple[int, ...]
    recompute: tuple[bool, ...]
    offload: tuple[bool, ...]
    micro_batches: int

    @property
    def stage_of(self) -> dict[str, int]:
        """Operator → stage."""
        return {name: stage for stage, names in enumerate(self.operators) for name in names}


def run_plan(plan: Path | str | Mapping[str, Any]) -> RunPlan:
    """Return the plan in a file, or in an object with its content. Raises RequestError for an invalid plan."""
    name = "plan" if isinstance(plan, Mapping) else str(plan)
    value = plan if isinstance(plan, Mapping) else read_object(Path(plan))
    reader = FieldReader(name)
    reader.version(value)
    if value.get("feasible") is False:
        raise RequestError("auto_parallel.infeasible", "{path}: the model does not fit by this plan", path=name)
    for field in ("stages", "micro_batches"):
        if field not in value:
            raise reader.refuse(field, N_("missing"))
    rows = reader.listing(value["stages"], "stages")
    if not rows:
        raise reader.refuse("stages", N_("must not be empty"))
    micro_batches = _whole(reader, value["micro_batches"], "micro_batches")
    stages = [_stage(reader, row, f"stages[{number}]") for number, row in enumerate(rows)]
    for number, (_, replicas, _, _) in enumerate(stages):
        if replicas > micro_batches:
            raise RequestError(
                "auto_parallel.idle_replicas",
                "stage {stage} has {replicas} replicas, but a step has only {micro_batches} micro-batches",
                stage=number,
                replicas=replicas,
                micro_batches=micro_batches,
            )
    assigned: set[str] = set()
    for number, (names, *_) in enumerate(stages):
        for name_ in names:
            if name_ in assigned:
                raise reader.refuse(f"stages[{number}].operators", N_("{name} is listed twice"), name=name_)
            assigned.add(name_)
    operators, replicas_, recompute, offload = zip(*stages, strict=True)
    return RunPlan(operators, replicas_, recompute, offload, micro_batches)


def recomputing(plan: RunPlan, traced: Traced | ModuleChain) -> RunPlan:
    """Return a plan in which each stage with operators inside `torch.utils.checkpoint` recomputes."""
    if isinstance(traced, ModuleChain):
        return plan
    stages = {plan.stage_of[name] for name in traced.checkpointed}
    return replace(plan, recompute=tuple(flag or at in stages for at, flag in enumerate(plan.recompute)))


def _stage(reader: FieldReader, row: object, field: str) -> tuple[tuple[str, ...], int, bool, bool]:
    value = reader.mapping(row, field)
    for name in ("operators", "replicas"):
        if name not in value:
            raise reader.refuse(f"{field}.{name}", N_("missing"))
    names = reader.listing(value["operators"], f"{field}.operators")
    if not names:
        raise reader.refuse(f"{field}.operators", N_("must not be empty"))
    operators = tuple(reader.name(name, f"{field}.operators[{at}]") for at, name in enumerate(names))
    replicas = _whole(reader, value["replicas"], f"{field}.replicas")
    return operators, replicas, value.get("recompute") is True, value.get("offload") is True


def _whole(reader: FieldReader, value: object, field: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise reader.refuse(field, N_("must be a whole number"))
    if value < 1:
        raise reader.refuse(field, N_("must be greater than 0"))
    return value


def check_plan(plan: RunPlan, traced: Traced | ModuleChain) -> None:
    """Raise RequestError unless the plan is for this model and a runtime supports it."""
    try:
        if isinstance(traced, ModuleChain):
            traced.check(plan.stage_of)
        else:
            check(traced, plan.stage_of)
    except SplitError as error:
        raise RequestError(_PLAN_TEXTS[error.reason], operator=error.operator, other=error.other) from error
