"""Record steps by torch's profiler in a program that may run it itself: a process has one only.

Two at once fail each other, or one has the events of both. The program's own comes first: while one runs none is
started here, and once the program prepares one, the one of here is ended without a trace.

`recorder.py` loads this file beside it, in the program's Python (3.6 or newer); nothing of the toolkit is imported.
"""

import functools
import sys
import threading
from importlib import import_module
from typing import Any

STARTS = ("_prepare_profiler", "_enable_profiler", "_enable_profiler_legacy")
ENDS = ("_disable_profiler", "_disable_profiler_legacy")
"""What all of torch's profilers call, as names of the modules that have them; torch 2.0 to 2.13."""
OWN = "the program runs torch's profiler itself"
LOST = "torch's profiler does not run any more where it was started"
_ours = []  # type: list[Any]
"""The profiler that the recorder has open, if it has."""
_theirs = set()  # type: set[int]
"""Threads in which the program has a profiler open."""


def watch(module: Any) -> None:
    """Have a module with profilers of torch tell of those that the program starts and ends."""
    for names, tell in ((STARTS, begun), (ENDS, ended)):
        for name in names:
            if hasattr(module, name):
                setattr(module, name, told(getattr(module, name), tell))


def told(function: Any, tell: Any) -> Any:
    """Return a function that tells of its calls, but for those of the recorder."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if not any(profiler.calling for profiler in _ours):
            tell()
        return function(*args, **kwargs)

    return call


def begun() -> None:
    """Give way to a profiler that the program starts."""
    for profiler in list(_ours):
        profiler.give_way()
    _theirs.add(threading.get_ident())


def ended() -> None:
    """Take notice that a profiler of the program's has ended."""
    _theirs.discard(threading.get_ident())


class TorchProfiler:
    """A torch.profiler.profile: started, told of the end of each step, written once, unless the program needs it."""

    def __init__(self, warm_up: int, active: int, memory: bool, on_trace_ready: Any, on_taken: Any) -> None:
        profiling = import_module("torch.profiler")  # type: Any

        self.warm_up, self.active = warm_up, active
        self.on_taken = on_taken
        """Is told why there will be no trace."""
        self.steps = 0
        self.calling = False
        """Whether what torch's profiler is asked for now is asked from here."""
        self.profile = profiling.profile(
            activities=list(profiling.supported_activities()),
            schedule=profiling.schedule(wait=0, warmup=warm_up, active=active, repeat=1),
            on_trace_ready=on_trace_ready,
            profile_memory=memory,
            record_shapes=True,
        )

    def start(self) -> None:
        """Record from here on. Raises RuntimeError while the program's own profiler is open."""
        if _theirs or enabled():
            raise RuntimeError(OWN)
        _ours[:] = [self]
        self._ask(self.profile.start)

    def step(self) -> None:
        """Take notice of the end of a step; the last one ends the recording."""
        self._ask(self.profile.step)
        self.steps += 1
        if self.steps == self.warm_up + self.active:
            del _ours[:]

    def stop(self) -> None:
        """Record nothing more, and write what there is."""
        self._ask(self.profile.stop)
        del _ours[:]

    def give_way(self) -> None:
        """End the recording, of which nothing is kept; never raises."""
        try:
            self.on_taken(RuntimeError(OWN))
            self.stop()
        except Exception:  # it may run in another thread, which alone can end it
            del _ours[:]

    def _ask(self, method: Any) -> None:
        try:
            if self.steps >= self.warm_up and not enabled():  # torch would end the process
                raise RuntimeError(LOST)
            self.calling = True
            method()
        except Exception:
            del _ours[:]
            raise
        finally:
            self.calling = False


def enabled() -> bool:
    """Return whether a profiler of torch records in this thread."""
    torch = sys.modules["torch"]  # type: Any
    return bool(torch.autograd._profiler_enabled())
