"""Fit Amdahl's and Gustafson's laws to a study: the part of a program that more processes do not speed up.

Both are linear in the serial fraction, so that least squares has a closed form and needs no numerical library.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

LAWS = {
    "amdahl": ("S(n) = 1 / (f + (1 - f) / n)", "Amdahl 1967; Karp & Flatt 1990"),
    "gustafson": ("S(n) = n - f (n - 1)", "Gustafson 1988"),
}
CANDIDATES = {"weak": ("gustafson", "amdahl")}
"""Laws tried by mode; the one nearer to the points is chosen, and only Amdahl's for other modes.

In weak scaling the work grows with n (Gustafson), but a cost that grows with n too, such as all-reduce over more nodes,
looks like Amdahl's.
"""
LEAST_POINTS = 3
"""The base and two others: one parameter and at least one degree of freedom."""
TOLERATED = 0.03
"""Root mean square distance in efficiency up to which a law describes the points, unless noise explains more."""


@dataclass(frozen=True)
class Measured:
    """One successful point: its size relative to the base, its speed-up, and the accuracy of its value."""

    processes: int
    n: float
    """Processes ÷ the base's processes."""
    speedup: float
    repeats: int = 1
    stdev: float | None = None
    """Standard deviation over repeats ÷ value, None without repeats."""


@dataclass(frozen=True)
class _Fitted:
    law: str
    fraction: float
    error: float | None
    distance: float


def karp_flatt(n: float, speedup: float) -> float | None:
    """Return the experimentally determined serial fraction e = (1/S - 1/n) / (1 - 1/n), None at the base.

    Source: Karp and Flatt, "Measuring parallel processor performance", CACM 33(5), 1990, equation 2. It grows with n if
    communication, not serial work, is the limit; it is negative above linear speed-up.
    """
    if n <= 1 or speedup <= 0:
        return None
    return (1 / speedup - 1 / n) / (1 - 1 / n)


def efficiency(law: str, fraction: float, n: float) -> float:
    """Return the parallel efficiency by `amdahl` or `gustafson` at n times the base's size.

    Sources: Amdahl, AFIPS 1967; Gustafson, "Reevaluating Amdahl's law", CACM 31(5), 1988.
    """
    if law == "gustafson":
        return 1 - fraction * (1 - 1 / n)
    return 1 / (1 + fraction * (n - 1))


def fit(mode: str, points: Sequence[Measured]) -> dict[str, Any] | None:
    """Return the fitted serial fraction. `hackathon.prediction`, not a law, predicts larger sizes.

    The base (n = 1) must be among the points; fewer than three points at or above it yield None. `serial_fraction` is
    relative to the base's run and None when the law does not describe the points: speed-up above linear by more than
    twice the error, below none, or a root mean square `distance` in efficiency that is neither small nor noise.
    `standard_error` needs a noise estimate from repeats at one point at least. The error is the larger of those from
    the repeats' noise and from the misfit (one standard error).
    """
    points = sorted((point for point in points if point.n >= 1), key=lambda point: point.n)
    base = next((point for point in points if point.n == 1), None)
    larger = [point for point in points if point.n > 1]
    if base is None or len(larger) + 1 < LEAST_POINTS:
        return None
    noise = _noise([base, *larger])
    best = min(
        (_least_squares(law, base, larger, noise) for law in CANDIDATES.get(mode, ("amdahl",))),
        key=lambda fitted: fitted.distance,
    )
    formula, source = LAWS[best.law]
    likely = -2 * (best.error or 0.0) <= best.fraction <= 1 and best.distance <= max(TOLERATED, 2 * (noise or 0.0))
    fraction = max(best.fraction, 0.0) if likely else None
    return {
        "model": best.law,
        "formula": formula,
        "source": source,
        "serial_fraction": fraction,
        "standard_error": best.error,
        "distance": best.distance,
        "karp_flatt": [
            {"processes": point.processes, "serial_fraction": karp_flatt(point.n, point.speedup)} for point in larger
        ],
    }


def _noise(points: Sequence[Measured]) -> float | None:
    """Return the relative standard deviation of one run, pooled over the points with repeats; None without any."""
    repeated = [(point.repeats - 1, point.stdev) for point in points if point.stdev is not None and point.repeats > 1]
    if not repeated:
        return None
    return math.sqrt(sum(freedom * stdev**2 for freedom, stdev in repeated) / sum(freedom for freedom, _ in repeated))


def _least_squares(law: str, base: Measured, larger: Sequence[Measured], noise: float | None) -> _Fitted:
    """Return the law's fraction f from y = f · u with u = 1 - 1/n, its standard error and its distance."""
    shares = [1 - 1 / point.n for point in larger]
    if law == "gustafson":
        heights = [point.speedup / point.n for point in larger]
        lost = [1 - height for height in heights]
    else:
        heights = [1 / point.speedup for point in larger]
        lost = [height - 1 / point.n for height, point in zip(heights, larger, strict=True)]
    weight = sum(share * share for share in shares)
    fraction = sum(share * y for share, y in zip(shares, lost, strict=True)) / weight
    error = None
    if noise is not None:
        # A point's own noise moves its height in proportion; the base's noise moves all heights together.
        pulls = [share * height / weight for share, height in zip(shares, heights, strict=True)]
        own = sum(pull**2 / point.repeats for pull, point in zip(pulls, larger, strict=True))
        repeats = noise**2 * (own + sum(pulls) ** 2 / base.repeats)
        misfit = sum((y - fraction * share) ** 2 for y, share in zip(lost, shares, strict=True))
        error = math.sqrt(max(repeats, misfit / (len(larger) - 1) / weight))
    bounded = min(max(fraction, 0.0), 1.0)
    distances = [point.speedup / point.n - efficiency(law, bounded, point.n) for point in larger]
    return _Fitted(law, fraction, error, math.sqrt(sum(distance * distance for distance in distances) / len(distances)))
