"""Assign the operators of another graph of the model (evaluation, another batch size) to the stages of a plan."""

from collections.abc import Mapping
from difflib import SequenceMatcher

from torch import fx

from hackathon.parallel.live.capture import Traced


def aligned(train: Traced, stage_of: Mapping[str, int], other: Traced, holders: Mapping[str, int]) -> dict[str, int]:
    """Return operator → stage of the other graph.

    An operator with a counterpart in the graph of training is assigned to its stage; any other to the latest stage that
    it reads from, or to the stage that holds its parameters (`holders`: name in the graph → first stage). No tensor
    goes backwards, and glued operators stay together.
    """
    mine, its = _keys(train), _keys(other)
    matches: dict[str, int] = {}
    for block in SequenceMatcher(None, mine, its, autojunk=False).get_matching_blocks():
        for offset in range(block.size):
            matches[other.operators[block.b + offset]] = stage_of[train.operators[block.a + offset]]
    nodes = [node for node in other.module.graph.nodes if node.op == "call_function"]
    stages: dict[str, int] = {}
    for node in nodes:
        before = [stages[source.name] for source in node.all_input_nodes if source.name in stages]
        parameter_stages = [holders[name] for name in other.reads[node.name] if name in holders]
        stages[node.name] = max([matches.get(node.name, max(parameter_stages, default=0)), *before])
    changed = True
    while changed:
        changed = False
        for group in other.glued:
            latest = max(stages[name] for name in group)
            changed |= any(stages[name] != latest for name in group)
            stages.update(dict.fromkeys(group, latest))
        for node in nodes:
            latest = max([stages[node.name], *(stages[e.name] for e in node.all_input_nodes if e.name in stages)])
            changed |= latest != stages[node.name]
            stages[node.name] = latest
    return stages


def _keys(traced: Traced) -> list[tuple[str, str]]:
    """Return, per operator, the key that identifies its counterpart in another graph of the model."""
    nodes: list[fx.Node] = [node for node in traced.module.graph.nodes if node.op == "call_function"]
    return [(traced.modules[node.name], str(node.target)) for node in nodes]
