"""Read the crate of a run: an RO-Crate (zip or folder) from a site, which may be malicious.

Nothing is unpacked to the disk: names are checked, and files are read into memory within limits, only those in the
crate's own list.
"""

import functools
import hashlib
import io
import json
import os
import stat
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hackathon.access.guarded_folder import GuardedFolder
from hackathon.jobs.script import SCRIPTS
from hackathon.runs.crate.archive_errors import ARCHIVE_ERRORS
from hackathon.runs.record import RunRecord, read_record
from hackathon.runs.source import snapshot
from hackathon.runs.source.selection import SIZE_LIMIT, lines, printable
from hackathon.text.errors import RequestError
from hackathon.text.units import format_size

if TYPE_CHECKING:
    from hackathon.jobs.request import Request

METADATA = "ro-crate-metadata.json"
LIST = "hackathon.json"
"""Lists the crate's content: hashes of its files, changes by masking, files left out."""
RESULT = "result.json"
"""State, times and final numbers of the run."""
SCHEMA_VERSION = 1
ARCHIVE_LIMIT = 200_000_000
"""Bytes of a zip file."""
TOTAL_LIMIT = 120_000_000
"""Bytes of all files of a crate, unpacked."""
ENTRIES_LIMIT = 20_000
_LONGEST_NAME = 1000


@dataclass(frozen=True)
class Crate:
    """A crate: its files in memory, and their list."""

    path: Path
    digest: str
    """SHA-256 of the zip file; for a folder, of names and hashes."""
    listed: Mapping[str, Any]
    files: Mapping[str, bytes]
    """Name inside the crate → content."""
    changed: tuple[str, ...] = ()
    """Files whose content differs from the list: somebody edited the crate."""

    @property
    def run(self) -> str:
        """The id of the run in the crate."""
        return str(self.listed.get("run") or self.path.name)

    def record(self, name: str) -> dict[str, Any]:
        """Return one of its JSON files, which must hold an object. Raises RequestError."""
        try:
            value = json.loads(self.files[name])
        except (KeyError, ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            raise RequestError("crate.broken_file", "{file} in {path} is not a JSON object", path=self.path, file=name)
        return value

    def request(self) -> "Request":
        """Return the recorded and masked request.

        Raises RequestError when a field is missing or has a value that no toolkit would have written.
        """
        from hackathon.jobs.request import Request
        from hackathon.jobs.validate_record import wrong_field

        record = self.record("request.json")
        lists = (
            name
            for name in ("command", "environment", "mpi_options", "directives", "data", "exclude")
            if name in record
        )
        torn = next((name for name in lists if not isinstance(record[name], list)), None)
        if torn is not None:
            raise RequestError(
                "crate.wrong_field",
                "request.json in {path}: `{field}` has an invalid value",
                path=self.path,
                field=torn,
            )
        try:
            request = Request.from_json(record)
        except (TypeError, KeyError) as error:
            raise RequestError(
                "crate.broken_file", "{file} in {path} is not a JSON object", path=self.path, file="request.json"
            ) from error
        wrong = wrong_field(request)
        if wrong is not None:
            raise RequestError(
                "crate.wrong_field",
                "request.json in {path}: `{field}` has an invalid value",
                path=self.path,
                field=wrong,
            )
        return request

    @functools.cached_property
    def recorded(self) -> RunRecord:
        """The record of the run in the crate."""
        return read_record(
            Path(self.run),
            lambda name: self.record(name) if name in self.files else None,
            in_project=False,
        )

    @property
    def about_source(self) -> dict[str, Any]:
        """What the list says about the source: complete, digest, digest_as_run, masked, left_out, altered."""
        about = self.listed.get("source")
        return about if isinstance(about, dict) else {}

    def source(self) -> snapshot.Source:
        """Return the program in the crate. Raises RequestError when it was published without one."""
        about = self.about_source
        if about.get("complete") is not True:
            left_out = [str(name) for name in _list(about.get("left_out"))]
            raise RequestError(
                "crate.no_source",
                "the RO-Crate of run {run} was published without its program:\n{files}",
                hint="ask the team for it; `publish.source: true` in hackathon.yaml publishes programs too",
                path=self.path,
                run=self.run,
                files=lines(left_out),
            )
        record = self.record("source.json")
        executable = {str(name) for name in _list(self.listed.get("executable"))}
        files = {}
        for name in _mapping(record.get("files")):
            inside = f"source/{_safe(str(name), self.path)}"
            if inside not in self.files:
                raise RequestError(
                    "crate.missing", "files are missing in {path}:\n{files}", path=self.path, files=lines([inside])
                )
            content = self.files[inside]
            files[name] = snapshot.SnapshotFile(content, hashlib.sha256(content).hexdigest(), inside in executable)
        links = {str(name): str(target) for name, target in _mapping(record.get("links")).items()}
        for name, target in links.items():
            _safe(name, self.path)
            if not _stays_inside(name, target) or any(part in links for part in _parents(name)) or name in files:
                raise RequestError(
                    "crate.link",
                    "{path} contains a link that is not allowed: {file}",
                    path=self.path,
                    file=printable(f"{name} → {target}"),
                )
        crossed = next((name for name in files if any(part in links for part in _parents(name))), None)
        if crossed is not None:
            raise RequestError(
                "crate.link",
                "{path} contains a link that is not allowed: {file}",
                path=self.path,
                file=printable(crossed),
            )
        git = record.get("git")
        return snapshot.Source(self.path.absolute(), files, links, git if isinstance(git, dict) else None)

    def scripts(self) -> dict[str, str]:
        """Return the job's scripts by name as the crate has them: masked, to be read."""
        return {name: self.files[name].decode("utf-8", "replace") for name in SCRIPTS if name in self.files}


def is_crate(text: str) -> bool:
    """Return whether a command-line word is a crate: a file, an address, or a folder with its metadata."""
    if text.startswith(("http://", "https://")) or text.endswith(".zip"):
        return True
    path = Path(text)
    return (path / METADATA).exists() or (os.sep in text and path.is_file())


def read_crate(text: str) -> Crate:
    """Return the complete crate at a path (zip or folder).

    Raises RequestError with the reason: no such file, not a zip, too big, names that lead outside, links, missing or
    another program's metadata, missing files.
    """
    if text.startswith(("http://", "https://")):
        raise RequestError(
            "crate.address",
            "{address} is a URL, not a file",
            hint="download it first: `curl -LO {address!q}`, then give the file",
            address=text,
        )
    path = Path(text)
    source = _Folder(path) if path.is_dir() else _Archive(path)
    with source:
        _check_metadata(source)
        listed = _json(source, LIST)
        names = listed.get("files")
        if not isinstance(names, dict) or listed.get("schema_version") != SCHEMA_VERSION:
            raise RequestError(
                "crate.other_version",
                "hackathon.json in {path} has version {found}; this toolkit supports version 1",
                path=path,
                found=listed.get("schema_version", "–"),
            )
        missing = [name for name in names if not source.has(_safe(str(name), path))]
        if missing:
            raise RequestError(
                "crate.missing", "files are missing in {path}:\n{files}", path=path, files=lines(missing)
            )
        if len(names) > ENTRIES_LIMIT:
            raise RequestError(
                "crate.too_many",
                "{path} has {count} files, more than {limit}",
                path=path,
                count=len(names),
                limit=ENTRIES_LIMIT,
            )
        files, total = {}, 0
        for name in names:
            content = files[name] = source.read(name)
            total += len(content)
            if total > TOTAL_LIMIT:
                raise RequestError(
                    "crate.too_big", "{path} contains more than {limit}", path=path, limit=format_size(TOTAL_LIMIT)
                )
        hashes = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
        changed = tuple(sorted(name for name in names if hashes[name] != names[name]))
        return Crate(path, source.digest(hashes), listed, files, changed)


def read_inside(folder: GuardedFolder, name: str) -> tuple[bytes, bool]:
    """Return (content, executable) of a regular file below a folder.

    Raises OSError (also for what is refused) and ValueError when it is larger than SIZE_LIMIT.
    """
    with folder.open(name) as stream:
        status = os.fstat(stream.fileno())
        # No more room than the file needs: for thousands of small files it costs more than the reading.
        content = stream.read(min(SIZE_LIMIT, status.st_size + 4096) + 1)
    if len(content) > SIZE_LIMIT:
        raise ValueError(name)
    return content, bool(status.st_mode & stat.S_IXUSR)


class _Folder:
    """An unpacked crate."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __enter__(self) -> "_Folder":
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def has(self, name: str) -> bool:
        return os.path.lexists(self.path / name)

    def read(self, name: str) -> bytes:
        try:
            return read_inside(GuardedFolder(self.path, any_owner=True, links=False), name)[0]
        except ValueError:
            raise RequestError(
                "crate.too_big", "{path} contains more than {limit}", path=self.path, limit=format_size(SIZE_LIMIT)
            ) from None
        except OSError as error:
            link = any((self.path / part).is_symlink() for part in (name, *_parents(name)))
            if link:
                raise RequestError(
                    "crate.link",
                    "{path} contains a link that is not allowed: {file}",
                    path=self.path,
                    file=printable(name),
                ) from None
            raise RequestError(
                "crate.unreadable", "{path} cannot be read: {what}", path=self.path / name, what=error.strerror or error
            ) from error

    def digest(self, hashes: Mapping[str, str]) -> str:
        total = hashlib.sha256()
        for name, sha256 in sorted(hashes.items()):
            total.update(f"{sha256} {name}\0".encode("utf-8", "surrogateescape"))
        return total.hexdigest()


class _Archive(_Folder):
    """A zip file. All files may lie in one folder, as some programs pack them."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
            with os.fdopen(descriptor, "rb") as stream:
                if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                    raise RequestError(
                        "crate.no_crate", "{path} is not an RO-Crate: it has no ro-crate-metadata.json", path=path
                    )
                raw = stream.read(ARCHIVE_LIMIT + 1)
        except OSError as error:
            raise RequestError(
                "crate.unreadable", "{path} cannot be read: {what}", path=path, what=error.strerror or error
            ) from error
        if len(raw) > ARCHIVE_LIMIT:
            raise RequestError(
                "crate.too_big", "{path} contains more than {limit}", path=path, limit=format_size(ARCHIVE_LIMIT)
            )
        self._sha256 = hashlib.sha256(raw).hexdigest()
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(raw))
            entries = self._zip.infolist()
        except (*ARCHIVE_ERRORS, OSError) as error:
            raise RequestError(
                "crate.no_zip",
                "{path} is not a readable zip file: {what}",
                hint="check that the download is complete",
                path=path,
                what=error,
            ) from None
        if len(entries) > ENTRIES_LIMIT:
            raise RequestError(
                "crate.too_many",
                "{path} has {count} files, more than {limit}",
                path=path,
                count=len(entries),
                limit=ENTRIES_LIMIT,
            )
        self._entries: dict[str, zipfile.ZipInfo] = {}
        for entry in entries:
            name = _safe(entry.orig_filename.rstrip("/"), path)
            if stat.S_ISLNK(entry.external_attr >> 16):
                raise RequestError(
                    "crate.link", "{path} contains a link that is not allowed: {file}", path=path, file=printable(name)
                )
            if name in self._entries:
                raise RequestError(
                    "crate.twice",
                    "{path} contains two files with the same name: {file}",
                    path=path,
                    file=printable(name),
                )
            if not entry.is_dir():
                self._entries[name] = entry
        tops = {name.split("/", 1)[0] for name in self._entries}
        self._top = f"{next(iter(tops))}/" if len(tops) == 1 and METADATA not in self._entries else ""

    def __exit__(self, *error: object) -> None:
        self._zip.close()

    def has(self, name: str) -> bool:
        return self._top + name in self._entries

    def read(self, name: str) -> bytes:
        entry = self._entries[self._top + name]
        try:
            # the sizes in the archive may be wrong, so count the unpacked bytes
            with self._zip.open(entry) as stream:
                content = stream.read(SIZE_LIMIT + 1)
        except (*ARCHIVE_ERRORS, OSError) as error:
            raise RequestError(
                "crate.no_zip",
                "{path} is not a readable zip file: {what}",
                hint="check that the download is complete",
                path=self.path,
                what=error,
            ) from None
        if len(content) > SIZE_LIMIT:
            raise RequestError(
                "crate.too_big", "{path} contains more than {limit}", path=self.path, limit=format_size(SIZE_LIMIT)
            )
        return content

    def digest(self, hashes: Mapping[str, str]) -> str:
        return self._sha256


def _check_metadata(crate: _Folder) -> None:
    """Raise RequestError unless this is an RO-Crate written by this toolkit."""
    if not crate.has(METADATA):
        raise RequestError(
            "crate.no_crate", "{path} is not an RO-Crate: it has no ro-crate-metadata.json", path=crate.path
        )
    graph = _json(crate, METADATA).get("@graph")
    entities = [entity for entity in graph if isinstance(entity, dict)] if isinstance(graph, list) else []
    about = next((entity for entity in entities if entity.get("@id") == METADATA), None)
    if about is None or not any(entity.get("@id") == "./" for entity in entities):
        raise RequestError(
            "crate.bad_metadata",
            "ro-crate-metadata.json in {path} does not describe an RO-Crate: the root entity `./` is missing",
            path=crate.path,
        )
    if not crate.has(LIST):
        root = next(entity for entity in entities if entity.get("@id") == "./")
        raise RequestError(
            "crate.foreign",
            "{path} is an RO-Crate of another program ({profile}): it has no hackathon.json, so it is not "
            "known how to run it here",
            path=crate.path,
            profile=_profile(root) or _profile(about) or "–",
        )


def _profile(entity: Mapping[str, Any]) -> str:
    """Return what an entity conforms to, as text."""
    value = entity.get("conformsTo")
    profiles = [
        reference.get("@id")
        for reference in (value if isinstance(value, list) else [value])
        if isinstance(reference, dict)
    ]
    return printable(", ".join(str(profile) for profile in profiles))[:200]


def _json(crate: _Folder, name: str) -> dict[str, Any]:
    try:
        value = json.loads(crate.read(name))
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise RequestError("crate.broken_file", "{file} in {path} is not a JSON object", path=crate.path, file=name)
    return value


def _safe(name: str, path: Path) -> str:
    """Return a name that stays inside a crate and outside of `.git`; raises RequestError for any other."""
    parts = name.split("/")
    outside = not {"", ".", ".."}.isdisjoint(parts) or name[1:2] == ":" or len(name) > _LONGEST_NAME
    if outside or any(letter in name for letter in "\\\0\n\r"):
        raise RequestError(
            "crate.outside", "{path} names a file outside of it: {file}", path=path, file=printable(name[:200])
        )
    if ".git" in map(str.casefold, parts):  # git's settings name programs, which an editor or a prompt starts
        raise RequestError(
            "crate.repository",
            "{path} contains a part of a git repository, whose settings could start programs: {file}",
            path=path,
            file=printable(name),
        )
    return name


def _stays_inside(name: str, target: str) -> bool:
    """Return whether a link stays inside; `..` is allowed only at its beginning, where it crosses no other link."""
    path = os.path.normpath(os.path.join(os.path.dirname(name), target))  # noqa: PTH118, PTH120
    inner = target.lstrip("./").split("/")
    return (
        bool(target)
        and "\0" not in target
        and not target.startswith("/")
        and ".." not in inner
        and (path != ".." and not path.startswith("../"))
    )


def _parents(name: str) -> list[str]:
    parts = name.split("/")
    return ["/".join(parts[:count]) for count in range(1, len(parts))]


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
