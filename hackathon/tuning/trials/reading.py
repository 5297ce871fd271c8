"""Read the state of a trial from its run: its curve, its result, and its cost.

The run's directory is authoritative. `client/trial.json` records why and when, before a trial's job is cancelled.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from hackathon.jobs.cost import Spent, gpus_given, spent
from hackathon.logs.final import final_numbers
from hackathon.logs.metrics import printed_series, timed_series
from hackathon.runs.directory import RunDirectory
from hackathon.runs.job_times import use_by
from hackathon.runs.lives import gpus_of
from hackathon.runs.states import CREATED, HELD, OPEN, QUEUED, SUCCEEDED, UNCERTAIN, RunStatus
from hackathon.text.json_fields import text_of
from hackathon.text.messages import _
from hackathon.text.numbers import finite
from hackathon.tuning.trials.curves import Curve, value_at
from hackathon.tuning.trials.objective import AFTER, END, TIME_TO, Objective

if TYPE_CHECKING:
    from hackathon.config.cluster import Cluster

WAITING, RUNNING, FINISHED, STOPPED, FAILED = "waiting", "running", "finished", "stopped", "failed"
FACT = "trial"
"""The fact in `client/` that the tuner cancelled a trial's job."""
BY_RULE, TIME_IS_UP, REACHED = "rule", "time", "reached"
"""Why it was cancelled: by a stopping rule; the objective's time is over; the goal is reached."""
FLUSH = 2.0
"""Seconds after the objective's time in which the last values may still be written."""
UNCLEAR = 180.0
"""Seconds after which a submission of unclear outcome counts as failed."""
GONE = 300.0
"""Seconds beyond its walltime after which an unanswered trial inside an allocation is over."""
LOGS = 8 << 20
"""Bytes of logs that are searched for a curve while a trial runs."""


@dataclass(frozen=True)
class Progress:
    """The state of a trial according to its run."""

    state: str
    """WAITING, RUNNING, FINISHED, STOPPED or FAILED."""
    curve: Curve = ()
    """(seconds since the job began, or number of the value; value of the metric)."""
    value: float | None = None
    """The result by the objective; None without one."""
    seconds: float = 0.0
    """How long its job held its nodes."""
    used: Spent = field(default_factory=Spent)
    still: Spent = field(default_factory=Spent)
    """Its maximum remaining cost."""
    reason: str = ""
    """Why it failed, in the current language; for a stopped one the rule."""
    probability: float | None = None
    """For a stopped one: the probability of becoming the best."""
    due: str = ""
    """For a running one: TIME_IS_UP or REACHED when it can be cancelled."""


def progress(
    run: RunDirectory, status: RunStatus, objective: Objective, cluster: "Cluster | None", now: float
) -> Progress:
    """Return the state of a trial whose run is in this state; `now`: seconds since 1970.

    Raises RequestError for a metric's pattern that is not a regular expression.
    """
    used, still, seconds = _costs(run, status, cluster, now)
    unclear = status.state == UNCERTAIN and now - (status.t_submitted or 0.0) < UNCLEAR  # it is being submitted
    if status.state in (CREATED, QUEUED, HELD) or unclear:
        return Progress(WAITING, used=used, still=still)
    gone = is_gone(run, status, now)
    open_, fact = status.state in OPEN and status.state != UNCERTAIN and not gone, run.client(FACT)
    curve = curve_of(run, status, objective, now)
    elapsed = max(0.0, (status.t_ended or now) - status.t_started) if status.t_started is not None else 0.0
    why = text_of(fact.get("why"))
    value = _result(run, status, objective, curve, elapsed, ended=bool(why) or not open_)
    base = Progress(RUNNING, curve, seconds=seconds, used=used, still=still)
    if why == BY_RULE:
        rule, probability = text_of(fact.get("rule")), finite(fact.get("probability"))
        return replace(base, state=STOPPED, reason=rule, probability=probability)
    if open_ and not why:
        return replace(base, due=_due(objective, elapsed, curve))
    if value is not None or (objective.kind == TIME_TO and status.state == SUCCEEDED):
        return replace(base, state=FINISHED, value=value)
    silent = why or status.state == SUCCEEDED
    reason = _("no value of {metric}", metric=objective.metric) if silent else status.explanation or status.state
    if gone and not why:
        reason = _("its allocation has ended")
    return replace(base, state=FAILED, reason=reason)


def is_gone(run: RunDirectory, status: RunStatus, now: float) -> bool:
    """Return whether a trial is over whose allocation has ended on another machine.

    Only that machine's supervisor knows a local job's end. Long after its walltime there is no supervisor any more.
    """
    if status.state not in OPEN or status.t_started is None:
        return False
    record = run.record()
    return record.inside_allocation and now > status.t_started + record.walltime + GONE


def curve_of(run: RunDirectory, status: RunStatus, objective: Objective, now: float) -> Curve:
    """Return a trial's curve over the objective's axis; empty when it cannot be read while it runs.

    Times come from the Meter's lines. Log lines have no time: a pattern's values are spread evenly from the start to
    now, or to the end. If the whole training counts, x is the number of the value, also for a thinned curve.
    """
    begin, over = status.t_started, status.state not in OPEN
    if begin is None:
        return ()
    counted = objective.kind == END
    timed = timed_series(run.path, objective.metric, over=over, counted=counted)
    if timed:
        points = [(x + 1.0 if counted else max(0.0, x - begin), value) for x, value in timed]
    else:
        entry = run.record().metrics.get(objective.metric, {})
        values = printed_series(run.path, objective.metric, entry, over=over, most=LOGS)
        span = float(len(values)) if counted else max(0.0, (status.t_ended or now) - begin)
        points = [(span * number / len(values), value) for number, value in enumerate(values, 1)]
    last = len(points) - 1  # a final value that is not finite shows that the training diverged
    points = [pair for number, pair in enumerate(points) if math.isfinite(pair[1]) or number == last]
    return tuple(sorted(points, key=lambda pair: pair[0]))


def with_final(curve: Curve, progress: Progress, objective: Objective) -> Curve:
    """Return the curve of a finished trial with its result as the last value, for comparisons with others."""
    if objective.kind == TIME_TO or progress.value is None:
        return curve
    last = curve[-1][0] if curve else max(1.0, progress.seconds)
    return (*curve[:-1], (last, progress.value))


def _result(
    run: RunDirectory, status: RunStatus, objective: Objective, curve: Curve, elapsed: float, *, ended: bool
) -> float | None:
    if objective.kind == TIME_TO:
        result = next((x for x, value in curve if objective.reached(value)), None)
        if result is None and status.state == SUCCEEDED and (final := _final(run, objective)) is not None:
            return elapsed if objective.reached(final) else None
        return result
    if not ended:
        return None
    if objective.kind == AFTER and objective.seconds is not None and elapsed > objective.seconds:
        result = value_at(curve, objective.seconds)
        # if the program recorded its only value later, its value at that time is unknown
        return result if result is not None and math.isfinite(result) else None
    return _final(run, objective) if status.state == SUCCEEDED else None


def _final(run: RunDirectory, objective: Objective) -> float | None:
    # not `metric=`: for the metric that measures a run, the median over its intervals counts
    final = final_numbers(run.path, run.record(), over=True).values.get(objective.metric)
    return final if final is not None and math.isfinite(final) else None


def _due(objective: Objective, elapsed: float, curve: Curve) -> str:
    if objective.kind == TIME_TO and any(objective.reached(value) for _, value in curve):
        return REACHED
    if objective.kind == AFTER and objective.seconds is not None and elapsed >= objective.seconds + FLUSH:
        return TIME_IS_UP
    return ""


def _costs(run: RunDirectory, status: RunStatus, cluster: "Cluster | None", now: float) -> tuple[Spent, Spent, float]:
    """Return the cost of a run's job so far, its maximum remaining cost, and how long it held its nodes."""
    use, rates = use_by(run, status), cluster.rates if cluster is not None else None
    holding = use.held(now)
    nodes = math.fsum(life.seconds * life.nodes for life in holding.lives)
    gpus = math.fsum(life.seconds * gpus_of(use, life, cluster) for life in holding.lives)
    remaining = holding.still(use.walltime)
    if status.state == CREATED:
        remaining = float(use.walltime)
    gpus_per_node = gpus_given(use.gpus_per_node, use.gpus_wanted, cluster, queue=use.queue or None, nodes=use.nodes)
    return (
        spent(nodes, gpus, rates),
        spent(remaining * use.nodes, remaining * use.nodes * gpus_per_node, rates),
        holding.seconds,
    )


def fact_of(why: str, now: float, more: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fact that is written before a trial's job is cancelled."""
    return {"t": now, "why": why, **more}
