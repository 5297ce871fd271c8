"""The drop box: participants answer in their own accounts; nobody can read, list, alter or replace another's answer.

<shared>/surveys/<name>/survey.json   the opened questionnaire, readable by all; says `closed` in the end
<shared>/surveys/<name>/box/          mode 1733: everybody may write, only the organisers may list
    <128 random bits>.json            mode 0644: opening it requires its name; its owner is the respondent

One answer of an account counts: the newest, by the file system's time, which no account can choose.
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
from hackathon.text.messages import Message

SURVEYS = "surveys"
"""The folder of all surveys, in the event's folder and in the shared directory."""
BOX, PUBLISHED = "box", "survey.json"
BOX_MODE, CLOSED_MODE, FOLDER_MODE = 0o1733, 0o700, 0o755
LARGEST = 1 << 20
"""Bytes of one answer."""
MOST_READ = 50
"""Files of one account that are read, newest first."""
DROP_STEPS = ("after-hidden", "after-link")
"""Steps of `drop`: the hidden file is complete; it has its final name."""
NO_ANSWER = (errno.EINVAL, errno.ELOOP, errno.ENXIO, errno.EISDIR)
"""Errors of opening a folder, link, pipe or socket in place of an answer. Any other failure may be temporary."""
_FILE = re.compile(r"[0-9a-f]{32}\.json\Z", re.ASCII)
_FOLDER = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True)
class Box:
    """The folder in which participants write answers in their own accounts."""

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
    """The digest of its token; empty without a token."""
    first: int
    """When the account first used this token here, in nanoseconds since 1970; used only for ordering."""


@dataclass(frozen=True)
class BadFile:
    """A file in the box that is not an answer."""

    name: str
    account: str
    why: str
    raw: bytes = b""


@dataclass
class DropBox:
    """The content of a box."""

    newest: list[Dropped] = field(default_factory=list)
    bad: list[BadFile] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    """All names but hidden ones, including files that are not read."""
    replaced: int = 0


def make_box(box: Box, name: str, frozen: Frozen) -> None:
    """Create or repair the drop box of an opened survey, as the organisers' account.

    Raises RequestError (no shared directory, another account's folder) and HackathonError.
    """
    if not box.shared.is_dir():
        raise RequestError(
            "survey.no_shared",
            "the event's shared directory {folder} does not exist",
            hint="create it: `hackathon event init`",
            folder=box.shared,
        )
    try:
        for folder, mode in ((box.folder.parent, FOLDER_MODE), (box.folder, FOLDER_MODE)):
            folder.mkdir(exist_ok=True)
            _own(folder, mode)
        path = box.folder / BOX
        path.mkdir(mode=0o700, exist_ok=True)
        replace_with(box.folder / PUBLISHED, {**to_json(frozen), "name": name, "state": "open"}, mode=0o644)
        _own(path, BOX_MODE)
        if stat.S_IMODE(path.lstat().st_mode) != BOX_MODE:
            raise RequestError(
                "survey.box_mode",
                "the mode of {folder} is not 1733",
                hint="run chmod 1733 {folder!q}; if the file system refuses, use the form and tokens instead",
                folder=path,
            )
    except OSError as error:
        raise HackathonError(
            "survey.can_not_make_box",
            "cannot create the drop box {folder}: {what}",
            folder=box.folder,
            what=error.strerror or error,
        ) from error


def _own(folder: Path, mode: int) -> None:
    """Set a folder's mode; refuse a folder of another account, which could look into it."""
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid not in (os.geteuid(), 0):
        raise RequestError(
            "survey.box_of_other",
            "{folder} belongs to another user",
            hint="it must belong to the account that collects the answers; ask its owner to delete it, or choose "
            "another name",
            folder=folder,
        )
    if status.st_uid == os.geteuid() and stat.S_IMODE(status.st_mode) != mode:
        folder.chmod(mode)


def shut_box(box: Box, name: str, frozen: Frozen) -> None:
    """Refuse all further writes to a box, even of a running writer; its content stays. Raises OSError."""
    path = box.folder / BOX
    if listed(path):
        path.chmod(CLOSED_MODE)
        replace_with(box.folder / PUBLISHED, {**to_json(frozen), "name": name, "state": "closed"}, mode=0o644)


def empty_box(box: Box) -> None:
    """Delete the content of a shut box after it was collected.

    Owners and times of files show who answered when.
    """
    path = box.folder / BOX
    if not listed(path):
        return
    with os.scandir(path) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                continue  # a folder that somebody created there; only its owner can empty it, and it contains no answer
            Path(entry.path).unlink(missing_ok=True)
    sync_folder(path)


def box_is_empty(box: Box) -> bool:
    """Return whether a box contains no answer. Raises OSError, because a box that cannot be listed may be full."""
    return not any(_FILE.match(name) for name in names(box.folder / BOX))


def open_surveys(shared: Path) -> list[str]:
    """Return the names of the open surveys in a shared directory."""
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
    """Return the participants' questionnaire, if only its makers can have written it.

    Raises RequestError: missing, closed, inaccessible, or possibly written by another account.
    """
    try:
        return _published(box)
    except OSError as error:
        raise RequestError(
            "survey.out_of_reach",
            "cannot access {folder}: {what}",
            hint="tell the organisers; `hackathon survey check` shows them the missing permissions",
            folder=box.folder,
            what=error.strerror or error,
        ) from error


def _published(box: Box) -> Frozen:
    path = box.folder / PUBLISHED
    frozen = read_frozen(path) if path.exists() else None
    if frozen is None:
        raise RequestError(
            "survey.not_there",
            "no survey is open in {folder}",
            hint="ask the organisers whether it is open",
            folder=box.folder,
        )
    if _published_state(box.folder) != "open":
        raise RequestError("survey.closed", "survey {name} is closed", name=box.folder.name)
    top = box.shared.stat()
    # only keepers can have put a file into a directory in which only they can write
    keepers = {0, top.st_uid} | (set() if others_write(top) else {box.folder.parent.lstat().st_uid})
    for location in (box.shared, box.folder.parent, box.folder, path, box.folder / BOX):
        status = location.lstat() if location != box.shared else location.stat()
        if others_replace(status) or stat.S_ISLNK(status.st_mode) or status.st_uid not in keepers:
            raise RequestError(
                "survey.not_trusted",
                "anyone could have put {folder} there, so nothing is written to it",
                hint="tell the organisers: it must belong to them, and nobody else may write to it",
                folder=location,
            )
    return frozen


def drop(box: Box, frozen: Frozen, values: Mapping[str, Value], token: str = "") -> None:
    """Put an answer of the current account into the box; on return, it is on the disk.

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
        # the box cannot be listed, so it cannot be opened for reading, only as a path
        folder = os.open(box.folder / BOX, os.O_PATH | _FOLDER)
        try:
            _write(folder, hidden, name, raw)
        finally:
            os.close(folder)
    except PermissionError as error:
        raise RequestError("survey.closed", "survey {name} is closed", name=box.folder.name) from error
    except OSError as error:
        raise HackathonError(
            "survey.can_not_take",
            "could not save the answer: {what}",
            hint="nothing was saved; try again in a moment",
            what=error.strerror or error,
        ) from error


def _write(folder: int, hidden: str, name: str, raw: bytes) -> None:
    descriptor = os.open(hidden, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600, dir_fd=folder)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(raw)
            stream.flush()
            os.fchmod(stream.fileno(), 0o644)  # the organisers' account has to read it
            os.fsync(stream.fileno())
            faults.step("after-hidden")
            # renamed in one step: after a link, removing the first name would change the file's time again
            os.rename(hidden, name, src_dir_fd=folder, dst_dir_fd=folder)
            faults.step("after-link")
            # the folder itself cannot be opened and synced here; the file's own journal entry includes its name
            os.fsync(stream.fileno())
    except BaseException:
        try:
            os.unlink(hidden, dir_fd=folder)
        except OSError:
            pass  # it has its final name already, or the box was shut and the answer does not count
        raise


def read_box(box: Box, name: str, frozen: Frozen) -> DropBox:
    """Return the newest answer of each account in a box, and the files that are not answers.

    Raises HackathonError, and OSError for a file whose content is unknown.
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
        raise HackathonError(
            "survey.can_not_read", "{file} cannot be read: {what}", file=path, what=error.strerror or error
        ) from error
    try:
        status = os.fstat(folder)
        if status.st_uid not in (os.geteuid(), 0):
            raise HackathonError(
                "survey.box_of_other",
                "{folder} belongs to another user",
                hint="it must belong to the account that collects the answers; ask its owner to delete it, or "
                "choose another name",
                folder=path,
            )
        # nobody can delete a file in a shut box, so a missing file is only not visible yet (NFS)
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
                continue  # its owner has just deleted it
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
    """Return the names in a folder without hidden ones, which are incomplete or were never confirmed."""
    return sorted(name for name in os.listdir(folder) if not name.startswith("."))


def _read_one(
    folder: int, file: str, account: str, owner: int, moment: int, name: str, frozen: Frozen
) -> Dropped | BadFile:
    raw = b""
    try:
        # a folder, pipe or link in place of a file is not opened at all
        if not _FILE.match(file) or not stat.S_ISREG(os.stat(file, dir_fd=folder, follow_symlinks=False).st_mode):
            return BadFile(file, account, Message("survey.unread_special", "not a regular file of a single owner"))
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
        with os.fdopen(descriptor, "rb") as stream:
            status = os.fstat(descriptor)
            # answers are readable by all; another file may be a hard link to a private file of the reading account
            public = stat.S_ISREG(status.st_mode) and status.st_mode & stat.S_IROTH
            if not public or status.st_uid != owner or others_write(status):
                return BadFile(file, account, Message("survey.unread_special", "not a regular file of a single owner"))
            raw = stream.read(LARGEST + 1)
        value = json.loads(raw.decode()) if len(raw) <= LARGEST else None
    except OSError as error:
        # a file that only its creator can read must not prevent closing
        if error.errno not in (*NO_ANSWER, errno.EACCES, errno.EPERM):
            raise
        return BadFile(
            file,
            account,
            Message("survey.unread_garbage", "not an answer to this survey, or an incomplete one"),
            raw[:LARGEST],
        )
    except (ValueError, RecursionError):
        return BadFile(
            file,
            account,
            Message("survey.unread_garbage", "not an answer to this survey, or an incomplete one"),
            raw[:LARGEST],
        )
    if not isinstance(value, dict) or value.get("name") != file or value.get("survey") != name:
        return BadFile(
            file, account, Message("survey.unread_garbage", "not an answer to this survey, or an incomplete one"), raw
        )
    if value.get("digest") != frozen.digest:
        return BadFile(
            file, account, Message("survey.unread_other", "an answer to another version of the questionnaire"), raw
        )
    values, problems = read_stored(frozen.survey, value.get("values"))
    token = value.get("token", "")
    if problems or not isinstance(token, str):
        return BadFile(file, account, Message("survey.unread_values", "a value does not match its question"), raw)
    return Dropped(account, values, token, moment)
