"""Locations of shipped files, user settings and caches."""

import os
import stat
import sys
from pathlib import Path

OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
"""The mode bits by which users other than the owner can write; also used by `access.permissions`."""
_PACKAGE = Path(__file__).resolve().parent.parent
_PACKAGED = (_PACKAGE / "_shipped").is_dir()  # looked at once: it is a round trip on a shared file system


def shipped(*parts: str) -> Path:
    """Return the path of a shipped template or recipe: in `_shipped` in a wheel, beside the package in a checkout."""
    return (_PACKAGE / "_shipped" if _PACKAGED else _PACKAGE.parent).joinpath(*parts)


def is_packaged() -> bool:
    """Return whether this is an installed wheel or a bundle, not a checkout."""
    return _PACKAGED


def is_shipped(path: Path) -> bool:
    """Return whether a file came with the toolkit."""
    return path.is_relative_to(_PACKAGE) or path.is_relative_to(shipped("templates"))


def expanded(text: str) -> Path:
    """Return a path with `~` expanded; an unknown `~user` stays unchanged, while pathlib would raise."""
    return Path(os.path.expanduser(text))  # noqa: PTH111


def runtime_file() -> Path:
    """Return the runtime that is put beside training programs: one file of the standard library, Python ≥ 3.6."""
    return _PACKAGE / "runtime" / "hackathon_runtime.py"


def toolkit_command() -> tuple[str, ...]:
    """Return the command that starts this toolkit in another process: from installed packages or the bundle."""
    import hackathon

    return (sys.executable, hackathon.archive) if hackathon.archive else (sys.executable, "-m", "hackathon")


def child_environment() -> dict[str, str]:
    """Return an environment in which a child of this Python finds the toolkit's libraries."""
    import hackathon

    if hackathon.archive is None:
        return dict(os.environ)
    path = [str(_PACKAGE.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path)}


def user_config() -> Path:
    """Return the user's configuration folder (`$XDG_CONFIG_HOME/hackathon`, default `~/.config/hackathon`)."""
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "hackathon"


def user_cache() -> Path:
    """Return the user's cache folder (`$XDG_CACHE_HOME/hackathon`, default `~/.cache/hackathon`); it may be deleted.

    Compiled rules and checked profiles are loaded from it, so others must not write there. Raises RuntimeError for an
    account without a home, and for a folder of another account in a shared location.
    """
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "hackathon"
    try:
        for state in (folder.lstat(), folder.stat()):
            if state.st_uid != os.geteuid():
                raise RuntimeError(f"{folder} belongs to another account")
        if state.st_mode & OTHERS_WRITE:
            folder.chmod(stat.S_IMODE(state.st_mode) & ~OTHERS_WRITE)
    except OSError:
        pass  # it is created with the first entry
    return folder
