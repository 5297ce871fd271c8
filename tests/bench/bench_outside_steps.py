"""Processor time that the recorder of `templates/jobs/steps.py` adds to a step of an own program, in microseconds.

    python tests/bench/bench_outside_steps.py [--pairs 15] [--milliseconds 10] [--seconds 2] [--loops plain,ddp,workers]

Needs torch. The loops read batches of a DataLoader: `plain` in one process; `ddp` with DistributedDataParallel over
gloo in two processes; `workers` as `ddp`, with two workers for each DataLoader. The model is small and the loop sleeps
for the rest of a step: the recorder has as much to do as with a large model, and the noise of its computing does not
hide it.

Blocks with and without the recorder take turns in random order, the same in both processes. What a step costs the
training thread is the median of its kind (recorded; not recorded, with marks; without marks) less the median of the
block without the recorder beside it, and of these differences the median over the pairs: the time of the same step
drifts by more than what is measured, also on a quiet machine. The order statistics of the pairs give the interval that
holds their median with 95 %: more pairs make it narrower. The kinds count by their number. What the recorder's own
thread takes is added. A block with the recorder begins anew, and the shorter it is, the more its beginning weighs:
there the recorder samples often, and has to find out how long a step is.
"""

import argparse
import os
import random
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset

RECORDER = Path(__file__).resolve().parents[2] / "templates" / "jobs" / "steps.py"
LOOPS = {"plain": (1, 0), "ddp": (2, 0), "workers": (2, 2)}
"""Loop → processes, and workers of each DataLoader."""
GOAL = 100.0
"""Most microseconds of processor time a step."""
BARE, RECORDED, MARKED, RESTING = "bare", "recorded", "marked", "resting"


class Program:
    """A training program that makes so many steps at a time."""

    def __init__(self, steps: int, seconds: float, loop: str) -> None:
        processes, workers = LOOPS[loop]
        self.seconds = seconds
        data = TensorDataset(torch.randn(steps * 8, 64), torch.randint(10, (steps * 8,)))
        self.loader = DataLoader(data, batch_size=8, num_workers=workers)
        self.model: torch.nn.Module = torch.nn.Sequential(
            torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10)
        )
        if processes > 1:
            self.model = DistributedDataParallel(self.model)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.001)

    def train(self, ended: Callable[[float], None]) -> None:
        """Train an epoch; `ended` gets the processor time of the thread for each step, s."""
        begin, until = time.thread_time(), time.perf_counter()
        for batch, labels in self.loader:
            loss = torch.nn.functional.cross_entropy(self.model(batch), labels)
            self.optimizer.zero_grad()
            torch.autograd.backward(loss)
            self.optimizer.step()
            ended(time.thread_time() - begin)
            now = time.perf_counter()
            until = max(until + self.seconds, now)
            time.sleep(until - now)
            begin = time.thread_time()


class Bench:
    """The times of steps by their kind, for each pair of blocks."""

    def __init__(self, program: Program, path: str) -> None:
        self.program, self.path = program, path
        self.pairs: list[defaultdict[str, list[float]]] = []
        self.thread = 0.0
        self.names: dict[str, Any] = {"__name__": "recorder"}
        exec(compile(RECORDER.read_text(), "<frozen importlib hackathon>", "exec"), self.names)
        self.started: list[int] = []
        start = self.names["start_new_thread"]
        self.names["start_new_thread"] = lambda *run: self.started.append(start(*run))

    def pair(self, order: random.Random) -> None:
        """Train a block with the recorder and one without it."""
        self.pairs.append(defaultdict(list))
        for block in order.sample([self.without, self.with_recorder], 2):
            block()

    def without(self) -> None:
        self.program.train(self.pairs[-1][BARE].append)

    def with_recorder(self) -> None:
        recorder = self.names["Recorder"](self.path)
        for name in self.names["ATTACHED"]:
            if name in sys.modules:
                self.names["attach"](recorder, name, sys.modules[name])
        kind = MARKED

        def ended(seconds: float) -> None:
            nonlocal kind
            self.pairs[-1][kind].append(seconds)
            kind = RECORDED if recorder.on else RESTING if recorder.asleep > 0 else MARKED

        try:
            self.program.train(ended)
            self.thread += time.clock_gettime(time.pthread_getcpuclockid(self.started[-1]))
        finally:
            assert recorder.blocks
            recorder.stop()

    def report(self, loop: str) -> str:
        """Return what the blocks showed."""
        bare = [median(times.pop(BARE)) for times in self.pairs]
        counts = {kind: sum(len(times[kind]) for times in self.pairs) for kind in (RECORDED, MARKED, RESTING)}
        steps = sum(counts.values())
        thread = 1e6 * self.thread / steps
        parts, total, sums = [], thread, [thread] * len(self.pairs)
        for kind, count in counts.items():
            added = [1e6 * (median(times[kind]) - base) if times[kind] else None
                     for times, base in zip(self.pairs, bare, strict=True)]  # fmt: skip
            middle = median([difference for difference in added if difference is not None] or [0.0])
            share = count / steps
            total += share * middle
            sums = [other + share * (middle if own is None else own) for other, own in zip(sums, added, strict=True)]
            parts.append(f"{kind} {middle:.0f} µs ({100 * share:.0f} % of the steps)")
        low, high = median_interval(sums)
        verdict = "at most" if high <= GOAL else "ABOVE" if low > GOAL else "NOT KNOWN whether at most"
        return (
            f"{loop}: {total:.0f} µs a step (95 %: {low:.0f} to {high:.0f}), {verdict} {GOAL:.0f} µs: "
            f"{', '.join(parts)}, "
            f"its thread {thread:.0f} µs; a step without it {1e6 * median(bare):.0f} µs, {steps} steps"
        )


def median_interval(values: list[float]) -> tuple[float, float]:
    """Return the order statistics between which the median lies with 95 %, by the normal limit of the binomial."""
    ordered, count = sorted(values), len(values)
    below = max(0, int((count - 1.96 * count**0.5) / 2))
    return ordered[below], ordered[count - 1 - below]


def measure(loop: str, rank: int, options: argparse.Namespace, folder: str) -> str:
    """Return what the pairs of a rank showed."""
    dist.init_process_group("gloo", init_method=f"file://{folder}/{loop}", rank=rank, world_size=LOOPS[loop][0])
    steps = max(20, int(1000 * options.seconds / options.milliseconds))
    program = Program(steps, options.milliseconds / 1000, loop)
    program.train(lambda _: None)
    bench, order = Bench(program, f"{folder}/rank-{rank}.json"), random.Random(1)
    for _ in range(options.pairs):
        bench.pair(order)
    dist.destroy_process_group()
    return bench.report(loop)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=15, help="interleaved pairs of blocks")
    parser.add_argument("--milliseconds", type=float, default=10.0, help="time of a step")
    parser.add_argument("--seconds", type=float, default=2.0, help="time of a block")
    parser.add_argument("--loops", default=",".join(LOOPS), help="loops to measure")
    options = parser.parse_args()
    loops = options.loops.split(",")
    if unknown := [loop for loop in loops if loop not in LOOPS]:
        parser.error(f"no such loop: {', '.join(unknown)}; there are {', '.join(LOOPS)}")
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        for loop in loops:
            children = []
            for rank in range(LOOPS[loop][0]):
                child = os.fork()
                if child == 0:
                    try:
                        report = measure(loop, rank, options, folder)
                        if rank == 0:
                            print(report, flush=True)
                        os._exit(0)
                    finally:
                        os._exit(1)
                children.append(child)
            codes = [os.waitpid(child, 0)[1] for child in children]
            if any(codes):
                sys.exit(f"{loop}: a process failed")


if __name__ == "__main__":
    main()
