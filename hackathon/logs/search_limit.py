"""Limit the seconds of searches with other people's patterns, also within one search.

`re` handles signals while it searches. So a timer of this process's processor time (ITIMER_VIRTUAL, which nothing else
here uses) stops an endless search, but only in the main thread, which receives the signals.
"""

import signal
import threading
import time
from types import FrameType
from typing import Self


class TooLongError(Exception):
    """The searches have used all their time."""


_armed = False


def _interrupt(number: int, frame: FrameType | None) -> None:
    if _armed:
        raise TooLongError


def can_interrupt() -> bool:
    """Return whether a search started here can be stopped: in the main thread."""
    return threading.current_thread() is threading.main_thread()


class SearchLimit:
    """Seconds of processor time for all `with limit:` blocks together.

    A block raises TooLongError when they are used up. In other threads than the main one nothing is stopped, and the
    time is only counted.
    """

    def __init__(self, seconds: float, total: "SearchLimit | None" = None) -> None:
        """`total`: a limit for several limits together."""
        self.left = seconds
        self._whole = total
        self._begun = 0.0
        self._main = False

    def __enter__(self) -> Self:
        """Start counting. Raises TooLongError when nothing is left."""
        global _armed
        left = self.left if self._whole is None else min(self.left, self._whole.left)
        if left <= 0:
            raise TooLongError
        self._begun = time.thread_time()
        self._main = can_interrupt()
        if self._main:
            if signal.getsignal(signal.SIGVTALRM) is not _interrupt:
                signal.signal(signal.SIGVTALRM, _interrupt)
            _armed = True
            signal.setitimer(signal.ITIMER_VIRTUAL, left)
        return self

    def __exit__(self, *_: object) -> None:
        """Stop counting."""
        global _armed
        if self._main:
            _armed = False  # first of all: a signal that arrives now must not stop anything
            signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
        used = time.thread_time() - self._begun
        self.left -= used
        if self._whole is not None:
            self._whole.left -= used
