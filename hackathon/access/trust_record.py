"""The user's decisions about events and projects of others: a private file in the user's settings.

An entry contains the folder, its inode number, the file's owner then, and its possible writers: another owner, folder
or writer needs a new decision. The device number is not stored, because on NFS it differs between login nodes. A folder
under another name (a bind mount) is compared by its present path.
"""

import json
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hackathon.access.ownership import Look, Trusted, own
from hackathon.access.permissions import user_name
from hackathon.access.private import open_private
from hackathon.text.errors import HackathonError
from hackathon.text.files import write_whole
from hackathon.text.paths import user_config

FILE = "trust.json"
TRUST, IGNORE = "trust", "ignore"
"""The two decisions: the folder counts, or it is ignored as if it did not exist."""
LARGEST = 1 << 20


@dataclass(frozen=True)
class Decision:
    path: str
    """The folder, without links."""
    inode: int
    owner: int
    """The owner of hackathon.yaml or project.yaml."""
    answer: str
    name: str = ""
    """The owner's name, for display."""
    owners: tuple[int, ...] = ()
    """Further accounts that owned the folder or a link at that time."""
    users: tuple[int, ...] = ()
    groups: tuple[int, ...] = ()
    everybody: bool = False
    """Whether everybody could write it at that time."""
    time: float = 0.0

    @property
    def trusted(self) -> Trusted:
        """Whose files count in the folder, besides the user's own and root's."""
        return Trusted(frozenset({self.owner, *self.owners, *self.users}), frozenset(self.groups), self.everybody)


def record_file() -> Path:
    """Return the path of the record. Raises RuntimeError for an account without a home."""
    return user_config() / FILE


def entries() -> list[Decision]:
    """Return the decisions; empty if the file is missing, damaged, or open to others."""
    try:
        stream, _ = open_private(record_file())
        with stream:
            value: Any = json.loads(stream.read(LARGEST))
        return [_entry(entry) for entry in value["entries"]]
    except (OSError, ValueError, KeyError, TypeError, RuntimeError, RecursionError):
        return []


def decided(file: Look) -> Decision | None:
    """Return the valid decision about a file's folder; None if there is none."""
    for entry in entries():
        if entry.owner != file.owner or entry.inode != file.folder.st_ino or not _is_there(entry, file):
            continue
        if entry.answer == IGNORE or not (own() | entry.trusted).strangers(file.writers):
            return entry
    return None


def remember(file: Look, answer: str) -> Decision:
    """Record a decision, replacing an earlier one about the same folder.

    Raises HackathonError if the user's settings cannot be written.
    """
    writers = file.writers
    entry = Decision(
        path=os.path.realpath(file.path.parent),
        inode=file.folder.st_ino,
        owner=file.owner,
        answer=answer,
        name=user_name(file.owner),
        owners=tuple(sorted(writers.owners - {file.owner})),
        users=tuple(sorted(writers.users)),
        groups=tuple(sorted(writers.groups)),
        everybody=writers.everybody,
        time=round(time.time(), 3),
    )
    _write([*(decision for decision in entries() if decision.path != entry.path), entry])
    if entry not in entries():  # a home on a server that changes the file's owner, as in some containers
        raise HackathonError(
            "trust.not_kept",
            "{file} was written, but it does not belong to this account or others can read it, so it is not used",
            hint="set XDG_CONFIG_HOME to a folder on a file system that keeps owners and modes",
            file=record_file(),
        )
    return entry


def forget(folder: Path) -> bool:
    """Remove the decision about a folder; return False if there is none. Raises HackathonError as `remember` does."""
    decisions, path = entries(), os.path.realpath(folder)
    remaining = [decision for decision in decisions if decision.path != path]
    if len(remaining) == len(decisions):
        return False
    _write(remaining)
    return True


def _is_there(entry: Decision, file: Look) -> bool:
    if entry.path == os.path.realpath(file.path.parent):
        return True
    try:
        return os.path.samestat(Path(entry.path).stat(), file.folder)
    except OSError:
        return False


def _write(decisions: list[Decision]) -> None:
    try:
        path = record_file()
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        value = {"schema_version": 1, "entries": [vars(decision) for decision in decisions]}
        write_whole(path, json.dumps(value, ensure_ascii=False, indent=1) + "\n", mode=0o600)
    except (OSError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise HackathonError(
            "trust.can_not_write",
            "the decision cannot be saved: {what}",
            hint="set XDG_CONFIG_HOME to a folder that you can write, or add --trust to the command",
            what=reason,
        ) from error


def _entry(value: Mapping[str, Any]) -> Decision:
    """Return an entry of the file. Raises KeyError, TypeError or ValueError for a damaged one."""
    return Decision(
        path=str(value["path"]),
        inode=int(value["inode"]),
        owner=int(value["owner"]),
        answer=str(value["answer"]),
        name=str(value.get("name", "")),
        owners=tuple(map(int, value.get("owners", ()))),
        users=tuple(map(int, value.get("users", ()))),
        groups=tuple(map(int, value.get("groups", ()))),
        everybody=value.get("everybody") is True,
        time=float(value.get("time", 0.0)),
    )
