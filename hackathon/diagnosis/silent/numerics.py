"""Silent failures of numbers: a loss that is not a number or does not fall, learning rates, counts of ranks."""

import math
import re
from collections.abc import Mapping
from statistics import pstdev, pvariance
from typing import Any

from hackathon.diagnosis.facts import FactHit, RunFacts, fact
from hackathon.diagnosis.silent import training
from hackathon.diagnosis.silent.training import Loss, mean
from hackathon.logs.values import number
from hackathon.text.errors import HackathonError, RequestError
from hackathon.text.json_fields import count_of
from hackathon.text.messages import _

LEAST_STEPS = 100
"""Steps of a training before which a constant loss is normal: many classes, a warm-up."""
FALLS = 2
"""A loss falls if the first third's mean exceeds the last third's by more than so many standard errors."""
_RATES = ("lr", "learning_rate", "base_lr")
_SHARE_OF_RIGHT = re.compile(r"(?i)(?:.*[_/])?(?:acc(?:uracy)?|top_?[15]|f1|auc|precision|recall)\Z")


@fact("silent:nan-loss")
def nan_loss(run: RunFacts, thresholds: Mapping[str, float]) -> list[FactHit]:
    """Report a rank whose last losses, at least `values` of them, are NaN or infinite."""
    ended: dict[int, tuple[list[Loss], int]] = {}
    for rank, listed in training.losses(run).items():
        good = next((at for at in range(len(listed), 0, -1) if math.isfinite(listed[at - 1].value)), 0)
        if len(listed) - good >= thresholds["values"]:
            ended[rank] = listed, good
    if not ended:
        return []
    rank = min(ended, key=lambda rank: (_moment(ended[rank][0][ended[rank][1]]), rank))
    listed, good = ended[rank]
    first = listed[good]
    before = f"{listed[good - 1].value:.4g}" if good else ""
    values = {
        "value": "NaN" if math.isnan(first.value) else "Infinity", "rank": str(rank), "of": str(len(listed) - good),
        "step": "" if first.step is None else str(first.step), "before": before,
        "at_step": "" if first.step is None else _(" at step {step}", step=first.step),
        "last_good": _(" (before: {value})", value=before) if good else "",
    }  # fmt: skip
    return [FactHit(training.placed(run, first.evidence), values, tuple(sorted(ended)), len(listed) - good)]


def _moment(loss: Loss) -> float:
    return loss.step if loss.step is not None else loss.evidence.line or 0


@fact("silent:flat-loss")
def flat_loss(run: RunFacts, thresholds: Mapping[str, float]) -> list[FactHit]:
    """Report a loss of the first rank that neither fell nor moved during the training.

    Flat means: the means of the first and last third differ by at most `improvement` × mean, and the standard deviation
    is at most `spread` × mean. Not judged: fewer than `values` of the Meter or `steps` steps; fewer than `printed`
    values in a log or LEAST_STEPS steps; a loss that fell by more than its standard error explains; a training that
    continues from a checkpoint; a run that meets its `check`.
    """
    losses = training.losses(run)
    listed = [loss for loss in losses[min(losses)] if loss.of_training] if losses else []
    values = [loss.value for loss in listed]
    if not all(map(math.isfinite, values)) or _fulfilled(run):
        return []
    first, last = (listed[0].step, listed[-1].step) if listed else (None, None)
    if first is None or last is None:
        recorded = max((count_of(run.steps(rank).get("steps")) for rank in losses), default=0)
        enough = len(values) >= thresholds["printed"] and max(recorded, len(values)) >= LEAST_STEPS
    else:
        begins = first <= 2 * (last - first) / max(1, len(values) - 1)
        enough = begins and len(values) >= thresholds["values"] and last - first >= thresholds["steps"]
    if not enough:
        return []
    third = max(1, len(values) // 3)
    before, after, middle = mean(values[:third]), mean(values[-third:]), abs(mean(values))
    if middle == 0 or abs(before - after) > thresholds["improvement"] * middle:
        return []
    error = math.sqrt((pvariance(values[:third]) + pvariance(values[-third:])) / third)
    if before - after > FALLS * error:
        return []
    spread = pstdev(values)
    if spread > thresholds["spread"] * middle:
        return []
    texts = {
        "first": f"{before:.4g}", "last": f"{after:.4g}", "steps": str(last if last is not None else len(values)),
        "spread": f"{100 * spread / middle:.2g}",
    }  # fmt: skip
    return [FactHit(training.placed(run, listed[-1].evidence), texts, (min(losses),), len(values))]


@fact("silent:learning-rate")
def learning_rate(run: RunFacts, thresholds: Mapping[str, float]) -> list[FactHit]:
    """Report a learning rate that stayed the same while the global batch became `batch` times as large.

    The comparison is with the study's smallest run; the same means at most `same` times. Needs rates that the program
    noted (`meter.step(lr=…)`) or a recipe's parameter. Outside a study: a recipe with its default parameters (for one
    process) on at least `batch` processes, which missed the recipe's `check`.
    """
    hits = _rates(run, lambda batch, rate: batch >= thresholds["batch"] and rate <= thresholds["same"])
    return hits or _default_rate(run, thresholds["batch"])


def _default_rate(run: RunFacts, least: float) -> list[FactHit]:
    from hackathon.config.load import load_recipe

    record, processes = run.record, run.record.processes
    if not record.recipe or record.study is not None or processes < least or _fulfilled(run) is not False:
        return []
    try:
        recipe, __ = load_recipe(record.recipe)
    except HackathonError:
        return []
    name, rate = recipe.scaling.weak.scale_learning_rate, _highest_rate(run)
    defaults = {name: parameter.default for name, parameter in recipe.parameters.items()}
    if name not in defaults or rate is None or defaults != record.parameters:
        return []
    batch = training.samples_per_step(run)
    values = {
        "rate": f"{rate:.4g}", "base_rate": f"{rate:.4g}", "batch": f"{batch:.0f}" if batch else "?",
        "base_batch": f"{batch / processes:.0f}" if batch else "?", "base": "1", "times": str(processes),
        "wanted": f"{rate * processes:.4g}",
    }  # fmt: skip
    return [FactHit(None, values)]


@fact("silent:learning-rate-twice")
def learning_rate_twice(run: RunFacts, thresholds: Mapping[str, float]) -> list[FactHit]:
    """Report a learning rate that grew like the square of the global batch.

    `square`: least growth of the rate as a share of the batch's growth squared; `batch`: least growth of the batch.
    """
    return _rates(run, lambda batch, rate: batch >= thresholds["batch"] and rate >= thresholds["square"] * batch**2)


def _rates(run: RunFacts, wrong: Any) -> list[FactHit]:
    base = training.smaller(run)
    if base is None:
        return []
    rates = _highest_rate(base), _highest_rate(run)
    batches = training.samples_per_step(base), training.samples_per_step(run)
    if None in rates or None in batches or not rates[0] or not batches[0]:
        return []
    batch, rate = batches[1] / batches[0], rates[1] / rates[0]  # type: ignore[operator]
    if not wrong(batch, rate):
        return []
    values = {
        "rate": f"{rates[1]:.4g}", "base_rate": f"{rates[0]:.4g}", "batch": f"{batches[1]:.0f}",
        "base_batch": f"{batches[0]:.0f}", "base": str(base.record.processes), "times": f"{batch:.3g}",
        "wanted": f"{rates[0] * batch:.4g}",
    }  # fmt: skip
    return [FactHit(None, values)]


def _highest_rate(run: RunFacts) -> float | None:
    """Return the highest learning rate of a run: as noted, else a recipe's parameter with a documented meaning."""
    noted = [
        value for line in run.metrics.get(min(run.metrics, default=0), ())
        for name in _RATES if (value := number(line.get(name))) is not None
    ]  # fmt: skip
    if noted:
        return max(noted)
    if not run.record.recipe:
        return None
    return next((value for name in _RATES if (value := number(run.record.parameters.get(name))) is not None), None)


@fact("silent:metric-count")
def metric_count(run: RunFacts, thresholds: Mapping[str, float]) -> list[FactHit]:
    """Report an accuracy that is divided or multiplied by the number of processes.

    With a smaller run in the study: both accuracies have the ratio of the processes (within `tolerance`) while the
    training losses agree (`loss`, relative or absolute). Otherwise: only accuracy × processes lies between the lower
    bound of the run's `check` and 1.
    """
    if run.record.processes < 2:
        return []
    base = training.smaller(run)
    for name, value in _accuracies(run).items():
        compare = _by_check if base is None else _by_base
        expected = compare(run, base or run, name, value, thresholds)
        if expected is not None:
            factor = max(value / expected, expected / value)
            values = {
                "metric": name, "value": f"{value:.4g}", "expected": f"{expected:.4g}", "factor": f"{factor:.3g}",
                "sign": "÷" if value < expected else "×",
            }  # fmt: skip
            return [FactHit(None, values)]
    return []


def _by_base(run: RunFacts, base: RunFacts, name: str, value: float, thresholds: Mapping[str, float]) -> float | None:
    other = _accuracies(base).get(name)
    factor = run.record.processes / (base.record.processes or 1)
    maximum = 100 if (other or 0) > 1 else 1  # percent
    if not other or not 0 < other <= maximum:
        return None
    divided = abs(value * factor / other - 1) <= thresholds["tolerance"]
    multiplied = value > maximum and abs(value / factor / other - 1) <= thresholds["tolerance"]
    losses = [_last_loss(facts) for facts in (run, base)]
    alike = losses[0] <= losses[1] * (1 + thresholds["loss"]) or losses[0] <= losses[1] + thresholds["loss"]
    return other if (divided or multiplied) and alike else None


def _by_check(run: RunFacts, base: RunFacts, name: str, value: float, thresholds: Mapping[str, float]) -> float | None:
    check = run.record.check
    least = check.at_least if check is not None and check.metric == name else None
    maximum = 100 if least is not None and least > 1 else 1  # percent
    unclear = least is None or not 0.5 * maximum <= least <= maximum or not _last_loss(run) < thresholds["learned"]
    if least is None or unclear or least <= value <= maximum:
        return None
    processes = run.record.processes
    return next((accuracy for accuracy in (value * processes, value / processes) if least <= accuracy <= maximum), None)


def _accuracies(run: RunFacts) -> dict[str, float]:
    from hackathon.logs.final import final_numbers

    over = run.status is None or not run.status.open
    try:
        numbers = final_numbers(run.path, run.record, over=over).values
    except RequestError:
        return {}
    return {name: value for name, value in numbers.items() if _SHARE_OF_RIGHT.match(name) and math.isfinite(value)}


def _last_loss(run: RunFacts) -> float:
    """Return the mean of the last fifth of the first rank's losses, NaN without losses."""
    losses = training.losses(run)
    values = [loss.value for loss in losses[min(losses)]] if losses else []
    return mean(values[-max(1, len(values) // 5) :])


def _fulfilled(run: RunFacts) -> bool | None:
    """Return whether the run meets its `check`, None without a check or without its number."""
    check = run.record.check
    if check is None:
        return None
    values = [
        value for lines in run.metrics.values() for line in lines
        if line.get("final") and (value := number(line.get(check.metric))) is not None
    ]  # fmt: skip
    return check.passes(values[0]) if values else None
