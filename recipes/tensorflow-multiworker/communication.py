"""How the processes join, what they exchange, and the check that they train one network together."""

import contextlib
import os
from collections.abc import Callable

import numpy
import tensorflow as tf
from hackathon_runtime import Identity, tf_config


def connect(me: Identity, communication: str) -> tf.distribute.Strategy:
    """Return the strategy that trains on this process's device, after joining the others.

    One process needs none: it is what speed-up is compared with and pays nothing for communication.
    """
    gpus = tf.config.list_physical_devices("GPU")
    if gpus:
        mine = gpus[me.local_rank % len(gpus)]
        tf.config.set_visible_devices(mine, "GPU")
        tf.config.experimental.set_memory_growth(mine, True)
    elif communication == "nccl":
        raise SystemExit("NCCL needs GPUs, and this process sees none: take --communication auto or ring")
    else:  # else each process would compute on all cores
        cores = len(os.sched_getaffinity(0)) // me.local_world_size
        tf.config.threading.set_intra_op_parallelism_threads(int(os.environ.get("OMP_NUM_THREADS") or max(1, cores)))
    if me.world_size == 1:
        return tf.distribute.get_strategy()
    os.environ["TF_CONFIG"] = tf_config(me)
    how = tf.distribute.experimental.CommunicationImplementation[communication.upper()]
    options = tf.distribute.experimental.CommunicationOptions(implementation=how)
    return tf.distribute.MultiWorkerMirroredStrategy(communication_options=options)


class Exchange:
    """Small exchanges between all processes; every process takes part in each of them."""

    def __init__(self, strategy: tf.distribute.Strategy, rank: int) -> None:
        self._rank = rank

        def on_replica(number: tf.Tensor) -> tf.Tensor:
            return tf.distribute.get_replica_context().all_reduce("SUM", tf.identity(number))

        self._sum = tf.function(lambda number: strategy.run(on_replica, (number,)))

    def sum(self, number: float) -> float:
        """Return the sum of all processes' numbers."""
        return float(self._sum(tf.constant(float(number), tf.float32)))

    def from_rank_zero(self, number: int) -> int:
        """Return rank 0's number, below 2²⁴, on every rank."""
        return int(self.sum(number if self._rank == 0 else 0))

    def leave(self) -> None:
        """Return when this process may end; the last that every process calls.

        The others read their part of a sum from this process, also when it has its own already: if it ended then, they
        would fail. Who has the second sum knows that all have the first, so nothing is lost if others have left.
        """
        self.sum(0)
        with contextlib.suppress(tf.errors.OpError):
            self.sum(0)


def averaged(gradients: list[tf.Tensor]) -> list[tf.Tensor]:
    """Return the mean of all processes' gradients; called on a replica."""
    return tf.distribute.get_replica_context().all_reduce("MEAN", gradients)


def check_gradients(
    strategy: tf.distribute.Strategy,
    net: tf.keras.Model,
    batch: tuple[tf.Tensor, tf.Tensor],
    advance: Callable[[tf.keras.Model, tf.keras.optimizers.Optimizer], object],
) -> tuple[float, float]:
    """Return (largest difference between the averaged gradient and the mean of all ranks', largest entry of that mean).

    `advance` trains one step on `batch`, of which each rank has its own: at a learning rate of 1 it takes the averaged
    gradient from the weights. The reference averages nothing: every rank's gradient is gathered.
    """
    with strategy.scope():
        probe = tf.keras.models.clone_model(net)
        probe.set_weights(net.get_weights())
        optimizer = tf.keras.optimizers.SGD(1.0)
        optimizer.build(probe.trainable_variables)

    def on_replica(images: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            loss = loss_of(labels, probe(images, training=True))
        own = tape.gradient(loss, probe.trainable_variables)
        flat = tf.concat([tf.reshape(each, [1, -1]) for each in own], axis=1)
        return tf.distribute.get_replica_context().all_gather(flat, axis=0)

    mean = tf.function(lambda: strategy.run(on_replica, batch))().numpy().mean(axis=0)
    before = flat_weights(probe)
    advance(probe, optimizer)
    applied = before - flat_weights(probe)
    return float(numpy.abs(applied - mean).max()), float(numpy.abs(mean).max())


def loss_of(labels: tf.Tensor, outputs: tf.Tensor) -> tf.Tensor:
    """Return the mean cross-entropy of a process's batch."""
    labels = tf.reshape(labels, [-1])  # `fit` gives one column
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, outputs))


def flat_weights(net: tf.keras.Model) -> numpy.ndarray:
    """Return all trainable weights as one row."""
    return numpy.concatenate([each.numpy().ravel() for each in net.trainable_variables])
