"""Divide a stage's parameters, gradients and optimizer states over its replicas (FSDP2).

Each replica has its rows of every parameter. The graph of the stage becomes a chain of blocks, each a separate module.
A pass gathers one block after another, and releases it after use; a backward pass sums the gradients over the replicas
and keeps this rank's rows of the sum.
"""

import operator
import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch
from torch import fx, nn

from hackathon.parallel.live import seeds
from hackathon.parallel.live.capture import attribute
from hackathon.parallel.live.exchange import Messenger
from hackathon.parallel.live.glue import glued_groups
from hackathon.parallel.live.offload_blocks import parameters_read
from hackathon.parallel.live.split import StagePart

PIECES = 8
"""A block has about this fraction of a stage's parameters, or those of one operator if they are more."""


class Shards:
    """A stage whose parameters are divided over the ranks that replicate it."""

    def __init__(
        self, part: StagePart, mine: Mapping[str, torch.Tensor], tied: Collection[str], exchange: Messenger,
        ranks: tuple[int, ...],
    ) -> None:  # fmt: skip
        """`mine`: the stage's state by canonical name; `tied`: names in other stages, too, which are not divided."""
        from torch.distributed.fsdp import fully_shard

        assert isinstance(part.module, fx.GraphModule)
        self._exchange, self._ranks = exchange, ranks
        named = {name: tensor for name, tensor in mine.items() if isinstance(tensor, nn.Parameter)}
        read = {id(parameter) for parameter in part.module.parameters()}
        leaving = {id(parameter) for parameter in leaves_stage(part.module)}
        types = [parameter.dtype for parameter in named.values() if id(parameter) in read]
        common = max(types, key=lambda dtype: (types.count(dtype), str(dtype)), default=None)
        """Of the parameters; FSDP2 gathers those of one type together."""
        divided = {
            name: parameter for name, parameter in named.items()
            if id(parameter) in read and name not in tied and id(parameter) not in leaving and is_shardable(parameter)
            and parameter.dtype == common
        }  # fmt: skip
        divided_ids = {id(parameter) for parameter in divided.values()}
        blocks = in_blocks(part.module, [parameter for parameter in named.values() if id(parameter) not in divided_ids])
        mesh = exchange.mesh(ranks)
        ignored = {parameter for parameter in blocks.module.parameters() if id(parameter) not in divided_ids}
        before = _places(blocks.module)
        for block in [*blocks.blocks, blocks.module]:
            fsdp_module: Any = fully_shard(block, mesh=mesh, reshard_after_forward=True, ignored_params=ignored)
            fsdp_module.set_gradient_divide_factor(1.0)  # a sum, as over replicas without it
            fsdp_module.set_force_sum_reduction_for_comms(True)
        # an in-place operator stays in the block of the tensor that it changes, so the hooks are not lost
        warnings.filterwarnings("ignore", message="FSDP2-wrapped module .* returned a view tensor")
        self.module: nn.Module = blocks.module
        """Runs a pass of the stage."""
        self.is_mixed = any(parameter.requires_grad for parameter in ignored)
        """Whether some trainable parameters of the stage are not divided."""
        after = _places(blocks.module)
        new = {id(parameter): after[position] for position, parameter in before.items()}
        self.parameters: dict[str, nn.Parameter] = {
            name: new[id(parameter)] for name, parameter in sorted(divided.items())
        }
        """The divided parameters by canonical name, with their full shape and this rank's rows."""

    def gathered(self) -> dict[str, nn.Parameter]:
        """Return the complete divided parameters. All replicas of the stage call this."""
        return {
            name: nn.Parameter(self.whole(parameter), requires_grad=False)
            for name, parameter in self.parameters.items()
        }

    def whole(self, tensor: torch.Tensor) -> torch.Tensor:
        """Return a divided tensor in full, others unchanged. All replicas of the stage call this."""
        if not is_divided(tensor):
            return tensor
        with self._exchange.together(self._ranks):
            return tensor.detach().full_tensor()  # type: ignore[attr-defined,no-any-return]


def is_divided(tensor: object) -> bool:
    """Return whether a rank has only rows of a tensor."""
    return hasattr(tensor, "full_tensor")


def rows(tensor: torch.Tensor) -> torch.Tensor:
    """Return this rank's part of a tensor, in the same memory."""
    return tensor.to_local() if is_divided(tensor) else tensor  # type: ignore[attr-defined]


def divided_as(tensor: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
    """Return a tensor that all replicas have in full, divided like another one."""
    from torch.distributed.tensor import distribute_tensor

    assert is_divided(like)
    device = like.to_local().device  # type: ignore[attr-defined]
    mesh, placements = like.device_mesh, like.placements  # type: ignore[attr-defined]
    return distribute_tensor(tensor.detach().to(device), mesh, placements, src_data_rank=None)


def _places(module: nn.Module) -> dict[tuple[str, str], Any]:
    """Return (path of the module, name) → the parameter."""
    return {
        (path, name): parameter
        for path, owner in module.named_modules()
        for name, parameter in owner._parameters.items() if parameter is not None
    }  # fmt: skip


# ---- blocks


@dataclass(frozen=True)
class ShardBlocks:
    """A stage as `module`, which calls `blocks`; parameters that several blocks need belong to `module` itself."""

    module: fx.GraphModule
    blocks: tuple[fx.GraphModule, ...]


def in_blocks(stage: fx.GraphModule, undivided: Collection[nn.Parameter] = ()) -> ShardBlocks:
    """Return a stage in blocks with the same inputs and outputs. `undivided`: parameters that no block may have."""
    read, _ = parameters_read(stage, frozen=True)
    nodes = [node for node in stage.graph.nodes if node.op == "call_function"]
    starts = _starts(
        stage, nodes, {node: [_tensor(stage, source) for source in sources] for node, sources in read.items()}
    )
    block_of: dict[fx.Node, int] = {}
    for number, (start, end) in enumerate(pairwise([*starts, len(nodes)])):
        block_of |= dict.fromkeys(nodes[start:end], number)
    readers: dict[int, set[int]] = {}
    for node, sources in read.items():
        for source in sources:
            readers.setdefault(id(_tensor(stage, source)), set()).add(block_of[node])
    outside = {id(parameter) for parameter in undivided} | {key for key, numbers in readers.items() if len(numbers) > 1}
    return _built(stage, nodes, block_of, outside)


def leaves_stage(stage: fx.GraphModule) -> list[nn.Parameter]:
    """Return the parameters of which a view is an output of the stage.

    It may be on its way to another rank when the stage releases its parameters.
    """
    _, views = parameters_read(stage, frozen=True)
    output = next(node for node in stage.graph.nodes if node.op == "output")
    return [_tensor(stage, source) for node in output.all_input_nodes for source in views.get(node, [])]


def _tensor(stage: fx.GraphModule, node: fx.Node) -> nn.Parameter:
    parameter = attribute(stage, str(node.target))
    assert isinstance(parameter, nn.Parameter)
    return parameter


def _starts(stage: fx.GraphModule, nodes: Sequence[fx.Node], read: dict[fx.Node, list[nn.Parameter]]) -> list[int]:
    """Return the positions at which blocks begin."""
    legal = _legal(stage, nodes)
    sizes = {id(parameter): parameter.nbytes for parameters in read.values() for parameter in parameters}
    most = sum(sizes.values()) / PIECES
    starts, current, bytes_ = [0], set[int](), 0
    for at, node in enumerate(nodes):
        new = {id(parameter) for parameter in read.get(node, [])} - current
        more = sum(sizes[key] for key in new)
        if more and bytes_ and bytes_ + more > most:
            cuts = [cut for cut in legal if starts[-1] < cut <= at]
            if cuts:
                starts.append(cuts[-1])
                current, bytes_ = set(), 0
                for tensor in (tensor for node in nodes[cuts[-1] : at] for tensor in read.get(node, [])):
                    bytes_ += sizes[id(tensor)] * (id(tensor) not in current)
                    current.add(id(tensor))
                new = {id(parameter) for parameter in read.get(node, [])} - current
                more = sum(sizes[key] for key in new)
        current |= new
        bytes_ += more
    return starts


def _legal(stage: fx.GraphModule, nodes: Sequence[fx.Node]) -> list[int]:
    """Return the positions at which a block may begin: no glued operators, or operator and seed, are separated."""
    numbers = {node.name: at for at, node in enumerate(nodes)}
    closed = {at + 1 for at, node in enumerate(nodes) if node.target is seeds.seed_operator}
    for group in glued_groups(stage.graph):
        positions = [numbers[name] for name in group]
        closed.update(range(min(positions) + 1, max(positions) + 1))
    return [at for at in range(1, len(nodes)) if at not in closed]


def _built(
    stage: fx.GraphModule, nodes: Sequence[fx.Node], block_of: dict[fx.Node, int], outside: set[int]
) -> ShardBlocks:
    numbers = {node: at for at, node in enumerate(stage.graph.nodes)}
    graph = fx.Graph()
    values: dict[fx.Node, fx.Node] = {}
    attributes: dict[str, object] = {}
    for node in stage.graph.nodes:
        if node.op == "placeholder":
            values[node] = graph.placeholder(node.name)
    blocks = []
    for number in range(max(block_of.values(), default=-1) + 1):
        mine = [node for node in nodes if block_of[node] == number]
        needed = {source for node in mine for source in node.all_input_nodes if block_of.get(source) != number}
        inner = fx.Graph()
        copies: dict[fx.Node, fx.Node] = {}
        arguments: list[fx.Node] = []
        root: dict[str, object] = {}
        for node in sorted(needed, key=numbers.__getitem__):
            if node.op != "get_attr":
                arguments.append(node)
            elif id(value := attribute(stage, str(node.target))) in outside:
                attributes[str(node.target)] = value
                arguments.append(node)
                if node not in values:
                    values[node] = graph.get_attr(str(node.target))
        for node in arguments:
            copies[node] = inner.placeholder(node.name)
        for node in sorted(needed - set(arguments), key=numbers.__getitem__):
            root[str(node.target)] = attribute(stage, str(node.target))
            copies[node] = inner.create_node("get_attr", str(node.target), name=node.name)
        for node in mine:
            copies[node] = inner.node_copy(node, copies.__getitem__)
        leaving = [node for node in mine if any(block_of.get(user) != number for user in node.users)]
        inner.output(tuple(copies[node] for node in leaving))
        block = fx.GraphModule(root, inner)
        attributes[f"block_{number}"] = block
        blocks.append(block)
        called = graph.create_node("call_module", f"block_{number}", tuple(values[node] for node in arguments))
        for at, node in enumerate(leaving):
            values[node] = graph.call_function(operator.getitem, (called, at))
    output = next(node for node in stage.graph.nodes if node.op == "output")
    graph.output(fx.node.map_arg(output.args[0], values.__getitem__))
    return ShardBlocks(fx.GraphModule(attributes, graph), tuple(blocks))


def is_shardable(parameter: torch.Tensor) -> bool:
    """Return whether FSDP2 can divide a parameter along its first dimension."""
    return parameter.dim() > 0 and parameter.is_contiguous()
