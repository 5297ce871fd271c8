"""The first page of a published site: the event, its numbers, and the teams' results; or a project's studies."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from hackathon.event.participation import Participation, participation
from hackathon.index.catalog import Catalog
from hackathon.index.memory import Memory
from hackathon.index.outcomes import outcomes
from hackathon.index.studies import StudyRuns, best_series, by_study, results_of
from hackathon.scaling.doubts import headline
from hackathon.scaling.show import MODE_NAMES, doubt_mark, percent
from hackathon.scaling.table import SUCCEEDED
from hackathon.text.messages import _, localized
from hackathon.web.page.dates import days_text
from hackathon.web.page.figures import drawn
from hackathon.web.page.pages import moment
from hackathon.web.page.sanitize import line
from hackathon.web.page.survey_words import target_share
from hackathon.web.views import teams
from hackathon.web.views.overview import Overview, overview
from hackathon.web.views.published_surveys import foremost, published
from hackathon.web.views.scaling import overview_figures
from hackathon.web.views.speedup import SpeedupRow, speedup_rows
from hackathon.web.views.survey import SurveyView, survey_view
from hackathon.web.views.tuning import is_tuned

if TYPE_CHECKING:
    from hackathon.config.event import Event

HIGHLIGHTS = 2
"""Items of the survey on the first page."""


@dataclass(frozen=True)
class LargestPoint:
    """The largest point of a study, or of a team's studies."""

    processes: int
    speedup: float
    efficiency: float
    doubted: str = ""
    """The mark of its doubts; empty without doubts."""
    compared: bool = True
    """Whether it was measured on a machine of the event."""


@dataclass(frozen=True)
class Card:
    """A team, or a study outside any event."""

    kind: str
    """Kind of its page: `team`, `study`."""
    key: str
    name: str
    about: tuple[str, ...] = ()
    """Its work; for a study the time, place and mode."""
    best: LargestPoint | None = None
    runs: int = 0
    succeeded: int = 0


@dataclass(frozen=True)
class TutorView:
    """A tutor who may be named."""

    name: str
    affiliation: str
    knows: tuple[str, ...]


@dataclass(frozen=True)
class Highlight:
    """The result of one item of the participants' survey."""

    survey: str
    """The key of the survey's page."""
    item: str
    share: str
    """On the middle or at the good end: `81.8 %`."""
    note: str


@dataclass(frozen=True)
class HoursView:
    """The use of one quantity on all clusters together."""

    name: str
    """Its label: GPU-hours."""
    used: float
    clusters: tuple[tuple[str, float], ...]
    """(cluster, used there), the largest first."""


@dataclass(frozen=True)
class HomeView:
    """The first page."""

    title: str
    """Empty: the site's."""
    when: str
    """The event's days."""
    place: str
    event: bool
    cards: tuple[Card, ...]
    sums: teams.TeamsView
    hosts: tuple[str, ...] = ()
    """The event's hosts, the first one first."""
    tutors: tuple[TutorView, ...] = ()
    """Empty if the event names none."""
    report: str = ""
    """The address of the published report; empty without one, like that of the lectures."""
    lectures: str = ""
    curves: Overview | None = None
    """The data of the picture of all teams; None without one."""
    hours: tuple[HoursView, ...] = ()
    """The use by the event's teams: GPU-hours if there were any, node-hours, and tokens if they are counted."""
    people: Participation | None = None
    """The participants; None outside an event, and if they are unknown."""
    speedups: tuple[SpeedupRow, ...] = ()
    """Measurements on one device, outside an event; inside one they are on the pages of teams."""
    answers: SurveyView | None = None
    """The participants' survey; None if none is published."""
    highlights: tuple[Highlight, ...] = ()


def values(source: Catalog, key: str) -> dict[str, Any] | None:
    """Return the values of the first page."""
    if key:
        return None
    event = source.event
    reached = outcomes(source)
    sums = teams.teams_view(source, reached)
    curves = None
    if event is not None:
        cards = tuple(map(_team, sums.rows))
        curves = overview(source, reached)
        # the page is about the event's own results, which published ones with far more processes would make small
        curves = replace(curves, references=replace(curves.references, points=())) if curves.results else None
    else:
        cards = tuple(_study(study, source.memory) for study in by_study(source.summaries, source.memory))
    people = participation(event) if event is not None else None
    survey = foremost(published(source))
    answers = survey_view(survey) if survey is not None and survey.n else None
    view = HomeView(
        title=line(localized(event.title), 200) if event else "",
        when=days_text(event.dates) if event else "",
        place=line(localized(event.place), 200) if event else "",
        event=event is not None,
        cards=cards,
        sums=sums,
        hosts=tuple(text for host in event.hosts if (text := line(localized(host), 200))) if event else (),
        tutors=tuple(_tutors(event)) if event is not None and event.publish.tutors else (),
        report=event.report_page if event else "",
        lectures=event.lecture_page if event else "",
        curves=curves,
        hours=tuple(_hours(sums.use)),
        people=people if people is not None and people.people else None,
        speedups=speedup_rows(source.summaries) if event is None else (),
        answers=answers,
        highlights=tuple(_highlights(answers))[:HIGHLIGHTS] if answers else (),
    )
    pictures = overview_figures(curves) if curves else []
    figures, problem = drawn(pictures, source.memory) if pictures else ([], "")
    return {"view": view, "figures": figures, "problem": problem}


def _tutors(event: "Event") -> Iterator[TutorView]:
    for tutor in event.tutors:
        if tutor.name:
            knows = tuple(text for skill in tutor.knows if (text := line(skill, 60)))
            yield TutorView(line(tutor.name, 100), line(localized(tutor.affiliation), 200), knows)


def _highlights(answers: SurveyView) -> Iterator[Highlight]:
    """Yield the most informative items of a survey: those with a good end, then the others."""
    order = sorted(answers.ratings, key=lambda item: item.target == "middle")
    for item in order:
        share = target_share(item)
        if share is not None:
            note = _("{label}: {count} of {of}", label=share.label, count=share.count, of=share.of)
            yield Highlight(answers.name, item.text, percent(share.value), note)


def _hours(uses: Sequence[teams.Use]) -> Iterator[HoursView]:
    names = {
        "gpu_hours": _("GPU-hours"), "node_hours": _("Node-hours"),
        "tokens": _("Tokens"),
    }  # fmt: skip
    for kind, name in names.items():
        amounts = [(use.cluster, amount) for use in uses if (amount := getattr(use, kind)) is not None]
        total = teams.total([amount for _, amount in amounts])
        if total is not None and total.used > 0:
            clusters = [(cluster, amount.used) for cluster, amount in amounts if amount.used > 0]
            yield HoursView(name, total.used, tuple(sorted(clusters, key=lambda entry: -entry[1])))


def _team(row: teams.TeamRow) -> Card:
    main = row.best
    best = LargestPoint(main.processes, main.speedup, main.efficiency, main.doubted, main.compared) if main else None
    about = (line(row.title, 200),) if row.title else ()
    return Card("team", row.name, row.name, about, best, row.runs, row.succeeded)


def _study(study: StudyRuns, memory: Memory) -> Card:
    results = results_of(best_series(study))
    point = headline(results["points"])
    best = None
    if point is not None:
        best = LargestPoint(point["processes"], point["speedup"], point["efficiency"], doubt_mark(point["doubts"]))
    clusters = sorted({run.cluster for run in study.runs if run.cluster})
    mode = [_(MODE_NAMES[results["mode"]])] if results["mode"] else []
    mode += [_("tuning")] if is_tuned(study, memory) else []
    return Card(
        "study",
        study.key,
        line(study.name, 200),
        (moment(study.created), *(line(name, 60) for name in clusters), *mode),
        best,
        len(study.runs),
        sum(run.state == SUCCEEDED for run in study.runs),
    )
