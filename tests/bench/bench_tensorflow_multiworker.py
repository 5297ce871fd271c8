"""Samples/s of the recipe tensorflow-multiworker as a ratio to the loop that TensorFlow's documentation would write.

    python tests/bench/bench_tensorflow_multiworker.py [--pairs 11] [--processes 1,2]

It runs in the recipe's environment (`hackathon env create tensorflow-multiworker` is called for it), with the mpirun on
PATH. The recipe's loop is called as it is, with meter, time stamps, stop file and learning-rate schedule. It asks at
the end of every step whether to stop: there the minimal loop makes a step of its own, so that a busy machine slows
both alike. Both begin with the same weights and data, and must have the same weights behind the first step. The steps
of some epochs make a pair and give one ratio; the interval of their median is from order statistics (sign test).
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench_step_time import interval

TESTS = Path(__file__).resolve().parents[1]
RECIPE = TESTS.parent / "recipes" / "tensorflow-multiworker"
SHARED = (TESTS.parent / "hackathon" / "runtime", RECIPE.parent / "shared")
BATCH, EPOCHS = 64, 2
"""Samples per process and step; epochs of a pair at one process."""


def measure(pairs: int) -> None:
    """Run in each process: print rank 0's ratios."""
    sys.path[:0] = [str(RECIPE), *map(str, SHARED)]
    import numpy
    import tensorflow as tf
    import train
    from communication import Exchange, connect, flat_weights, loss_of
    from hackathon_runtime import Meter, Stopper, identity
    from keras_data import Digits
    from loops import Training, custom

    me = identity()
    strategy = connect(me, "auto")
    data = Digits(BATCH, 1, me.rank, me.world_size)
    steps = data.steps * EPOCHS * me.world_size  # of a pair
    epochs = (pairs + 1) * steps // data.steps  # the first pair warms up
    with strategy.scope():
        net, plain_net = train.small_cnn(), train.small_cnn()
        plain_net.set_weights(net.get_weights())
        rate = train.WarmUpThenCosine(0.01, me.world_size, 1, epochs * data.steps)
        optimizer = tf.keras.optimizers.SGD(rate, momentum=0.9)
        plain_optimizer = tf.keras.optimizers.SGD(0.01 / me.world_size, momentum=0.9)
        optimizer.build(net.trainable_variables)

    @tf.function
    def plain_step(images: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
        def on_replica(images: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
            with tf.GradientTape() as tape:
                loss = loss_of(labels, plain_net(images, training=True)) / me.world_size
            gradients = tape.gradient(loss, plain_net.trainable_variables)
            plain_optimizer.apply_gradients(zip(gradients, plain_net.trainable_variables, strict=True))
            return loss

        return strategy.run(on_replica, (images, labels))

    plain_batches = iter(strategy.distribute_datasets_from_function(lambda _: data.batches()))
    stopper = Stopper(Exchange(strategy, me.rank).from_rank_zero)
    times: list[tuple[float, float]] = []
    last = [time.perf_counter()]

    def after_step() -> bool:
        stop = stopper()
        middle = time.perf_counter()
        plain_step(*next(plain_batches)).numpy()
        if not times:
            numpy.testing.assert_allclose(flat_weights(net), flat_weights(plain_net), rtol=1e-4, atol=1e-6)
        end = time.perf_counter()
        times.append((middle - last[0], end - middle))
        last[0] = time.perf_counter()
        return stop

    meter = Meter(every_steps=25)
    custom(
        Training(strategy, data, net, optimizer, epochs, meter, BATCH * me.world_size, after_step, lambda epoch: None),
        (0, 0),
    )
    sums = [[sum(column) for column in zip(*times[at : at + steps], strict=True)] for at in range(0, len(times), steps)]
    if me.rank == 0:
        ratios = [plain / recipe for recipe, plain in sums[1 : pairs + 1]]
        median, low, high = interval(ratios)
        fastest = statistics.median(plain for _, plain in sums[1:]) / steps * 1000
        print(
            f"processes {me.world_size}: minimal step {fastest:.3f} ms, samples/s of the recipe / of the minimal loop "
            f"median {median:.4f}, 95 % interval {low:.4f}–{high:.4f}, {len(ratios)} pairs of {steps} steps",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=11, help="interleaved pairs (at least 11)")
    parser.add_argument("--processes", default="1,2", help="process counts, one study each")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        measure(options.pairs)
        return
    if options.pairs < 11:
        parser.error("at least 11 pairs")
    sys.path.insert(0, str(TESTS))
    from support.stacks import stack

    python = stack("tensorflow-multiworker") / "bin" / "python"
    for processes in map(int, options.processes.split(",")):
        with tempfile.TemporaryDirectory() as run:
            for name in ("metrics", "events"):
                (Path(run) / name).mkdir()
            environ = {
                **os.environ, "OMP_NUM_THREADS": "1", "HK_RUN": run, "HK_STOP": str(Path(run) / "stop"),
                "TF_USE_LEGACY_KERAS": "1", "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            }  # fmt: skip
            launcher = ["mpirun", "-np", str(processes), "--oversubscribe", "--bind-to", "none"]
            worker = [str(python), __file__, "--pairs", str(options.pairs), "--worker"]
            subprocess.run([*(launcher if processes > 1 else []), *worker], env=environ, check=True)


if __name__ == "__main__":
    main()
