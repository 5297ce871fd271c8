"""Where shipped files, user settings and caches lie."""

import os
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent.parent


def shipped(*parts: str) -> Path:
    """Return the path of a shipped template or recipe: in `_shipped` in a wheel, beside the package in a checkout."""
    inside = _PACKAGE / "_shipped"
    return (inside if inside.is_dir() else _PACKAGE.parent).joinpath(*parts)


def runtime_file() -> Path:
    """Return the runtime that is put beside training programs: one file of the standard library, Python ≥ 3.6."""
    return _PACKAGE / "runtime" / "hackathon_runtime.py"


def user_config() -> Path:
    """Return the user's configuration folder (`$XDG_CONFIG_HOME/hackathon`, default `~/.config/hackathon`)."""
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "hackathon"


def user_cache() -> Path:
    """Return the user's cache folder (`$XDG_CACHE_HOME/hackathon`, default `~/.cache/hackathon`); it may be deleted."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "hackathon"
