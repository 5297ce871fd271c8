"""The first page of a published site: the event, its figures, and what each team reached; or a project's studies."""

from dataclasses import dataclass
from typing import Any

from hackathon.scaling.table import SUCCEEDED
from hackathon.text.messages import localized, message
from hackathon.web import teams
from hackathon.web.clean import line
from hackathon.web.grouping import StudyRuns, by_study, by_team, results_of
from hackathon.web.pages import moment
from hackathon.web.source import Source


@dataclass(frozen=True)
class Best:
    """What the largest point of a study, or of a team's studies, reached."""

    processes: int
    speedup: float
    efficiency: float


@dataclass(frozen=True)
class Card:
    """A team, or a study outside any event."""

    kind: str
    """Kind of its page: `team`, `study`."""
    key: str
    name: str
    about: tuple[str, ...] = ()
    """What it works on; of a study when, where and how."""
    best: Best | None = None
    runs: int = 0
    succeeded: int = 0
    studies: int = 0


@dataclass(frozen=True)
class HomeView:
    """The first page."""

    title: str
    """Empty: the site's."""
    dates: tuple[str, ...]
    place: str
    event: bool
    cards: tuple[Card, ...]
    sums: teams.TeamsView


def values(source: Source, key: str) -> dict[str, Any] | None:
    """Return the values of the first page."""
    if key:
        return None
    event = source.event
    found = teams.values(source, "")
    assert found is not None
    sums: teams.TeamsView = found["view"]
    if event is not None:
        studies = {team.name: len(by_study(team.runs)) for team in by_team(source)}
        cards = tuple(_team(row, studies.get(row.name, 0)) for row in sums.rows)
    else:
        cards = tuple(_study(study) for study in by_study(source.summaries))
    view = HomeView(
        title=line(localized(event.title), 200) if event else "",
        dates=tuple(event.dates) if event else (),
        place=line(localized(event.place), 200) if event else "",
        event=event is not None,
        cards=cards,
        sums=sums,
    )
    return {"view": view}


def _team(row: teams.TeamRow, studies: int) -> Card:
    best = Best(row.best.processes, row.best.speedup, row.best.efficiency) if row.best else None
    about = (line(row.title, 200),) if row.title else ()
    return Card("team", row.name, row.name, about, best, row.runs, row.succeeded, studies)


def _study(study: StudyRuns) -> Card:
    good = [point for point in results_of(study)["points"] if point["speedup"] is not None]
    best = Best(good[-1]["processes"], good[-1]["speedup"], good[-1]["efficiency"]) if good else None
    clusters = sorted({run.cluster for run in study.runs if run.cluster})
    mode = [message(f"web.mode_{study.mode}")] if study.mode else []
    return Card(
        "study",
        study.key,
        line(study.name, 200),
        (moment(study.created), *(line(name, 60) for name in clusters), *mode),
        best,
        len(study.runs),
        sum(run.state == SUCCEEDED for run in study.runs),
        1,
    )
