"""Average over candidates: their probabilities, and the resulting distribution of the cost.

The noise of one row is unknown too: it is averaged over a grid of values, with most weight near 1 %. So rows without
any noise determine their shape, and two rows determine none.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hackathon.prediction.shapes import ShapeFit

NOISES = tuple(0.00015 * 2**step for step in range(10))
"""Standard deviations of a row's relative error that are averaged over."""
USUAL, SPREAD = 0.014, 0.9
"""The most probable noise, and the width of its logarithm's prior: normal above, exponential below.

It includes the error of a shape: `tests/bench/bench_predict.py` counts how often intervals contain the value.
"""
RANGE = 0.1
"""Width of a coefficient's prior relative to the cost: the penalty of one more parameter in likelihood."""
LEAST = 1e-5
"""Share of the most probable component below which one is omitted."""
NINETY = (0.05, 0.95)


@dataclass(frozen=True)
class Component:
    """One normal distribution of the logarithm of the cost."""

    weight: float
    log_cost: float
    deviation: float
    name: str


def mixture(candidates: Iterable[ShapeFit], least_noise: float = 0.0) -> list[Component]:
    """Return the joint distribution of candidates; the weights add up to one.

    The likelihood of a candidate is that of normal relative errors, its coefficients integrated out over RANGE.
    `least_noise`: a row's noise, at least, by repeats.
    """
    noises = [noise for noise in NOISES if noise >= least_noise] or [max(NOISES[-1], least_noise)]
    before = [_before(noise) for noise in noises]
    components: list[Component] = []
    for candidate in candidates:
        free = candidate.rows - candidate.parameters
        fixed = math.log(candidate.prior) - candidate.parameters * math.log(RANGE)
        for noise, prior in zip(noises, before, strict=True):
            likelihood = fixed + prior - free * math.log(noise) - candidate.residual / (2 * noise * noise)
            deviation = noise * math.sqrt(1 + candidate.leverage)
            components.append(Component(likelihood, candidate.log_cost, deviation, candidate.name))
    top = max(component.weight for component in components)
    return scaled(
        [
            Component(math.exp(component.weight - top), component.log_cost, component.deviation, component.name)
            for component in components
        ]
    )


def _before(noise: float) -> float:
    """Return the logarithm of a noise's prior weight."""
    distance = math.log(noise / USUAL) / SPREAD
    return -abs(distance) if distance < 0 else -0.5 * distance * distance


def scaled(components: Sequence[Component], total: float = 1.0) -> list[Component]:
    """Return components with weights that add up to `total`, without those of zero weight."""
    top = max(component.weight for component in components)
    remaining = [component for component in components if component.weight > LEAST * top]
    mass = math.fsum(component.weight for component in remaining)
    return [
        Component(total * component.weight / mass, component.log_cost, component.deviation, component.name)
        for component in remaining
    ]


def quantile(components: Sequence[Component], share: float) -> float:
    """Return the logarithm of the cost below which a share of the distribution is."""
    low = min(component.log_cost - 8 * component.deviation for component in components)
    high = max(component.log_cost + 8 * component.deviation for component in components)
    parts = [
        (component.weight * 0.5, component.log_cost, component.deviation * math.sqrt(2)) for component in components
    ]
    for _ in range(40):
        middle = (low + high) / 2
        below = math.fsum([half * math.erfc((centre - middle) / width) for half, centre, width in parts])
        low, high = (middle, high) if below < share else (low, middle)
    return (low + high) / 2


def weights(components: Iterable[Component]) -> dict[str, float]:
    """Return name → weight, the largest first."""
    totals: dict[str, float] = {}
    for component in components:
        totals[component.name] = totals.get(component.name, 0.0) + component.weight
    return dict(sorted(totals.items(), key=lambda item: (-item[1], item[0])))
