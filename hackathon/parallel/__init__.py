"""Partitions a model too big for one device: the plan, and the runtime of training programs that follow it."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hackathon.parallel.live.api import AutoParallel

__all__ = ["AutoParallel"]


def __getattr__(name: str) -> Any:
    """Load the runtime, and torch with it, when a training program asks for it."""
    if name != "AutoParallel":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from hackathon.parallel.live.api import AutoParallel

    return AutoParallel
