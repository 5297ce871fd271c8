"""A program on a terminal of its own, and what stands on its screen."""

import contextlib
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from fcntl import ioctl
from pathlib import Path

from support.patience import PATIENCE, STRETCH

LATEST = STRETCH * PATIENCE
"""Seconds in which something must be seen on the terminal; much more than it takes on a quiet machine."""
HOME = "\x1b[H"
"""What begins a drawing of the whole screen."""
_STYLE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Terminal:
    """A command of the toolkit on a terminal of `columns` × `height`."""

    def __init__(
        self, *words: str, columns: int = 120, height: int = 40, language: str = "en", folder: Path | None = None
    ) -> None:
        self.master, slave = pty.openpty()
        ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", height, columns, 0, 0))
        environment = {**os.environ, "TERM": "xterm-256color", "HACKATHON_LANG": language, "PYTHONUTF8": "1"}
        for name in ("COLUMNS", "LINES", "NO_COLOR"):
            environment.pop(name, None)
        self.child = subprocess.Popen(
            [sys.executable, "-m", "hackathon", *words], stdin=slave, stdout=slave, stderr=slave, env=environment,
            cwd=folder, start_new_session=True, preexec_fn=lambda: ioctl(0, termios.TIOCSCTTY, 0),
        )  # fmt: skip
        os.close(slave)
        self.seen = ""
        self._raw = b""

    def wait_for(self, *words: str) -> None:
        """Read until all words were seen; fails when they do not come."""
        end = time.monotonic() + LATEST
        while not all(word in self.seen for word in words):
            assert time.monotonic() < end, f"{words} not seen in {self.seen[-3000:]!r}"
            self.read(0.5)

    def screen_with(self, *words: str, without: str = "\0") -> list[str]:
        """Return the lines of the first complete screen with all words that is drawn from now on, or is there now."""
        end = time.monotonic() + LATEST
        while True:
            lines = self.screen()
            text = "\n".join(lines)
            if all(word in text for word in words) and without not in text:
                return lines
            assert time.monotonic() < end, f"{words} not on the screen:\n{text}"
            self.read(0.2)

    def screen(self) -> list[str]:
        """Return the lines of the last drawing of the whole screen, without styles."""
        return [line.rstrip() for line in _STYLE.sub("", self.seen.rpartition(HOME)[2]).replace("\r", "").split("\n")]

    def press(self, keys: str) -> None:
        """Type keys."""
        os.write(self.master, keys.encode())

    def read(self, seconds: float) -> None:
        """Read what the program writes within `seconds`, up to one portion."""
        if select.select([self.master], [], [], seconds)[0]:
            with contextlib.suppress(OSError):  # the program has closed its side
                self._raw += os.read(self.master, 65536)
        self.seen = self._raw.decode("utf-8", "ignore")

    def end(self) -> int:
        """Return the exit code, what was written last read."""
        end = time.monotonic() + LATEST
        while self.child.poll() is None and time.monotonic() < end:
            self.read(0.2)
        self.read(0.2)
        return self.child.wait(1)

    def close(self) -> None:
        """End the program, whatever it does."""
        if self.child.poll() is None:
            self.child.kill()
            self.child.wait()
        os.close(self.master)
