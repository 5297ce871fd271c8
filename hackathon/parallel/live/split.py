"""Split a captured graph into stages: a separate graph for each, and the tensors between stages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import fx, nn

from hackathon.parallel.live import seeds
from hackathon.parallel.live.capture import Traced, attribute, user_name


@dataclass(frozen=True)
class Value:
    """A tensor that one stage computes and others read."""

    name: str
    sender: int
    readers: tuple[int, ...]
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: torch.dtype
    gradient: bool
    """Whether a gradient comes back from each reader."""


@dataclass(frozen=True)
class StagePart:
    """One stage. Its module takes `inputs`, then `receives`, and returns `sends`, then `results`, as one tuple.

    The module is a graph, or `Children` of a chain.
    """

    number: int
    module: nn.Module
    operators: tuple[str, ...]
    inputs: tuple[int, ...]
    """Indices of the leaves of the whole model's inputs that it reads."""
    receives: tuple[Value, ...]
    sends: tuple[Value, ...]
    results: tuple[int, ...]
    """Indices of the leaves of the whole model's output that it computes."""
    state: tuple[str, ...]
    """The user's names of the parameters, buffers and constants that it reads, tied ones as the graph names them."""
    changed: tuple[str, ...]
    """Those of `state` that it changes itself: statistics of normalisation, counters."""
    draws: bool
    """Whether it draws random numbers."""


class SplitError(ValueError):
    """An assignment that no runtime supports; `reason` is one of missing, unknown, backwards, glued."""

    def __init__(self, reason: str, operator: str, other: str = "") -> None:
        super().__init__(f"{reason}: {operator} {other}".strip())
        self.reason, self.operator, self.other = reason, operator, other


def check(traced: Traced, stage_of: Mapping[str, int]) -> None:
    """Raise SplitError unless each operator is in one stage, no tensor goes backwards and glued ones are together."""
    operators = set(traced.operators)
    for name in stage_of:
        if name not in operators:
            raise SplitError("unknown", name)
    for name in traced.operators:
        if name not in stage_of:
            raise SplitError("missing", name)
    for group in traced.glued:
        for name in group[1:]:
            if stage_of[name] != stage_of[group[0]]:
                raise SplitError("glued", group[0], name)
    for node in traced.module.graph.nodes:
        for source in node.all_input_nodes:
            if node.name in operators and source.name in operators and stage_of[source.name] > stage_of[node.name]:
                raise SplitError("backwards", source.name, node.name)


def split(
    traced: Traced, stage_of: Mapping[str, int], *, stages: int | None = None, device: torch.device | None = None,
    metadata: Mapping[str, torch.Tensor] | None = None,
) -> list[StagePart]:  # fmt: skip
    """Return the stages of an assignment operator → stage. Raises SplitError for an unsupported one.

    `device`: replaces the device of constants at capture. `metadata`: shape and type of each operator's result if they
    differ from those at capture (autocast).
    """
    check(traced, stage_of)
    count = max(stage_of.values(), default=0) + 1 if stages is None else stages
    values = _values(traced, stage_of, metadata or {})
    numbers = _numbered_draws(traced)
    return [_part(traced, stage_of, number, values, numbers, device) for number in range(count)]


def carries_gradient(traced: Traced) -> set[str]:
    """Return the operators whose result may depend on a trainable parameter."""
    nodes: set[fx.Node] = set()
    for node in traced.module.graph.nodes:
        if node.op == "get_attr":
            tensor = attribute(traced.module, str(node.target))
            if isinstance(tensor, torch.Tensor) and tensor.requires_grad:
                nodes.add(node)
        elif node.op == "call_function":
            value = node.meta.get("val")
            differentiable = not isinstance(value, torch.Tensor) or value.is_floating_point() or value.is_complex()
            if differentiable and not _stops(node) and not nodes.isdisjoint(node.all_input_nodes):
                nodes.add(node)
    return {node.name for node in nodes}


def _stops(node: fx.Node) -> bool:
    """Return whether no gradient passes an operator: detach, or a part of the program under no_grad."""
    name = str(node.target)
    return name.startswith("aten.detach") or ("wrap_with_set_grad_enabled" in name and node.args[0] is False)


def _values(traced: Traced, stage_of: Mapping[str, int], metadata: Mapping[str, torch.Tensor]) -> dict[str, Value]:
    """Return each tensor that leaves its stage."""
    carrying = carries_gradient(traced)
    values = {}
    for node in traced.module.graph.nodes:
        if node.op != "call_function":
            continue
        mine = stage_of[node.name]
        readers = {stage_of[user.name] for user in node.users if user.op == "call_function"} - {mine}
        if not readers:
            continue
        value = metadata.get(node.name, node.meta["val"])
        shape, strides = tuple(value.shape), strides_on_the_way(value)
        values[node.name] = Value(
            node.name, mine, tuple(sorted(readers)), shape, strides, value.dtype, node.name in carrying
        )
    return values


def strides_on_the_way(tensor: torch.Tensor) -> tuple[int, ...]:
    """Return the strides with which a tensor is sent: its own if they fill its memory without gaps."""
    expected = 1
    for stride, size in sorted(zip(tensor.stride(), tensor.shape, strict=True)):
        if size == 1:
            continue
        if stride != expected:
            return tuple(torch.empty(tensor.shape, device="meta").stride())
        expected *= size
    return tuple(tensor.stride())


def _numbered_draws(traced: Traced) -> dict[str, int]:
    drawing = [
        node.name for node in traced.module.graph.nodes
        if node.op == "call_function" and seeds.draws(node, traced.module)
    ]  # fmt: skip
    return {name: number for number, name in enumerate(drawing)}


def _part(
    traced: Traced, stage_of: Mapping[str, int], number: int, values: Mapping[str, Value],
    numbers: Mapping[str, int], device: torch.device | None,
) -> StagePart:  # fmt: skip
    from hackathon.parallel.live.glue import writes

    source = traced.module.graph
    mine = [node for node in source.nodes if node.op == "call_function" and stage_of[node.name] == number]
    inside = set(mine)
    leaves = flat_output(source)
    results = [at for at, leaf in enumerate(leaves) if leaf in inside]
    needed = {argument for node in mine for argument in node.all_input_nodes if argument not in inside}
    position = {node: at for at, node in enumerate(source.nodes)}
    ordered = sorted(needed, key=position.__getitem__)
    graph = fx.Graph()
    copies: dict[fx.Node, fx.Node] = {}
    inputs, receives, state = [], [], []
    root: dict[str, Any] = {}
    for node in ordered:
        if node.op == "placeholder":
            inputs.append(traced.inputs.index(node.name))
            copies[node] = graph.placeholder(node.name)
    for node in ordered:
        if node.op == "call_function":
            receives.append(values[node.name])
            copies[node] = graph.placeholder(node.name)
    for node in ordered:
        if node.op == "get_attr":
            target = str(node.target)
            constant = attribute(traced.module, target)
            name = target if isinstance(constant, nn.Module) else user_name(target)
            root[name] = constant
            if isinstance(constant, fx.GraphModule) and device is not None:
                _move(constant, device)
            elif not isinstance(constant, nn.Module):
                state.append(name)
            copies[node] = graph.create_node("get_attr", name, name=node.name)
    for node in mine:
        if node.name in numbers:
            graph.call_function(seeds.seed_operator, (numbers[node.name],))
        copy = graph.node_copy(node, copies.__getitem__)
        if device is not None:
            _move_node(copy, device)
        copies[node] = copy
    sends = [values[node.name] for node in mine if node.name in values]
    graph.output((*(copies[_named(mine, value.name)] for value in sends), *(copies[leaves[at]] for at in results)))
    changed = {user_name(str(target.target)) for node in mine for target in writes(node) if target.op == "get_attr"}
    return StagePart(
        number, fx.GraphModule(root, graph), tuple(node.name for node in mine), tuple(inputs), tuple(receives),
        tuple(sends), tuple(results), tuple(dict.fromkeys(state)), tuple(sorted(changed)),
        any(node.name in numbers for node in mine),
    )  # fmt: skip


def moved(value: Any, device: torch.device) -> Any:
    """Return the arguments of an operator with each device in them replaced."""
    return fx.node.map_aggregate(value, lambda argument: device if isinstance(argument, torch.device) else argument)


def _move_node(node: fx.Node, device: torch.device) -> None:
    node.args, node.kwargs = moved(node.args, device), moved(node.kwargs, device)


def _move(module: fx.GraphModule, device: torch.device) -> None:
    """Move the tensors created in a separate module of a graph (e.g. under no_grad) to a device."""
    for node in module.graph.nodes:
        _move_node(node, device)
    for child in module.children():
        if isinstance(child, fx.GraphModule):
            _move(child, device)
    module.recompile()


def _named(nodes: Sequence[fx.Node], name: str) -> fx.Node:
    return next(node for node in nodes if node.name == name)


def flat_output(graph: fx.Graph) -> list[Any]:
    """Return the leaves of the output node."""
    output = next(node for node in graph.nodes if node.op == "output")
    returned = output.args[0]
    return list(returned) if isinstance(returned, (tuple, list)) else [returned]
