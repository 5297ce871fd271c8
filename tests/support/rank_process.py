"""Which process of this machine is the program of a rank, also inside the virtual nodes."""

import contextlib
from pathlib import Path

from support.backends import Run


def rank_process(run: Run, rank: int) -> int:
    """Return the number of the Python of `train.py`: with `Backend.trains` of the client, which passes on signals.

    Raises ValueError if there is not exactly one.
    """
    wanted = {f"HK_RUN={run.path}".encode(), f"RANK={rank}".encode()}
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (path / "cmdline").read_bytes().split(b"\0")
            variables = set((path / "environ").read_bytes().split(b"\0"))
            if words[1:3] == [b"-I", b"-S"]:  # python -I -S client.py SOCKET python train.py …
                words = words[5:]
            if b"train.py" in words[1:3] and b"python" in words[0] and wanted <= variables:
                found.append(int(path.name))
    (pid,) = found
    return pid


def command_line(pid: int | str) -> bytes:
    """Return the command line of a process, its words ended by zeros; empty when it has gone meanwhile."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""


def children_of(pid: int | str) -> list[int]:
    """Return the children that the first thread of a process has at this moment."""
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
