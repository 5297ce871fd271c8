"""The inputs of the last publication into a folder, so that the next one only creates changed files.

The file is in the user's own cache, not in the site, because it contains names of users and hosts, and secrets of runs.
It may be deleted or damaged at any time; then everything is created again.
"""

import functools
import hashlib
import json
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import hackathon
from hackathon.index.record import RunEntry
from hackathon.text.files import read_json, write_whole
from hackathon.text.paths import shipped, user_cache
from hackathon.web.masking.names import Named, named, stamp

VERSION = 2
_MAKERS = ("web", "index", "scaling", "profiling", "tuning", "event", "survey", "text")
"""Packages of the toolkit that determine the content of pages."""


@dataclass
class Kept:
    """The record of a folder's site."""

    publication: str = ""
    """The random name of that publication; pages of another one are not reused."""
    files: dict[str, str] = field(default_factory=dict)
    """File → digest of its inputs."""
    named: dict[str, tuple[str, Named]] = field(default_factory=dict)
    """Run directory → its stamp and the names in it."""


def recall(directory: Path) -> Kept:
    """Return the record of a folder's site; empty without one."""
    path = _path(directory)
    value = read_json(path) if path else None
    if not isinstance(value, dict) or value.get("version") != VERSION:
        return Kept()
    try:
        marks = {run: (str(entry[0]), Named(*map(tuple, entry[1:5]))) for run, entry in value["named"].items()}
        return Kept(str(value["publication"]), {str(k): str(v) for k, v in value["files"].items()}, marks)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError):
        return Kept()


def keep(directory: Path, record: Kept) -> None:
    """Store the record of a site; does nothing if that is impossible."""
    path = _path(directory)
    if path is None:
        return
    marks = {
        run: [mark, names.users, names.hosts, names.groups, names.secrets]
        for run, (mark, names) in record.named.items()
    }
    value = {"version": VERSION, "publication": record.publication, "files": record.files, "named": marks}
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_whole(path, json.dumps(value, ensure_ascii=False, separators=(",", ":")), mode=0o600)
    except (OSError, ValueError):
        return


def named_in(runs: Iterable[RunEntry], record: Kept) -> dict[str, tuple[str, Named]]:
    """Return run directory → stamp and names; unchanged directories are not read again."""
    marks = {}
    for run in runs:
        name = f"{run.project}/runs/{run.id}"
        mark = stamp(name, sealed=run.sealed)
        entry = record.named.get(name)
        marks[name] = entry if entry is not None and entry[0] == mark else (mark, named(Path(name)))
    return marks


def digest(*values: Any) -> str:
    """Return a short digest of texts, numbers and records."""
    return hashlib.sha256("\x1f".join(map(repr, values)).encode("utf-8", "replace")).hexdigest()[:20]


def digest_of_runs(runs: Iterable[RunEntry], marks: dict[str, tuple[str, Named]]) -> str:
    """Return a digest of the runs in the index, and of their directories' stamps."""
    hasher = hashlib.sha256()
    for run in runs:
        values = asdict(run) if run.told else vars(run)
        words = repr([value for name, value in values.items() if name != "stale_seconds"])
        hasher.update(f"{words}{marks.get(f'{run.project}/runs/{run.id}', ('',))[0]}".encode("utf-8", "replace"))
    return hasher.hexdigest()[:20]


@functools.cache
def toolkit() -> str:
    """Return a digest of the code of pages: the version, templates, and this toolkit's own modules."""
    parts = [hackathon.__version__]
    package = Path(hackathon.__file__).parent
    folders = [shipped("templates", "pages"), shipped("templates", "plots"), *(package / name for name in _MAKERS)]
    for folder in folders:
        for above, below, names in os.walk(folder):
            below[:] = sorted(name for name in below if name != "__pycache__")
            for name in sorted(names):
                status = Path(above, name).stat()
                parts.append(f"{above}/{name} {status.st_size} {status.st_mtime_ns}")
    return digest(*parts)


def _path(directory: Path) -> Path | None:
    try:
        name = hashlib.sha256(os.path.realpath(directory).encode("utf-8", "surrogateescape")).hexdigest()[:24]
        return user_cache() / "publish" / f"{name}.json"
    except RuntimeError:  # this user has no known home
        return None
