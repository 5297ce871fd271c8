"""Samples/s of the recipe horovod-keras as a ratio to `fit` with the callbacks that Horovod's documentation gives it.

    python tests/bench/bench_horovod_keras.py [--pairs 15] [--processes 1,2]

It runs in the recipe's environment (`hackathon env create horovod-keras` is called for it). Two networks train on the
same data by turns, in random order, some epochs at a time: one as the recipe does (learning rate of each step, meter,
stop file), one by `fit` with Horovod's own callbacks only. Checkpoints are in neither. A turn of each makes a pair and
gives one ratio; the interval of their median comes from order statistics (sign test).
"""

import argparse
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from bench_step_time import interval

TESTS = Path(__file__).resolve().parents[1]
RECIPE = TESTS.parent / "recipes" / "horovod-keras"
SHARED = (TESTS.parent / "hackathon" / "runtime", RECIPE.parent / "shared")
BATCH, EPOCHS = 64, 4
"""Samples per process and step; epochs of a turn at one process."""


def measure(pairs: int) -> None:
    """Run in each process: print rank 0's ratios."""
    sys.path[:0] = [str(RECIPE), *map(str, SHARED)]
    import horovod.tensorflow.keras as hvd
    import tensorflow as tf
    import train
    from communication import connect, distributed, flat_weights, from_rank_zero
    from hackathon_runtime import Meter, Stopper, identity
    from keras_data import Digits

    me = identity()
    connect(me, "average")
    data = Digits(BATCH, 1, me.rank, me.world_size)
    epochs = EPOCHS * me.world_size
    args = argparse.Namespace(
        lr=0.01, warmup_epochs=1, epochs=(pairs + 1) * epochs, batch_size=BATCH, checkpoint_every=0
    )
    own = train.Watch(args, me, data.steps, Meter(every_steps=25), Stopper(from_rank_zero))
    averaging = hvd.callbacks.MetricAverageCallback()

    def way(callbacks: list[tf.keras.callbacks.Callback]) -> tuple[tf.keras.Model, Callable[[int], None]]:
        tf.keras.utils.set_random_seed(1)
        net = train.small_cnn(tf.keras.Sequential)
        optimizer = distributed(tf.keras.optimizers.SGD(args.lr, 0.9), "none")
        optimizer.build(net.trainable_variables)
        net.compile(optimizer, tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))

        def turn(number: int) -> None:
            first = number * epochs
            net.fit(
                data.batches(first), steps_per_epoch=data.steps, initial_epoch=first, epochs=first + epochs,
                callbacks=callbacks, verbose=0,
            )  # fmt: skip

        return net, turn

    ways = [way([averaging, own]), way([hvd.callbacks.BroadcastGlobalVariablesCallback(0), averaging])]
    order = random.Random(1)  # the same order on all ranks
    times: list[list[float]] = [[], []]
    for number in range(pairs + 1):  # the first pair warms up
        for which in order.sample([0, 1], 2):
            from_rank_zero(0)
            start = time.perf_counter()
            ways[which][1](number)
            times[which].append(time.perf_counter() - start)
    steps = [int(net.optimizer.iterations) for net, _ in ways]
    assert steps[0] == steps[1] == args.epochs * data.steps, f"the two ways made {steps} steps"
    apart = abs(flat_weights(ways[0][0]) - flat_weights(ways[1][0])).max()
    assert 0 < apart < 1, "both learn, at other learning rates"
    if me.rank == 0:
        samples = epochs * data.steps * BATCH * me.world_size
        ratios = [minimal / recipe for recipe, minimal in zip(*times, strict=True)][1:]  # of samples/s
        median, low, high = interval(ratios)
        rates = [samples / statistics.median(each[1:]) for each in times]
        print(
            f"processes {me.world_size}: recipe {rates[0]:.0f} samples/s, minimal loop {rates[1]:.0f} samples/s, "
            f"ratio median {median:.4f}, 95 % interval {low:.4f}–{high:.4f}, {len(ratios)} pairs",
            flush=True,
        )
    hvd.shutdown()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=15, help="interleaved pairs (at least 11)")
    parser.add_argument("--processes", default="1,2", help="process counts, one study each")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        measure(options.pairs)
        return
    if options.pairs < 11:
        parser.error("at least 11 pairs")
    sys.path.insert(0, str(TESTS))
    from support.stacks import stack, stack_environ

    path = stack("horovod-keras") / "bin"
    for processes in map(int, options.processes.split(",")):
        with tempfile.TemporaryDirectory() as run:
            for name in ("metrics", "events"):
                (Path(run) / name).mkdir()
            environ = {
                **stack_environ("horovod-keras"), "OMP_NUM_THREADS": "1", "HK_RUN": run, "HK_STOP": f"{run}/stop",
                "PATH": f"{path}{os.pathsep}{os.environ['PATH']}",
            }  # fmt: skip
            launcher = [str(path / "horovodrun"), "--gloo", "-np", str(processes)] if processes > 1 else []
            worker = [str(path / "python"), __file__, "--pairs", str(options.pairs), "--worker"]
            subprocess.run([*launcher, *worker], env=environ, check=True)


if __name__ == "__main__":
    main()
