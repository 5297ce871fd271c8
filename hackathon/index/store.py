"""Keep what the index knows on the node's own disk: derived, deletable, made anew when damaged, and never needed."""

import contextlib
import os
import sqlite3
import stat
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from hackathon.access.private import node_folder, private_folder

Row = tuple[str, str, str, str]
"""Project's folder, run id, format of the value, value as JSON."""
UseRow = tuple[str, str, str, int, str]
"""Project's folder, run's place in `runs`, format, mark of the files that the value was read from, value as JSON."""
PATIENCE = 2.0
"""Seconds to wait for another process that writes the same file."""
LARGEST = 256 << 20
"""Bytes beyond which the file is begun anew: it holds the runs of projects that nobody looks at any more."""
DAMAGE = (sqlite3.Error, UnicodeError, OSError)
"""What a damaged file raises, one with bytes in a name that are no text, and one on a disk that is read-only."""
_TABLES = (
    "CREATE TABLE IF NOT EXISTS runs (project TEXT, id TEXT, format TEXT, value TEXT, PRIMARY KEY (project, id))",
    "CREATE TABLE IF NOT EXISTS uses (project TEXT, place TEXT, format TEXT, mark INTEGER, value TEXT, "
    "PRIMARY KEY (project, place)) WITHOUT ROWID",
)
"""What pages show of a run, and what its job used: a budget is held against the second one alone."""


def default_path() -> Path:
    """Return where this user's index lies: `$XDG_RUNTIME_DIR/hackathon/`, else `/tmp/hackathon-<uid>/`."""
    return node_folder() / "index.sqlite3"


class RunStore:
    """The rows of one file. Whatever goes wrong with it, the caller goes on without: `usable` then is False."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._database: sqlite3.Connection | None = None
        if _private_folder(path.parent) and _is_own_file(path):
            try:
                if path.exists() and path.stat().st_size > LARGEST:
                    self._rebuild()
                else:
                    self._database = self._open()
            except DAMAGE as error:
                if not _is_locked(error):
                    self._rebuild()

    @property
    def usable(self) -> bool:
        """Whether rows are kept in the file; else in nobody's memory but the caller's."""
        return self._database is not None

    def _open(self) -> sqlite3.Connection:
        database = sqlite3.connect(self.path, timeout=PATIENCE, check_same_thread=False)
        try:
            self.path.chmod(0o600)
            # A crash of the machine may cost the file, which is made anew; waiting for the disk is not worth it.
            database.execute("PRAGMA synchronous = OFF")
            database.execute("PRAGMA journal_mode = TRUNCATE")
            with database:
                for table in _TABLES:
                    database.execute(table)
            database.execute("SELECT project, id, format, value FROM runs LIMIT 1").fetchall()
            database.execute("SELECT project, place, format, mark, value FROM uses LIMIT 1").fetchall()
        except BaseException:
            database.close()
            raise
        return database

    def _rebuild(self) -> None:
        """Throw a damaged file away and begin anew; without a disk to write to go on without."""
        self.close()
        with contextlib.suppress(*DAMAGE):
            for ending in ("", "-journal", "-wal", "-shm"):
                self.path.with_name(self.path.name + ending).unlink(missing_ok=True)
            self._database = self._open()

    def load(self, projects: Iterable[str], form: str) -> list[tuple[str, str, str]]:
        """Return (project, id, value) of the projects' rows of one format."""
        query = "SELECT project, id, value FROM runs WHERE project = ? AND format = ?"
        return self._selected(query, projects, form)

    def load_uses(self, projects: Iterable[str], form: str) -> list[tuple[str, str, int, str]]:
        """Return (project, place, mark, value) of what the projects' runs used, of one format."""
        query = "SELECT project, place, mark, value FROM uses WHERE project = ? AND format = ?"
        return self._selected(query, projects, form)

    def _selected(self, query: str, projects: Iterable[str], form: str) -> list[Any]:
        if self._database is None:
            return []
        rows: list[Any] = []
        try:
            for project in projects:
                rows += self._database.execute(query, (project, form)).fetchall()
        except sqlite3.OperationalError:
            return []  # somebody else writes: this time all is read from the runs
        except DAMAGE:
            self._rebuild()
            return []
        return rows

    def write(
        self,
        rows: Sequence[Row],
        gone: Sequence[tuple[str, str]] = (),
        uses: Sequence[UseRow] = (),
        gone_uses: Sequence[tuple[str, str]] = (),
    ) -> None:
        """Add or replace rows, and drop those of runs that are gone: (project, id), of uses (project, place)."""
        if self._database is None or not (rows or gone or uses or gone_uses):
            return
        try:
            with self._database:
                self._database.executemany("INSERT OR REPLACE INTO runs VALUES (?, ?, ?, ?)", rows)
                self._database.executemany("DELETE FROM runs WHERE project = ? AND id = ?", gone)
                self._database.executemany("DELETE FROM uses WHERE project = ? AND place = ?", gone_uses)
                self._database.executemany("INSERT OR REPLACE INTO uses VALUES (?, ?, ?, ?, ?)", uses)
        except sqlite3.OperationalError as error:
            if not _is_locked(error):  # the disk is full, or cannot be written
                self.close()
        except DAMAGE:
            self._rebuild()

    def close(self) -> None:
        """Close the file."""
        if self._database is not None:
            with contextlib.suppress(sqlite3.Error):
                self._database.close()
        self._database = None


def _is_locked(error: Exception) -> bool:
    """Return whether another process of this user just writes: then this one goes on without the file."""
    return isinstance(error, sqlite3.OperationalError) and "locked" in str(error)


def _private_folder(folder: Path) -> bool:
    """Return whether a folder is there, or could be made, that only this user can write in and read."""
    try:
        private_folder(folder, parents=True)
    except OSError:
        return False
    return True


def _is_own_file(path: Path) -> bool:
    """Return whether a file is this user's, or not there yet: no link, no pipe."""
    try:
        status = path.lstat()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid() and status.st_nlink == 1
