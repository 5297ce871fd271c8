"""Group the runs of an index by team and by study, with each study's results; reads only `study.json`."""

import functools
import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hackathon.access.guarded_folder import GuardedFolder
from hackathon.index.catalog import Catalog
from hackathon.index.listing import mark
from hackathon.index.members import Members
from hackathon.index.memory import Memory
from hackathon.index.projects import ProjectFolder
from hackathon.index.record import RunEntry, key_of
from hackathon.jobs.measured import study_as_measured
from hackathon.jobs.settings import settings_text
from hackathon.scaling import collect
from hackathon.scaling.doubts import believed
from hackathon.scaling.table import RunResult
from hackathon.text.json_fields import mapping_of
from hackathon.text.messages import language
from hackathon.text.numbers import finite

if TYPE_CHECKING:
    from hackathon.config.event import Team

STUDIES = "studies"
"""The folder of a project's studies, beside `runs/`."""
POINTS = 1000
"""Points of a study whose runs are looked up."""
KEPT = 4096
"""Studies whose record and results are cached."""


@dataclass(frozen=True)
class TeamRuns:
    """A team, or a project outside any event, with its runs."""

    name: str
    """The team's name; the name of the project's folder outside an event."""
    runs: tuple[RunEntry, ...]
    """Newest first."""
    projects: tuple[Path, ...]
    team: "Team | None" = None
    """Its entry in `hackathon.yaml`."""
    title: str = ""
    """The title of its work in `hackathon.yaml`."""
    unseen: tuple[RunEntry, ...] = ()
    """Runs that are not displayed and count as used time."""

    @property
    def work(self) -> tuple[RunEntry, ...]:
        """Its runs without the small jobs of `hackathon ready` and the short runs of `hackathon try`."""
        return tuple(run for run in self.runs if not (run.probe or run.rehearsal))


@dataclass(frozen=True)
class StudyRuns:
    """A study with those of its runs that are in the index."""

    id: str
    project: str
    runs: tuple[RunEntry, ...]
    """Oldest first."""
    name: str = ""
    mode: str = ""
    """`weak`, `strong`, or empty if its `study.json` cannot be read."""
    basis: str = "{}"
    """The settings of its `study.json` that determine its results, as JSON, so that they can be compared."""
    created: float | None = None
    points: int = 0
    """Its planned number of runs; 0 if its `study.json` cannot be read."""
    settings: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """The settings of this series; empty for a complete study."""

    @property
    def key(self) -> str:
        """The key of its page."""
        return key_of(self.project, self.id)


def run_key(run: RunEntry) -> str:
    """Return the key of a run's page."""
    return key_of(run.project, run.id)


def by_team(source: Catalog) -> list[TeamRuns]:
    """Return all teams: those of the event in its order, including teams without runs, then other projects by name.

    A project outside the event has the team name of its runs, else its folder's name, with the parent folder if two are
    equal.
    """
    planned = source.event.teams if source.event else []
    teams = {team.name: team for team in planned if not source.team or team.name == source.team}
    own, members = {str(project.path): project for project in source.projects}, Members(source.event)

    def team_of(run: RunEntry) -> str:
        if run.use is None:
            return run.team
        return members.team_of_run(own.get(run.project) or ProjectFolder(Path(run.project)), run.use)

    team_names = {run.project: name for run in reversed(source.summaries) if (name := team_of(run))}
    team_names.update({str(project.path): project.team for project in source.projects if project.team})
    paths = {*(run.project for run in source.summaries), *(str(project.path) for project in source.projects)}
    names = _names(paths - set(team_names), {*teams, *team_names.values()})
    runs: dict[str, list[RunEntry]] = {name: [] for name in teams}
    for run in source.summaries:
        runs.setdefault(team_of(run) or team_names.get(run.project) or names[run.project], []).append(run)
    unseen: dict[str, list[RunEntry]] = {}
    for run in source.unseen:
        unseen.setdefault(team_of(run) or team_names.get(run.project) or names.get(run.project, ""), []).append(run)
    folders: dict[str, dict[Path, None]] = {}
    titles = {team.name: team.project for team in planned}
    for project in source.projects:
        name = team_names.get(str(project.path)) or names[str(project.path)]
        runs.setdefault(name, [])
        folders.setdefault(name, {})[project.path] = None
        if project.title and not titles.get(name):
            titles[name] = project.title
    order = [*teams, *sorted(name for name in runs if name not in teams)]
    return [
        TeamRuns(
            name, tuple(runs[name]), tuple(folders.get(name, ())), teams.get(name), titles.get(name, ""),
            tuple(unseen.get(name, ())),
        ) for name in order if name not in source.hidden
    ]  # fmt: skip


def _names(projects: Iterable[str], taken: set[str]) -> dict[str, str]:
    """Return project folder → name; names are unique and differ from the teams' names."""
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


def by_study(runs: Iterable[RunEntry], memory: Memory) -> list[StudyRuns]:
    """Return the studies of runs, newest first; `memory` caches their records."""
    runs_of_study: dict[tuple[str, str], list[RunEntry]] = {}
    single: dict[str, dict[str, RunEntry]] = {}
    for run in runs:
        if run.study:
            runs_of_study.setdefault((run.project, run.study), []).append(run)
        else:
            single.setdefault(run.project, {})[run.id] = run
    studies = [
        _study(project, identifier, points, memory, single.get(project, {}))
        for (project, identifier), points in runs_of_study.items()
    ]
    return sorted(studies, key=lambda study: (study.created or 0.0, study.id), reverse=True)


def _study(
    project: str, identifier: str, points: list[RunEntry], memory: Memory, single: Mapping[str, RunEntry]
) -> StudyRuns:
    """Return a study with its points.

    `single`: runs of the project without a study; if a point's request is damaged, the study names the run.
    """
    record = study_record(project, identifier, memory)
    planned = record.get("points")
    if single and isinstance(planned, list) and len(planned) > len(points):
        points = [*points, *(single[run] for run in _reserved(project, identifier, memory) if run in single)]
    runs = tuple(sorted(points, key=lambda run: (run.created or 0.0, run.id)))
    created = finite(record.get("created"))
    return StudyRuns(
        id=identifier,
        project=project,
        runs=runs,
        name=str(record.get("name") or runs[0].name or identifier),
        mode=mode if (mode := record.get("mode")) in ("weak", "strong") else "",
        basis=_basis(study_as_measured(project, f"{project}/{STUDIES}/{identifier}", record)),
        created=runs[0].created if created is None else created,
        points=len(planned) if isinstance(planned, list) else 0,
    )


def study_record(project: str, identifier: str, memory: Memory) -> dict[str, Any]:
    """Return a study's `study.json`, empty if it is missing or broken; it is read again after a change."""
    # A study's id comes from request.json, which anybody can write, so it must be a single name.
    if "/" in identifier or identifier in ("", ".", "..") or "\0" in identifier:
        return {}
    changed = mark(f"{project}/{STUDIES}/{identifier}/study.json")
    stored = memory.recall("studies", (project, identifier))
    if stored is not None and stored[0] == changed:
        record: dict[str, Any] = stored[1]
        return record
    studies = _folder(project, identifier)
    value = studies.json(f"{identifier}/study.json") if studies is not None else {}
    if studies is not None:
        memory.keep("studies", (project, identifier), (changed, value), KEPT)
    return value


def _folder(project: str, identifier: str) -> GuardedFolder | None:
    """Return the folder of a project's studies, whose files are read if this study's owner wrote them."""
    # If `runs` is a link to a larger disk, `studies` may be one beside it.
    studies = os.path.realpath(f"{project}/{STUDIES}")
    beside = os.path.realpath(f"{project}/runs")
    if not studies.startswith((f"{os.path.realpath(project)}/", f"{os.path.dirname(beside)}/")):  # noqa: PTH120
        return None
    try:
        owner = GuardedFolder(studies).stat(identifier, links=False).st_uid
    except OSError:
        return None
    return GuardedFolder(studies, owners=frozenset({owner}))


def _reserved(project: str, identifier: str, memory: Memory) -> list[str]:
    """Return the runs that the points of a study name; read again after a point was added."""
    if "/" in identifier or identifier in ("", ".", "..") or "\0" in identifier:
        return []
    changed = mark(f"{project}/{STUDIES}/{identifier}/points")
    stored = memory.recall("points", (project, identifier))
    if stored is not None and stored[0] == changed:
        return list(stored[1])
    folder = _folder(project, identifier)
    names = folder.names(f"{identifier}/points")[:POINTS] if folder is not None else []
    texts = [folder.text(f"{identifier}/points/{name}", 400) for name in names] if folder is not None else []
    runs = [text.partition("\n")[0] for text in texts]
    memory.keep("points", (project, identifier), (changed, runs), KEPT)
    return runs


def _basis(record: Mapping[str, Any]) -> str:
    request = mapping_of(record.get("base_request"))
    values = {name: record.get(name) for name in ("mode", "metric", "unit", "metrics_from")}
    values["base_request"] = {name: request.get(name) for name in ("metric", "metrics", "check")}
    return json.dumps(values, sort_keys=True)


def results_of(study: StudyRuns) -> dict[str, Any]:
    """Return a study's results, as `scaling.table.results` does, from the data of the index. Not to be modified."""
    runs = tuple(
        (run.id, run.job_id or None, run.processes, run.nodes or 1, run.state, run.reason, None, run.note, run.tags,
         run.numbers, tuple(run.settings.items()), run.doubts, run.work, run.recorded, run.shares,
         run.origins)
        for run in study.runs
    )  # fmt: skip
    return _results(study.id, study.basis, runs, language())


def told_results(study: StudyRuns) -> dict[str, Any]:
    """Return a study's results for sentences, with the known cause of a failure before the run's final state."""
    from hackathon.diagnosis.show import cause_sentence

    results = results_of(study)
    causes = {
        run.id: cause_sentence(run.part, run.rule, cause.message, run.reason)
        for run in study.runs
        if (cause := run.told_in(language()))
    }

    def told_points(points: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [
            {
                **point,
                "runs": [{**run, "reason": causes[run["id"]]} if run["id"] in causes else run for run in point["runs"]],
            }
            for point in points
        ]

    series = [{**entry, "points": told_points(entry["points"])} for entry in results["series"]]
    return {**results, "points": told_points(results["points"]), "series": series} if causes else results


@functools.lru_cache(KEPT)
def _results(study: str, basis: str, runs: tuple[tuple[Any, ...], ...], speaking: str) -> dict[str, Any]:
    """Return the results; `speaking` is the current language, because doubts are texts."""
    results = [
        replace(
            RunResult(*values),
            metrics=dict(numbers),
            settings=dict(settings),
            doubts=doubts,
            work=work,
            recorded=dict(recorded),
            shares=shares,
            origins=dict(origins),
        )
        for *values, numbers, settings, doubts, work, recorded, shares, origins in runs
    ]
    return collect.results_of(study, json.loads(basis), results)


def by_settings(study: StudyRuns) -> list[StudyRuns]:
    """Return the series of a study, one for each combination of settings, in the order of its results.

    Each is a study with the same name and its own settings; a study without settings is its only series.
    """
    by_text: dict[str, list[RunEntry]] = {}
    for run in study.runs:
        by_text.setdefault(settings_text(run.settings), []).append(run)
    if len(by_text) < 2:
        return [study]
    order = [settings_text(entry["settings"]) for entry in results_of(study)["series"]]
    return [
        replace(study, runs=tuple(by_text[text]), name=f"{study.name} [{text}]", settings=by_text[text][0].settings)
        for text in sorted(by_text, key=lambda text: order.index(text) if text in order else len(order))
    ]


def best_series(study: StudyRuns) -> StudyRuns:
    """Return the series whose largest credible point has the largest speed-up; the first series if none has one."""

    def speedup(series: StudyRuns) -> float:
        good = believed(results_of(series)["points"])
        return float(good[-1]["speedup"]) if good else 0.0

    return max(by_settings(study), key=speedup)
