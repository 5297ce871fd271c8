"""A plan as text, for the terminal and for the page."""

from collections.abc import Iterator, Mapping
from typing import Any

from hackathon.parallel.plan.cost import CostedPlan
from hackathon.text.messages import message
from hackathon.text.units import format_size

_TERM_TEXTS = {
    "forward": "plan.term_forward",
    "backward": "plan.term_backward",
    "transfer": "plan.term_transfer",
    "passes": "plan.term_passes",
    "all-reduce": "plan.term_all_reduce",
}

_WAY_TEXTS = {
    "recompute": "plan.way_recompute",
    "offload": "plan.way_offload",
}

STAGE_COLUMNS = ("stage", "operators", "count", "replicas", "forward", "backward", "transfer", "memory", "saving")
"""Columns of `stage_rows`: keys `plan.column_…` of the catalogue."""


def seconds(number: float) -> str:
    """Return a duration as text for users."""
    return f"{number:.4g} s"


def kind_of(plan: CostedPlan) -> str:
    """Return the sentence about the kind of plan: often it is not a pipeline."""
    if plan.devices_used == 1:
        return message("plan.kind_one_device")
    if len(plan.stages) == 1:
        return message("plan.kind_data_parallel", replicas=plan.devices_used)
    replicas = ", ".join(map(str, plan.replicas))
    return message("plan.kind_pipeline", stages=len(plan.stages), devices=plan.devices_used, replicas=replicas)


def stage_rows(plan: CostedPlan, value: Mapping[str, Any]) -> list[list[str]]:
    """Return a row of `STAGE_COLUMNS` for each stage; `value`: plan.json."""
    rows = []
    for number, (stage, entry) in enumerate(zip(plan.stages, value["stages"], strict=True), 1):
        names = entry["operators"]
        label = names[0] if len(names) == 1 else f"{names[0]} … {names[-1]}"
        words = [word for word in ("recompute", "offload") if entry[word]]
        rows.append([
            str(number), label, str(len(names)), str(stage.replicas), seconds(entry["forward"]),
            seconds(entry["backward"]), seconds(entry["transfer"]), format_size(entry["memory"]["total"]),
            ", ".join(message(_WAY_TEXTS[word]) for word in words) or "–",
        ])  # fmt: skip
    return rows


def term_name(term: Mapping[str, Any]) -> str:
    """Return the name of an addend of the bound."""
    return message(_TERM_TEXTS[term["reason"]], stage=term["stage"] + 1)


def placement_lines(value: Mapping[str, Any]) -> Iterator[str]:
    """Yield lines about the nodes of the stages and the resulting step time; `value`: plan.json."""
    placement = value.get("placement")
    if placement is None:
        return
    if placement["nodes"] == 1:
        yield message("plan.placement_one_node")
    else:
        yield message("plan.placement", nodes=placement["nodes"], processes=placement["processes_per_node"])
        for number, nodes in enumerate(placement["stages"], 1):
            names = ", ".join(str(node + 1) for node in dict.fromkeys(nodes))
            yield message("plan.placement_stage", stage=number, nodes=names)
    if placement["step"] is None:
        yield message("plan.placement_unknown")
    else:
        yield message("plan.placement_step", seconds=seconds(placement["step"]))
