"""Processes of the lab: who belongs to it."""

import contextlib
import os
import signal
import time
from pathlib import Path

from support.virtual_nodes.processes import started_at

MARK = "HACKATHON_SLURM_LAB"


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
    """Kill the processes of a lab (or those of the jobs on one node) until none is left, whenever they appear."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        found = marked(directory, node)
        for pid in found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if not found:
            return
        time.sleep(0.02)
