"""The PJM stand-in as a test uses it; the switches are those of every stand-in (`stubs.py`)."""

import os
from collections.abc import Mapping
from pathlib import Path

from support import stubs
from support.stubs import break_command, configure, mend, stop

__all__ = ["SITE", "STUBS", "break_command", "configure", "environment", "mend", "stop"]

STUBS = Path(__file__).resolve().parent / "pjm_stub"
SITE = STUBS.with_name("pjm_site_stub")
"""A site's own pjstat; its folder comes before that of PJM's commands."""


def environment(state: Path, base: Mapping[str, str] | None = None, *, site: bool = False) -> dict[str, str]:
    """Return an environment in which `pjsub`, `pjstat` … are the stand-ins, with their state under `state`."""
    base = os.environ if base is None else base
    kept = {name: value for name, value in base.items() if not name.startswith("PJM_")}
    return stubs.environment(state, *([SITE] if site else []), STUBS, base=kept)
