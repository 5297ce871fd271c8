"""The tuner: checks all trials, cancels jobs that are done or hopeless, and adds trials when slots are free.

Its only state is the study's folder: any number of tuners may work on one study, and `--resume` replaces a killed one.
The first to write a trial's file owns its number; the one that reserves it creates its run (`hackathon.runs.study`).
"""

import math
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hackathon.jobs.cost import cost
from hackathon.jobs.grid import Cell, with_settings
from hackathon.jobs.plan import plan_jobs
from hackathon.jobs.resolve import resolve
from hackathon.logs.final import metric_unit
from hackathon.runs.campaign import Campaign, resume
from hackathon.runs.directory import RunDirectory
from hackathon.runs.states import RunStatus
from hackathon.runs.study import TUNE, Point, Study, add_trial, create_study
from hackathon.text.errors import RequestError
from hackathon.text.json_fields import mapping_of
from hackathon.tuning.trials.algorithms import comparison, next_algorithm
from hackathon.tuning.trials.allocation import find_allocation, inside
from hackathon.tuning.trials.former import NOTHING, WarmStart
from hackathon.tuning.trials.ledger import Trial, most_of, plan_of, trials_of
from hackathon.tuning.trials.objective import AFTER, END, TIME_TO
from hackathon.tuning.trials.outcome import best, hopeless, tokens_open, tokens_used
from hackathon.tuning.trials.plan import MOST_TRIALS, TuningPlan, options_json, options_of
from hackathon.tuning.trials.reading import (
    BY_RULE,
    FACT,
    FINISHED,
    RUNNING,
    STOPPED,
    WAITING,
    Progress,
    fact_of,
    with_final,
)
from hackathon.tuning.trials.samplers import KnownTrial, propose, propose_of
from hackathon.tuning.trials.stopping import GO_ON, RULES, StopVerdict, TrialSituation

if TYPE_CHECKING:
    from hackathon.config.records import Scalar
    from hackathon.jobs.places import Foreign
    from hackathon.jobs.plan import Plan
    from hackathon.jobs.request import Request
    from hackathon.jobs.resolve import Sources
    from hackathon.jobs.settings import Settings
    from hackathon.runs.submit import Outcomes

TAG = "tune"
"""Tag of the runs of trials."""
UNWRITTEN = 60.0
"""Seconds after which an empty trial file counts as abandoned."""


@dataclass(frozen=True)
class Ended:
    """A trial whose job the tuner has just cancelled."""

    trial: Trial
    why: str
    verdict: StopVerdict = GO_ON


@dataclass
class Tuner:
    """The trials of a tuning study."""

    campaign: Campaign
    plan: TuningPlan
    warm: WarmStart = NOTHING
    """Data imported from earlier studies."""
    _known: dict[str, Progress] = field(default_factory=dict)
    """Run → its state, for runs that cannot change any more."""
    _told: set[str] = field(default_factory=set)
    """Runs whose jobs this process has cancelled."""
    _judged: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Run → (values of its curve, finished trials) at its last judgement."""
    used_up: bool = False
    """Whether the space has no further configuration."""
    over_budget: bool = False
    """Whether the tokens do not allow one more trial."""

    def look(self, states: Sequence[RunStatus], now: float | None = None) -> list[Trial]:
        """Return all trials; `states`: of the study's runs."""
        cluster = self.campaign.sources.cluster
        return trials_of(self.campaign.study, self.plan, states, cluster, now, self._known)

    def end_due(self, trials: Sequence[Trial]) -> list[Ended]:
        """End the jobs of trials that are done or hopeless, and return these. Raises HackathonError.

        The reason is recorded first. A job with a reason that was not cancelled, because its tuner was killed, is
        cancelled now.
        """
        moment, ended = time.time(), []
        for trial in trials:
            run, done = trial.run, trial.progress
            if run is None or not trial.job_open or run.id in self._told:
                continue
            if done.state == RUNNING:
                verdict = GO_ON if done.due else self.judge(trial, trials)
                why = done.due or (BY_RULE if verdict.stop else "")
                if not why:
                    continue
                more = {"rule": self.plan.stopper, "probability": verdict.probability} if why == BY_RULE else {}
                run.write_client(FACT, fact_of(why, moment, more))
                ended.append(Ended(trial, why, verdict))
            elif not run.client(FACT) or run.client("cancelled"):
                continue
            self._cancel(run)
        return ended

    def _cancel(self, run: RunDirectory) -> None:
        from hackathon.runs.cancel import cancel

        try:
            cancel(run)
        except RequestError:
            pass  # the job is gone, or perhaps not this one: the run's state decides
        self._told.add(run.id)

    def judge(self, trial: Trial, trials: Sequence[Trial]) -> StopVerdict:
        """Return the stopping rule's verdict on a running trial; GO_ON without new data."""
        incumbent = best(trials, self.plan)
        fastest = incumbent.progress.value if incumbent and self.plan.objective.kind == TIME_TO else None
        if fastest is not None and trial.progress.seconds >= fastest and self.plan.stopper != "none":
            return StopVerdict(True, 0.0)  # it has taken longer already
        now = self.situation(trial, trials)
        if now is None or trial.run is None:
            return GO_ON
        lengths = len(now.curve), len(now.finished)
        if self._judged.get(trial.run.id) == lengths:
            return GO_ON
        self._judged[trial.run.id] = lengths
        return RULES[self.plan.stopper](now)

    def situation(self, trial: Trial, trials: Sequence[Trial]) -> TrialSituation | None:
        """Return the facts about a running trial; None while nothing is comparable."""
        objective = self.plan.objective
        finished = [other for other in trials if other.progress.state == FINISHED and other.number != trial.number]
        curves = [with_final(other.progress.curve, other.progress, objective) for other in finished]
        former = self.warm.curves if self.plan.stopper == "predict" else ()
        rivals = [other.progress.curve for other in trials if other.number != trial.number and other.progress.curve]
        incumbent = best(trials, self.plan)
        curve, target = trial.progress.curve, incumbent.progress.value if incumbent else None
        if objective.kind == AFTER:
            horizon = objective.seconds
        elif objective.kind == END:
            lengths = sorted(curve[-1][0] for curve in curves if curve)
            horizon = lengths[len(lengths) // 2] if lengths else None
            if horizon is None or (curve and curve[-1][0] >= horizon):
                return None  # a longer training may still become better
        else:
            horizon = target
            target = objective.goal
            curves = [curve for curve in curves if horizon is not None and curve and curve[-1][0] >= horizon]
        if horizon is None:
            return None
        reaching = [curve for curve in former if objective.kind == AFTER or curve[-1][0] >= horizon]
        return TrialSituation(curve, [*curves, *reaching], rivals, horizon, target, objective.maximise, self.plan.delta)

    def add(self, trials: Sequence[Trial]) -> int:
        """Write as many new trials as there are free slots, and return their number. Raises HackathonError.

        A tuner that loses the race for a number writes nothing more and reads the trials again.
        """
        study, current = self.campaign.study, list(trials)
        added = 0
        while self._room(current):
            records = study.trials()
            if len(records) > len(current) + sum(not record for record in records.values()):
                break  # another tuner has added one meanwhile
            if any(not record and self._is_being_written(number) for number, record in records.items()):
                break
            settings = self.proposal(current)
            if settings is None:
                self.used_up = True
                break
            point, request = self._point(settings, current)
            self.over_budget = not self._affordable(request, current)
            if self.over_budget:
                break
            number = max(records, default=0) + 1
            if not add_trial(study, number, point, request, {"sampler": self.plan.sampler}):
                break
            still = most_of(request, self.campaign.sources.cluster)
            current.append(Trial(number, settings, None, Progress(WAITING, still=still)))
            added += 1
        return added

    def proposal(self, trials: Sequence[Trial]) -> dict[str, "Scalar"] | None:
        """Return the settings of the next trial; during a comparison, of an algorithm with the fewest trials."""
        mine = [self._as_known(trial, trials) for trial in trials]
        plan, first = self.plan, list(self.warm.configurations)
        former = [KnownTrial(trial.settings, trial.value, FINISHED) for trial in self.warm.trials]
        standing = comparison(plan, trials)
        if standing is None:
            return propose(plan, mine, first, former)
        for name in next_algorithm(plan, trials, standing) if len(standing.living) > 1 else ():
            if (proposal := propose_of(plan, name, mine)) is not None:
                return proposal
        if len(standing.living) != 1:
            return None
        (name,) = standing.living
        if plan.sampler == "grid":
            return propose_of(plan, name, mine)
        axis = [
            replace(dimension, choices=(name,)) if dimension.name == plan.compare else dimension
            for dimension in plan.space
        ]
        mine = [trial for trial in mine if trial.settings.get(plan.compare) == name]
        former = [trial for trial in former if trial.settings.get(plan.compare) == name]
        first = [settings for settings in first if settings.get(plan.compare) == name]
        return propose(replace(plan, space=tuple(axis)), mine, first, former)

    def _is_being_written(self, number: int) -> bool:
        try:
            changed = (self.campaign.study.path / "trials" / f"{number:05d}.json").stat().st_mtime
        except OSError:
            return False
        return time.time() - changed < UNWRITTEN

    def _room(self, trials: Sequence[Trial]) -> bool:
        most = min(self.plan.trials or MOST_TRIALS, MOST_TRIALS)
        return (
            len(trials) < most and sum(trial.place for trial in trials) < self.plan.concurrent and not hopeless(trials)
        )

    def _point(self, settings: "Settings", trials: Sequence[Trial]) -> tuple[Point, "Request"]:
        request = self.request(settings)
        from hackathon.jobs.settings import point_key

        repeat = 1 + sum(dict(trial.settings) == dict(settings) for trial in trials)
        key = point_key(request.processes, settings)
        return Point(request.processes, repeat, key=key, settings=dict(settings)), request

    def request(self, settings: "Settings") -> "Request":
        """Return the checked request of a configuration. Raises RequestError, CheckError."""
        sources = self.campaign.sources
        plan = plan_jobs(sources, [Cell(resolve(with_settings(sources, settings)), settings)], script=False)
        return plan.jobs[0].request

    def _affordable(self, request: "Request", trials: Sequence[Trial]) -> bool:
        if self.plan.tokens is None:
            return True
        most = cost([request], self.campaign.sources.cluster).tokens or 0.0
        return tokens_used(trials) + tokens_open(trials) + most <= self.plan.tokens * (1 + 1e-9)

    def _as_known(self, trial: Trial, trials: Sequence[Trial]) -> KnownTrial:
        done = trial.progress
        if done.state in (WAITING, RUNNING):
            return KnownTrial(trial.settings)
        value = done.value
        if done.state == STOPPED:
            value = done.curve[-1][1] if done.curve and math.isfinite(done.curve[-1][1]) else None
            if self.plan.objective.kind == TIME_TO:  # it would have taken longer than the best one
                incumbent = best(trials, self.plan)
                value = 2 * (incumbent.progress.value or 0.0) if incumbent else None
        return KnownTrial(trial.settings, value, done.state)

    def submit(self, states: Sequence[RunStatus]) -> "Outcomes":
        """Submit the trials without a job, and return the outcomes."""
        return self.campaign.advance(None, states)

    def done(self, trials: Sequence[Trial]) -> bool:
        """Return whether no trial is running and none will be added."""
        if any(trial.place or trial.job_open for trial in trials):
            return False
        most = min(self.plan.trials or MOST_TRIALS, MOST_TRIALS)
        return len(trials) >= most or self.used_up or self.over_budget or hopeless(trials)


def begin(
    planned: "Plan", plan: TuningPlan, *, note: str = "", tags: Sequence[str] = (), warm: WarmStart = NOTHING
) -> Tuner:
    """Return the tuner of a new study whose trials are like the only job of a plan. Raises like `create_study`."""
    request, sources = planned.jobs[0].request, planned.sources
    study = create_study(
        sources.runs.parent,
        request.name,
        mode="",
        metric=plan.objective.metric,
        unit=metric_unit(request.metrics, plan.objective.metric),
        points=(),
        base_request=request,
        options={
            "note": note, "tags": [TAG, *tags], "tune": plan.to_json(), "given": options_json(sources.options),
            "requests": {}, "warm": warm.to_json(),
        },
        kind=TUNE,
    )  # fmt: skip
    return Tuner(Campaign(study, sources_for(plan, sources, request.parameters)), plan, warm)


def again(study: Study, project: Path, target: str | None, changes: Mapping[str, Any], foreign: "Foreign") -> Tuner:
    """Return the tuner of an earlier study, with `changes` of its limits. Raises the errors of `campaign.resume`."""
    plan = replace(plan_of(study), **changes)
    options = mapping_of(study.record().get("options"))
    arguments, warm = options_of(mapping_of(options.get("given"))), WarmStart.from_json(options.get("warm"), plan.space)
    campaign = resume(study.id, target, arguments, project, foreign=foreign)
    sources = sources_for(plan, campaign.sources, study.base_request().parameters)
    if not plan.inside:
        return Tuner(Campaign(study, sources), plan, warm)
    sources = inside(sources, find_allocation(os.environ), plan.concurrent)
    return Tuner(Campaign(study, sources, sources.cluster.dialect), plan, warm)


def sources_for(plan: TuningPlan, sources: "Sources", parameters: Mapping[str, Any]) -> "Sources":
    """Return the sources of all trials: every fixed parameter has its initial value."""
    varied = {dimension.name for dimension in plan.space}
    fixed = {name: str(value) for name, value in parameters.items() if name not in varied}
    return replace(sources, options=replace(sources.options, parameters=fixed))
