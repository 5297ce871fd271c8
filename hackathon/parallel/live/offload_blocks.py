"""The blocks that `offload` streams: modules of a model, or operators of a stage's graph."""

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import combinations
from typing import Any

import torch
from torch import fx, nn

from hackathon.parallel.live.capture import attribute
from hackathon.parallel.live.glue import shared_with, writes
from hackathon.parallel.live.offload import Streamed


def stream_modules(
    module: nn.Module, blocks: Iterable[nn.Module] | None = None, device: torch.device | str = "cpu"
) -> Streamed:
    """Stream blocks of a module, in their running order; None: each module with parameters of its own.

    Every trainable parameter belongs to a block; frozen parameters and buffers stay on the device.
    """
    chosen = list(dict.fromkeys(_owners(module) if blocks is None else blocks))
    names = {child: name for name, child in module.named_modules()}
    _refuse_nested(chosen, names)
    inside = {id(parameter) for block in chosen for parameter in block.parameters()}
    for name, parameter in module.named_parameters():
        if parameter.requires_grad and id(parameter) not in inside:
            raise ValueError(f"offload: parameter {name} is in no block")
    named = {parameter: name for name, parameter in module.named_parameters()}
    listed = [
        list(dict.fromkeys(parameter for parameter in block.parameters() if parameter.requires_grad))
        for block in chosen
    ]
    target = torch.device(device)
    # all modules of each block with a parameter, before leaves replace it
    positions = [[(holder, name, own) for holder in block.modules() for name, own in holder._parameters.items()]
              for block in chosen]  # fmt: skip
    streamed = Streamed([[(named[parameter], parameter) for parameter in block] for block in listed], target)
    _move_others(module, target)
    running: list[int] = []

    def before(number: int) -> None:
        if running:
            raise RuntimeError(
                f"offload: block {names.get(chosen[number])!r} runs inside block {names.get(chosen[running[0]])!r}"
            )
        running.append(number)
        streamed.enter(number)

    def after(number: int, output: Any) -> None:
        running.clear()
        streamed.leave(number, output)

    for number, block in enumerate(chosen):
        for original, leaf in zip(listed[number], streamed.leaves(number), strict=True):
            for holder, name, own in positions[number]:
                if own is original and leaf is not original:
                    holder._parameters[name] = leaf
                    streamed.at_end.append(partial(holder._parameters.__setitem__, name, own))
        hooks = (
            block.register_forward_pre_hook(lambda *_, number=number: before(number)),
            # also after an exception: checkpointing ends a recomputation with one
            block.register_forward_hook(
                lambda *arguments, number=number: after(number, arguments[-1]), always_call=True
            ),
        )
        streamed.at_end += [hook.remove for hook in hooks]
    _keep_state_dict(module, streamed)
    return streamed


def _owners(module: nn.Module) -> Iterator[nn.Module]:
    """Yield the modules that have trainable parameters of their own."""
    for child in module.modules():
        if any(own is not None and own.requires_grad for own in child._parameters.values()):
            yield child


def _refuse_nested(blocks: list[nn.Module], names: dict[nn.Module, str]) -> None:
    inside = {block: set(block.modules()) for block in blocks}
    for first, second in combinations(blocks, 2):
        if inside[first] & inside[second]:
            raise ValueError(
                f"offload: blocks {names.get(first)!r} and {names.get(second)!r} share a module: "
                "choose blocks that lie beside each other"
            )


def _move_others(module: nn.Module, device: torch.device) -> None:
    """Move everything else to the device."""
    for tensor in [*module.parameters(), *module.buffers()]:
        if not tensor.requires_grad:
            tensor.data = tensor.data.to(device)


def _keep_state_dict(module: nn.Module, streamed: Streamed) -> None:
    """Let `state_dict()` return the host's values, and refuse to load into an empty device copy."""
    hosts_by_id = streamed.hosts()
    hosts = {name: hosts_by_id[id(parameter)] for name, parameter in module.named_parameters(remove_duplicate=False)
             if parameter.requires_grad}  # fmt: skip

    def filled(_: nn.Module, state: dict[str, Any], prefix: str, *__: Any) -> None:
        for name, host in hosts.items():
            if prefix + name in state:
                state[prefix + name] = host.detach()

    def refused(*_: Any) -> None:
        raise RuntimeError(
            "offload: call load_state_dict before the blocks are streamed, or copy into named_parameters()"
        )

    streamed.at_end.append(module._register_state_dict_hook(filled).remove)  # type: ignore[no-untyped-call]
    streamed.at_end.append(module.register_load_state_dict_pre_hook(refused).remove)  # type: ignore[no-untyped-call]


# ---- graphs


class _Call(nn.Module):
    """A function as a node of a graph."""

    def __init__(self, function: Any) -> None:
        super().__init__()
        self._function = function

    def forward(self, *values: Any) -> Any:
        """Call it."""
        return self._function(*values)


def stream_graph(
    stage: fx.GraphModule, device: torch.device | str = "cpu", training: Streamed | None = None
) -> Streamed | None:
    """Stream the operators of a stage that read trainable parameters; None without any.

    `training`: the stage evaluates with parameters that another stage trains. A block is one operator, as a plan
    assumes. An operator that reads a view of a parameter, created by another operator, is a block too.
    """
    target = torch.device(device)
    read, _ = parameters_read(stage)
    blocks = [node for node in stage.graph.nodes if node.op == "call_function" and read.get(node)]
    if not blocks:
        return None
    parameters = {source: attribute(stage, str(source.target)) for node in blocks for source in read[node]}
    listed = [[(str(source.target), parameters[source]) for source in read[node]] for node in blocks]
    streamed = Streamed(listed, target, training)
    _move_others(stage, target)
    for number, node in enumerate(blocks):
        leaves = dict(
            zip(dict.fromkeys(parameters[source] for source in read[node]), streamed.leaves(number), strict=True)
        )
        _insert(stage, node.prev, f"offload_enter_{number}", partial(streamed.enter, number))
        _insert(stage, node, f"offload_leave_{number}", partial(streamed.leave, number), node)
        for source in read[node]:
            leaf = leaves[parameters[source]]
            if source in node.all_input_nodes and leaf is not parameters[source]:
                replacement = _insert(stage, node.prev, f"offload_leaf_{number}_{source.name}", lambda leaf=leaf: leaf)
                node.replace_input_with(source, replacement)
    stage.recompile()
    return streamed


def _insert(stage: fx.GraphModule, after: fx.Node, name: str, function: Any, *values: fx.Node) -> fx.Node:
    stage.add_module(name, _Call(function))
    with stage.graph.inserting_after(after):
        return stage.graph.call_module(name, values)


def parameters_read(
    stage: fx.GraphModule, *, frozen: bool = False
) -> tuple[dict[fx.Node, list[fx.Node]], dict[fx.Node, list[fx.Node]]]:
    """Return, per operator, the nodes of trainable parameters whose memory it reads, and whose it passes on.

    `frozen`: include frozen ones.
    """
    reads: dict[fx.Node, list[fx.Node]] = {}
    views: dict[fx.Node, list[fx.Node]] = {}
    for node in stage.graph.nodes:
        if node.op == "get_attr":
            value = attribute(stage, str(node.target))
            if isinstance(value, nn.Parameter) and (frozen or value.requires_grad):
                views[node] = [node]
        elif node.op == "call_function":
            for changed in writes(node):
                if changed in views:
                    reason = f"{node.name} changes parameter {views[changed][0].target}"
                    raise ValueError(f"{reason}: it can be neither streamed nor divided")
            reads[node] = list(
                dict.fromkeys(parameter for source in node.all_input_nodes for parameter in views.get(source, []))
            )
            shared = [parameter for source in shared_with(node) for parameter in views.get(source, [])]
            if shared:
                views[node] = list(dict.fromkeys(shared))
    return reads, views
