"""The result of a tuning study as JSON values and as rows of a table; one function computes each number."""

import math
from collections.abc import Sequence
from typing import Any

from hackathon.jobs.settings import settings_text, value_text
from hackathon.text.messages import N_, NP_, _
from hackathon.text.units import format_walltime
from hackathon.tuning.trials.algorithms import FIRST_LOOK, AlgorithmComparison, comparison
from hackathon.tuning.trials.ledger import Trial
from hackathon.tuning.trials.objective import shown_value
from hackathon.tuning.trials.outcome import another_better, best, share_of_all, tokens_used
from hackathon.tuning.trials.plan import TuningPlan
from hackathon.tuning.trials.reading import FAILED, FINISHED, RUNNING, STOPPED, WAITING

STATE_TEXTS = {
    "waiting": NP_("tune", "waiting"),
    "running": N_("running"),
    "finished": N_("finished"),
    "stopped": N_("stopped"),
    "failed": N_("failed"),
}

SCHEMA_VERSION = 1
_ORDER = (FINISHED, RUNNING, WAITING, STOPPED, FAILED)


def as_json(study: str, plan: TuningPlan, trials: Sequence[Trial]) -> dict[str, Any]:
    """Return the trials by number, the best one and the total cost."""
    leader = best(trials, plan)
    priced = any(trial.progress.used.tokens is not None for trial in trials)
    return {
        "schema_version": SCHEMA_VERSION,
        "study": study,
        "objective": plan.objective.to_json(),
        "space": [{"name": dimension.name, "values": dimension.text} for dimension in plan.space],
        "sampler": plan.sampler,
        "stopper": plan.stopper,
        "limits": {
            "concurrent": plan.concurrent, "trials": plan.trials, "tokens": plan.tokens, "delta": plan.delta,
        },
        "trials": [_row(trial) for trial in trials],
        "best": None if leader is None else {
            "number": leader.number, "settings": dict(leader.settings), "value": leader.progress.value,
        },
        "share_of_all": share_of_all(trials, plan),
        "another_better": another_better(trials),
        "tokens": tokens_used(trials) if priced else None,
        "comparison": _comparison_json(plan, trials),
    }  # fmt: skip


def compared(plan: TuningPlan, trials: Sequence[Trial]) -> AlgorithmComparison | None:
    """Return the state of the algorithms that a study compares; None when it compares none."""
    return comparison(plan, trials, over=not any(trial.place for trial in trials), told=True)


def _comparison_json(plan: TuningPlan, trials: Sequence[Trial]) -> dict[str, Any] | None:
    standings = compared(plan, trials)
    if standings is None:
        return None
    return {
        "name": plan.compare, "decided": standings.decided, "best": standings.best.name if standings.best else None,
        "algorithms": [
            {
                "value": standing.name, "trials": standing.trials, "probability": standing.probability,
                "stopped": standing.out,
            }
            for standing in standings.algorithms
        ],
    }  # fmt: skip


def comparison_line(plan: TuningPlan, trials: Sequence[Trial]) -> str:
    """Return the best algorithm with its probability in one line, or that it is not decided."""
    standings = compared(plan, trials)
    if standings is None:
        return ""
    named = {standing.name: value_text(standing.name) for standing in standings.algorithms}
    if standings.decided and standings.best is not None:
        return _(
            "{name}: {value} is the best with probability {percent} % ({trials} trials)",
            name=plan.compare,
            value=named[standings.best.name],
            percent=_surely(standings.best.probability),
            trials=standings.best.trials,
        )
    if standings.best is None:
        return _(
            "{name}: not decided; each choice needs at least {least} trials with a result",
            name=plan.compare,
            least=FIRST_LOOK,
        )
    parts = [
        _("{value} {percent} %", value=named[standing.name], percent=_surely(standing.probability))
        for standing in sorted(standings.algorithms, key=lambda standing: -(standing.probability or 0.0))
    ]
    return _(
        "{name}: not decided, the differences are within the noise; probability of being the best: {chances}",
        name=plan.compare,
        chances=_(", ").join(parts),
    )


def _surely(share: float | None) -> str:
    """Return a probability in per cent; `>99.8` when a thousand draws cannot distinguish it from one."""
    return ">99.8" if share is not None and share > 0.998 else percent(share or 0.0)


def _row(trial: Trial) -> dict[str, Any]:
    done = trial.progress
    return {
        "number": trial.number, "settings": dict(trial.settings), "state": done.state, "value": done.value,
        "values": len(done.curve), "seconds": done.seconds, "tokens": done.used.tokens,
        "probability": done.probability, "reason": done.reason, "run": trial.run.id if trial.run else None,
    }  # fmt: skip


def table(plan: TuningPlan, trials: Sequence[Trial]) -> tuple[list[str], list[list[str]]]:
    """Return head and rows: finished trials first, the best one in front."""
    sign = -1.0 if plan.objective.more_is_better else 1.0

    def order(trial: Trial) -> tuple[int, float, int]:
        value = trial.progress.value
        return _ORDER.index(trial.progress.state), math.inf if value is None else sign * value, trial.number

    names = [dimension.name for dimension in plan.space]
    columns = [_("trial"), *names]
    columns += [
        _("state"),
        _("result"),
        _("time"),
        _("tokens"),
        _("run"),
    ]
    rows = []
    for trial in sorted(trials, key=order):
        done = trial.progress
        rows.append([
            str(trial.number), *(value_text(trial.settings.get(name, "–")) for name in names), state_text(trial),
            shown_value(plan.objective, done.value), format_walltime(round(done.seconds)),
            "–" if done.used.tokens is None else f"{done.used.tokens:.2f}", trial.run.id[-8:] if trial.run else "–",
        ])  # fmt: skip
    return columns, rows


def state_text(trial: Trial) -> str:
    """Return a trial's state as text, with the reason if it was stopped or failed."""
    done = trial.progress
    if done.state == STOPPED and done.probability is not None:
        return _("stopped (chance {percent} %)", percent=percent(done.probability))
    text = _(STATE_TEXTS[done.state])
    return f"{text}: {done.reason}" if done.state == FAILED and done.reason else text


def summary(plan: TuningPlan, trials: Sequence[Trial]) -> str:
    """Return the final line of a tuning."""
    parts = [_("{count} trials", count=len(trials))]
    share, chance = share_of_all(trials, plan), another_better(trials)
    if share is not None:
        word = (
            N_("{percent} % of the tokens of training all")
            if any(trial.progress.used.tokens for trial in trials)
            else N_("{percent} % of the time of training all")
        )
        parts.append(_(word, percent=percent(share)))
    text = _(", ").join(parts)
    if chance is not None:
        text += _("; P(another is better) {percent} %", percent=percent(chance))
    return text


def best_line(plan: TuningPlan, trials: Sequence[Trial]) -> str:
    """Return the best trial in one line, or that there is none."""
    leader = best(trials, plan)
    if leader is None:
        return _("no trial has a result")
    return _(
        "best: trial {number} with {settings}: {objective} = {value}",
        number=leader.number,
        settings=settings_text(leader.settings),
        objective=plan.objective.text,
        value=shown_value(plan.objective, leader.progress.value),
    )


def percent(share: float) -> str:
    """Return a share in per cent: whole numbers from 1 on, `0.3`, and `<0.1`."""
    value = 100.0 * share
    if 0.0 < value < 0.1:
        return "<0.1"
    return f"{value:.0f}" if value >= 1.0 or value == 0.0 else f"{value:.1f}"
