"""The directory of one run, and how runs are named, listed and found."""

import os
import re
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hackathon.text.errors import RequestError
from hackathon.text.files import open_regular, read_json, write_json

if TYPE_CHECKING:
    from hackathon.jobs.request import Request

PARTIAL = ".partial-"
"""Beginning of the hidden name that a run directory has until it is complete."""
REMOVED = ".removed"
"""Hidden folder among the runs with the records of runs that were cleaned up: what they used counts on."""
BY_HAND = "by-hand."
"""Beginning of the job id that a job script gives itself when no scheduler started it."""
NAME_LENGTH = 40
"""Letters of a recipe's or project's name that stand in a run id."""
_LETTERS = "abcdefghijklmnopqrstuvwxyz234567"
_SUBMITTING = re.compile(r"submitting(?:-(\d{1,6}))?\.json\Z")
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


def safe_name(name: str, fallback: str = "run") -> str:
    """Return a name for files made of `A-Za-z0-9._-` that begins with a letter or digit, else `fallback`."""
    return _UNSAFE.sub("-", name).lstrip("-._")[:NAME_LENGTH].strip("-._") or fallback


def new_id(words: str, now: float | None = None) -> str:
    """Return `YYYYMMDD-HHMMSS-<words>-<8 random>` (local time, 40 random bits in base32)."""
    moment = time.strftime("%Y%m%d-%H%M%S", time.localtime(now))
    return f"{moment}-{words}-{''.join(_LETTERS[byte & 31] for byte in os.urandom(8))}"


def new_run_id(name: str, processes: int, now: float | None = None) -> str:
    """Return a new run id: `YYYYMMDD-HHMMSS-<name>-<processes>p-<8 random>`; `now` is in seconds since 1970."""
    return new_id(f"{safe_name(name)}-{int(processes)}p", now)


class RunDirectory:
    """One run: its files, read when asked for. Nothing is written here but facts under `client/`."""

    __slots__ = ("_record", "path")

    def __init__(self, path: Path) -> None:
        self.path = path
        self._record: dict[str, Any] | None = None

    def __repr__(self) -> str:
        return f"RunDirectory({str(self.path)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RunDirectory) and other.path == self.path

    def __hash__(self) -> int:
        return hash(self.path)

    @property
    def id(self) -> str:
        """The run id: the directory's name."""
        return self.path.name

    @property
    def job_name(self) -> str:
        """The job's name, `hk-<8 random>`: at most 15 characters, as older PBS wants."""
        return f"hk-{self.id[-8:]}"

    def record(self) -> dict[str, Any]:
        """Return `request.json` as it lies there: the request, toolkit_version, note, tags, parent, study.

        Raises RequestError when the directory has none: it is no run, or a broken one.
        """
        if self._record is None:
            value = read_json(self.path / "request.json")
            if not isinstance(value, dict):
                raise RequestError("runs.no_record", run=self.id, path=self.path)
            self._record = value
        return self._record

    def request(self) -> "Request":
        """Return the resolved request. Raises RequestError when it is missing or lacks a field."""
        from hackathon.jobs.request import Request

        try:
            return Request.from_json(self.record())
        except TypeError as error:
            raise RequestError("runs.no_record", run=self.id, path=self.path) from error

    def client(self, name: str) -> dict[str, Any]:
        """Return the fact `client/<name>.json`, empty when it is not there (or not a JSON object)."""
        value = read_json(self.path / "client" / f"{name}.json")
        return value if isinstance(value, dict) else {}

    def write_client(self, name: str, value: dict[str, Any]) -> None:
        """Write the fact `client/<name>.json` by rename, as readable as the folder is. Raises OSError."""
        path = self.path / "client" / f"{name}.json"
        write_json(path, value)
        path.chmod(file_mode(path.parent))

    def submitting(self) -> tuple[int, dict[str, Any]]:
        """Return the number of the latest attempt to submit (0: none) and what was written before it.

        `client/submitting.json` is attempt 1, `client/submitting-2.json` attempt 2: a number is taken once, by O_EXCL.
        """
        try:
            names = os.listdir(self.path / "client")  # noqa: PTH208 — names, not paths: this runs for every run
        except OSError:
            return 0, {}
        latest = max((int(match[1] or 1) for name in names if (match := _SUBMITTING.match(name))), default=0)
        return latest, self.client(submitting_name(latest)) if latest else {}

    def claim(self) -> str | None:
        """Return the id of the job that took this run, None when none has started."""
        try:
            with open_regular(self.path / "claim" / "job_id") as stream:
                raw = stream.read(4096)
        except OSError:
            return None
        return raw.decode("utf-8", "replace").strip() or None

    def job_id(self) -> str | None:
        """Return the job's id: of the job that took the run, else as submitted, found again or adopted; else None."""
        claimed = self.claim()
        if claimed:
            return claimed
        for name in ("submitted", "recovered", "adopted"):
            job_id = self.client(name).get("job_id")
            if job_id:
                return str(job_id)
        return None

    @property
    def created(self) -> float:
        """When the directory was made, in seconds since 1970; from the run id when the fact is missing."""
        moment = self.client("created").get("t")
        if isinstance(moment, (int, float)):
            return float(moment)
        try:
            return time.mktime(time.strptime(self.id[:15], "%Y%m%d-%H%M%S"))
        except (ValueError, OverflowError):
            return 0.0

    @property
    def note(self) -> str:
        """What its owner wrote about it."""
        return str(self.record().get("note") or "")

    @property
    def tags(self) -> tuple[str, ...]:
        """Its owner's words to find it by."""
        return tuple(str(tag) for tag in self.record().get("tags") or ())

    @property
    def parent(self) -> str | None:
        """The id of the run that this one follows or repeats."""
        parent = self.record().get("parent")
        return str(parent) if parent else None

    @property
    def study(self) -> dict[str, Any] | None:
        """{id, processes, repeat} when the run is a point of a study."""
        study = self.record().get("study")
        return study if isinstance(study, dict) else None

    def source(self) -> Path:
        """Return the folder that the program runs in: the snapshot, or the live folder of an in-place run."""
        record = self.record()
        return Path(str(record.get("source", ""))) if record.get("in_place") else self.path / "source"

    def owned(self) -> bool:
        """Return whether the current user owns the run: only the owner writes in it."""
        try:
            return self.path.stat().st_uid == os.geteuid()
        except OSError:
            return False


def submitting_name(attempt: int) -> str:
    """Return the name of the fact that is written before attempt number `attempt` (from 1) to submit."""
    return "submitting" if attempt == 1 else f"submitting-{attempt}"


def file_mode(folder: Path) -> int:
    """Return the mode for a file in a folder: group and others may read it when they may read the folder."""
    return 0o600 | (folder.stat().st_mode & 0o044)


def list_ids(folder: Path) -> list[str]:
    """Return the names of all runs or studies in a folder, newest first; a missing folder has none.

    One `scandir`, no `stat`: the kind of an entry comes with the listing on every file system in use.
    """
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry in entries if entry.name[0] != "." and _is_folder(entry)]
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise RequestError("runs.folder_unreadable", path=folder, what=error.strerror) from error
    return sorted(names, reverse=True)


def _is_folder(entry: "os.DirEntry[str]") -> bool:
    """Return whether a name stands for a folder; a link that leads to itself, or where nobody may look, does not."""
    try:
        return entry.is_dir()
    except OSError:
        if not entry.is_symlink():
            raise
        return False


def find_runs(runs_folder: Path) -> list[RunDirectory]:
    """Return all runs of a folder, newest first."""
    return [RunDirectory(runs_folder / name) for name in list_ids(runs_folder)]


def find_run(text: str, runs_folder: Path) -> RunDirectory:
    """Return the run that `text` names: any part of its id that no other run's id has, or the path of its directory.

    Raises RequestError: several runs (they are listed), or none (near names are offered).
    """
    given = Path(text)
    if os.sep in text and "\0" not in text and os.access(given / "request.json", os.R_OK):
        return RunDirectory(given.absolute())
    return RunDirectory(runs_folder / pick(text, list_ids(runs_folder), "run", runs_folder))


def pick(text: str, names: Sequence[str], kind: str, folder: Path) -> str:
    """Return the one name that is `text` or contains it; `kind` (run, study) chooses the messages.

    Raises RequestError when several contain it or none does.
    """
    text = text.strip().rstrip("/")
    if text in names:
        return text
    found = [name for name in names if text and text in name]
    if len(found) == 1:
        return found[0]
    if found:
        raise RequestError(f"runs.{kind}_ambiguous", text=text, count=len(found), names=_shown(found))
    near = _near(text, names)
    if near:
        raise RequestError(f"runs.{kind}_unknown_near", text=text, names=_shown(near))
    raise RequestError(f"runs.{kind}_unknown", text=text, folder=folder)


def _shown(names: Sequence[str]) -> str:
    more = ["…"] if len(names) > 8 else []
    return "\n".join(f"  {name}" for name in [*names[:8], *more])


def _near(text: str, names: Iterable[str]) -> list[str]:
    """Return ids with a part (the recipe, the random letters) that is nearly `text`, newest first."""
    import difflib

    listed = list(names)[:1000]
    parts = {part: name for name in reversed(listed) for part in (name, name[-8:], name[16:-9])}
    close = difflib.get_close_matches(text, parts, n=3, cutoff=0.6)
    return list(dict.fromkeys(parts[part] for part in close))
