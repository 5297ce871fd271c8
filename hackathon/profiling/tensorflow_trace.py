"""Record steps of a TensorFlow program with `tf.profiler`, as a trace in the format of torch.profiler.

A step is a call of the program into TensorFlow that applies gradients: of a `tf.function`, or of the optimizer.
`tensorflow_events.py` reads TensorFlow's output.

`recorder.py` loads both files from its own folder, in the program's Python (3.6 or newer); nothing of the toolkit is
imported.
"""

import functools
import gzip
import json
import os
import shutil
import sys
import tempfile
import threading
import time
import weakref
from typing import Any

BASE_NANOSECONDS = 1600000000000000000
"""2020-09-13: the reference of all times, the same on all ranks."""
MARK = "hackathon-step"


def now() -> float:
    """Return microseconds since BASE_NANOSECONDS."""
    return time.time() * 1e6 - BASE_NANOSECONDS / 1e3


# ---- steps


class Calls:
    """The program's calls into TensorFlow; those that apply gradients are steps."""

    METHODS = {"Function": ("__call__",), "BaseOptimizer": ("apply",)}
    """Class → its watched methods, else `apply_gradients`."""

    def __init__(self, stepped: Any) -> None:
        self.stepped = stepped
        self.local = threading.local()
        self.open = []  # type: list[list[bool]]
        """Running calls of functions: whether each has applied gradients."""
        self.trains = weakref.WeakSet()  # type: Any
        """Functions that apply gradients: this is visible only while they are traced."""

    def watch(self, module: Any) -> None:
        """Make the classes of a module report their calls."""
        for owner in list(vars(module).values()):
            if isinstance(owner, type) and owner.__module__ == module.__name__:
                for method in self.METHODS.get(owner.__name__, ("apply_gradients",)):
                    if method in vars(owner):
                        wrap = self.function if method == "__call__" else self.optimizer
                        setattr(owner, method, wrap(vars(owner)[method]))

    def function(self, method: Any) -> Any:
        """Return a wrapper that calls a `tf.function` and reports it."""

        @functools.wraps(method)
        def call(function: Any, *args: Any, **kwargs: Any) -> Any:
            if getattr(self.local, "inside", False):
                if self.open and function in self.trains:  # traced before, now within another
                    self.applied()
                return method(function, *args, **kwargs)
            applied = [False]
            self.open.append(applied)
            self.local.inside = True
            try:
                result = method(function, *args, **kwargs)
            finally:
                self.local.inside = False
                self.open[:] = [flag for flag in self.open if flag is not applied]
            if applied[0]:
                self.trains.add(function)
            if function in self.trains:
                self.stepped(function)
            return result

        return call

    def optimizer(self, method: Any) -> Any:
        """Return a wrapper that applies gradients and reports it."""

        @functools.wraps(method)
        def apply(optimizer: Any, *args: Any, **kwargs: Any) -> Any:
            # it is being traced, perhaps on a thread of a replica
            if self.open or getattr(self.local, "inside", False):
                self.applied()
                return method(optimizer, *args, **kwargs)
            self.local.inside = True
            try:
                result = method(optimizer, *args, **kwargs)
            finally:
                self.local.inside = False
            self.stepped(optimizer)
            return result

        return apply

    def applied(self) -> None:
        """Record that the running calls apply gradients."""
        for flag in self.open:
            flag[0] = True


# ---- recording


class TensorflowProfiler:
    """Has the recorder's interface of torch.profiler.profile: start, step, write once."""

    convert = None  # type: Any
    """(folder, ends of steps, number of the first step) → its events: `tensorflow_events.events_in`."""
    refused = ""
    """Why nothing is recorded, a reason of the recorder's notes: `follower`."""

    def __init__(self, warm_up: int, active: int, rank: int, processes: int, on_trace_ready: Any) -> None:
        self.warm_up, self.active, self.rank, self.processes = warm_up, active, rank, processes
        self.on_trace_ready = on_trace_ready
        self.ends = []  # type: list[float]
        """Times of the ends of steps; the first one is the start."""
        self.folder = ""
        self.events = []  # type: list[Any]

    def start(self) -> None:
        """Start recording, unless `follows()`. Raises TensorFlow's error when another profiler runs."""
        if follows():
            self.refused = "follower"
            self.ends.append(now())
            return
        profiler = sys.modules["tensorflow"].profiler.experimental  # type: Any
        self.folder = tempfile.mkdtemp(prefix="hackathon-profile-")
        try:
            profiler.start(self.folder)
        except Exception:
            shutil.rmtree(self.folder, ignore_errors=True)
            self.folder = ""
            raise
        self.mark()

    def mark(self) -> None:
        """Write an event that identifies TensorFlow's clock and the program's thread."""
        profiler = sys.modules["tensorflow"].profiler.experimental  # type: Any
        moment = now()
        with profiler.Trace(MARK):
            pass
        self.ends.append((moment + now()) / 2)

    def step(self) -> None:
        """Handle the end of a step; the last one stops the recording."""
        if self.refused:
            self.ends.append(now())
        else:
            self.mark()
        if len(self.ends) > self.warm_up + self.active:
            self.stop()

    def stop(self) -> None:
        """Stop recording and write the trace; a second call does nothing."""
        if self.refused:
            self.on_trace_ready(self)
        if not self.folder:
            return
        folder, self.folder = self.folder, ""
        try:
            profiler = sys.modules["tensorflow"].profiler.experimental  # type: Any
            profiler.stop()
            if len(self.ends) > self.warm_up + 1:
                self.events = self.convert(folder, self.ends[self.warm_up :], self.warm_up + 1)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        if self.events:
            self.on_trace_ready(self)

    def export_chrome_trace(self, path: str) -> None:
        """Write the compressed trace."""
        import platform

        pid = os.getpid()
        value = {
            "schemaVersion": 1, "framework": "tensorflow", "deviceProperties": [], "host_name": platform.node(),
            "displayTimeUnit": "ms", "baseTimeNanoseconds": BASE_NANOSECONDS,
            "traceEvents": [
                {"ph": "X", "cat": category, "name": name, "pid": pid, "tid": thread, "ts": round(begin, 3),
                 "dur": round(end - begin, 3), "args": args}
                for category, name, begin, end, thread, args in self.events
            ],
        }  # type: dict[str, Any]  # fmt: skip
        if self.processes > 1:
            value["distributedInfo"] = {"backend": "tf", "rank": self.rank, "world_size": self.processes}
        with gzip.open(path, "wt") as stream:
            json.dump(value, stream)


def keras_backend() -> str:
    """Return the backend of Keras 3, empty when Keras is not loaded."""
    module = sys.modules.get("keras.src.backend.config")  # type: Any
    return str(module.backend()) if module is not None else ""


def follows() -> bool:
    """Return whether another process resolves the collectives of this one: true for all workers but the first.

    Such a process must not be recorded. It waits for that answer from one thread to another, and TensorFlow's profiler
    joins both ends of an event that began on one thread and ended on another by pointers that are no longer valid
    (`TraceMeRecorder::Consume`, up to 2.21 at least): `free(): invalid pointer`, or a wrong event. Of 6 recordings of
    two workers 2 crashed.
    """
    module = sys.modules.get("tensorflow.python.eager.context")  # type: Any
    context = module.context() if module is not None else None
    leader = getattr(context, "_collective_leader", None)
    server = getattr(context, "_collective_ops_server_def", None)
    if not leader or server is None:
        return False
    return bool(leader != "/job:%s/replica:0/task:%d" % (server.job_name, server.task_index))


def tell_device(info: Any) -> None:
    """Add the name and the peak memory of TensorFlow's GPU, if it uses one and reports them."""
    config = sys.modules["tensorflow"].config  # type: Any
    devices = config.list_physical_devices("GPU")
    if devices:
        info["device"] = config.experimental.get_device_details(devices[0]).get("device_name")
        info["peak_bytes"]["device"] = int(config.experimental.get_memory_info("GPU:0")["peak"])
