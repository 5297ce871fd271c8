"""Find what installed packages add to the toolkit: entry points in the environment of its own Python.

Each kind has a group of entry points, `hackathon.<kind>`. A command or a scheduler is an object; it is imported when it
is used. Recipes, clusters, rules and templates are files in a package: `name = "package.folder"` names their folder,
and the package is not imported.

Code that already has the file does not look here: importing `importlib.metadata` and reading the entry points of all
packages takes a third of the start-up time. So the list is cached for the user until one of the folders in which Python
looks for packages changes. An installed package is as trusted as the toolkit itself: Python would run it anyway.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from hackathon.text.errors import RequestError
from hackathon.text.messages import _
from hackathon.text.paths import user_cache_name

if TYPE_CHECKING:
    from pathlib import Path

FILES = {"recipes": "{name}/recipe.yaml", "clusters": "{name}.yaml", "rules": "{name}.yaml", "templates": "."}
"""Kind of files → their path in the folder that an entry point names."""
KINDS = ("commands", *FILES, "schedulers")
_HEAD = "plug-ins 1"
_SETTLED = 3.0
"""The list is cached only if no folder changed for so many seconds: an installer may still be running, and its next
change can have the same timestamp."""

_Marks = tuple[tuple[str, int], ...]
"""Folders in which Python looks for packages, and when each changed."""


class PlugIn(NamedTuple):
    """One entry point of an installed package."""

    kind: str
    name: str
    target: str
    """`module:object`; for files the folder as `package.folder`."""
    distribution: str
    """Name of the installed package, as pip shows it."""
    version: str

    @property
    def package(self) -> str:
        """The package with its version, for messages and records."""
        return f"{self.distribution} {self.version}"


_latest: tuple[_Marks, bool, list[PlugIn]] | None = None
"""The last result of this process: the state of the folders, whether the packages were read, and the plug-ins."""


def installed(*, refresh: bool = False) -> list[PlugIn]:
    """Return the plug-ins by kind, name and package, whether they work or not; `refresh` ignores the cache."""
    global _latest
    marks = _marks()
    if _latest is not None and _latest[0] == marks and (_latest[1] or not refresh):
        return _latest[2]
    plug_ins = None if refresh else _recall(marks)
    fresh = plug_ins is None
    if plug_ins is None:
        plug_ins = sorted(_read_packages([folder for folder, _ in marks]))
        _keep(marks, plug_ins)
    _latest = marks, fresh, plug_ins
    return plug_ins


def of_kind(kind: str) -> list[PlugIn]:
    """Return the plug-ins of a kind by name; two packages may have the same name."""
    return [plug_in for plug_in in installed() if plug_in.kind == kind]


def find(kind: str, name: str) -> PlugIn | None:
    """Return the plug-in of that name, or None. Raises RequestError if two packages have it."""
    matches: list[PlugIn] = []
    for refresh in (False, True):
        matches = matches or [
            plug_in for plug_in in installed(refresh=refresh) if (plug_in.kind, plug_in.name) == (kind, name)
        ]
    if len(matches) > 1:
        packages = ", ".join(plug_in.package for plug_in in matches)
        raise RequestError(
            "plug_ins.twice",
            "{name} ({group}) is in several packages: {packages}",
            hint="Remove all but one of them: python -m pip uninstall NAME",
            group=f"hackathon.{kind}",
            name=name,
            packages=packages,
        )
    return matches[0] if matches else None


def load(plug_in: PlugIn) -> Any:
    """Return the object that a command's or scheduler's entry point names. Raises RequestError as `broken` says."""
    import importlib

    module, __, attributes = plug_in.target.partition(":")
    try:
        value: Any = importlib.import_module(module)
        for attribute in filter(None, attributes.split(".")):
            value = getattr(value, attribute)
    except (Exception, SystemExit) as error:  # foreign code can raise anything; none of it may end the toolkit
        raise broken(plug_in, error) from error
    return value


def file_of(plug_in: PlugIn) -> "Path":
    """Return the file of a recipe, cluster or rules, or the folder of templates. Raises the error of `broken`."""
    if not plug_in.name or set(plug_in.name) & set("/\0") or plug_in.name.startswith("."):
        raise broken(plug_in, _("a name must not be empty, begin with a dot or contain a slash"))
    folder = _folder_of(plug_in)
    path = folder / FILES[plug_in.kind].format(name=plug_in.name)
    if plug_in.kind != "templates" and not path.is_file():
        raise broken(plug_in, _("the file {file} does not exist", file=path))
    return path


def owner(path: "Path") -> PlugIn | None:
    """Return the plug-in that contains a file, or None."""
    for plug_in in installed() if ".." not in path.parts else ():
        if plug_in.kind in FILES:
            with suppress(RequestError):
                file = file_of(plug_in)
                if path == file or path.is_relative_to(file.parent if plug_in.kind == "recipes" else file):
                    return plug_in
    return None


def broken(plug_in: PlugIn, reason: object) -> RequestError:
    """Return the error with the package, the entry point, the reason and the remedy."""
    if isinstance(reason, BaseException):
        reason = f"{type(reason).__name__}: {reason}"
    text = " ".join(str(reason).split())
    return RequestError(
        "plug_ins.broken",
        "The package {package} cannot be used: entry point {group}: {name} = {target}: {reason}",
        hint="Install a version of {distribution} that fits this toolkit, or remove it: python -m pip uninstall "
        "{distribution!q}. Everything else works without it.",
        package=plug_in.package,
        distribution=plug_in.distribution,
        group=f"hackathon.{plug_in.kind}",
        name=plug_in.name,
        target=plug_in.target,
        reason=text if len(text) <= 300 else f"{text[:299]}…",
    )


def _folder_of(plug_in: PlugIn) -> "Path":
    import importlib.util
    from pathlib import Path

    top, *parts = plug_in.target.split(".")
    if not all(part.isidentifier() for part in (top, *parts)):
        raise broken(plug_in, _("the value must be a folder of a package, such as package.folder"))
    try:
        # only the first name: to find a module below it Python would run the package
        spec = importlib.util.find_spec(top)
    except Exception as error:
        raise broken(plug_in, error) from error
    for location in (spec.submodule_search_locations if spec else None) or ():
        folder = Path(location, *parts)
        if folder.is_dir():
            return folder
    raise broken(plug_in, _("the folder {folder} does not exist", folder="/".join((top, *parts))))


def _marks() -> _Marks:
    """Return the folders in which Python looks for packages, and when each changed.

    The current folder does not count: `python -m hackathon` puts it first, whoever owns it.
    """
    folders = sys.path
    with suppress(OSError):
        folders = sys.path[1:] if sys.path[:1] == [os.getcwd()] else sys.path  # noqa: PTH109 — `--help` asks for it
    marks = []
    for folder in dict.fromkeys(folders):
        with suppress(OSError):
            if os.path.isabs(folder):  # noqa: PTH117
                marks.append((folder, os.stat(folder).st_mtime_ns))  # noqa: PTH116
    return tuple(marks)


def _read_packages(folders: list[str]) -> Iterator[PlugIn]:
    from importlib.metadata import distributions

    groups = {f"hackathon.{kind}": kind for kind in KINDS}
    names = set()
    for distribution in distributions(path=folders):
        try:
            entries = [entry for entry in distribution.entry_points if entry.group in groups]
            if not entries:
                continue
            name, version = _word(distribution.metadata["Name"]), _word(distribution.version)
        except Exception:  # a damaged folder of one package hides no other
            continue
        if name not in names:  # an older version further along the path is not the one that Python imports
            names.add(name)
            for entry in entries:
                yield PlugIn(groups[entry.group], _word(entry.name), _word(entry.value), name, version)


def _word(text: object) -> str:
    return " ".join(str(text).split()) or "?"


def _recall(marks: _Marks) -> list[PlugIn] | None:
    """Return the cached list for this state of the folders, or None."""
    try:
        with open(_kept_in(), encoding="utf-8", errors="surrogateescape") as stream:  # noqa: PTH123
            head, __, text = stream.read().partition("\n\n")
        rows = [line.split("\t") for line in text.splitlines()]
    except (OSError, RuntimeError):
        return None
    if head != _state(marks) or rows[-1:] != [["end"]] or any(len(row) != len(PlugIn._fields) for row in rows[:-1]):
        return None
    return [PlugIn(*row) for row in rows[:-1]]


def _keep(marks: _Marks, plug_ins: list[PlugIn]) -> None:
    """Cache a list; do nothing if that fails, or if a folder changed a moment ago."""
    import time
    from pathlib import Path

    from hackathon.text.files import write_whole

    newest = max((changed for _, changed in marks), default=0) / 1e9
    if newest > time.time() - _SETTLED:
        return
    lines = ["\t".join(plug_in) for plug_in in plug_ins]
    with suppress(OSError, RuntimeError):
        path = Path(_kept_in())
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_whole(path, "\n".join([_state(marks), "", *lines, "end", ""]), 0o600)


def _kept_in() -> str:
    """Return the path of the cached list; each environment has its own, so that two do not overwrite each other's."""
    from zlib import crc32

    return f"{user_cache_name()}/plug-ins-{crc32(os.fsencode(sys.prefix)):08x}"


def _state(marks: _Marks) -> str:
    return "\n".join([_HEAD, *(f"{changed} {folder!r}" for folder, changed in marks)])
