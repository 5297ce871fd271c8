"""Turn project files and options into submitted jobs; every command that submits uses this module.

`plan` gathers, resolves, checks, renders and admits. `start` (for jobs) and `advance` (for the points of a study) take
the snapshot, create the runs and submit them. The caller prints, and refuses plans with `admit`.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hackathon.jobs.grid import Cell
from hackathon.jobs.plan import Plan, PlannedJob, plan_jobs
from hackathon.jobs.request import Request
from hackathon.runs import dependency
from hackathon.runs.directory import RunDirectory, new_run_id
from hackathon.runs.source import snapshot
from hackathon.runs.study import (
    Point,
    Study,
    create_study,
    find_study,
    holds,
    newest_study,
    next_points,
    pending_points,
    reserve,
    runs_of,
)
from hackathon.runs.submit import Outcome, Outcomes, require_after, submit, submit_chain, submit_many
from hackathon.text.files import read_json

if TYPE_CHECKING:
    from hackathon.jobs.places import Foreign
    from hackathon.jobs.request import Options
    from hackathon.jobs.resolve import Sources
    from hackathon.runs.states import RunStatus
    from hackathon.schedulers.base import Scheduler

Facts = Mapping[str, dict[str, Any]]
"""Further files for a run's `client/`."""


Admit = Callable[[Plan], None]
"""Checks a plan before anything is submitted; raises HackathonError to refuse it (e.g. the budget is spent)."""


def plan(
    sources: "Sources",
    wanted: Sequence[Request] | Sequence[Cell] | None = None,
    *,
    repeat: int = 1,
    preflight: bool = False,
    become: Callable[[Request], Request] | None = None,
    admit: Admit | None = None,
) -> Plan:
    """Return the plan of the requested jobs, ready to submit, with a preflight if requested.

    Raises the errors of `plan_jobs` and of `admit`.
    """
    from hackathon.schedulers.known_nodes import known_nodes

    nodes = known_nodes(sources.cluster)
    job_plan = plan_jobs(sources, wanted, repeat=repeat, become=become, nodes=nodes)
    if preflight:
        from hackathon.runs.preflight import preflight_request

        largest = max((job.request for job in job_plan.jobs), key=lambda request: (request.nodes, request.processes))
        require_after(_scheduler(largest), "ok")
        first = PlannedJob(preflight_request(largest, sources), sources)
        assert first.script
        job_plan = replace(job_plan, preflight=first)
    if admit is not None:
        admit(job_plan)
    return job_plan


def program_of(planned: Plan) -> snapshot.Source:
    """Return the current program of a plan. One copy serves all jobs. Raises the errors of `snapshot.take`."""
    return _program(planned.jobs[0].request, planned.sources)


def start(
    planned: Plan,
    *,
    note: str = "",
    tags: Sequence[str] = (),
    source: snapshot.Source | None = None,
    after: tuple[str, str] | None = None,
    segments: int = 1,
    parent: str | None = None,
    facts: Facts | None = None,
    files: Mapping[str, bytes] | None = None,
    told: Callable[[RunDirectory], None] | None = None,
) -> Outcomes:
    """Create and submit the runs of a plan; return their outcomes in order.

    `source`: the program (default: its current state). `after`: what all runs wait for. `segments`: number of runs that
    the plan's only job is split into. `parent`, `facts` and `files` are stored in every run. `told` is called with the
    preflight's run once it is submitted. Raises the errors of `create` and `submit` for the preflight and the first
    run; later errors are in the outcomes.
    """
    from hackathon.runs.create import create

    source = source or program_of(planned)
    runs_folder = planned.sources.runs
    scheduler = _scheduler(planned.jobs[0].request)
    for condition in [*(["any"] if segments > 1 else []), *([after[0]] if after else [])]:
        require_after(scheduler, condition)
    if segments > 1:
        from hackathon.runs.chain import create_chain

        (job,) = planned.jobs
        chain = create_chain(
            job.request, job.script, segments, runs_folder=runs_folder, note=note, tags=tags, source=source,
            facts=_asked(after),
        )  # fmt: skip
        return submit_chain(chain, scheduler, after)
    jobs = [(job, _new_id(job.request)) for job in planned.jobs for _ in range(planned.repeat)]
    if planned.preflight is not None:
        run, waiting = _submit_preflight(planned, jobs[0][1], note, after)
        facts, after = {**(facts or {}), **waiting}, None
        if told is not None:
            told(run)
    runs = (
        create(
            job.request, job.script, runs_folder=runs_folder, run_id=run_id, note=note, tags=tags, source=source,
            parent=parent, facts={**(facts or {}), **_asked(after)}, files=files,
        )
        for job, run_id in jobs
    )  # fmt: skip
    return submit_many(runs, scheduler, after=after)


def start_in_turn(planned: Plan, *, tags: Sequence[str] = ()) -> Outcomes:
    """Create and submit the jobs of a plan one after another; each starts when the one before has ended.

    Stops at the first error. Raises the errors of `create` for the first run.
    """
    outcomes = Outcomes()
    source = program_of(planned)
    after: tuple[str, str] | None = None
    for job in planned.jobs:
        outcome = start(replace(planned, jobs=(job,)), tags=tags, source=source, after=after)
        outcomes += outcome
        outcomes.error = outcome.error
        if not outcome or outcome[-1].job_id is None:
            break
        after = "any", str(outcome[-1].job_id)
    return outcomes


def repeat_run(run: RunDirectory, *, runs_folder: Path, note: str, tags: Sequence[str]) -> Outcomes:
    """Submit a run's recorded script and program again as a new run. Raises the errors of `rerun`."""
    from hackathon.runs.rerun import rerun

    again = rerun(run, runs_folder=runs_folder, note=note, tags=tags)
    return submit_many([again], _scheduler(again.request()))


def resubmit(run: RunDirectory) -> Outcomes:
    """Submit a run again after an interrupted submission, unless its job exists. Raises the errors of `submit`."""
    from hackathon.runs import chain

    scheduler = _scheduler(run.request())
    return Outcomes([Outcome(run, submit(run, scheduler, again=True, after=chain.dependency(run)))])


@dataclass(frozen=True)
class Campaign:
    """A study with everything needed to submit its points."""

    study: Study
    sources: "Sources" = field(repr=False)
    dialect: Mapping[str, Any] | None = None
    """How the scheduler is used now; None: as at the start of the study."""

    @cached_property
    def source(self) -> snapshot.Source:
        """The program of all points: that of the study's first run, else the folder's current content."""
        request = self.study.base_request()
        if not request.in_place:
            for run in runs_of(self.study):
                record = read_json(run.path / "source.json")
                if isinstance(record, dict) and (run.path / "source").is_dir():
                    return snapshot.recorded(run.path / "source", record)
        return _program(request, self.sources)

    def rest(self, states: Sequence["RunStatus"]) -> Plan:
        """Return the plan of the points that are not submitted yet; `states`: those of the study's runs."""
        left = pending_points(self.study, states)
        jobs = (PlannedJob(request_of(self.study, point), self.sources, point.settings) for point in left)
        return Plan(self.sources, tuple(jobs))

    def advance(self, most_queued: int | None = None, states: Sequence["RunStatus"] | None = None) -> Outcomes:
        """Submit the next points, at most `most_queued` runs at a time, and return their outcomes.

        `states`: those of the study's runs, if the caller has them. A point that another process reserved meanwhile is
        skipped; a point whose run was created but not submitted gets that run submitted. Errors of the scheduler and of
        creating a run are in the outcomes.
        """

        due = next_points(self.study, most_queued, states=states)
        if not due:
            return Outcomes()
        request = self.study.base_request()
        request_as_asked = request if self.dialect is None else replace(request, dialect=dict(self.dialect))
        return submit_many(self._runs(due), _scheduler(request_as_asked))

    def _runs(self, points: Sequence[Point]) -> Iterator[RunDirectory]:
        """Reserve the points and create their runs, one at a time."""
        from hackathon.runs.create import create

        options = self.study.record().get("options", {})
        jobs: dict[str, PlannedJob] = {}
        for point in points:
            if point.run is not None:
                yield point.run
                continue
            if point.key not in jobs:
                jobs[point.key] = PlannedJob(request_of(self.study, point), self.sources, point.settings)
            job = jobs[point.key]
            run_id = _new_id(job.request)
            script, source = job.script, self.source
            if not reserve(self.study, point, run_id):
                continue
            run = create(
                job.request,
                script,
                runs_folder=self.study.runs_folder,
                run_id=run_id,
                note=str(options.get("note") or ""),
                tags=options.get("tags") or (),
                study=point.to_json(self.study.id),
                source=source,
                facts={dependency.FACT: options[dependency.FACT]} if dependency.FACT in options else None,
            )
            # creating it may have taken so long that another process took over the point
            if holds(self.study, run):
                yield run


def begin(
    planned: Plan,
    *,
    note: str = "",
    tags: Sequence[str] = (),
    unit: str = "",
    told: Callable[[RunDirectory], None] | None = None,
) -> Campaign:
    """Return the campaign of a new study: one point per job and repeat, in the plan's order; no run is submitted.

    The study stores every request, so that a later `resume` submits the same jobs whatever was edited since. A
    preflight is submitted; `told` is called with its run. Raises the errors of `start` and `create_study`.
    """
    first = planned.jobs[0].request
    options: dict[str, Any] = {"note": note, "tags": list(tags)}
    if planned.preflight is not None:
        run, facts = _submit_preflight(planned, None, note, None)
        options |= facts
        if told is not None:
            told(run)
    study = create_study(
        planned.sources.runs.parent,
        first.name,
        mode=first.mode or "weak",
        metric=first.metric,
        unit=unit,
        points=[
            Point(job.request.processes, number, key=job.key, settings=job.settings)
            for job in planned.jobs
            for number in range(1, planned.repeat + 1)
        ],
        base_request=first,
        options={**options, "requests": {job.key: job.request.to_json() for job in planned.jobs}},
    )
    return Campaign(study, planned.sources)


def resume(
    name: str, target: str | None, options: "Options", project: Path, *, foreign: "Foreign" = "refuse"
) -> Campaign:
    """Return the campaign of an earlier study: the one whose id contains `name`, else the newest.

    Raises RequestError when there is none, ForeignError for another account's study, and the errors of `find_sources`.
    """
    from hackathon.jobs.places import admit_again
    from hackathon.jobs.sources import find_sources

    study = (find_study(name, project) if name else None) or newest_study(project)
    admit_again(study.path, project, foreign)
    base = study.base_request()
    target = target or (None if (project / "project.yaml").is_file() else base.recipe)
    return Campaign(study, find_sources(target, replace(options, cluster=base.cluster), project, foreign=foreign))


def request_of(study: Study, point: Point) -> Request:
    """Return the request of a study's point. Raises KeyError when the study has no such point."""
    return study.requested(point)


def _submit_preflight(
    planned: Plan, parent: str | None, note: str, after: tuple[str, str] | None
) -> tuple[RunDirectory, dict[str, dict[str, Any]]]:
    """Create and submit the preflight's run; return it and the facts for the runs that wait for it.

    `parent`: the (first) run that waits for it. `after`: what the preflight itself waits for. Raises the errors of
    `create` and `submit`; no run waits for it at that time.
    """
    from hackathon.runs.create import create
    from hackathon.runs.preflight import RECIPE

    job = planned.preflight
    assert job is not None
    run = create(
        job.request,
        job.script,
        runs_folder=planned.sources.runs,
        # one second earlier, so that the waiting run is the newest one, which commands without a name use
        run_id=new_run_id(job.request.name, job.request.processes, time.time() - 1),
        parent=parent,
        note=note,
        tags=(RECIPE,),
        source=_program(job.request, planned.sources),
        facts=_asked(after),
    )
    submit(run, _scheduler(job.request), after=after)
    return run, {dependency.FACT: dependency.waits_for(run.id)}


def _asked(after: tuple[str, str] | None) -> dict[str, dict[str, Any]]:
    """Return the fact that stores the job that a run must wait for."""
    return {} if after is None else {dependency.JOB: dependency.waits_for_job(*after)}


def _program(request: Request, sources: "Sources") -> snapshot.Source:
    return snapshot.of_request(request, sources.runs)


def _scheduler(request: Request) -> "Scheduler":
    from hackathon.schedulers import registry

    return registry.load(request.scheduler, request.dialect)


def _new_id(request: Request) -> str:
    return new_run_id(request.name, request.processes)
