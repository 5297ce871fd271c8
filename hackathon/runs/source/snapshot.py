"""The copy of a project's source that a job runs from: taken once, written into as many runs as are made of it."""

import hashlib
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from io import BufferedReader
from pathlib import Path
from typing import Any

from hackathon.access.guarded_path import GuardedPath
from hackathon.jobs.data import FOLDER, RECORDS
from hackathon.runs.source import git
from hackathon.text.errors import RequestError
from hackathon.text.messages import message
from hackathon.text.units import format_size

SIZE_LIMIT = 50_000_000
"""Bytes of a snapshot."""
COUNT_LIMIT = 10_000
"""Files of a snapshot: a shared file system takes many small files worse than a few large ones."""
RUNTIME = "hackathon_runtime.py"
LEFT_OUT = frozenset({
    ".git", ".hg", ".svn", "__pycache__", ".venv", "venv", ".ipynb_checkpoints", ".mypy_cache", ".pytest_cache",
    ".ruff_cache", ".tox", ".hypothesis", "node_modules", "checkpoints", "lightning_logs", "wandb", "mlruns",
})  # fmt: skip
"""Names of folders that are never taken from a folder outside git; inside git the repository's .gitignore decides."""
ALWAYS_LEFT_OUT = frozenset({".git", "__pycache__"})
DERIVED = frozenset({"runs", "studies", "site"})
"""Names at the top of a project that the toolkit itself writes."""


@dataclass(frozen=True)
class SnapshotFile:
    """A regular file: its content, its hash and whether it may be executed."""

    content: bytes
    sha256: str
    executable: bool = False


@dataclass(frozen=True)
class Source:
    """A project's source as it was read: what a run's `source/` is written from."""

    folder: Path
    files: dict[str, SnapshotFile] = field(default_factory=dict)
    """Path below the folder → file."""
    links: dict[str, str] = field(default_factory=dict)
    """Path below the folder → target of a symbolic link that stays inside."""
    git: dict[str, object] | None = None
    diff: bytes = b""
    warnings: tuple[str, ...] = ()
    """What was passed over, as text for a person."""
    in_place: bool = False
    """The hashes are known and nothing is copied."""

    @property
    def digest(self) -> str:
        """One hash over names, contents, modes and links: equal digests mean equal snapshots."""
        total = hashlib.sha256()
        for name, entry in sorted(self.files.items()):
            total.update(os.fsencode(f"{'x' if entry.executable else 'f'} {entry.sha256} {name}\0"))
        for name, target in sorted(self.links.items()):
            total.update(os.fsencode(f"l {target}\0{name}\0"))
        return total.hexdigest()

    def record(self, added: Mapping[str, SnapshotFile]) -> dict[str, Any]:
        """Return the content of `source.json`; `added` are files that the toolkit put beside the program."""
        return {
            "folder": str(self.folder),
            "in_place": self.in_place,
            "digest": self.digest,
            "size": sum(len(entry.content) for entry in self.files.values()),
            "files": {name: entry.sha256 for name, entry in sorted(self.files.items())},
            "links": dict(sorted(self.links.items())),
            "added": {name: entry.sha256 for name, entry in sorted(added.items())},
            "git": self.git,
        }

    def checksums(self) -> bytes:
        r"""Return the hashes as `sha256sum --check` reads them: `\`, newline and return in names are escaped."""
        lines = []
        for name, entry in sorted(self.files.items()):
            raw = os.fsencode(name)
            escaped = raw.replace(b"\\", b"\\\\").replace(b"\n", b"\\n").replace(b"\r", b"\\r")
            lines.append((b"\\" if escaped != raw else b"") + entry.sha256.encode() + b"  " + escaped + b"\n")
        return b"".join(lines)


def take(folder: Path, *, runs_folder: Path | None = None, in_place: bool = False) -> Source:
    """Read a project's source once, for every run that a command makes of it.

    In git: tracked files and untracked ones that are not ignored; else all files but caches, environments and
    checkpoints. `runs_folder` and what the toolkit writes beside it is never part of it. With `in_place` contents are
    hashed, not kept. Raises RequestError: no such folder, more than SIZE_LIMIT or COUNT_LIMIT (the biggest are named),
    a file that cannot be read, a link that leads outside.
    """
    folder = folder.absolute()
    if not folder.is_dir():
        raise RequestError("runs.source_missing", folder=folder)
    warnings: list[str] = []
    in_git = git.tracked(folder)
    names = git.files(folder) if in_git else None
    if in_git and names is None:
        warnings.append(message("runs.git_silent", folder=folder))
    listed = list(_walk(folder, "", LEFT_OUT) if names is None else _from_git(folder, names))
    excluded = {*DERIVED, *_handed_on(folder, listed)}
    if runs_folder is not None and runs_folder.absolute().is_relative_to(folder):
        excluded.add(str(runs_folder.absolute().relative_to(folder)))
    if (folder / FOLDER / RECORDS).is_dir():
        excluded.add(FOLDER)
    sizes, links = _sort(folder, listed, excluded, warnings, in_place)
    if in_place:
        sizes = _smallest(sizes)
    elif sum(sizes.values()) > SIZE_LIMIT or len(sizes) > COUNT_LIMIT:
        raise _too_much(folder, sizes)
    files = {name: read_entry(folder, name, keep=not in_place) for name in sizes}
    return Source(
        folder,
        files,
        links,
        git.facts(folder) if names is not None else None,
        git.diff(folder) if names is not None else b"",
        tuple(warnings),
        in_place,
    )


def recorded(folder: Path, record: Mapping[str, Any]) -> Source:
    """Read the source of an earlier run again, from its `source/` and its `source.json`: no more than was recorded.

    A file that differs from its recorded hash (the job wrote into it) is named in the warnings. Raises RequestError
    when a recorded file is gone, or when the record names a file outside its folder.
    """
    for name in (*record.get("files", {}), *record.get("links", {})):
        if str(name).startswith("/") or ".." in str(name).split("/"):
            raise RequestError("runs.source_link", files=lines([str(name)]))
    files = {str(name): read_entry(folder, str(name)) for name in record.get("files", {})}
    links = {str(name): str(target) for name, target in record.get("links", {}).items()}
    changed = [printable(name) for name, sha256 in record.get("files", {}).items() if files[name].sha256 != sha256]
    warnings = (message("runs.differs_copy_changed", files=", ".join(changed[:10])),) if changed else ()
    about = record.get("git")
    return Source(
        Path(str(record.get("folder", folder))),
        files,
        links,
        about if isinstance(about, dict) else None,
        warnings=warnings,
    )


def write(source: Source, destination: Path, added: Mapping[str, SnapshotFile], modes: tuple[int, int]) -> None:
    """Write a snapshot into a new folder; `modes` are those of folders and of files. Raises OSError.

    Every run gets files of its own, not hard links: a program that writes into its folder must not change another run.
    """
    folder_mode, file_mode = modes
    made = {""}
    base = os.fspath(destination)
    os.mkdir(base, 0o700)  # noqa: PTH102 — plain strings: this runs for every file of every run
    for name, entry in (*source.files.items(), *added.items()):
        _make_folders(base, os.path.dirname(name), made, folder_mode)  # noqa: PTH120
        descriptor = os.open(f"{base}/{name}", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            _write_all(descriptor, entry.content)
            os.fchmod(descriptor, file_mode | (file_mode & 0o444) >> 2 if entry.executable else file_mode)
        finally:
            os.close(descriptor)
    for name, target in source.links.items():
        _make_folders(base, os.path.dirname(name), made, folder_mode)  # noqa: PTH120
        os.symlink(target, f"{base}/{name}")  # noqa: PTH211
    os.chmod(base, folder_mode)  # noqa: PTH101


def with_runtime(source: Source, command: Iterable[str], runtime: Path) -> dict[str, SnapshotFile]:
    """Return the runtime beside the program, unless the program's folder has one of its own; {} when in place.

    The program is the command's first word that names a file of the snapshot; without one it is the top folder's.
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


def _make_folders(base: str, name: str, made: set[str], mode: int) -> None:
    if name in made:
        return
    _make_folders(base, os.path.dirname(name), made, mode)  # noqa: PTH120
    os.mkdir(f"{base}/{name}", 0o700)  # noqa: PTH102
    os.chmod(f"{base}/{name}", mode)  # noqa: PTH101
    made.add(name)


def _write_all(descriptor: int, content: bytes) -> None:
    written = os.write(descriptor, content)
    while written < len(content):
        written += os.write(descriptor, content[written:])


def _walk(folder: Path, below: str, left_out: frozenset[str]) -> Iterator[str]:
    """Yield the paths of everything below a folder but folders, without following links; stops far above the limit."""
    waiting, count = [below], 0
    while waiting:
        place = waiting.pop()
        try:
            with os.scandir(folder / place) as scanned:
                entries = sorted(scanned, key=lambda entry: entry.name)
        except OSError as error:
            raise _unreadable(folder / place, error) from error
        for entry in entries:
            name = f"{place}/{entry.name}" if place else entry.name
            if not entry.is_dir(follow_symlinks=False):
                yield name
                count += 1
            elif not (entry.name in left_out or (not place and entry.name in DERIVED) or _marked(folder / name)):
                waiting.append(name)
        if count > 10 * COUNT_LIMIT:
            return


def _handed_on(folder: Path, names: Iterable[str]) -> Iterator[str]:
    """Yield the folders below a project that `render --to` made: copies of the project, with what their jobs wrote."""
    for name in names:
        place, _, last = name.rpartition("/")
        if last == "request.json" and place and all((folder / place / each).exists() for each in ("rank.sh", "jobs")):
            yield place


def _marked(folder: Path) -> bool:
    """Return whether a folder says of itself that it is a Python environment or a cache (bford.info/cachedir)."""
    return any(os.path.exists(f"{folder}/{mark}") for mark in ("pyvenv.cfg", "CACHEDIR.TAG"))  # noqa: PTH110


def _from_git(folder: Path, names: Iterable[str]) -> Iterator[str]:
    """Yield git's names; a repository inside this one (a submodule, a clone) is walked."""
    for name in names:
        inner = name.rstrip("/")
        if name.endswith("/") or ((folder / inner).is_dir() and not (folder / inner).is_symlink()):
            yield from _walk(folder, inner, LEFT_OUT)
        else:
            yield name


def _sort(
    folder: Path, names: Iterable[str], excluded: set[str], warnings: list[str], in_place: bool
) -> tuple[dict[str, int], dict[str, str]]:
    """Return sizes of regular files and targets of links; other kinds of files are warned of."""
    sizes: dict[str, int] = {}
    links: dict[str, str] = {}
    outside: list[str] = []
    for name in names:
        parts = name.split("/")
        if parts[0] in excluded or not ALWAYS_LEFT_OUT.isdisjoint(parts) or any(_under(name, one) for one in excluded):
            continue
        path = folder / name
        try:
            facts = path.lstat()
        except FileNotFoundError:
            continue  # tracked and deleted
        except OSError as error:
            raise _unreadable(path, error) from error
        if stat.S_ISREG(facts.st_mode):
            sizes[name] = facts.st_size
        elif not stat.S_ISLNK(facts.st_mode):
            warnings.append(message("runs.source_special", file=printable(name)))
        elif in_place:
            continue
        elif _stays_inside(folder, path):
            links[name] = os.readlink(path)  # noqa: PTH115
        else:
            outside.append(f"{name} → {os.readlink(path)}")  # noqa: PTH115
    if outside:
        raise RequestError("runs.source_link", files=lines(outside))
    _warn_dangling(folder, sizes, links, warnings)
    return sizes, links


def _under(name: str, folder: str) -> bool:
    return name.startswith(f"{folder}/")


def _stays_inside(folder: Path, path: Path) -> bool:
    """Return whether a link leads, without an absolute path, to a place below the folder."""
    if os.readlink(path).startswith("/"):  # noqa: PTH115
        return False  # would lead from the copy back into the live folder
    try:
        return path.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError):  # a link to itself
        return False


def _warn_dangling(folder: Path, sizes: Mapping[str, int], links: Mapping[str, str], warnings: list[str]) -> None:
    """Warn of links whose target exists in the project but is not part of the snapshot (an ignored data folder)."""
    if not links:
        return
    folders = {part for name in (*sizes, *links) for part in _parents(name)}
    for name, target in links.items():
        place = os.path.normpath(os.path.join(os.path.dirname(name), target))  # noqa: PTH118, PTH120
        if place not in sizes and place not in links and place not in folders and (folder / name).exists():
            warnings.append(message("runs.source_dangling", file=printable(name), target=printable(target)))


def _parents(name: str) -> Iterator[str]:
    yield "."
    place = os.path.dirname(name)  # noqa: PTH120
    while place:
        yield place
        place = os.path.dirname(place)  # noqa: PTH120


def read_entry(folder: Path, name: str, *, keep: bool = True) -> SnapshotFile:
    """Return a file's content and hash. O_NONBLOCK: a FIFO that took the file's place must not hang the toolkit."""
    path = folder / name
    try:
        with _opened(path) as stream:
            mode = os.fstat(stream.fileno()).st_mode
            if not stat.S_ISREG(mode):
                raise RequestError("runs.source_changing", file=printable(path))
            if not keep:
                return SnapshotFile(b"", hashlib.file_digest(stream, "sha256").hexdigest(), bool(mode & stat.S_IXUSR))
            content = stream.read(SIZE_LIMIT + 1)
    except OSError as error:
        raise _unreadable(path, error) from error
    if len(content) > SIZE_LIMIT:
        raise RequestError("runs.source_changing", file=printable(path))
    return SnapshotFile(content, hashlib.sha256(content).hexdigest(), bool(mode & stat.S_IXUSR))


def _opened(path: Path) -> BufferedReader:
    """Return a file opened for reading: of a run by the rules for its directory, of a project unless it is a link."""
    if isinstance(path, GuardedPath):
        return path.open_regular()
    return open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb")  # noqa: PTH123


def _smallest(sizes: Mapping[str, int]) -> dict[str, int]:
    """Return the files that are hashed in place: the smallest ones, up to the limits (a data set is not source)."""
    kept, total = {}, 0
    for name, size in sorted(sizes.items(), key=lambda item: item[1])[:COUNT_LIMIT]:
        total += size
        if total > SIZE_LIMIT:
            break
        kept[name] = size
    return kept


def _too_much(folder: Path, sizes: Mapping[str, int]) -> RequestError:
    """Return the error that names the biggest files, and the fullest top folders when the count is the trouble."""
    total = sum(sizes.values())
    if total > SIZE_LIMIT:
        biggest = sorted(sizes.items(), key=lambda item: -item[1])[:5]
        listed = [f"{format_size(size)}  {name}" for name, size in biggest]
        return RequestError(
            "runs.source_big",
            folder=folder,
            size=format_size(total),
            limit=format_size(SIZE_LIMIT),
            files=lines(listed),
        )
    counts: dict[str, int] = {}
    for name in sizes:
        top = name.split("/", 1)[0] + "/" if "/" in name else "."
        counts[top] = counts.get(top, 0) + 1
    fullest = sorted(counts.items(), key=lambda item: -item[1])[:5]
    listed = [f"{count}  {name}" for name, count in fullest]
    return RequestError("runs.source_many", folder=folder, count=len(sizes), limit=COUNT_LIMIT, files=lines(listed))


def _unreadable(path: Path, error: OSError) -> RequestError:
    return RequestError("runs.source_unreadable", file=printable(path), what=error.strerror or error)


def printable(name: str | Path) -> str:
    """Return a file name that can be shown: bytes that are no UTF-8 and control letters are escaped."""
    text = str(name).encode("utf-8", "backslashreplace").decode()
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)


def lines(names: Iterable[str]) -> str:
    """Return names one a line, indented, ten at most."""
    listed = [f"  {printable(name)}" for name in names]
    return "\n".join([*listed[:10], *(["  …"] if len(listed) > 10 else [])])
