"""The closed surveys of an event that may go out, summed up; read again only when one of their files has changed."""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from hackathon.config.event import Publish
from hackathon.index.catalog import Catalog
from hackathon.index.memory import Memory
from hackathon.survey.records import SurveySummary

if TYPE_CHECKING:
    from hackathon.config.event import Event
    from hackathon.survey.collection import Collection

SURVEYS = "surveys"
"""The folder beside `hackathon.yaml` with a folder for each survey."""
FILES = 10_000
"""Files of a survey whose last change is looked at."""


def published(source: Catalog) -> list[SurveySummary]:
    """Return the summaries of closed surveys that the event lets go out; those asked of participants first, as closed.

    Raises HackathonError when a closed survey cannot be read: a page without it would say that there was none.
    """
    rules = source.event.publish if source.event is not None else Publish()
    if source.event is None or source.event_folder is None or not rules.surveys:
        return []
    return summaries(source.event_folder, source.event, source.memory)


def summaries(folder: Path, event: "Event", memory: Memory) -> list[SurveySummary]:
    """Return the summaries of all closed surveys of an event: of participants, then of tutors, each as they closed.

    One that would tell of few people beside another one is left out; `too_like` names it.
    """
    folder = folder.absolute()
    signature = (mark(folder), repr(event))
    known = memory.recall("surveys", folder)
    if known is not None and known[0] == signature:
        kept: list[SurveySummary] = known[1]
        return kept
    closed = [each for each in collections(folder) if each.state == "closed" and each.survey.anonymous]
    found = _summed_up(closed, event) if closed else []
    memory.keep("surveys", folder, (signature, found), 1)
    return found


def _summed_up(closed: "list[Collection]", event: "Event") -> list[SurveySummary]:
    from hackathon.survey.publication import kept_back, summary_of

    apart = kept_back(closed)
    told = [each for each in closed if each.name not in apart]
    told.sort(key=lambda each: (each.survey.audience != "participants", _closed(each), each.name))
    return [_without_teams(summary_of(each), event) for each in told]


def _without_teams(found: SurveySummary, event: "Event") -> SurveySummary:
    """Return a summary that tells no teams apart where one of them is left out: all but the others would be its."""
    if all(team.publish or not team.took_part for team in event.teams):
        return found
    return replace(
        found,
        items=tuple(each for each in found.items if each.question.options_from != "teams"),
        breakdowns=tuple(each for each in found.breakdowns if each.question.options_from != "teams"),
    )


def foremost(found: Sequence[SurveySummary]) -> SurveySummary | None:
    """Return the survey that stands for the event, None without any.

    It is the one that says so (`headline: true`), else that of participants with most invited; of several the last one.
    """
    ranked = [
        ((each.survey.headline, each.survey.audience == "participants", each.invited or 0, at), each)
        for at, each in enumerate(found)
    ]
    return max(ranked, key=lambda each: each[0])[1] if ranked else None


def _closed(collection: "Collection") -> int:
    """Return when a survey was closed, for its order: nanoseconds since 1970."""
    try:
        return collection.closed_folder.stat().st_mtime_ns
    except OSError:
        return 0


def unfinished(folder: Path) -> list[str]:
    """Return the names of surveys that are open: what they say is not known yet."""
    return [each.name for each in collections(folder) if each.state == "open" and each.survey.anonymous]


def too_like(folder: Path) -> dict[str, str]:
    """Return the surveys that are not told, since beside another one they would tell of few people → that one."""
    from hackathon.survey.publication import kept_back

    return kept_back(collections(folder))


def collections(folder: Path) -> "list[Collection]":
    """Return the surveys of an event that this account may read: they are private to the one that collects."""
    places = [folder / SURVEYS / name for name in _names(folder) if _readable(folder / SURVEYS / name)]
    if not places:
        return []
    from hackathon.survey.collection import Collection
    from hackathon.survey.storage import SURVEY_FILE

    return [Collection(place) for place in places if (place / SURVEY_FILE).exists()]


def is_closed(folder: Path) -> bool:
    """Return whether this account may not even see which surveys an event has."""
    try:
        os.listdir(folder / SURVEYS)  # noqa: PTH208
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return False


def unreadable(folder: Path) -> list[str]:
    """Return the names of surveys that this account may not read."""
    return [name for name in _names(folder) if not _readable(folder / SURVEYS / name)]


def _readable(folder: Path) -> bool:
    return os.access(folder, os.R_OK | os.X_OK)


def mark(folder: Path) -> str:
    """Return a text that changes when a survey's files do."""
    found: list[str] = []
    for name in _names(folder):
        found.append(name)
        below = folder / SURVEYS / name
        for each in (below, below / "closed"):
            found += _stamps(each)
    return "\n".join(found[:FILES])


def _stamps(folder: Path) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return sorted(
                f"{entry.path} {status.st_size} {status.st_mtime_ns} {status.st_ino}"
                for entry in entries
                if (status := entry.stat(follow_symlinks=False)) is not None
            )
    except OSError:
        return []


def _names(folder: Path) -> list[str]:
    try:
        with os.scandir(folder / SURVEYS) as entries:
            return sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
    except OSError:
        return []
