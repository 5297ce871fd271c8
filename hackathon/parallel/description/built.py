"""The result of a user's function: a model, example inputs of one micro-batch and a loss, on the meta device.

It runs the user's code, so only in the child process of `hackathon plan`.
"""

import contextlib
import importlib.util
import inspect
import io
import logging
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.utils._pytree import tree_map_only

from hackathon.parallel.description.refusal import CaptureRefusal, frame_of, shortened
from hackathon.parallel.live.batches import Inputs
from hackathon.parallel.live.capture import Captured, Traced
from hackathon.parallel.live.skeleton import Skeleton
from hackathon.text.messages import Message

_KEYS = ("model", "args", "kwargs", "loss", "target")


@dataclass(frozen=True)
class Built:
    """A model with inputs of one micro-batch; `loss` gets the output, and `target` unless that is None."""

    model: nn.Module
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    loss: Callable[..., Any] | None
    target: Any

    @property
    def inputs(self) -> Inputs:
        """Positional and keyword arguments of the model, and the target of the loss."""
        return self.args, dict(self.kwargs), self.target

    @property
    def samples(self) -> int | None:
        """Samples of a micro-batch: dimension 0 of the first input that is a tensor; None without one."""
        sizes: list[int] = []
        tree_map_only(
            torch.Tensor, lambda tensor: sizes.append(int(tensor.shape[0])) if tensor.dim() else None,
            (self.args, dict(self.kwargs)),
        )  # fmt: skip
        return sizes[0] if sizes else None

    def resized(self, samples: int) -> "Built":
        """Return the same model with inputs of another number of samples. Raises CaptureRefusal without a tensor."""
        before = self.samples
        if before is None:
            raise CaptureRefusal(Message("capture.no_batch", "--batch needs an input that is a tensor"))

        def other(tensor: torch.Tensor) -> torch.Tensor:
            if not tensor.dim() or tensor.shape[0] != before:
                return tensor
            return tensor.new_zeros((samples, *tensor.shape[1:]))

        args, kwargs, target = tree_map_only(torch.Tensor, other, (self.args, dict(self.kwargs), self.target))
        return Built(self.model, args, kwargs, self.loss, target)


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Keep torch from printing whole graphs: errors are reported in one line."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        nowhere = io.StringIO()
        with warnings.catch_warnings(), contextlib.redirect_stdout(nowhere), contextlib.redirect_stderr(nowhere):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)


@dataclass(frozen=True)
class Capture:
    """A model captured like in the runtime, so that a plan names the same operators."""

    built: Built
    skeleton: Skeleton
    traced: Traced

    @classmethod
    def of(cls, built: Built) -> "Capture":
        """Capture the graph of training."""
        skeleton = Skeleton(built.model, built.loss)
        return cls(built, skeleton, skeleton.trace(*built.inputs, training=True))

    @property
    def inputs(self) -> Inputs:
        """The inputs of the capture."""
        return self.built.inputs

    @property
    def captured(self) -> Captured:
        """The graph with the aliases of its parameters."""
        return Captured(self.traced, None, self.skeleton.aliases)


def load(path: Path, name: str, more: Sequence[str] = ()) -> Callable[[], Any]:
    """Return a function of a user's file, which is imported like a program. Raises CaptureRefusal.

    `more`: folders to search for modules after the file's own.
    """
    sys.path[:0] = [folder for folder in (str(path.parent), *more) if folder not in sys.path]
    module_name = path.stem if path.stem not in sys.modules and path.stem.isidentifier() else f"_model_{path.stem}"
    spec = importlib.util.spec_from_file_location(module_name, path)
    if spec is None or spec.loader is None:
        raise CaptureRefusal(Message("capture.no_python_file", "{path}: not a Python file"), path=str(path))
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise CaptureRefusal(
            Message("capture.import_failed", "{path}:{line}: the file cannot be imported: {words}"),
            **_told(error, path),
        ) from error
    function: Any = module
    for part in name.split("."):
        function = getattr(function, part, None)
    if not callable(function):
        raise CaptureRefusal(Message("capture.no_function", "{path} has no function {name}"), path=str(path), name=name)
    return function  # type: ignore[no-any-return]


def build(function: Callable[[], Any], path: Path, device: str = "meta") -> Built:
    """Return the function's result on a device. Raises CaptureRefusal unless that is a model with its inputs."""
    try:
        with torch.device(device):
            value = function()
    except Exception as error:
        raise CaptureRefusal(
            Message(
                "capture.build_failed",
                "{path}:{line}: the function failed: {words}",
                hint="It is called without arguments under torch.device('meta'): tensors have a shape and no values.",
            ),
            **_told(error, path),
        ) from error
    name = getattr(function, "__name__", "build")
    returned = value if isinstance(value, Mapping) else {}
    if not isinstance(returned.get("model"), nn.Module) or not {"args", "kwargs"} & set(returned):
        raise CaptureRefusal(
            Message(
                "capture.build_returns",
                "{name} must return a dictionary with a torch module as `model` and its inputs as `args` or `kwargs`",
            ),
            name=name,
        )
    if unknown := [str(key) for key in value if key not in _KEYS]:
        raise CaptureRefusal(
            Message("capture.build_key", "{name} returns the unknown key {key}; known are {known}"),
            name=name,
            key=unknown[0],
            known=", ".join(_KEYS),
        )
    args = value.get("args", ())
    args = tuple(args) if isinstance(args, (tuple, list)) else (args,)
    kwargs, loss, target = dict(value.get("kwargs") or {}), value.get("loss"), value.get("target")
    if loss is not None and not callable(loss):
        raise CaptureRefusal(Message("capture.build_loss", "`loss` of {name} cannot be called"), name=name)
    if loss is not None and "target" not in value and len(args) > 1 and _takes_target(loss):
        args, target = args[:-1], args[-1]
    model = value["model"]
    model_device = next((parameter.device for parameter in model.parameters()), torch.device(device))

    def moved(tensor: torch.Tensor) -> torch.Tensor:
        return tensor if tensor.device == model_device else torch.zeros_like(tensor, device=model_device)

    args, kwargs, target = tree_map_only(torch.Tensor, moved, (args, kwargs, target))
    return Built(model, args, kwargs, loss, target)


def _takes_target(loss: Callable[..., Any]) -> bool:
    """Return whether a loss takes a target besides the output."""
    try:
        parameters = inspect.signature(loss.forward if isinstance(loss, nn.Module) else loss).parameters.values()
    except (TypeError, ValueError):
        return True  # a builtin
    required = [
        parameter for parameter in parameters
        if parameter.default is parameter.empty
        and parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    ]  # fmt: skip
    return len(required) > 1 or any(parameter.kind == parameter.VAR_POSITIONAL for parameter in parameters)


def _told(error: BaseException, path: Path) -> dict[str, str]:
    file, line = frame_of(error) or (str(path), 0)
    if isinstance(error, SyntaxError) and error.filename:
        file, line = error.filename, error.lineno or 0
    return {"path": file, "line": str(line), "words": shortened(error)}
