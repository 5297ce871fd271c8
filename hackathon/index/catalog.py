"""All that pages, reports and tables are made from: the runs of an event or a project at one moment."""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from hackathon.index.memory import Memory
from hackathon.index.projects import ProjectFolder
from hackathon.index.record import RunEntry, key_of, parts_of
from hackathon.runs.lives import counted_twice

if TYPE_CHECKING:
    from hackathon.config.event import Event

LEAST = 3
"""Letters of a part of a run's id that may stand for it."""


@dataclass(frozen=True)
class Catalog:
    """All that views read; a moment's picture."""

    summaries: Sequence[RunEntry] = ()
    """Runs to show, newest first."""
    projects: Sequence[ProjectFolder] = ()
    event: "Event | None" = None
    event_folder: Path | None = None
    team: str = ""
    """Only this team's runs and projects are in it: a participant's view."""
    now: float = field(default_factory=time.time)
    live: bool = False
    """Whether the page is watched while runs go on (dashboard), or is for afterwards (site)."""
    asks: bool = False
    """Whether schedulers may be asked while the page is watched."""
    problems: Sequence[str] = ()
    """What went wrong while reading: a scheduler that does not answer, a folder that cannot be read."""
    unseen: Sequence[RunEntry] = ()
    """Runs that are not shown and count for what was used: cleaned up, or in no team's folder."""

    doubles: Mapping[str, str] | None = None
    """Key of an adopted run → the run that its job is counted for already; None: as the entries tell."""

    hidden: frozenset[str] = frozenset()
    """Teams of the event that no public page names; nothing of theirs is in it."""

    laptops: frozenset[str] | None = None
    """Clusters whose runs no sum counts; None: as all runs tell. A part of the runs has what the whole tells."""

    memory: Memory = field(default_factory=Memory, repr=False, compare=False)
    """What views made lately; pictures of other moments have the same."""

    @property
    def entries(self) -> tuple[RunEntry, ...]:
        """All runs: those that are shown, then those that only count."""
        return (*self.summaries, *self.unseen)

    def find(self, key: str) -> RunEntry | None:
        """Return the run of a key `<project folder>//<id>`, None when it is not (or no more) there."""
        project, identifier = parts_of(key)
        return next((run for run in self.summaries if run.id == identifier and run.project == project), None)

    def named(self, part: str) -> list[RunEntry]:
        """Return the runs that a part of an id means: the one of that id, else those whose last word begins so, else
        those that have it anywhere; newest first, none for fewer than LEAST letters.
        """
        text = part.strip().casefold()
        if len(text) < LEAST:
            return []
        for fits in (
            lambda name: name == text,
            lambda name: name.rpartition("-")[2].startswith(text),
            lambda name: text in name,
        ):
            if matches := [run for run in self.summaries if fits(run.id.casefold())]:
                return matches
        return []


def doubles_of(entries: Iterable[RunEntry]) -> dict[str, str]:
    """Return key of an adopted run → the id of the run that its job is counted for already."""
    return counted_twice((key_of(entry.project, entry.id), entry.use) for entry in entries if entry.use is not None)
