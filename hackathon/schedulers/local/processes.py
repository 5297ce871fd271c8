"""Processes of this machine from /proc: descendants, and the adoption of orphans (Linux)."""

import ctypes
import os
import signal
from collections.abc import Callable, Iterable

from hackathon.text.uptime import process_status

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
_libc = ctypes.CDLL(None, use_errno=True)


def adopt_orphans() -> None:
    """Become the parent of every descendant whose own parent ends, also after setsid and a double fork (prctl(2))."""
    if _libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER)")


def die_with_parent(parent: int) -> None:
    """Have the kernel kill this process when its parent ends; exit at once if it has ended already."""
    if _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) or os.getppid() != parent:
        os._exit(126)


def identity(pid: int) -> str | None:
    """Return `pid-start time`, which no later process has again before the machine restarts; None for a dead one."""
    status = process_status(pid)
    return f"{pid}-{status.born}" if status and not status.has_ended else None


def descendants(root: int, spared: Callable[[int], bool]) -> list[int]:
    """Return the live descendants of a process, parents first, without spared processes and their descendants."""
    children: dict[int, list[int]] = {}
    living = set()
    for name in _numbers():
        status = process_status(name)
        if status:
            children.setdefault(status.parent, []).append(int(name))
            if not status.has_ended:
                living.add(int(name))
    pids, waiting = [], list(children.get(root, ()))
    while waiting:
        pid = waiting.pop(0)
        if spared(pid):
            continue
        if pid in living:
            pids.append(pid)
        waiting += children.get(pid, ())
    return pids


def with_variable(assignment: str, spared: Callable[[int], bool]) -> list[int]:
    """Return this user's processes that were started with an environment variable `NAME=value`."""
    variable, own = os.fsencode(assignment), os.getuid()
    pids = []
    for name in _numbers():
        try:
            if os.stat(f"/proc/{name}").st_uid != own:  # noqa: PTH116
                continue
            with open(f"/proc/{name}/environ", "rb") as stream:  # noqa: PTH123
                variables = stream.read().split(b"\0")
        except OSError:
            continue
        if variable in variables and int(name) != os.getpid() and not spared(int(name)) and identity(int(name)):
            pids.append(int(name))
    return pids


def send(pids: Iterable[int], *numbers: int) -> set[int]:
    """Send signals; return the processes without permission for signals (set-uid programs of another user)."""
    forbidden = set()
    for pid in pids:
        try:
            for number in numbers:
                os.kill(pid, number)
        except ProcessLookupError:
            continue
        except PermissionError:
            forbidden.add(pid)
    return forbidden


def _numbers() -> list[str]:
    return [name for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208
