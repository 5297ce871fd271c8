"""Processor time of a step with the always-on shares, as a ratio to the same step with a Meter that tells none.

    python tests/bench/bench_step_shares.py [--pairs 41] [--milliseconds 2]

Both take turns step by step, in random order; all steps of a block make a pair and give one ratio. Processor time of
the thread is counted, so other users of the machine do not. The interval of the median comes from order statistics.
A step is some milliseconds of Python with the phases of the recipe torch-ddp around it, as one of two ranks.
"""

import argparse
import importlib.util
import os
import random
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from bench_step_time import overhead

RUNTIME = Path(__file__).resolve().parents[2] / "hackathon" / "runtime" / "hackathon_runtime.py"


def load() -> Any:
    """Return the runtime as a module."""
    spec = importlib.util.spec_from_file_location("hackathon_runtime", RUNTIME)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def work(rounds: int) -> int:
    """Compute something."""
    total = 0
    for number in range(rounds):
        total = (total * 31 + number) % 1_000_003
    return total


def metered(meter: Any, rounds: int) -> None:
    """Make a step as the recipe torch-ddp does."""
    with meter.phase("data"):
        pass
    with meter.phase("compute"):
        work(rounds)
    meter.move(0.0, "compute", "communication")
    meter.step(samples=64, step=1, epoch=0, loss=0.5)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=41, help="interleaved pairs (at least 11)")
    parser.add_argument("--milliseconds", type=float, default=2.0, help="processor time of a bare step")
    options = parser.parse_args()
    if options.pairs < 11:
        parser.error("at least 11 pairs")
    start = time.thread_time()
    work(100_000)
    rounds = int(100_000 * options.milliseconds / 1000 / (time.thread_time() - start))
    with tempfile.TemporaryDirectory() as run:
        (Path(run) / "metrics").mkdir()
        runtime = load()
        os.environ.update(HK_RUN=run, HK_RANK="0", HK_PROCESSES="1")
        plain = runtime.Meter(every_steps=25, cpu_clock=None)  # alone, without a clock of the thread: neither is kept
        os.environ.update(HK_RANK="1", HK_PROCESSES="2")
        meter = runtime.Meter(every_steps=25)
        order, steps = random.Random(1), 50
        ratios, bare = [], []
        for _ in range(options.pairs):
            times = [0.0, 0.0]
            for _ in range(steps):
                for which in order.sample([0, 1], 2):
                    start = time.thread_time()
                    metered(meter if which else plain, rounds)
                    times[which] += time.thread_time() - start
            ratios.append(times[1] / times[0])
            bare.append(times[0] / steps)
        for each in (plain, meter):
            each.final()
    print(overhead(bare, ratios, steps))


if __name__ == "__main__":
    main()
