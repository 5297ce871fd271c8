"""Projects, their studies and their runs from Python."""

import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from hackathon.api import frames, html
from hackathon.api.diagnosis import DiagnosisReport
from hackathon.api.diagnosis import diagnose as diagnose_paths
from hackathon.api.exports import StudyExport, export_study
from hackathon.api.options import request_options
from hackathon.api.results import StudyResults
from hackathon.text.errors import RequestError

if TYPE_CHECKING:
    from hackathon.jobs.plan import Plan
    from hackathon.jobs.resolve import Sources
    from hackathon.jobs.script import JobScript
    from hackathon.runs.directory import RunDirectory
    from hackathon.runs.status import RunStatus
    from hackathon.runs.study import Study

Entry = TypeVar("Entry", "HackathonRun", "HackathonStudy")


class _Listing(tuple[Entry, ...]):
    """Entries of one kind, with a table of them."""

    columns: tuple[str, ...] = ()

    def to_pandas(self) -> Any:
        """Return a `pandas.DataFrame`, one row per entry. Raises RequestError where pandas is not installed."""
        return frames.to_pandas(self._table())

    def to_polars(self) -> Any:
        """Return a `polars.DataFrame`, one row per entry. Raises RequestError where polars is not installed."""
        return frames.to_polars(self._table())

    def _table(self) -> frames.Columns:
        return {name: [_cell(getattr(entry, name)) for entry in self] for name in self.columns}

    def _repr_html_(self) -> str:
        rows = [[_cell(getattr(entry, name)) for name in self.columns] for entry in self]
        return html.table(self.columns, rows)


class Runs(_Listing["HackathonRun"]):
    """Runs, newest first: a tuple with `to_pandas` and `to_polars`."""

    columns = ("id", "name", "state", "reason", "processes", "nodes", "cluster", "job_id", "study", "note", "tags")


class Studies(_Listing["HackathonStudy"]):
    """Studies, newest first: a tuple with `to_pandas` and `to_polars`."""

    columns = ("id", "name", "kind", "mode", "metric", "unit", "created")


@dataclass(frozen=True)
class HackathonRun:
    """One run as it was when it was read; `refresh` reads it again."""

    id: str
    path: Path
    """Its folder."""
    name: str
    """Name of its recipe or project."""
    state: str
    """CREATED, QUEUED, HELD, RUNNING, ENDING, SUCCEEDED, FAILED, TIMEOUT, OUT_OF_MEMORY, CANCELLED, NODE_FAILED,
    UNCERTAIN or LOST."""
    reason: str
    """Why it ended, in one line; empty when the state says all."""
    job_id: str | None
    """The scheduler's id; None before the submission."""
    processes: int
    """0 if the record does not tell."""
    nodes: int
    """0 if the record does not tell."""
    cluster: str
    study: str
    """Id of its study; empty for a single run."""
    note: str
    tags: tuple[str, ...]
    created: float
    """Seconds since 1970."""

    def refresh(self) -> "HackathonRun":
        """Return the run as it is now."""
        return _runs([self._directory()])[0]

    def wait(self, seconds: float | None = None) -> "HackathonRun":
        """Return the run when it has ended, or as it is after so many seconds (None: no limit)."""
        return wait(self, seconds)[0]

    def metrics(self) -> dict[str, float]:
        """Return name → value of its numbers, those so far while it runs; empty when none were recorded."""
        from hackathon.scaling.collect import run_result

        return dict(run_result(self._directory().path, status=self.state).metrics)

    def diagnose(self) -> DiagnosisReport:
        """Return what went wrong in it, and how to fix it."""
        return diagnose_paths(self.path)

    def _directory(self) -> "RunDirectory":
        from hackathon.runs.directory import RunDirectory

        return RunDirectory(self.path)

    def _repr_html_(self) -> str:
        return html.table(Runs.columns, [[_cell(getattr(self, name)) for name in Runs.columns]])


@dataclass(frozen=True)
class HackathonStudy:
    """A study: runs whose process counts or settings differ."""

    id: str
    path: Path
    """Its folder."""
    name: str
    kind: str
    """`scale`, or `tune` for the trials of `hackathon tune`."""
    mode: str
    """`weak` or `strong`."""
    metric: str
    unit: str
    created: float
    """Seconds since 1970."""

    def runs(self) -> Runs:
        """Return its runs, in the order of its points. Asks the scheduler about open ones."""
        from hackathon.runs.study import runs_of

        return _runs(runs_of(self._study()))

    def results(
        self, *, metric: str | None = None, baseline: "HackathonRun | str | None" = None, ask: bool = True
    ) -> StudyResults:
        """Return speed-up, efficiency, doubts and predictions.

        `metric` replaces the study's. `baseline`: a run of this project, or a unique part of its id, as the base.
        `ask=False` does not ask the scheduler. Raises RequestError for a tuning study.
        """
        from hackathon.prediction.results import study_outcome
        from hackathon.runs.status import status
        from hackathon.runs.study import runs_of

        study = self._study()
        if study.tuned:
            raise RequestError(
                "api.tuned",
                "{study} is a tuning study, which has no scaling results",
                hint="hackathon results {study!q} --json prints its trials",
                study=self.id,
            )
        states = status(runs_of(study), ask=ask)
        return StudyResults.from_json(study_outcome(study, states, metric=metric, baseline=self._baseline(baseline)))

    def export(self, tracker: str, folder: str | os.PathLike[str] | None = None, *, ask: bool = True) -> StudyExport:
        """Write its ended runs for an experiment tracker, `mlflow` or `wandb`, whose package must be installed.

        `folder`: by default one in the study's own folder. `ask=False` does not ask the scheduler. Raises RequestError
        without the package, for a folder that has the study already, and for a tuning study.
        """
        from hackathon.runs.status import status
        from hackathon.runs.study import runs_of

        states = status(runs_of(self._study()), ask=ask)
        results = self.results(ask=False).json
        return export_study(self._study(), results, states, tracker, None if folder is None else Path(folder))

    def wait(self, seconds: float | None = None) -> Runs:
        """Submit points that are left, wait until all runs have ended or so many seconds, and return them."""
        from hackathon.runs.campaign import resume
        from hackathon.runs.study import runs_of
        from hackathon.runs.waiting import watch

        study = self._study()
        campaign = resume(self.id, None, request_options({}), self.path.parent.parent)
        watched = runs_of(study)

        def submit_next(states: "list[RunStatus]") -> bool:
            outcomes = campaign.advance(None, states)
            if outcomes.failure is not None:
                raise outcomes.failure
            fresh = [outcome.run for outcome in outcomes if outcome.run not in watched]
            watched.extend(fresh)
            return bool(fresh)

        return _runs(watched, watch(watched, submit_next, seconds=seconds))

    def diagnose(self) -> DiagnosisReport:
        """Return what went wrong in its failed runs."""
        return diagnose_paths(self.path)

    def _study(self) -> "Study":
        from hackathon.runs.study import Study

        return Study(self.path)

    def _baseline(self, run: "HackathonRun | str | None") -> Any:
        if run is None:
            return None
        from hackathon.runs.directory import find_run
        from hackathon.runs.status import status
        from hackathon.scaling.collect import run_result

        directory = run._directory() if isinstance(run, HackathonRun) else find_run(run, self._study().runs_folder)
        state = status([directory])[0]
        return run_result(directory.path, status=state.state, reason=state.explanation)

    def _repr_html_(self) -> str:
        return html.table(Studies.columns, [[getattr(self, name) for name in Studies.columns]])


@dataclass(frozen=True)
class HackathonProject:
    """A folder with `project.yaml`, or with the runs of recipes."""

    path: Path

    def runs(self, *, ask: bool = True) -> Runs:
        """Return all runs, newest first. `ask=False` does not ask the scheduler about open ones."""
        from hackathon.runs.directory import find_runs

        return _runs(find_runs(self.path / "runs"), ask=ask)

    def run(self, name: str = "") -> HackathonRun:
        """Return the run whose id contains `name`; the newest without a name. Raises RequestError without one."""
        from hackathon.runs.chain import latest_run
        from hackathon.runs.directory import find_run

        folder = self.path / "runs"
        return _runs([find_run(name, folder) if name else latest_run(folder)])[0]

    def studies(self) -> Studies:
        """Return all studies, newest first; folders whose record cannot be read are left out with a warning."""
        from hackathon.runs.study import find_studies

        studies = []
        for study in find_studies(self.path):
            try:
                studies.append(_study(study))
            except RequestError as error:
                warnings.warn(str(error), stacklevel=2)
        return Studies(studies)

    def study(self, name: str = "") -> HackathonStudy:
        """Return the study whose id contains `name`; the newest without a name. Raises RequestError without one."""
        from hackathon.runs.study import find_study, newest_study

        found = find_study(name, self.path) if name else newest_study(self.path)
        assert found is not None
        return _study(found)

    def render(self, target: str | None = None, **options: Any) -> "JobScript":
        """Return the scripts of a job, byte for byte as `submit` submits them: `.job`, `.library`, `.rank`.

        `target`: a recipe, or a folder with project.yaml; None is this project. `options`: see `submit`.
        """
        from hackathon.jobs.plan import plan_jobs

        (job,) = plan_jobs(self._sources(target, options), place=False).jobs
        return job.script

    def submit(
        self, target: str | None = None, *, repeat: int = 1, note: str = "", tags: Sequence[str] = (),
        force: bool = False, **options: Any,
    ) -> Runs:  # fmt: skip
        """Submit a job, `repeat` times, and return its runs.

        `target`: as in `render`. `force`: also a program in which `hackathon check` finds errors. `options`: cluster,
        queue, group, reservation, qos, constraint, nodes, processes, processes_per_node, threads, walltime (seconds or
        "30m"), launcher, binding, in_place, parameters (a mapping). Warnings, e.g. about the budget, are Python's.

        Raises RequestError for a request that the cluster, the budget or the checks refuse, and UnavailableError when
        the scheduler does not answer. Runs that were submitted before an error are in `runs()`.
        """
        from hackathon.runs.campaign import plan, start

        planned = plan(self._sources(target, options), repeat=repeat, admit=_admit)
        _refuse_errors(planned, force)
        outcomes = start(planned, note=note, tags=tags)
        if outcomes.failure is not None:
            raise outcomes.failure
        return _runs([outcome.run for outcome in outcomes])

    def scale(
        self, processes: Sequence[int], target: str | None = None, *, mode: str = "weak", repeat: int = 1,
        vary: Mapping[str, Iterable[Any]] | None = None, note: str = "", tags: Sequence[str] = (),
        force: bool = False, **options: Any,
    ) -> HackathonStudy:  # fmt: skip
        """Submit a scaling study, one job per process count, and return it.

        `mode`: `weak` or `strong`. `repeat`: runs per point. `vary`: setting → values, e.g. `{"lr": [0.1, 0.2]}`. The
        rest and the errors as in `submit`.
        """
        from hackathon.jobs.grid import grid, read_axes
        from hackathon.logs.final import metric_unit
        from hackathon.runs.campaign import begin, plan

        if mode not in ("weak", "strong"):
            raise RequestError("api.mode", "mode is 'weak' or 'strong', not {mode!r}", mode=mode)
        sources = self._sources(target, options)
        axes = read_axes([f"{name}={','.join(map(str, values))}" for name, values in (vary or {}).items()], sources)
        planned = plan(sources, grid(sources, axes, list(processes), mode, repeat), repeat=repeat, admit=_admit)
        _refuse_errors(planned, force)
        request = planned.jobs[0].request
        campaign = begin(planned, note=note, tags=tags, unit=metric_unit(request.metrics, request.metric))
        outcomes = campaign.advance()
        if outcomes.failure is not None:
            raise outcomes.failure
        return _study(campaign.study)

    def _sources(self, target: str | None, options: Mapping[str, Any]) -> "Sources":
        from hackathon.jobs.sources import find_sources

        return find_sources(target, request_options(options), self.path)


def project(path: str | os.PathLike[str] = ".") -> HackathonProject:
    """Return the project in a folder or above it. Raises RequestError where there is none, and no runs either."""
    from hackathon.config.load import find_project

    folder = Path(path).resolve()
    found = find_project(folder)
    if found is None and not ((folder / "runs").is_dir() or (folder / "studies").is_dir()):
        raise RequestError(
            "api.no_project",
            "{folder} is not a project: it has no project.yaml, runs/ or studies/",
            hint="create one: hackathon init {folder!q}",
            folder=str(folder),
        )
    return HackathonProject(found or folder)


def render(path: str | os.PathLike[str] = ".", target: str | None = None, **options: Any) -> "JobScript":
    """Return the scripts of a job of the project at `path`: `project(path).render(target, **options)`."""
    return project(path).render(target, **options)


def submit(path: str | os.PathLike[str] = ".", target: str | None = None, **options: Any) -> Runs:
    """Submit a job of the project at `path`: `project(path).submit(target, **options)`."""
    return project(path).submit(target, **options)


def wait(runs: "HackathonRun | Iterable[HackathonRun]", seconds: float | None = None) -> Runs:
    """Return runs when all have ended, or as they are after so many seconds (None: no limit).

    The jobs go on after KeyboardInterrupt.
    """
    from hackathon.runs.waiting import watch

    directories = [run._directory() for run in ([runs] if isinstance(runs, HackathonRun) else runs)]
    return _runs(directories, watch(directories, seconds=seconds))


def _runs(
    directories: "Sequence[RunDirectory]", states: "Sequence[RunStatus] | None" = None, *, ask: bool = True
) -> Runs:
    """Return runs with their states, which are read now without `states`."""
    if states is None:
        from hackathon.runs.status import status

        states = status(list(directories), ask=ask)
    by_id = {state.run_id: state for state in states}
    return Runs(_run(directory, by_id[directory.id]) for directory in directories)


def _run(directory: "RunDirectory", state: "RunStatus") -> HackathonRun:
    record = directory.known()
    return HackathonRun(
        id=directory.id,
        path=Path(str(directory.path)),
        name=record.name,
        state=state.state,
        reason=state.beside_state,
        job_id=state.job_id,
        processes=record.processes,
        nodes=record.nodes,
        cluster=record.cluster,
        study=record.study.id if record.study is not None else "",
        note=record.note,
        tags=record.tags,
        created=record.created,
    )


def _study(study: "Study") -> HackathonStudy:
    record = study.record()
    text = {name: str(record.get(name) or "") for name in ("name", "mode", "metric", "unit")}
    created = record.get("created")
    return HackathonStudy(
        id=study.id,
        path=Path(str(study.path)),
        kind="tune" if study.tuned else "scale",
        created=float(created) if isinstance(created, int | float) else 0.0,
        **text,
    )


def _admit(planned: "Plan") -> None:
    """Raise RequestError if the team's budget refuses a plan; warn of what it does not refuse."""
    from hackathon.usage.admission import refuse

    for text in refuse(planned):
        warnings.warn(text, stacklevel=4)


def _refuse_errors(planned: "Plan", force: bool) -> None:
    """Raise RequestError, with the findings as its notes, if the program of a plan has errors."""
    from hackathon.programs.training.of_sources import errors_of, read_sources, refuse_errors

    if force:
        return
    largest = max((job.request for job in planned.jobs), key=lambda request: request.processes)
    reports = read_sources(planned.sources, largest)
    try:
        refuse_errors(reports)
    except RequestError as error:
        for _identifier, text in errors_of(reports):
            error.add_note(text)
        raise


def _cell(value: Any) -> Any:
    return " ".join(value) if isinstance(value, tuple) else value
