"""The part of a tuning study's page: its trials, their curves, and their configurations as parallel coordinates."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from hackathon.index.memory import Memory
from hackathon.index.record import RunEntry
from hackathon.index.studies import StudyRuns, study_record
from hackathon.jobs.settings import settings_text, value_text
from hackathon.runs.directory import RunDirectory
from hackathon.runs.status import status
from hackathon.runs.study import TUNE, Study
from hackathon.scaling.plot import filled
from hackathon.text.errors import HackathonError
from hackathon.text.messages import N_, _
from hackathon.text.numbers import finite
from hackathon.text.paths import shipped
from hackathon.tuning.trials.curves import Scale
from hackathon.tuning.trials.ledger import Trial, plan_of, trials_of
from hackathon.tuning.trials.objective import END, shown_value
from hackathon.tuning.trials.outcome import best
from hackathon.tuning.trials.plan import TuningPlan
from hackathon.tuning.trials.reading import FAILED, FINISHED, RUNNING, STOPPED, WAITING
from hackathon.tuning.trials.result import STATE_TEXTS, best_line, comparison_line, state_text, summary, table
from hackathon.tuning.trials.space import CHOICE, LOG, Dimension
from hackathon.web.page.figures import Figure
from hackathon.web.page.sanitize import line

_ALT_TEXTS = {
    "curves": N_("Learning curves of {count} {count:trial|trials}, one line each."),
    "coordinates": N_(
        "One line for each of {count} {count:trial|trials}: its value of each parameter, and its result with the "
        "best at the top."
    ),
    "best": N_("The best is trial {number} with {settings}."),
}

MOST = 200
"""The most trials of one study that a page reads."""
CURVES, POINTS = 60, 120
"""The most curves, and points of each."""
AXES = 7
"""Dimensions that are drawn; the table has all."""
WIDTH = 440
"""The width of both pictures, the same as in the templates."""
KEPT = 64
"""Studies whose ended trials are cached."""
LARGEST = 1e100
"""Values beyond are not measurements."""


@dataclass(frozen=True)
class TrialRow:
    """One trial of the table."""

    cells: tuple[str, ...]
    run: str
    """The key of its run's page; empty without one."""
    best: bool = False


@dataclass(frozen=True)
class TuningView:
    """A tuning study for a page."""

    objective: str
    maximise: bool
    space: tuple[tuple[str, str], ...]
    """Name and values of each dimension."""
    sampler: str
    stopper: str
    head: tuple[str, ...]
    rows: tuple[TrialRow, ...]
    lines: tuple[str, ...]
    """The best trial, the comparison of algorithms, and the cost."""
    figures: tuple[Figure, ...]
    more: int = 0
    """Trials that the page does not show."""


def is_tuned(study: StudyRuns, memory: Memory) -> bool:
    """Return whether a study's points are trials of `hackathon tune`."""
    return study_record(study.project, study.id, memory).get("kind") == TUNE


def tuning_view(study: StudyRuns, memory: Memory) -> TuningView | None:
    """Return a tuning study for a page; None for another kind, and if its files cannot be read.

    Runs are those of the index; a trial's run outside the index is not searched for.
    """
    if not is_tuned(study, memory):
        return None
    try:
        plan, trials = _trials(study, memory)
    except (HackathonError, OSError, KeyError, TypeError, ValueError, AttributeError):
        return None
    keys = {run.id: f"{study.project}//{run.id}" for run in study.runs}
    return view_of(plan, trials, keys, max(0, len(study.runs) - MOST))


def _trials(study: StudyRuns, memory: Memory) -> tuple[TuningPlan, list[Trial]]:
    runs: Sequence[RunEntry] = study.runs[:MOST]
    mark = tuple((run.id, run.state, run.progress) for run in runs)
    cached = memory.recall("trials", study.key)
    if cached is not None and cached[0] == mark:
        plan, trials = cached[1]
        return plan, trials
    folder = Study(Path(study.project) / "studies" / study.id)
    plan = plan_of(folder)
    states = status([RunDirectory(folder.runs_folder / run.id) for run in runs], ask=False, write=False)
    ids = {run.id for run in runs}
    candidates = trials_of(folder, plan, states, None)  # a page does not read profiles of teams, so nothing has a price
    trials = [trial for trial in candidates if trial.run is None or trial.run.id in ids]
    memory.keep("trials", study.key, (mark, (plan, trials)), KEPT)
    return plan, trials


def view_of(plan: TuningPlan, trials: Sequence[Trial], keys: Mapping[str, str], more: int = 0) -> TuningView:
    """Return the view of trials; `keys`: run's id → key of its page."""
    head, rows = table(plan, trials)
    numbered = {str(trial.number): trial for trial in trials}
    first = best(trials, plan)
    trial_rows = []
    for cells in rows:
        trial = numbered[cells[0]]
        # the reason of a failure may contain hosts and people; the run's page shows it masked
        cells[1 + len(plan.space)] = _("failed") if trial.progress.state == FAILED else state_text(trial)
        key = keys.get(trial.run.id, "") if trial.run is not None else ""
        trial_rows.append(TrialRow(tuple(line(cell, 80) for cell in cells[:-2]), key, trial is first))
    sentences = [best_line(plan, trials), comparison_line(plan, trials), summary(plan, trials)]
    return TuningView(
        line(plan.objective.text, 120), plan.objective.more_is_better,
        tuple((line(dimension.name, 60), line(dimension.text, 120)) for dimension in plan.space),
        plan.sampler, plan.stopper, tuple(line(cell, 60) for cell in head[:-2]), tuple(trial_rows),
        tuple(line(text, 400) for text in sentences if text),
        tuple(figure for figure in (coordinates(plan, trials), curves(plan, trials)) if figure is not None), more,
    )  # fmt: skip


def _groups(trials: Iterable[Trial], first: Trial | None) -> Mapping[str, list[Trial]]:
    groups: dict[str, list[Trial]] = {"finished": [], "stopped": [], "running": [], "best": []}
    for trial in trials:
        state = {FINISHED: "finished", STOPPED: "stopped", RUNNING: "running"}.get(trial.progress.state)
        if trial is first:
            groups["best"].append(trial)
        elif state is not None:
            groups[state].append(trial)
    return groups


def curves(plan: TuningPlan, trials: Sequence[Trial]) -> Figure | None:
    """Return the picture of the trials' learning curves; None if none has two values."""
    first = best(trials, plan)
    usable = {
        trial.number: [(x, y) for x, y in trial.progress.curve if math.isfinite(x) and abs(y) < LARGEST]
        for trial in trials
    }
    drawn = [trial for trial in trials if len(usable[trial.number]) > 1]
    if not drawn:
        return None
    drawn = sorted(drawn, key=lambda trial: (trial is not first, trial.progress.state != RUNNING, trial.number))[
        :CURVES
    ]
    longest = max(usable[trial.number][-1][0] for trial in drawn)
    unit, title = 1.0, _("number of the value")
    if plan.objective.kind != END:
        unit, title = (60.0, _("minutes since the start")) if longest >= 180 else (1.0, _("seconds since the start"))
    points = {
        name: [
            {"x": x / unit, "y": y, "trial": trial.number}
            for trial in group
            for x, y in _thinned(usable[trial.number])
        ]
        for name, group in _groups(drawn, first).items()
    }  # fmt: skip
    last: dict[int, dict[str, float]] = {int(point["trial"]): point for point in points["stopped"]}
    points["ends"] = list(last.values())
    values = [point["y"] for group in points.values() for point in group]
    least, most = min(values), max(values)
    room = (most - least) * 0.06 or abs(most) * 0.1 or 1.0
    wide = least > 0 and most / least > 50
    fills = {
        "x_title": title, "x_domain": [0, longest / unit], "y_title": line(plan.objective.metric, 60),
        "y_scale": {"type": "log", "nice": True} if wide else {"domain": [least - room, most + room], "nice": False},
        "y_format": "~s" if most >= 1000 else "~g",
    }  # fmt: skip
    spec = filled(shipped("templates", "plots", "trials.vl.json"), fills, points)
    heads = [_("trial"), _("state")]
    heads += [_("values"), _("first"), _("last")]
    rows = tuple(
        (
            str(trial.number), _(STATE_TEXTS[trial.progress.state]), str(len(trial.progress.curve)),
            f"{usable[trial.number][0][1]:.4g}", f"{usable[trial.number][-1][1]:.4g}",
        )
        for trial in sorted(drawn, key=lambda trial: trial.number)
    )  # fmt: skip
    return Figure("trial-curves", _("Learning curves"), _alt("curves", drawn, first), spec, tuple(heads), rows)


def _thinned(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    size = -(-len(points) // POINTS)
    parts = [points[start : start + size] for start in range(0, len(points), size)]
    return [(part[-1][0], fmean(y for _, y in part)) for part in parts]


def coordinates(plan: TuningPlan, trials: Sequence[Trial]) -> Figure | None:
    """Return the picture of configurations: an axis for each dimension and one for the result, a line for each trial.

    None without a finished trial.
    """
    first = best(trials, plan)
    results = [trial.progress.value for trial in trials if trial.progress.state == FINISHED]
    values = [value for value in results if value is not None and abs(value) < LARGEST]
    if first is None or not values:
        return None
    axes = plan.space[:AXES]
    names = [line(axis.name, 40) for axis in axes]
    result = _("result")
    while result in names:
        result += " "
    scale = Scale.of(values, plan.objective.more_is_better)
    costs = [scale.cost(value) for value in values]
    low, high = min(costs), max(costs)

    def of_result(value: float) -> float:
        return 0.5 if high == low else (high - scale.cost(value)) / (high - low)

    lines: dict[str, list[dict[str, Any]]] = {}
    for group, members in _groups(trials, first).items():
        lines[group] = []
        for trial in members:
            positions = [
                (name, place(axis, trial.settings.get(axis.name))) for axis, name in zip(axes, names, strict=True)
            ]
            value = trial.progress.value
            if trial.progress.state == FINISHED and value is not None and abs(value) < LARGEST:
                positions.append((result, of_result(value)))
            lines[group] += [{"axis": name, "y": y, "trial": trial.number} for name, y in positions if y is not None]
    ends = [(name, text, y) for axis, name in zip(axes, names, strict=True) for text, y in ticks(axis)]
    order = sorted(values, key=of_result)
    ends += [
        (result, shown_value(plan.objective, order[-1]), 1.0),
        (result, shown_value(plan.objective, order[0]), 0.0),
    ]
    lines |= {"tops": [], "middles": [], "bottoms": []}
    for name, text, y in dict.fromkeys(ends):
        edge = "tops" if y == 1.0 else "bottoms" if y == 0.0 else "middles"
        lines[edge].append({"axis": name, "text": line(text, 24), "y": y})
    lines["axes"] = [{"axis": name, "y": 0.0, "top": 1.0} for name in (*names, result)]
    fills = {"axes": [*names, result], "room": WIDTH // (len(names) + 1) - 12}
    spec = filled(shipped("templates", "plots", "coordinates.vl.json"), fills, lines)
    heads = (
        _("trial"),
        *(line(dimension.name, 40) for dimension in plan.space),
        _("result"),
    )
    drawn = [trial for trial in trials if trial.progress.state not in (WAITING, FAILED)]
    rows = tuple(
        (
            str(trial.number), *(line(value_text(trial.settings.get(axis.name, "–")), 40) for axis in plan.space),
            shown_value(plan.objective, trial.progress.value),
        )
        for trial in drawn
    )  # fmt: skip
    title = _("Configurations and results")
    return Figure("trial-coordinates", title, _alt("coordinates", drawn, first), spec, heads, rows)


def place(axis: Dimension, value: object) -> float | None:
    """Return the position of a value on its axis, 0 at the bottom and 1 at the top; None for one outside it."""
    if axis.kind == CHOICE:
        indices = [
            number for number, choice in enumerate(axis.choices) if choice == value and type(choice) is type(value)
        ]
        return None if not indices else indices[0] / (len(axis.choices) - 1) if len(axis.choices) > 1 else 0.5
    number = finite(value)
    if number is None:
        return None
    if axis.low == axis.high:
        return 0.5
    if axis.kind == LOG:
        if number <= 0 or axis.low <= 0:
            return None
        share = math.log(number / axis.low) / math.log(axis.high / axis.low)
    else:
        share = (number - axis.low) / (axis.high - axis.low)
    return share if -1e-9 <= share <= 1 + 1e-9 else None


def ticks(axis: Dimension) -> list[tuple[str, float]]:
    """Return the labels of an axis and their positions: all choices up to eight, else both ends."""
    if axis.kind == CHOICE:
        values = axis.choices if len(axis.choices) <= 8 else (axis.choices[0], axis.choices[-1])
        return [(value_text(choice), at) for choice in values if (at := place(axis, choice)) is not None]
    low, high = axis.at(0.0), axis.at(1.0)
    return [(value_text(low), 0.0), (value_text(high), 1.0)] if low != high else [(value_text(low), 0.5)]


def _alt(name: str, trials: Sequence[Trial], first: Trial | None) -> str:
    text = _(_ALT_TEXTS[name], count=len(trials))
    if first is None:
        return text
    settings = line(settings_text(first.settings), 200)
    return f"{text} {_('The best is trial {number} with {settings}.', number=first.number, settings=settings)}"
