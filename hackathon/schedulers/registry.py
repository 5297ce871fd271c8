"""Schedulers by name: built-ins, imported when first needed, and plug-ins."""

import importlib
from typing import cast

from hackathon.schedulers.base import Scheduler
from hackathon.text.errors import RequestError

ENTRY_POINTS = "hackathon.schedulers"
BUILT_IN = {
    "local": "hackathon.schedulers.local.scheduler:Local",
    "pbs": "hackathon.schedulers.pbs:Pbs",
    "slurm": "hackathon.schedulers.slurm:Slurm",
}
"""Name → `module:class`. A plug-in of the same name does not replace a built-in."""


def load(name: str) -> Scheduler:
    """Return the scheduler of that name; raises RequestError for an unknown name or a plug-in that does not load."""
    target = BUILT_IN.get(name) or _plug_ins().get(name)
    if target is None:
        near = _near(name, names())
        if near:
            raise RequestError("schedulers.unknown_near", name=name, near=", ".join(near), known=", ".join(names()))
        raise RequestError("schedulers.unknown", name=name, known=", ".join(names()))
    try:
        return _build(target)
    except Exception as error:  # a plug-in is foreign code: whatever it raises is reported, not fatal
        raise RequestError("schedulers.plug_in_broken", name=name, target=target, reason=_words(error)) from error


def names() -> list[str]:
    """Return the names of all schedulers, plug-ins too; one that does not load is among them (see `problems`)."""
    return sorted({*BUILT_IN, *_plug_ins()})


def problems() -> dict[str, str]:
    """Return name → reason of every scheduler that can not be loaded."""
    found = {}
    for name, target in {**_plug_ins(), **BUILT_IN}.items():
        try:
            _build(target)
        except Exception as error:
            found[name] = _words(error)
    return found


def _build(target: str) -> Scheduler:
    module, _, attribute = target.partition(":")
    made = getattr(importlib.import_module(module), attribute)()
    missing = [word for word in _PROTOCOL if not hasattr(made, word)]
    if missing:
        raise TypeError(f"{target} has no {', '.join(missing)}")
    return cast(Scheduler, made)


_PROTOCOL = ("name", *(word for word in vars(Scheduler) if not word.startswith("_")))


def _plug_ins() -> dict[str, str]:
    """Return name → `module:class` of installed plug-ins; a broken metadata folder gives none."""
    import importlib.metadata  # slow to import: only for names that are not built in

    try:
        entries = importlib.metadata.entry_points(group=ENTRY_POINTS)
        return {entry.name: entry.value for entry in entries}
    except Exception:
        return {}


def _near(name: str, known: list[str]) -> list[str]:
    import difflib

    return difflib.get_close_matches(name, known, 3)


def _words(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
