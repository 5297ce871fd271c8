"""A `torch.autograd.Function` as an operator of the graph, with its own backward pass."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.autograd.function import _SingleLevelFunction
from torch.fx.experimental.proxy_tensor import disable_proxy_modes_tracing
from torch.utils._python_dispatch import TorchDispatchMode

_LIBRARY: Any = torch.library.Library("hackathon", "FRAGMENT")  # type: ignore[no-untyped-call]
_LEVEL: Any = _SingleLevelFunction
"""Every Function's `apply` ends in a call of this."""
_KINDS = {bool: "bool", int: "int", float: "float", str: "str", type(None): "Tensor?"}
_operators: dict[tuple[type, str], Any] = {}
"""(class, its signature) → its operator. The process keeps them, as graphs refer to them."""
_overloads: dict[str, int] = {}
"""Name of an operator → number of its signatures."""


class UnkeptFunctionError(Exception):
    """A Function that cannot become an operator."""


@contextlib.contextmanager
def operators_for_functions(keeps: Callable[[type], bool], refuse: Callable[[type], None]) -> Iterator[None]:
    """Turn each Function for which `keeps` is true into an operator where it is called.

    `refuse` is called with a Function that cannot become an operator; unless it raises, the Function runs unchanged.
    """
    inside = False

    def apply(cls: type, *args: Any, **kwargs: Any) -> Any:
        nonlocal inside
        # torch wraps each registered operator in one of these: a graph keeps the operator with its backward
        if inside or cls.__module__ == "torch._library.autograd" or not keeps(cls):
            return _plain(cls, args, kwargs)
        inside = True
        try:
            if kwargs:
                raise UnkeptFunctionError
            return operator_of(cls, args)(*args)
        except UnkeptFunctionError:
            refuse(cls)
            return _plain(cls, args, kwargs)
        finally:
            inside = False

    # `Function.apply` itself may have been bound before, as in `through = Through.apply`; it calls this one
    before = vars(_LEVEL).get("apply")
    _LEVEL.apply = classmethod(apply)
    try:
        yield
    finally:
        if before is None:
            del _LEVEL.apply
        else:
            _LEVEL.apply = before


def _plain(cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return vars(torch._C._FunctionBase)["apply"].__get__(None, cls)(*args, **kwargs)


def operator_of(cls: Any, args: tuple[Any, ...]) -> Any:
    """Return the operator that runs a Function on such arguments. Raises UnkeptFunctionError."""
    inputs = ", ".join(f"{_kind(item)} a{at}" for at, item in enumerate(args))
    key = (cls, inputs)
    if key not in _operators:
        outputs, draws = _tried(cls, args)
        name = "".join(item if item.isalnum() else "_" for item in cls.__name__.lower()).strip("_") or "function"
        number = _overloads[name] = _overloads.get(name, 0) + 1
        # a graph omits the overload, so names do not depend on earlier captures
        overload = f"s{number}"
        tags = (torch.Tag.nondeterministic_seeded,) if draws else ()
        _LIBRARY.define(f"{name}.{overload}({inputs}) -> {outputs}", tags=tags)
        _LIBRARY.impl(f"{name}.{overload}", lambda *arguments: cls.apply(*arguments), "CompositeImplicitAutograd")
        _operators[key] = getattr(getattr(torch.ops.hackathon, name), overload)
    return _operators[key]


def _kind(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return "Tensor"
    if isinstance(value, (list, tuple)) and value and all(isinstance(item, torch.Tensor) for item in value):
        return "Tensor[]"
    if isinstance(value, (list, tuple)) and value and all(type(item) is int for item in value):
        return "int[]"
    if isinstance(value, torch.dtype):
        return "ScalarType"
    if type(value) not in _KINDS:
        raise UnkeptFunctionError
    return _KINDS[type(value)]


def _tried(cls: Any, args: tuple[Any, ...]) -> tuple[str, bool]:
    """Return the result type of a Function in a schema, and whether its forward pass draws random numbers."""
    tensors = [item for item in args if isinstance(item, torch.Tensor)]
    before = [item._version for item in tensors]
    with disable_proxy_modes_tracing(), _Draws() as draws:  # type: ignore[no-untyped-call]
        outcome = _plain(cls, args, {})
    if any(item._version != version for item, version in zip(tensors, before, strict=True)):
        raise UnkeptFunctionError  # it changes its arguments, which the graph does not show
    if isinstance(outcome, torch.Tensor):
        return "Tensor", draws.drawn
    if not isinstance(outcome, tuple) or not all(isinstance(item, torch.Tensor) for item in outcome):
        raise UnkeptFunctionError
    return f"({', '.join('Tensor' for _ in outcome)})", draws.drawn


class _Draws(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Detects operators that draw random numbers."""

    drawn = False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.drawn = self.drawn or torch.Tag.nondeterministic_seeded in func.tags
        return func(*args, **(kwargs or {}))
