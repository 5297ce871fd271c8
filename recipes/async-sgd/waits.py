"""Waits of a known length, to measure this recipe with: workers that sleep do not compete for cores."""

import random
import time
from collections.abc import Callable


def planted(seconds: float, jitter: float, seed: int) -> Callable[[], None]:
    """Return a function that sleeps about so long; `jitter` is the relative standard deviation (gamma distribution)."""
    draw = random.Random(seed)

    def wait() -> None:
        if seconds > 0:
            time.sleep(draw.gammavariate(jitter**-2, seconds * jitter**2) if jitter > 0 else seconds)

    return wait
