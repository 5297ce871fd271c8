"""Record steps with torch's profiler in a program that may run it itself: a process can have only one.

Two at once make each other fail, or one gets the events of both. The program's own takes precedence: while one runs,
ours does not start, and when the program prepares one, ours ends without a trace.

`recorder.py` loads this file from its own folder, in the program's Python (3.6 or newer); nothing of the toolkit is
imported.
"""

import functools
import sys
import threading
from importlib import import_module
from typing import Any

STARTS = ("_prepare_profiler", "_enable_profiler", "_enable_profiler_legacy")
ENDS = ("_disable_profiler", "_disable_profiler_legacy")
"""Functions that all of torch's profilers call, by their names in modules; torch 2.0 to 2.13."""
OWN = "the program runs torch's profiler itself"
LOST = "torch's profiler does not run any more where it was started"
_ours = []  # type: list[Any]
"""The recorder's running profiler, if any."""
_theirs = set()  # type: set[int]
"""Threads in which the program has a profiler open."""


def watch(module: Any) -> None:
    """Make a module with profilers of torch report those that the program starts and ends."""
    for names, tell in ((STARTS, begun), (ENDS, ended)):
        for name in names:
            if hasattr(module, name):
                setattr(module, name, told(getattr(module, name), tell))


def told(function: Any, tell: Any) -> Any:
    """Return a function that reports its calls, except those of the recorder."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if not any(profiler.calling for profiler in _ours):
            tell()
        return function(*args, **kwargs)

    return call


def begun() -> None:
    """Yield to a profiler that the program starts."""
    for profiler in list(_ours):
        profiler.give_way()
    _theirs.add(threading.get_ident())


def ended() -> None:
    """Record that a profiler of the program has ended."""
    _theirs.discard(threading.get_ident())


class TorchProfiler:
    """A torch.profiler.profile with the recorder's interface, which yields to the program's own profiler."""

    def __init__(self, warm_up: int, active: int, memory: bool, on_trace_ready: Any, on_taken: Any) -> None:
        profiling = import_module("torch.profiler")  # type: Any

        self.warm_up, self.active = warm_up, active
        self.on_taken = on_taken
        """Called with the reason why there will be no trace."""
        self.steps = 0
        self.calling = False
        """Whether the current call of torch's profiler comes from this module."""
        self.profile = profiling.profile(
            activities=list(profiling.supported_activities()),
            schedule=profiling.schedule(wait=0, warmup=warm_up, active=active, repeat=1),
            on_trace_ready=on_trace_ready,
            profile_memory=memory,
            record_shapes=True,
        )

    def start(self) -> None:
        """Start recording. Raises RuntimeError while the program's own profiler is open."""
        if _theirs or enabled():
            raise RuntimeError(OWN)
        _ours[:] = [self]
        self._ask(self.profile.start)

    def step(self) -> None:
        """Handle the end of a step; the last one stops the recording."""
        self._ask(self.profile.step)
        self.steps += 1
        if self.steps == self.warm_up + self.active:
            del _ours[:]

    def stop(self) -> None:
        """Stop recording and write the trace."""
        self._ask(self.profile.stop)
        del _ours[:]

    def give_way(self) -> None:
        """Stop the recording without storing it; never raises."""
        try:
            self.on_taken(RuntimeError(OWN))
            self.stop()
        except Exception:  # it may run in another thread, which alone can stop it
            del _ours[:]

    def _ask(self, method: Any) -> None:
        try:
            if self.steps >= self.warm_up and not enabled():  # otherwise torch would end the process
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
