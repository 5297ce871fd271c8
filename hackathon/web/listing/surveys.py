"""The event's surveys while they are open: the number of answers and of invited people, but no content of answers."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hackathon.index.catalog import Catalog
from hackathon.text.errors import HackathonError
from hackathon.text.messages import localized
from hackathon.web.page.sanitize import line
from hackathon.web.views.published_surveys import FILES, collections, is_closed, unreadable

if TYPE_CHECKING:
    from hackathon.survey.collection import Collection

KEPT = 10.0
"""Seconds for which the number of answers is cached."""


@dataclass(frozen=True)
class SurveyRow:
    name: str
    title: str
    state: str
    """draft, open or closed."""
    audience: str
    answers: int | None
    """None: not open yet, or they cannot be counted now."""
    invited: int | None
    """Number of invited people; None is unknown."""
    problem: str = ""

    @property
    def rate(self) -> float | None:
        """Share of the invited who answered, 0…1.

        None if their number is unknown, or smaller than that of the answers.
        """
        countable = self.answers is not None and self.invited and self.answers <= self.invited
        return (self.answers or 0) / (self.invited or 1) if countable else None


@dataclass(frozen=True)
class SurveysPage:
    """The page of all surveys."""

    surveys: tuple[SurveyRow, ...]
    unreadable: tuple[str, ...] = ()
    """Names of surveys of another account."""
    closed: bool = False
    """Whether this account may not even list the surveys."""


def values(source: Catalog, key: str = "") -> dict[str, Any] | None:
    """Return the template's values; None on the site, which shows only closed surveys, and without an event."""
    if not source.live or source.event is None or source.event_folder is None:
        return None
    return {"view": surveys_page(source, source.event_folder)}


def surveys_page(source: Catalog, folder: Path) -> SurveysPage:
    """Return the surveys of an event with the numbers of answers; those of another account have only a name."""
    key = (str(folder), int(source.now // KEPT))
    cached: SurveysPage | None = source.memory.recall("live surveys", key)
    if cached is not None:
        return cached
    rows = [_row(collection) for collection in collections(folder)[:FILES]]
    order = {"open": 0, "draft": 1, "closed": 2}
    rows.sort(key=lambda row: (order.get(row.state, 3), row.name))
    page = SurveysPage(tuple(rows), tuple(line(name, 100) for name in unreadable(folder)), is_closed(folder))
    source.memory.keep("live surveys", key, page, 4)
    return page


def _row(collection: "Collection") -> SurveyRow:
    name, state = line(collection.name, 100), collection.state
    try:
        survey = collection.survey
        answers, invited = (None, collection.invited()) if state == "draft" else collection.participation()
        return SurveyRow(name, line(localized(survey.title, name), 200), state, survey.audience, answers, invited)
    except (HackathonError, OSError, ValueError) as error:
        problem = error.message if isinstance(error, HackathonError) else type(error).__name__
        return SurveyRow(name, name, state, "", None, None, line(problem, 300))
