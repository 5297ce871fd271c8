"""Real processes that meter planted times with the real runtime, and say by their own clocks what came of them.

    python planted_ranks.py RUN PROCESSES FAULT STRENGTH SCALE

Times of a fault (`support.planted_steps`) are slept, work on the host is done. A collective is a barrier and a
moment at which all leave. `RUN/truth-<rank>.json`: seconds of each part, and the moments of entering each collective.
"""

import json
import multiprocessing
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from support.planted_steps import FAULTS, healthy, load_runtime, rank_environment

WARMUP, STEPS = 1, 10


def work(seconds: float) -> None:
    """Keep a CPU busy for so long by the clock of this thread."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def train(rank: int, run: Path, processes: int, plan: Any, strength: float, scale: float, met: Any, leave: Any) -> None:
    """Make the steps of one rank."""
    truth: dict[str, Any] = dict.fromkeys(("data", "host", "compute", "step"), 0.0) | {"entered": [], "left": []}
    with rank_environment(run, rank, processes):
        meter = load_runtime().Meter(warmup=WARMUP, every_steps=4)
    met.wait()
    for number in range(WARMUP + STEPS):
        step = plan(rank, number, processes, strength)
        marks = [time.perf_counter()]
        with meter.phase("data"):
            time.sleep(step.data * scale)
            marks.append(time.perf_counter())
        before = time.thread_time()
        work(step.host * scale)
        host = time.thread_time() - before
        with meter.phase("compute"):
            marks.append(time.perf_counter())
            time.sleep(step.compute * scale)
            marks.append(time.perf_counter())
        time.sleep(step.other * scale)
        with meter.phase("communication"):
            entered = time.perf_counter()
            if met.wait() == 0:
                leave.value = time.perf_counter() + step.transfer * scale
            met.wait()
            time.sleep(max(0.0, leave.value - time.perf_counter()))
            left = time.perf_counter()
        meter.step(samples=processes)
        if number >= WARMUP:
            truth["data"] += marks[1] - marks[0]
            truth["host"] += host
            truth["compute"] += marks[3] - marks[2]
            truth["step"] += time.perf_counter() - marks[0]
            truth["entered"].append(entered)
            truth["left"].append(left)
    meter.final()
    (run / f"truth-{rank}.json").write_text(json.dumps(truth))


def main(run: Path, processes: int, fault: str, strength: float, scale: float) -> None:
    """Train in so many processes."""
    (run / "metrics").mkdir(parents=True)
    fork = multiprocessing.get_context("fork")
    met, leave = fork.Barrier(processes), fork.Value("d", 0.0)
    plan = FAULTS.get(fault, healthy)
    ranks = [
        fork.Process(target=train, args=(rank, run, processes, plan, strength, scale, met, leave))
        for rank in range(processes)
    ]
    for each in ranks:
        each.start()
    for each in ranks:
        each.join()
    sys.exit(max(each.exitcode or 0 for each in ranks))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3], float(sys.argv[4]), float(sys.argv[5]))
