"""Store the index on the node's own disk: a cache that may be deleted and is rebuilt when damaged."""

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
"""Project's folder, run's path in `runs`, format, mark of the files that the value was read from, value as JSON."""
PATIENCE = 2.0
"""Seconds to wait for another process that writes the same file."""
LARGEST = 256 << 20
"""Bytes above which the file is rebuilt, because it contains runs of projects that are no longer used."""
DAMAGE = (sqlite3.Error, UnicodeError, OSError)
"""Exceptions for a damaged file, for names with bytes that are not text, and for a read-only disk."""
_TABLES = (
    "CREATE TABLE IF NOT EXISTS runs (project TEXT, id TEXT, format TEXT, value TEXT, PRIMARY KEY (project, id))",
    "CREATE TABLE IF NOT EXISTS uses (project TEXT, place TEXT, format TEXT, mark INTEGER, value TEXT, "
    "PRIMARY KEY (project, place)) WITHOUT ROWID",
)
"""The data of a run for pages, and its use separately, because a budget check needs only the second."""


def default_path() -> Path:
    """Return the path of this user's index: in `$XDG_RUNTIME_DIR/hackathon/`, else in `/tmp/hackathon-<uid>/`."""
    return node_folder() / "index.sqlite3"


class RunStore:
    """The rows of one file. After any failure `usable` is False, and the caller continues without the file."""

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
        """Whether rows are stored in the file."""
        return self._database is not None

    def _open(self) -> sqlite3.Connection:
        database = sqlite3.connect(self.path, timeout=PATIENCE, check_same_thread=False)
        try:
            self.path.chmod(0o600)
            # A crash of the machine may cost the file, which can be rebuilt; waiting for the disk is not worth it.
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
        """Delete a damaged file and start again; without a writable disk, continue without the file."""
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
        """Return (project, path, mark, value) of the use of the projects' runs, of one format."""
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
            return []  # another process is writing: this time everything is read from the runs
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
        """Add or replace rows, and drop those of deleted runs: (project, id), of uses (project, path)."""
        if self._database is None or not (rows or gone or uses or gone_uses):
            return
        try:
            with self._database:
                self._database.executemany("INSERT OR REPLACE INTO runs VALUES (?, ?, ?, ?)", rows)
                self._database.executemany("DELETE FROM runs WHERE project = ? AND id = ?", gone)
                self._database.executemany("DELETE FROM uses WHERE project = ? AND place = ?", gone_uses)
                self._database.executemany("INSERT OR REPLACE INTO uses VALUES (?, ?, ?, ?, ?)", uses)
        except sqlite3.OperationalError as error:
            if not _is_locked(error):  # the disk is full or read-only
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
    """Return whether another process of this user is writing, so that this one continues without the file."""
    return isinstance(error, sqlite3.OperationalError) and "locked" in str(error)


def _private_folder(folder: Path) -> bool:
    """Return whether a folder exists, or could be created, that only this user can read and write."""
    try:
        private_folder(folder, parents=True)
    except OSError:
        return False
    return True


def _is_own_file(path: Path) -> bool:
    """Return whether a file is a regular file of this user's, or does not exist yet."""
    try:
        status = path.lstat()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid() and status.st_nlink == 1
