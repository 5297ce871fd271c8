"""Fetch a file by HTTP(S) or from a path: continue after an interruption, and hash the complete file."""

import contextlib
import hashlib
import http.client
import os
import shutil
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hackathon.text.errors import HackathonError, RequestError, UnavailableError
from hackathon.text.messages import Message
from hackathon.text.units import format_size

if TYPE_CHECKING:
    from tarfile import TarFile, TarInfo

BLOCK = 1 << 20
ATTEMPTS = 4
"""Connections that are tried one after another, as long as each one transfers some bytes."""
Progress = Callable[[int, int | None], None]
"""Called with the bytes present and the total, None when unknown."""


def download(url: str, partial: Path, progress: Progress) -> str:
    """Download a file into `partial` and return its SHA-256.

    Bytes that are in `partial` already are reused if the server can send the rest (RFC 9110, section 14). Proxies come
    from the environment (http_proxy, https_proxy, no_proxy). Raises RequestError (no such file, no permission) and
    UnavailableError (no answer, repeated interruptions, disk full).
    """
    for attempt in range(1, ATTEMPTS + 1):
        before = _size(partial)
        try:
            if _transfer(url, partial, progress):
                return sha256(partial)
        except urllib.error.HTTPError as error:
            with error:
                if error.code == 416 and before:
                    # the partial file is longer than the server's: it is another file
                    partial.unlink()
                    continue
                if error.code in (401, 403, 404, 410):
                    raise RequestError(
                        "data.refused",
                        "{url}: {what}",
                        hint="check the URL and correct `url`",
                        url=url,
                        what=f"{error.code} {error.reason}",
                    ) from None
                reason: object = f"{error.code} {error.reason}"
        except (urllib.error.URLError, http.client.HTTPException, TimeoutError, ConnectionError) as error:
            reason = getattr(error, "reason", None) or error
            if isinstance(reason, FileNotFoundError):
                raise RequestError(
                    "data.refused",
                    "{url}: {what}",
                    hint="check the URL and correct `url`",
                    url=url,
                    what=reason.strerror,
                ) from None
        else:
            reason = "connection cut"
        if attempt == ATTEMPTS or _size(partial) <= before:
            break
    raise UnavailableError(
        "data.cut",
        "{url}: {what}; {size} received so far are kept",
        hint="run the same command again to resume; behind a proxy, set https_proxy",
        url=url,
        what=reason,
        size=format_size(_size(partial)),
    )


def _transfer(url: str, partial: Path, progress: Progress) -> bool:
    """Read from one connection; return True when the file is complete."""
    start = _size(partial)
    request = urllib.request.Request(url, headers={"User-Agent": "hackathon", "Accept-Encoding": "identity"})
    if start and not url.startswith("file:"):
        request.add_header("Range", f"bytes={start}-")
    with contextlib.closing(urllib.request.urlopen(request, timeout=60)) as answer:
        length = answer.headers.get("Content-Length")
        went_on = getattr(answer, "status", None) == 206 and _begins_at(answer, start)
        start = start if went_on else 0
        total = start + int(length) if length and length.isdigit() else None
        if total is not None:
            need_room(partial.parent, total - _size(partial) if went_on else total)
        done = start
        try:
            with partial.open("ab" if went_on else "wb") as stream:
                while block := answer.read(BLOCK):
                    stream.write(block)
                    done += len(block)
                    progress(done, total)
        except http.client.IncompleteRead as error:
            with partial.open("ab") as stream:
                stream.write(error.partial)
            return False
        except (TimeoutError, ConnectionError):
            raise
        except OSError as error:
            raise UnavailableError(
                "data.not_written",
                "cannot write to {folder}: {what}",
                folder=partial.parent,
                what=error.strerror or error,
            ) from error
    return total is None or done >= total


def _begins_at(answer: Any, start: int) -> bool:
    return str(answer.headers.get("Content-Range", "")).startswith(f"bytes {start}-")


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def sha256(path: Path) -> str:
    """Return a file's SHA-256 in hexadecimal digits."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def need_room(folder: Path, size: int) -> None:
    """Raise UnavailableError when a folder's file system has less room than `size` bytes."""
    free = shutil.disk_usage(folder).free
    if size > free:
        raise UnavailableError(
            "data.no_room",
            "{folder} has {free} free, but {size} are needed",
            hint="`hackathon clean` shows what can be deleted",
            folder=folder,
            size=format_size(size),
            free=format_size(free),
        )


def unpack(archive: Path, kind: str, folder: Path) -> None:
    """Unpack a tar (compressed or not) or zip file into an empty folder.

    A member that would leave the folder, a device, or a link that points outside raises RequestError, as in tarfile's
    filter `data` (PEP 706). A Python without that filter (before 3.11.4) unpacks only files and folders.
    """
    import tarfile
    import zipfile

    from hackathon.runs.crate.archive_errors import ARCHIVE_ERRORS

    try:
        if kind == "tar":
            with tarfile.open(archive) as tar:
                members = _safe(tar, archive.name)
                need_room(folder, sum(member.size for member in members))
                if hasattr(tarfile, "data_filter"):
                    tar.extractall(folder, members, filter="data")
                else:
                    tar.extractall(folder, members)
        else:
            with zipfile.ZipFile(archive) as pack:
                need_room(folder, sum(entry.file_size for entry in pack.infolist()))
                for entry in pack.infolist():
                    _inside(entry.filename, archive.name, refused=(entry.external_attr >> 28) == 0o12)
                pack.extractall(folder)
    except ARCHIVE_ERRORS as error:
        hostile = isinstance(error, getattr(tarfile, "FilterError", ()))
        key = (
            Message(
                "data.hostile", "{archive} would write outside its folder: {what}", hint="do not trust this archive"
            )
            if hostile
            else Message("data.no_archive", "{archive} is not a {kind} file: {what}", hint="check `unpack`")
        )
        raise RequestError(key, archive=archive.name, kind=kind, what=error) from None
    except HackathonError:
        raise
    except OSError as error:
        raise UnavailableError(
            "data.not_written", "cannot write to {folder}: {what}", folder=folder, what=error.strerror or error
        ) from error


def _safe(tar: "TarFile", archive: str) -> "list[TarInfo]":
    """Return the members after checking each of them."""
    import tarfile

    members = tar.getmembers()
    for member in members:
        if hasattr(tarfile, "data_filter"):
            tarfile.data_filter(member, "/nowhere")
        elif member.issym() or member.islnk():
            raise RequestError(
                "data.old_python",
                "{what} is a link: this Python cannot unpack links of tar files safely; it needs 3.11.4 or newer",
                hint="pack the files themselves in place of links, or use a newer Python",
                what=member.name,
            )
        else:
            _inside(member.name, archive, refused=not (member.isreg() or member.isdir()))
            member.mode, member.uid, member.gid, member.uname, member.gname = (
                0o755 if member.isdir() or member.mode & 0o100 else 0o644, os.getuid(), os.getgid(), "", "",
            )  # fmt: skip
    return members


def _inside(name: str, archive: str, *, refused: bool) -> None:
    parts = name.replace("\\", "/").split("/")
    if name.startswith(("/", "\\")) or ".." in parts or ":" in parts[0] or refused:
        raise RequestError(
            "data.hostile",
            "{archive} would write outside its folder: {what}",
            hint="do not trust this archive",
            archive=archive,
            what=name,
        )


def listed(folder: Path) -> Iterator[Path]:
    """Yield the files below a folder, or the file itself."""
    if folder.is_file():
        yield folder
    for parent, _, names in os.walk(folder):
        for name in names:
            path = Path(parent) / name
            if path.is_file() and not path.is_symlink():
                yield path
