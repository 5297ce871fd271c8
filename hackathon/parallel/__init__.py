"""Partitions a model too big for one device: the plan, and the runtime of training programs that follow it."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hackathon.parallel.description.planning import plan_here
    from hackathon.parallel.live.api import AutoParallel

__all__ = ["AutoParallel", "plan_here"]
_HOMES = {"AutoParallel": "live.api", "plan_here": "description.planning"}


def __getattr__(name: str) -> Any:
    """Load the runtime, and torch with it, when a training program asks for it."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
