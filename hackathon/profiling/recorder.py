"""Record a few steps of a training program without changing it: this file is its `sitecustomize`.

`hackathon profile` puts it beside the run and its folder first in PYTHONPATH. It waits until the program imports
`torch.optim`, counts the steps of the optimizer, and lets `torch.profiler` record some of them (`torch_trace.py`). In a
Chainer program it uses `chainer.optimizer` and a function hook (`chainer_trace.py`); in a TensorFlow program the calls
that apply gradients, and `tf.profiler` (`tensorflow_trace.py`). It writes to the run's folder `profile`:
`rank-N.json.gz`, the trace; `rank-N.info.json`, the seconds of the steps before, in and after the recorded window,
which show the cost of recording; or `rank-N.note.json`, why there is no trace.

Nothing of the toolkit is imported: it runs in the program's Python (3.6 or newer). Its errors are recorded, and the
program continues.
"""

import atexit
import json
import os
import sys
import time
from typing import Any

AFTER_AT_MOST = 5
"""Steps after the window that are timed without the profiler."""
OTHERS = 3
"""Consecutive steps of other optimizers after which the counted one is no longer in use."""
WARM_UP = 1
"""Steps for which the profiler runs without storing anything: it loads its libraries."""


class Recorder:
    """The steps of one process: counted at the end of each step of its optimizer, recorded in a window."""

    def __init__(self, folder: str, skip: int, active: int, memory: bool) -> None:
        self.folder = folder
        self.skip, self.active, self.memory = skip, active, memory
        self.timed = min(active, AFTER_AT_MOST)
        self.begin = skip + self.timed + 1
        """Number of the step at whose end the profiler starts."""
        self.ends = []  # type: ignore[var-annotated]
        """Seconds (perf_counter) at the end of each step, without the recorder's own time."""
        self.optimizer = None  # type: Any
        self.others = 0
        """Steps of other optimizers since the last counted one."""
        self.profiler = None  # type: Any
        self.engine = "torch"
        """The framework whose steps count: torch, chainer or tensorflow."""
        self.torch_trace = None  # type: Any
        """The module next to this one that watches torch's profilers and contains ours."""
        self.other_profiler = None  # type: Any
        """The profiler of another framework than torch."""
        self.tell_device = None  # type: Any
        """Adds the device of another framework."""
        self.calls = None  # type: Any
        """The calls into TensorFlow."""
        self.state = "waiting"
        """waiting, recording, written, complete or failed."""
        self.paused = 0.0
        """Seconds of starting and writing, which belong to no step."""

    def stepped(self, optimizer: Any, args: Any = None, kwargs: Any = None) -> None:
        """Handle the end of a step; never raises."""
        if self.state in ("complete", "failed") or not self._counts(optimizer):
            return
        try:
            self._step(time.perf_counter())
        except Exception as error:
            self.fail(error)

    def _counts(self, optimizer: Any) -> bool:
        """Return whether this optimizer's steps count: the first one's, until others make OTHERS steps in a row.

        So exactly one optimizer counts in a program with two, or with one that is used only for a check.
        """
        number = id(optimizer)
        if self.optimizer is None or self.others >= OTHERS:
            self.optimizer = number
        counts = bool(number == self.optimizer)
        self.others = 0 if counts else self.others + 1
        return counts

    def _step(self, now: float) -> None:
        self.ends.append(now - self.paused)
        number = len(self.ends)
        if number == self.begin:
            self._start()
        elif self.state == "recording":
            self.profiler.step()  # the last one writes the trace
        elif self.state == "written" and number > self.needed + self.timed:
            self.note_complete(device_peaks if self.engine == "torch" else None)
        if number in (self.begin, self.begin + WARM_UP, self.needed):
            self.paused += time.perf_counter() - now

    def _start(self) -> None:
        if self.other_profiler is not None:
            self.profiler = self.other_profiler(
                WARM_UP, self.active, rank_of_process(), processes(), on_trace_ready=self._write
            )
        else:
            self.profiler = self.torch_trace.TorchProfiler(
                WARM_UP, self.active, self.memory, on_trace_ready=self._write, on_taken=self.fail
            )
        self.profiler.start()
        self.state = "recording"

    def _write(self, profiler: Any) -> None:
        if self.state == "failed":  # stopped for the program's own profiler
            return
        rank = rank_of_process()
        if self.refused:
            self._put("note", {"schema_version": 1, "reason": self.refused})
        else:
            draft = os.path.join(self.folder, ".rank-%d.%d.json.gz" % (rank, os.getpid()))
            profiler.export_chrome_trace(draft)
            os.replace(draft, os.path.join(self.folder, "rank-%d.json.gz" % rank))
        self.state = "written"
        self._put("info", self.info())

    def info(self) -> Any:
        """Return facts about the recorded steps, as JSON values."""
        import platform

        torch = sys.modules.get("torch") if self.engine == "torch" else None  # type: Any
        framework = sys.modules[self.engine]  # type: Any
        seconds = [later - sooner for sooner, later in zip(self.ends, self.ends[1:])]
        # seconds[i] is the step that ends at ends[i + 1]
        first = self.begin + WARM_UP - 1
        last = first + self.active
        report = {
            "schema_version": 1,
            "rank": rank_of_process(),
            "processes": processes(),
            "host": platform.node(),
            self.engine: str(framework.__version__),
            "device": None,
            "complete": self.state == "complete",
            "seconds": {
                "before": seconds[self.skip : self.begin - 1],
                "recorded": [] if self.refused else seconds[first:last],
                "after": seconds[last + 1 :],
            },
            "peak_bytes": {"process": process_peak()},
        }  # type: Any
        if torch is not None and torch.cuda.is_available() and torch.cuda.is_initialized():
            report["device"] = torch.cuda.get_device_name()
            report["peak_bytes"]["device"] = int(torch.cuda.max_memory_allocated())
        if self.tell_device is not None:
            try:
                self.tell_device(report)
            except Exception:  # an old version may not support it
                pass
        return report

    def note_complete(self, peaks: Any = None) -> None:
        """Record that all measurements are complete; `peaks` then measures the device."""
        self.state = "complete"
        report = self.info()
        measured = peaks() if peaks is not None else None
        if measured:
            report["device_peaks"] = measured
        self._put("info", report)

    def fail(self, error: Exception) -> None:
        """Record why there will be no trace."""
        self.state = "failed"
        self._put("note", {"schema_version": 1, "reason": "failed", "text": "%s: %s" % (type(error).__name__, error)})

    def leave(self) -> None:
        """Write the available data when the program ends; never raises."""
        try:
            if self.state == "recording":
                self.profiler.stop()  # writes the steps recorded so far, if recording has begun
            if self.state == "written":
                self.note_complete()
            elif self.state in ("waiting", "recording") and not self._told():
                reason = "steps" if self.ends else no_steps()
                self._put(
                    "note", {"schema_version": 1, "reason": reason, "steps": len(self.ends), "needed": self.needed}
                )
        except Exception as error:
            self.fail(error)

    def _told(self) -> bool:
        """Return whether another process has written for this rank: child processes of a program look like it."""
        name = os.path.join(self.folder, "rank-%d." % rank_of_process())
        return not self.ends and any(os.path.exists(name + kind) for kind in ("json.gz", "info.json", "note.json"))

    @property
    def refused(self) -> str:
        """Why the profiler cannot record this process, empty if it can."""
        return str(getattr(self.profiler, "refused", ""))

    @property
    def needed(self) -> int:
        """Steps that a program must make until the window is recorded."""
        return self.begin + WARM_UP + self.active

    def _put(self, kind: str, value: Any) -> None:
        name = "rank-%d.%s.json" % (rank_of_process(), kind)
        draft = os.path.join(self.folder, ".%s.%d" % (name, os.getpid()))
        try:
            with open(draft, "w") as stream:
                json.dump(value, stream)
            os.replace(draft, os.path.join(self.folder, name))
        except OSError:
            pass


def no_steps() -> str:
    """Return why a program made no step: the framework that it uses, `optimizer` for torch, or `framework`."""
    for name in ("tensorflow", "chainer", "jax", "mxnet"):
        if name in sys.modules:
            return name
    return "optimizer" if "torch" in sys.modules else "framework"


def rank_of_process() -> int:
    """Return the rank according to torch.distributed, else the launcher."""
    group = _group()
    return int(group.get_rank() if group is not None else os.environ.get("RANK") or os.environ.get("HK_RANK") or 0)


def processes() -> int:
    """Return how many processes train together."""
    group = _group()
    return int(group.get_world_size() if group is not None else os.environ.get("WORLD_SIZE") or 1)


def _group() -> Any:
    module = sys.modules.get("torch.distributed")  # type: Any
    return module if module is not None and module.is_available() and module.is_initialized() else None


def process_peak() -> int:
    """Return the peak bytes of this process's main memory. Source: getrusage(2), KiB on Linux."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def device_peaks() -> Any:
    """Return the device's peak rates from the probe next to this file; empty when that fails."""
    try:
        return beside("hackathon_device_probe").device_peaks()
    except Exception:  # an unknown peak must not end a training
        return {}


def beside(name: str) -> Any:
    """Return the module with this name next to this file."""
    from importlib.util import module_from_spec, spec_from_file_location

    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), name + ".py")
    spec = spec_from_file_location(name, path)  # type: Any
    module = module_from_spec(spec)  # type: Any
    spec.loader.exec_module(module)
    return module


def attach_torch(module: Any, recorder: Recorder) -> None:
    """Make `torch.optim.optimizer` report steps to the recorder; torch before 2.0 raises."""
    module.register_optimizer_step_post_hook(recorder.stepped)


def attach_torch_profiler(module: Any, recorder: Recorder) -> None:
    """Make a module with profilers of torch report those that the program starts itself."""
    if recorder.torch_trace is None:
        recorder.torch_trace = beside("hackathon_torch_trace")
    recorder.torch_trace.watch(module)


def attach_chainer(module: Any, recorder: Recorder) -> None:
    """Make `chainer.optimizer` report steps to the recorder."""
    update = module.GradientMethod.update
    trace = []  # type: list[Any]

    def updated(optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        result = update(optimizer, *args, **kwargs)
        if not trace:
            try:
                trace.append(beside("hackathon_chainer_trace"))
                trace[0].install()
                recorder.engine, recorder.other_profiler = "chainer", trace[0].ChainerProfiler
            except Exception as error:
                recorder.fail(error)
        recorder.stepped(optimizer)
        return result

    module.GradientMethod.update = updated


def attach_tensorflow(module: Any, recorder: Recorder) -> None:
    """Make a module of TensorFlow or of Keras on it report steps to the recorder."""
    if recorder.calls is None:
        trace = beside("hackathon_tensorflow_trace")
        trace.TensorflowProfiler.convert = staticmethod(
            lambda *words: beside("hackathon_tensorflow_events").events_in(*words)
        )

        def stepped(caller: Any) -> None:
            if "tensorflow" not in sys.modules or trace.keras_backend() not in ("", "tensorflow"):
                return
            if not recorder.ends:
                recorder.engine, recorder.other_profiler = "tensorflow", trace.TensorflowProfiler
                recorder.tell_device = trace.tell_device
            if recorder.engine == "tensorflow":
                recorder.stepped(caller)

        recorder.calls = trace.Calls(stepped)
    recorder.calls.watch(module)


class ModuleWatch:
    """An import finder that finds no modules, but attaches the recorder to a framework's optimizers on import."""

    MODULES = {
        "torch.optim.optimizer": attach_torch, "torch.autograd.profiler": attach_torch_profiler,
        "torch.autograd.profiler_legacy": attach_torch_profiler, "chainer.optimizer": attach_chainer,
        "tensorflow.python.eager.polymorphic_function.polymorphic_function": attach_tensorflow,
        "tensorflow.python.eager.def_function": attach_tensorflow,
        "tensorflow.python.training.optimizer": attach_tensorflow,
        **{
            package + "." + name: attach_tensorflow
            for package in ("keras", "keras.src", "tf_keras", "tf_keras.src")
            for name in (
                "optimizers.base_optimizer", "optimizers.optimizer", "optimizers.legacy.optimizer_v2",
                "optimizers.optimizer_v2.optimizer_v2", "optimizers.optimizer_experimental.optimizer",
            )
        },
    }  # fmt: skip
    """Module → how to attach; includes the modules of all versions from TensorFlow 2.4 on."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.waiting = dict(self.MODULES)
        # a `.pth` file of the environment may have imported a framework already
        for name in [key for key in self.waiting if key in sys.modules]:
            self._attach(self.waiting.pop(name), sys.modules[name])

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """Return how to load a watched module, None for others."""
        if name not in self.waiting:
            return None
        from importlib.machinery import PathFinder

        attach = self.waiting.pop(name)
        spec = PathFinder.find_spec(name, path)
        loader = spec.loader if spec is not None else None  # type: Any
        if loader is None or not hasattr(loader, "exec_module"):
            return None
        load = loader.exec_module

        def load_and_attach(module: Any) -> None:
            load(module)
            self._attach(attach, module)

        loader.exec_module = load_and_attach
        return spec

    def _attach(self, attach: Any, module: Any) -> None:
        try:
            attach(module, self.recorder)
        except Exception as error:  # an old version may lack it
            self.recorder.fail(error)


def arm() -> None:
    """Prepare recording, if this process is configured for it.

    HK_PROFILE is `steps to skip,steps to record,0 or 1 for memory`.
    """
    setting, run = os.environ.get("HK_PROFILE"), os.environ.get("HK_RUN")
    if not setting or not run or not os.environ.get("HK_RANK"):  # torchrun itself is not a rank
        return
    skip, active, memory = (int(number) for number in setting.split(","))
    folder = os.path.join(run, "profile")
    os.makedirs(folder, exist_ok=True)
    recorder = Recorder(folder, skip, active, memory == 1)
    sys.meta_path.insert(0, ModuleWatch(recorder))
    atexit.register(recorder.leave)
    if hasattr(os, "register_at_fork"):  # the workers of a data loader are not the program

        def forget() -> None:
            recorder.state = "complete"

        os.register_at_fork(after_in_child=forget)


def go_on() -> None:
    """Load the `sitecustomize` that Python would have found without this one."""
    from importlib.machinery import PathFinder
    from importlib.util import module_from_spec

    folder = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or os.curdir) != folder]
    spec = PathFinder.find_spec("sitecustomize", sys.path)
    if spec is not None and spec.loader is not None:
        module = module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


if __name__ == "sitecustomize":
    try:
        arm()
    except Exception:  # the program runs as well without it
        pass
    go_on()
