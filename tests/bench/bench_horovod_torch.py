"""Samples/s of the recipe horovod-torch, as a ratio to the shortest loop that Horovod's documentation would write.

    python tests/bench/bench_horovod_torch.py [--pairs 21] [--processes 1,2]     (Python of the recipe's environment)

The recipe's loop is taken from train.py itself; the other one has no meter, no stop file and no wait of its own before
the step. Both train a network of their own from the same start on the same data and must end with the same weights.
They take turns step by step, in random order, so that a busy machine slows both alike; all steps of some epochs make a
pair and give one ratio. The interval of the median comes from order statistics (sign test).
"""

import argparse
import ast
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from bench_step_time import interval

RECIPE = Path(__file__).resolve().parents[2] / "recipes" / "horovod-torch"
SHARED = (Path(__file__).resolve().parents[2] / "hackathon" / "runtime", RECIPE.parent / "shared")
MINIMAL = """
def block(epoch):
    for images, labels in data.epoch(epoch):
        set_learning_rate(optimizer, args, me.world_size, next(steps), data.steps)
        optimizer.zero_grad()
        loss = loss_of(net(images), labels)
        loss.backward()
        optimizer.step()
        yield
"""


def recipes_loop() -> str:
    """Return the source of train.py's loop over batches as a generator `block(epoch)`."""
    found = [
        node for node in ast.walk(ast.parse((RECIPE / "train.py").read_text()))
        if isinstance(node, ast.For) and isinstance(node.target, ast.Name) and node.target.id == "batch"
    ]  # fmt: skip
    assert len(found) == 1, "train.py has one loop over batches"
    body = "\n".join(f"    {line}" for line in ast.unparse(found[0]).splitlines())
    return f"def block(epoch):\n    batches, first_batch = data.epoch(epoch), 0\n{body}\n        yield\n"


def measure(pairs: int, epochs: int) -> None:
    """Run in each process: print rank 0's ratios."""
    sys.path[:0] = [str(RECIPE), *map(str, SHARED)]
    import horovod.torch as hvd
    import torch
    import train
    from communication import connect, distributed, from_rank_zero, leave
    from data import Digits
    from hackathon_runtime import Meter, Stopper, identity

    me = identity()
    device = connect(me, "average")
    args = argparse.Namespace(lr=0.01, warmup_epochs=1, epochs=(pairs + 1) * epochs, batch_size=64)
    data = Digits(args.batch_size, 1, me.rank, me.world_size, device)
    blocks: list[Callable[[int], Iterator[None]]] = []
    nets = []
    for source in (recipes_loop(), MINIMAL):
        torch.manual_seed(1)
        net = train.small_cnn()
        # Horovod knows tensors by their names, and two networks are trained at once
        named = torch.nn.ModuleDict({f"net{len(nets)}": net})
        optimizer = torch.optim.SGD(net.parameters(), lr=args.lr, momentum=0.9, weight_decay=1e-4)
        space: dict[str, Any] = {
            **vars(train), "args": args, "me": me, "data": data, "net": net, "adasum": False,
            "optimizer": distributed(optimizer, named, "none", "average"), "loss_of": torch.nn.CrossEntropyLoss(),
            "meter": Meter(every_steps=25), "should_stop": Stopper(from_rank_zero),
            "steps": iter(range(args.epochs * data.steps)),
        }  # fmt: skip
        exec(compile(source, "loop", "exec"), space)
        blocks.append(space["block"])
        nets.append(net)

    order = random.Random(1)  # the same order on all ranks
    times = [[0.0, 0.0] for _ in range(pairs + 1)]  # the first pair warms up
    for epoch in range(args.epochs):
        loops = [block(epoch) for block in blocks]
        for number in range(data.steps):
            for which in order.sample([0, 1], 2):
                torch.manual_seed(number)  # the same dropout for both
                hvd.barrier()
                start = time.perf_counter()
                next(loops[which])
                times[epoch // epochs][which] += time.perf_counter() - start
    for one, other in zip(nets[0].parameters(), nets[1].parameters(), strict=True):
        assert torch.equal(one, other), "the two loops do not train alike"
    if me.rank == 0:
        samples = epochs * data.steps * args.batch_size * me.world_size
        ratios = [minimal / recipe for recipe, minimal in times[1:]]  # of samples/s
        median, low, high = interval(ratios)
        rates = [samples / statistics.median(pair[which] for pair in times[1:]) for which in (0, 1)]
        print(
            f"processes {me.world_size}: recipe {rates[0]:.0f} samples/s, minimal loop {rates[1]:.0f} samples/s, "
            f"ratio median {median:.4f}, 95 % interval {low:.4f}–{high:.4f}, {len(ratios)} pairs",
            flush=True,
        )
    leave()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=21, help="interleaved pairs (at least 11)")
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
            path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
            environ = {**os.environ, "OMP_NUM_THREADS": "1", "HK_RUN": run, "HK_STOP": f"{run}/stop", "PATH": path}
            launcher = ["horovodrun", "--gloo", "-np", str(processes)] if processes > 1 else []
            worker = [__file__, "--pairs", str(options.pairs), "--worker", str(2 * processes)]
            subprocess.run([*launcher, sys.executable, *worker], env=environ, check=True)


if __name__ == "__main__":
    main()
