"""The page of one team: its problem, model and data, its scaling, its changes, and its runs."""

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
from hackathon.scaling.doubts import headline
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
"""Rows of the table of runs, the newest ones."""
STUDIES = 30
"""Studies on the page, the newest ones."""
CURVES = 4
"""Studies with curves in one picture."""
PARAMETERS = 40
"""The most parameters of the program on a page."""


@dataclass(frozen=True)
class Program:
    """A team's training, by its newest successful run, or its newest one if none succeeded."""

    name: str
    good: bool = True
    """Whether that run succeeded."""
    main: bool = False
    """Whether that is the best run of the main study."""
    title: str = ""
    """The title of its recipe, in the current language."""
    framework: str = ""
    launcher: str = ""
    parameters: tuple[tuple[str, str], ...] = ()
    data: tuple[tuple[str, str], ...] = ()
    """(name, source)."""
    run: str = ""
    """The id of that run."""


@dataclass(frozen=True)
class StudyRow:
    """One study as a row of a table."""

    key: str
    name: str
    mode: str
    tuned: bool
    """Whether its points are trials of `hackathon tune`."""
    created: float | None
    processes: int
    """Process count of its largest point with a speed-up; 0 without one."""
    speedup: float | None
    efficiency: float | None
    doubted: str
    """The mark of the doubts about that point; empty without doubts."""
    good: int
    runs: int


@dataclass(frozen=True)
class TeamPage:
    name: str
    title: str
    """The title of its problem."""
    row: TeamRow
    members: int = 0
    kinds: tuple[tuple[str, int], ...] = ()
    """(kind, count) of members."""
    people: tuple[str, ...] = ()
    """Names of members; empty if no names may be published."""
    tutors: int = 0
    tutor_names: tuple[str, ...] = ()
    projects: tuple[str, ...] = ()
    """Names of its project folders."""
    clusters: tuple[str, ...] = ()
    program: Program | None = None
    studies: tuple[StudyRow, ...] = ()
    more_studies: int = 0
    curves: tuple[str, ...] = ()
    """Names of the studies in the picture, the highlighted one first."""
    speedups: tuple[SpeedupRow, ...] = ()
    change: BeforeAfter | None = None
    runs: tuple[RunRow, ...] = ()
    more_runs: int = 0
    again: RunRow | None = None
    """The best run, to be repeated; None if none succeeded."""
    live: bool = False


def values(source: Catalog, key: str) -> dict[str, Any] | None:
    """Return the values of a team's page; None for an unknown team."""
    team = next((team for team in by_team(source) if team.name == key), None)
    if team is None:
        return None
    studies = by_study(team.runs, source.memory)
    reached = outcome(team, source)
    chosen = _curves([study for study in studies if not is_tuned(study, source.memory)], reached.main)
    results = [results_of(study) for study in chosen]
    names = _told_apart(chosen)
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
    """Return a team for a page; files that are missing or half-written leave gaps and raise no error."""
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
    """Return tutors, and names if the viewer may see them: for tutors, and on the site if the event publishes them."""
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


def _told_apart(studies: Sequence[StudyRuns]) -> list[str]:
    """Return the names of studies; those of one name go by their ids."""
    names = [line(study.name, 60) for study in studies]
    return [line(study.id, 60) if names.count(name) > 1 else name for name, study in zip(names, studies, strict=True)]


def _curves(studies: Sequence[StudyRuns], main: MainStudy | None) -> list[StudyRuns]:
    """Return the series of studies for one picture: the main one, then newer comparable ones.

    These are of the same project, cluster, mode and unit and begin with the same process count.
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
    return (series.project, clusters, results["mode"], results["unit"], results["base_processes"])


def _study_row(study: StudyRuns, memory: Memory) -> StudyRow:
    results = results_of(best_series(study))
    best = headline(results["points"]) or {}
    return StudyRow(
        key=study.key,
        name=line(study.name, 100),
        mode=results["mode"],
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
    """Return the title in the file of one of the projects; empty without one."""
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
    """Return the training of the main study; without one that of the newest successful run, or of the newest run."""
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
    """Return a data set's name and its address, without possible secrets (user, password, query)."""
    try:
        address = urlsplit(str(entry.get("url") or ""))
        host = address.hostname or ""
    except ValueError:
        return line(str(entry.get("name") or ""), 100), ""
    location = f"{address.scheme}://{host}{address.path}" if host else Path(address.path).name
    return line(str(entry.get("name") or ""), 100), line(location, 300)
