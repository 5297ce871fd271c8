"""What the page of a tuning study shows: its trials, their curves, and their configurations as parallel coordinates."""

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
from hackathon.text.json_fields import finite
from hackathon.text.messages import message
from hackathon.text.paths import shipped
from hackathon.tuning.trials.curves import Scale
from hackathon.tuning.trials.ledger import Trial, plan_of, trials_of
from hackathon.tuning.trials.objective import END, shown_value
from hackathon.tuning.trials.outcome import best
from hackathon.tuning.trials.plan import TuningPlan
from hackathon.tuning.trials.reading import FAILED, FINISHED, RUNNING, STOPPED, WAITING
from hackathon.tuning.trials.result import best_line, comparison_line, state_text, summary, table
from hackathon.tuning.trials.space import CHOICE, LOG, Dimension
from hackathon.web.page.figures import Figure
from hackathon.web.page.sanitize import line

MOST = 200
"""Trials of one study that a page reads."""
CURVES, POINTS = 60, 120
"""Curves that are drawn, and points of each."""
AXES = 7
"""Dimensions that are drawn; the table has all."""
WIDTH = 440
"""Of both pictures, as the templates have it."""
KEPT = 64
"""Studies whose ended trials are remembered."""
LARGEST = 1e100
"""Values beyond are no measurements."""


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
    """The best trial, what algorithms came to, and what it took."""
    figures: tuple[Figure, ...]
    more: int = 0
    """Trials that the page does not show."""


def is_tuned(study: StudyRuns, memory: Memory) -> bool:
    """Return whether a study's points are trials of `hackathon tune`."""
    return study_record(study.project, study.id, memory).get("kind") == TUNE


def tuning_view(study: StudyRuns, memory: Memory) -> TuningView | None:
    """Return what a page shows of a tuning study; None for another kind, and for one whose files cannot be read.

    Runs are those of the index: a trial whose run is not in it is not looked for.
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
    kept = memory.recall("trials", study.key)
    if kept is not None and kept[0] == mark:
        plan, trials = kept[1]
        return plan, trials
    folder = Study(Path(study.project) / "studies" / study.id)
    plan = plan_of(folder)
    states = status([RunDirectory(folder.runs_folder / run.id) for run in runs], ask=False, write=False)
    known = {run.id for run in runs}
    found = trials_of(folder, plan, states, None)  # profiles of teams are not read for a page: nothing has a price
    trials = [each for each in found if each.run is None or each.run.id in known]
    memory.keep("trials", study.key, (mark, (plan, trials)), KEPT)
    return plan, trials


def view_of(plan: TuningPlan, trials: Sequence[Trial], keys: Mapping[str, str], more: int = 0) -> TuningView:
    """Return the view of trials; `keys`: run's id → key of its page."""
    head, rows = table(plan, trials)
    numbered = {str(each.number): each for each in trials}
    first = best(trials, plan)
    made = []
    for cells in rows:
        trial = numbered[cells[0]]
        # why a job failed may name hosts and people: its run's page tells, with what is masked there
        cells[1 + len(plan.space)] = (
            message("tune.state_failed") if trial.progress.state == FAILED else state_text(trial)
        )
        key = keys.get(trial.run.id, "") if trial.run is not None else ""
        made.append(TrialRow(tuple(line(cell, 80) for cell in cells[:-2]), key, trial is first))
    told = [best_line(plan, trials), comparison_line(plan, trials), summary(plan, trials)]
    return TuningView(
        line(plan.objective.text, 120), plan.objective.more_is_better,
        tuple((line(each.name, 60), line(each.text, 120)) for each in plan.space), plan.sampler, plan.stopper,
        tuple(line(cell, 60) for cell in head[:-2]), tuple(made), tuple(line(each, 400) for each in told if each),
        tuple(each for each in (coordinates(plan, trials), curves(plan, trials)) if each is not None), more,
    )  # fmt: skip


def _groups(trials: Iterable[Trial], first: Trial | None) -> Mapping[str, list[Trial]]:
    found: dict[str, list[Trial]] = {"finished": [], "stopped": [], "running": [], "best": []}
    for each in trials:
        state = {FINISHED: "finished", STOPPED: "stopped", RUNNING: "running"}.get(each.progress.state)
        if each is first:
            found["best"].append(each)
        elif state is not None:
            found[state].append(each)
    return found


def curves(plan: TuningPlan, trials: Sequence[Trial]) -> Figure | None:
    """Return the picture of the trials' learning curves; None when none has two values."""
    first = best(trials, plan)
    usable = {
        each.number: [(x, y) for x, y in each.progress.curve if math.isfinite(x) and abs(y) < LARGEST]
        for each in trials
    }
    drawn = [each for each in trials if len(usable[each.number]) > 1]
    if not drawn:
        return None
    drawn = sorted(drawn, key=lambda each: (each is not first, each.progress.state != RUNNING, each.number))[:CURVES]
    longest = max(usable[each.number][-1][0] for each in drawn)
    unit, title = 1.0, message("tuning_page.axis_values")
    if plan.objective.kind != END:
        unit, title = (
            (60.0, message("run_page.axis_minutes")) if longest >= 180 else (1.0, message("run_page.axis_seconds"))
        )
    points = {
        name: [
            {"x": x / unit, "y": y, "trial": each.number}
            for each in group
            for x, y in _thinned(usable[each.number])
        ]
        for name, group in _groups(drawn, first).items()
    }  # fmt: skip
    last: dict[int, dict[str, float]] = {int(each["trial"]): each for each in points["stopped"]}
    points["ends"] = list(last.values())
    values = [each["y"] for group in points.values() for each in group]
    least, most = min(values), max(values)
    room = (most - least) * 0.06 or abs(most) * 0.1 or 1.0
    wide = least > 0 and most / least > 50
    fills = {
        "x_title": title, "x_domain": [0, longest / unit], "y_title": line(plan.objective.metric, 60),
        "y_scale": {"type": "log", "nice": True} if wide else {"domain": [least - room, most + room], "nice": False},
        "y_format": "~s" if most >= 1000 else "~g",
    }  # fmt: skip
    spec = filled(shipped("templates", "plots", "trials.vl.json"), fills, points)
    heads = [message("tune.column_trial"), message("tune.column_state")]
    heads += [message("tuning_page.values"), message("tuning_page.first"), message("tuning_page.last")]
    rows = tuple(
        (
            str(each.number), message(f"tune.state_{each.progress.state}"), str(len(each.progress.curve)),
            f"{usable[each.number][0][1]:.4g}", f"{usable[each.number][-1][1]:.4g}",
        )
        for each in sorted(drawn, key=lambda each: each.number)
    )  # fmt: skip
    return Figure("trial-curves", message("tuning_page.curves"), _alt("curves", drawn, first), spec, tuple(heads), rows)


def _thinned(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    size = -(-len(points) // POINTS)
    parts = [points[start : start + size] for start in range(0, len(points), size)]
    return [(part[-1][0], fmean(y for _, y in part)) for part in parts]


def coordinates(plan: TuningPlan, trials: Sequence[Trial]) -> Figure | None:
    """Return the picture of configurations: an axis for each dimension and one for the result, a line for each trial.

    None without a finished trial.
    """
    first = best(trials, plan)
    results = [each.progress.value for each in trials if each.progress.state == FINISHED]
    found = [value for value in results if value is not None and abs(value) < LARGEST]
    if first is None or not found:
        return None
    shown = plan.space[:AXES]
    names = [line(each.name, 40) for each in shown]
    result = message("tune.column_result")
    while result in names:
        result += " "
    scale = Scale.of(found, plan.objective.more_is_better)
    costs = [scale.cost(value) for value in found]
    low, high = min(costs), max(costs)

    def of_result(value: float) -> float:
        return 0.5 if high == low else (high - scale.cost(value)) / (high - low)

    lines: dict[str, list[dict[str, Any]]] = {}
    for group, members in _groups(trials, first).items():
        lines[group] = []
        for each in members:
            places = [
                (name, place(axis, each.settings.get(axis.name))) for axis, name in zip(shown, names, strict=True)
            ]
            value = each.progress.value
            if each.progress.state == FINISHED and value is not None and abs(value) < LARGEST:
                places.append((result, of_result(value)))
            lines[group] += [{"axis": name, "y": y, "trial": each.number} for name, y in places if y is not None]
    ends = [(name, text, y) for axis, name in zip(shown, names, strict=True) for text, y in ticks(axis)]
    order = sorted(found, key=of_result)
    ends += [
        (result, shown_value(plan.objective, order[-1]), 1.0),
        (result, shown_value(plan.objective, order[0]), 0.0),
    ]
    lines |= {"tops": [], "middles": [], "bottoms": []}
    for name, text, y in dict.fromkeys(ends):
        where = "tops" if y == 1.0 else "bottoms" if y == 0.0 else "middles"
        lines[where].append({"axis": name, "text": line(text, 24), "y": y})
    lines["axes"] = [{"axis": name, "y": 0.0, "top": 1.0} for name in (*names, result)]
    fills = {"axes": [*names, result], "room": WIDTH // (len(names) + 1) - 12}
    spec = filled(shipped("templates", "plots", "coordinates.vl.json"), fills, lines)
    heads = (message("tune.column_trial"), *(line(each.name, 40) for each in plan.space), message("tune.column_result"))
    drawn = [each for each in trials if each.progress.state not in (WAITING, FAILED)]
    rows = tuple(
        (
            str(each.number), *(line(value_text(each.settings.get(axis.name, "–")), 40) for axis in plan.space),
            shown_value(plan.objective, each.progress.value),
        )
        for each in drawn
    )  # fmt: skip
    title = message("tuning_page.coordinates")
    return Figure("trial-coordinates", title, _alt("coordinates", drawn, first), spec, heads, rows)


def place(axis: Dimension, value: object) -> float | None:
    """Return where a value lies on its axis, 0 at the bottom and 1 at the top; None for one that is not on it."""
    if axis.kind == CHOICE:
        there = [number for number, each in enumerate(axis.choices) if each == value and type(each) is type(value)]
        return None if not there else there[0] / (len(axis.choices) - 1) if len(axis.choices) > 1 else 0.5
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
    """Return the texts at an axis and where they stand: all choices up to eight, else both ends."""
    if axis.kind == CHOICE:
        values = axis.choices if len(axis.choices) <= 8 else (axis.choices[0], axis.choices[-1])
        return [(value_text(each), at) for each in values if (at := place(axis, each)) is not None]
    low, high = axis.at(0.0), axis.at(1.0)
    return [(value_text(low), 0.0), (value_text(high), 1.0)] if low != high else [(value_text(low), 0.5)]


def _alt(name: str, trials: Sequence[Trial], first: Trial | None) -> str:
    text = message(f"tuning_page.alt_{name}", count=len(trials))
    if first is None:
        return text
    settings = line(settings_text(first.settings), 200)
    return f"{text} {message('tuning_page.alt_best', number=first.number, settings=settings)}"
