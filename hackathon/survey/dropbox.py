"""The drop box: participants answer in their own accounts, and none can read, list, alter or replace another's answer.

<shared>/surveys/<name>/survey.json   the opened questionnaire, readable by all; says `closed` in the end
<shared>/surveys/<name>/box/          mode 1733: everybody may write, only the organisers may list
    <128 random bits>.json            mode 0644: who does not know its name cannot open it; its owner is who answered

One answer of an account counts: the newest, by the time that the file system keeps and nobody can choose.
"""

import errno
import json
import os
import re
import secrets
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from hackathon.access.permissions import others_replace, others_write
from hackathon.board.people import People
from hackathon.survey.durable import names, replace_with, sync_folder
from hackathon.survey.frozen import Frozen, read_frozen, to_json
from hackathon.survey.records import Value
from hackathon.survey.tokens import digest as token_digest
from hackathon.survey.values import read_stored, to_stored
from hackathon.text import kill_points as faults
from hackathon.text.errors import HackathonError, RequestError
from hackathon.text.files import listed

SURVEYS = "surveys"
"""The folder of all surveys, in the event's folder and in the shared directory."""
BOX, PUBLISHED = "box", "survey.json"
BOX_MODE, CLOSED_MODE, FOLDER_MODE = 0o1733, 0o700, 0o755
LARGEST = 1 << 20
"""Bytes of one answer."""
MOST_READ = 50
"""Files of one account that are read, the newest first."""
DROP_STEPS = ("after-hidden", "after-link")
"""Steps of `drop`: the hidden file is whole; it has its name."""
NO_ANSWER = (errno.EINVAL, errno.ELOOP, errno.ENXIO, errno.EISDIR)
"""What opening a folder, link, pipe or socket in the place of an answer says. Any other failure may pass."""
_FILE = re.compile(r"[0-9a-f]{32}\.json\Z", re.ASCII)
_FOLDER = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True)
class Box:
    """Where participants write answers in their own accounts."""

    shared: Path
    """The event's shared directory."""
    folder: Path
    """<shared>/surveys/<name>."""


@dataclass(frozen=True)
class Dropped:
    """The newest answer of an account."""

    account: str
    values: Mapping[str, Value]
    token: str
    """The digest of the token that it names; empty for none."""
    first: int
    """When the account first used this token here: nanoseconds since 1970, for nothing but the order."""


@dataclass(frozen=True)
class BadFile:
    """A file in the box that is no answer."""

    name: str
    account: str
    why: str
    raw: bytes = b""


@dataclass
class DropBox:
    """What lies in a box."""

    newest: list[Dropped] = field(default_factory=list)
    bad: list[BadFile] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    """All that are no hidden ones, also of files that are not read."""
    replaced: int = 0


def make_box(box: Box, name: str, frozen: Frozen) -> None:
    """Make the drop box of an opened survey, or mend it, as the organisers' account.

    Raises RequestError (no shared directory, somebody else's folder) and HackathonError.
    """
    if not box.shared.is_dir():
        raise RequestError("survey.no_shared", folder=box.shared)
    try:
        for folder, mode in ((box.folder.parent, FOLDER_MODE), (box.folder, FOLDER_MODE)):
            folder.mkdir(exist_ok=True)
            _own(folder, mode)
        path = box.folder / BOX
        path.mkdir(mode=0o700, exist_ok=True)
        replace_with(box.folder / PUBLISHED, {**to_json(frozen), "name": name, "state": "open"}, mode=0o644)
        _own(path, BOX_MODE)
        if stat.S_IMODE(path.lstat().st_mode) != BOX_MODE:
            raise RequestError("survey.box_mode", folder=path)
    except OSError as error:
        raise HackathonError("survey.can_not_make_box", folder=box.folder, what=error.strerror or error) from error


def _own(folder: Path, mode: int) -> None:
    """Give a folder its mode; refuse one of another account, who could look into it."""
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid not in (os.geteuid(), 0):
        raise RequestError("survey.box_of_other", folder=folder)
    if status.st_uid == os.geteuid() and stat.S_IMODE(status.st_mode) != mode:
        folder.chmod(mode)


def shut_box(box: Box, name: str, frozen: Frozen) -> None:
    """Let nobody write into a box any more, also who is just writing; what lies in it stays. Raises OSError."""
    path = box.folder / BOX
    if listed(path):
        path.chmod(CLOSED_MODE)
        replace_with(box.folder / PUBLISHED, {**to_json(frozen), "name": name, "state": "closed"}, mode=0o644)


def empty_box(box: Box) -> None:
    """Delete what lay in a shut box: it was folded, and owners and times of files tell who answered when."""
    path = box.folder / BOX
    if not listed(path):
        return
    with os.scandir(path) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                continue  # somebody made a folder there; only its owner can empty it, and no answer is in it
            Path(entry.path).unlink(missing_ok=True)
    sync_folder(path)


def box_is_empty(box: Box) -> bool:
    """Return whether no answer lies in a box. Raises OSError: a box that cannot be listed may be full."""
    return not any(_FILE.match(name) for name in names(box.folder / BOX))


def open_surveys(shared: Path) -> list[str]:
    """Return the names of the surveys that are open in a shared directory."""
    try:
        surveys = names(shared / "surveys")
    except OSError:
        return []
    return [name for name in surveys if _published_state(shared / "surveys" / name) == "open"]


def _published_state(folder: Path) -> str:
    from hackathon.text.files import read_json

    value = read_json(folder / PUBLISHED)
    return str(value.get("state", "")) if isinstance(value, dict) else ""


def published(box: Box) -> Frozen:
    """Return the questionnaire that participants see, when only its makers can have written it.

    Raises RequestError: none there, closed, out of reach, or somebody else could have put it there.
    """
    try:
        return _published(box)
    except OSError as error:
        raise RequestError("survey.out_of_reach", folder=box.folder, what=error.strerror or error) from error


def _published(box: Box) -> Frozen:
    path = box.folder / PUBLISHED
    frozen = read_frozen(path) if path.exists() else None
    if frozen is None:
        raise RequestError("survey.not_there", folder=box.folder)
    if _published_state(box.folder) != "open":
        raise RequestError("survey.closed", name=box.folder.name)
    top = box.shared.stat()
    # what lies in a directory that only keepers write in was put there by them
    keepers = {0, top.st_uid} | (set() if others_write(top) else {box.folder.parent.lstat().st_uid})
    for location in (box.shared, box.folder.parent, box.folder, path, box.folder / BOX):
        status = location.lstat() if location != box.shared else location.stat()
        if others_replace(status) or stat.S_ISLNK(status.st_mode) or status.st_uid not in keepers:
            raise RequestError("survey.not_trusted", folder=location)
    return frozen


def drop(box: Box, frozen: Frozen, values: Mapping[str, Value], token: str = "") -> None:
    """Put an answer of the current account into the box; when this returns, it is on the disk.

    Raises RequestError (the survey was closed) and HackathonError (full disk).
    """
    name = f"{secrets.token_hex(16)}.json"
    hidden = f".{secrets.token_hex(16)}.tmp"
    value = {
        "schema_version": 1, "name": name, "survey": box.folder.name, "digest": frozen.digest,
        "token": token_digest(token) if token else "", "values": to_stored(values),
    }  # fmt: skip
    raw = (json.dumps(value, ensure_ascii=False, allow_nan=False) + "\n").encode()
    try:
        # the box cannot be listed, and so not be opened for reading: only a path may be held
        folder = os.open(box.folder / BOX, os.O_PATH | _FOLDER)
        try:
            _write(folder, hidden, name, raw)
        finally:
            os.close(folder)
    except PermissionError as error:
        raise RequestError("survey.closed", name=box.folder.name) from error
    except OSError as error:
        raise HackathonError("survey.can_not_take", what=error.strerror or error) from error


def _write(folder: int, hidden: str, name: str, raw: bytes) -> None:
    descriptor = os.open(hidden, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600, dir_fd=folder)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(raw)
            stream.flush()
            os.fchmod(stream.fileno(), 0o644)  # the organisers' account has to read it
            os.fsync(stream.fileno())
            faults.step("after-hidden")
            # to a name of its own, in one step; a link would change the file's time once more when the first name goes
            os.rename(hidden, name, src_dir_fd=folder, dst_dir_fd=folder)
            faults.step("after-link")
            # the folder itself cannot be opened and synced here; the file's own journal entry carries its name
            os.fsync(stream.fileno())
    except BaseException:
        try:
            os.unlink(hidden, dir_fd=folder)
        except OSError:
            pass  # it has its name already, or the box was shut: then it is no answer
        raise


def read_box(box: Box, name: str, frozen: Frozen) -> DropBox:
    """Return the newest answer of each account in a box, and what is no answer.

    Raises HackathonError, and OSError for a file of which nobody knows what is in it.
    """
    result = DropBox()
    path = box.folder / BOX
    try:
        folder = os.open(path, os.O_RDONLY | _FOLDER)
    except FileNotFoundError:
        if listed(path):
            raise
        return result
    except OSError as error:
        raise HackathonError("survey.can_not_read", file=path, what=error.strerror or error) from error
    try:
        status = os.fstat(folder)
        if status.st_uid not in (os.geteuid(), 0):
            raise HackathonError("survey.box_of_other", folder=path)
        # nobody takes a file away from a box that is shut: one that is not found is not seen yet (NFS)
        _read_all(folder, name, frozen, result, gone=stat.S_IMODE(status.st_mode) != CLOSED_MODE)
    finally:
        os.close(folder)
    return result


def _read_all(folder: int, name: str, frozen: Frozen, result: DropBox, *, gone: bool) -> None:
    people = People(None)
    by_owner: dict[int, list[tuple[int, str]]] = {}
    result.names = names_of(folder)
    for file in result.names:
        try:
            status = os.stat(file, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            if gone:
                continue  # its owner has just taken it away
            raise
        by_owner.setdefault(status.st_uid, []).append((status.st_ctime_ns, file))
    for owner, files in sorted(by_owner.items()):
        account = people.account(owner)
        good: list[Dropped] = []
        for moment, file in sorted(files, reverse=True)[:MOST_READ]:
            try:
                found_answer = _read_one(folder, file, account, owner, moment, name, frozen)
            except FileNotFoundError:
                if gone:
                    continue
                raise
            if isinstance(found_answer, BadFile):
                result.bad.append(found_answer)
            else:
                good.append(found_answer)
        if good:
            newest = good[0]
            first = min(answer.first for answer in good if answer.token == newest.token)
            result.newest.append(Dropped(account, newest.values, newest.token, first))
            result.replaced += len(good) - 1


def names_of(folder: int) -> list[str]:
    """Return the names in a folder without hidden ones: those are being written, or were never confirmed."""
    return sorted(name for name in os.listdir(folder) if not name.startswith("."))


def _read_one(
    folder: int, file: str, account: str, owner: int, moment: int, name: str, frozen: Frozen
) -> Dropped | BadFile:
    raw = b""
    try:
        # a folder, pipe or link in the place of a file is not opened at all
        if not _FILE.match(file) or not stat.S_ISREG(os.stat(file, dir_fd=folder, follow_symlinks=False).st_mode):
            return BadFile(file, account, "survey.unread_special")
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
        with os.fdopen(descriptor, "rb") as stream:
            status = os.fstat(descriptor)
            # answers are readable by all: what is not may be another name of a private file of the account that reads
            public = stat.S_ISREG(status.st_mode) and status.st_mode & stat.S_IROTH
            if not public or status.st_uid != owner or others_write(status):
                return BadFile(file, account, "survey.unread_special")
            raw = stream.read(LARGEST + 1)
        value = json.loads(raw.decode()) if len(raw) <= LARGEST else None
    except OSError as error:
        # whoever made a file that only they can read keeps nobody from closing
        if error.errno not in (*NO_ANSWER, errno.EACCES, errno.EPERM):
            raise
        return BadFile(file, account, "survey.unread_garbage", raw[:LARGEST])
    except (ValueError, RecursionError):
        return BadFile(file, account, "survey.unread_garbage", raw[:LARGEST])
    if not isinstance(value, dict) or value.get("name") != file or value.get("survey") != name:
        return BadFile(file, account, "survey.unread_garbage", raw)
    if value.get("digest") != frozen.digest:
        return BadFile(file, account, "survey.unread_other", raw)
    values, problems = read_stored(frozen.survey, value.get("values"))
    token = value.get("token", "")
    if problems or not isinstance(token, str):
        return BadFile(file, account, "survey.unread_values", raw)
    return Dropped(account, values, token, moment)
