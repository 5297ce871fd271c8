"""Select the source files of a project: what a run copies, and what it only links."""

import os
import stat
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from hackathon.jobs.data import FOLDER, RECORDS
from hackathon.runs.directory import is_record
from hackathon.runs.source import git
from hackathon.text.errors import RequestError
from hackathon.text.messages import _
from hackathon.text.units import format_size

if TYPE_CHECKING:
    from hackathon.jobs.request import Request

SIZE_LIMIT = 50_000_000
"""Bytes of a snapshot."""
COUNT_LIMIT = 10_000
"""Files of a snapshot: many small files are slower on a shared file system than a few large ones."""
LINKS = 1000
"""Links that one pattern of `exclude` may create."""
LEFT_OUT = frozenset({
    ".git", ".hg", ".svn", "__pycache__", ".venv", "venv", ".ipynb_checkpoints", ".mypy_cache", ".pytest_cache",
    ".ruff_cache", ".tox", ".hypothesis", "node_modules", "checkpoints", "lightning_logs", "wandb", "mlruns",
})  # fmt: skip
"""Folders that are never copied from a folder outside git; inside git the repository's .gitignore decides."""
EVENTS = "events.out.tfevents."
"""Beginning of the names of TensorBoard's files, which are never copied from a folder outside git."""
ALWAYS_LEFT_OUT = frozenset({".git", "__pycache__"})
RECORDS_IN = ("runs", "studies")
"""Folders at the top of a project in which the toolkit writes a folder for each run and study."""
SITE, PUBLICATION = "site", ".publication"
"""The folder for published pages, and the file in the folder below it that shows who wrote it (`web.site.switch`)."""


@dataclass(frozen=True)
class Selection:
    """The files of a project's source, before they are read."""

    sizes: dict[str, int]
    """Path below the folder → bytes of a regular file."""
    links: dict[str, str] = field(default_factory=dict)
    """Path below the folder → target of a symbolic link that stays inside."""
    outside: dict[str, str] = field(default_factory=dict)
    """Path below the folder → real path of what the project excludes from the copy; a run gets links to it."""
    warnings: tuple[str, ...] = ()
    in_git: bool = False

    def lacks(self, path: str) -> str:
        """Return the path to write under `exclude` for a file or folder that a run does not get; empty if it does.

        `path`: below the folder, of something that exists there.
        """
        if _within(path, self.outside) or path in self._reached:
            return ""
        return next((parent for parent in (*reversed([*_parents(path)][1:]), path) if parent not in self._reached), "")

    @cached_property
    def _reached(self) -> frozenset[str]:
        """Every file and link of the copy, and the folders above them."""
        names = (*self.sizes, *self.links, *self.outside)
        return frozenset(names) | {parent for name in names for parent in _parents(name)}


def derived(folder: Path) -> set[str]:
    """Return the paths at the top of a project that the toolkit wrote: its runs, studies and published pages.

    A folder of the user may have the same name, and then only the toolkit's part of it counts.
    """
    paths: set[str] = set()
    for name in RECORDS_IN:
        with suppress(OSError), os.scandir(folder / name) as scanned:
            listing = list(scanned)
            own = {f"{name}/{entry.name}" for entry in listing if entry.name[0] == "." or is_record(entry)}
            # a link to a folder on another disk cannot be copied in part
            paths |= {name} if (folder / name).is_symlink() and (own or not listing) else own
    with suppress(OSError), os.scandir(folder / SITE) as entries:
        if any(entry.name.startswith(SITE) and os.path.lexists(f"{entry.path}/{PUBLICATION}") for entry in entries):
            paths.add(SITE)
    return paths


def select(
    folder: Path, *, runs_folder: Path | None = None, in_place: bool = False, exclude: Sequence[str] = ()
) -> Selection:
    """Select the files of a project's source.

    In git: tracked files and untracked ones that are not ignored; else all files except caches, environments and
    checkpoints. `runs_folder` and the toolkit's folders beside it are never included. `exclude`: paths or patterns
    (`data`, `weights/*.pt`) that are linked, whether git ignores them or not. Raises RequestError: no such folder, more
    than SIZE_LIMIT or COUNT_LIMIT (the error names the biggest), an unreadable folder, a link or a pattern that leads
    outside.
    """
    folder = folder.absolute()
    if not folder.is_dir():
        raise RequestError("runs.source_missing", "the source folder {folder} does not exist", folder=folder)
    warnings: list[str] = []
    outside = {} if in_place else _outside(folder, exclude, warnings)
    in_git = git.tracked(folder)
    names = git.files(folder) if in_git else None
    if in_git and names is None:
        reason = git.refusal(folder)
        warnings.append(
            _(
                "git refuses {folder} ({reason}); all files are copied, and the commit is not recorded",
                folder=folder,
                reason=reason,
            )
            if reason
            else _(
                "git does not respond in {folder}; all files are copied, and the commit is not recorded", folder=folder
            )
        )
    own = derived(folder)
    if runs_folder is not None and runs_folder.absolute().is_relative_to(folder):
        place = str(runs_folder.absolute().relative_to(folder))
        own |= set() if place in RECORDS_IN else {place}
    passed = frozenset(own.union(outside))
    listed = list(_walk(folder, "", LEFT_OUT, passed) if names is None else _from_git(folder, names, passed))
    excluded = {*own, *_handed_on(folder, listed), *outside}
    if (folder / FOLDER / RECORDS).is_dir() and FOLDER not in outside:
        excluded.add(FOLDER)
    sizes, links = _sort(folder, listed, excluded, warnings, in_place)
    _warn_dangling(folder, sizes, links, outside, warnings)
    if in_place:
        sizes = _smallest(sizes)
    elif sum(sizes.values()) > SIZE_LIMIT or len(sizes) > COUNT_LIMIT:
        raise _too_much(folder, sizes)
    return Selection(sizes, links, outside, tuple(warnings), names is not None)


def selection_of(request: "Request", runs_folder: Path) -> Selection:
    """Select the files of a request's source, whose folder is on this machine. Raises the errors of `select`."""
    folder = Path(request.source)
    return select(folder, runs_folder=runs_folder, in_place=request.in_place, exclude=request.exclude)


def _outside(folder: Path, patterns: Sequence[str], warnings: list[str]) -> dict[str, str]:
    """Return path below the folder → real path for all matches of the patterns, without nested ones."""
    links: dict[str, str] = {}
    for pattern in patterns:
        plain = os.path.normpath(pattern)
        if not pattern.strip() or plain.startswith(("/", "..")) or plain == "." or "**" in plain:
            raise RequestError(
                "runs.exclude_wrong",
                "`exclude: {pattern}` cannot be linked into a run",
                hint="write paths in the project's folder, such as data or weights/*.pt: without .., **, or a link "
                "on the way, and with at most {limit} matches",
                pattern=pattern,
                limit=LINKS,
            )
        if any(sign in plain for sign in "*?["):
            matches = sorted(str(path.relative_to(folder)) for path in folder.glob(plain))
        else:
            matches = [plain] if (folder / plain).exists() else []
        linked = next((up for name in matches for up in _parents(name) if (folder / up).is_symlink() and up != "."), "")
        if linked or len(matches) > LINKS:
            raise RequestError(
                "runs.exclude_wrong",
                "`exclude: {pattern}` cannot be linked into a run",
                hint="write paths in the project's folder, such as data or weights/*.pt: without .., **, or a link "
                "on the way, and with at most {limit} matches",
                pattern=pattern,
                limit=LINKS,
            )
        if not matches:
            warnings.append(_("`exclude: {pattern}` in project.yaml matches nothing", pattern=pattern))
        links |= {name: str(folder / name) for name in matches}
    return {name: target for name, target in links.items() if not any(parent in links for parent in _parents(name))}


def _walk(folder: Path, below: str, left_out: frozenset[str], passed: frozenset[str]) -> Iterator[str]:
    """Yield the paths of all files below a folder, without following links; stops far above the limit.

    `left_out`: names of folders, `passed`: paths of folders that are skipped.
    """
    waiting, count = [below], 0
    while waiting:
        subfolder = waiting.pop()
        try:
            with os.scandir(folder / subfolder) as scanned:
                entries = sorted(scanned, key=lambda entry: entry.name)
        except OSError as error:
            raise unreadable(folder / subfolder, error) from error
        for entry in entries:
            name = f"{subfolder}/{entry.name}" if subfolder else entry.name
            if not entry.is_dir(follow_symlinks=False):
                if not entry.name.startswith(EVENTS):
                    yield name
                    count += 1
            elif name not in passed and not (entry.name in left_out or _marked(folder / name)):
                waiting.append(name)
        if count > 10 * COUNT_LIMIT:
            return


def _handed_on(folder: Path, names: Iterable[str]) -> Iterator[str]:
    """Yield the folders below a project that `render --to` created: copies of the project, with their jobs' files."""
    for name in names:
        folder_name, __, last = name.rpartition("/")
        if (
            last == "request.json"
            and folder_name
            and all((folder / folder_name / entry).exists() for entry in ("rank.sh", "jobs"))
        ):
            yield folder_name


def _marked(folder: Path) -> bool:
    """Return whether a folder is marked as a Python environment or a cache (bford.info/cachedir)."""
    return any(os.path.exists(f"{folder}/{mark}") for mark in ("pyvenv.cfg", "CACHEDIR.TAG"))  # noqa: PTH110


def _from_git(folder: Path, names: Iterable[str], passed: frozenset[str]) -> Iterator[str]:
    """Yield git's names and the files of nested repositories (submodules, clones)."""
    for name in names:
        inner = name.rstrip("/")
        if inner in passed:
            continue
        if name.endswith("/") or ((folder / inner).is_dir() and not (folder / inner).is_symlink()):
            yield from _walk(folder, inner, LEFT_OUT, passed)
        else:
            yield name


def _sort(
    folder: Path, names: Iterable[str], excluded: set[str], warnings: list[str], in_place: bool
) -> tuple[dict[str, int], dict[str, str]]:
    """Return sizes of regular files and targets of links; warn of other kinds of files."""
    sizes: dict[str, int] = {}
    links: dict[str, str] = {}
    leading_out: list[str] = []
    for name in names:
        parts = name.split("/")
        if not ALWAYS_LEFT_OUT.isdisjoint(parts) or _within(name, excluded):
            continue
        path = folder / name
        try:
            facts = path.lstat()
        except FileNotFoundError:
            continue  # tracked and deleted
        except OSError as error:
            raise unreadable(path, error) from error
        if stat.S_ISREG(facts.st_mode):
            sizes[name] = facts.st_size
        elif not stat.S_ISLNK(facts.st_mode):
            warnings.append(_("{file} is not a regular file or a link; it is not copied", file=printable(name)))
        elif in_place:
            continue
        elif _stays_inside(folder, path):
            links[name] = os.readlink(path)  # noqa: PTH115
        else:
            leading_out.append(f"{name} → {os.readlink(path)}")  # noqa: PTH115
    if leading_out:
        raise RequestError(
            "runs.source_link",
            "links that point outside the project cannot be copied into a run:\n{files}",
            hint="list them under `exclude:` in project.yaml, which links them into the run, or run in the folder "
            "itself with --in-place",
            files=lines(leading_out),
        )
    return sizes, links


def _within(name: str, paths: Container[str]) -> bool:
    """Return whether a path equals one of these paths or lies below one."""
    return name in paths or any(parent in paths for parent in _parents(name))


def _stays_inside(folder: Path, path: Path) -> bool:
    """Return whether a link leads, by a relative path, to a target below the folder."""
    if os.readlink(path).startswith("/"):  # noqa: PTH115
        return False  # an absolute link would lead from the copy back into the live folder
    try:
        return path.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError):  # a link to itself
        return False


def _warn_dangling(
    folder: Path,
    sizes: Mapping[str, int],
    links: Mapping[str, str],
    outside: Mapping[str, str],
    warnings: list[str],
) -> None:
    """Warn of links whose target exists in the project but is not part of the snapshot (an ignored data folder)."""
    if not links:
        return
    folders = {part for name in (*sizes, *links) for part in _parents(name)}
    for name, target in links.items():
        path = os.path.normpath(os.path.join(os.path.dirname(name), target))  # noqa: PTH118, PTH120
        included = path in sizes or path in links or path in folders
        if not included and not _within(path, outside) and (folder / name).exists():
            warnings.append(
                _(
                    "link {file} points to {target}, which is not copied; the job will not find it",
                    file=printable(name),
                    target=printable(target),
                )
            )


def _parents(name: str) -> Iterator[str]:
    yield "."
    path = os.path.dirname(name)  # noqa: PTH120
    while path:
        yield path
        path = os.path.dirname(path)  # noqa: PTH120


def _smallest(sizes: Mapping[str, int]) -> dict[str, int]:
    """Return the smallest files up to the limits; they are hashed for an in-place run (a data set is not source)."""
    smallest, total = {}, 0
    for name, size in sorted(sizes.items(), key=lambda item: item[1])[:COUNT_LIMIT]:
        total += size
        if total > SIZE_LIMIT:
            break
        smallest[name] = size
    return smallest


def _without_code(name: str, code: Collection[str]) -> str:
    """Return the highest folder of a file that holds no Python program, or else the highest one."""
    above = [path for path in _parents(name) if path != "."][::-1]
    return next((path for path in above if path not in code), above[0] if above else name)


def _too_much(folder: Path, sizes: Mapping[str, int]) -> RequestError:
    """Return the error that names the biggest files or the fullest folders, and what to exclude."""
    total = sum(sizes.values())
    tops: dict[str, tuple[int, int]] = {}
    code = {parent for name in sizes if name.endswith(".py") for parent in _parents(name)}
    for name, size in sizes.items():
        top = _without_code(name, code)
        count, top_size = tops.get(top, (0, 0))
        tops[top] = count + 1, top_size + size
    exclude = ", ".join(map(printable, _largest(tops, total, len(sizes))))
    if total > SIZE_LIMIT:
        biggest = sorted(sizes.items(), key=lambda item: -item[1])[:5]
        listed = [f"{format_size(size)}  {name}" for name, size in biggest]
        return RequestError(
            "runs.source_big",
            "the source in {folder} is {size}; at most {limit} can be copied into a run. The biggest files:\n{files}",
            hint="write `exclude: [{exclude}]` in project.yaml to link it into the run, or run in the folder itself "
            "with --in-place",
            folder=folder,
            size=format_size(total),
            limit=format_size(SIZE_LIMIT),
            files=lines(listed),
            exclude=exclude,
        )
    fullest = sorted(tops.items(), key=lambda item: -item[1][0])[:5]
    listed = [f"{count}  {name}{'' if name in sizes else '/'}" for name, (count, _) in fullest]
    return RequestError(
        "runs.source_many",
        "the source in {folder} has {count} files; at most {limit} can be copied into a run. Folders with the "
        "most files:\n"
        "{files}",
        hint="write `exclude: [{exclude}]` in project.yaml to link it into the run, or run in the folder itself "
        "with --in-place",
        folder=folder,
        count=len(sizes),
        limit=COUNT_LIMIT,
        files=lines(listed),
        exclude=exclude,
    )


def _largest(tops: Mapping[str, tuple[int, int]], total: int, count: int) -> list[str]:
    """Return the names at the top of a project without which the rest is within the limits."""
    largest = []
    for name, (held_count, top_size) in sorted(tops.items(), key=lambda item: (-item[1][1], -item[1][0])):
        if total <= SIZE_LIMIT:
            break
        largest.append(name)
        total, count = total - top_size, count - held_count
    for name, (held_count, __) in sorted(tops.items(), key=lambda item: -item[1][0]):
        if count <= COUNT_LIMIT:
            break
        if name not in largest:
            largest.append(name)
            count -= held_count
    return largest


def unreadable(path: Path, error: OSError) -> RequestError:
    return RequestError(
        "runs.source_unreadable",
        "{file} cannot be read: {what}",
        hint="make it readable, list it in .gitignore, or move it out of the project",
        file=printable(path),
        what=error.strerror or error,
    )


def printable(name: str | Path) -> str:
    """Return a file name for display: bytes outside UTF-8 and control characters are escaped."""
    text = str(name).encode("utf-8", "backslashreplace").decode()
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)


def lines(names: Iterable[str]) -> str:
    """Return names one per line, indented, ten at most."""
    listed = [f"  {printable(name)}" for name in names]
    return "\n".join([*listed[:10], *(["  …"] if len(listed) > 10 else [])])
