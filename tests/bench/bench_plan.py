"""Speed and gaps of `hackathon plan` as ratios to its targets, and brute force in full. Prints, judges nothing.

    python tests/bench/bench_plan.py [speed] [gaps] [shapes] [oracle] [--chains N] [--seconds N]

Seconds are those of the processor: `--seconds` of the search counts them too here, so that other work on the machine
does not change a result.
"""

import argparse
import random
import resource
import statistics
import sys
import time
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parents[2])]
time.monotonic = time.process_time

from hackathon.parallel.plan.bound import OBJECTIVES  # noqa: E402
from hackathon.parallel.plan.devices import devices_of  # noqa: E402
from hackathon.parallel.plan.graph import graph_of  # noqa: E402
from hackathon.parallel.plan.plan import make_plan  # noqa: E402
from hackathon.parallel.plan.request import PlanRequest, PlanResult  # noqa: E402
from support.plan_graphs import transformer  # noqa: E402
from support.plan_oracle import Oracle, random_devices, random_graph  # noqa: E402


def main() -> None:
    """Measure what the command line names, or everything."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("parts", nargs="*")
    parser.add_argument("--chains", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=10.0, help="time of the search for each chain of `gaps`")
    given = parser.parse_args()
    parts = given.parts or ["speed", "gaps", "shapes", "oracle"]
    if "speed" in parts:
        speed()
    if "gaps" in parts:
        gaps(given.chains, given.seconds)
    if "shapes" in parts:
        shapes(given.seconds)
    if "oracle" in parts:
        oracle()


def chain(dice: random.Random, count: int) -> dict[str, Any]:
    """Return a chain with the proportions of a network: about 1 ms, 5 MB of parameters and 0.5 MB of output each."""
    operators = [
        {
            "name": f"o{number:05d}", "forward": dice.uniform(0.2, 1) * 1e-3, "backward": dice.uniform(0.4, 2) * 1e-3,
            "parameters": dice.randint(0, 10**7), "saved": 10**6, "workspace": 10**6,
        }
        for number in range(count)
    ]  # fmt: skip
    edges = [
        {"from": f"o{number:05d}", "to": f"o{number + 1:05d}", "bytes": dice.randint(10**5, 10**6)}
        for number in range(count - 1)
    ]
    return {"schema_version": 1, "operators": operators, "edges": edges}


def timed(
    graph: dict[str, Any], devices: dict[str, Any], m: int, objective: str, **more: Any
) -> tuple[PlanResult, float]:
    """Return a plan and the seconds it took."""
    start = time.process_time()
    result = make_plan(PlanRequest(graph_of(graph, "g"), devices_of(devices, "d"), m, objective, **more))
    return result, time.process_time() - start


def speed() -> None:
    """Print the time of large graphs."""
    devices = {"memory": 1e15, "bandwidth": 1e10, "latency": 1e-6}
    for count, number, objective, more, target, most in (
        (100, 8, "max-load", {}, 1, 0), (100, 8, "fill", {}, 1, 0),
        (1000, 8, "max-load", {}, 2, 0), (1000, 8, "max-load", {"replicas": (1,)}, 2, 0),
        (1000, 8, "fill", {}, 2, 0), (1000, 8, "fill", {"replicas": (1,)}, 2, 0),
        (10_000, 8, "max-load", {}, 3, 2), (10_000, 8, "max-load", {"replicas": (1,)}, 3, 2),
        (10_000, 8, "fill", {}, 3, 2), (10_000, 8, "fill", {"replicas": (1,)}, 3, 2),
        (10_000, 8, "max-load", {"replicas": (1,), "seconds": None}, 90, 0),
        (100, 64, "max-load", {}, None, None), (100, 64, "step", {}, 10, 10), (1000, 8, "step", {}, 10, 10),
    ):  # fmt: skip
        graph = chain(random.Random(1), count)
        result, seconds = timed(graph, {**devices, "count": number}, 16, objective, **more)
        gap = 100 * (result.gap or 0.0)
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
        ratio = f"{seconds / target:.2f} of {target} s" if target else f"{seconds:.2f} s"
        allowed = f" (of {most} %)" if most is not None else ""
        print(f"{count} x {number} {objective} {more}: {ratio}, gap {gap:.3g} %{allowed},"
              f" proven {result.proven}, {memory:.2f} of 1 GB", flush=True)  # fmt: skip


def gaps(chains: int, limit: float) -> None:
    """Print how far the steps of random chains are from their bounds, which should be 10 % in the median."""
    found, proven, most = [], 0, 0.0
    for seed in range(chains):
        dice = random.Random(seed)
        graph = chain(dice, dice.choice((20, 40, 60, 100, 200, 400)))
        whole = sum(4 * each["parameters"] + 5 * each["saved"] for each in graph["operators"])
        devices = {
            "count": dice.choice((2, 4, 8)), "memory": whole * dice.choice((0.3, 0.6, 2.0)),
            "bandwidth": dice.choice((1e9, 1e10, 1e11)), "latency": 1e-5,
        }  # fmt: skip
        result, seconds = timed(graph, devices, dice.choice((4, 8, 16, 32)), "step", seconds=limit)
        most = max(most, seconds)
        if result.gap is not None:
            found.append(100 * result.gap)
            proven += result.proven
            print(f"chain {seed}: {len(graph['operators'])} x {devices['count']}, {seconds:.1f} s,"
                  f" gap {100 * result.gap:.2f} %", flush=True)  # fmt: skip
    nine = sorted(found)[int(0.9 * len(found))]
    print(f"step: {len(found)} chains, {proven} proven, gap median {statistics.median(found):.2f} %, 90 % {nine:.2f} %,"
          f" worst {max(found):.2f} %, longest {most:.1f} s")  # fmt: skip


def shapes(limit: float) -> None:
    """Print the step of the search without given stages, as a ratio to the best one with equal replicas."""
    sizes = ((16, 12), (27, 11), (32, 11))
    graphs = [(f"transformer of {layers}", transformer(layers), memory) for layers, memory in sizes]
    graphs += [(f"chain of {count}", chain(random.Random(count), count), 6) for count in (100, 400, 1500)]
    for name, graph, memory in graphs:
        devices = {
            "count": 8, "memory": memory * sum(each["parameters"] for each in graph["operators"]) / 8,
            "bandwidth": 25e9, "latency": 1e-5,
        }  # fmt: skip
        free, took = timed(graph, devices, 16, "step", recompute="auto", seconds=limit)
        values = [
            result.value
            for stages, count in ((8, 1), (7, 1), (6, 1), (4, 2), (2, 4))
            for result, _ in [
                timed(graph, devices, 16, "step", recompute="auto", seconds=limit, stages=stages, replicas=(count,))
            ]
            if result.value is not None
        ]
        ratio = f"{free.value / min(values):.4f}" if free.value and values else "no plan"
        print(f"{name}: {free.value or 0:.5g} s, {ratio} of the best with equal replicas, gap"
              f" {100 * (free.gap or 0):.1f} %, {took:.1f} s", flush=True)  # fmt: skip


def oracle() -> None:
    """Compare with brute force: 500 chains, 100 larger ones, 25 branched graphs; print how many differ."""
    for title, count, sizes, most, branched in (
        ("chains", 500, (1, 6), 4, False), ("larger chains", 100, (7, 9), 4, False), ("branched", 40, (4, 7), 3, True),
    ):  # fmt: skip
        different = empty = plans = 0
        for seed in range(count):
            dice = random.Random(10_000 + seed)
            graph = random_graph(dice, dice.randint(*sizes), branched=branched, aliases=dice.random() < 0.4)
            devices = random_devices(dice, dice.randint(1 if most > 3 else 2, most), graph)
            modes = ("never", "auto", "all") if sizes[1] < 7 else ("never", "never", "all")
            options = {"recompute": dice.choice(modes), "offload": dice.choice(modes)}
            m = dice.randint(1, 6)
            for objective in OBJECTIVES:
                best = Oracle(graph, devices, m).best(objective, **options)
                result, _ = timed(graph, devices, m, objective, seconds=None, **options)
                plan, plans = result.plan, plans + 1
                if best is None or plan is None:
                    empty += 1
                    different += (best is None) != (plan is None) or not result.proven
                    continue
                same = abs((result.value or 0) - best[0]) <= 1e-9 * best[0]
                same &= (plan.devices_used, len(plan.stages)) == best[1:] and (result.bound or 0) <= best[0] * (
                    1 + 1e-12
                )
                different += not (same and result.proven)
        print(f"{title}: {plans} plans compared, {different} different, {empty} without a plan that fits", flush=True)


if __name__ == "__main__":
    main()
