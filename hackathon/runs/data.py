"""Data of a project: fetched once into its `data/`, checked, and copied to node-local disk on request."""

import contextlib
import hashlib
import os
import re
import shutil
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from hackathon.config.recipe import Data
from hackathon.config.trust import writable_folder
from hackathon.jobs.data import RECORDS, missing, record_of
from hackathon.runs.crate.download import Progress, download, listed, need_room, sha256, unpack
from hackathon.text.errors import RequestError, UnavailableError
from hackathon.text.files import write_json, write_whole

QUIET: Progress = lambda done, total: None  # noqa: E731


def fetch(entry: Data, folder: Path, progress: Progress = QUIET, *, again: bool = False) -> bool:
    """Fetch an entry into the folder; return False when it exists already.

    The bytes go to a hidden file, which a later call continues. A file with the right checksum is renamed to its name,
    unpacked if requested, and recorded. Raises RequestError (wrong checksum, an archive that leaves its folder) and the
    errors of `download`.
    """
    if not again and not missing(folder, [asdict(entry)]):
        return False
    records = folder / RECORDS
    try:
        writable_folder(folder)
        writable_folder(records)
        ignore = folder / ".gitignore"
        if not os.path.lexists(ignore):
            write_whole(ignore, "*\n")
    except OSError as error:
        raise UnavailableError(
            "data.not_written", "cannot write to {folder}: {what}", folder=folder, what=error.strerror or error
        ) from error
    # a partial file from another address is not the beginning of this file
    mark = hashlib.sha256(entry.url.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    partial = records / f"{entry.name}.{mark}.part"
    digest = download(entry.url, partial, progress)
    if entry.sha256 is not None and digest != entry.sha256.lower():
        partial.unlink()
        raise RequestError(
            "data.checksum",
            "{name}: the checksum of {url} is {found}, not {wanted}",
            hint="the file has changed, or this is an error page of a proxy; the download was deleted",
            name=entry.name,
            url=entry.url,
            found=digest,
            wanted=entry.sha256,
        )
    target = folder / entry.name
    (records / f"{entry.name}.json").unlink(missing_ok=True)
    if entry.unpack == "none":
        _away(target)
        partial.replace(target)
    else:
        fresh = records / f"{entry.name}.unpacking"
        _away(fresh)
        fresh.mkdir()
        try:
            unpack(partial, entry.unpack, fresh)
        except BaseException:
            _away(fresh)
            raise
        _away(target)
        fresh.rename(target)
        partial.unlink()
    files = [
        {"path": os.path.relpath(path, folder), "size": path.stat().st_size, "sha256": sha256(path)}
        for path in sorted(listed(target))
    ]
    record = {**asdict(entry), "found_sha256": digest, "fetched": time.time(), "files": files}
    try:
        write_json(records / f"{entry.name}.json", record)
    except OSError as error:
        raise UnavailableError(
            "data.not_written", "cannot write to {folder}: {what}", folder=folder, what=error.strerror or error
        ) from error
    begun = re.compile(re.escape(entry.name) + r"(\.[0-9a-f]{8})?\.part")
    for path in records.iterdir():
        if begun.fullmatch(path.name):  # from another address, or by an older toolkit, which stored no address
            with contextlib.suppress(OSError):
                path.unlink()
    return True


def problems(entry: Data, folder: Path) -> list[tuple[str, str]]:
    """Return the problems of an entry as (message key, file); reads and hashes every file again."""
    if missing(folder, [asdict(entry)]):
        return [("data.is_missing", entry.name)]
    findings = []
    for file in (record_of(folder, entry.name) or {})["files"]:
        path = folder / str(file["path"])
        if not path.is_file():
            findings.append(("data.file_missing", str(file["path"])))
        elif path.stat().st_size != file["size"] or sha256(path) != file["sha256"]:
            findings.append(("data.file_changed", str(file["path"])))
    return findings


def size(entry: Data, folder: Path) -> int:
    """Return the recorded bytes of an entry's files; 0 when it does not exist."""
    record: dict[str, Any] = record_of(folder, entry.name) or {"files": []}
    return sum(int(file["size"]) for file in record["files"])


def stage(entries: list[Data], folder: Path, target: Path, report: Callable[[str], None]) -> None:
    """Copy entries to another folder, e.g. node-local disk in an interactive job; rename each when complete.

    Raises UnavailableError when there is no room or the folder is not writable.
    """
    try:
        writable_folder(target)
        need_room(target, sum(size(entry, folder) for entry in entries))
        for entry in entries:
            fresh = target / f".{entry.name}.{os.getpid()}"
            source = folder / entry.name
            try:
                if source.is_dir():
                    shutil.copytree(source, fresh, symlinks=True)
                else:
                    shutil.copy2(source, fresh)
            except BaseException:
                _away(fresh)
                raise
            _away(target / entry.name)
            fresh.rename(target / entry.name)
            report(entry.name)
    except OSError as error:
        raise UnavailableError(
            "data.not_written", "cannot write to {folder}: {what}", folder=target, what=error.strerror or error
        ) from error


def _away(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        with contextlib.suppress(FileNotFoundError):
            path.unlink()
