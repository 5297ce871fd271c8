"""Add a study's predictions for larger sizes to its results, for tables, pictures and pages."""

import functools
import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from hackathon.diagnosis.doubts import judge
from hackathon.prediction.forecast import forecast
from hackathon.prediction.rows import TIMES, MeasuredSize, Series
from hackathon.prediction.study import of_results
from hackathon.scaling.collect import study_results
from hackathon.scaling.table import RunResult, series_of
from hackathon.text.errors import RequestError

if TYPE_CHECKING:
    from hackathon.runs.states import RunStatus
    from hackathon.runs.study import Study

FURTHER = (2, 4)
"""Multiples of the largest size that are predicted."""
KEPT = 256
"""Series whose predictions are cached: each language, table and download of a site needs the same ones."""


class _Foreseen(NamedTuple):
    """The prediction at one size, relative to the smallest one that counts; independent of the language."""

    processes: int
    efficiency: float
    low: float
    high: float
    level: float | None
    basis: str


def study_outcome(
    study: "Study", states: Iterable["RunStatus"], *, metric: str | None, baseline: RunResult | None
) -> dict[str, Any]:
    """Return the results of a study with doubts and predictions. Raises as `scaling.collect.study_results`."""
    return with_predictions(study_results(study, states, metric=metric, baseline=baseline, judge=judge))


def with_predictions(results: Mapping[str, Any]) -> dict[str, Any]:
    """Return a study's results (`scaling.table.results`) with `predicted` in each series' `fit`.

    Entries: processes, efficiency, low and high, level (0.9; None without validation), basis; from this study alone. A
    series without a fit, which has fewer than three points, has none.
    """
    series = [_predicted(results, entry) for entry in results.get("series") or ()]
    top = _predicted(results, {"settings": {}, **results}) if "fit" in results else {}
    return {**results, **({"fit": top["fit"]} if top else {}), **({"series": series} if series else {})}


def _predicted(results: Mapping[str, Any], series: Mapping[str, Any]) -> dict[str, Any]:
    """Return one series with its predictions."""
    fit = series.get("fit")
    if not fit:
        return dict(series)
    return {**series, "fit": {**fit, "predicted": _entries(results, series)}}


def _entries(results: Mapping[str, Any], series: Mapping[str, Any]) -> list[dict[str, Any]]:
    (alone,) = series_of({**results, **series, "series": None})
    candidates = of_results(alone)
    if not candidates:
        return []
    outcome = _beyond(candidates[0])
    if outcome is None:
        return []
    base, last, predictions = outcome
    point = next(row for row in series["points"] if row["processes"] == last.processes)
    if point["efficiency"] is None:
        return []
    # relative to the base of the results, which may be a run of another study
    scale = point["efficiency"] * last.cost / base.cost
    entries = [
        {
            "processes": prediction.processes, "efficiency": scale * prediction.efficiency,
            "low": scale * prediction.low, "high": scale * prediction.high, "level": prediction.level,
            "basis": prediction.basis,
        }
        for prediction in predictions
    ]  # fmt: skip
    return [entry for entry in entries if all(math.isfinite(entry[key]) for key in ("efficiency", "low", "high"))]


@functools.lru_cache(KEPT)
def _beyond(series: Series) -> tuple[MeasuredSize, MeasuredSize, tuple[_Foreseen, ...]] | None:
    """Return the smallest and the largest row that count and the predictions beyond; None when no row counts."""
    try:
        answer = forecast(series, [factor * series.rows[-1].processes for factor in FURTHER], advise=False)
    except RequestError:
        return None
    predictions = []
    for prediction in answer.predictions:
        low, high = sorted(prediction["efficiency"] * ratio for ratio in _ratios(answer.series.meaning, prediction))
        predictions.append(
            _Foreseen(
                prediction["processes"], prediction["efficiency"], low, high, prediction["level"], prediction["basis"]
            )
        )
    return answer.rows[0], answer.rows[-1], tuple(predictions)


def _ratios(meaning: str, entry: Mapping[str, Any]) -> tuple[float, float]:
    """Return low and high of a prediction relative to its value, as rates."""
    low, high = entry["low"] / entry["value"], entry["high"] / entry["value"]
    return (1 / high, 1 / low) if meaning in TIMES else (low, high)
