"""The content of an event's report in the current language, from records and `hackathon.yaml` only."""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hackathon.event.kinds import kind_label
from hackathon.event.participation import participation
from hackathon.index.catalog import Catalog
from hackathon.index.outcomes import EventCount, count, foremost, outcomes
from hackathon.index.published import laptops, without_hidden
from hackathon.scaling.show import number
from hackathon.survey.records import SurveySummary
from hackathon.text.messages import N_, _, localized
from hackathon.usage.lost import Hours, by_cluster, hours_of
from hackathon.usage.lost_tables import lost_sentence
from hackathon.usage.tables import BUDGET_KINDS
from hackathon.web.page.dates import days_text
from hackathon.web.page.figures import Figure
from hackathon.web.page.sanitize import block, line
from hackathon.web.report.gains import AdviceRow, advice_rows
from hackathon.web.report.team import TeamResult, strangers, team_results
from hackathon.web.views.board import PostView, board_view
from hackathon.web.views.overview import Overview, overview
from hackathon.web.views.published_surveys import foremost as headline_survey
from hackathon.web.views.scaling import overview_figures
from hackathon.web.views.schedule import DayView, schedule_view
from hackathon.web.views.survey import SurveyView, survey_figures, survey_view

if TYPE_CHECKING:
    from hackathon.config.event import Event, Tutor
    from hackathon.usage.usage import Sum, Usage
    from hackathon.web.masking.mask import Mask

_REMARK_TEXTS = {
    "none": N_("team {team}: no runs are recorded, or this account cannot read them: {place}"),
    "failed": N_("team {team}: no run succeeded"),
    "base": N_("team {team}: no study has a valid result beyond its base, so there is no speed-up"),
}

LONGEST = 4000
"""Characters of one text that a report quotes."""
PROBLEMS = 30
"""The most problems with solutions in a report, the newest ones."""


@dataclass(frozen=True)
class PeopleView:
    """The participants."""

    applied: int | None
    """Teams that applied; None: not published."""
    chosen: int
    took_part: int
    people: int
    kinds: tuple[tuple[str, int], ...]
    """(label of the kind, people)."""


@dataclass(frozen=True)
class TutorsView:
    count: int
    names: tuple[str, ...]
    """Empty if no names may be published."""
    knows: tuple[str, ...]
    """Their topics, each once."""


@dataclass(frozen=True)
class UsedRow:
    """A team's use of a cluster; – for a quantity that is not counted."""

    team: str
    cluster: str
    jobs: int
    """Jobs that used it, including those of `hackathon ready` and of cleaned-up runs."""
    node_hours: float
    gpu_hours: float | None
    tokens: float | None
    budget: str = ""
    """The share of each budget that was used, `126 % of 20 node-hours`; empty without a budget."""


@dataclass(frozen=True)
class ProblemView:
    """A solved problem of the board."""

    title: str
    part: str
    solution: str
    team: str


@dataclass(frozen=True)
class PhotographView:
    """A picture in the report."""

    caption: str
    file: str
    """Its name beside the Markdown."""


@dataclass(frozen=True)
class ReportView:
    """The report in one language."""

    title: str
    occasion: str
    when: str
    place: str
    hosts: tuple[str, ...]
    clusters: tuple[str, ...]
    people: PeopleView
    schedule: tuple[DayView, ...]
    tutors: TutorsView
    teams: tuple[TeamResult, ...]
    count: EventCount
    best_team: str
    """The team with the largest speed-up in the comparison; empty without one."""
    advice: tuple[AdviceRow, ...]
    """The outcomes of the advice in the teams' runs."""
    used: tuple[UsedRow, ...]
    used_in_all: tuple[UsedRow, ...]
    lost: str
    """The outcome of these hours, in one sentence."""
    """By cluster, over all teams."""
    problems: tuple[ProblemView, ...]
    solved: int
    """Number of solved problems on the board, including those left out."""
    surveys: tuple[SurveyView, ...]
    headline: str
    """The name of the survey whose response rate represents the event; empty without one."""
    lessons: tuple[str, ...]
    made: str
    authors: tuple[str, ...] = ()
    closing: str = ""
    """The organiser's closing paragraph; empty: thanks to the people in the event."""
    photographs: tuple[PhotographView, ...] = ()

    @property
    def has_gpu_hours(self) -> bool:
        """Whether any cluster counts GPU-hours."""
        return any(row.gpu_hours is not None for row in self.used_in_all)

    @property
    def has_tokens(self) -> bool:
        """Whether any cluster has tokens."""
        return any(row.tokens is not None for row in self.used_in_all)

    @property
    def has_budgets(self) -> bool:
        """Whether any team has a budget."""
        return any(row.budget for row in self.used)

    @property
    def measured(self) -> tuple[TeamResult, ...]:
        """The teams with a speed-up on a machine of the event, which the table compares."""
        return tuple(team for team in self.teams if team.best is not None and team.best.compared)

    @property
    def came(self) -> tuple[TeamResult, ...]:
        """The teams that took part."""
        return tuple(team for team in self.teams if team.came)


def report_view(
    source: Catalog,
    surveys: Sequence[SurveySummary] = (),
    *,
    usage: "Usage | None" = None,
    title: str = "",
    pictures: Sequence[tuple[str, str]] = (),
) -> ReportView:
    """Return the report's content in the current language; `source` must have an event.

    `pictures`: (caption, file). Unpublished parts of the event (schedule, surveys, board, names of people) are left
    out; the rest still has to be masked.
    """
    source = without_hidden(source)
    event = source.event
    assert event is not None
    rules = event.publish
    used, sums = _used(usage, source) if usage is not None else ((), ())
    reached = outcomes(source)
    best = foremost(reached)
    headline = headline_survey(surveys) if rules.surveys else None
    problems, solved = _problems(source) if rules.board else ((), 0)
    return ReportView(
        title=line(title or localized(event.title), 300),
        occasion=_text(event.occasion),
        when=days_text(event.dates),
        place=line(localized(event.place), 300),
        hosts=tuple(text for host in event.hosts if (text := line(localized(host), 200))),
        clusters=_clusters(source),
        people=_people(event),
        schedule=schedule_view(source).days if rules.schedule else (),
        tutors=_tutors(event),
        teams=tuple(team_results(source, reached)),
        count=count(reached),
        best_team=line(best.team.name, 100) if best is not None else "",
        advice=_advice(source),
        used=used,
        used_in_all=sums,
        lost=lost_sentence(_hours(usage, source)) if usage is not None else "",
        problems=problems,
        solved=solved,
        surveys=told_apart(survey_view(summary) for summary in surveys) if rules.surveys else (),
        headline=headline.name if headline is not None else "",
        lessons=tuple(text for lesson in event.lessons if (text := _text(lesson))),
        made=time.strftime("%Y-%m-%d", time.localtime(source.now)),
        authors=tuple(text for author in event.report.authors if (text := line(localized(author), 200))),
        closing=_text(event.report.closing),
        photographs=tuple(PhotographView(line(caption, 300), file) for caption, file in pictures),
    )


def told_apart(surveys: Iterable[SurveyView]) -> tuple[SurveyView, ...]:
    """Return surveys with titles that differ: those with one title get their names behind it."""
    views = tuple(surveys)
    titles = [view.title for view in views]
    return tuple(
        replace(view, title=f"{view.title} ({view.name})") if titles.count(view.title) > 1 else view for view in views
    )


def report_figures(source: Catalog, mask: "Mask | None" = None) -> tuple[list[Figure], Overview]:
    """Return the pictures of all teams' curves, not drawn yet, and the data of their key.

    With a mask they are masked and have a legend of their own, for documents without a key.
    """
    names = {team.name for team in source.event.teams if team.took_part} if source.event else set()
    view = overview(_of_teams(replace(source, laptops=laptops(source)), names))
    # the article is about the event's own results, which published ones with many more processes would make small
    view = replace(view, references=replace(view.references, points=()))
    if mask is not None:
        view = mask.value(view)
    return (overview_figures(view, legend=mask is not None) if view.results else []), view


def figures_of_surveys(surveys: Sequence[SurveySummary]) -> dict[str, list[Figure]]:
    """Return survey → its pictures, not drawn yet."""
    return {survey.name: survey_figures(survey, f"survey-{number}") for number, survey in enumerate(surveys, 1)}


def _of_teams(source: Catalog, names: set[str]) -> Catalog:
    from hackathon.index.studies import by_team

    runs = [run for team in by_team(source) if team.name in names for run in team.runs]
    projects = [project for team in by_team(source) if team.name in names for project in source.projects
                if project.path in team.projects]  # fmt: skip
    return replace(source, summaries=runs, projects=projects)


def _advice(source: Catalog) -> tuple[AdviceRow, ...]:
    from hackathon.index.studies import by_team

    came = (team for team in by_team(source) if team.team is not None and team.team.took_part)
    return tuple(row for team in came for row in advice_rows(team))


def _text(value: object) -> str:
    return " ".join(block(localized(value), LONGEST).split())


def _people(event: "Event") -> PeopleView:
    attendance = participation(event)
    kinds = tuple((line(kind_label(event, kind), 100), count) for kind, count in attendance.kinds)
    return PeopleView(attendance.applied, attendance.chosen, attendance.took_part, attendance.people, kinds)


def _tutors(event: "Event") -> TutorsView:
    rules = event.publish
    names = [_tutor(tutor, named=rules.users) for tutor in event.tutors] if rules.users or rules.tutors else []
    knows = dict.fromkeys(line(skill, 100) for tutor in event.tutors for skill in tutor.knows)
    return TutorsView(len(event.tutors), tuple(filter(None, names)), tuple(skill for skill in knows if skill))


def _tutor(tutor: "Tutor", *, named: bool) -> str:
    name = line(tutor.name or (tutor.user if named else ""), 100)
    affiliation = line(localized(tutor.affiliation), 200)
    return _("{name} ({affiliation})", name=name, affiliation=affiliation) if name and affiliation else name


def _clusters(source: Catalog) -> tuple[str, ...]:
    """Return the titles of the event's clusters, else of those of runs, without laptops beside other machines."""
    from hackathon.schedulers.registry import load_cluster
    from hackathon.text.errors import HackathonError

    assert source.event is not None
    names = list(source.event.clusters) or sorted({run.cluster for run in source.summaries if run.cluster})
    names = [name for name in names if name not in laptops(source)]
    titles = []
    for name in names:
        try:
            cluster = load_cluster(name, [source.event_folder] if source.event_folder else [])
            titles.append(line(localized(cluster.title, name), 200))
        except (HackathonError, OSError):
            titles.append(line(name, 200))
    return tuple(dict.fromkeys(titles))


def _used(usage: "Usage", source: Catalog) -> tuple[tuple[UsedRow, ...], tuple[UsedRow, ...]]:
    """Return the use of each cluster by each team of the event, and the sums by cluster, without laptops."""
    away = laptops(source)
    rows = [
        UsedRow(
            team=line(total.team or "", 100),
            cluster=line(total.cluster, 60) or _("an unknown computer"),
            jobs=total.jobs,
            node_hours=total.spent.node_hours,
            gpu_hours=total.spent.gpu_hours or None,
            tokens=total.spent.tokens,
            budget=_budget(total),
        )
        for total in usage.sums("team")
        if total.known and total.jobs and total.team not in source.hidden and total.cluster not in away
    ]
    return tuple(rows), tuple(_sum(rows, cluster) for cluster in dict.fromkeys(row.cluster for row in rows))


def _hours(usage: "Usage", source: Catalog) -> list[Hours]:
    """Return the outcome of the hours of `_used`, by cluster."""
    away, teams = laptops(source), {*usage.teams} - {*source.hidden}
    return by_cluster(entry for entry in hours_of(usage) if entry.team in teams and entry.cluster not in away)


def _budget(total: "Sum") -> str:
    """Return the share of each budget that a team used; empty without a budget."""
    shares = [
        _("{share} of {budget} {unit}", share=f"{100 * amount.share:.0f} %", budget=number(amount.budget, 3),
          unit=_(BUDGET_KINDS[amount.kind]))
        for amount in total.amounts
        if amount.share is not None and amount.budget is not None
    ]  # fmt: skip
    return ", ".join(shares)


def _sum(rows: Sequence[UsedRow], cluster: str) -> UsedRow:
    of = [row for row in rows if row.cluster == cluster]
    gpu_hours = [row.gpu_hours for row in of if row.gpu_hours is not None]
    tokens = [row.tokens for row in of if row.tokens is not None]
    return UsedRow(
        "", cluster, sum(row.jobs for row in of), sum(row.node_hours for row in of),
        sum(gpu_hours) if gpu_hours else None, sum(tokens) if tokens else None,
    )  # fmt: skip


def _problems(source: Catalog) -> tuple[tuple[ProblemView, ...], int]:
    board = board_view(source)
    return tuple(_problem(post) for post in board.solved[:PROBLEMS]), len(board.solved) + board.older


def _problem(post: PostView) -> ProblemView:
    from hackathon.diagnosis.show import part_name

    answers = [step.text for step in post.steps if step.kind in ("answer", "solve") and step.text]
    return ProblemView(
        title=post.title or post.finding,
        part=part_name(post.part) if post.part else "",
        solution=" – ".join(" ".join(answer.split()) for answer in answers),
        team=post.team,
    )


def remarks(source: Catalog, surveys: Sequence[SurveySummary], view: ReportView) -> list[str]:
    """Return remarks about missing parts of the report and where to configure them, in the current language."""
    source = without_hidden(source)
    event = source.event
    assert event is not None
    location = _Place(source.event_folder)
    texts = [
        _("`{name}` is empty: {place}", name=name, place=location.of((name,)))
        for name, value in (
            ("occasion", event.occasion), ("dates", event.dates), ("place", event.place), ("hosts", event.hosts),
            ("applied", event.applied is not None), ("schedule", event.schedule), ("lessons", event.lessons),
        ) if not value
    ]  # fmt: skip
    article = {"authors": event.report.authors, "photographs": event.report.photographs}
    texts += [
        _("`{name}` is empty: {place}", name=f"report: {name}", place=location.of(("report",)))
        for name, value in article.items() if not value
    ]  # fmt: skip
    if not event.report.closing:
        texts.append(
            _(
                "the last paragraph is a general word of thanks; write your own in `{name}`: {place}",
                name="report: closing",
                place=location.of(("report",)),
            )
        )
    teams = [(index, team) for index, team in enumerate(event.teams) if team.name not in source.hidden]
    for (index, team), result in zip(teams, view.teams, strict=False):
        if not team.took_part:
            continue
        facts: dict[str, Any] = {"team": team.name, "place": location.of(("teams", index))}
        texts += [
            _("team {team}: `{name}` is empty: {place}", name=name, **facts)
            for name, value in (("project", result.problem), ("model", team.model), ("done", team.done))
            if not value
        ]
        if result.state in ("none", "failed", "base"):
            texts.append(_(_REMARK_TEXTS[result.state], **facts))
        if not team.members:
            texts.append(_("team {team}: no members: {place}", **facts))
    texts += [
        _("{team} has runs but is not in hackathon.yaml, so it is not in the report", team=name)
        for name in strangers(source)
    ]
    if event.publish.surveys:
        texts += [
            _(
                "survey {survey}: free-text answers are not in the report because they have not been reviewed: "
                "surveys/{survey}/texts.yaml",
                survey=survey.name,
            )
            for survey in surveys
            if not survey.reviewed and any(question.kind == "text" for question in survey.survey.questions)
        ]
    return texts


class _Place:
    """The position of a key in `hackathon.yaml`, or of a missing key's parent."""

    def __init__(self, folder: Path | None) -> None:
        from hackathon.config.load import EVENT_FILE
        from hackathon.config.yaml import Document, read_yaml
        from hackathon.text.errors import HackathonError

        self._name = EVENT_FILE
        self._document: Document | None = None
        try:
            self._document = read_yaml(folder / EVENT_FILE) if folder is not None else None
        except HackathonError:
            return

    def of(self, path: tuple[str | int, ...]) -> str:
        """Return `hackathon.yaml, line 12`; the file name alone for a missing key."""
        if self._document is None or (len(path) == 1 and path not in self._document.places):
            return self._name
        return _("{file}, line {line}", file=self._name, line=self._document.line(path))
