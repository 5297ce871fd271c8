"""The average over candidates: how likely each is, and the distribution of the cost that they give together.

The noise of one row is not known either: it is averaged over a grid of values, likely ones near 1 %. So rows without
any noise pick their shape, and two rows pick none.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hackathon.prediction.shapes import ShapeFit

NOISES = tuple(0.00015 * 2**step for step in range(10))
"""Standard deviations of a row's relative error that are averaged over."""
USUAL, SPREAD = 0.014, 0.9
"""The likeliest noise, and the width of the distribution of its logarithm before the rows are looked at: normal above,
exponential below. It covers what a shape misses, too: `tests/bench/bench_predict.py` counts how often they hold."""
RANGE = 0.1
"""Width over which a coefficient may lie, relative to the cost: what one more parameter costs in likelihood."""
LEAST = 1e-5
"""Share of the likeliest component below which one is left out."""
NINETY = (0.05, 0.95)


@dataclass(frozen=True)
class Component:
    """One normal distribution of the logarithm of the cost."""

    weight: float
    log_cost: float
    deviation: float
    name: str


def mixture(candidates: Iterable[ShapeFit], least_noise: float = 0.0) -> list[Component]:
    """Return the distribution that candidates give together; the weights add up to one.

    The likelihood of a candidate is that of normal relative errors, its coefficients integrated out over RANGE.
    `least_noise`: what repeats say that a row has at least.
    """
    noises = [noise for noise in NOISES if noise >= least_noise] or [max(NOISES[-1], least_noise)]
    before = [_before(noise) for noise in noises]
    found: list[Component] = []
    for each in candidates:
        free = each.rows - each.parameters
        fixed = math.log(each.prior) - each.parameters * math.log(RANGE)
        for noise, prior in zip(noises, before, strict=True):
            likelihood = fixed + prior - free * math.log(noise) - each.residual / (2 * noise * noise)
            deviation = noise * math.sqrt(1 + each.leverage)
            found.append(Component(likelihood, each.log_cost, deviation, each.name))
    top = max(each.weight for each in found)
    return scaled([Component(math.exp(each.weight - top), each.log_cost, each.deviation, each.name) for each in found])


def _before(noise: float) -> float:
    """Return the logarithm of the weight of a noise before the rows are looked at."""
    distance = math.log(noise / USUAL) / SPREAD
    return -abs(distance) if distance < 0 else -0.5 * distance * distance


def scaled(components: Sequence[Component], total: float = 1.0) -> list[Component]:
    """Return components with weights that add up to `total`, without those that weigh nothing."""
    top = max(each.weight for each in components)
    kept = [each for each in components if each.weight > LEAST * top]
    whole = math.fsum(each.weight for each in kept)
    return [Component(total * each.weight / whole, each.log_cost, each.deviation, each.name) for each in kept]


def quantile(components: Sequence[Component], share: float) -> float:
    """Return the logarithm of the cost below which a share of the distribution lies."""
    low = min(each.log_cost - 8 * each.deviation for each in components)
    high = max(each.log_cost + 8 * each.deviation for each in components)
    parts = [(each.weight * 0.5, each.log_cost, each.deviation * math.sqrt(2)) for each in components]
    for _ in range(40):
        middle = (low + high) / 2
        below = math.fsum([half * math.erfc((centre - middle) / width) for half, centre, width in parts])
        low, high = (middle, high) if below < share else (low, middle)
    return (low + high) / 2


def weights(components: Iterable[Component]) -> dict[str, float]:
    """Return name → weight, the largest first."""
    found: dict[str, float] = {}
    for each in components:
        found[each.name] = found.get(each.name, 0.0) + each.weight
    return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))
