"""Choose the next configuration: random, grid, or by Optuna. None when the space is exhausted.

A proposal depends only on the earlier trials and their number, so that a resumed tuning proposes the same. The ledger
is the study's folder: Optuna gets all trials each time and stores nothing (its journal waits for minutes after a kill,
and never learns that a trial was killed).
"""

import itertools
import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hackathon.config.records import Scalar
from hackathon.text.errors import RequestError
from hackathon.tuning.trials.plan import TuningPlan
from hackathon.tuning.trials.space import CHOICE, INT, LOG, Dimension, Space

Settings = Mapping[str, Scalar]
DRAWS = 200
"""Random draws until one is new."""


@dataclass(frozen=True)
class KnownTrial:
    """A trial as a sampler sees it."""

    settings: Settings
    value: float | None = None
    """Its result, or the newest value of a stopped one; None while it runs and after a failure."""
    state: str = "running"
    """`running`, `finished`, `stopped` or `failed`."""


def propose(
    plan: TuningPlan,
    trials: Sequence[KnownTrial],
    first: Sequence[Settings] = (),
    former: Sequence[KnownTrial] = (),
) -> dict[str, Scalar] | None:
    """Return the settings of the next trial; None when every configuration was tried. Raises RequestError.

    `first`: configurations that are tried before others, except with a grid, which has its own order. `former`:
    finished trials of earlier studies that Optuna learns from.
    """
    if plan.sampler == "grid":
        points = grid_of(plan.space, plan.seed)
        return points[len(trials)] if len(trials) < len(points) else None
    taken = [dict(trial.settings) for trial in trials]
    if math.prod(dimension.size for dimension in plan.space) <= len({tuple(settings.items()) for settings in taken}):
        return None
    for settings in first:
        if dict(settings) not in taken:
            return dict(settings)
    if plan.sampler == "optuna":
        proposal = by_optuna(plan, [*former, *trials])
        if proposal not in taken:
            return proposal
    return _random(plan, taken)


def propose_of(plan: TuningPlan, name: Scalar, trials: Sequence[KnownTrial]) -> dict[str, Scalar] | None:
    """Return the settings of the next trial of one of the compared algorithms; None when none is left.

    They do not depend on results: those of a sampler that learns would not be comparable trial by trial.
    """
    remaining = tuple(dimension for dimension in plan.space if dimension.name != plan.compare)
    mine = [trial for trial in trials if trial.settings.get(plan.compare) == name]
    if not remaining:
        return None if mine else {plan.compare: name}
    sampler = plan.sampler if plan.sampler == "grid" else "random"
    part = replace(plan, space=remaining, compare="", sampler=sampler, seed=f"{plan.seed} {name!r}")
    without = [
        replace(trial, settings={k: v for k, v in trial.settings.items() if k != plan.compare}) for trial in mine
    ]
    proposal = propose(part, without)
    return None if proposal is None else {axis.name: {plan.compare: name, **proposal}[axis.name] for axis in plan.space}


def grid_of(space: Space, seed: str) -> list[dict[str, Scalar]]:
    """Return every combination of the grid's values once, in a deterministic random order."""
    names = [dimension.name for dimension in space]
    points = [
        dict(zip(names, values, strict=True)) for values in itertools.product(*(dimension.grid for dimension in space))
    ]
    random.Random(f"grid {seed}").shuffle(points)
    return points


def _random(plan: TuningPlan, taken: Sequence[Settings]) -> dict[str, Scalar] | None:
    source = random.Random(f"{plan.seed} {len(taken)}")
    for _ in range(DRAWS):
        drawn = {dimension.name: dimension.draw(source) for dimension in plan.space}
        if drawn not in taken:
            return drawn
    return next((point for point in grid_of(plan.space, plan.seed) if point not in taken), None)


def require_optuna() -> Any:
    """Return the module. Raises RequestError with installation advice when it is missing."""
    try:
        import optuna
    except ImportError:
        raise RequestError(
            "tune.no_optuna",
            "Optuna is not installed",
            hint="pip install optuna (or, in a clone of the toolkit: pip install '.[tune]'). Without a network: on "
            "a machine with one, pip download optuna -d wheelhouse; copy the folder; pip install --no-index "
            "--find-links wheelhouse optuna. Or use --sampler random",
        ) from None
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return optuna


def by_optuna(plan: TuningPlan, trials: Sequence[KnownTrial]) -> dict[str, Scalar]:
    """Return the proposal of Optuna's TPE after these trials; running ones count as bad (constant liar)."""
    optuna = require_optuna()
    import warnings

    states = {
        "finished": optuna.trial.TrialState.COMPLETE, "stopped": optuna.trial.TrialState.PRUNED,
        "running": optuna.trial.TrialState.RUNNING, "failed": optuna.trial.TrialState.FAIL,
    }  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        number = int.from_bytes(random.Random(f"optuna {plan.seed} {len(trials)}").randbytes(4), "big")
        sampler = optuna.samplers.TPESampler(seed=number, constant_liar=True, multivariate=True)
        direction = "maximize" if plan.objective.more_is_better else "minimize"
        study = optuna.create_study(sampler=sampler, direction=direction)
        space = {dimension.name: _distribution(optuna, dimension) for dimension in plan.space}
        for trial in trials:
            state = trial.state if trial.value is not None or trial.state in ("running", "failed") else "failed"
            study.add_trial(
                optuna.trial.create_trial(
                    state=states[state], params=dict(trial.settings), distributions=space,
                    value=trial.value if state == "finished" else None,
                    intermediate_values={1: trial.value} if state == "stopped" else None,
                )
            )  # fmt: skip
        proposal = study.ask(space)
    rounding = {dimension.name: dimension for dimension in plan.space}
    return {name: _plain(rounding[name], proposal.params[name]) for name in rounding}


def _plain(dimension: Dimension, value: Any) -> Scalar:
    if dimension.kind == CHOICE:
        return next(choice for choice in dimension.choices if choice == value and type(choice) is type(value))
    return int(value) if dimension.kind == INT else dimension.rounded(float(value))


def _distribution(optuna: Any, dimension: Dimension) -> Any:
    if dimension.kind == CHOICE:
        return optuna.distributions.CategoricalDistribution(dimension.choices)
    if dimension.kind == INT:
        return optuna.distributions.IntDistribution(int(dimension.low), int(dimension.high))
    return optuna.distributions.FloatDistribution(dimension.low, dimension.high, log=dimension.kind == LOG)
