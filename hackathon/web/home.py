"""The first page of a published site: the event, its figures, and what each team reached; or a project's studies."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from hackathon.scaling.show import percent
from hackathon.scaling.table import SUCCEEDED
from hackathon.share.event.participation import Participation, participation
from hackathon.text.messages import localized, message
from hackathon.web import teams
from hackathon.web.clean import line
from hackathon.web.dates import days_text
from hackathon.web.grouping import StudyRuns, by_study, by_team, results_of
from hackathon.web.pages import moment
from hackathon.web.published_surveys import foremost, published
from hackathon.web.source import Source
from hackathon.web.survey import SurveyView, survey_view, target_share

HIGHLIGHTS = 2
"""Items of the survey that the first page tells."""


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
class Highlight:
    """What one item of the participants' survey came to."""

    survey: str
    """The key of the survey's page."""
    item: str
    share: str
    """On the middle or at the good end: `81.8 %`."""
    note: str


@dataclass(frozen=True)
class HomeView:
    """The first page."""

    title: str
    """Empty: the site's."""
    when: str
    """Its days."""
    place: str
    event: bool
    cards: tuple[Card, ...]
    sums: teams.TeamsView
    people: Participation | None = None
    """Who took part; None outside an event, and where it is not known who did."""
    answers: SurveyView | None = None
    """The participants' survey; None where none is published."""
    highlights: tuple[Highlight, ...] = ()


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
    people = participation(event) if event is not None else None
    asked = foremost(published(source))
    answers = survey_view(asked) if asked is not None and asked.n else None
    view = HomeView(
        title=line(localized(event.title), 200) if event else "",
        when=days_text(event.dates) if event else "",
        place=line(localized(event.place), 200) if event else "",
        event=event is not None,
        cards=cards,
        sums=sums,
        people=people if people is not None and people.people else None,
        answers=answers,
        highlights=tuple(_highlights(answers))[:HIGHLIGHTS] if answers else (),
    )
    return {"view": view}


def _highlights(answers: SurveyView) -> Iterator[Highlight]:
    """Yield the items of a survey that tell most: those with a good end, then the others."""
    order = sorted(answers.ratings, key=lambda item: item.target == "middle")
    for item in order:
        share = target_share(item)
        if share is not None:
            note = message("survey_page.highlight", label=share.label, count=share.count, of=share.of)
            yield Highlight(answers.name, item.text, percent(share.value), note)


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
