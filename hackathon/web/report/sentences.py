"""The sentences before a report's tables, made from the same record."""

from collections.abc import Mapping
from dataclasses import dataclass

from hackathon.scaling.show import number, percent
from hackathon.text.messages import N_, NP_, _, pgettext
from hackathon.web.page.dates import joined, listed
from hackathon.web.report.report import PeopleView, ReportView, TutorsView
from hackathon.web.report.team import marked, processes
from hackathon.web.views.survey import SurveyView

_COUNTED = {
    "people": (N_("1 person"), N_("{count} people")),
    "teams": (N_("1 team"), NP_("report", "{count} teams")),
    "jobs": (N_("1 job"), N_("{count} jobs")),
}
_HELD_TEXTS = {
    (False, False): N_("This is the report on “{title}”."),
    (True, False): N_("“{title}” was held on {when}."),
    (False, True): N_("“{title}” was held at {place}."),
    (True, True): N_("“{title}” was held on {when} at {place}."),
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
    date = _("Created on {day} with hackathon from the event’s records.", day=view.made)
    return Words(
        held=joined(_held(view), view.occasion),
        summary=_summary(view),
        facts=tuple((name, text) for name, text in _facts(view) if text),
        people=_people(view.people),
        tutors=_tutors(view.tutors),
        used=_used(view),
        problems=_problems(view),
        surveys=tuple(
            (survey, survey_words(survey, *(pictures or {}).get(survey.name, ("", "")))) for survey in view.surveys
        ),
        authors=_("{authors}", authors=listed(view.authors)) if view.authors else "",
        closing=view.closing or _closing(view),
        end=joined(
            date, _("Names of people and machines are omitted, according to the event’s settings.") if masked else ""
        ),
    )


def counted(word: str, count: int) -> str:
    """Return a number with its noun: `1 team`, `8 teams`."""
    one, many = _COUNTED[word]
    return _(one if count == 1 else many, count=count)


def _held(view: ReportView) -> str:
    text = _HELD_TEXTS[bool(view.when), bool(view.place)]
    return _(text, title=view.title, when=view.when, place=view.place)


def _facts(view: ReportView) -> list[tuple[str, str]]:
    people = view.people
    came = _("{people} in {teams}", people=counted("people", people.people),
                   teams=counted("teams", people.took_part)) if people.people else ""  # fmt: skip
    return [
        (_("Date"), view.when),
        (_("Place"), view.place),
        (_("Host"), view.hosts[0] if view.hosts else ""),
        (_("Co-hosts"), _(", ").join(view.hosts[1:])),
        (_("Computers"), _(", ").join(view.clusters)),
        (_("Participants"), came),
    ]


def _summary(view: ReportView) -> str:
    """Return the article's first paragraph of results; empty without participants."""
    if not view.people.took_part or not view.people.people:
        return ""
    sentences = []
    if view.measured:
        sentences.append(
            _(
                "{people} took part in {teams}; {measured} measured how far their training scales beyond its "
"base.", people=counted("people", view.people.people),
                teams=counted("teams", view.people.took_part), measured=counted("teams", view.count.measured),
            )
        )  # fmt: skip
        best = next((team for team in view.measured if team.name == view.best_team), None)
        if best is not None and best.best is not None and best.best.speedup > 1:
            text = _(
                "The largest speed-up was {speedup} times on {processes} (team {team}).",
                speedup=number(best.best.speedup, 3),
                processes=processes(best.best.processes),
                team=best.name,
            )
            sentences.append(marked(text, best.best.doubted))
        elif best is not None:
            sentences.append(_("None became faster with more processes."))
    sentences += [
        _(
            "{rate} of those invited answered “{title}” ({n} of {invited}).",
            title=survey.title,
            rate=percent(survey.rate),
            n=survey.n,
            invited=survey.invited,
        )
        for survey in view.surveys
        if survey.name == view.headline and survey.rate is not None
    ]
    return joined(*sentences)


def _people(people: PeopleView) -> str:
    chosen = counted("teams", people.chosen)
    if people.applied is None:
        first = _("{chosen} were selected.", chosen=chosen) if people.chosen else ""
    else:
        first = _("{teams} applied; {chosen} were selected.", teams=counted("teams", people.applied), chosen=chosen)
    if not people.people:
        return joined(first, _("No participants are recorded."))
    came = {"teams": counted("teams", people.took_part), "people": counted("people", people.people)}
    kinds = [pgettext("report", "{kind} {count}", kind=kind, count=count) for kind, count in people.kinds]
    second = _("{teams} with {people} took part: {kinds}.", kinds=_(", ").join(kinds), **came)
    return joined(first, second)


def _tutors(tutors: TutorsView) -> str:
    count = counted("people", tutors.count)
    first = (
        _("{count} helped the teams: {names}.", count=count, names=listed(tutors.names))
        if tutors.names
        else _("{count} helped the teams.", count=count)
    )
    return joined(first, _("Topics: {knows}.", knows=listed(tutors.knows)) if tutors.knows else "")


def _used(view: ReportView) -> str:
    sentences = []
    for total in view.used_in_all:
        gpu = "" if total.gpu_hours is None else _(" ({gpu_hours} GPU-hours)", gpu_hours=number(total.gpu_hours, 3))
        sentences.append(
            _(
                "On {cluster} the teams used {node_hours} node-hours{gpu} in {jobs}.",
                node_hours=number(total.node_hours, 3),
                gpu=gpu,
                jobs=counted("jobs", total.jobs),
                cluster=total.cluster,
            )
        )
    return joined(*sentences, view.lost)


def _problems(view: ReportView) -> str:
    if not view.problems:
        return ""
    first = (
        _("On the event’s problem board, one problem was marked as solved.")
        if view.solved == 1
        else _("On the event’s problem board, {count} problems were marked as solved.", count=view.solved)
    )
    count = len(view.problems)
    return joined(first, _("The newest {count} are listed.", count=count) if count < view.solved else "")


def _closing(view: ReportView) -> str:
    """Return thanks to the people in the event; empty without participants."""
    if not view.people.people:
        return ""
    helpers = [_("the tutors")] if view.tutors.count else []
    helpers += [_("{names}", names=listed(view.hosts[1:]))] if view.hosts[1:] else []
    return (
        _("We thank everyone who took part, and {helpers} for their support.", helpers=listed(helpers))
        if helpers
        else _("We thank everyone who took part.")
    )


def survey_words(survey: SurveyView, alt: str = "", picture: str = "") -> SurveyWords:
    """Return the texts about one survey in the current language."""
    if survey.invited and survey.n > survey.invited:
        answered = _(
            "“{title}”: {n} answers; invited according to the event: {invited}.",
            title=survey.title,
            n=survey.n,
            invited=survey.invited,
        )
    elif survey.rate is None:
        answered = _("“{title}”: {n} people answered.", title=survey.title, n=survey.n)
    else:
        answered = _(
            "“{title}”: {n} of {invited} invited people answered (response rate {rate}).",
            title=survey.title,
            n=survey.n,
            invited=survey.invited,
            rate=percent(survey.rate),
        )
    has_ratings = any(item.shown and item.n for item in survey.ratings)
    if survey.n < survey.smallest:
        answered = joined(
            answered,
            _(
                "Fewer than {smallest} people answered, so no results are shown, to protect their identity.",
                smallest=survey.smallest,
            ),
        )
    parts = [
        _("{item}: {direction}", item=item.text, direction=item.direction) for item in survey.ratings if item.direction
    ]
    directions = _("Away from the middle: {text}.", text=_("; ").join(parts)) if parts else ""
    return SurveyWords(answered, has_ratings, tuple(map(str, range(1, survey.levels + 1))), directions, alt, picture)
