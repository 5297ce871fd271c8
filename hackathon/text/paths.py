"""Locations of shipped files, user settings and caches."""

import os
import stat
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # importing pathlib takes a tenth of the time of `hackathon --help`, which needs no Path
    from pathlib import Path

OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
"""The mode bits by which users other than the owner can write; also used by `access.permissions`."""
_PACKAGE = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))  # noqa: PTH120
_PACKAGED = os.path.isdir(f"{_PACKAGE}/_shipped")  # noqa: PTH112 — looked at once: it is a round trip on a shared file system


def _path(*parts: str) -> "Path":
    from pathlib import Path

    return Path(*parts)


def shipped(*parts: str) -> "Path":
    """Return the path of a shipped template or recipe: in `_shipped` in a wheel, beside the package in a checkout."""
    return _path(f"{_PACKAGE}/_shipped" if _PACKAGED else os.path.dirname(_PACKAGE), *parts)  # noqa: PTH120


def is_packaged() -> bool:
    """Return whether this is an installed wheel or a bundle, not a checkout."""
    return _PACKAGED


def is_shipped(path: "Path") -> bool:
    """Return whether a file came with the toolkit."""
    return path.is_relative_to(_PACKAGE) or path.is_relative_to(shipped("templates"))


def expanded(text: str) -> "Path":
    """Return a path with `~` expanded; an unknown `~user` stays unchanged, while pathlib would raise."""
    return _path(os.path.expanduser(text))  # noqa: PTH111


def runtime_file() -> "Path":
    """Return the runtime that is put beside training programs: one file of the standard library, Python ≥ 3.6."""
    return _path(_PACKAGE, "runtime", "hackathon_runtime.py")


def toolkit_command() -> tuple[str, ...]:
    """Return the command that starts this toolkit in another process: from installed packages or the bundle."""
    import hackathon

    return (sys.executable, hackathon.archive) if hackathon.archive else (sys.executable, "-m", "hackathon")


def child_environment() -> dict[str, str]:
    """Return an environment in which a child of this Python finds the toolkit's libraries."""
    import hackathon

    if hackathon.archive is None:
        return dict(os.environ)
    path = [os.path.dirname(_PACKAGE), *filter(None, [os.environ.get("PYTHONPATH")])]  # noqa: PTH120
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path)}


def _in_home(variable: str, name: str) -> str:
    """Return the toolkit's folder below `$variable`, or below `name` in the user's home. Raises RuntimeError."""
    base = os.environ.get(variable)
    if not base:
        home = os.path.expanduser("~")  # noqa: PTH111
        if home.startswith("~"):
            raise RuntimeError("this account has no home")
        base = f"{home}/{name}"
    return f"{base}/hackathon"


def user_config_name() -> str:
    """Return the name of `user_config`, for what `hackathon --help` reads."""
    return _in_home("XDG_CONFIG_HOME", ".config")


def user_config() -> "Path":
    """Return the user's configuration folder (`$XDG_CONFIG_HOME/hackathon`, default `~/.config/hackathon`).

    Raises RuntimeError for an account without a home.
    """
    return _path(user_config_name())


def user_cache_name() -> str:
    """Return the name of `user_cache`, for what `hackathon --help` reads. Raises RuntimeError as `user_cache`."""
    folder = _in_home("XDG_CACHE_HOME", ".cache")
    try:
        for state in (os.lstat(folder), os.stat(folder)):  # noqa: PTH116
            if state.st_uid != os.geteuid():
                raise RuntimeError(f"{folder} belongs to another account")
        if state.st_mode & OTHERS_WRITE:
            os.chmod(folder, stat.S_IMODE(state.st_mode) & ~OTHERS_WRITE)  # noqa: PTH101
    except OSError:
        pass  # it is created with the first entry
    return folder


def user_cache() -> "Path":
    """Return the user's cache folder (`$XDG_CACHE_HOME/hackathon`, default `~/.cache/hackathon`); it may be deleted.

    Compiled rules and checked profiles are loaded from it, so others must not write there. Raises RuntimeError for an
    account without a home, and for a folder of another account in a shared location.
    """
    return _path(user_cache_name())
