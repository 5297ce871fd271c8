"""The project and the event around a folder, and which of their folders are searched: it depends on who can write.

Files of other accounts (see `config.trust`) are handled in three ways: `refuse` before a command, an environment or a
template of theirs runs; `leave` them out, with a note, if nothing runs; `take` them after `--trust`.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from hackathon.access.ownership import ForeignFile, Trusted, foreign, foreign_below
from hackathon.config import load
from hackathon.config.trust import (
    SEARCHED,
    ForeignError,
    look_at_project,
    people,
    take,
    trusted_event,
)
from hackathon.jobs.script import SCRIPTS
from hackathon.text.paths import is_shipped, shipped, user_config

if TYPE_CHECKING:
    from hackathon.config.event import Event
    from hackathon.config.project import Project

Foreign = Literal["refuse", "leave", "take"]


@dataclass
class Places:
    """The project and the event around a folder."""

    project: "Project | None"
    event_folder: Path | None
    event: "Event | None"
    folders: list[Path]
    """Those of the two that are searched for templates, clusters and recipes, the project's first."""
    templates: dict[Path, Trusted | None]
    """Their template folders, and the accounts whose files count in each; None: everyone's."""
    trusted: Trusted
    """Accounts whose files count."""
    foreign: Foreign
    left_out: list[ForeignFile]
    """Ignored files of other accounts."""

    def search(self, folder: Path, trusted: Trusted, stranger: ForeignFile | None) -> None:
        """Search a folder, in which `stranger` does not count. Raises ForeignError as `judge`."""
        if self.judge(stranger):
            self.folders.append(folder)
            if (folder / "templates").is_dir():
                self.templates[folder / "templates"] = None if self.foreign == "take" else trusted

    def admit(self, path: Path) -> bool:
        """Return whether a file to run or source is accepted. Raises ForeignError if others' files are refused.

        Files of the toolkit and of installed packages, and those in the user's settings, are accepted whoever owns
        them.
        """
        if _is_given(path):
            return True
        stranger = foreign(path, self.trusted)
        if stranger is not None:
            from hackathon.config import plug_ins

            if plug_ins.owner(path) is not None:
                return True
        return self.judge(stranger)

    def admit_run(self, folder: Path) -> None:
        """Check that a run or a study to be reused belongs to the user or the team. Raises ForeignError."""
        names = [folder / name for name in (*SCRIPTS, "request.json", "study.json", "source.json")]
        for path in names:
            self.admit(path)

    def judge(self, stranger: ForeignFile | None) -> bool:
        """Return whether to accept a file or folder; `stranger`: its untrusted part, or None. Raises ForeignError."""
        if stranger is None or self.foreign == "take":
            return True
        if self.foreign == "refuse":
            raise ForeignError(stranger)
        self.left_out.append(stranger)
        return False


def around(project: Path | None, start: Path, foreign_files: Foreign) -> Places:
    """Return the project and the event around a project, or around the current folder without one.

    Raises UntrustedEventError, ConfigError, and ForeignError if files of others are refused.
    """
    event = trusted_event(project or start, asked=foreign_files == "take")
    trusted = people(event) if event is None else people(event) | event.trusted
    look = look_at_project(project, event) if project is not None else None
    if look is not None:
        trusted |= look.trusted
    search = Places(
        project=load.load_project(look.folder, look.raw) if look is not None else None,
        event_folder=event.folder if event is not None else None,
        event=event.record if event is not None else None,
        folders=[],
        templates={},
        trusted=trusted,
        foreign=foreign_files,
        left_out=[],
    )
    if foreign_files == "take":
        take(project or start)
    if look is not None:
        search.search(look.folder, look.trusted, look.foreign)
    if event is not None:
        search.search(event.folder, event.trusted, foreign_below(event.folder, SEARCHED, event.trusted))
    return search


def strangers_project(project: Path, foreign_files: Foreign) -> ForeignFile | None:
    """Return the project.yaml of a folder if it belongs to another account and is not trusted. Raises as `around`."""
    if foreign_files == "take":
        return None
    stranger = look_at_project(project, trusted_event(project, asked=False)).foreign
    return stranger if stranger is not None and stranger.path.name == load.PROJECT_FILE else None


def admit_again(folder: Path, start: Path, foreign_files: Foreign) -> None:
    """Check that a run or study to be reused belongs to the user or the team: its recorded commands run again.

    Raises ForeignError, and as `around`.
    """
    if foreign_files != "take":
        around(load.find_project(start), start, foreign_files).admit_run(folder)


def _is_given(path: Path) -> bool:
    try:
        settings = [user_config()]
    except RuntimeError:
        settings = []
    return is_shipped(path) or any(path.is_relative_to(base) for base in (*settings, shipped("recipes")))
