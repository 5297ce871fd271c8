"""Predict where a learning curve ends: pure functions on curves.

A curve is a sequence of (x, value) with growing x: seconds since the start, or the number of the value. The prediction
is a t distribution of the value at the horizon, on a scale where less is better: the logarithm of an error if values
are errors (accuracies between 0 and 1 become 1 − accuracy), else the value itself with its sign.

There are two methods (measured on real curves, `tests/bench/bench_tune.py`): the ratio final ÷ current of all finished
trials at the same x (from LEAST_FINISHED on), and families of curves fitted to the trial's own values (power law,
exponential, logarithm; Domhan et al. 2015). Before there are enough ratios the families decide alone, with a widened
spread, because raw intervals are too narrow. After that both must agree: ratios of long trials do not describe one that
learns slowly and ends best, which was nearly every wrong choice on real curves.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

Curve = Sequence[tuple[float, float]]

LEAST_FINISHED = 8
"""Number of finished trials from which their ratios are used."""
LEAST_VALUES = 4
"""Fewest values of a curve for fitting families."""
MOST_VALUES = 64
"""Values that families are fitted to at most."""
WIDENED = 2.5
"""Factor for the spread of fitted families: 90 % intervals covered two thirds on real curves."""
SMALLEST = 1e-4
"""An error that counts as zero."""
_POWERS = (0.15, 0.3, 0.5, 0.75, 1.0, 1.5)
_RATES = (0.5, 1.0, 2.0, 4.0, 8.0)


@dataclass(frozen=True)
class Scale:
    """Conversion of values to numbers of which less is better."""

    maximise: bool
    errors: bool
    """Whether values become logarithms of errors; else they stay, with their sign."""

    @classmethod
    def of(cls, values: Iterable[float], maximise: bool) -> "Scale":
        """Return the scale that fits all these values."""
        if maximise:
            return cls(True, all(0.0 <= value <= 1.0 for value in values))
        return cls(False, all(value >= 0.0 for value in values))

    def cost(self, value: float) -> float:
        """Return a value on this scale."""
        if not self.errors:
            return -value if self.maximise else value
        return math.log(max(1.0 - value if self.maximise else value, SMALLEST))


@dataclass(frozen=True)
class ExpectedEnd:
    """The expected value of a trial at the horizon, on a scale: mean and spread of a t distribution."""

    mean: float
    spread: float
    freedom: float
    """Degrees of freedom."""

    def below(self, cost: float) -> float:
        """Return the probability of a cost below this one."""
        if self.spread <= 0.0:
            return 1.0 if self.mean < cost else 0.0
        return student(self.freedom, (cost - self.mean) / self.spread)


def value_at(curve: Curve, x: float) -> float | None:
    """Return the last value at or before x; None before the first one."""
    latest = None
    for at, value in curve:
        if at > x:
            break
        latest = value
    return latest


def chance(
    curve: Curve, finished: Sequence[Curve], horizon: float, scale: Scale, target: float, enough: float = 1.0
) -> float | None:
    """Return the probability that a curve beats the target value at the horizon; None if unknown.

    `finished`: curves that reached the horizon. Of two predictions the more optimistic one counts; if the first one
    reaches `enough`, the second is not computed.
    """
    if not curve:
        return None
    cost = scale.cost(target)
    if curve[-1][0] >= horizon:
        reached = value_at(curve, horizon)
        return None if reached is None else float(scale.cost(reached) < cost)
    ratios = by_ratios(curve, finished, horizon, scale)
    if ratios is not None and (first := ratios.below(cost)) >= enough:
        return first
    families = by_families(curve, horizon, scale, WIDENED if ratios is None else 1.0)
    chances = [end.below(cost) for end in (ratios, families) if end is not None]
    return max(chances, default=None)


def by_ratios(curve: Curve, finished: Sequence[Curve], horizon: float, scale: Scale) -> ExpectedEnd | None:
    """Return a curve's expected end if it continues as the finished ones did from the same x.

    The differences of costs (on the scale of errors: logarithms of ratios) are normal with unknown mean and variance,
    so that the next one has a t distribution.
    """
    if len(finished) < LEAST_FINISHED:
        return None
    x, now = curve[-1][0], scale.cost(curve[-1][1])
    steps = []
    for other in finished:
        then, final = value_at(other, x), value_at(other, horizon)
        if then is not None and final is not None:
            steps.append(scale.cost(final) - scale.cost(then))
    count = len(steps)
    if count < LEAST_FINISHED:
        return None
    mean = fmean(steps)
    variance = math.fsum((step - mean) ** 2 for step in steps) / (count - 1)
    return ExpectedEnd(now + mean, math.sqrt(variance * (1 + 1 / count)), count - 1)


def by_families(curve: Curve, horizon: float, scale: Scale, widened: float = WIDENED) -> ExpectedEnd | None:
    """Return the expected end by families of curves fitted to the values, with a widened spread.

    Each family is a + b·g(x) with b such that the cost falls, and one parameter in g that is searched; they are
    weighted by their residual sum of squares. None for fewer values than LEAST_VALUES.
    """
    if len(curve) < LEAST_VALUES:
        return None
    curve = _thinned(curve)
    first = curve[0][0]
    xs = [max(x, first, 1e-9) / horizon for x, _ in curve]
    costs = [scale.cost(value) for _, value in curve]
    shapes = [[x**-power for x in [*xs, 1.0]] for power in _POWERS]
    shapes += [[math.exp(-rate * x) for x in [*xs, 1.0]] for rate in _RATES]
    shapes.append([-math.log(x) for x in [*xs, 1.0]])
    fits = [fit for shape in shapes if (fit := _fitted(shape, costs)) is not None]
    noise = _noise(costs)
    fits.append((costs[-1], math.fsum((cost - fmean(costs)) ** 2 for cost in costs)))  # the constant curve
    floor = max(min(left for _, left in fits), noise**2, 1e-12)
    weights = [(max(left, floor) / floor) ** (-len(costs) / 2) for _, left in fits]
    total = math.fsum(weights)
    mean = math.fsum(weight * end for weight, (end, _) in zip(weights, fits, strict=True)) / total
    spread = math.sqrt(
        math.fsum(weight * (end - mean) ** 2 for weight, (end, _) in zip(weights, fits, strict=True)) / total + noise**2
    )
    # the remaining change may be as large as that in the second half so far
    way = abs(costs[-1] - costs[len(costs) // 2]) * (1.0 - xs[-1])
    return ExpectedEnd(mean, widened * math.hypot(spread, 0.5 * way), max(1.0, len(costs) - 3.0))


def _fitted(shape: Sequence[float], costs: Sequence[float]) -> tuple[float, float] | None:
    """Return (cost at the horizon, sum of squares) of a + b·shape; its last entry is the horizon's. None for b < 0."""
    *at, end = shape
    middle, mean = fmean(at), fmean(costs)
    square = math.fsum((x - middle) ** 2 for x in at)
    if square <= 0.0:
        return None
    slope = math.fsum((x - middle) * (y - mean) for x, y in zip(at, costs, strict=True)) / square
    if slope < 0.0:
        return None
    left = math.fsum((y - mean - slope * (x - middle)) ** 2 for x, y in zip(at, costs, strict=True))
    return mean + slope * (end - middle), left


def _thinned(curve: Curve) -> Curve:
    """Return at most MOST_VALUES points: means of neighbouring values, because losses of single steps are noisy."""
    block = -(-len(curve) // MOST_VALUES)
    if block <= 1:
        return curve
    parts = [curve[start : start + block] for start in range(0, len(curve) - block + 1, block)]
    return [(fmean(x for x, _ in part), fmean(value for _, value in part)) for part in parts]


def _noise(costs: Sequence[float]) -> float:
    """Return the standard deviation of single values, from second differences of the second half (at least three)."""
    late = costs[-max(4, len(costs) // 2) :]
    seconds = [a - 2 * b + c for a, b, c in zip(late, late[1:], late[2:], strict=False)]
    return math.sqrt(fmean(second**2 for second in seconds) / 6.0) if seconds else 0.0


def student(freedom: float, t: float) -> float:
    """Return the cumulative probability of Student's t distribution, by the regularised incomplete beta function."""
    if math.isinf(t):
        return 1.0 if t > 0 else 0.0
    if t * t < freedom:  # near the middle the other form of the same integral is more accurate
        half = 0.5 * _beta(0.5, freedom / 2.0, t * t / (freedom + t * t))
        return 0.5 + half if t > 0 else 0.5 - half
    tail = 0.5 * _beta(freedom / 2.0, 0.5, freedom / (freedom + t * t))
    return 1.0 - tail if t > 0 else tail


def _beta(a: float, b: float, x: float) -> float:
    """Return I_x(a, b) by its continued fraction (Press et al., Numerical Recipes, 6.4)."""
    if x <= 0.0 or x >= 1.0:
        return 0.0 if x <= 0.0 else 1.0
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x))
    if x >= (a + 1.0) / (a + b + 2.0):
        return 1.0 - front * _fraction(b, a, 1.0 - x) / b
    return front * _fraction(a, b, x) / a


def _fraction(a: float, b: float, x: float) -> float:
    tiny = 1e-300
    c, d = 1.0, 1.0 / (1.0 - (a + b) * x / (a + 1.0) or tiny)
    fraction = d
    for m in range(1, 300):
        for numerator in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1.0 / (1.0 + numerator * d or tiny)
            c = 1.0 + numerator / c or tiny
            fraction *= d * c
        if abs(d * c - 1.0) < 1e-14:
            break
    return fraction
