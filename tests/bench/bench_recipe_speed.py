"""Samples/s of recipes as a ratio to the shortest loop that the framework's documentation would write.

    python tests/bench/bench_recipe_speed.py [--recipes torch-ddp] [--pairs 11] [--processes 1,2] [--clock wall]

The recipe's loop over batches is taken from its train.py as it stands there, with meter, stop file, learning-rate
schedule and all; the other one is written here and has a network, a wrapper, an optimizer and a loader of its own. They
take turns step by step, in random order, so that a busy machine slows both alike; all steps of some epochs make a pair
and give one ratio. Both begin with the same weights and data: the losses of their first steps must be equal. The
interval of the median comes from order statistics (sign test). A recipe is added by one entry in RECIPES: a function
that is called in each process, in the recipe's folder, and returns what a `Race` needs.
"""

import argparse
import ast
import itertools
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from bench_step_time import interval

FOLDER = Path(__file__).resolve().parents[2] / "recipes"
SHARE = 5.0
"""Percent that a recipe may be slower than the minimal loop."""


@dataclass
class Race:
    """Two loops in one process; each yields the loss of every step."""

    recipe: Callable[[int], Iterator[Any]]
    """Epoch → its steps."""
    minimal: Callable[[int], Iterator[Any]]
    steps: int
    """Steps of an epoch."""
    samples: int
    """Samples of a step over all processes."""
    rank: int
    processes: int
    seed: Callable[[int], object]
    """Sets the random numbers of a step, so that both have the same dropout."""
    barrier: Callable[[], object]
    leave: Callable[[], object]


def recipes_loop(program: ModuleType, names: dict[str, Any], result: str) -> Callable[[int], Iterator[Any]]:
    """Return train.py's loop over batches, and the assignment of `batches` before it, as a generator of `result`."""
    tree = ast.parse(Path(str(program.__file__)).read_text())
    bodies = [node.body for node in ast.walk(tree) if isinstance(node, ast.For)]
    found = [
        (before, loop)
        for body in bodies
        for before, loop in itertools.pairwise(body)
        if isinstance(loop, ast.For) and isinstance(loop.target, ast.Name) and loop.target.id == "batch"
    ]
    assert len(found) == 1, "train.py has one loop over batches"
    before, loop = found[0]
    assert isinstance(before, ast.Assign) and ast.unparse(before.targets[0]) == "batches"
    lines = [ast.unparse(before), *ast.unparse(loop).splitlines(), f"    yield {result}"]
    space = {**vars(program), **names}
    exec("def block(epoch):\n    first_batch = 0\n" + "".join(f"    {line}\n" for line in lines), space)
    block: Callable[[int], Iterator[Any]] = space["block"]
    return block


def torch_ddp(tuned: bool) -> Race:
    """The two recipes on DDP against PyTorch's tutorial (Getting Started with Distributed Data Parallel)."""
    import torch
    import torch.distributed as dist
    import train
    from communication import ExposedCommunication, leave
    from hackathon_runtime import Meter, Stopper, identity
    from sklearn.datasets import load_digits
    from torch import nn
    from torch.nn.parallel import DistributedDataParallel
    from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

    warnings.filterwarnings("ignore", "`broadcast_buffers`")  # as in train.py
    me, args = identity(), _defaults(train, tuned)
    device = train.connect(me, False)
    if tuned:
        from data import digits
        from parallel import wrap
        from step import Step

        data = digits(args, me, device)
    else:
        from data import Digits

        data = Digits(args.batch_size, args.seed, me.rank, me.world_size, device)
    torch.manual_seed(args.seed)
    net, loss_of = train.small_cnn(), nn.CrossEntropyLoss()
    names: dict[str, Any] = {
        "args": args, "me": me, "data": data, "loss_of": loss_of, "samples": args.batch_size, "net": net,
        "meter": Meter(every_steps=25), "exposed": ExposedCommunication(net, device),
        "should_stop": Stopper(lambda number: train.from_rank_zero(number, device)),
    }  # fmt: skip
    if tuned:
        names["model"] = wrap(net, args) if me.world_size > 1 else net
        names["step"] = Step(train.make_optimizer(net, args), loss_of, device.type, args.amp, args.accumulate)
    else:
        names["model"] = DistributedDataParallel(net, broadcast_buffers=False) if me.world_size > 1 else net
        names["optimizer"] = torch.optim.SGD(net.parameters(), lr=args.lr, momentum=0.9, weight_decay=1e-4)

    torch.manual_seed(args.seed)
    plain: nn.Module = train.small_cnn()
    plain = DistributedDataParallel(plain) if me.world_size > 1 else plain
    optimizer = torch.optim.SGD(plain.parameters(), lr=args.lr, momentum=0.9, weight_decay=1e-4)
    pictures = load_digits()
    order = torch.randperm(1797, generator=torch.Generator().manual_seed(0))[360:]
    images = torch.tensor(pictures.images, dtype=torch.float32)[:, None] / 16
    dataset = TensorDataset(images[order], torch.tensor(pictures.target)[order])
    sampler: DistributedSampler[Any] = DistributedSampler(dataset, me.world_size, me.rank, seed=args.seed)
    own = torch.Generator()  # the loader draws a number per epoch, which must not come from the dropout's
    loader = DataLoader(dataset, args.batch_size, sampler=sampler, drop_last=True, generator=own)

    def minimal(epoch: int) -> Iterator[Any]:
        sampler.set_epoch(epoch)
        for inputs, labels in loader:
            optimizer.zero_grad()
            loss = loss_of(plain(inputs.to(device)), labels.to(device))
            loss.backward()
            optimizer.step()
            yield loss.detach()

    return Race(
        recipes_loop(train, names, "loss.detach()"), minimal, data.steps, args.batch_size * me.world_size, me.rank,
        me.world_size, torch.manual_seed, dist.barrier if dist.is_initialized() else lambda: None, leave,
    )  # fmt: skip


def _defaults(train: ModuleType, tuned: bool) -> argparse.Namespace:
    """Return the recipe's options as nobody changed them, with a learning rate that one network bears for long."""
    sys.argv = ["train.py", "--lr", "0.01", "--epochs", "100000"]
    if not tuned:
        made: argparse.Namespace = train.options()
        return made
    from options import options

    chosen: argparse.Namespace = options(train.__doc__, 0)
    return chosen


RECIPES: dict[str, Callable[[], Race]] = {
    "torch-ddp": lambda: torch_ddp(False),
    "torch-ddp-tuned": lambda: torch_ddp(True),
}


CLOCKS: dict[str, Callable[[], float]] = {"wall": time.perf_counter, "processor": time.process_time}
"""`processor` counts what this process and its threads did, not what they waited for: for machines that are busy."""


def measure(recipe: str, pairs: int, epochs: int, clock: str) -> None:
    """Run in each process: print rank 0's ratios."""
    now = CLOCKS[clock]
    sys.path[:0] = map(str, (FOLDER / recipe, FOLDER.parent / "hackathon" / "runtime", FOLDER / "shared"))
    race = RECIPES[recipe]()
    blocks = (race.recipe, race.minimal)
    order = random.Random(1)  # the same order on all ranks
    times = [[0.0, 0.0] for _ in range(pairs + 1)]  # the first pair warms up
    for epoch in range((pairs + 1) * epochs):
        loops = [block(epoch) for block in blocks]
        for number in range(race.steps):
            losses = [0.0, 0.0]
            for which in order.sample([0, 1], 2):
                race.seed(number)
                race.barrier()
                start = now()
                loss = next(loops[which])
                times[epoch // epochs][which] += now() - start
                losses[which] = float(loss)
            assert epoch or number or losses[0] == losses[1], f"not the same network and data: {losses}"
        assert losses[0] < 3 and losses[1] < 3, f"a network does not learn: {losses}"
    if race.rank == 0:
        samples = epochs * race.steps * race.samples
        median, low, high = interval([minimal / own for own, minimal in times[1:]])  # of samples/s
        rates = [samples / statistics.median(pair[which] for pair in times[1:]) for which in (0, 1)]
        verdict = "yes" if low >= 1 - SHARE / 100 else "no" if high < 1 - SHARE / 100 else "not decided"
        print(
            f"{recipe}, processes {race.processes}, {clock} time: {rates[0]:.0f} samples/s, "
            f"minimal loop {rates[1]:.0f} samples/s, "
            f"ratio median {median:.4f}, 95 % interval {low:.4f}–{high:.4f}, {pairs} pairs; "
            f"within {SHARE:.0f} %: {verdict}",
            flush=True,
        )
    race.leave()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--recipes", default=",".join(RECIPES), help="which ones")
    parser.add_argument("--pairs", type=int, default=11, help="interleaved pairs (at least 11)")
    parser.add_argument("--processes", default="1,2", help="process counts, one study each")
    parser.add_argument("--clock", choices=CLOCKS, default="wall", help="processor: where other work runs")
    parser.add_argument("--worker", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        measure(options.recipes, options.pairs, options.worker, options.clock)
        return
    if options.pairs < 11:
        parser.error("at least 11 pairs")
    for recipe in options.recipes.split(","):
        for processes in map(int, options.processes.split(",")):
            with tempfile.TemporaryDirectory() as run:
                for name in ("metrics", "events"):
                    (Path(run) / name).mkdir()
                environ = {**os.environ, "OMP_NUM_THREADS": "1", "HK_RUN": run, "HK_STOP": f"{run}/stop"}
                launcher = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}"]
                # about 44 steps a pair
                worker = ["--recipes", recipe, "--pairs", str(options.pairs), "--clock", options.clock]
                worker += ["--worker", str(2 * processes)]
                argv = [sys.executable, *(launcher if processes > 1 else []), __file__, *worker]
                subprocess.run(argv, env=environ, check=True)


if __name__ == "__main__":
    main()
