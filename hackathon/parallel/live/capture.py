"""Capture a model with its loss as a graph of operators (torch.export, non-strict), for training and evaluation."""

import contextlib
import random
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import fx, nn
from torch._subclasses.fake_tensor import is_fake
from torch.utils import _pytree as pytree

from hackathon.parallel.description.refusal import CaptureRefusal, is_foreign, titled
from hackathon.parallel.fidelity.watch import ANNOTATION, CaptureWatch, set_numbers, where_it_draws
from hackathon.parallel.live.glue import glued_groups
from hackathon.text.messages import Message

PREFIX = "model."
"""Prefix of the user's own names in the wrapper."""
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
    """Operator → dotted path of its module in the user's model; "" for the whole model and the loss."""
    glued: tuple[tuple[str, ...], ...]
    """Sets of operators that must stay in one stage."""
    reads: Mapping[str, tuple[str, ...]]
    """Operator → the user's names of the parameters, buffers and constants that it reads."""
    checkpointed: tuple[str, ...] = ()
    """Operators inside `torch.utils.checkpoint`: their stages recompute them in the backward pass."""

    def location(self, operator: str, model: nn.Module) -> dict[str, str]:
        """Return module, file and line of an operator in the user's code."""
        return _location(next(node for node in self.module.graph.nodes if node.name == operator), model)


@dataclass(frozen=True)
class Captured:
    """A captured model: `train` returns the loss, `evaluation` the model's output without loss."""

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


class Whole(nn.Module):
    """The model and its loss as one module; `loss=None`: the loss is (in) the model's own output."""

    def __init__(self, model: nn.Module, loss: Callable[..., Any] | None, wants_loss: bool) -> None:
        super().__init__()
        self.model = model
        self.wants_loss = wants_loss
        self.__dict__["watch"] = contextlib.nullcontext
        if isinstance(loss, nn.Module):
            self.loss_module = loss
        self.__dict__["_loss"] = loss

    def forward(self, args: Sequence[Any], kwargs: Mapping[str, Any], target: Any) -> Any:
        with self.__dict__["watch"]():
            return self._loss_of(args, kwargs, target)

    def _loss_of(self, args: Sequence[Any], kwargs: Mapping[str, Any], target: Any) -> Any:
        output = self.model(*args, **kwargs)
        if not self.wants_loss:
            return output
        loss = self.__dict__["_loss"]
        if loss is None:
            return loss_in(output)
        return loss(output) if target is None else loss(output, target)


class NoLossError(ValueError):
    """The model's output is not a loss, and contains none."""


def loss_in(output: Any) -> torch.Tensor:
    """Return the loss in a model's output: a scalar, `loss` of a mapping or an object, or the first of a tuple."""
    loss = output
    if isinstance(output, Mapping):
        loss = output.get("loss")
    elif hasattr(output, "loss"):
        loss = output.loss
    elif isinstance(output, (tuple, list)) and output:
        loss = output[0]
    if not isinstance(loss, torch.Tensor) or loss.dim():
        raise NoLossError(type(output).__name__)
    return loss


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

    The graphs contain the model's own parameters and buffers. Model and inputs may be on the meta device. `loss` is
    called with the output and `target`, or only with the output if `target` is None; without `loss` the model's own
    output must be or contain it (NoLossError). A model that cannot be captured raises torch.export's error.
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
        return _watched(Whole(model, loss, training), inputs, training=training)


def _watched(wrapper: Whole, inputs: tuple[Any, ...], *, training: bool) -> Traced:
    """Return the graph of a model. Raises CaptureRefusal for code that the graph would omit or evaluate only once.

    A model that changes numbers in its modules is traced a second time in its changed state.
    """
    model, state = wrapper.model, random.getstate()
    numpy = sys.modules["numpy"].random.get_state() if "numpy" in sys.modules else None
    watch = CaptureWatch(model, training=training)
    traced = _traced(wrapper, inputs, watch)
    if watch.drawn is not None:
        random.setstate(state)
        if numpy is not None:
            sys.modules["numpy"].random.set_state(numpy)
        again = CaptureWatch(model, training=training)
        with where_it_draws(again):
            _traced(wrapper, inputs, again)
        raise again.refusal or watch.refuse(
            Message(
                "capture.decided_once",
                "{path}:{line}: module {module} draws random numbers of {words}: a captured graph would have the "
                "same ones in each step",
                hint="Draw them with torch, without a branch on their values. A model that only calls its children one "
                "after another, such as nn.Sequential, is planned by its children instead, which run as they are.",
            ),
            words=watch.drawn,
        )
    if watch.changed:
        set_numbers(model, watch.changed)  # torch.export restores the old ones
        try:
            again = CaptureWatch(model, training=training)
            other = _traced(wrapper, inputs, again)
        finally:
            set_numbers(model, watch.before)
        for (path, name), after in again.changed.items():
            values = {"name": name, "before": str(again.before[path, name]), "after": str(after)}
            raise _of_module(
                model,
                path,
                Message(
                    "capture.counted",
                    "{path}:{line}: module {module} changes its attribute {name} in each forward pass ({before}, "
                    "then {after}): a captured graph would have one value in all steps",
                    hint="Make it a buffer (register_buffer) that is changed in place, or change it outside `forward`.",
                ),
                words=f"{name} += …",
                **values,
            )
        refuse_other_graph(traced, other, model)
    return traced


def _of_module(model: nn.Module, path: str, identifier: str, **values: str) -> CaptureRefusal:
    """Return a refusal of code in the `forward` of a module."""
    module = model.get_submodule(path)
    code = getattr(type(module).forward, "__code__", None)
    return CaptureRefusal(
        identifier, module=titled(path, module), path=getattr(code, "co_filename", "?"),
        line=str(getattr(code, "co_firstlineno", 0)), **values,
    )  # fmt: skip


def refuse_other_graph(first: Traced, second: Traced, model: nn.Module) -> None:
    """Raise CaptureRefusal naming the first operator in which two graphs of one model differ, if they do."""
    nodes, second_nodes = list(first.module.graph.nodes), list(second.module.graph.nodes)
    for node, same in zip(nodes, second_nodes, strict=False):
        if not _equal(node, same, first.module, second.module):
            operator = node
            while operator.op == "get_attr" and operator.users:
                operator = next(iter(operator.users))
            location = first.location(operator.name, model)
            raise CaptureRefusal(
                Message(
                    "capture.other_graph",
                    "{path}:{line}: module {module}: a second capture of the same model differs at operator "
                    "{operator}: something outside the graph decides what it does",
                    hint="Counters, random numbers and time must not decide what `forward` does.",
                ),
                operator=operator.name,
                words=operator.name,
                **location,
            )
    if len(nodes) != len(second_nodes):
        raise CaptureRefusal(
            Message(
                "capture.other_graph",
                "{path}:{line}: module {module}: a second capture of the same model differs at operator "
                "{operator}: something outside the graph decides what it does",
                hint="Counters, random numbers and time must not decide what `forward` does.",
            ),
            operator="output",
            words="output",
            **first.location("output", model),
        )


def _equal(node: fx.Node, other: fx.Node, module: nn.Module, other_module: nn.Module) -> bool:
    """Return whether two nodes do the same; constants have the same numbers."""
    if (node.op, node.name) != (other.op, other.name):
        return False
    if node.op == "get_attr":
        value, same = attribute(module, str(node.target)), attribute(other_module, str(other.target))
        if isinstance(value, fx.GraphModule):
            pairs = zip(value.graph.nodes, same.graph.nodes, strict=False)
            return len(value.graph.nodes) == len(same.graph.nodes) and all(
                _equal(mine, its, value, same) for mine, its in pairs
            )
        if value is same or str(node.target) in _state(module):
            return bool(node.target == other.target)
        return isinstance(value, torch.Tensor) and _same_numbers(value, same)
    named = [
        fx.node.map_arg((operator.args, operator.kwargs), lambda source: source.name) for operator in (node, other)
    ]
    return str(node.target) == str(other.target) and repr(named[0]) == repr(named[1])


def _state(module: nn.Module) -> set[str]:
    """Return the names of the user's own attributes in the root of a graph."""
    return {name for name, _ in named_state(module) if name.startswith(PREFIX)}


def _same_numbers(value: torch.Tensor, other: Any) -> bool:
    """Return whether two constants are equal."""
    if not isinstance(other, torch.Tensor) or (value.shape, value.dtype) != (other.shape, other.dtype):
        return False
    if value.is_meta or other.is_meta or type(value) is not torch.Tensor or type(other) is not torch.Tensor:
        return True
    return torch.equal(value.nan_to_num(), other.nan_to_num())


def aliases_of(model: nn.Module) -> dict[str, str]:
    """Return every name of a parameter or buffer → the first name of the same tensor."""
    first: dict[int, str] = {}
    aliases = {}
    for name, tensor in named_state(model):
        aliases[name] = first.setdefault(id(tensor), name)
    return aliases


def named_state(model: nn.Module) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield names and tensors of parameters and buffers: tied ones under each name; non-persistent buffers, too."""
    yield from model.named_parameters(remove_duplicate=False)
    yield from model.named_buffers(remove_duplicate=False)


def user_name(target: str) -> str:
    """Return the user's own name of a parameter, buffer, constant or module path of the captured graph."""
    return target.removeprefix(PREFIX) if target != PREFIX[:-1] else ""


def _traced(wrapper: Whole, inputs: tuple[Any, ...], watch: CaptureWatch) -> Traced:
    wrapper.__dict__["watch"] = watch.forward
    try:
        with watch.active():
            exported = torch.export.export(wrapper, inputs, strict=False)
    except Exception as error:
        if watch.refusal is not None:
            raise watch.refusal from error
        raise
    finally:
        wrapper.__dict__["watch"] = contextlib.nullcontext
    if watch.refusal is not None:  # the user's code caught the exception
        raise watch.refusal
    module = exported.module()
    assert isinstance(module, fx.GraphModule)
    graph = module.graph
    for node in list(graph.nodes):
        if (node.op == "call_module" and node.target == "_guards_fn") or _is_check(node):
            graph.erase_node(node)
    module.recompile()
    operators = [node for node in graph.nodes if node.op == "call_function"]
    own = {id(tensor) for _, tensor in named_state(wrapper)}
    for node in graph.nodes:
        if node.op == "get_attr" and is_fake(value := attribute(module, str(node.target))) and id(value) not in own:
            location = _location(next(iter(node.users), node), wrapper.model)
            raise CaptureRefusal(
                Message(
                    "capture.left_out",
                    "{path}:{line}: module {module} uses {words}, which a captured graph would leave out",
                    hint="Do the same with operators in `forward`. A model that only calls its children one after "
                    "another, such as nn.Sequential, is planned by its children instead, which run as they are.",
                ),
                words="torch.Tensor.data",
                **location,
            )
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
        {node.name: tuple(user_name(str(source.target)) for source in node.all_input_nodes if source.op == "get_attr"
                          and not isinstance(attribute(module, str(source.target)), nn.Module)) for node in operators},
        tuple(node.name for node in operators if ANNOTATION in (node.meta.get("custom") or {})),
    )  # fmt: skip


def attribute(module: nn.Module, target: str) -> Any:
    """Return the attribute of a module with a dotted name."""
    value: Any = module
    for part in target.split("."):
        value = getattr(value, part)
    return value


def _is_check(node: fx.Node) -> bool:
    """Return whether a node only checks conditions that capture has verified already."""
    return node.op == "call_function" and not node.users and any(check in str(node.target) for check in _CHECKS)


def _location(node: fx.Node, model: nn.Module) -> dict[str, str]:
    lines = re.findall(r'File "(.+)", line (\d+)', node.meta.get("stack_trace") or "")
    path, line = next(((file, line) for file, line in reversed(lines) if is_foreign(file)), ("?", "0"))
    module = _module_of(node)
    return {"module": titled(module, dict(model.named_modules()).get(module, model)), "path": path, "line": line}


def _module_of(node: fx.Node) -> str:
    stack = node.meta.get("nn_module_stack") or {}
    paths = [path for path, _ in stack.values()]
    return user_name(paths[-1]) if paths else ""


@contextlib.contextmanager
def _modes(model: nn.Module) -> Iterator[None]:
    """Restore each module's current mode afterwards."""
    before = [(module, module.training) for module in model.modules()]
    try:
        yield
    finally:
        for module, training in before:
            module.training = training
