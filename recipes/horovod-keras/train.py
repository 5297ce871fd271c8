"""Data-parallel training with Keras and Horovod: each process has the network and a share of the data.

    python train.py                                       alone
    horovodrun -np 2 python train.py                      two processes (also: mpirun -np 2 python train.py)

Read main() first: it is the whole story. GPUs are used where there are some.
"""

import argparse
import math
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")  # before TensorFlow is there

import horovod.tensorflow.keras as hvd
import tensorflow as tf
from checkpoint import load
from communication import AdasumModel, apart, check_gradients, connect, distributed, from_rank_zero, over_ranks
from hackathon_runtime import Meter, Stopper, identity, scaled_learning_rate
from keras_checkpoint import save
from keras_data import Digits


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batch-size", type=int, default=64, help="samples per process and step")
    parser.add_argument("--epochs", type=int, default=20, help="how often all data are seen")
    parser.add_argument(
        "--lr", type=float, default=0.05, help="learning rate for the batches of all processes together"
    )
    parser.add_argument(
        "--warmup-epochs", type=float, default=2, help="epochs in which the learning rate rises to --lr"
    )
    parser.add_argument(
        "--compression", choices=["none", "fp16"], default="none", help="how gradients travel between the processes"
    )
    parser.add_argument(
        "--reduction", choices=["average", "adasum"], default="average", help="how gradients are combined"
    )
    parser.add_argument("--seed", type=int, default=1, help="of weights and order")
    parser.add_argument(
        "--checkpoint-every", type=int, default=5, help="epochs between checkpoints; 0: only when stopped"
    )
    parser.add_argument("--resume", default="auto", help="auto (what was not finished), no, or a checkpoint's path")
    args = parser.parse_args()
    if args.reduction == "adasum" and args.compression == "fp16":
        parser.error("Adasum needs the gradients' full accuracy: take --compression none")
    return args


def main() -> None:
    args, me = options(), identity()
    connect(me, args.reduction)
    data = Digits(args.batch_size, args.seed, me.rank, me.world_size)
    tf.keras.utils.set_random_seed(args.seed)
    net = small_cnn(AdasumModel if args.reduction == "adasum" and me.world_size > 1 else tf.keras.Sequential)
    loss_of = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    def compiled(model: tf.keras.Model, rate: float, momentum: float) -> tf.keras.Model:
        optimizer = tf.keras.optimizers.SGD(rate, momentum)
        if not isinstance(model, AdasumModel):
            optimizer = distributed(optimizer, args.compression)
        optimizer.build(model.trainable_variables)
        model.compile(optimizer, loss_of)
        return model

    compiled(net, args.lr, 0.9)
    first_epoch, first_batch = load(net, net.optimizer, args.resume, args.epochs, args.batch_size, me)

    meter = Meter(every_steps=25, show=True)
    numbers = {"rank_sum": int(over_ranks(me.rank + 1))}
    wrong = numbers["rank_sum"] != me.world_size * (me.world_size + 1) // 2
    if not isinstance(net, AdasumModel):  # which averages no gradients
        batch = next(iter(data.batches()))
        one_step = lambda probe: compiled(probe, 1.0, 0.0).fit(data.batches(), steps_per_epoch=1, verbose=0)  # noqa: E731
        difference, largest = check_gradients(net, batch, loss_of, one_step)
        numbers["gradient_check"] = difference
        # half precision keeps 11 bits of each rank's gradient, and of their sum
        wrong |= not difference <= (5e-3 if args.compression == "fp16" else 1e-3) * largest
    if over_ranks(wrong):  # found by one, all end: nobody waits for a process that is gone
        meter.final(**numbers)
        over_ranks(0)  # the launcher ends the others when one fails: all have written by now
        sys.exit("gradient check failed: the processes do not train one network together")

    watch = Watch(args, me, data.steps, meter, Stopper(from_rank_zero))
    epoch, batch = first_epoch, first_batch
    while epoch < args.epochs and not watch.stopped:
        # the rest of an epoch that was cut is a `fit` of its own, for all epochs of one `fit` are equally long
        last = epoch + 1 if batch else args.epochs
        watch.first_batch = batch
        if batch < data.steps:
            net.fit(
                data.batches(epoch, batch), steps_per_epoch=data.steps - batch, initial_epoch=epoch, epochs=last,
                callbacks=[hvd.callbacks.MetricAverageCallback(), watch], verbose=0,
            )  # fmt: skip
        epoch, batch = watch.stopped or (last, 0)
    with meter.phase("pause"):
        numbers |= {"epochs": epoch, "stopped": bool(watch.stopped), "weights_apart": apart(net)}
        if watch.stopped:  # the walltime is nearly over: the next job goes on with the next batch
            save(net, net.optimizer, args.batch_size, me, epoch, batch)
        else:
            images, labels = data.test  # every rank looks at its share
            right = (net(images, training=False).numpy().argmax(axis=1) == labels).sum()
            numbers["accuracy"] = over_ranks(right) / data.test_size
    meter.final(**numbers)
    over_ranks(0)  # the launcher ends the others when one fails: all have written by now
    if not math.isfinite(numbers["weights_apart"]):
        sys.exit("the weights are not finite, the loss diverged: take a smaller --lr or more --warmup-epochs")
    if not numbers["weights_apart"] <= 1e-4:
        sys.exit("the processes ended with different weights: they did not train one network together")


class Watch(tf.keras.callbacks.Callback):
    """Sets the learning rate, measures, saves, and ends the training when told to."""

    def __init__(self, args: argparse.Namespace, me, steps: int, meter: Meter, should_stop: Stopper) -> None:
        super().__init__()
        self._args, self._me, self._steps, self._meter, self._should_stop = args, me, steps, meter, should_stop
        self._epoch, self._phase, self.first_batch, self.stopped = 0, meter.phase("compute"), 0, None

    def on_epoch_begin(self, epoch, logs=None):
        self._epoch = epoch

    def on_train_batch_begin(self, batch, logs=None):
        self._phase.__enter__()
        step = self._epoch * self._steps + self.first_batch + batch
        self.model.optimizer.learning_rate.assign(learning_rate(self._args, self._me.world_size, step, self._steps))

    def on_train_batch_end(self, batch, logs=None):
        self._phase.__exit__()
        samples = self._args.batch_size * self._me.world_size
        # steps of the whole training, also after a resumption
        passed = self._epoch * self._steps + self.first_batch + batch + 1
        self._meter.step(samples=samples, step=passed, epoch=self._epoch, loss=logs["loss"])
        if self._should_stop():
            self.stopped = self._epoch, self.first_batch + batch + 1
            self.model.stop_training = True

    def on_epoch_end(self, epoch, logs=None):
        every, done = self._args.checkpoint_every, epoch + 1
        if not self.stopped and every and (done % every == 0 or done == self._args.epochs):
            with self._meter.phase("pause"):
                save(self.model, self.model.optimizer, self._args.batch_size, self._me, done, 0)


def small_cnn(kind: type[tf.keras.Sequential]) -> tf.keras.Sequential:
    """Return a network for 8 × 8 grey images and 10 classes. Without dropout, its variables are its whole state."""
    layers = tf.keras.layers
    return kind([
        layers.Input((8, 8, 1)), layers.Conv2D(32, 3, padding="same", activation="relu"),
        layers.Conv2D(64, 3, padding="same", activation="relu"), layers.MaxPool2D(),
        layers.Conv2D(64, 3, padding="same", activation="relu"), layers.MaxPool2D(), layers.Flatten(), layers.Dense(10),
    ])  # fmt: skip


def learning_rate(args: argparse.Namespace, processes: int, step: int, steps: int) -> float:
    """Warm-up from the rate of one process to --lr (linear scaling rule), then half a cosine down to zero."""
    warmup, total = int(args.warmup_epochs * steps), args.epochs * steps
    rate = scaled_learning_rate(args.lr / processes, processes, step, warmup)
    if step >= warmup:
        rate *= (1 + math.cos(math.pi * (step - warmup) / max(1, total - warmup))) / 2
    return rate


if __name__ == "__main__":
    main()
    hvd.shutdown()  # Horovod's thread ends before Python does
