"""Detect what a captured graph would leave out or decide only once, while the model is traced, and refuse it."""

import contextlib
import copy
import itertools
import random
import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any
from unittest.mock import patch

import torch
from torch import nn
from torch.fx.experimental.proxy_tensor import get_proxy_mode
from torch.utils import _pytree as pytree

from hackathon.parallel.description.refusal import CaptureRefusal, is_foreign, titled
from hackathon.parallel.fidelity.own_functions import operators_for_functions
from hackathon.text.messages import Message

ANNOTATION = "hackathon_checkpoint"
"""Metadata key of a graph's nodes, for operators inside `torch.utils.checkpoint`."""
_NUMBERS = (bool, int, float, complex)
Numbers = dict[tuple[str, str], Any]
"""(path of a module, attribute) → number."""


class CaptureWatch:
    """Watches one run of a model under torch.export. `refusal`: the first operation that the graph cannot represent."""

    def __init__(self, model: nn.Module, *, training: bool) -> None:
        """`training`: whether gradients count."""
        self._model, self._training = model, training
        self._paths = {id(module): path for path, module in model.named_modules()}
        self.refusal: CaptureRefusal | None = None
        self.drawn: str | None = None
        """The module whose random numbers the model drew: random or numpy.random."""
        self.changed: Numbers = {}
        """Attributes with numbers that the model changed in its modules: their new values."""
        self.before: Numbers = {}
        """Their old values."""

    @contextlib.contextmanager
    def active(self) -> Iterator[None]:
        """Detect hooks, checkpoints, gradients and custom backward passes. Raises CaptureRefusal for those refused."""
        engine = "_engine_run_backward"
        with contextlib.ExitStack() as stack:
            if hasattr(torch.autograd, engine):  # what grad() and backward() call, however they were imported
                stack.enter_context(patch.object(torch.autograd, engine, self._refusing("torch.autograd.grad")))
            stack.enter_context(operators_for_functions(self._keeps, self._refuse_function))
            stack.enter_context(plain_checkpoints(self._saved_tensors))
            if self._training:
                for name in ("register_hook", "register_post_accumulate_grad_hook"):
                    call = self._refusing(f"torch.Tensor.{name}")
                    stack.enter_context(patch.object(torch.Tensor, name, call))
            yield

    @contextlib.contextmanager
    def forward(self) -> Iterator[None]:
        """Detect which random numbers of Python the model draws, and which of its numbers it changes."""
        numbers, states = numbers_of(self._model), random_states()
        yield
        after = numbers_of(self._model)
        self.changed = {key: value for key, value in after.items() if key in numbers and value != numbers[key]}
        self.before = {key: numbers[key] for key in self.changed}
        self.drawn = next((name for name, state in random_states().items() if states.get(name, state) != state), None)

    def refuse(self, identifier: str, frame: FrameType | None = None, **values: str) -> CaptureRefusal:
        """Return, and store, the refusal of the user's code that runs now: its innermost line."""
        self.refusal = self.refusal or CaptureRefusal(identifier, **self.location(frame), **values)
        return self.refusal

    def location(self, frame: FrameType | None = None) -> dict[str, str]:
        """Return module, file and line of the user's innermost code, outwards from a frame (default: the caller's)."""
        inner = frame or sys._getframe(1)
        path, line, module = "?", 0, self._model
        item: FrameType | None = inner
        while item is not None:
            if is_foreign(item.f_code.co_filename):
                path, line = (path, line) if line else (item.f_code.co_filename, item.f_lineno)
                owner = item.f_locals.get("self")
                if isinstance(owner, nn.Module) and id(owner) in self._paths:
                    module = owner
                    break
            item = item.f_back
        return {"module": titled(self._paths[id(module)], module), "path": path, "line": str(line)}

    # ---- what is detected
    def _refusing(self, words: str) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            raise self.refuse(
                Message(
                    "capture.left_out",
                    "{path}:{line}: module {module} uses {words}, which a captured graph would leave out",
                    hint="Do the same with operators in `forward`. A model that only calls its children one after "
                    "another, such as nn.Sequential, is planned by its children instead, which run as they are.",
                ),
                sys._getframe(1),
                words=words,
            )

        return call

    def _keeps(self, cls: type) -> bool:
        """Return whether a Function becomes an operator; a re-entrant checkpoint is refused."""
        if cls is torch.utils.checkpoint.CheckpointFunction:
            if self._training:
                words = "torch.utils.checkpoint.checkpoint(use_reentrant=True)"
                raise self.refuse(
                    Message(
                        "capture.checkpoint",
                        "{path}:{line}: module {module} uses {words}, without whose second forward pass no "
                        "parameter before it would be trained",
                        hint="Leave checkpoints out, or use use_reentrant=False, and let stages recompute: hackathon "
                        "plan --recompute auto.",
                    ),
                    sys._getframe(2),
                    words=words,
                )
            return False
        return True

    def _refuse_function(self, cls: type) -> None:
        if self._training:
            words = f"torch.autograd.Function {cls.__qualname__}"
            raise self.refuse(
                Message(
                    "capture.own_backward",
                    "{path}:{line}: module {module} uses {words}, whose arguments or results are not all tensors "
                    "and numbers, so that its backward pass cannot be captured",
                    hint="Give it tensors, numbers and strings only, let it return new tensors, and do not change its "
                    "inputs.",
                ),
                sys._getframe(2),
                words=words,
            )

    def _saved_tensors(self, hooks: object) -> None:
        """Refuse hooks of saved tensors outside a checkpoint."""
        if self._training:
            words = f"torch.autograd.graph.{type(hooks).__name__}"
            raise self.refuse(
                Message(
                    "capture.left_out",
                    "{path}:{line}: module {module} uses {words}, which a captured graph would leave out",
                    hint="Do the same with operators in `forward`. A model that only calls its children one after "
                    "another, such as nn.Sequential, is planned by its children instead, which run as they are.",
                ),
                sys._getframe(2),
                words=words,
            )


@contextlib.contextmanager
def plain_checkpoints(callback: Callable[[object], None] = lambda hooks: None) -> Iterator[None]:
    """Let checkpoints without re-entry store their tensors, so that they compute nothing twice.

    While a model is traced, the operators inside them are marked. `callback` is called with other hooks of saved
    tensors, which run unchanged.
    """
    hooks = torch.autograd.graph.saved_tensors_hooks
    enter, leave = hooks.__enter__, hooks.__exit__
    starts: dict[int, int] = {}

    def begin(self: Any) -> Any:
        if type(self).__name__ != "_checkpoint_hook":
            callback(self)
            return enter(self)
        starts[id(self)] = len(_traced_nodes())
        return None

    def end(self: Any, *error: Any) -> Any:
        start = starts.pop(id(self), None)
        if start is None:
            return leave(self, *error)
        nodes = _traced_nodes()
        for node in itertools.islice(reversed(nodes), len(nodes) - start):
            node.meta["custom"] = {**(node.meta.get("custom") or {}), ANNOTATION: True}
        return None

    with patch.object(hooks, "__enter__", begin), patch.object(hooks, "__exit__", end):
        yield


def _traced_nodes() -> Any:
    """Return the nodes of the graph that is being traced; empty while no model is traced."""
    mode = get_proxy_mode()
    return () if mode is None else mode.tracer.graph.nodes


def numbers_of(model: nn.Module) -> Numbers:
    """Return the attributes of a model's modules that are numbers, or lists or dictionaries of numbers."""
    return {
        (path, name): copy.deepcopy(value)
        for path, module in model.named_modules() for name, value in vars(module).items()
        if name != "training" and _is_of_numbers(value)
    }  # fmt: skip


def _is_of_numbers(value: object) -> bool:
    if type(value) in (list, dict):
        leaves = pytree.tree_leaves(value)
        return bool(leaves) and all(type(item) in _NUMBERS for item in leaves)
    return type(value) in _NUMBERS


def set_numbers(model: nn.Module, numbers: Numbers) -> None:
    """Set attributes of modules."""
    for (path, name), value in numbers.items():
        setattr(model.get_submodule(path), name, copy.deepcopy(value))


def random_states() -> dict[str, str]:
    """Return module of Python → the state of its random numbers."""
    states = {"random": repr(random.getstate())}
    if "numpy" in sys.modules:
        kind, keys, *fields = sys.modules["numpy"].random.get_state()
        states["numpy.random"] = repr((kind, keys.tobytes(), *fields))
    return states


@contextlib.contextmanager
def where_it_draws(watch: CaptureWatch) -> Iterator[None]:
    """Find the line of the user's code that draws random numbers of Python, and refuse it. Slow."""
    foreign: dict[str, bool] = {}
    last: tuple[FrameType, int] | None = None
    before = random_states()

    def look() -> None:
        """Refuse the previous line if it changed the state of the random numbers."""
        now = random_states()
        changed = next((name for name, state in now.items() if before.get(name, state) != state), None)
        before.update(now)
        if changed is not None and last is not None and watch.refusal is None:
            watch.refuse(
                Message(
                    "capture.decided_once",
                    "{path}:{line}: module {module} draws random numbers of {words}: a captured graph would have "
                    "the same ones in each step",
                    hint="Draw them with torch, without a branch on their values. A model that only calls its children "
                    "one after another, such as nn.Sequential, is planned by its children instead, which run as "
                    "they are.",
                ),
                last[0],
                words=changed,
            )
            assert watch.refusal is not None
            watch.refusal.values["line"] = str(last[1])

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal last
        file = frame.f_code.co_filename
        if file not in foreign:
            foreign[file] = is_foreign(file)
        if not foreign[file]:
            return None
        if event in ("line", "return"):
            look()
            last = (frame, frame.f_lineno)
        return trace

    previous = sys.gettrace()
    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(previous)
        look()
