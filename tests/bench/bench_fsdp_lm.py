"""Tokens/s of the recipe torch-fsdp-lm, as a ratio to the shortest loop that PyTorch's documentation would write.

    python tests/bench/bench_fsdp_lm.py [--pairs 11] [--processes 1,2]

The recipe's loop is taken from train.py itself; the other one has no meter, no stop file and no schedule of the
learning rate. With several processes it is that of the FSDP2 tutorial; with one neither uses FSDP. Both train a network
of their own from the same start on the same text, and the losses of their first steps must be equal. They take turns
step by step, in random order, so that a busy machine slows both alike; some steps make a pair and give one ratio. The
interval of the median comes from order statistics (sign test).
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
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench_step_time import interval

RECIPE = Path(__file__).resolve().parents[2] / "recipes" / "torch-fsdp-lm"
SHARED = (Path(__file__).resolve().parents[2] / "hackathon" / "runtime", RECIPE.parent / "shared")


def recipes_loop() -> str:
    """Return the source of train.py's loop over steps as a generator `block()` of losses."""
    found = [
        node for node in ast.walk(ast.parse((RECIPE / "train.py").read_text()))
        if isinstance(node, ast.For) and isinstance(node.target, ast.Name) and node.target.id == "step"
    ]  # fmt: skip
    assert len(found) == 1, "train.py has one loop over steps"
    body = "\n".join(f"    {line}" for line in ast.unparse(found[0]).splitlines())
    return f"def block():\n    done = 0\n{body}\n        yield loss\n"


def measure(pairs: int, steps: int) -> None:
    """Run in each process: print rank 0's ratios."""
    sys.path[:0] = [str(RECIPE), *map(str, SHARED)]
    import torch
    import torch.distributed as dist
    import train
    from communication import leave
    from hackathon_runtime import Meter, Stopper, identity
    from options import options, shape
    from sharding import shard
    from torch.distributed.fsdp import fully_shard

    sys.argv = ["train.py", "--steps", "1000000", "--warmup-steps", "0", "--checkpoint-every", "0"]
    me, args = identity(), options("", 0)
    device = train.connect(me, 0, False)
    data = train.Text(args.sequence, args.batch_size, args.seed, me.rank, me.world_size, device)
    tokens = args.batch_size * args.sequence * me.world_size
    nets = []
    for _ in range(2):
        torch.manual_seed(args.seed)
        nets.append(train.GPT(shape(args, data.vocabulary)))
    model, plain = nets
    shard(model, device, args.precision, False, False)
    space: dict[str, Any] = {
        **vars(train), "args": args, "me": me, "data": data, "model": model, "tokens": tokens,
        "optimizer": train.make_optimizer(model, args), "loss_in": train.loss_of,
        "meter": Meter(unit="tokens", every_steps=25),
        "should_stop": Stopper(lambda number: train.from_rank_zero(number, device)),
    }  # fmt: skip
    exec(compile(recipes_loop(), "train.py", "exec"), space)

    if me.world_size > 1:
        for layer in plain.blocks:
            fully_shard(layer)
        fully_shard(plain)
    optimizer = train.make_optimizer(plain, args)

    def minimal() -> Iterator[torch.Tensor]:
        for step in range(args.steps):
            ((inputs, followers),) = data.batches(step, 1)
            loss = train.loss_of(plain(inputs), followers)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(plain.parameters(), args.clip)
            optimizer.step()
            optimizer.zero_grad()
            yield loss.detach()

    loops = (space["block"](), minimal())
    order = random.Random(1)  # the same order on all ranks
    times = [[0.0, 0.0] for _ in range(pairs + 1)]  # the first pair warms up
    for number in range((pairs + 1) * steps):
        losses = [0.0, 0.0]
        for which in order.sample([0, 1], 2):
            dist.barrier()
            start = time.perf_counter()
            loss = next(loops[which])
            times[number // steps][which] += time.perf_counter() - start
            losses[which] = float(loss)
        assert number or losses[0] == losses[1], f"not the same network and text: {losses}"
    assert max(losses) < 5, f"a network does not learn: {losses}"
    if me.rank == 0:
        ratios = [minimal / recipe for recipe, minimal in times[1:]]  # of tokens/s
        median, low, high = interval(ratios)
        rates = [steps * tokens / statistics.median(pair[which] for pair in times[1:]) for which in (0, 1)]
        print(
            f"processes {me.world_size}: recipe {rates[0]:.0f} tokens/s, minimal loop {rates[1]:.0f} tokens/s, "
            f"ratio median {median:.4f}, 95 % interval {low:.4f}–{high:.4f}, {len(ratios)} pairs",
            flush=True,
        )
    leave()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=11, help="interleaved pairs (at least 11)")
    parser.add_argument("--steps", type=int, default=8, help="steps of a pair")
    parser.add_argument("--processes", default="1,2", help="process counts, one study each")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        measure(options.pairs, options.steps)
        return
    if options.pairs < 11:
        parser.error("at least 11 pairs")
    for processes in map(int, options.processes.split(",")):
        with tempfile.TemporaryDirectory() as run:
            for name in ("metrics", "events"):
                (Path(run) / name).mkdir()
            environ = {**os.environ, "OMP_NUM_THREADS": "1", "HK_RUN": run, "HK_STOP": f"{run}/stop"}
            launcher = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}"]
            worker = [__file__, "--pairs", str(options.pairs), "--steps", str(options.steps), "--worker"]
            subprocess.run([sys.executable, *(launcher if processes > 1 else []), *worker], env=environ, check=True)


if __name__ == "__main__":
    main()
