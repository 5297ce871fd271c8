"""Summaries of the closed surveys that an event publishes; read again only after a change of their files."""

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
"""The most files of a survey whose modification time is read."""


def published(source: Catalog) -> list[SurveySummary]:
    """Return the summaries of closed surveys that the event publishes.

    Those of participants first, in order of closing. Raises HackathonError if a closed survey cannot be read, because a
    page without it would look complete.
    """
    rules = source.event.publish if source.event is not None else Publish()
    if source.event is None or source.event_folder is None or not rules.surveys:
        return []
    return summaries(source.event_folder, source.event, source.memory)


def summaries(folder: Path, event: "Event", memory: Memory) -> list[SurveySummary]:
    """Return the summaries of all closed surveys of an event: of participants, then of tutors, in order of closing.

    A survey that would reveal few people when compared with another one is left out; `too_like` names it.
    """
    folder = folder.absolute()
    signature = (mark(folder), repr(event))
    cached = memory.recall("surveys", folder)
    if cached is not None and cached[0] == signature:
        hit: list[SurveySummary] = cached[1]
        return hit
    closed = [
        collection for collection in collections(folder) if collection.state == "closed" and collection.survey.anonymous
    ]
    surveys = _summed_up(closed, event) if closed else []
    memory.keep("surveys", folder, (signature, surveys), 1)
    return surveys


def _summed_up(closed: "list[Collection]", event: "Event") -> list[SurveySummary]:
    from hackathon.survey.publication import kept_back, summary_of

    apart = kept_back(closed)
    remaining = [collection for collection in closed if collection.name not in apart]
    remaining.sort(
        key=lambda collection: (collection.survey.audience != "participants", _closed(collection), collection.name)
    )
    return [_without_teams(summary_of(collection), event) for collection in remaining]


def _without_teams(summary: SurveySummary, event: "Event") -> SurveySummary:
    """Return a summary without breakdowns by team if one team is hidden."""
    if all(team.publish or not team.took_part for team in event.teams):
        return summary
    # the difference between the event and the other teams would be the hidden team's result
    return replace(
        summary,
        items=tuple(item for item in summary.items if item.question.options_from != "teams"),
        breakdowns=tuple(breakdown for breakdown in summary.breakdowns if breakdown.question.options_from != "teams"),
    )


def foremost(summaries: Sequence[SurveySummary]) -> SurveySummary | None:
    """Return the survey that represents the event; None without any.

    It is the one with `headline: true`, else the participants' survey with most invited; of several the last one.
    """
    ranked = [
        ((summary.survey.headline, summary.survey.audience == "participants", summary.invited or 0, at), summary)
        for at, summary in enumerate(summaries)
    ]
    return max(ranked, key=lambda entry: entry[0])[1] if ranked else None


def _closed(collection: "Collection") -> int:
    """Return when a survey was closed, for sorting: nanoseconds since 1970."""
    try:
        return collection.closed_folder.stat().st_mtime_ns
    except OSError:
        return 0


def unfinished(folder: Path) -> list[str]:
    """Return the names of open surveys, whose results are unknown so far."""
    return [
        collection.name
        for collection in collections(folder)
        if collection.state == "open" and collection.survey.anonymous
    ]


def too_like(folder: Path) -> dict[str, str]:
    """Return unpublished surveys that would reveal few people when compared with another one → that one."""
    from hackathon.survey.publication import kept_back

    return kept_back(collections(folder))


def collections(folder: Path) -> "list[Collection]":
    """Return the surveys of an event that this account may read; only the collecting account may."""
    folders = [folder / SURVEYS / name for name in _names(folder) if _readable(folder / SURVEYS / name)]
    if not folders:
        return []
    from hackathon.survey.collection import Collection
    from hackathon.survey.storage import SURVEY_FILE

    return [Collection(path) for path in folders if (path / SURVEY_FILE).exists()]


def is_closed(folder: Path) -> bool:
    """Return whether this account may not even list an event's surveys."""
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
    """Return a text that changes with a survey's files."""
    stamps: list[str] = []
    for name in _names(folder):
        stamps.append(name)
        below = folder / SURVEYS / name
        for path in (below, below / "closed"):
            stamps += _stamps(path)
    return "\n".join(stamps[:FILES])


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
