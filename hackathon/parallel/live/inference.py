"""Evaluation over the stages: a graph for each shape of input, captured on first use."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

import torch
from torch import fx
from torch.utils import _pytree as pytree

from hackathon.parallel.description.refusal import CaptureRefusal
from hackathon.parallel.live import batches
from hackathon.parallel.live.batches import Inputs
from hackathon.parallel.live.capture import Traced
from hackathon.parallel.live.offload import Streamed
from hackathon.parallel.live.offload_blocks import stream_graph
from hackathon.parallel.live.run import Links, Pipeline
from hackathon.parallel.live.shards import Shards
from hackathon.parallel.live.skeleton import Skeleton
from hackathon.parallel.live.split import StagePart, flat_output, split
from hackathon.parallel.live.stage import bind
from hackathon.parallel.live.state import Holding, under_all_names
from hackathon.text.errors import RequestError


@dataclass(frozen=True)
class _Graph:
    """The stages of an evaluation of one shape."""

    traced: Traced
    parts: list[StagePart]
    links: Links
    shapes: Mapping[str, torch.Tensor]


class Inference:
    """Evaluates a model whose stages are those of a plan for training."""

    def __init__(
        self, skeleton: Skeleton, train: Traced, stage_of: Mapping[str, int], holding: Holding,
        mine: Mapping[str, torch.Tensor], pipeline: Pipeline, size: int, precision: torch.dtype | None,
        streamed: Streamed | None = None, sharded: Shards | None = None,
    ) -> None:  # fmt: skip
        """`size`: samples of a micro-batch."""
        self._skeleton, self._train, self._stage_of, self._holding = skeleton, train, stage_of, holding
        self._mine, self._pipeline, self._size, self._precision = mine, pipeline, size, precision
        self._streamed, self._sharded, self._exchange = streamed, sharded, pipeline.exchange
        self._graphs: dict[Any, _Graph] = {}

    def output(self, inputs: Inputs) -> Any:
        """Return the model's output for all samples, on all ranks."""
        samples = batches.samples_of(inputs)
        full, remainder = divmod(samples, self._size)
        sizes = [self._size] * full + [remainder] * (remainder > 0)
        pieces = batches.pieces(inputs, sizes)
        outputs: list[list[Any]] = []
        spec = None
        for group in (pieces[:full], pieces[full:]):
            if group:
                rows, spec = self._outputs(group)
                outputs += rows
        assert spec is not None
        leaves = [_joined(column, sizes) for column in zip(*outputs, strict=True)]
        return pytree.tree_unflatten(leaves, spec)

    def _outputs(self, group: Sequence[Inputs]) -> tuple[list[list[Any]], pytree.TreeSpec]:
        """Return, per micro-batch, the leaves of the output; and its structure. All have one shape."""
        graph = self._graph(group[0])
        return self._run(graph, group), graph.traced.out_spec

    def _graph(self, inputs: Inputs) -> _Graph:
        key = batches.signature(inputs)
        if key in self._graphs:
            return self._graphs[key]
        try:
            traced = self._skeleton.trace(*inputs, training=False)
        except CaptureRefusal as refusal:
            values: dict[str, Any] = dict(refusal.values)
            raise RequestError(refusal.id, **values) from refusal
        holders = {name: self._holding.stages[first][0] for name, first in self._holding.aliases.items()}
        stage_of = aligned(self._train, self._stage_of, traced, holders)
        leaves = pytree.tree_flatten(inputs)[0]
        shapes = (
            {}
            if self._precision is None
            else self._skeleton.shapes(traced, leaves, self._precision, self._exchange.device)
        )
        stages = len(self._exchange.layout.replicas)
        parts = split(traced, stage_of, stages=stages, device=self._exchange.device, metadata=shapes)
        for part in parts:
            for name in part.state:
                first = self._holding.aliases.get(name)
                if first is not None and part.number not in self._holding.stages[first]:
                    raise RequestError(
                        "auto_parallel.evaluation_differs",
                        "in evaluation mode, stage {stage} would need {name}, which it does not hold in training",
                        name=name,
                        stage=part.number,
                    )
        for number in self._pipeline.stages:
            part = parts[number]
            self._bind(part, self._mine)
            if self._streamed is not None:
                assert isinstance(part.module, fx.GraphModule)
                stream_graph(part.module, self._exchange.device, training=self._streamed)
        self._graphs[key] = _Graph(traced, parts, Links.of(parts), shapes)
        return self._graphs[key]

    def _bind(self, part: StagePart, tensors: Mapping[str, torch.Tensor]) -> None:
        bind(part, under_all_names(tensors, self._holding.aliases), self._exchange.device)

    def _made(self, graph: _Graph, leaves: Sequence[Sequence[Any]]) -> list[dict[int, list[torch.Tensor]]]:
        """Run the stages of this rank; if its parameters are divided, all of them are gathered meanwhile."""
        part = graph.parts[self._pipeline.stage.part.number]
        if self._sharded is not None:
            self._bind(part, {**self._mine, **self._sharded.gathered()})
        try:
            return self._pipeline.infer(graph.parts, graph.links, leaves)
        finally:
            if self._sharded is not None:
                self._bind(part, self._mine)

    def _run(self, graph: _Graph, group: Sequence[Inputs]) -> list[list[Any]]:
        """Return, per micro-batch, the leaves of the output."""
        device, layout = self._exchange.device, self._exchange.layout
        leaves = [batches.leaves_of(inputs, device) for inputs in group]
        outputs = self._made(graph, leaves)
        makers = {leaf: part for part in graph.parts for leaf in part.results}
        rows: list[list[Any]] = [[] for _ in group]
        for at, leaf in enumerate(flat_output(graph.traced.module.graph)):
            for number, row in enumerate(rows):
                if at not in makers:
                    row.append(_given(graph.traced, leaf, leaves[number]))
                    continue
                part = makers[at]
                source = layout.rank(part.number, number)
                if self._exchange.rank == source:
                    tensor = outputs[number][part.number][part.results.index(at)].contiguous()
                else:
                    like = graph.shapes.get(leaf.name, leaf.meta["val"])
                    tensor = torch.empty(like.shape, dtype=like.dtype, device=device)
                self._exchange.broadcast(tensor, source)
                row.append(tensor)
        return rows


def _given(traced: Traced, leaf: Any, leaves: Sequence[Any]) -> Any:
    """Return an output that no operator computes: an input, or a non-tensor."""
    if not isinstance(leaf, fx.Node):
        return leaf
    if leaf.op != "placeholder":
        raise RequestError(
            "auto_parallel.evaluation_differs",
            "in evaluation mode, stage {stage} would need {name}, which it does not hold in training",
            name=leaf.name,
            stage=0,
        )
    return leaves[traced.inputs.index(leaf.name)]


def _joined(column: Sequence[Any], sizes: Sequence[int]) -> Any:
    """Return one leaf of the output from those of the micro-batches."""
    first = column[0]
    if not isinstance(first, torch.Tensor) or len(column) == 1:
        return first
    if first.dim() == 0:
        weights = torch.tensor(sizes, dtype=torch.float64, device=first.device) / sum(sizes)
        return (torch.stack([value.double() for value in column]) * weights).sum().to(first.dtype)
    if any(value.shape[0] != size for value, size in zip(column, sizes, strict=True)):
        raise RequestError(
            "auto_parallel.output_without_samples",
            "an output of shape {shape} cannot be joined from micro-batches: its first dimension is not the samples",
            shape=tuple(first.shape),
        )
    return torch.cat(list(column))


# ---- operators of another graph of the same model (evaluation, another batch size) in the stages of a plan


def aligned(train: Traced, stage_of: Mapping[str, int], other: Traced, holders: Mapping[str, int]) -> dict[str, int]:
    """Return operator → stage of the other graph.

    An operator with a counterpart in the graph of training goes into its stage; any other to the latest stage that it
    reads from, or to the stage that holds its parameters (`holders`: name as a graph reads it → first stage). No tensor
    goes backwards, and what is glued stays together.
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
    """Return, per operator, what it has in common with its counterpart in another graph of the model."""
    nodes: list[fx.Node] = [node for node in traced.module.graph.nodes if node.op == "call_function"]
    return [(traced.modules[node.name], str(node.target)) for node in nodes]
