"""Seconds that searches for patterns of others may take: what is used up is interrupted, also within one search.

`re` looks for signals while it searches. So a timer of the processor time of this process (ITIMER_VIRTUAL, which
nothing else here uses) ends a search that does not end by itself, in the main thread only: signals arrive there.
"""

import signal
import threading
import time
from types import FrameType
from typing import Self


class TooLongError(Exception):
    """The searches have taken all the time that they may."""


_armed = False


def _interrupt(number: int, frame: FrameType | None) -> None:
    if _armed:
        raise TooLongError


def can_interrupt() -> bool:
    """Return whether a search that is begun here can be ended: in the main thread."""
    return threading.current_thread() is threading.main_thread()


class SearchLimit:
    """Seconds of processor time for what is done within `with limit:`, all blocks together.

    A block raises TooLongError when they are used up. In other threads than the main one nothing is interrupted, and
    the time is only added up.
    """

    def __init__(self, seconds: float, total: "SearchLimit | None" = None) -> None:
        """`total`: a limit of several ones together."""
        self.left = seconds
        self._whole = total
        self._begun = 0.0
        self._main = False

    def __enter__(self) -> Self:
        """Begin to count. Raises TooLongError when nothing is left."""
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
            _armed = False  # before all else: a signal that comes now has nothing to interrupt
            signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
        used = time.thread_time() - self._begun
        self.left -= used
        if self._whole is not None:
            self._whole.left -= used
