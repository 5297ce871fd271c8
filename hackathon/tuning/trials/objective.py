"""The objective of trials: a metric after some time, at the end, or the time until it reaches a value."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hackathon.logs.final import metric_unit
from hackathon.scaling.directions import known_direction
from hackathon.text.errors import RequestError
from hackathon.text.json_fields import mapping_of, text_of
from hackathon.text.numbers import finite
from hackathon.text.units import format_walltime, parse_walltime

AFTER, END, TIME_TO = "after", "end", "time-to"
_METRIC = re.compile(r"[A-Za-z_][A-Za-z0-9_./ -]{0,99}\Z")
_FORMS = re.compile(r"(?:(?P<n>\d+(?:\.\d+)?)(?P<unit>s|sec|min|m|h))\Z")
_SECONDS = {"s": 1, "sec": 1, "m": 60, "min": 60, "h": 3600}


@dataclass(frozen=True)
class Objective:
    """One objective. Times are seconds since the job began."""

    kind: str
    """AFTER, END or TIME_TO."""
    metric: str
    maximise: bool
    """Whether more of the metric is better. The time of TIME_TO is always minimised."""
    seconds: float | None = None
    """AFTER: when the metric is read."""
    goal: float | None = None
    """TIME_TO: the value to reach."""

    @property
    def more_is_better(self) -> bool:
        """Whether a larger result of a trial is better."""
        return self.maximise and self.kind != TIME_TO

    def better(self, first: float, second: float) -> bool:
        """Return whether the first of two results is better."""
        return first > second if self.more_is_better else first < second

    def reached(self, value: float) -> bool:
        """Return whether a value of the metric reaches the goal."""
        return self.goal is not None and (value >= self.goal if self.maximise else value <= self.goal)

    @property
    def text(self) -> str:
        """Its form on the command line."""
        if self.kind == AFTER and self.seconds is not None:
            return f"{self.metric}@{self.seconds:g}s"
        return f"{TIME_TO}:{self.metric}:{self.goal:g}" if self.kind == TIME_TO else self.metric

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "kind": self.kind, "metric": self.metric, "direction": "maximise" if self.maximise else "minimise",
            "seconds": self.seconds, "goal": self.goal, "text": self.text,
        }  # fmt: skip

    @classmethod
    def from_json(cls, value: object) -> "Objective":
        """Return it from its JSON. Raises ValueError."""
        entry = mapping_of(value)
        kind, metric = text_of(entry.get("kind")), text_of(entry.get("metric"))
        seconds, goal = finite(entry.get("seconds")), finite(entry.get("goal"))
        wanting = {AFTER: seconds, END: 0.0, TIME_TO: goal}
        if not metric or wanting.get(kind) is None:
            raise ValueError("not an objective")
        return cls(kind, metric, entry.get("direction") == "maximise", seconds, goal)


def read_objective(
    text: str,
    check: Mapping[str, Any] | None,
    maximise: bool | None = None,
    *,
    metrics: Mapping[str, Mapping[str, Any]] | None = None,
) -> Objective:
    """Return the objective of a text: `METRIC@DURATION`, `METRIC` or `time-to:METRIC:VALUE`.

    The direction is `maximise` if specified, else that of the recipe's check of this metric. Else less is better for
    times, by their unit in the declared `metrics`, and for names of losses and errors; more is better for all others.
    Raises RequestError.
    """
    text = text.strip()
    if text.startswith(f"{TIME_TO}:"):
        metric, colon, goal_text = text[len(TIME_TO) + 1 :].rpartition(":")
        try:
            goal = float(goal_text)
        except ValueError:
            goal = math.nan
        if not colon or not _METRIC.match(metric) or not math.isfinite(goal):
            raise RequestError(
                "tune.bad_time_to",
                "cannot read the objective {text}",
                hint="Write time-to:METRIC:VALUE, such as time-to:accuracy:0.95",
                text=text,
            )
        unit = metric_unit(metrics or {}, metric)
        return Objective(TIME_TO, metric, direction(metric, check, maximise, unit), goal=goal)
    metric, at, duration = text.partition("@")
    if not _METRIC.match(metric):
        raise RequestError(
            "tune.bad_objective",
            "cannot read the objective {text}",
            hint="Examples: accuracy@10min, loss, time-to:accuracy:0.95",
            text=text,
        )
    more = direction(metric, check, maximise, metric_unit(metrics or {}, metric))
    if not at:
        return Objective(END, metric, more)
    return Objective(AFTER, metric, more, seconds=_duration(duration, text))


def direction(
    metric: str, check: Mapping[str, Any] | None, maximise: bool | None = None, unit: str = ""
) -> bool:  # fmt: skip
    """Return whether more of a metric is better: as requested, by the check, else by its unit and its name."""
    if maximise is not None:
        return maximise
    return known_direction(metric, check, unit) is not False


def _duration(text: str, argument: str) -> float:
    """Return the seconds of `10min`, `90s`, `1.5h` or a walltime (00:10:00). Raises RequestError."""
    match = _FORMS.match(text.strip())
    try:
        seconds = float(match["n"]) * _SECONDS[match["unit"]] if match else float(parse_walltime(text))
    except ValueError:
        raise RequestError(
            "tune.bad_duration",
            "{text} has no duration from 1 s to 400 days",
            hint="Examples: accuracy@90s, accuracy@10min, accuracy@01:30:00",
            text=argument,
        ) from None
    if not 1.0 <= seconds <= 400 * 86400:
        raise RequestError(
            "tune.bad_duration",
            "{text} has no duration from 1 s to 400 days",
            hint="Examples: accuracy@90s, accuracy@10min, accuracy@01:30:00",
            text=argument,
        )
    return seconds


def shown_value(objective: Objective, value: float | None) -> str:
    """Return the result of a trial as text."""
    if value is None:
        return "–"
    return format_walltime(round(value)) if objective.kind == TIME_TO else f"{value:.4g}"
