"""A plan as text, for the terminal and for the page."""

from collections.abc import Iterator, Mapping
from typing import Any

from hackathon.parallel.plan.cost import CostedPlan
from hackathon.text.messages import N_, _
from hackathon.text.units import format_size

COLUMN_TEXTS = {
    "stage": N_("stage"),
    "operators": N_("operators"),
    "count": N_("count"),
    "replicas": N_("replicas"),
    "forward": N_("forward"),
    "backward": N_("backward"),
    "transfer": N_("transfers"),
    "memory": N_("memory"),
    "saving": N_("memory saving"),
}

ALTERNATIVE_TEXTS = {
    "one-device": N_("one device"),
    "even": N_("cuts at even numbers of operators"),
    "data-parallel": N_("data parallelism"),
}

OBJECTIVE_TEXTS = {
    "step": N_("Simulated step time"),
    "max-load": N_("Time per micro-batch of the busiest stage"),
    "fill": N_("Step time as RaNNC estimates it"),
}

_TERM_TEXTS = {
    "forward": N_("forward pass, stage {stage}"),
    "backward": N_("backward pass, stage {stage}"),
    "transfer": N_("transfers of stage {stage}"),
    "passes": N_("all passes of one device of stage {stage}"),
    "all-reduce": N_("all-reduce, stage {stage}"),
}

_WAY_TEXTS = {
    "recompute": N_("recomputation"),
    "offload": N_("offload"),
}

STAGE_COLUMNS = ("stage", "operators", "count", "replicas", "forward", "backward", "transfer", "memory", "saving")
"""Columns of `stage_rows`: ids `plan.column_…` of messages."""


def seconds(number: float) -> str:
    """Return a duration as text for users."""
    return f"{number:.4g} s"


def kind_of(plan: CostedPlan) -> str:
    """Return the sentence about the kind of plan: often it is not a pipeline."""
    if plan.devices_used == 1:
        return _("Best plan found: one device")
    if len(plan.stages) == 1:
        return _(
            "Best plan found: data parallelism on {replicas} devices, without cutting the model",
            replicas=plan.devices_used,
        )
    replicas = ", ".join(map(str, plan.replicas))
    return _(
        "Best plan found: a pipeline of {stages} stages on {devices} devices (replicas: {replicas})",
        stages=len(plan.stages),
        devices=plan.devices_used,
        replicas=replicas,
    )


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
            ", ".join(_(_WAY_TEXTS[word]) for word in words) or "–",
        ])  # fmt: skip
    return rows


def term_name(term: Mapping[str, Any]) -> str:
    """Return the name of an addend of the bound."""
    return _(_TERM_TEXTS[term["reason"]], stage=term["stage"] + 1)


def placement_lines(value: Mapping[str, Any]) -> Iterator[str]:
    """Yield lines about the nodes of the stages and the resulting step time; `value`: plan.json."""
    placement = value.get("placement")
    if placement is None:
        return
    if placement["nodes"] == 1:
        yield _("All stages run on one node.")
    else:
        yield _(
            "Nodes: {nodes}, with {processes} processes each. Ranks fill one node after another.",
            nodes=placement["nodes"],
            processes=placement["processes_per_node"],
        )
        for number, nodes in enumerate(placement["stages"], 1):
            names = ", ".join(str(node + 1) for node in dict.fromkeys(nodes))
            yield _("  stage {stage}: node {nodes}", stage=number, nodes=names)
    if placement["step"] is None:
        yield _("The step on these nodes is not known: internode_bandwidth is missing.")
    else:
        yield _("Step with the bandwidths inside and between nodes: {seconds}", seconds=seconds(placement["step"]))
