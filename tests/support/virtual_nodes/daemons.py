"""The daemons of a private scheduler: started in the foreground, ended, and remembered by whoever stops it later."""

import contextlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from support.patience import STRETCH
from support.virtual_nodes.network import SEARCH, LabError
from support.virtual_nodes.processes import started_at, until


class Daemons:
    """The daemons of the lab in a folder; `lab.json` there names them before anything else happens to them."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.facts: dict[str, Any] = {}
        """What else the one who stops the lab has to know."""
        self._processes: dict[str, tuple[int, int]] = {}
        self._children: dict[str, subprocess.Popen[bytes]] = {}

    @property
    def record(self) -> Path:
        """The file that says what was made."""
        return self.directory / "lab.json"

    def pid(self, name: str) -> int:
        """Return the process number of a daemon."""
        return self._processes[name][0]

    def names(self) -> list[str]:
        """Return the names of those that were started and not ended."""
        return list(self._processes)

    def spawn(self, name: str, argv: list[str], environment: Mapping[str, str]) -> None:
        """Start a daemon in a session of its own."""
        with (self.directory / "log" / f"{name}.out").open("ab") as log:
            child = subprocess.Popen(
                argv, env={"PATH": SEARCH, "LC_ALL": "C", **environment}, cwd="/", stdin=subprocess.DEVNULL,
                stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
        self._children[name] = child
        self._processes[name] = (child.pid, started_at(child.pid))
        self.remember()

    def end(self, name: str, at_once: bool = False) -> None:
        """End a daemon: by TERM, then or `at_once` by KILL; harmless when it is gone already."""
        pid, born = self._processes.pop(name, (0, -1))
        child = self._children.pop(name, None)
        if born >= 0 and started_at(pid) == born:  # one that died at once was not seen alive
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL if at_once else signal.SIGTERM)
            if not until(lambda: started_at(pid) != born, 60):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        if child is not None:
            child.wait()
        self.remember()

    def wait(self, what: str, ready: Callable[[], bool], seconds: float = 180) -> None:
        """Wait until `ready`; a daemon of ours that ended meanwhile is the answer. Raises LabError.

        A question that was not answered in time, as when the daemon has no processor, is asked again.
        """
        end = time.monotonic() + STRETCH * seconds
        while not _answered(ready):
            for name, child in self._children.items():
                if child.poll() is not None:
                    raise LabError(f"{name} ended with {child.returncode}: {self._log_tail(name)}")
            if time.monotonic() > end:
                raise LabError(f"{what} is not up after {STRETCH * seconds:.0f} s; see {self.directory}/log")
            time.sleep(0.05)

    def remember(self) -> None:
        """Write down what there is."""
        temporary = self.directory / ".lab.json.tmp"
        temporary.write_text(json.dumps({**self.facts, "processes": self._processes}))
        temporary.rename(self.record)

    def recall(self) -> None:
        """Take over what another process started in this folder."""
        try:
            self.facts = json.loads(self.record.read_text())
        except (OSError, ValueError):
            return
        self._processes = {name: (pid, born) for name, (pid, born) in self.facts.pop("processes").items()}

    def _log_tail(self, name: str) -> str:
        for path in (self.directory / "log" / f"{name}.out", self.directory / "log" / f"slurmd.{name}.log"):
            with contextlib.suppress(OSError):
                if text := path.read_text(errors="replace").strip():
                    return text[-800:]
        return "no log"


def _answered(ready: Callable[[], bool]) -> bool:
    try:
        return ready()
    except subprocess.TimeoutExpired:
        return False
