"""Data-parallel training with TensorFlow: each process has the network and a share of the data.

    python train.py                                       alone
    mpirun -np 2 python train.py                          two processes (also: srun -n 2 python train.py)

Read main() first: it is the whole story; the loops are in loops.py. GPUs are used where there are some. The processes
find each other by TF_CONFIG, which hackathon_runtime.py makes of the list of nodes.
"""

import argparse
import math
import os
import sys
from dataclasses import replace
from typing import Any

os.environ.setdefault("TF_USE_LEGACY_KERAS", "1")  # both before TensorFlow is there: Keras 2, and less talk on stderr
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import tensorflow as tf
from communication import Exchange, check_gradients, connect
from hackathon_runtime import Meter, Stopper, identity
from keras_checkpoint import load, save
from keras_data import Digits
from loops import Training, custom, fit


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--loop", choices=["custom", "fit"], default="custom", help="a loop of its own, or Keras's fit")
    parser.add_argument(
        "--communication", choices=["auto", "ring", "nccl"], default="auto", help="how gradients are averaged"
    )
    parser.add_argument("--batch-size", type=int, default=64, help="samples per process and step")
    parser.add_argument("--epochs", type=int, default=20, help="how often all data are seen")
    parser.add_argument(
        "--lr", type=float, default=0.05, help="learning rate for the batches of all processes together"
    )
    parser.add_argument(
        "--warmup-epochs", type=float, default=2, help="epochs in which the learning rate rises to --lr"
    )
    parser.add_argument("--seed", type=int, default=1, help="of weights and order")
    parser.add_argument(
        "--checkpoint-every", type=int, default=5, help="epochs between checkpoints; 0: only when stopped"
    )
    parser.add_argument("--resume", default="auto", help="auto (what was not finished), no, or a checkpoint's path")
    return parser.parse_args()


def main() -> None:
    args, me = options(), identity()
    strategy = connect(me, args.communication)
    exchange = Exchange(strategy, me.rank)
    data = Digits(args.batch_size, args.seed, me.rank, me.world_size)
    tf.keras.utils.set_random_seed(args.seed)  # the same weights everywhere
    with strategy.scope():  # variables that are made here stay equal on all processes
        net = small_cnn()
        warmup = int(args.warmup_epochs * data.steps)
        rate = WarmUpThenCosine(args.lr, me.world_size, warmup, args.epochs * data.steps)
        optimizer = tf.keras.optimizers.SGD(rate, momentum=0.9)
        optimizer.build(net.trainable_variables)

    def epoch_over(epoch: int) -> None:
        if args.checkpoint_every and ((epoch + 1) % args.checkpoint_every == 0 or epoch + 1 == args.epochs):
            save(net, optimizer, args.batch_size, me, epoch + 1, 0)

    meter, should_stop = Meter(every_steps=25, show=True), Stopper(exchange.from_rank_zero)
    samples = args.batch_size * me.world_size
    training = Training(strategy, data, net, optimizer, args.epochs, meter, samples, should_stop, epoch_over)
    loop = fit if args.loop == "fit" else custom

    def one_step(probe: tf.keras.Model, plain: tf.keras.optimizers.Optimizer) -> None:
        quiet = {"meter": Meter(every_seconds=math.inf), "should_stop": lambda: False, "epoch_over": lambda epoch: None}
        loop(replace(training, net=probe, optimizer=plain, epochs=1, **quiet), (0, data.steps - 1))

    rank_sum = int(exchange.sum(me.rank + 1))
    difference, largest = check_gradients(strategy, net, next(iter(data.batches(0, data.steps - 1))), one_step)
    wrong = not difference <= 1e-3 * largest or rank_sum != me.world_size * (me.world_size + 1) // 2
    if exchange.sum(wrong):  # found by one, all end: nobody waits for a process that is gone
        meter.final(gradient_check=difference, rank_sum=rank_sum)
        exchange.leave()
        sys.exit("gradient check failed: the processes do not train one network together")

    first = load(net, optimizer, args.resume, args.epochs, args.batch_size, me)
    # the learning rate follows this count; other batches than before the cut have other steps per epoch
    optimizer.iterations.assign(first[0] * data.steps + first[1])
    epoch, batch = loop(training, first)
    numbers: dict[str, Any] = {"gradient_check": difference, "rank_sum": rank_sum, "epochs": epoch}
    with meter.phase("pause"):
        numbers["stopped"] = epoch < args.epochs
        if numbers["stopped"]:  # the walltime is nearly over: the next job goes on with the next batch
            save(net, optimizer, args.batch_size, me, epoch, batch)
        else:
            images, labels = data.test  # every rank looks at its share
            right = (net(images, training=False).numpy().argmax(axis=1) == labels).sum()
            numbers["accuracy"] = exchange.sum(right) / data.test_size
    meter.final(**numbers)
    exchange.leave()


def small_cnn() -> tf.keras.Model:
    """Return a network for 8 × 8 grey images and 10 classes. Without dropout, its variables are its whole state."""
    layers = tf.keras.layers
    return tf.keras.Sequential([
        layers.Input((8, 8, 1)), layers.Conv2D(32, 3, padding="same", activation="relu"),
        layers.Conv2D(64, 3, padding="same", activation="relu"), layers.MaxPool2D(),
        layers.Conv2D(64, 3, padding="same", activation="relu"), layers.MaxPool2D(), layers.Flatten(), layers.Dense(10),
    ])  # fmt: skip


class WarmUpThenCosine(tf.keras.optimizers.schedules.LearningRateSchedule):
    """From the rate of one process to `peak` in even steps (linear scaling rule), then half a cosine down to zero."""

    def __init__(self, peak: float, processes: int, warmup: int, total: int) -> None:
        self._peak, self._processes, self._warmup, self._total = peak, processes, warmup, total

    def __call__(self, step: tf.Tensor) -> tf.Tensor:
        step = tf.cast(step, tf.float32)
        rising = self._peak / self._processes * (1 + (self._processes - 1) * step / max(1, self._warmup))
        share = (step - self._warmup) / max(1, self._total - self._warmup)
        return tf.where(step < self._warmup, rising, self._peak * (1 + tf.cos(math.pi * share)) / 2)


if __name__ == "__main__":
    main()
