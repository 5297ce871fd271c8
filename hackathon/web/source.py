"""What a view is made from, and which view answers for which kind of page."""

import importlib
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hackathon.share.places import Project
from hackathon.web.records import Summary, parts_of

if TYPE_CHECKING:
    from hackathon.config.event import Event

VIEWS = {
    "now": ("now.html.j2", "hackathon.web.now"),
    "teams": ("teams.html.j2", "hackathon.web.teams"),
    "team": ("team.html.j2", "hackathon.web.team"),
    "study": ("study.html.j2", "hackathon.web.study"),
    "run": ("run.html.j2", "hackathon.web.run"),
    "diff": ("diff.html.j2", "hackathon.web.diff"),
    "scaling": ("scaling.html.j2", "hackathon.web.overview"),
    "board": ("board.html.j2", "hackathon.web.problems"),
    "cluster": ("cluster.html.j2", "hackathon.web.machines"),
    "schedule": ("schedule.html.j2", "hackathon.web.schedule"),
    "survey": ("survey.html.j2", "hackathon.web.survey"),
}
"""Kind → template and module; the module's `values(source, key)` returns the template's values, None: no such page."""


@dataclass(frozen=True)
class Source:
    """All that views read; a moment's picture."""

    summaries: Sequence[Summary] = ()
    """Runs, newest first."""
    projects: Sequence[Project] = ()
    event: "Event | None" = None
    event_folder: Path | None = None
    team: str = ""
    """Only this team's runs and projects are in it: a participant's view."""
    now: float = field(default_factory=time.time)
    live: bool = False
    """Whether the page is watched while runs go on (dashboard), or is for afterwards (site)."""
    problems: Sequence[str] = ()
    """What went wrong while reading: a scheduler that does not answer, a folder that can not be read."""

    def find(self, key: str) -> Summary | None:
        """Return the run of a key `<project folder>//<id>`, None when it is not (or no more) there."""
        project, identifier = parts_of(key)
        return next((each for each in self.summaries if each.id == identifier and each.project == project), None)


def values_of(kind: str, key: str, source: Source) -> tuple[str, dict[str, Any]] | None:
    """Return the template and the values of a page in the current language, None when there is no such page."""
    if kind not in VIEWS:
        return None
    template, module = VIEWS[kind]
    values: dict[str, Any] | None = importlib.import_module(module).values(source, key)
    return None if values is None else (template, values)
