"""Start a new tuning from earlier ones: their best configurations, and curves for predictions.

None of this is a result here: the configurations are tried again, and earlier trials' cost is not this study's. The
imported data are stored in `study.json`, so that a resumed tuning proposes and predicts the same.
"""

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hackathon.config.records import Scalar
from hackathon.runs.study import Study, runs_of
from hackathon.text.errors import HackathonError
from hackathon.text.json_fields import listed, mapping_of, text_of
from hackathon.text.numbers import finite
from hackathon.tuning.trials.curves import Curve
from hackathon.tuning.trials.ledger import Trial, plan_of, trials_of
from hackathon.tuning.trials.objective import END, Objective
from hackathon.tuning.trials.plan import TuningPlan
from hackathon.tuning.trials.reading import FINISHED, with_final
from hackathon.tuning.trials.space import CHOICE, INT, Dimension, Space

if TYPE_CHECKING:
    from hackathon.jobs.request import Request

STUDIES = 5
"""Earlier studies that are read, the newest ones of the same program and space."""
FIRST = 3
"""Configurations that are tried first."""
MOST_CURVES, MOST_POINTS = 60, 200
"""Curves, and points of each, that are stored in `study.json`."""


@dataclass(frozen=True)
class FormerTrial:
    """A finished trial of an earlier study with the same objective, for samplers that learn from results."""

    settings: Mapping[str, Scalar]
    value: float


@dataclass(frozen=True)
class WarmStart:
    """The data imported from earlier studies."""

    studies: tuple[str, ...] = ()
    """Their ids, the newest first."""
    configurations: tuple[Mapping[str, Scalar], ...] = ()
    """Configurations to try first, the best one in front."""
    outside: int = 0
    """Best configurations that are outside the space and omitted."""
    curves: tuple[Curve, ...] = ()
    """Of finished trials with the same objective, machine and fixed parameters."""
    trials: tuple[FormerTrial, ...] = ()
    """Results comparable with this study's, by the same rule as the curves."""

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "studies": list(self.studies),
            "configurations": [dict(configuration) for configuration in self.configurations],
            "outside": self.outside, "curves": [[[x, value] for x, value in curve] for curve in self.curves],
            "trials": [{"settings": dict(trial.settings), "value": trial.value} for trial in self.trials],
        }  # fmt: skip

    @classmethod
    def from_json(cls, value: object, space: Space) -> "WarmStart":
        """Return it from its JSON, without invalid parts and those outside the space."""
        entry = mapping_of(value)
        settings = [dict(mapping_of(configuration)) for configuration in listed(entry.get("configurations"))]
        trials = []
        for trial in map(mapping_of, listed(entry.get("trials"))):
            result, chosen = finite(trial.get("value")), dict(mapping_of(trial.get("settings")))
            if result is not None and contains(space, chosen):
                trials.append(FormerTrial(chosen, result))
        curves = []
        for line in listed(entry.get("curves"))[:MOST_CURVES]:
            pairs = [listed(pair) for pair in listed(line)]
            numbers = [(finite(pair[0]), finite(pair[1])) for pair in pairs if len(pair) == 2]
            curve = [(x, y) for x, y in numbers if x is not None and y is not None]
            if curve and len(curve) == len(pairs) and curve == sorted(curve, key=lambda pair: pair[0]):
                curves.append(tuple(curve))
        outside = finite(entry.get("outside")) or 0
        return cls(
            tuple(filter(None, map(text_of, listed(entry.get("studies"))))),
            tuple(configuration for configuration in settings if contains(space, configuration)),
            int(outside), tuple(curves), tuple(trials),
        )  # fmt: skip


NOTHING = WarmStart()


def contains(space: Space, settings: Mapping[str, Any]) -> bool:
    """Return whether a configuration has a value of each dimension and nothing else."""
    return {dimension.name for dimension in space} == {*settings} and all(
        _has(dimension, settings[dimension.name]) for dimension in space
    )


def _has(dimension: Dimension, value: object) -> bool:
    if dimension.kind == CHOICE:
        return any(choice == value and type(choice) is type(value) for choice in dimension.choices)
    if isinstance(value, bool) or not isinstance(value, int if dimension.kind == INT else (int, float)):
        return False
    return math.isfinite(value) and dimension.low <= value <= dimension.high


def former_studies(project: Path, own: str = "") -> list[Study]:
    """Return the tuning studies of a project and of its team's other projects, the newest first, without `own`.

    Runs of other teams are ignored. Nothing is written, and no scheduler is queried.
    """
    from hackathon.config.trust import trusted_event
    from hackathon.index.gather import gather
    from hackathon.index.memory import Memory
    from hackathon.index.studies import by_study, by_team, study_record

    event, memory = None, Memory()
    with suppress(HackathonError):
        event = trusted_event(project)
    catalog = gather(
        event.folder if event else None, event.record if event else None, [project], ask=False, diagnose=False
    )
    mine = [team.runs for team in by_team(catalog) if project in {path.resolve() for path in team.projects}]
    studies = []
    for study in by_study([run for runs in mine for run in runs], memory):
        if study.id != own and study_record(study.project, study.id, memory).get("kind") == "tune":
            studies.append(Study(Path(study.project) / "studies" / study.id))
    return studies


def warm_start(studies: Sequence[Study], plan: TuningPlan, request: "Request") -> WarmStart:
    """Return the data that a new tuning imports from earlier ones; `request`: of one of its trials.

    An earlier study counts if it ran the same program over the same parameters, with any ranges. Its finished trials
    are comparable if the objective and everything that does not vary are the same.
    """
    from hackathon.runs.status import status

    names = {dimension.name for dimension in plan.space}
    used: list[str] = []
    ranked: list[list[dict[str, Scalar]]] = []
    outside = 0
    curves: list[Curve] = []
    trials: list[FormerTrial] = []
    for study in studies:
        if len(used) == STUDIES:
            break
        try:
            then, base = plan_of(study), study.base_request()
            if {dimension.name for dimension in then.space} != names or not _same_program(base, request):
                continue
            if (then.objective.metric, then.objective.maximise) != (plan.objective.metric, plan.objective.maximise):
                continue
            earlier = trials_of(study, then, status(runs_of(study), ask=False, write=False), None)
        except (HackathonError, OSError, KeyError, TypeError, ValueError, AttributeError):
            continue  # unreadable, or in the format of another version
        good = _ranked(earlier, then.objective)
        inside = [trial for trial in good if contains(plan.space, trial.settings)]
        if not good:
            continue
        used.append(study.id)
        best_of_it = inside[:FIRST]
        outside += sum(not contains(plan.space, trial.settings) for trial in good[:FIRST])
        ranked.append([dict(trial.settings) for trial in best_of_it])
        if _comparable(then, base, plan, request):
            curves += [shortened(with_final(trial.progress.curve, trial.progress, then.objective)) for trial in good]
            trials += [FormerTrial(dict(trial.settings), trial.progress.value or 0.0) for trial in inside]
    first: list[Mapping[str, Scalar]] = []
    for settings in (candidate for row in zip_longest(*ranked) for candidate in row):
        if settings is not None and settings not in first:
            first.append(settings)
    curves = [curve for curve in curves if len(curve) > 1][:MOST_CURVES]
    return WarmStart(tuple(used), tuple(first[:FIRST]), outside, tuple(curves), tuple(trials[: 2 * MOST_CURVES]))


def _ranked(trials: Sequence[Trial], objective: Objective) -> list[Trial]:
    sign = -1.0 if objective.more_is_better else 1.0
    good = [trial for trial in trials if trial.progress.state == FINISHED and trial.progress.value is not None]
    return sorted(good, key=lambda trial: (sign * (trial.progress.value or 0.0), trial.number))


def _same_program(request: "Request", other: "Request") -> bool:
    return request.recipe == other.recipe and (request.recipe is not None or request.name == other.name)


def _comparable(then: TuningPlan, base: "Request", plan: TuningPlan, request: "Request") -> bool:
    """Return whether results are comparable: objective, fixed parameters, processes; for times the machine."""
    varied = {dimension.name for dimension in plan.space}

    def fixed(of: "Request") -> dict[str, object]:
        return {name: value for name, value in of.parameters.items() if name not in varied}

    if then.objective != plan.objective or fixed(base) != fixed(request) or base.processes != request.processes:
        return False
    machine = (base.cluster, base.nodes, base.threads, base.gpus_per_node, then.inside)
    current = (request.cluster, request.nodes, request.threads, request.gpus_per_node, plan.inside)
    return plan.objective.kind == END or machine == current


def shortened(curve: Curve) -> Curve:
    """Return a curve with at most MOST_POINTS points, including its last one."""
    step = -(-len(curve) // MOST_POINTS)
    pairs = [pair for number, pair in enumerate(curve, 1) if (len(curve) - number) % max(1, step) == 0]
    return tuple((float(f"{x:.7g}"), float(f"{value:.7g}")) for x, value in pairs if math.isfinite(value))
