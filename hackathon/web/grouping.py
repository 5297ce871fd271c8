"""The runs of an index by team and by study, and what each study reached; of files only `study.json` is read."""

import functools
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hackathon.runs.markers import finite
from hackathon.scaling.table import RunResult, results
from hackathon.text.inside import Inside
from hackathon.web.records import Summary, key_of
from hackathon.web.source import Source

if TYPE_CHECKING:
    from hackathon.config.event import Team

STUDIES = "studies"
"""The folder of a project's studies, beside `runs/`."""
KEPT = 4096
"""Studies whose record and results are held in memory."""


@dataclass(frozen=True)
class TeamRuns:
    """A team, or a project outside any event, with its runs."""

    name: str
    """The team's name; the name of the project's folder outside an event."""
    runs: tuple[Summary, ...]
    """Newest first."""
    projects: tuple[Path, ...]
    team: "Team | None" = None
    """Its entry in `hackathon.yaml`."""
    title: str = ""
    """What it works on, in the words of `hackathon.yaml`."""

    @property
    def work(self) -> tuple[Summary, ...]:
        """Its runs without the small jobs of `hackathon ready`."""
        return tuple(run for run in self.runs if not run.probe)


@dataclass(frozen=True)
class StudyRuns:
    """A study with those of its runs that are in the index."""

    id: str
    project: str
    runs: tuple[Summary, ...]
    """Oldest first."""
    name: str = ""
    mode: str = ""
    """`weak`, `strong`, or empty when its `study.json` can not be read."""
    metric: str = ""
    unit: str = ""
    created: float | None = None
    points: int = 0
    """Runs that it wants; 0 when its `study.json` can not be read."""

    @property
    def key(self) -> str:
        """The key of its page."""
        return key_of(self.project, self.id)


@dataclass(frozen=True)
class Reached:
    """The largest speed-up of some studies."""

    speedup: float
    efficiency: float
    processes: int
    study: str
    """The key of the study's page."""


def run_key(run: Summary) -> str:
    """Return the key of a run's page."""
    return key_of(run.project, run.id)


def by_team(source: Source) -> list[TeamRuns]:
    """Return all teams: those of the event in its order, silent ones too, then other projects by name.

    A project outside the event goes by the team that its runs name, else by its folder's name, with the folder above
    where two have the same.
    """
    known = source.event.teams if source.event else []
    teams = {team.name: team for team in known if not source.team or team.name == source.team}
    told = {run.project: run.team for run in reversed(source.summaries) if run.team}
    told.update({str(project.path): project.team for project in source.projects if project.team})
    places = {*(run.project for run in source.summaries), *(str(project.path) for project in source.projects)}
    names = _names(places - set(told), {*teams, *told.values()})
    runs: dict[str, list[Summary]] = {name: [] for name in teams}
    for run in source.summaries:
        runs.setdefault(run.team or told.get(run.project) or names[run.project], []).append(run)
    folders: dict[str, dict[Path, None]] = {}
    titles = {team.name: team.project for team in known}
    for project in source.projects:
        name = told.get(str(project.path)) or names[str(project.path)]
        runs.setdefault(name, [])
        folders.setdefault(name, {})[project.path] = None
        if project.title and not titles.get(name):
            titles[name] = project.title
    order = [*teams, *sorted(name for name in runs if name not in teams)]
    return [
        TeamRuns(name, tuple(runs[name]), tuple(folders.get(name, ())), teams.get(name), titles.get(name, ""))
        for name in order
    ]


def _names(projects: Iterable[str], taken: set[str]) -> dict[str, str]:
    """Return project folder → name; names are unique and none is a team's."""
    paths = sorted(Path(project) for project in projects)
    names: dict[str, str] = {}
    for depth in (1, 2, None):
        tried = {path: str(path) if depth is None else "/".join(path.parts[-depth:]) for path in paths}
        count = Counter(tried.values())
        fresh = {
            path: name for path, name in tried.items() if depth is None or (count[name] == 1 and name not in taken)
        }
        names.update({str(path): name for path, name in fresh.items()})
        paths = [path for path in paths if path not in fresh]
    return names


def by_study(runs: Iterable[Summary]) -> list[StudyRuns]:
    """Return the studies that runs belong to, newest first."""
    found: dict[tuple[str, str], list[Summary]] = {}
    for run in runs:
        if run.study:
            found.setdefault((run.project, run.study), []).append(run)
    made = [_study(project, identifier, points) for (project, identifier), points in found.items()]
    return sorted(made, key=lambda study: (study.created or 0.0, study.id), reverse=True)


def _study(project: str, identifier: str, points: list[Summary]) -> StudyRuns:
    record = study_record(project, identifier)
    runs = tuple(sorted(points, key=lambda run: (run.created or 0.0, run.id)))
    told = Counter((run.metric, run.unit) for run in runs if run.value is not None).most_common(1)
    metric, unit = told[0][0] if told else (str(record.get("metric") or runs[0].metric), str(record.get("unit") or ""))
    created = finite(record.get("created"))
    wanted = record.get("points")
    return StudyRuns(
        id=identifier,
        project=project,
        runs=runs,
        name=str(record.get("name") or runs[0].name or identifier),
        mode=mode if (mode := record.get("mode")) in ("weak", "strong") else "",
        metric=metric,
        unit=unit,
        created=runs[0].created if created is None else created,
        points=len(wanted) if isinstance(wanted, list) else 0,
    )


_records: dict[tuple[str, str], dict[str, Any]] = {}


def study_record(project: str, identifier: str) -> dict[str, Any]:
    """Return a study's `study.json`, empty when it is missing or broken. It is written once, so it is read once."""
    key = (project, identifier)
    if key in _records:
        return _records[key]
    # A study's id comes from request.json, which anybody can write: it has to be one name.
    if "/" in identifier or identifier in ("", ".", "..") or "\0" in identifier:
        return {}
    # Where `runs` is a link to a larger disk, `studies` may be one beside it.
    beside = Path(os.path.realpath(f"{project}/runs")).parent
    value = Inside(Path(project), [beside]).json(f"{STUDIES}/{identifier}/study.json")
    if not value:
        return {}
    while len(_records) >= KEPT:
        _records.pop(next(iter(_records)), None)
    _records[key] = value
    return value


def results_of(study: StudyRuns) -> dict[str, Any]:
    """Return a study's results from what the index holds; DESIGN's results JSON without checks. Not to be changed."""
    runs = tuple(
        (
            run.id, run.job_id or None, run.processes, run.nodes, run.state, run.reason,
            run.value if run.metric == study.metric else None, run.note, run.tags,
        )
        for run in study.runs
    )  # fmt: skip
    return _results(study.id, study.mode, study.metric, study.unit, runs)


@functools.lru_cache(KEPT)
def _results(study: str, mode: str, metric: str, unit: str, runs: tuple[tuple[Any, ...], ...]) -> dict[str, Any]:
    return results(study, mode, metric, unit, [RunResult(*run) for run in runs])


def reached(studies: Sequence[StudyRuns]) -> Reached | None:
    """Return the largest speed-up beyond a base among studies, None when there is none."""
    found: Reached | None = None
    for study in studies:
        measured = results_of(study)
        for point in measured["points"]:
            if point["speedup"] is None or point["processes"] <= measured["base_processes"]:
                continue
            if found is None or point["speedup"] > found.speedup:
                found = Reached(point["speedup"], point["efficiency"], point["processes"], study.key)
    return found
