"""Overhead of the pipeline runtime beside torch's own 1F1B, and steps of sleeping devices beside their prediction.

    python tests/bench/bench_pipeline.py [overhead] [sleep] [--plans N]

Prints ratios, judges nothing. `overhead`: stages of one tiny layer, 32 micro-batches; milliseconds per micro-batch with
2 and 4 ranks over gloo, the two runtimes in turn in the same processes. `sleep`: each operator sleeps for its time;
plans with 2, 4 and 8 ranks measured against simulated, and the chosen plan against even cuts.
"""

import argparse
import json
import os
import random
import socket
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parents[2])]

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
from torch import nn  # noqa: E402
from torch.distributed.pipelining import PipelineStage, Schedule1F1B  # noqa: E402
from torch.optim import SGD  # noqa: E402

from hackathon.parallel import AutoParallel  # noqa: E402
from hackathon.parallel.live.capture import capture  # noqa: E402
from hackathon.parallel.plan.devices import devices_of  # noqa: E402
from hackathon.parallel.plan.graph import graph_of  # noqa: E402
from hackathon.parallel.plan.plan import make_plan  # noqa: E402
from hackathon.parallel.plan.request import PlanRequest, PlanResult  # noqa: E402
from hackathon.parallel.plan.simulation import simulate  # noqa: E402
from support.cuts import at_boundaries  # noqa: E402

MICRO_BATCHES = 32


def main() -> None:
    """Measure what the command line names, or everything."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("parts", nargs="*")
    parser.add_argument("--plans", type=int, default=20)
    given = parser.parse_args()
    parts = given.parts or ["overhead", "sleep"]
    if "overhead" in parts:
        for ranks in (2, 4):
            found = on_ranks(ranks, overhead)
            own, theirs = found["own"], found["torch"]
            print(
                f"empty work, {ranks} ranks: own {own * 1e3:.2f} ms per micro-batch, torch 1F1B {theirs * 1e3:.2f} ms, "
                f"ratio {own / theirs:.2f}",
                flush=True,
            )
    if "sleep" in parts:
        sleeping(given.plans)


def on_ranks(ranks: int, call: Callable[..., Any], *arguments: Any) -> Any:
    """Run something on so many ranks of gloo; return what rank 0 found."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": str(ranks)}
    with tempfile.TemporaryDirectory() as folder:
        out, children = Path(folder) / "found.json", []
        for rank in range(ranks):
            child = os.fork()
            if not child:
                code = 1
                try:
                    torch.set_num_threads(1)
                    os.environ["RANK"] = str(rank)
                    dist.init_process_group("gloo", rank=rank, world_size=ranks)
                    found = call(*arguments)
                    if rank == 0:
                        out.write_text(json.dumps(found))
                    dist.barrier()
                    code = 0
                finally:
                    os._exit(code)
            children.append(child)
        codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
        if any(codes):
            raise SystemExit(f"ranks ended with {codes}")
        return json.loads(out.read_text())


# ---- overhead
def overhead(rounds: int = 60) -> dict[str, float]:
    """Return the least seconds per micro-batch of both runtimes, measured in turn."""
    ranks, rank = dist.get_world_size(), dist.get_rank()
    torch.manual_seed(0)
    layers = [nn.Linear(4, 4) for _ in range(ranks)]
    batch = (torch.randn(MICRO_BATCHES, 4), torch.randn(MICRO_BATCHES, 4))
    loss = nn.functional.mse_loss
    captured = capture(nn.Sequential(*layers), (batch[0][:1],), {}, loss, batch[1][:1], evaluation=False)
    names = captured.operators
    stages = [[name] for name in names[: ranks - 1]] + [list(names[ranks - 1 :])]
    plan = {
        "schema_version": 1, "micro_batches": MICRO_BATCHES,
        "stages": [{"operators": each, "replicas": 1} for each in stages],
    }  # fmt: skip
    parallel = AutoParallel(
        nn.Sequential(*layers), loss=loss, optimizer=lambda p: SGD(p, 0.1), example=batch, plan=plan, seed=1
    )
    pipeline = parallel._pipeline
    pieces = [[x, y] for x, y in zip(batch[0].split(1), batch[1].split(1), strict=True)]
    stage = PipelineStage(nn.Linear(4, 4), rank, ranks, torch.device("cpu"))
    schedule = Schedule1F1B(stage, MICRO_BATCHES, loss_fn=loss)

    def own() -> None:
        pipeline.step(pieces, lambda each: torch.full_like(each, 1 / MICRO_BATCHES))

    def theirs() -> None:
        if rank == 0:
            schedule.step(batch[0])
        elif rank == ranks - 1:
            schedule.step(target=batch[1], losses=[])
        else:
            schedule.step()

    times: dict[str, list[float]] = {"own": [], "torch": []}
    for _ in range(rounds):
        for name, call in (("own", own), ("torch", theirs)):
            dist.barrier()
            begin = time.perf_counter()
            call()
            dist.barrier()
            times[name].append((time.perf_counter() - begin) / MICRO_BATCHES)
    return {name: min(each[2:]) for name, each in times.items()}


# ---- sleeping devices
@torch.library.custom_op("bench::sleeping", mutates_args=())
def sleeping_operator(x: torch.Tensor, forward: float, backward: float) -> torch.Tensor:
    """Sleep forward and backward."""
    time.sleep(forward)
    return x.clone()


sleeping_operator.register_fake(lambda x, forward, backward: torch.empty_like(x))


def _backward(ctx: Any, gradient: torch.Tensor) -> Any:
    time.sleep(ctx.seconds)
    return gradient, None, None


def _context(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.seconds = inputs[2]


sleeping_operator.register_autograd(_backward, setup_context=_context)


class Sleeper(nn.Module):
    """A chain of operators that sleep."""

    def __init__(self, times: list[tuple[float, float]]) -> None:
        super().__init__()
        self.times, self.weight = times, nn.Parameter(torch.ones(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x * self.weight
        for forward, backward in self.times:
            x = sleeping_operator(x, forward, backward)
        return x.sum()  # type: ignore[no-any-return]


def planned(times: list[tuple[float, float]], ranks: int, micro_batches: int, **shape: Any) -> PlanResult:
    """Return the plan of a chain of sleeping operators."""
    names = [f"sleeping{'' if n == 0 else f'_{n}'}" for n in range(len(times))]
    rows = [
        {"name": name, "forward": f, "backward": b, "parameters": 1e9, "saved": 16, "workspace": 0}
        for name, (f, b) in zip(names, times, strict=True)
    ]
    edges = [{"from": a, "to": b, "bytes": 16} for a, b in pairwise(names)]
    graph = graph_of({"schema_version": 1, "operators": rows, "edges": edges}, "graph.json")
    # too little memory for one stage, so the plan is a pipeline; nothing is summed, so sums are planned to be free
    memory = 0.6 * 4e9 * len(times)
    devices = devices_of(
        {"count": ranks, "memory": memory, "bandwidth": 1e9, "allreduce_bandwidth": 1e18}, "devices.json"
    )
    return make_plan(PlanRequest(graph, devices, micro_batches, seconds=5.0, **shape))


def step_of(times: list[tuple[float, float]], stages: list[tuple[int, int]], micro_batches: int) -> float:
    """Return the least seconds of a step; `stages`: (number of sleeping operators, replicas)."""
    model, batch = Sleeper(times), (torch.randn(micro_batches, 4),)
    captured = capture(model, (batch[0][:1],), evaluation=False)
    ends, at = [], 1  # before them: the product with the weight
    for count, _ in stages[:-1]:
        at += count
        ends.append(at)
    stage_of = at_boundaries(captured.train, ends)
    rows = [
        {"operators": [name for name in captured.operators if stage_of[name] == number], "replicas": replicas}
        for number, (_, replicas) in enumerate(stages)
    ]
    plan = {"schema_version": 1, "micro_batches": micro_batches, "stages": rows}
    parallel = AutoParallel(model, optimizer=lambda p: SGD(p, 0.0), example=batch, plan=plan, seed=1)
    found = []
    for _ in range(4):
        dist.barrier()
        begin = time.perf_counter()
        parallel.step(batch)
        dist.barrier()
        found.append(time.perf_counter() - begin)
    return min(found[1:])


def sleeping(plans: int) -> None:
    """Print measured ÷ predicted over random plans, and chosen ÷ even beside its prediction."""
    dice, ratios, gains = random.Random(3), [], []
    for number in range(plans):
        ranks = (2, 4, 8)[number % 3]
        operators = dice.randint(max(4, ranks), 14)
        times = [(dice.uniform(0.01, 0.05), dice.uniform(0.02, 0.1)) for _ in range(operators)]
        micro_batches = dice.randint(4, 10)
        result = planned(times, ranks, micro_batches)
        assert result.plan is not None
        stages = [(len(each.operators), each.replicas) for each in result.plan.stages]
        predicted = simulate(result.plan).seconds
        measured = on_ranks(sum(r for _, r in stages), step_of, times, stages, micro_batches)
        ratios.append(measured / predicted)
        line = f"{ranks} ranks, {micro_batches} micro-batches, stages {stages}: measured ÷ predicted {ratios[-1]:.3f}"
        even = result.alternatives.get("even")
        if even is not None and len(even.stages) > 1:
            shape = [(len(each.operators), each.replicas) for each in even.stages]
            slower = on_ranks(sum(r for _, r in shape), step_of, times, shape, micro_batches)
            expected = simulate(even).seconds / predicted
            gains.append(slower / measured / expected)
            line += f"; even cuts {slower / measured:.3f} times as long, predicted {expected:.3f}"
        print(line, flush=True)
    print(f"measured ÷ predicted: {min(ratios):.3f} … {max(ratios):.3f}, median {statistics.median(ratios):.3f}")
    if gains:
        print(f"gain over even cuts ÷ predicted gain: {min(gains):.3f} … {max(gains):.3f}")


if __name__ == "__main__":
    main()
