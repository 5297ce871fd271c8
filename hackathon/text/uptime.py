"""Measure elapsed time with a clock that cannot be set: the seconds since this machine started.

The wall clock may jump by hours when it is corrected. Code that must not react to such jumps uses this clock, if both
moments were on the same machine.
"""

import functools
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from hackathon.text.numbers import finite

SAME = 5.0
"""Seconds by which clocks are adjusted routinely."""


@functools.cache
def boot() -> str:
    """Return an id that changes when the machine restarts; empty when unknown."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    except (OSError, ValueError):
        return ""


def uptime() -> float:
    """Return the seconds since the machine started, including suspensions."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def stamp() -> dict[str, Any]:
    """Return the current moment for `age`, as JSON values."""
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
    """Return when a process began, in clock ticks since the machine started; None if that is unknown."""
    status = process_status(pid)
    return status.born if status else None


def this_process() -> dict[str, Any]:
    """Return the writer of a record, as JSON values, for `lives` and `age`."""
    return {"host": os.uname().nodename, "pid": os.getpid(), "born": born(os.getpid()), **stamp()}


def lives(pid: object, began: object) -> bool:
    """Return whether another process of this machine exists and began at the recorded time.

    Process numbers are reused: one with another start time is another process. `began`: earlier result of `born`.
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

    `then`: the moment by the wall clock, in seconds since 1970. `stamped`: a mapping with the earlier result of
    `stamp`; from another machine or before a restart it is ignored, and the wall clock counts. `now`: replaces that
    clock.
    """
    up = stamped.get("up")
    if now is None and stamped.get("boot") and stamped["boot"] == boot() and isinstance(up, (int, float)):
        return uptime() - up
    return (time.time() if now is None else now) - then


def clock() -> float:
    """Return when this machine started, by its wall clock: a change of the value means that the clock has jumped."""
    return time.time() - uptime()


def memory(before: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that `jumped` needs later; `before`: earlier values, so that the first clock is preserved.

    On another login node the record starts again.
    """
    machine, started = boot(), clock()
    earliest = finite(before.get("boot_t")) if machine and before.get("boot") == machine else None
    return {"boot": machine, "boot_t": earliest if earliest is not None and earliest <= started + SAME else started}


def jumped(stored: Mapping[str, Any]) -> float:
    """Return the seconds by which the clock has jumped forwards since the first call of `memory`; 0 for none."""
    jump = clock() - float(memory(stored)["boot_t"])
    return jump if jump > SAME else 0.0
