"""A child process that answers one line with one line: if it hangs or crashes, only the child is lost."""

import contextlib
import os
import subprocess
import sys
import time
from pathlib import Path
from selectors import EVENT_READ, DefaultSelector

MOST = 64 << 20
"""Bytes of one answer, at most."""


class Worker:
    """The child process, started on first use and again after a loss. Only one thread uses it; any may stop it."""

    def __init__(self, code: str) -> None:
        """`code`: Python that reads lines from stdin and answers each on stdout."""
        self._code = code
        self._child: subprocess.Popen[bytes] | None = None
        self._stopped = False

    @property
    def ready(self) -> bool:
        """Whether the child is running."""
        return self._child is not None

    def ask(self, question: bytes, timeout: float) -> bytes:
        """Return the answer to a line. Raises OSError when none came in `timeout` seconds, or the child has ended."""
        child = self._child
        if child is None or child.poll() is not None:
            self.rest()
            child = self._child = self._start()
        assert child.stdin is not None and child.stdout is not None
        child.stdin.write(question + b"\n")
        child.stdin.flush()
        answer, deadline = bytearray(), time.monotonic() + timeout
        with DefaultSelector() as selector:
            selector.register(child.stdout, EVENT_READ)
            while not answer.endswith(b"\n"):
                if self._stopped or time.monotonic() > deadline or len(answer) > MOST:
                    raise OSError("no answer in time")
                if not selector.select(0.2):
                    continue
                block = os.read(child.stdout.fileno(), 1 << 16)
                if not block:
                    raise OSError("the child has ended")
                answer += block
        return bytes(answer)

    def _start(self) -> "subprocess.Popen[bytes]":
        if self._stopped:
            raise OSError("it was stopped")
        package = str(Path(__file__).resolve().parents[2])
        path = os.pathsep.join([package, *filter(None, [os.environ.get("PYTHONPATH")])])
        return subprocess.Popen(
            [sys.executable, "-P", "-c", self._code],  # -P: nothing is imported from the current folder
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
            start_new_session=True,
        )

    def rest(self) -> None:
        """End the child; the next question starts another one."""
        child, self._child = self._child, None
        if child is None:
            return
        with contextlib.suppress(OSError):
            child.kill()
        for stream in (child.stdin, child.stdout):
            with contextlib.suppress(OSError):
                if stream is not None:
                    stream.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(5.0)

    def stop(self) -> None:
        """End the child permanently, also while another thread waits for its answer."""
        self._stopped = True
        child = self._child
        if child is not None:
            with contextlib.suppress(OSError):
                child.kill()
