"""How long tests wait: limits are written for a quiet machine, and only end what hangs."""

import time
from collections.abc import Callable
from typing import Any

STRETCH = 4
"""A limit is taken so many times: on a machine that others load, too, a training takes three times as long."""
PATIENCE = 60.0
"""Seconds that a condition may take on a quiet machine."""


def until(look: Callable[[], Any], what: str = "", seconds: float = PATIENCE) -> Any:
    """Return the first true answer; AssertionError when none comes in `STRETCH` times these seconds.

    A look that costs something is taken less often, and the longer the wait the less often: it is what others run on.
    """
    began = time.monotonic()
    while True:
        looked = time.monotonic()
        if found := look():
            return found
        now = time.monotonic()
        assert now < began + STRETCH * seconds, f"waited {now - began:.0f} s for {what or look}"
        cost = now - looked
        time.sleep(0.03 if cost < 0.01 else max(0.05, 2 * cost, min(1.0, (now - began) / 5)))
