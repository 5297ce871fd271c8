"""Captures a model with its loss as a graph of operators (torch.export, non-strict), for training and evaluation."""

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import fx, nn
from torch.utils import _pytree as pytree

from hackathon.parallel.live.glue import glued_groups

PREFIX = "model."
"""What the wrapper puts before the user's own names."""
_CHECKS = ("_assert_tensor_metadata", "_assert_async", "_assert_scalar", "sym_constrain_range")


@dataclass(frozen=True)
class Traced:
    """The graph of one mode: inputs and outputs as flat lists of leaves, operators in the order of the graph."""

    module: fx.GraphModule
    inputs: tuple[str, ...]
    """Placeholders, one for each leaf of (args, kwargs, target), in the order of `pytree.tree_flatten`."""
    in_spec: pytree.TreeSpec
    out_spec: pytree.TreeSpec
    operators: tuple[str, ...]
    modules: Mapping[str, str]
    """Operator → dotted path of the user's module it belongs to; "" for the whole model and the loss."""
    glued: tuple[tuple[str, ...], ...]
    """Sets of operators that must stay in one stage."""
    reads: Mapping[str, tuple[str, ...]]
    """Operator → the user's names of the parameters, buffers and constants it reads."""


@dataclass(frozen=True)
class Captured:
    """A captured model: `train` gives the loss, `evaluation` the model's output without loss."""

    train: Traced
    evaluation: Traced | None
    aliases: Mapping[str, str]
    """Every name of a parameter or buffer → the first name of the same tensor."""

    @property
    def operators(self) -> tuple[str, ...]:
        """Names of the operators of training, in the order of the graph."""
        return self.train.operators

    @property
    def modules(self) -> Mapping[str, str]:
        """Operator of training → dotted path of its module."""
        return self.train.modules

    @property
    def glued(self) -> tuple[tuple[str, ...], ...]:
        """Sets of operators of training that must stay in one stage."""
        return self.train.glued


class _Whole(nn.Module):
    """The model and its loss as one module; `loss=None`: the loss is (in) the model's own output."""

    def __init__(self, model: nn.Module, loss: Callable[..., Any] | None, wants_loss: bool) -> None:
        super().__init__()
        self.model = model
        self.wants_loss = wants_loss
        if isinstance(loss, nn.Module):
            self.loss_module = loss
        self.__dict__["_loss"] = loss

    def forward(self, args: Sequence[Any], kwargs: Mapping[str, Any], target: Any) -> Any:
        output = self.model(*args, **kwargs)
        if not self.wants_loss:
            return output
        loss = self.__dict__["_loss"]
        if loss is None:
            return loss_in(output)
        return loss(output) if target is None else loss(output, target)


class NoLossError(ValueError):
    """The model's output is no loss, and holds none."""


def loss_in(output: Any) -> torch.Tensor:
    """Return the loss in a model's output: a scalar, `loss` of a mapping or an object, or the first of a tuple."""
    found = output
    if isinstance(output, Mapping):
        found = output.get("loss")
    elif hasattr(output, "loss"):
        found = output.loss
    elif isinstance(output, (tuple, list)) and output:
        found = output[0]
    if not isinstance(found, torch.Tensor) or found.dim():
        raise NoLossError(type(output).__name__)
    return found


def capture(
    model: nn.Module,
    args: Sequence[Any],
    kwargs: Mapping[str, Any] | None = None,
    loss: Callable[..., Any] | None = None,
    target: Any = None,
    *,
    evaluation: bool = True,
) -> Captured:
    """Return the graphs of a model for inputs of these shapes: one micro-batch.

    The graphs hold the model's own parameters and buffers. Model and inputs may be on the meta device. `loss` is called
    with the output and `target`, or with the output alone where `target` is None; without `loss` the model's own output
    must be or hold it (NoLossError). A model that cannot be captured raises what torch.export raises.
    """
    inputs = (tuple(args), dict(kwargs or {}), target)
    train = traced_mode(model, inputs, loss, training=True)
    other = traced_mode(model, (*inputs[:2], None), loss, training=False) if evaluation else None
    return Captured(train, other, aliases_of(model))


def traced_mode(
    model: nn.Module, inputs: tuple[Any, ...], loss: Callable[..., Any] | None, *, training: bool
) -> Traced:
    """Return the graph of one mode for (args, kwargs, target): of the loss in training, else of the model's output."""
    with _modes(model):
        if not training:
            model.eval()
        elif not model.training:
            model.train()
        return _traced(_Whole(model, loss, training), inputs)


def aliases_of(model: nn.Module) -> dict[str, str]:
    """Return every name of a parameter or buffer → the first name of the same tensor."""
    first: dict[int, str] = {}
    found = {}
    for name, tensor in named_state(model):
        found[name] = first.setdefault(id(tensor), name)
    return found


def named_state(model: nn.Module) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield names and tensors of parameters and buffers: tied ones under each name; buffers that are not kept, too."""
    yield from model.named_parameters(remove_duplicate=False)
    yield from model.named_buffers(remove_duplicate=False)


def user_name(target: str) -> str:
    """Return the user's own name of a parameter, buffer, constant or module path of the captured graph."""
    return target.removeprefix(PREFIX) if target != PREFIX[:-1] else ""


def _traced(whole: _Whole, inputs: tuple[Any, ...]) -> Traced:
    exported = torch.export.export(whole, inputs, strict=False)
    module = exported.module()
    assert isinstance(module, fx.GraphModule)
    graph = module.graph
    for node in list(graph.nodes):
        if (node.op == "call_module" and node.target == "_guards_fn") or _is_check(node):
            graph.erase_node(node)
    module.recompile()
    operators = [node for node in graph.nodes if node.op == "call_function"]
    in_spec, out_spec = exported.call_spec.in_spec, exported.call_spec.out_spec
    assert in_spec is not None and out_spec is not None
    return Traced(
        module,
        tuple(node.name for node in graph.nodes if node.op == "placeholder"),
        in_spec.child(0) if hasattr(in_spec, "child") else in_spec.children_specs[0],
        out_spec,
        tuple(node.name for node in operators),
        {node.name: _module_of(node) for node in operators},
        glued_groups(graph),
        {node.name: tuple(user_name(str(each.target)) for each in node.all_input_nodes if each.op == "get_attr"
                          and not isinstance(attribute(module, str(each.target)), nn.Module)) for node in operators},
    )  # fmt: skip


def attribute(module: nn.Module, target: str) -> Any:
    """Return what a dotted name means in a module."""
    found: Any = module
    for part in target.split("."):
        found = getattr(found, part)
    return found


def _is_check(node: fx.Node) -> bool:
    """Return whether a node only checks what capture has already seen."""
    return node.op == "call_function" and not node.users and any(each in str(node.target) for each in _CHECKS)


def _module_of(node: fx.Node) -> str:
    stack = node.meta.get("nn_module_stack") or {}
    paths = [path for path, _ in stack.values()]
    return user_name(paths[-1]) if paths else ""


@contextlib.contextmanager
def _modes(model: nn.Module) -> Iterator[None]:
    """Give each module back the mode it has now."""
    before = [(each, each.training) for each in model.modules()]
    try:
        yield
    finally:
        for each, training in before:
            each.training = training
