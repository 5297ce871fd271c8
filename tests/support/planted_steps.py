"""Training steps with known shares: ranks that meter planted times with the real runtime, on a clock that tests turn.

The ranks take turns step by step in one process, each with a Meter of its own. A collective ends for all at once, the
last rank's entry and the transfer after it began; so what each rank waits is known exactly.
"""

import importlib.util
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hackathon.profiling.shares import StepShares
from support.paths import RUNTIME

PARTS = ("data", "host", "compute", "communication", "waiting", "other")
STRENGTHS = (0.02, 0.05, 0.1)
"""Seconds that a fault adds to a healthy step of 0.1 s: three strengths."""


def load_runtime() -> Any:
    """Return the runtime as a module of its own."""
    spec = importlib.util.spec_from_file_location("hackathon_runtime_of_planted_steps", RUNTIME)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@dataclass(frozen=True)
class Step:
    """What one rank does in one step, in seconds."""

    data: float = 0.004
    host: float = 0.003
    compute: float = 0.08
    transfer: float = 0.01
    """Of the collective, after the last rank has entered it."""
    other: float = 0.003


Plan = Callable[[int, int, int, float], Step]
"""(rank, step, processes, strength) → what the rank does."""


def healthy(rank: int, step: int, processes: int, strength: float) -> Step:
    """Nothing is wrong; the ranks differ by 2 ms from step to step."""
    return Step(compute=0.08 + 0.002 * ((rank + step) % 2))


def slow_loader(rank: int, step: int, processes: int, strength: float) -> Step:
    """Every rank waits for its loader."""
    return Step(data=0.004 + strength)


def exposed_communication(rank: int, step: int, processes: int, strength: float) -> Step:
    """The transfer is not hidden behind computing."""
    return Step(transfer=0.01 + strength)


def straggler(rank: int, step: int, processes: int, strength: float) -> Step:
    """The last rank computes longer."""
    return Step(compute=0.08 + strength * (rank == processes - 1))


def host_bound(rank: int, step: int, processes: int, strength: float) -> Step:
    """Python works between the parts of a step."""
    return Step(host=0.003 + strength)


def imbalance(rank: int, step: int, processes: int, strength: float) -> Step:
    """In each step another rank has more samples."""
    return Step(compute=0.08 + strength * (step % processes == rank))


FAULTS: Mapping[str, Plan] = {
    "slow-loader": slow_loader, "exposed-communication": exposed_communication, "straggler": straggler,
    "host-bound": host_bound, "imbalance": imbalance,
}  # fmt: skip
"""Id of the advice that a fault calls for → the fault."""


@dataclass
class Truth:
    """What was planted in a rank, in seconds over all its steps behind the warm-up."""

    spent: dict[str, float] = field(default_factory=lambda: dict.fromkeys(PARTS, 0.0))
    steps: int = 0

    def share(self, part: str) -> float:
        """Return a part's share of the time."""
        return self.spent[part] / sum(self.spent.values())


class _Turned:
    """A clock that goes on only when told."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@contextmanager
def rank_environment(run: Path, rank: int, processes: int) -> Iterator[None]:
    """Be a rank of a run inside the block."""
    mine = {"HK_RUN": str(run), "HK_RANK": str(rank), "HK_PROCESSES": str(processes), "HK_LOCAL_RANK": str(rank)}
    before = {name: os.environ.get(name) for name in mine}
    os.environ.update(mine)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


def plant(run: Path, plan: Plan, processes: int, strength: float, *, steps: int = 60, warmup: int = 10) -> list[Truth]:
    """Write the metrics of a run with planted steps, and return what was planted in each rank."""
    (run / "metrics").mkdir(parents=True, exist_ok=True)
    runtime = load_runtime()
    clocks, cpus, meters = [], [], []
    for rank in range(processes):
        clock, cpu = _Turned(), _Turned()
        clock.now += 1000.0 * rank  # no two hosts count from the same moment
        with rank_environment(run, rank, processes):
            # the time limit of a line makes the ranks close their lines at different steps
            meters.append(runtime.Meter(warmup=warmup, every_seconds=1.5 + 0.1 * rank, clock=clock, cpu_clock=cpu))
        clocks.append(clock)
        cpus.append(cpu)
    truths = [Truth() for _ in range(processes)]
    for number in range(steps):
        todo = [plan(rank, number, processes, strength) for rank in range(processes)]
        ready = [each.data + each.host + each.compute + each.other for each in todo]
        for rank, (step, clock, cpu, meter) in enumerate(zip(todo, clocks, cpus, meters, strict=True)):
            waits = max(ready) - ready[rank] if processes > 1 else 0.0
            transfer = step.transfer if processes > 1 else 0.0
            with meter.phase("data"):
                clock.now += step.data
            clock.now += step.host
            cpu.now += step.host
            with meter.phase("compute"):
                clock.now += step.compute
                cpu.now += step.compute
            clock.now += step.other
            if processes > 1:
                with meter.phase("communication"):
                    clock.now += waits + transfer
            meter.step(samples=processes)
            if number >= warmup:
                truth = truths[rank]
                truth.steps += 1
                for part, spent in (
                    ("data", step.data), ("host", step.host), ("compute", step.compute), ("waiting", waits),
                    ("communication", transfer), ("other", step.other),
                ):  # fmt: skip
                    truth.spent[part] += spent
    for meter in meters:
        meter.final()
    return truths


def planted_shares(truths: Sequence[Mapping[str, Any]]) -> list[dict[str, float]]:
    """Return the shares of a step on each rank by what the ranks' own clocks saw.

    A truth has the seconds `data`, `host`, `compute` and `step`, and the moments at which the rank `entered` and `left`
    each collective: it waits until the last rank has entered.
    """
    last = [max(moments) for moments in zip(*(truth["entered"] for truth in truths), strict=True)]
    found = []
    for truth in truths:
        known = {part: truth[part] for part in ("data", "host", "compute")}
        known["waiting"] = sum(moment - own for moment, own in zip(last, truth["entered"], strict=True))
        known["communication"] = sum(left - moment for moment, left in zip(last, truth["left"], strict=True))
        known["other"] = truth["step"] - sum(known.values())
        found.append({part: spent / truth["step"] for part, spent in known.items()})
    return found


def apart(told: Sequence[StepShares], planted: Sequence[Mapping[str, float]], points: float) -> str:
    """Return the first share that is not told to within `points`; empty when all are."""
    for each, truth in zip(told, planted, strict=True):
        for part, share in truth.items():
            if abs((each.share(part) or 0.0) - share) > points:
                return f"rank {each.rank}: {part} is {share:.3f}, told {each.share(part)}"
    return ""
