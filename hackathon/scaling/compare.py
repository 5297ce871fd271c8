"""Compare a new result with an old one: the same within the noise of the repeats, faster, slower, less accurate?

The noise is that of the repeats. With two or more on both sides: Welch's 95 % interval of the difference of the means.
With one on one side: whether it is in the 95 % prediction interval of the other side's next run. With one each the
noise is unknown, and a fixed tolerance replaces it, as it does for accuracies that repeats compute identically. Pure.
"""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean, variance
from typing import Any

from hackathon.jobs.measured import DEFAULT_METRIC
from hackathon.logs.final import throughput
from hackathon.profiling.gains import GainEvidence
from hackathon.profiling.outcomes import AdviceOutcome, Change, MeasuredGain, outcomes
from hackathon.profiling.points import point_json
from hackathon.profiling.shares import RunShares
from hackathon.runs.record import RecordedCheck
from hackathon.scaling.table import SUCCEEDED, lower_is_better

SAME, FASTER, SLOWER, DIFFERENT, FAILED, UNKNOWN = "same", "faster", "slower", "different", "failed", "unknown"
VERDICTS = (FAILED, DIFFERENT, SLOWER, UNKNOWN, FASTER, SAME)
"""The worst first: the verdict over several points is the worst one."""
GOOD = frozenset({SAME, FASTER})
TOLERANCE = 0.05
"""Relative difference in speed of single runs that is tolerated: shared machines are rarely more stable."""
QUALITY_TOLERANCE = 0.01
"""The same for accuracy or loss."""
CONFIDENCE = 0.95
_QUALITY = ("accuracy", "val_accuracy", "perplexity", "val_loss", "loss")


@dataclass(frozen=True)
class Result:
    """The data of one run, or of its crate, for a comparison."""

    id: str
    processes: int
    state: str
    metric: str
    """The metric that measures it."""
    unit: str = ""
    metrics: Mapping[str, float] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    """Its final texts: the digest of its weights."""
    check: RecordedCheck | None = None
    asked: str = ""
    """The metric in its request, if that differs from `metric`."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """What its study varies besides the process count."""
    shares: RunShares | None = None
    """The split of its steps' time; None when not recorded."""
    evidence: GainEvidence = field(default_factory=GainEvidence)
    """Facts that limit the gain of advice on it."""


@dataclass(frozen=True)
class Difference:
    """One number of both sides."""

    name: str
    unit: str
    old: tuple[float, ...]
    new: tuple[float, ...]
    change: float | None
    """New mean ÷ old mean − 1; None when the old mean is 0."""
    low: float | None
    """Lower end of the 95 % interval of the change, or of the tolerance around it."""
    high: float | None
    method: str
    """welch, prediction or tolerance."""
    differs: bool
    """Whether it exceeds the noise."""


@dataclass(frozen=True)
class ComparedPoint:
    """The comparison at one number of processes, with equal settings on both sides."""

    processes: int
    verdict: str
    speed: Difference | None = None
    quality: Difference | None = None
    passed: bool | None = None
    """Whether the new runs pass the check that the old ones passed; None without a check, or when the old ones fail."""
    texts: Mapping[str, bool] = field(default_factory=dict)
    """Name of a text (`weights`) → whether it is the same in all runs of both sides."""
    runs: tuple[int, int] = (0, 0)
    """Successful runs of both sides."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    shares: tuple[Mapping[str, Any] | None, Mapping[str, Any] | None] = (None, None)
    """The split of a step's time on both sides, as in the results JSON for a point."""
    tried: tuple[AdviceOutcome, ...] = ()
    """The outcome of each piece of advice for the old runs."""
    diverged: tuple[str, ...] = ()
    """Accuracies and losses that are numbers in all old runs, and NaN or infinite in a new one."""


Changes = Callable[[Result, Result], Sequence[Change]]
"""(An old result, a new one) → differences between their runs."""


def compare(
    old: Sequence[Result],
    new: Sequence[Result],
    *,
    metric: str = "",
    tolerance: float = TOLERANCE,
    quality_tolerance: float = QUALITY_TOLERANCE,
    changes: Changes | None = None,
) -> list[ComparedPoint]:
    """Return the comparison for each point that both sides have; [] without any.

    A point is a number of processes with the settings that a study varies: runs with other settings are never compared.
    Points are sorted by settings, then by size. `metric` replaces the old side's own: that of its request, else the
    throughput in the runs of both sides. Only successful runs count. With `changes`, a point contains the outcome of
    the old runs' advice.
    """
    metric = metric or _told(old, new)
    sides = [_by_point(side) for side in (old, new)]
    order = list(dict.fromkeys(settings for settings, _ in sides[0]))
    return [
        _with_shares(
            _point(key[1], sides[0][key], sides[1][key], metric, tolerance, quality_tolerance),
            sides[0][key],
            sides[1][key],
            changes,
        )
        for key in sorted(sides[0], key=lambda key: (order.index(key[0]), key[1]))
        if key in sides[1]
    ]


def _with_shares(
    point: ComparedPoint, old: Sequence[Result], new: Sequence[Result], changes: Changes | None
) -> ComparedPoint:
    """Return a point with the split of the time on both sides, and the outcome of the old side's advice."""
    before, after = ([result for result in side if result.state == SUCCEEDED] for side in (old, new))
    tried: tuple[AdviceOutcome, ...] = ()
    if changes is not None and before and after:
        old_shares, new_shares = (
            [result.shares for result in side if result.shares is not None] for side in (before, after)
        )
        differs = changes(before[0], after[0])
        tried = tuple(outcomes(old_shares, new_shares, before[0].evidence, saved(point.speed), differs))
    return replace(point, settings=old[0].settings, shares=(_shares(old), _shares(new)), tried=tried)


def saved(speed: Difference | None) -> MeasuredGain | None:
    """Return the relative reduction of the time per sample on the new side; None when unknown."""
    if speed is None or speed.change is None or speed.low is None or speed.high is None:
        return None

    def gain(change: float) -> float:
        """Return the gain of a `change`: for a rate r, time falls by 1 − 1/r; for a time it is the change itself."""
        return -change if lower_is_better(speed.unit) else 1 - 1 / max(1 + change, 1e-9)

    low, high = sorted((gain(speed.low), gain(speed.high)))
    return MeasuredGain(gain(speed.change), low, high, repeated=speed.method != "tolerance", differs=speed.differs)


def _shares(results: Sequence[Result]) -> Mapping[str, Any] | None:
    return point_json([result.shares for result in results if result.state == SUCCEEDED and result.shares is not None])


def _by_point(results: Sequence[Result]) -> dict[tuple[str, int], list[Result]]:
    """Return the results of each point, points in the order of their first appearance."""
    points: dict[tuple[str, int], list[Result]] = {}
    for result in results:
        points.setdefault((json.dumps(dict(result.settings), sort_keys=True), result.processes), []).append(result)
    return points


def overall(points: Sequence[ComparedPoint]) -> str:
    """Return the worst verdict of all points; `unknown` without one."""
    return min((point.verdict for point in points), key=VERDICTS.index, default=UNKNOWN)


def difference(
    name: str, unit: str, old: Sequence[float], new: Sequence[float], tolerance: float, *, computed: bool = False
) -> Difference:  # fmt: skip
    """Return how two samples of a number differ; each must have at least one finite value.

    `computed`: repeats may compute exactly the same number, such as an accuracy with a fixed seed. Such repeats do not
    show the noise: without scatter, the tolerance is used.
    """
    first, second = fmean(old), fmean(new)
    if len(old) > 1 and len(new) > 1:
        method, half = "welch", _welch(old, new)
    elif max(len(old), len(new)) > 1:
        many = old if len(old) > 1 else new
        method = "prediction"
        half = student(CONFIDENCE, len(many) - 1) * math.sqrt(variance(many) * (1 + 1 / len(many)))
    else:
        method, half = "tolerance", tolerance * abs(first)
    rounding = 1e-12 * abs(first)
    if computed and half <= rounding:
        method, half = "tolerance", tolerance * abs(first)
    apart = second - first
    scale = first if first else None
    bounds = sorted(((apart - half) / first, (apart + half) / first)) if scale else (None, None)
    return Difference(
        name, unit, tuple(old), tuple(new), apart / first if scale else None, bounds[0], bounds[1], method,
        # numbers that are equal except for rounding are equal, even if the repeats do not scatter
        differs=abs(apart) > max(half, rounding),
    )  # fmt: skip


def student(confidence: float, freedom: float) -> float:
    """Return t such that Student's distribution has `confidence` of its mass between -t and t.

    By bisection on the two-sided tail I(f / (f + t²); f/2, 1/2) (Abramowitz & Stegun 26.7.1).
    """
    low, high = 0.0, 2.0
    while _tail(high, freedom) > 1 - confidence:
        high *= 2
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if _tail(middle, freedom) > 1 - confidence else (low, middle)
    return (low + high) / 2


def _tail(t: float, freedom: float) -> float:
    return _beta(freedom / (freedom + t * t), freedom / 2, 0.5)


def _beta(x: float, a: float, b: float) -> float:
    """Return the regularised incomplete beta function by its continued fraction (DLMF 8.17.22), modified Lentz."""
    if x <= 0 or x >= 1:
        return max(0.0, min(1.0, x))
    if x > (a + 1) / (a + b + 2):
        return 1 - _beta(1 - x, b, a)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)) / a
    tiny = 1e-300
    c, d = 1.0, 1 / ((1 - (a + b) * x / (a + 1)) or tiny)
    value = d
    for m in range(1, 300):
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / ((1 + term * d) or tiny)
            c = (1 + term / c) or tiny
            value *= c * d
        if abs(c * d - 1) < 1e-14:
            break
    return front * value


def _welch(old: Sequence[float], new: Sequence[float]) -> float:
    """Return half the 95 % interval of the difference of two means (Welch 1947, Satterthwaite's degrees of freedom)."""
    parts = [variance(sample) / len(sample) for sample in (old, new)]
    total = sum(parts)
    if total <= 0:
        return 0.0
    # each share is at most 1, so that squares of small variances do not vanish
    shares = [part / total for part in parts]
    freedom = 1 / sum(share**2 / (len(sample) - 1) for share, sample in zip(shares, (old, new), strict=True))
    return student(CONFIDENCE, freedom) * math.sqrt(total)


def _point(
    size: int, old: Sequence[Result], new: Sequence[Result], metric: str, tolerance: float, quality_tolerance: float
) -> ComparedPoint:
    before, after = ([result for result in side if result.state == SUCCEEDED] for side in (old, new))
    runs = (len(before), len(after))
    if not after:
        return ComparedPoint(size, FAILED, runs=runs)
    if not before:
        return ComparedPoint(size, UNKNOWN, runs=runs)
    speed = _of(metric, before, after, tolerance)
    texts = {
        key: len({result.texts.get(key) for result in (*before, *after)}) == 1
        for key in sorted(
            {key for result in before for key in result.texts} & {key for result in after for key in result.texts}
        )
    }
    check = next((result.check for result in before if result.check is not None), None)
    names = [check.metric] if check else [name for name in _QUALITY if name != metric]
    differences = (_of(name, before, after, quality_tolerance, computed=True) for name in names)
    quality = next((entry for entry in differences if entry is not None), None)
    diverged = tuple(name for name in names if _diverged(name, before, after))
    passed = _passed(check, before, after)
    same_bits = bool(texts.get("weights"))
    if passed is False or diverged or (quality is not None and quality.differs and not same_bits):
        verdict = DIFFERENT
    elif speed is None:
        verdict = UNKNOWN
    elif not speed.differs:
        verdict = SAME
    else:
        more = fmean(speed.new) > fmean(speed.old)
        verdict = SLOWER if more == lower_is_better(speed.unit) else FASTER
    return ComparedPoint(size, verdict, speed, quality, passed, texts, runs, diverged=diverged)


def _told(old: Sequence[Result], new: Sequence[Result]) -> str:
    """Return the metric for comparing both sides: chosen over all runs together, like that of a study."""
    first = next((result for result in old if result.state == SUCCEEDED), None)
    if first is None:
        return DEFAULT_METRIC
    target = first.asked or first.metric
    metrics = {name for result in (*old, *new) if result.state == SUCCEEDED for name in result.metrics}
    # a run whose request declares its metric is measured by it, even without a value
    own = first.metric == target and target not in first.metrics
    return throughput(target, {target: {}} if own else {}, metrics)


def _of(
    name: str, old: Sequence[Result], new: Sequence[Result], tolerance: float, *, computed: bool = False
) -> Difference | None:  # fmt: skip
    """Return the difference of one metric, None when a side has no finite value; `computed`: like `difference`."""
    first, second = ([value for value in _values(name, side) if math.isfinite(value)] for side in (old, new))
    if not first or not second:
        return None
    unit = next((result.unit for result in (*old, *new) if result.metric == name and result.unit), "")
    return difference(name, unit, first, second, tolerance, computed=computed)


def _values(name: str, side: Sequence[Result]) -> list[float]:
    return [result.metrics[name] for result in side if name in result.metrics]


def _diverged(name: str, old: Sequence[Result], new: Sequence[Result]) -> bool:
    first, second = _values(name, old), _values(name, new)
    return bool(first) and all(map(math.isfinite, first)) and not all(map(math.isfinite, second))


def _passed(check: RecordedCheck | None, old: Sequence[Result], new: Sequence[Result]) -> bool | None:
    if check is None:
        return None
    first, second = _values(check.metric, old), _values(check.metric, new)
    if not first or not second or not all(check.passes(value) for value in first):
        return None
    return all(bool(check.passes(value)) for value in second)
