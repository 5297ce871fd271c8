"""Predict the memory of a step with other batches, inside the program: the `sitecustomize` of one start.

`hackathon speedup --largest-batch` puts its folder first in the PYTHONPATH of the first start. It waits until the
program imports `torch.optim`, and records one step: the calls of modules with their arguments, and the use of their
results until `backward`. When the memory of that start is known, the driver sends a request (`observe` in the slot,
with the limit). The step is then computed again with fake tensors, which have sizes and no content, for batches up to
the limit. The difference between the real and the fake memory of that start is assumed constant. `predicted.json` has
the result.

Then some more steps are recorded with their batches, and their gradients computed at the same weights: their
differences yield the noise scale (McCandlish et al. 2018, "An Empirical Model of Large-Batch Training", appendix A.1).
`noise.json` has the norms.

Nothing of the toolkit is imported: it runs in the program's Python. Its errors are recorded, and the program continues.
Needs torch 2.1 or newer.
"""

import atexit
import contextlib
import json
import os
import resource
import sys
import time
from pathlib import Path
from typing import Any

STEP = 2
"""The recorded step: the first one creates permanent objects."""
TRIES = 6
"""Batches whose step is computed with fake tensors at most."""
LONGEST = 40.0
"""Seconds after which no further batch is computed."""
PATIENCE = 20.0
"""Seconds that a finished program waits for the driver's request."""
GRADIENTS, FEWEST = 16, 4
"""Steps whose gradients are compared at most and at least."""
COLLECTING = 20.0
"""Seconds after which no further step is stored."""
MOST_KEPT = 1 << 30
"""Bytes of batches that are stored at most, except for a single step."""
LARGEST = 1 << 40
HERE = Path(__file__).absolute().parent
BESIDE = "hackathon_fake_step"
"""Name of the module next to this one."""


class Observer:
    """Records one step of the program, and computes it again with fake tensors; then the gradients of more steps."""

    def __init__(self, slot: Path, batch: int) -> None:
        self.slot, self.batch = slot, batch
        self.steps = 0
        self.tape = []  # type: list[Any]
        self.noting = None  # type: Any
        self.state_bytes = 0
        """Bytes of the optimizer's state."""
        self.state = "noting"
        """noting, until it was asked; collecting, for the gradients; over."""
        self.problem = None  # type: Any
        self.weights = None  # type: Any
        self.kept = []  # type: list[Any]
        """Tapes of steps with their batches."""
        self.bytes = 0
        """Bytes of the stored batches."""
        self.since = 0.0

    def stepped(self, optimizer: Any, args: Any = None, kwargs: Any = None) -> None:
        """Handle the end of a step; never raises."""
        if self.state == "over":
            return
        try:
            if self.state == "failed":
                if (self.slot / "observe").exists():
                    self.predict()  # writes why the prediction is unknown
                return
            if self.state == "collecting":
                self.collect()
                return
            self.steps += 1
            if self.steps == STEP - 1:
                if compiled():
                    raise fake_step().Unknown("compiled")
                self.note(self.tape)
            elif self.noting is not None:
                self.end()
                self.state_bytes = fake_step().state_bytes(optimizer)
                (self.slot / "noted").touch()
            if self.steps >= STEP and (self.slot / "observe").exists():
                self.predict(more=True)
        except Exception as error:
            with contextlib.suppress(Exception):
                self.end()
            if self.problem is None:  # a later error may only be that the answer is not writable
                self.problem = error
            self.state = "failed"
            with contextlib.suppress(OSError):
                (self.slot / "noted").touch()

    def note(self, tape: Any, keep: bool = False) -> None:
        """Start recording."""
        self.noting = fake_step().Noting(tape, keep)
        self.noting.begin()

    def end(self) -> None:
        """Stop recording."""
        noting, self.noting = self.noting, None
        if noting is not None:
            noting.end()

    def leave(self) -> None:
        """At the end of the program: notify the driver, and predict on request."""
        self.end()
        with contextlib.suppress(OSError):
            if self.state == "collecting":
                self.tell_noise()
            if self.state == "over":
                return
            (self.slot / "observing").touch()
            until = time.monotonic() + PATIENCE
            while not (self.slot / "observe").exists() and time.monotonic() < until:
                time.sleep(0.02)
            self.predict()

    def collect(self) -> None:
        """Store the finished step, and record the next one, until there are enough."""
        self.bytes += self.noting.kept
        self.end()
        enough = len(self.kept) >= GRADIENTS or self.bytes >= MOST_KEPT
        if not enough and time.monotonic() - self.since < COLLECTING:
            self.kept.append([])
            self.note(self.kept[-1], keep=True)
        else:
            self.tell_noise()

    def tell_noise(self) -> None:
        """Write `noise.json`: squared norms of gradients of one step and of several, all at the same weights."""
        self.state = "over"
        report = {"small": None, "large": None, "steps": 0, "reason": None}  # type: dict[str, Any]
        try:
            tapes = [tape for tape in self.kept if fake_step().backwards(tape)]
            if len(tapes) < FEWEST:
                raise fake_step().Unknown("few-steps")
            small = self.batch * fake_step().backwards(self.tape)
            squares, square = fake_step().norms(self.weights, tapes)
            report.update(small=small, large=small * len(tapes), steps=len(tapes))
            report.update(small_square=squares, large_square=square)
        except Exception as error:
            report["reason"] = getattr(error, "reason", "failed")
        self.write("noise.json", report)

    def write(self, name: str, value: Any) -> None:
        """Write a file of the slot by rename."""
        draft = self.slot / f".{name}"
        draft.write_text(json.dumps(value))
        draft.replace(self.slot / name)

    def predict(self, more: bool = False) -> None:
        """Write `predicted.json`: the batch that fits, the fake memory of each batch, or why it is unknown.

        `more`: the program continues, so that gradients can be collected.
        """
        self.state = "over"
        report = {"batch": None, "points": [], "reason": None, "text": None}  # type: dict[str, Any]
        begin = time.monotonic()
        try:
            request = json.loads((self.slot / "observe").read_text())
            _, hard = resource.getrlimit(resource.RLIMIT_AS)
            resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
            if self.problem is not None:
                raise self.problem
            if not self.tape:
                raise fake_step().Unknown("no-step")
            points = report["points"]
            report["batch"] = self.largest(request, points, begin)
        except Exception as error:  # any operation that fake tensors do not support
            report["reason"] = getattr(error, "reason", "failed")
            report["text"] = f"{type(error).__name__}: {error}"[:500]
        report["seconds"] = round(time.monotonic() - begin, 3)
        report["collecting"] = more = more and bool(self.tape) and report["reason"] != "no-backward"
        if more:
            self.weights, self.since, self.state = fake_step().Weights(self.tape), time.monotonic(), "collecting"
            self.kept.append([])
            self.note(self.kept[-1], keep=True)
        self.write("predicted.json", report)

    def largest(self, request: Any, points: Any, begin: float) -> int:
        """Return the largest batch for a limit; memory is nearly linear, so the search follows the line."""
        limit, memory = request["limit"], request["memory"]

        def fake(batch: int) -> int:
            need: int = fake_step().step_bytes(self.tape, self.batch, batch) + self.state_bytes
            points.append([batch, need])
            return need

        small, less = self.batch, fake(self.batch)
        room = limit - memory + less
        large, more = 2 * small, fake(2 * small)
        guess = small
        while len(points) < TRIES and time.monotonic() - begin < LONGEST:
            slope = (more - less) / float(large - small)
            if slope <= 0:
                raise fake_step().Unknown("no-growth")
            guess = max(1, int(large + (room - more) // slope))
            if guess in (small, large) or guess > LARGEST:
                break
            small, less, large, more = large, more, guess, fake(guess)
            if small == large:
                break
        return guess


def compiled() -> bool:
    """Return whether torch.compile was used: recording would make it compile again."""
    module = sys.modules.get("torch._dynamo.utils")
    counters = getattr(module, "counters", {})
    return bool(counters and counters["stats"].get("unique_graphs"))


def fake_step() -> Any:
    """Return the module that records and replays a step."""
    from importlib.util import module_from_spec, spec_from_file_location

    if BESIDE not in sys.modules:
        spec = spec_from_file_location(BESIDE, str(HERE / f"{BESIDE}.py"))  # type: Any
        module = module_from_spec(spec)
        sys.modules[BESIDE] = module
        spec.loader.exec_module(module)
    return sys.modules[BESIDE]


class OptimizerWatch:
    """Attaches the observer to `torch.optim.optimizer` on import."""

    MODULE = "torch.optim.optimizer"

    def __init__(self, observer: Observer) -> None:
        self.observer = observer

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """Return how to load that one module, None for others."""
        if name != self.MODULE:
            return None
        from importlib.machinery import PathFinder

        sys.meta_path[:] = [finder for finder in sys.meta_path if finder is not self]
        spec = PathFinder.find_spec(name, path)
        loader = spec.loader if spec is not None else None  # type: Any
        if loader is None or not hasattr(loader, "exec_module"):
            return None
        load = loader.exec_module

        def load_and_attach(module: Any) -> None:
            load(module)
            try:
                module.register_optimizer_step_post_hook(self.observer.stepped)
            except Exception as error:  # torch before 2.0 has no such hook
                self.observer.problem = error

        loader.exec_module = load_and_attach
        return spec


def arm() -> None:
    """Prepare the observation, if this process is configured for it: HK_OBSERVE is the batch of this start."""
    batch, slot = os.environ.pop("HK_OBSERVE", ""), os.environ.get("HK_RUN")
    if not batch or not slot:
        return
    observer = Observer(Path(slot), int(batch))
    sys.meta_path.insert(0, OptimizerWatch(observer))
    atexit.register(observer.leave)
    if hasattr(os, "register_at_fork"):  # the workers of a data loader are not the program

        def forget() -> None:
            observer.state = "over"

        os.register_at_fork(after_in_child=forget)


def go_on() -> None:
    """Load the `sitecustomize` that Python would have found without this one."""
    from importlib.machinery import PathFinder
    from importlib.util import module_from_spec

    sys.path[:] = [folder for folder in sys.path if Path(folder or os.curdir).absolute() != HERE]
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
