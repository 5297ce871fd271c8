"""The input of pages, reports and tables: the runs of an event or a project at one moment."""

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
"""The least number of characters of a run's id that identify it."""


@dataclass(frozen=True)
class Catalog:
    """The data that views read; a snapshot."""

    summaries: Sequence[RunEntry] = ()
    """Runs to show, newest first."""
    projects: Sequence[ProjectFolder] = ()
    event: "Event | None" = None
    event_folder: Path | None = None
    team: str = ""
    """If set, only this team's runs and projects are included: a participant's view."""
    now: float = field(default_factory=time.time)
    live: bool = False
    """Whether the page updates while runs continue (dashboard), or is static (site)."""
    asks: bool = False
    """Whether schedulers may be asked while the page is open."""
    problems: Sequence[str] = ()
    """Problems while reading: a scheduler that does not answer, a folder that cannot be read."""
    unseen: Sequence[RunEntry] = ()
    """Runs that are not displayed and count as used time: cleaned up, or in no team's folder."""

    doubles: Mapping[str, str] | None = None
    """Key of an adopted run → the run for which its job is already counted; None: derived from the entries."""

    hidden: frozenset[str] = frozenset()
    """Teams of the event that no public page names; their data are left out."""

    laptops: frozenset[str] | None = None
    """Clusters whose runs are in no sum; None: derived from all runs.

    A catalog with a part of the runs keeps the value of the full one.
    """

    memory: Memory = field(default_factory=Memory, repr=False, compare=False)
    """Recent results of views; snapshots of other moments share it."""

    @property
    def entries(self) -> tuple[RunEntry, ...]:
        """All runs: those that are displayed, then those that only count."""
        return (*self.summaries, *self.unseen)

    def find(self, key: str) -> RunEntry | None:
        """Return the run of a key `<project folder>//<id>`; None if it does not exist or no longer exists."""
        project, identifier = parts_of(key)
        return next((run for run in self.summaries if run.id == identifier and run.project == project), None)

    def named(self, part: str) -> list[RunEntry]:
        """Return the runs that a part of an id identifies, newest first; empty for fewer than LEAST characters.

        The run with that id, else those whose last word begins with it, else those that contain it.
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
    """Return key of an adopted run → the id of the run for which its job is already counted."""
    return counted_twice((key_of(entry.project, entry.id), entry.use) for entry in entries if entry.use is not None)
