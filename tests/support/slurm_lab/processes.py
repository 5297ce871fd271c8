"""Processes of the lab: who still lives, who belongs to it, and the first process of a virtual node.

python tests/support/slurm_lab/processes.py NAME HOSTS DAEMON …     # run by `lab.py` in fresh namespaces
"""

import contextlib
import ctypes
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

MARK = "HACKATHON_SLURM_LAB"


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


def marked(directory: Path, node: str | None = None) -> list[int]:
    """Return the processes of a lab by their environment: daemons carry MARK, jobs this SLURM_CONF and a node's name.

    A shell that only sourced `env.sh` is not among them.
    """
    conf = f"SLURM_CONF={directory}/etc/slurm.conf".encode()
    mark = f"{MARK}={directory}".encode()
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            words = (path / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        on = {word.partition(b"=")[2].decode() for word in words if word.startswith(b"SLURMD_NODENAME=")}
        if int(path.name) == os.getpid() or started_at(int(path.name)) == -2:
            continue
        if (node is None and mark in words) or (conf in words and on and node in (None, *on)):
            found.append(int(path.name))
    return found


def kill_marked(directory: Path, node: str | None = None) -> None:
    """Kill the processes of a lab (or those of the jobs on one node), also those that appear meanwhile."""
    for _ in range(50):
        found = marked(directory, node)
        for pid in found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if not found:
            return
        time.sleep(0.02)


def be_node(name: str, hosts: str, daemon: list[str]) -> int:
    """Be the first process of a virtual node: name it, mount what is its own, start the daemon, reap orphans."""
    socket.sethostname(name)
    libc = ctypes.CDLL(None, use_errno=True)
    bind = 4096  # MS_BIND
    for source, target, kind, flags in (
        (b"proc", b"/proc", b"proc", 0),
        (b"tmpfs", b"/dev/shm", b"tmpfs", 0),
        (os.fsencode(hosts), b"/etc/hosts", None, bind),
    ):
        if libc.mount(source, target, kind, flags, None):
            raise OSError(ctypes.get_errno(), f"mount {target.decode()} in {name}")
    child = subprocess.Popen(daemon)
    while True:
        pid, status = os.wait()
        if pid == child.pid:
            return os.waitstatus_to_exitcode(status) & 255


if __name__ == "__main__":
    sys.exit(be_node(sys.argv[1], sys.argv[2], sys.argv[3:]))
