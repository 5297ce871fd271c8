"""Why a model cannot be planned: the module, the file and the line, with torch's message shortened."""

import sysconfig
from collections.abc import Iterator
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

import torch
from torch import nn

from hackathon.text.messages import Message

_PACKAGE = Path(__file__).resolve().parents[2]
_STANDARD = tuple(str(Path(sysconfig.get_path(name)).resolve()) for name in ("stdlib", "platstdlib"))
_SITE = ("site-packages", "dist-packages")
_TORCH = str(Path(torch.__file__).resolve().parent)
_LONGEST = 160


class CaptureRefusal(Exception):
    """A reason for the user: the id of a message and its values."""

    def __init__(self, identifier: str, **values: str) -> None:
        super().__init__(identifier)
        self.id, self.values = identifier, values

    @property
    def reason(self) -> dict[str, str]:
        """Module, file, line and words, of code that cannot be captured or of a hook."""
        words = self.values.get("words") or f"hook {self.values.get('hook', '?')}"
        return {name: self.values.get(name, "?") for name in ("module", "path", "line")} | {"words": words}


def shortened(error: BaseException) -> str:
    """Return an error's type and the first line of its message."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    words = lines[0] if lines else ""
    words = words if len(words) <= _LONGEST else f"{words[: _LONGEST - 1]}…"
    return f"{type(error).__name__}: {words}" if words else type(error).__name__


def frame_of(error: BaseException) -> tuple[str, int] | None:
    """Return file and line of the innermost code outside Python, torch and the toolkit."""
    position = None
    for frame, line in _frames(error):
        if is_foreign(frame.f_code.co_filename):
            position = frame.f_code.co_filename, line
    return position


def module_of(error: BaseException, model: nn.Module, root: str) -> str:
    """Return the dotted path of the innermost module whose `forward` raised an error, followed by its class.

    `root`: the path of `model`, if it is part of another one.
    """
    names = {id(module): name for name, module in model.named_modules()}
    owner = model
    for frame, _ in _frames(error):
        inside = frame.f_locals.get("self")
        if not isinstance(inside, nn.Module):
            continue
        copied = getattr(inside, "model", None)
        if type(inside).__module__.startswith("hackathon.") and isinstance(copied, nn.Module):
            names |= {id(module): name for name, module in copied.named_modules()}  # the wrapper of the captured model
        if id(inside) in names and is_foreign(frame.f_code.co_filename):
            owner = inside
    return titled(".".join(part for part in (root, names[id(owner)]) if part), owner)


def refusal_of(error: BaseException, model: nn.Module, file: str = "?", root: str = "") -> CaptureRefusal:
    """Return why a model cannot be captured: the refusal that an error is, or its location and message.

    `file`: used if no line of the user's code is responsible. `root`: the path of `model`, if it is part of another
    one.
    """
    if isinstance(error, CaptureRefusal):
        return error
    path, line = frame_of(error) or (file, 0)
    return CaptureRefusal(
        Message(
            "capture.not_captured",
            "{path}:{line}: module {module} cannot be captured: {words}",
            hint="Branches must not depend on values of tensors; torch.where or torch.cond can take their place. A "
            "model that only calls its children one after another, such as nn.Sequential, is planned by its "
            "children instead.",
        ),
        module=module_of(error, model, root),
        path=path,
        line=str(line),
        words=shortened(error),
    )


def refuse_hooks(model: nn.Module) -> None:
    """Refuse a model with hooks, as the runtime does: a captured graph does not call them.

    Hugging Face's gradient checkpointing, which uses a hook, is refused by its own name.
    """
    for name, module in model.named_modules():
        if getattr(module, "gradient_checkpointing", None) is True and hasattr(module, "_gradient_checkpointing_func"):
            code = type(module).forward.__code__
            raise CaptureRefusal(
                Message(
                    "capture.gradient_checkpointing",
                    "{path}:{line}: module {module} has gradient checkpointing turned on "
                    "(gradient_checkpointing_enable())",
                    hint="Leave it off and let stages recompute instead: hackathon plan --recompute auto.",
                ),
                module=titled(name, module),
                path=code.co_filename,
                line=str(code.co_firstlineno),
                words="gradient_checkpointing_enable()",
            )
    kinds = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
    for name, module in model.named_modules():
        for kind in kinds:
            for hook in getattr(module, kind, {}).values():
                function = _function(hook)
                code = getattr(function, "__code__", None)
                raise CaptureRefusal(
                    Message(
                        "capture.hook",
                        "{path}:{line}: module {module} has the hook {hook}, which would not run in a captured model",
                        hint="Remove the hook, or do its work in `forward`. Children of a model that only calls them "
                        "one after another, such as nn.Sequential, may have hooks.",
                    ),
                    module=titled(name, module),
                    hook=getattr(function, "__qualname__", repr(function)),
                    path=getattr(code, "co_filename", "?"),
                    line=str(getattr(code, "co_firstlineno", 0)),
                )


def is_foreign(file: str) -> bool:
    """Return whether code is outside Python, torch and the toolkit."""
    if not file or file.startswith("<"):
        return False
    path = str(Path(file).resolve())
    if path.startswith((_TORCH + "/", str(_PACKAGE) + "/")):
        return False
    return any(folder in path for folder in _SITE) or not path.startswith(tuple(f"{folder}/" for folder in _STANDARD))


def _function(hook: Any) -> Any:
    """Return the function of a bound method, a partial or a callable object."""
    while hasattr(hook, "func"):
        hook = hook.func
    hook = getattr(hook, "__func__", hook)
    return hook if hasattr(hook, "__code__") else vars(type(hook)).get("__call__", hook)


def titled(name: str, module: nn.Module) -> str:
    """Return the path of a module followed by its class."""
    return f"{name or 'model'} ({type(module).__name__})"


def _frames(error: BaseException) -> Iterator[tuple[FrameType, int]]:
    """Yield (frame, line) from the outside to the inside, of an error and of its causes."""
    chain: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None and cause not in chain:
        chain.append(cause)
        cause = cause.__cause__ or cause.__context__
    for failure in chain:  # the first cause comes last: it is the innermost
        trace: TracebackType | None = failure.__traceback__
        while trace is not None:
            yield trace.tb_frame, trace.tb_lineno
            trace = trace.tb_next
