"""What the user decided about events and projects of others: a private file in the user's settings.

An entry names the folder, its number in the file system, who owned the file then, and who could write it: another
owner, another folder or another writer needs another decision. The device's number is not kept: on NFS it differs from
login node to login node. A folder that is reached by another name (a bind mount) is compared as it lies there now.
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
"""The two decisions: it counts, or it is passed over as if it were not there."""
LARGEST = 1 << 20


@dataclass(frozen=True)
class Decision:
    """One decision."""

    path: str
    """The folder, without links."""
    inode: int
    owner: int
    """Who owned hackathon.yaml or project.yaml."""
    answer: str
    name: str = ""
    """The owner's name, to be read by the user."""
    owners: tuple[int, ...] = ()
    """Further accounts that owned the folder or a link then."""
    users: tuple[int, ...] = ()
    groups: tuple[int, ...] = ()
    everybody: bool = False
    """Who could write it then."""
    time: float = 0.0

    @property
    def trusted(self) -> Trusted:
        """Whose files count in the folder, beside the user's own and root's."""
        return Trusted(frozenset({self.owner, *self.owners, *self.users}), frozenset(self.groups), self.everybody)


def record_file() -> Path:
    """Return where the decisions are kept. Raises RuntimeError for an account without a home."""
    return user_config() / FILE


def entries() -> list[Decision]:
    """Return the decisions; none when the file is missing, damaged, or open to others."""
    try:
        stream, _ = open_private(record_file())
        with stream:
            value: Any = json.loads(stream.read(LARGEST))
        return [_entry(entry) for entry in value["entries"]]
    except (OSError, ValueError, KeyError, TypeError, RuntimeError, RecursionError):
        return []


def decided(file: Look) -> Decision | None:
    """Return the decision about a file's folder, None when there is none that still holds."""
    for entry in entries():
        if entry.owner != file.owner or entry.inode != file.folder.st_ino or not _is_there(entry, file):
            continue
        if entry.answer == IGNORE or not (own() | entry.trusted).strangers(file.writers):
            return entry
    return None


def remember(file: Look, answer: str) -> Decision:
    """Write a decision down, in place of an earlier one about the same folder.

    Raises HackathonError: the user's settings cannot be written.
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
    if entry not in entries():  # a home on a server that gives the file another owner, as in some containers
        raise HackathonError("trust.not_kept", file=record_file())
    return entry


def forget(folder: Path) -> bool:
    """Take the decision about a folder away; False when there is none. Raises HackathonError as `remember`."""
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
        raise HackathonError("trust.can_not_write", what=reason) from error


def _entry(value: Mapping[str, Any]) -> Decision:
    """Return an entry of the file. Raises KeyError, TypeError, ValueError for a damaged one."""
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
