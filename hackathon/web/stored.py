"""Keep what the index knows on the node's own disk: derived, deletable, made anew when damaged, and never needed."""

import contextlib
import os
import sqlite3
import stat
from collections.abc import Iterable, Sequence
from pathlib import Path

Row = tuple[str, str, str, str]
"""Project's folder, run id, format of the value, value as JSON."""
PATIENCE = 2.0
"""Seconds to wait for another process that writes the same file."""
LARGEST = 256 << 20
"""Bytes beyond which the file is begun anew: it holds the runs of projects that nobody looks at any more."""
DAMAGE = (sqlite3.Error, UnicodeError, OSError)
"""What a damaged file raises, one with bytes in a name that are no text, and one on a disk that is read-only."""
_TABLE = "CREATE TABLE IF NOT EXISTS runs (project TEXT, id TEXT, format TEXT, value TEXT, PRIMARY KEY (project, id))"


def default_path() -> Path:
    """Return where this user's index lies: `$XDG_RUNTIME_DIR/hackathon/`, else `/tmp/hackathon-<uid>/`."""
    given = os.environ.get("XDG_RUNTIME_DIR", "")
    usable = given.startswith("/") and Path(given).is_dir()
    folder = Path(given) / "hackathon" if usable else Path("/tmp") / f"hackathon-{os.geteuid()}"
    return folder / "index.sqlite3"


class Stored:
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
                database.execute(_TABLE)
            database.execute("SELECT project, id, format, value FROM runs LIMIT 1").fetchall()
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
        if self._database is None:
            return []
        found: list[tuple[str, str, str]] = []
        try:
            for project in projects:
                query = "SELECT project, id, value FROM runs WHERE project = ? AND format = ?"
                found += self._database.execute(query, (project, form)).fetchall()
        except sqlite3.OperationalError:
            return []  # somebody else writes: this time all is read from the runs
        except DAMAGE:
            self._rebuild()
            return []
        return found

    def write(self, rows: Sequence[Row], gone: Sequence[tuple[str, str]] = ()) -> None:
        """Add or replace rows, and drop those of runs that are gone."""
        if self._database is None or not (rows or gone):
            return
        try:
            with self._database:
                self._database.executemany("INSERT OR REPLACE INTO runs VALUES (?, ?, ?, ?)", rows)
                self._database.executemany("DELETE FROM runs WHERE project = ? AND id = ?", gone)
        except sqlite3.OperationalError as error:
            if not _is_locked(error):  # the disk is full, or can not be written
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
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o077


def _is_own_file(path: Path) -> bool:
    """Return whether a file is this user's, or not there yet: no link, no pipe."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid() and found.st_nlink == 1
