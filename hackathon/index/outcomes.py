"""The results of teams, the same for every reader: main study, other projects, and number of runs."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hackathon.access.guarded_folder import GuardedFolder
from hackathon.index.catalog import Catalog
from hackathon.index.listing import mark
from hackathon.index.published import laptops
from hackathon.index.record import RunEntry
from hackathon.index.studies import StudyRuns, TeamRuns, by_settings, by_study, by_team, results_of
from hackathon.runs.states import OPEN
from hackathon.scaling.doubts import believed
from hackathon.scaling.show import doubt_mark
from hackathon.scaling.table import SUCCEEDED
from hackathon.text.errors import HackathonError

UNFINISHED = (*OPEN, "CREATED", "CANCELLED")
"""States of runs that neither succeeded nor failed."""
KEPT = 4096
"""Projects whose main study is cached."""


@dataclass(frozen=True)
class MainStudy:
    """The study that represents a team, or one of its projects, and its best point."""

    series: StudyRuns
    """Its runs; of a study with several settings, those with the settings of the best point."""
    processes: int
    speedup: float
    efficiency: float
    doubts: tuple[Mapping[str, Any], ...] = ()
    """Doubts about the best point, as JSON; none of them says that it is false."""
    compared: bool = True
    """Whether it ran on a machine of the event; a study that ran only on a laptop is in no sum and no comparison."""

    @property
    def study(self) -> str:
        """The key of the study's page."""
        return self.series.key

    @property
    def doubted(self) -> str:
        """The mark of the doubts about the best point, in the current language; empty without doubts."""
        return doubt_mark(self.doubts)

    @property
    def project(self) -> str:
        """The name of the project's folder."""
        return Path(self.series.project).name

    @property
    def clusters(self) -> tuple[str, ...]:
        """The clusters of its runs."""
        return tuple(sorted({run.cluster for run in self.series.runs if run.cluster}))

    @property
    def run(self) -> RunEntry | None:
        """The first successful run of the best point."""
        good = (run for run in self.series.runs if run.state == SUCCEEDED and run.value is not None)
        return next((run for run in good if run.processes == self.processes), None)


@dataclass(frozen=True)
class TeamOutcome:
    """The results of one team."""

    team: TeamRuns
    main: MainStudy | None
    """None while no study has a credible speed-up."""
    others: tuple[MainStudy, ...]
    """The main studies of its other projects, by name."""
    further: int
    """Number of other studies with a speed-up."""
    runs: int
    """Runs that became jobs on a machine of the event, without those of `hackathon ready` and `hackathon try`."""
    succeeded: int
    failed: int
    """Those of `runs` that neither succeeded, nor were cancelled, nor are unfinished."""
    apart: int
    """Runs on laptops, which are in no sum."""


@dataclass(frozen=True)
class EventCount:
    """Numbers of teams and runs, for the site, the report and the dashboard."""

    teams: int
    active: int
    """Teams with a run."""
    measured: int
    """Teams with a speed-up on a machine of the event."""
    apart: int
    """Teams with a speed-up only on a laptop."""
    runs: int
    succeeded: int
    runs_apart: int


def outcomes(source: Catalog) -> list[TeamOutcome]:
    """Return the results of all teams, in the order of `by_team`."""
    away = laptops(source)
    return [outcome(team, source, away) for team in by_team(source)]


def outcome(team: TeamRuns, source: Catalog, away: Collection[str] | None = None) -> TeamOutcome:
    """Return the results of a team. `away`: clusters that do not belong to the event, if known."""
    away = laptops(source) if away is None else away
    studies = by_study(team.runs, source.memory)
    planned = source.event.clusters if source.event is not None else ()
    named = team.team.main_study if team.team is not None and team.team.main_study else ""
    names = [named] if named else [name for path in team.projects if (name := _own_choice(path, source))]
    main = main_study(studies, names, away, planned)
    projects = sorted({study.project for study in studies if main is None or study.project != main.series.project})
    leading = [
        main_study([study for study in studies if study.project == project], names, away, planned)
        for project in projects
    ]
    side_studies = [study for study in leading if study is not None]
    jobs = [run for run in team.work if run.was_job]
    counted = [run for run in jobs if run.cluster not in away]
    return TeamOutcome(
        team=team,
        main=main,
        others=tuple(side_studies),
        further=sum(1 for study in studies if _points(study)) - (main is not None),
        runs=len(counted),
        succeeded=sum(run.state == SUCCEEDED for run in counted),
        failed=sum(run.state not in (SUCCEEDED, *UNFINISHED) for run in counted),
        apart=len(jobs) - len(counted),
    )


def of_event(teams: Iterable[TeamOutcome]) -> list[TeamOutcome]:
    """Return the results of the event's teams; outside an event those of all projects."""
    projects = list(teams)
    return [project for project in projects if project.team.team is not None] or projects


def count(teams: Iterable[TeamOutcome]) -> EventCount:
    """Return the numbers of teams and runs; projects outside the event's teams do not count."""
    event_teams = of_event(teams)
    main_studies = [team.main for team in event_teams if team.main is not None]
    return EventCount(
        teams=len(event_teams),
        active=sum(1 for team in event_teams if team.runs or team.apart),
        measured=sum(1 for study in main_studies if study.compared),
        apart=sum(1 for study in main_studies if not study.compared),
        runs=sum(team.runs for team in event_teams),
        succeeded=sum(team.succeeded for team in event_teams),
        runs_apart=sum(team.apart for team in event_teams),
    )


def foremost(teams: Iterable[TeamOutcome]) -> TeamOutcome | None:
    """Return the team with the largest speed-up on the event's machines, if possible one without doubts."""
    best: TeamOutcome | None = None
    rank = (False, 0.0)
    for team in of_event(teams):
        main = team.main
        if main is not None and main.compared and (not main.doubts, main.speedup) > rank:
            best, rank = team, (not main.doubts, main.speedup)
    return best


def main_study(
    studies: Iterable[StudyRuns],
    names: Sequence[str] = (),
    away: Collection[str] = (),
    planned: Collection[str] = (),
) -> MainStudy | None:
    """Return the study that represents these: the named one, else the one with the largest speed-up.

    A point on the event's machines (`planned`) precedes one elsewhere, one on a laptop (`away`) comes last, and a point
    without doubts precedes a doubted one. None if no point beyond a base is credible.
    """
    choice: MainStudy | None = None
    best: tuple[Any, ...] = ()
    for study in studies:
        for point in _points(study):
            clusters = {run.cluster for run in point.series.runs}
            compared = not clusters <= set(away) if away else True
            rank = (
                any(is_called(study, name) for name in names), compared, not planned or bool(clusters & set(planned)),
                not point.doubts, point.speedup,
            )  # fmt: skip
            if choice is None or rank > best:
                choice, best = MainStudy(**{**vars(point), "compared": compared}), rank
    return choice


def is_called(study: StudyRuns, name: str) -> bool:
    """Return whether a study has a name: its id, the last word of that, its name, or its project's folder."""
    return name in (study.id, study.id.rpartition("-")[2], study.name, Path(study.project).name)


def _points(study: StudyRuns) -> list[MainStudy]:
    """Return the credible points of a study beyond its base, of all its settings."""
    points: list[MainStudy] = []
    for series in by_settings(study):
        results = results_of(series)
        points += [
            MainStudy(series, point["processes"], point["speedup"], point["efficiency"], tuple(point["doubts"]))
            for point in believed(results["points"])
            if point["processes"] > results["base_processes"]
        ]
    return points


def _own_choice(project: Path, source: Catalog) -> str:
    """Return the main study that a project's `project.yaml` names; empty if it names none."""
    from hackathon.config.load import PROJECT_FILE, load_project

    changed = mark(f"{project}/{PROJECT_FILE}")
    remembered = source.memory.recall("main studies", project)
    if remembered is not None and remembered[0] == changed:
        return str(remembered[1])
    name = ""
    if GuardedFolder(project, any_owner=True).is_file(PROJECT_FILE):
        try:
            name = load_project(project).main_study or ""
        except (HackathonError, OSError, ValueError):
            name = ""  # `hackathon check` reports the problem
    source.memory.keep("main studies", project, (changed, name), KEPT)
    return name
