"""Processes of virtual nodes: who still lives, and the first process of a node.

python tests/support/virtual_nodes/processes.py NAME HOSTS DAEMON …     # run by a lab in fresh namespaces
"""

import ctypes
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path


def until(ready: Callable[[], bool], seconds: float) -> bool:
    """Wait until `ready` says so; return False when it did not in time."""
    end = time.monotonic() + seconds
    while not ready():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def started_at(pid: int) -> int:
    """Return the start time of a live process in clock ticks, -2 for a dead or unreaped one (proc(5), field 22)."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return -2
    return -2 if fields[0] in "ZX" else int(fields[19])


def be_node(name: str, hosts: str, daemon: list[str]) -> int:
    """Be the first process of a virtual node: name it, mount what is its own, start the daemon, reap orphans.

    A node without process numbers of its own keeps the machine's /proc and has nobody to reap: it becomes the daemon.
    """
    socket.sethostname(name)
    libc = ctypes.CDLL(None, use_errno=True)
    bind = 4096  # MS_BIND
    mounts = [(b"tmpfs", b"/dev/shm", b"tmpfs", 0), (os.fsencode(hosts), b"/etc/hosts", None, bind)]
    if os.getpid() == 1:
        mounts.insert(0, (b"proc", b"/proc", b"proc", 0))
    for source, target, kind, flags in mounts:
        if libc.mount(source, target, kind, flags, None):
            raise OSError(ctypes.get_errno(), f"mount {target.decode()} in {name}")
    if os.getpid() != 1:
        os.execvp(daemon[0], daemon)
    child = subprocess.Popen(daemon)
    while True:
        pid, status = os.wait()
        if pid == child.pid:
            return os.waitstatus_to_exitcode(status) & 255


if __name__ == "__main__":
    sys.exit(be_node(sys.argv[1], sys.argv[2], sys.argv[3:]))
