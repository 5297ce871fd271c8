"""The PBS stand-in as a test uses it; the switches are those of every stand-in (`stubs.py`)."""

import os
from collections.abc import Mapping
from pathlib import Path

from support import stubs
from support.stubs import break_command, configure, mend, stop

__all__ = ["MIYABI", "STUBS", "break_command", "configure", "environment", "mend", "stop"]

STUBS = Path(__file__).resolve().parent / "pbs_stub"
MIYABI = STUBS.with_name("miyabi_stub")
"""A site's own qstat; its folder comes before that of PBS's commands."""


def environment(state: Path, base: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return an environment in which `qsub`, `qstat` … are the stand-ins, with their state under `state`."""
    base = os.environ if base is None else base
    kept = {name: value for name, value in base.items() if not name.startswith("PBS_")}
    return stubs.environment(state, STUBS, base=kept)
