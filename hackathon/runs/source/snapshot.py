"""The copy of a project's source that a job runs from: read once, written into every run of a command."""

import hashlib
import os
import stat
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from io import BufferedReader
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hackathon.access.guarded_path import GuardedPath
from hackathon.runs.source import git
from hackathon.runs.source.selection import SIZE_LIMIT, lines, printable, select, unreadable
from hackathon.text.errors import RequestError
from hackathon.text.messages import _

if TYPE_CHECKING:
    from hackathon.jobs.request import Request

RUNTIME = "hackathon_runtime.py"


@dataclass(frozen=True)
class SnapshotFile:
    """A regular file: its content, its hash and whether it is executable."""

    content: bytes
    sha256: str
    executable: bool = False


@dataclass(frozen=True)
class Source:
    """A project's source in memory; a run's `source/` is written from it."""

    folder: Path
    files: dict[str, SnapshotFile] = field(default_factory=dict)
    """Path below the folder → file."""
    links: dict[str, str] = field(default_factory=dict)
    """Path below the folder → target of a symbolic link that stays inside."""
    git: dict[str, object] | None = None
    diff: bytes = b""
    warnings: tuple[str, ...] = ()
    """Messages about what was skipped."""
    in_place: bool = False
    """Only the hashes are stored; nothing is copied."""
    outside: dict[str, str] = field(default_factory=dict)
    """Path below the folder → real path of what is linked into a run and not copied (`exclude` of a project)."""

    @property
    def digest(self) -> str:
        """One hash over names, contents, modes and links: equal digests mean equal snapshots."""
        total = hashlib.sha256()
        for name, entry in sorted(self.files.items()):
            total.update(os.fsencode(f"{'x' if entry.executable else 'f'} {entry.sha256} {name}\0"))
        for name, target in sorted(self.links.items()):
            total.update(os.fsencode(f"l {target}\0{name}\0"))
        for name, outside in sorted(self.outside.items()):
            total.update(os.fsencode(f"o {outside}\0{name}\0"))
        return total.hexdigest()

    def record(self, added: Mapping[str, SnapshotFile]) -> dict[str, Any]:
        """Return the content of `source.json`; `added`: files that the toolkit puts beside the program."""
        return {
            "folder": str(self.folder),
            "in_place": self.in_place,
            "digest": self.digest,
            "size": sum(len(entry.content) for entry in self.files.values()),
            "files": {name: entry.sha256 for name, entry in sorted(self.files.items())},
            "links": dict(sorted(self.links.items())),
            **({"outside": dict(sorted(self.outside.items()))} if self.outside else {}),
            "added": {name: entry.sha256 for name, entry in sorted(added.items())},
            "git": self.git,
        }

    def checksums(self) -> bytes:
        r"""Return the hashes in the format of `sha256sum --check`: `\`, newline and return in names are escaped."""
        lines = []
        for name, entry in sorted(self.files.items()):
            raw = os.fsencode(name)
            escaped = raw.replace(b"\\", b"\\\\").replace(b"\n", b"\\n").replace(b"\r", b"\\r")
            lines.append((b"\\" if escaped != raw else b"") + entry.sha256.encode() + b"  " + escaped + b"\n")
        return b"".join(lines)


def take(
    folder: Path,
    *,
    runs_folder: Path | None = None,
    in_place: bool = False,
    exclude: Sequence[str] = (),
    shared: Mapping[str, str] | None = None,
) -> Source:
    """Read the files that `select` chooses, once for every run of a command.

    `shared`: path below the folder → real path of files that are part of the source if the folder has none there. With
    `in_place` contents are hashed, not stored, and shared files have the path that leads to them from the folder.
    Raises RequestError for an unreadable file, and the errors of `select`.
    """
    folder = folder.absolute()
    chosen = select(folder, runs_folder=runs_folder, in_place=in_place, exclude=exclude)
    files = {name: read_entry(folder, name, keep=not in_place) for name in chosen.sizes}
    own = {*files, *chosen.links, *chosen.outside}
    for name, origin in (shared or {}).items():
        if name not in own:
            path = Path(origin).resolve()  # an installed package may consist of links
            entry = read_entry(path.parent, path.name, keep=not in_place)
            files[os.path.relpath(path, folder) if in_place else name] = entry
    return Source(
        folder,
        files,
        chosen.links,
        git.facts(folder) if chosen.in_git else None,
        git.diff(folder) if chosen.in_git else b"",
        chosen.warnings,
        in_place,
        chosen.outside,
    )


def of_request(request: "Request", runs_folder: Path) -> Source:
    """Read the source of a request whose folder is on this machine. Raises the errors of `take`."""
    return take(
        Path(request.source),
        runs_folder=runs_folder,
        in_place=request.in_place,
        exclude=request.exclude,
        shared=request.shared,
    )


def recorded(folder: Path, record: Mapping[str, Any]) -> Source:
    """Read the recorded files of an earlier run from its `source/` and its `source.json`.

    A file that differs from its recorded hash (the job changed it) is named in the warnings. Raises RequestError when a
    recorded file is gone, or when the record names a file outside its folder.
    """
    for name in (*record.get("files", {}), *record.get("links", {}), *record.get("outside", {})):
        if str(name).startswith("/") or ".." in str(name).split("/"):
            raise RequestError(
                "runs.source_link",
                "links that point outside the project cannot be copied into a run:\n{files}",
                hint="list them under `exclude:` in project.yaml, which links them into the run, or run in the "
                "folder itself with --in-place",
                files=lines([str(name)]),
            )
    files = {str(name): read_entry(folder, str(name)) for name in record.get("files", {})}
    links = {str(name): str(target) for name, target in record.get("links", {}).items()}
    changed = [printable(name) for name, sha256 in record.get("files", {}).items() if files[name].sha256 != sha256]
    warnings = (
        (_("changed by the job itself in the run's copy: {files}", files=", ".join(changed[:10])),) if changed else ()
    )
    about = record.get("git")
    outside = {str(name): str(target) for name, target in record.get("outside", {}).items()}
    return Source(
        Path(str(record.get("folder", folder))),
        files,
        links,
        about if isinstance(about, dict) else None,
        warnings=warnings,
        outside=outside,
    )


def write(source: Source, destination: Path, added: Mapping[str, SnapshotFile], modes: tuple[int, int]) -> None:
    """Write a snapshot into a new folder; `modes` are those of folders and of files. Raises OSError.

    Every run gets its own files, not hard links: a program that writes into its folder must not change another run.
    """
    folder_mode, file_mode = modes
    folders = {""}
    base = os.fspath(destination)
    os.mkdir(base, 0o700)  # noqa: PTH102 — plain strings: this runs for every file of every run
    for name, entry in (*source.files.items(), *added.items()):
        _make_folders(base, os.path.dirname(name), folders, folder_mode)  # noqa: PTH120
        descriptor = os.open(f"{base}/{name}", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            _write_all(descriptor, entry.content)
            os.fchmod(descriptor, file_mode | (file_mode & 0o444) >> 2 if entry.executable else file_mode)
        finally:
            os.close(descriptor)
    for name, target in (*source.links.items(), *source.outside.items()):
        _make_folders(base, os.path.dirname(name), folders, folder_mode)  # noqa: PTH120
        os.symlink(target, f"{base}/{name}")  # noqa: PTH211
    os.chmod(base, folder_mode)  # noqa: PTH101


def with_runtime(source: Source, command: Iterable[str], runtime: Path) -> dict[str, SnapshotFile]:
    """Return the runtime module beside the program, unless the program's folder has its own; {} when in place.

    The program is the command's first argument that names a file of the snapshot; without one, its folder is the top
    one.
    """
    if source.in_place:
        return {}
    program = next((word for word in map(os.path.normpath, command) if word in source.files), "")
    name = os.path.join(os.path.dirname(program), RUNTIME)  # noqa: PTH118, PTH120
    if name in source.files or name in source.links:
        return {}
    try:
        content = runtime.read_bytes()
    except OSError:
        return {}
    return {name: SnapshotFile(content, hashlib.sha256(content).hexdigest())}


def _make_folders(base: str, name: str, folders: set[str], mode: int) -> None:
    if name in folders:
        return
    _make_folders(base, os.path.dirname(name), folders, mode)  # noqa: PTH120
    os.mkdir(f"{base}/{name}", 0o700)  # noqa: PTH102
    os.chmod(f"{base}/{name}", mode)  # noqa: PTH101
    folders.add(name)


def _write_all(descriptor: int, content: bytes) -> None:
    written = os.write(descriptor, content)
    while written < len(content):
        written += os.write(descriptor, content[written:])


def read_entry(folder: Path, name: str, *, keep: bool = True) -> SnapshotFile:
    """Return a file's content and hash. O_NONBLOCK: a FIFO that replaced the file must not block the toolkit."""
    path = folder / name
    try:
        with _opened(path) as stream:
            mode = os.fstat(stream.fileno()).st_mode
            if not stat.S_ISREG(mode):
                raise RequestError(
                    "runs.source_changing",
                    "{file} changed while it was being read",
                    hint="try again when nothing is writing to the project",
                    file=printable(path),
                )
            if not keep:
                return SnapshotFile(b"", hashlib.file_digest(stream, "sha256").hexdigest(), bool(mode & stat.S_IXUSR))
            content = stream.read(SIZE_LIMIT + 1)
    except OSError as error:
        raise unreadable(path, error) from error
    if len(content) > SIZE_LIMIT:
        raise RequestError(
            "runs.source_changing",
            "{file} changed while it was being read",
            hint="try again when nothing is writing to the project",
            file=printable(path),
        )
    return SnapshotFile(content, hashlib.sha256(content).hexdigest(), bool(mode & stat.S_IXUSR))


def _opened(path: Path) -> BufferedReader:
    """Open a file for reading: in a run by the rules for its directory, in a project unless it is a link."""
    if isinstance(path, GuardedPath):
        return path.open_regular()
    return open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb")  # noqa: PTH123
