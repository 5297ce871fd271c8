"""One team: its problem, model and data, how its training scales, what it changed, and all its runs."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from hackathon.access.guarded_folder import GuardedFolder
from hackathon.index.catalog import Catalog
from hackathon.index.memory import Memory
from hackathon.index.outcomes import MainStudy, TeamOutcome, main_study, outcome
from hackathon.index.record import RunEntry
from hackathon.index.studies import (
    StudyRuns,
    TeamRuns,
    best_series,
    by_settings,
    by_study,
    by_team,
    results_of,
    run_key,
)
from hackathon.runs.directory import RunDirectory
from hackathon.scaling.doubts import believed
from hackathon.scaling.show import doubt_mark
from hackathon.scaling.table import SUCCEEDED
from hackathon.text.errors import HackathonError
from hackathon.text.messages import localized
from hackathon.usage.usage import Ledger
from hackathon.web.page.figures import drawn
from hackathon.web.page.sanitize import line
from hackathon.web.views.before_after import BeforeAfter, change, shown
from hackathon.web.views.shares import study_shares
from hackathon.web.views.speedup import SpeedupRow, speedup_rows
from hackathon.web.views.study import RunRow, run_row, study_figures
from hackathon.web.views.teams import TeamRow, team_row
from hackathon.web.views.tuning import is_tuned

RUNS = 100
"""Runs that the table shows, the newest ones."""
STUDIES = 30
"""Studies that the page lists, the newest ones."""
CURVES = 4
"""Studies whose curves lie in one picture."""
PARAMETERS = 40
"""Parameters of the program that a page lists at most."""


@dataclass(frozen=True)
class Program:
    """What a team trains, as its newest successful run tells, or its newest one where none succeeded."""

    name: str
    good: bool = True
    """Whether the run that tells it succeeded."""
    main: bool = False
    """Whether that is the leading run of the main study."""
    title: str = ""
    """Of its recipe, in the current language."""
    framework: str = ""
    launcher: str = ""
    parameters: tuple[tuple[str, str], ...] = ()
    data: tuple[tuple[str, str], ...] = ()
    """(name, where it comes from)."""
    run: str = ""
    """The id of the run that tells it."""


@dataclass(frozen=True)
class StudyRow:
    """One study as the table shows it."""

    key: str
    name: str
    mode: str
    tuned: bool
    """Whether its points are trials of `hackathon tune`."""
    created: float | None
    processes: int
    """Of its largest point with a speed-up; 0 without one."""
    speedup: float | None
    efficiency: float | None
    doubted: str
    """The mark of the doubts about that point; empty without any."""
    good: int
    runs: int


@dataclass(frozen=True)
class TeamPage:
    """One team as a page shows it."""

    name: str
    title: str
    """Its problem."""
    row: TeamRow
    members: int = 0
    kinds: tuple[tuple[str, int], ...] = ()
    """(kind, count) of members."""
    people: tuple[str, ...] = ()
    """Names of members; empty where nobody may be named."""
    tutors: int = 0
    tutor_names: tuple[str, ...] = ()
    projects: tuple[str, ...] = ()
    """Names of its project folders."""
    clusters: tuple[str, ...] = ()
    program: Program | None = None
    studies: tuple[StudyRow, ...] = ()
    more_studies: int = 0
    curves: tuple[str, ...] = ()
    """Names of the studies in the picture, the one that stands out first."""
    speedups: tuple[SpeedupRow, ...] = ()
    change: BeforeAfter | None = None
    runs: tuple[RunRow, ...] = ()
    more_runs: int = 0
    again: RunRow | None = None
    """The best run, to run it again; None where none succeeded."""
    live: bool = False


def values(source: Catalog, key: str) -> dict[str, Any] | None:
    """Return the values of a team's page; None for a team that is not there."""
    team = next((team for team in by_team(source) if team.name == key), None)
    if team is None:
        return None
    studies = by_study(team.runs, source.memory)
    reached = outcome(team, source)
    chosen = _curves([study for study in studies if not is_tuned(study, source.memory)], reached.main)
    results = [results_of(study) for study in chosen]
    names = [line(study.name, 60) for study in chosen]
    curves = study_figures(results[0], others=list(zip(names[1:], results[1:], strict=True))) if chosen else []
    shares = study_shares(results[0]) if chosen else []
    figures, problem = drawn([*shares, *curves], source.memory)
    return {
        "view": team_page(reached, source, studies, names), "shares": figures[: len(shares)],
        "figures": figures[len(shares) :], "problem": problem,
    }  # fmt: skip


def team_page(
    reached: TeamOutcome, source: Catalog, studies: Sequence[StudyRuns], curves: Sequence[str] = ()
) -> TeamPage:
    """Return a team for a page; files that are missing or half-written leave gaps, never an error."""
    team, leading = reached.team, reached.main.run if reached.main is not None else None
    compared = change(team.work, studies, leading)
    best = compared.after.run if compared else ""
    good = [run for run in team.work if run.state == SUCCEEDED]
    again = next((run for run in good if run_key(run) == best), next(iter(good), None))
    kinds = Counter(line(member.kind, 40) for member in team.team.members if member.kind) if team.team else Counter()
    return TeamPage(
        name=team.name,
        title=line(localized(team.title), 300) or _own_title(team),
        row=team_row(reached, source, Ledger(source)),
        members=len(team.team.members) if team.team else 0,
        kinds=tuple(kinds.most_common()),
        projects=tuple(sorted({line(path.name, 100) for path in team.projects})),
        clusters=tuple(sorted({line(run.cluster, 60) for run in team.runs if run.cluster})),
        program=_program(team, source, leading),
        studies=tuple(_study_row(study, source.memory) for study in studies[:STUDIES]),
        more_studies=max(0, len(studies) - STUDIES),
        curves=tuple(curves),
        speedups=speedup_rows(team.runs),
        change=compared,
        runs=tuple(run_row(run) for run in team.runs[:RUNS]),
        more_runs=max(0, len(team.runs) - RUNS),
        again=run_row(again) if again else None,
        live=source.live,
        **_people(team, source),
    )


def _people(team: TeamRuns, source: Catalog) -> dict[str, Any]:
    """Return tutors, and names where they may be told: to tutors, and on the site when the event says so."""
    if team.team is None:
        return {}
    fields: dict[str, Any] = {"tutors": len(team.team.tutors)}
    event = source.event
    if event is None:
        return fields
    named = source.live or event.publish.users
    names = {tutor.user: tutor.name for tutor in event.tutors}
    if named or (event.publish.tutors and all(names.get(user) for user in team.team.tutors)):
        fields["tutor_names"] = tuple(line(names.get(user) or user, 100) for user in team.team.tutors)
    if named:
        fields["people"] = tuple(line(member.name or member.user, 100) for member in team.team.members)
    return fields


def _curves(studies: Sequence[StudyRuns], main: MainStudy | None) -> list[StudyRuns]:
    """Return the series of studies for one picture: the main one, then newer ones that compare with it.

    These are of the same project, cluster, mode and unit and begin with as many processes.
    """
    series = [part for study in studies for part in by_settings(study)]
    if main is None:
        return [part for part in series if any(point["speedup"] for point in results_of(part)["points"])][:1]
    kind = _comparable(main.series)
    comparable = [part for part in series if part != main.series and main_study([part]) and _comparable(part) == kind]
    return [main.series, *comparable[: CURVES - 1]]


def _comparable(series: StudyRuns) -> tuple[object, ...]:
    results = results_of(series)
    clusters = frozenset(run.cluster for run in series.runs)
    return (series.project, clusters, series.mode, results["unit"], results["base_processes"])


def _study_row(study: StudyRuns, memory: Memory) -> StudyRow:
    points = believed(results_of(best_series(study))["points"])
    best = points[-1] if points else {}
    return StudyRow(
        key=study.key,
        name=line(study.name, 100),
        mode=study.mode,
        tuned=is_tuned(study, memory),
        created=study.created,
        processes=best.get("processes", 0),
        speedup=best.get("speedup"),
        efficiency=best.get("efficiency"),
        doubted=doubt_mark(best.get("doubts", ())),
        good=sum(1 for run in study.runs if run.state == SUCCEEDED),
        runs=max(len(study.runs), study.points),
    )


def _own_title(team: TeamRuns) -> str:
    """Return the title that one of the projects gives itself, empty without one."""
    from hackathon.config.load import PROJECT_FILE, load_project

    for folder in team.projects:
        if not GuardedFolder(folder, any_owner=True).is_file(PROJECT_FILE):
            continue
        try:
            title = localized(load_project(folder).title)
        except (HackathonError, OSError, ValueError):
            continue
        if title:
            return line(title, 300)
    return ""


def _program(team: TeamRuns, source: Catalog, leading: RunEntry | None) -> Program | None:
    """Return what the main study trained; without one the newest successful run, or the newest one of all."""
    newest = next((run for run in team.work if run.state == SUCCEEDED), next(iter(team.work), None))
    run = leading or newest
    if run is None:
        return None
    record = RunDirectory(Path(run.project) / "runs" / run.id).known()
    return Program(
        name=line(record.recipe or record.name or run.name, 100),
        good=run.state == SUCCEEDED,
        main=leading is not None,
        title=_recipe_title(record.recipe, run, source),
        framework=line(record.framework, 60),
        launcher=line(record.launcher, 60),
        parameters=tuple(
            (line(name, 60), shown(value)) for name, value in islice(record.parameters.items(), PARAMETERS)
        ),
        data=tuple(_data(entry) for entry in record.data[:PARAMETERS]),
        run=run.id,
    )


def _recipe_title(recipe: str, run: RunEntry, source: Catalog) -> str:
    from hackathon.config.load import RECIPE_FILE, load_recipe

    if not recipe or "/" in recipe:
        return ""
    own = GuardedFolder(run.project, any_owner=True).is_file(f"recipes/{recipe}/{RECIPE_FILE}")
    folders = [*([Path(run.project)] if own else []), *([source.event_folder] if source.event_folder else [])]
    try:
        definition, _ = load_recipe(recipe, folders)
    except (HackathonError, OSError, ValueError):
        return ""
    return line(localized(definition.title), 300)


def _data(entry: Mapping[str, Any]) -> tuple[str, str]:
    """Return a data set's name and its address: without what may be secret in it (user, password, query)."""
    try:
        address = urlsplit(str(entry.get("url") or ""))
        host = address.hostname or ""
    except ValueError:
        return line(str(entry.get("name") or ""), 100), ""
    location = f"{address.scheme}://{host}{address.path}" if host else Path(address.path).name
    return line(str(entry.get("name") or ""), 100), line(location, 300)
