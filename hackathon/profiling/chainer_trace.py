"""Record steps of a Chainer program as a trace in the format of torch.profiler, with a function hook.

Chainer's own `TimerHook` returns sums. This hook stores each call with its time, so that a step can be drawn and ranks
compared. Besides functions it times the iterators, the converter of batches and ChainerMN's averaging of gradients. On
a GPU a function's time is that of starting its kernels. The kernels' own time is unknown, and the trace states that.

`recorder.py` loads this file from its own folder, in the program's Python (3.6 or newer); nothing of the toolkit is
imported.
"""

import gzip
import json
import os
import sys
import threading
import time
from typing import Any

BASE_NANOSECONDS = 1600000000000000000
"""2020-09-13: the reference of all times, the same on all ranks."""
MOST = 1000000
"""Calls that are stored at most."""
NAME = "hackathon-profile"
_active = []  # type: list[Any]
"""The active profiler, if any."""


class ChainerProfiler:
    """Has the recorder's interface of torch.profiler.profile: start, step, write once."""

    def __init__(self, warm_up: int, active: int, rank: int, processes: int, on_trace_ready: Any) -> None:
        self.warm_up, self.active, self.rank, self.processes = warm_up, active, rank, processes
        self.on_trace_ready = on_trace_ready
        self.events = []  # type: list[Any]
        self.steps = 0
        self.since = 0.0
        self.hook = None  # type: Any
        self.on_device = False
        """Whether a function used arrays of a GPU."""

    def start(self) -> None:
        """Start recording."""
        import chainer  # type: ignore[import-not-found, unused-ignore]

        self.hook = function_hook(chainer, self)
        chainer.get_function_hooks()[NAME] = self.hook
        _active[:] = [self]
        self.since = now()

    def step(self) -> None:
        """Handle the end of a step: drop the warm-up's calls; stop after the last step."""
        end = now()
        self.steps += 1
        if self.steps <= self.warm_up:
            del self.events[:]
        else:
            self.add("user_annotation", f"ProfilerStep#{self.steps}", self.since, end)
        self.since = end
        if self.steps == self.warm_up + self.active:
            self.stop()

    def stop(self) -> None:
        """Stop recording and write the trace; a second call does nothing."""
        import chainer

        if self.hook is None:
            return
        hooks = chainer.get_function_hooks()
        if hooks.get(NAME) is self.hook:
            del hooks[NAME]
        self.hook = None
        del _active[:]
        if self.steps > self.warm_up:
            self.on_trace_ready(self)

    def add(self, category: str, name: str, begin: float, end: float) -> None:
        """Store a call."""
        if len(self.events) < MOST:
            self.events.append((category, name, begin, end, threading.get_ident() % 1000000))

    def export_chrome_trace(self, path: str) -> None:
        """Write the compressed trace."""
        import platform

        pid = os.getpid()
        value = {
            "schemaVersion": 1, "framework": "chainer", "deviceProperties": [], "host_name": platform.node(),
            "computes_on": "cuda" if self.on_device else "cpu",
            "displayTimeUnit": "ms", "baseTimeNanoseconds": BASE_NANOSECONDS,
            "traceEvents": [
                {"ph": "X", "cat": category, "name": name, "pid": pid, "tid": thread, "ts": round(begin, 3),
                 "dur": round(end - begin, 3), "args": {}}
                for category, name, begin, end, thread in self.events
            ],
        }  # type: dict[str, Any]  # fmt: skip
        if self.processes > 1:
            about = {"backend": "mpi", "rank": self.rank, "world_size": self.processes}
            value["distributedInfo"] = about
        with gzip.open(path, "wt") as stream:
            json.dump(value, stream)


def install() -> None:
    """Make iterators and communicators report their calls to a recording.

    Called at the first step of any optimizer, because programs may store these methods before the recording starts.
    """
    for owner, method, name in watched():
        patch(owner, method, name)


def patch(owner: Any, method: str, name: str) -> None:
    """Time a method of a class during a recording; of nested calls only the outer one counts."""
    former = getattr(owner, method)

    def timed(*args: Any, **kwargs: Any) -> Any:
        begin = now()
        try:
            return former(*args, **kwargs)
        finally:
            for profiler in _active:
                profiler.add("user_annotation", name, begin, now())

    setattr(owner, method, timed)


def now() -> float:
    """Return microseconds since BASE_NANOSECONDS."""
    return time.time() * 1e6 - BASE_NANOSECONDS / 1e3


def function_hook(chainer: Any, profiler: ChainerProfiler) -> Any:
    """Return a hook that stores the calls of functions, forward and backward."""

    class Hook(chainer.FunctionHook):  # type: ignore[misc]
        name = NAME

        def __init__(self) -> None:
            self.begins = []  # type: list[float]

        def begin(self) -> None:
            self.begins.append(now())

        def end(self, function: Any, suffix: str) -> None:
            if self.begins:
                name = getattr(function, "_impl_name", type(function).__name__) + suffix
                profiler.add("cpu_op", name, self.begins.pop(), now())

        def forward_preprocess(self, function: Any, in_data: Any) -> None:
            profiler.on_device = profiler.on_device or any(of_device(array) for array in in_data)
            self.begin()

        def forward_postprocess(self, function: Any, in_data: Any) -> None:
            self.end(function, "")

        def backward_preprocess(self, function: Any, in_data: Any, out_grad: Any) -> None:
            self.begin()

        def backward_postprocess(self, function: Any, in_data: Any, out_grad: Any) -> None:
            self.end(function, "Backward")

    return Hook()


def of_device(array: Any) -> bool:
    """Return whether an array is on a GPU: CuPy's arrays are, and those of ChainerX on CUDA."""
    module = type(array).__module__.split(".")[0]
    return module == "cupy" or (module == "chainerx" and str(array.device).startswith("cuda"))


def watched() -> Any:
    """Return (class or module, name of its function, name in the trace) of the timed functions."""
    targets = []  # type: list[Any]
    iterators = sys.modules.get("chainer.iterators")
    for name in ("SerialIterator", "MultiprocessIterator", "MultithreadIterator", "OrderSampler"):
        owner = getattr(iterators, name, None)
        if owner is not None and "__next__" in vars(owner):
            targets.append((owner, "__next__", "data"))
        if owner is not None and "next" in vars(owner):
            targets.append((owner, "next", "data"))
    base = getattr(sys.modules.get("chainermn.communicators.communicator_base"), "CommunicatorBase", None)
    for owner in below(base) if base is not None else ():
        for method in ("multi_node_mean_grad", "allreduce_grad"):
            if method in vars(owner) and not getattr(vars(owner)[method], "__isabstractmethod__", False):
                targets.append((owner, method, "mpi:all_reduce"))
    return targets


def below(owner: Any) -> Any:
    """Return all subclasses of a class, direct and indirect."""
    direct = owner.__subclasses__()
    return [*direct, *(descendant for child in direct for descendant in below(child))]
