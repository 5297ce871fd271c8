"""How long ago something was by a clock that nobody sets: the seconds since this machine started.

The clock of the day may jump by hours, when a machine is corrected. What must not happen because of that is counted by
this one, where both moments were on the same machine.
"""

import functools
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from hackathon.text.numbers import finite

SAME = 5.0
"""Seconds by which clocks are put right all the time."""


@functools.cache
def boot() -> str:
    """Return what changes when the machine restarts; empty where nobody knows."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    except (OSError, ValueError):
        return ""


def uptime() -> float:
    """Return the seconds since the machine started, those in which it was suspended too."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def stamp() -> dict[str, Any]:
    """Return what `age` needs to know of this moment, as JSON values."""
    return {"boot": boot(), "up": round(uptime(), 3)}


class ProcessStatus(NamedTuple):
    """What Linux says of a process (proc(5))."""

    state: str
    """A letter."""
    parent: int
    born: int
    """When it began, in clock ticks since the machine started."""

    @property
    def has_ended(self) -> bool:
        """Whether only its parent has to look: PID 1 of some containers never does."""
        return self.state in ("Z", "X")


def process_status(pid: int | str) -> ProcessStatus | None:
    """Return what /proc/PID/stat says; None for a process that is not there, or not to be seen."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as stream:  # noqa: PTH123
            # the second field, the program's name, may contain spaces and brackets
            fields = stream.read().rpartition(b")")[2].split()
        return ProcessStatus(fields[0].decode(), int(fields[1]), int(fields[19]))
    except (OSError, ValueError, IndexError):
        return None


def born(pid: int) -> int | None:
    """Return when a process began, in clock ticks since the machine started; None where nobody knows."""
    status = process_status(pid)
    return status.born if status else None


def this_process() -> dict[str, Any]:
    """Return who writes a record, as JSON values: what `lives` and `age` ask for later."""
    return {"host": os.uname().nodename, "pid": os.getpid(), "born": born(os.getpid()), **stamp()}


def lives(pid: object, began: object) -> bool:
    """Return whether a process of this machine exists, other than this one, and began when it is said to have begun.

    Numbers come again: one that began at another moment is another process. began: what `born` returned then.
    """
    if not isinstance(pid, int) or pid <= 0 or pid == os.getpid():
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass
    status = process_status(pid)
    if status is None:
        return True
    return not status.has_ended and (began is None or status.born == began)


def age(then: float, stamped: Mapping[str, Any], now: float | None = None) -> float:
    """Return the seconds since a moment.

    then: the moment by the clock of the day, in seconds since 1970. stamped: what `stamp` returned then, among other
    things; of another machine, or before a restart, it says nothing, and the clock of the day counts. now: that clock,
    for who knows better than both.
    """
    up = stamped.get("up")
    if now is None and stamped.get("boot") and stamped["boot"] == boot() and isinstance(up, (int, float)):
        return uptime() - up
    return (time.time() if now is None else now) - then


def clock() -> float:
    """Return when this machine started, by its clock of the day: another value tells that the clock has jumped."""
    return time.time() - uptime()


def memory(before: Mapping[str, Any]) -> dict[str, Any]:
    """Return what `jumped` needs to know later; `before`: what was kept, so that the earliest clock is kept.

    Looks from another login node begin anew.
    """
    machine, started = boot(), clock()
    earliest = finite(before.get("boot_t")) if machine and before.get("boot") == machine else None
    return {"boot": machine, "boot_t": earliest if earliest is not None and earliest <= started + SAME else started}


def jumped(stored: Mapping[str, Any]) -> float:
    """Return the seconds that the clock has jumped forwards since the first look that `memory` kept; 0 for none."""
    jump = clock() - float(memory(stored)["boot_t"])
    return jump if jump > SAME else 0.0
