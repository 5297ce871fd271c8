"""Decide whether a running trial is stopped: three rules on curves, pure."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median

from hackathon.tuning.trials.curves import Curve, Scale, chance, value_at

DELTA = 0.02
"""A trial is stopped when its probability of beating the best one is below this."""
EARLY_RUNG = 1 / 3
"""Share of the horizon from which a trial is compared with running trials."""
EARLY_OTHERS = 2
"""Other trials that must be as far."""
FAR_BEHIND = 2.0
"""Multiple of the largest recent gain of any trial: a trial that is further behind the best one is stopped."""
LEAST_SEEN = 2
"""Fewest values of a curve for a decision."""
ETA = 3
"""Successive halving: one of so many continues."""
RUNGS = 2
"""Successive halving: the rungs are at horizon ÷ ETA, ÷ ETA², …"""
MEDIAN_OF = 5
"""Finished trials that the median rule needs."""


@dataclass(frozen=True)
class TrialSituation:
    """The facts for judging a trial."""

    curve: Curve
    """The trial's curve."""
    finished: Sequence[Curve]
    """Curves of trials that reached the horizon."""
    others: Sequence[Curve]
    """Curves of all other trials, including stopped and running ones."""
    horizon: float
    """The x at which trials are compared."""
    target: float | None
    """The value at the horizon that it has to beat; None without one."""
    maximise: bool
    delta: float = DELTA


@dataclass(frozen=True)
class StopVerdict:
    """Whether a trial is stopped, and why."""

    stop: bool
    probability: float | None = None
    """Probability of beating the best one; None for a rule without it."""


GO_ON = StopVerdict(False)


def predict(now: TrialSituation) -> StopVerdict:
    """Stop a trial whose predicted curve beats the best with less than `delta` probability, or that is far behind."""
    if len(now.curve) < LEAST_SEEN:
        return GO_ON
    verdict = GO_ON
    if now.target is not None:
        if _is_lost(now):
            return StopVerdict(True, 0.0)
        scale = Scale.of([value for curve in (now.curve, *now.finished) for _, value in curve], now.maximise)
        probability = chance(now.curve, now.finished, now.horizon, scale, now.target, now.delta)
        if probability is not None:
            verdict = StopVerdict(probability < now.delta, probability)
    return verdict if verdict.stop or not _is_far_behind(now) else StopVerdict(True)


def _is_far_behind(now: TrialSituation) -> bool:
    """Return whether a trial on the early rung is further behind than trials gain in as much time.

    The gap to the best trial at the same x is compared with the largest gain of any trial between x ÷ 2 and x. It needs
    no finished trial, so the first ones of a tuning are judged as well.
    """
    x = now.curve[-1][0]
    rivals = [curve for curve in now.others if curve and curve[-1][0] >= x and _is_finite(curve)]
    if not _is_finite(now.curve) or x < EARLY_RUNG * now.horizon or len(rivals) < EARLY_OTHERS:
        return False
    scale = Scale.of([value for curve in (now.curve, *rivals) for _, value in curve], now.maximise)
    pairs = [(value_at(curve, x / 2), value_at(curve, x)) for curve in (now.curve, *rivals)]
    costs = [(scale.cost(half), scale.cost(value)) for half, value in pairs if half is not None and value is not None]
    gain = max((half - cost for half, cost in costs), default=0.0)
    leader = min(scale.cost(value) for _, value in pairs[1:] if value is not None)
    own = min(scale.cost(value) for _, value in now.curve)
    return gain > 0.0 and own - leader > FAR_BEHIND * gain


def halving(now: TrialSituation) -> StopVerdict:
    """Stop a trial that is not among the best third at a rung: asynchronous halving (Li et al. 2020)."""
    if _is_lost(now):
        return StopVerdict(True)
    if not now.curve:
        return GO_ON
    sign = -1.0 if now.maximise else 1.0
    for rung in range(RUNGS, 0, -1):
        x = now.horizon / ETA**rung
        mine = value_at(now.curve, x)
        if now.curve[-1][0] < x or mine is None:
            break
        values = [
            value for curve in now.others if curve and curve[-1][0] >= x and (value := value_at(curve, x)) is not None
        ]
        if len(values) < ETA - 1:
            continue
        better = sum(sign * value < sign * mine for value in values)
        if better >= max(1, (len(values) + 1) // ETA):
            return StopVerdict(True)
    return GO_ON


def median_rule(now: TrialSituation) -> StopVerdict:
    """Stop a trial whose best value is worse than the median of finished trials' averages until then.

    Golovin et al. 2017 (Vizier), 3.2.2.
    """
    if _is_lost(now):
        return StopVerdict(True)
    if len(now.finished) < MEDIAN_OF or len(now.curve) < LEAST_SEEN:
        return GO_ON
    x, sign = now.curve[-1][0], -1.0 if now.maximise else 1.0
    averages = [fmean(values) for curve in now.finished if (values := [sign * v for at, v in curve if at <= x])]
    best = min(sign * value for _, value in now.curve)
    return StopVerdict(len(averages) >= MEDIAN_OF and best > median(averages))


def none(now: TrialSituation) -> StopVerdict:
    """Never stop a trial."""
    return GO_ON


RULES: Mapping[str, Callable[[TrialSituation], StopVerdict]] = {
    "predict": predict, "halving": halving, "median": median_rule, "none": none,
}  # fmt: skip


def _is_finite(curve: Curve) -> bool:
    return all(math.isfinite(value) for _, value in curve)


def _is_lost(now: TrialSituation) -> bool:
    """Return whether a training has diverged: its newest value is not finite."""
    return bool(now.curve) and not math.isfinite(now.curve[-1][1])
