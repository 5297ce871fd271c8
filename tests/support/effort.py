"""What a piece of work costs in lines of Python: no machine and no load changes that, as they change seconds."""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def lines_run(work: Callable[[], object]) -> int:
    """Return how many lines of Python this thread runs in a piece of work, whatever C does for one of them.

    Do the work once before: what is imported for it runs lines, too.
    """
    count = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return count
