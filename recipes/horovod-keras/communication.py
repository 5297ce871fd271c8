"""The processes of Horovod: join them, combine their gradients, prove that they train one network."""

import os
import sys
from collections.abc import Callable

import horovod.tensorflow as hvd
import numpy
import tensorflow as tf
from hackathon_runtime import Identity
from horovod.tensorflow.keras import DistributedOptimizer


def connect(me: Identity, reduction: str) -> None:
    """Join the other processes, on a device of this process's own. Exits when Horovod does not see those that started.

    Adasum merges pairs, then pairs of pairs, and so on (Maleki et al., MLSys 2021): it needs 1, 2, 4, 8, … processes.
    """
    if reduction == "adasum" and me.world_size & (me.world_size - 1):
        below = 1 << (me.world_size.bit_length() - 1)
        near = f"take {below} or {2 * below}, or --reduction average"
        sys.exit(f"adasum needs 1, 2, 4, 8, … processes, not {me.world_size}: {near}")
    gpus = tf.config.list_physical_devices("GPU")
    if gpus:
        mine = gpus[me.local_rank % len(gpus)]
        tf.config.set_visible_devices(mine, "GPU")
        tf.config.experimental.set_memory_growth(mine, True)
    else:  # else each process would compute on all cores
        cores = len(os.sched_getaffinity(0)) // me.local_world_size
        tf.config.threading.set_intra_op_parallelism_threads(int(os.environ.get("OMP_NUM_THREADS") or max(1, cores)))
    if not any(name in os.environ for name in ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK")):
        os.environ.setdefault("HOROVOD_CONTROLLER", "gloo")  # else Horovod tries MPI, and may end a process
        os.environ.setdefault("HOROVOD_CPU_OPERATIONS", "gloo")
    hvd.init()
    if (hvd.rank(), hvd.size()) != (me.rank, me.world_size):
        sys.exit(
            f"this is process {me.rank} of {me.world_size}, but Horovod says {hvd.rank()} of {hvd.size()}: "
            "start it with horovodrun or with the mpirun that Horovod was built with"
        )
    if reduction == "adasum" and me.world_size > 1 and not hvd.mpi_enabled():
        sys.exit("Horovod has Adasum over MPI only: take the launcher mpirun or horovodrun-mpi, or --reduction average")


def distributed(optimizer: tf.keras.optimizers.Optimizer, compression: str) -> tf.keras.optimizers.Optimizer:
    """Return the optimizer wrapped by Horovod: it averages the gradients of all processes before it uses them."""
    return DistributedOptimizer(
        optimizer, compression=hvd.Compression.fp16 if compression == "fp16" else hvd.Compression.none
    )


class AdasumModel(tf.keras.Sequential):
    """A model whose `fit` combines gradients by Adasum, which Horovod's optimizer for Keras does not offer."""

    def train_step(self, data):
        images, labels = data
        with hvd.DistributedGradientTape(tf.GradientTape(), op=hvd.Adasum) as tape:
            loss = self.compiled_loss(labels, self(images, training=True))
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables, strict=True))
        return {"loss": loss}


def check_gradients(
    net: tf.keras.Model, batch: tuple[tf.Tensor, tf.Tensor], loss_of: Callable, advance: Callable[..., object]
) -> tuple[float, float]:
    """Return (largest difference between the averaged gradient and the mean of all ranks', largest entry of that mean).

    `advance` trains one step on `batch`, of which each rank has its own: at a learning rate of 1 it takes the averaged
    gradient from the weights. The reference averages nothing: every rank's gradient is gathered.
    """
    probe = tf.keras.models.clone_model(net)
    probe.set_weights(net.get_weights())
    images, labels = batch
    with tf.GradientTape() as tape:
        loss = loss_of(labels, probe(images, training=True))
    own = tf.concat([tf.reshape(each, [-1]) for each in tape.gradient(loss, probe.trainable_variables)], axis=0)
    mean = hvd.allgather(own[None], name="check").numpy().mean(axis=0)
    before = flat_weights(probe)
    advance(probe)
    applied = before - flat_weights(probe)
    return float(numpy.abs(applied - mean).max()), float(numpy.abs(mean).max())


def flat_weights(net: tf.keras.Model) -> numpy.ndarray:
    """Return all trainable weights as one row."""
    return numpy.concatenate([each.numpy().ravel() for each in net.trainable_variables])


def over_ranks(number: float) -> float:
    """Return the sum of all processes' numbers."""
    return float(hvd.allreduce(tf.constant(float(number), tf.float64), op=hvd.Sum, name="sum"))


def from_rank_zero(number: int) -> int:
    """Return rank 0's number on every rank."""
    return int(hvd.broadcast(tf.constant(number, tf.int64), 0, name="from_rank_zero"))


def apart(net: tf.keras.Model) -> float:
    """Return how far the ranks' weights are from rank 0's, relative to its largest: 0 when they train one network."""
    own = flat_weights(net)
    first = hvd.broadcast(tf.constant(own), 0, name="weights").numpy()
    distance = numpy.abs(own - first).max() / numpy.abs(first).max()
    return float(hvd.allreduce(tf.constant(distance), op=hvd.Max, name="apart"))
