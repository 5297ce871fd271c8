"""How all processes take up one checkpoint; `keras_checkpoint.py` writes it and reads it."""

import horovod.tensorflow as hvd
import keras_checkpoint
import tensorflow as tf
from hackathon_runtime import Identity


def load(
    net: tf.keras.Model,
    optimizer: tf.keras.optimizers.Optimizer,
    resume: str,
    epochs: int,
    batch_size: int,
    me: Identity,
) -> tuple[int, int]:
    """Return the epoch and batch to begin with, after taking up a checkpoint.

    Rank 0 reads it and all get its variables: the network's first ones too, where there is no checkpoint. That is done
    here and not by Horovod's callback, which would do it behind the first step, and a resumed training would differ.
    `resume`: `auto` takes the newest one if its training was not finished, `no` none, a path that one.
    """
    place = (0, 0)
    if me.rank == 0:
        place = keras_checkpoint.load(net, optimizer, resume, epochs, batch_size, me)
    hvd.broadcast_variables([*net.variables, *optimizer.variables], root_rank=0)
    return hvd.broadcast_object(place, root_rank=0)
