"""Step time of the recipe torch-ddp with the runtime's meter and markers, as a ratio to the same loop without them.

    python tests/bench/bench_step_time.py [--pairs 41] [--processes 1,2]

The loop is taken from train.py itself; the bare one is the same syntax tree without `meter`, `exposed` and
`should_stop`. Both train a network of their own from the same start on the same data and must end with the same
weights. They take turns step by step, in random order, so that a busy machine slows both alike; all steps of some
epochs make a pair and give one ratio. The interval of the median comes from order statistics (sign test), so it assumes
nothing about how noise is distributed.
"""

import argparse
import ast
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

RECIPE = Path(__file__).resolve().parents[2] / "recipes" / "torch-ddp"
SHARED = (Path(__file__).resolve().parents[2] / "hackathon" / "runtime", RECIPE.parent / "shared")
MEASURING = {"meter", "exposed", "should_stop"}


class _Bare(ast.NodeTransformer):
    """Takes out every statement that only measures: `with meter.phase(…)` leaves its body."""

    def visit_With(self, node: ast.With) -> Any:
        self.generic_visit(node)
        return node.body if _names(node.items[0].context_expr) & MEASURING else node

    def visit_Expr(self, node: ast.Expr) -> Any:
        return None if _names(node) & MEASURING else node

    def visit_Assign(self, node: ast.Assign) -> Any:
        return None if _names(node.value) & MEASURING else node

    def visit_If(self, node: ast.If) -> Any:
        return None if _names(node.test) & MEASURING else node


def _names(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


def loops() -> tuple[str, str]:
    """Return the source of train.py's loop over batches as a generator `block(epoch)`, measured and bare."""
    tree = ast.parse((RECIPE / "train.py").read_text())
    found = [
        node for node in ast.walk(tree)
        if isinstance(node, ast.For) and isinstance(node.target, ast.Name) and node.target.id == "batch"
    ]  # fmt: skip
    assert len(found) == 1, "train.py has one loop over batches"
    sources = []
    for loop in (found[0], _Bare().visit(ast.parse(ast.unparse(found[0])).body[0])):
        head = "def block(epoch):\n    batches, first_batch = data.epoch(epoch), 0\n"
        body = "\n".join(f"    {line}" for line in ast.unparse(loop).splitlines())
        sources.append(f"{head}{body}\n        yield\n")
    assert _names(ast.parse(sources[0])) >= MEASURING and not _names(ast.parse(sources[1])) & MEASURING
    return sources[0], sources[1]


def interval(values: list[float]) -> tuple[float, float, float]:
    """Return (median, low, high): the narrowest order statistics that cover the median with at least 95 %."""
    ordered, n = sorted(values), len(values)
    outside, low = 0.0, 0
    while outside + math.comb(n, low) / 2**n <= 0.025:
        outside += math.comb(n, low) / 2**n
        low += 1
    low = max(0, low - 1)
    return statistics.median(ordered), ordered[low], ordered[n - 1 - low]


def overhead(bare: list[float], ratios: list[float], steps: int) -> str:
    """Return what pairs showed: seconds of a step without, ratios of with to without, steps of a pair's half."""
    median, low, high = interval(ratios)
    return (
        f"step {1000 * statistics.median(bare):.3f} ms without, ratio with/without median {median:.4f}, "
        f"95 % interval {low:.4f}–{high:.4f}, {len(ratios)} pairs of {steps} steps"
    )


def measure(pairs: int, epochs: int) -> None:
    """Run in each process: print rank 0's ratios."""
    sys.path[:0] = [str(RECIPE), *map(str, SHARED)]
    import torch
    import torch.distributed as dist
    import train
    from communication import ExposedCommunication
    from data import Digits
    from hackathon_runtime import Meter, Stopper, identity

    warnings.filterwarnings("ignore", "`broadcast_buffers`")  # as in train.py
    me = identity()
    device = train.connect(me, False)
    args = argparse.Namespace(lr=0.01, warmup_epochs=1, epochs=(pairs + 1) * epochs, batch_size=64)
    data = Digits(args.batch_size, 1, me.rank, me.world_size, device)
    blocks: list[Callable[[int], Iterator[None]]] = []
    nets = []
    for measured, source in zip((True, False), loops(), strict=True):
        torch.manual_seed(1)
        net = train.small_cnn()
        net.train()
        model = train.DistributedDataParallel(net, broadcast_buffers=False) if me.world_size > 1 else net
        optimizer = torch.optim.SGD(net.parameters(), lr=args.lr, momentum=0.9, weight_decay=1e-4)
        space: dict[str, Any] = {
            **vars(train), "args": args, "me": me, "data": data, "model": model, "optimizer": optimizer,
            "loss_of": torch.nn.CrossEntropyLoss(),
        }  # fmt: skip
        if measured:
            space |= {
                "meter": Meter(every_steps=25),
                "exposed": ExposedCommunication(net, device),
                "should_stop": Stopper(lambda number: train.from_rank_zero(number, device)),
            }
        exec(compile(source, "train.py", "exec"), space)
        blocks.append(space["block"])
        nets.append(net)

    order = random.Random(1)  # the same order on all ranks
    times = [[0.0, 0.0] for _ in range(pairs + 1)]  # the first pair warms up
    for epoch in range(args.epochs):
        steps = [block(epoch) for block in blocks]
        for number in range(data.steps):
            for which in order.sample([0, 1], 2):
                torch.manual_seed(number)  # the same dropout for both
                if dist.is_initialized():
                    dist.barrier()
                start = time.perf_counter()
                next(steps[which])
                times[epoch // epochs][which] += time.perf_counter() - start
    for one, other in zip(nets[0].parameters(), nets[1].parameters(), strict=True):
        assert torch.equal(one, other), "the two loops do not train alike"
    if me.rank == 0:
        ratios = [measured / bare for measured, bare in times[1:]]
        median, low, high = interval(ratios)
        step = statistics.median(bare for _, bare in times[1:]) / (epochs * data.steps) * 1000
        print(
            f"processes {me.world_size}: step {step:.3f} ms without, ratio with/without median {median:.4f}, "
            f"95 % interval {low:.4f}–{high:.4f}, {len(ratios)} pairs of {epochs * data.steps} steps",
            flush=True,
        )
    if dist.is_initialized():
        dist.destroy_process_group()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=41, help="interleaved pairs (at least 11)")
    parser.add_argument("--processes", default="1,2", help="process counts, one study each")
    parser.add_argument("--worker", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        measure(options.pairs, options.worker)
        return
    if options.pairs < 11:
        parser.error("at least 11 pairs")
    for processes in map(int, options.processes.split(",")):
        with tempfile.TemporaryDirectory() as run:
            for name in ("metrics", "events"):
                (Path(run) / name).mkdir()
            environ = {**os.environ, "OMP_NUM_THREADS": "1", "HK_RUN": run, "HK_STOP": str(Path(run) / "stop")}
            launcher = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}"]
            # about 44 steps a pair
            worker = [__file__, "--pairs", str(options.pairs), "--worker", str(2 * processes)]
            subprocess.run([sys.executable, *(launcher if processes > 1 else []), *worker], env=environ, check=True)


if __name__ == "__main__":
    main()
