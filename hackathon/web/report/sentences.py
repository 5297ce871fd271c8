"""The sentences before a report's tables, made from the same record."""

from collections.abc import Mapping
from dataclasses import dataclass

from hackathon.scaling.show import number, percent
from hackathon.text.messages import message
from hackathon.web.page.dates import joined, listed
from hackathon.web.report.report import PeopleView, ReportView, TutorsView
from hackathon.web.report.team import marked, processes
from hackathon.web.views.survey import SurveyView

_COUNTED = {
    "people": ("report.people_one", "report.people_many"),
    "teams": ("report.teams_one", "report.teams_many"),
    "jobs": ("report.jobs_one", "report.jobs_many"),
}
_HELD_TEXTS = {
    (False, False): "report.held",
    (True, False): "report.held_when",
    (False, True): "report.held_place",
    (True, True): "report.held_when_place",
}
"""Whether the report knows when and where it was → the sentence."""


@dataclass(frozen=True)
class SurveyWords:
    """The texts about one survey."""

    answered: str
    shown: bool
    """Whether any item may be published."""
    levels: tuple[str, ...]
    """Headers of the columns of levels."""
    directions: str
    alt: str = ""
    picture: str = ""
    """The file of its drawing, beside the report."""


@dataclass(frozen=True)
class Words:
    """The sentences of a report in its language."""

    held: str
    """When and where the event was held, and its purpose."""
    summary: str
    facts: tuple[tuple[str, str], ...]
    people: str
    tutors: str
    used: str
    problems: str
    surveys: tuple[tuple[SurveyView, SurveyWords], ...]
    authors: str
    closing: str
    end: str
    """When it was made, and that names are masked."""


def words_of(view: ReportView, *, masked: bool, pictures: Mapping[str, tuple[str, str]] | None = None) -> Words:
    """Return the sentences in the current language. `pictures`: survey → (description, file)."""
    date = message("report.made", day=view.made)
    return Words(
        held=joined(_held(view), view.occasion),
        summary=_summary(view),
        facts=tuple((name, text) for name, text in _facts(view) if text),
        people=_people(view.people),
        tutors=_tutors(view.tutors),
        used=_used(view),
        problems=_problems(view),
        surveys=tuple((survey, survey_words(survey, *(pictures or {}).get(survey.name, ("", ""))))
                      for survey in view.surveys),
        authors=message("report.authors", authors=listed(view.authors)) if view.authors else "",
        closing=view.closing or _closing(view),
        end=joined(date, message("report.masked") if masked else ""),
    )  # fmt: skip


def counted(word: str, count: int) -> str:
    """Return a number with its noun: `1 team`, `8 teams`."""
    one, many = _COUNTED[word]
    return message(one if count == 1 else many, count=count)


def _held(view: ReportView) -> str:
    text = _HELD_TEXTS[bool(view.when), bool(view.place)]
    return message(text, title=view.title, when=view.when, place=view.place)


def _facts(view: ReportView) -> list[tuple[str, str]]:
    people = view.people
    came = message("report.people_of_teams", people=counted("people", people.people),
                   teams=counted("teams", people.took_part)) if people.people else ""  # fmt: skip
    return [
        (message("report.f_when"), view.when),
        (message("report.f_place"), view.place),
        (message("report.f_host"), view.hosts[0] if view.hosts else ""),
        (message("report.f_cohosts"), message("report.comma").join(view.hosts[1:])),
        (message("report.f_clusters"), message("report.comma").join(view.clusters)),
        (message("report.f_people"), came),
    ]


def _summary(view: ReportView) -> str:
    """Return the article's first paragraph of results; empty without participants."""
    if not view.people.took_part or not view.people.people:
        return ""
    sentences = []
    if view.measured:
        sentences.append(
            message(
                "report.summary", people=counted("people", view.people.people),
                teams=counted("teams", view.people.took_part), measured=counted("teams", view.count.measured),
            )
        )  # fmt: skip
        best = next((team for team in view.measured if team.name == view.best_team), None)
        if best is not None and best.best is not None and best.best.speedup > 1:
            text = message(
                "report.summary_best", speedup=number(best.best.speedup, 3),
                processes=processes(best.best.processes), team=best.name,
            )  # fmt: skip
            sentences.append(marked(text, best.best.doubted))
        elif best is not None:
            sentences.append(message("report.summary_none_faster"))
    sentences += [
        message(
            "report.summary_survey", title=survey.title, rate=percent(survey.rate), n=survey.n, invited=survey.invited
        )
        for survey in view.surveys
        if survey.name == view.headline and survey.rate is not None
    ]
    return joined(*sentences)


def _people(people: PeopleView) -> str:
    chosen = counted("teams", people.chosen)
    if people.applied is None:
        first = message("report.not_applied", chosen=chosen) if people.chosen else ""
    else:
        first = message("report.applied", teams=counted("teams", people.applied), chosen=chosen)
    if not people.people:
        return joined(first, message("report.nobody"))
    came = {"teams": counted("teams", people.took_part), "people": counted("people", people.people)}
    kinds = [message("report.kind_count", kind=kind, count=count) for kind, count in people.kinds]
    second = message("report.took_part", kinds=message("report.comma").join(kinds), **came)
    return joined(first, second)


def _tutors(tutors: TutorsView) -> str:
    count = counted("people", tutors.count)
    first = (
        message("report.tutors_named", count=count, names=listed(tutors.names))
        if tutors.names
        else message("report.tutors", count=count)
    )
    return joined(first, message("report.tutors_know", knows=listed(tutors.knows)) if tutors.knows else "")


def _used(view: ReportView) -> str:
    sentences = []
    for total in view.used_in_all:
        gpu = "" if total.gpu_hours is None else message("report.used_gpu", gpu_hours=number(total.gpu_hours, 3))
        sentences.append(
            message(
                "report.used_sentence", node_hours=number(total.node_hours, 3), gpu=gpu,
                jobs=counted("jobs", total.jobs), cluster=total.cluster,
            )
        )  # fmt: skip
    return joined(*sentences)


def _problems(view: ReportView) -> str:
    if not view.problems:
        return ""
    first = message("report.problems_one" if view.solved == 1 else "report.problems_lead", count=view.solved)
    count = len(view.problems)
    return joined(first, message("report.problems_some", count=count) if count < view.solved else "")


def _closing(view: ReportView) -> str:
    """Return thanks to the people in the event; empty without participants."""
    if not view.people.people:
        return ""
    helpers = [message("report.the_tutors")] if view.tutors.count else []
    helpers += [message("report.the_cohosts", names=listed(view.hosts[1:]))] if view.hosts[1:] else []
    return message("report.closing_helped", helpers=listed(helpers)) if helpers else message("report.closing")


def survey_words(survey: SurveyView, alt: str = "", picture: str = "") -> SurveyWords:
    """Return the texts about one survey in the current language."""
    if survey.invited and survey.n > survey.invited:
        answered = message("report.survey_answered_more", title=survey.title, n=survey.n, invited=survey.invited)
    elif survey.rate is None:
        answered = message("report.survey_answered_plain", title=survey.title, n=survey.n)
    else:
        answered = message("report.survey_answered", title=survey.title, n=survey.n, invited=survey.invited,
                           rate=percent(survey.rate))  # fmt: skip
    has_ratings = any(item.shown and item.n for item in survey.ratings)
    if survey.n < survey.smallest:
        answered = joined(answered, message("survey_page.too_few", smallest=survey.smallest))
    parts = [
        message("report.survey_direction", item=item.text, direction=item.direction)
        for item in survey.ratings
        if item.direction
    ]
    directions = (
        message("report.survey_directions", text=message("report.survey_semicolon").join(parts)) if parts else ""
    )
    return SurveyWords(answered, has_ratings, tuple(map(str, range(1, survey.levels + 1))), directions, alt, picture)
