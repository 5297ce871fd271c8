"""The trials of a tuning study, read from its folder and the runs of its points."""

import contextlib
import time
from collections.abc import MutableMapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hackathon.jobs.cost import Spent, cost
from hackathon.runs.directory import RunDirectory
from hackathon.runs.states import OPEN, UNCERTAIN, RunStatus
from hackathon.runs.study import Point, Study, runs_of
from hackathon.text.errors import HackathonError, RequestError
from hackathon.text.json_fields import mapping_of
from hackathon.tuning.trials.plan import TuningPlan
from hackathon.tuning.trials.reading import RUNNING, WAITING, Progress, is_gone, progress

if TYPE_CHECKING:
    from hackathon.config.cluster import Cluster
    from hackathon.jobs.request import Request
    from hackathon.jobs.settings import Settings

_WITH_JOB = OPEN - {UNCERTAIN}


@dataclass(frozen=True)
class Trial:
    """One trial of the ledger."""

    number: int
    settings: "Settings"
    run: RunDirectory | None
    progress: Progress
    job_open: bool = False
    """Whether its job is, or may be, with the scheduler, also after a cancellation."""

    @property
    def place(self) -> bool:
        """Whether it occupies one of the concurrent slots."""
        return self.progress.state in (WAITING, RUNNING)


def trials_of(
    study: Study,
    plan: TuningPlan,
    states: Sequence[RunStatus],
    cluster: "Cluster | None",
    now: float | None = None,
    ended: MutableMapping[str, Progress] | None = None,
) -> list[Trial]:
    """Return all trials of a study; `states`: of its runs.

    `cluster`: its profile, None if unknown: then nothing has a price. `ended`: a cache for runs that cannot change any
    more.
    """
    moment = time.time() if now is None else now
    memory: MutableMapping[str, Progress] = {} if ended is None else ended
    by_run = {state.run_id: state for state in states}
    runs = {run.id: run for run in runs_of(study)}
    trials = []
    for number, record in study.trials().items():
        if not record:
            continue
        point = Point.from_json(record)
        run_id = study.run_id(point) or ""
        run, state = runs.get(run_id), by_run.get(run_id)
        if run is None or state is None:
            trials.append(Trial(number, point.settings, None, Progress(WAITING, still=_still(study, point, cluster))))
            continue
        outcome = memory.get(run_id) or progress(run, state, plan.objective, cluster, moment)
        if not state.open and (state.settled or state.sealed):
            memory[run_id] = outcome
        with_job = state.state in _WITH_JOB and not is_gone(run, state, moment)
        trials.append(Trial(number, point.settings, run, outcome, with_job))
    return trials


def read_trials(study: Study, plan: TuningPlan, states: Sequence[RunStatus]) -> list[Trial]:
    """Return the trials of a study for display, with prices by its cluster's current profile."""
    from hackathon.schedulers.registry import load_cluster

    cluster = None
    if not plan.inside:
        with contextlib.suppress(HackathonError):  # without its profile nothing has a price
            cluster = load_cluster(study.base_request().cluster, [study.runs_folder.parent])
    return trials_of(study, plan, states, cluster)


def _still(study: Study, point: Point, cluster: "Cluster | None") -> Spent:
    try:
        return most_of(study.requested(point), cluster)
    except (KeyError, TypeError, AttributeError):  # its file is invalid
        return Spent()


def plan_of(study: Study) -> TuningPlan:
    """Return the options of a tuning study. Raises RequestError for another kind of study or a broken one."""
    if not study.tuned:
        raise RequestError(
            "tune.other_study",
            "{study} is not a tuning study",
            hint="Continue a scaling study with: hackathon scale --resume",
            study=study.id,
        )
    try:
        return TuningPlan.from_json(mapping_of(study.record().get("options")).get("tune"))
    except (ValueError, TypeError):
        raise RequestError(
            "runs.study_broken", "{path} is not a study: study.json is missing or damaged", path=study.path
        ) from None


def most_of(request: "Request", cluster: "Cluster | None") -> Spent:
    """Return the maximum cost of a job."""
    if cluster is None:
        return Spent()
    most = cost([request], cluster)
    return Spent(most.node_hours, most.gpu_hours, most.tokens)
