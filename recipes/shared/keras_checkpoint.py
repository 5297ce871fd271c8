"""Checkpoints: all that is needed to go on as if nothing had happened; replaced by rename, so never half written."""

import os
import sys
from pathlib import Path
from zipfile import BadZipFile

import numpy
import tensorflow as tf
from hackathon_runtime import Identity, checkpoint_written, log_event


def checkpoint_path() -> Path:
    """Return where the newest checkpoint lies: in the run, or here outside a run."""
    return Path(os.environ.get("HK_RUN", "."), "checkpoints", "last.npz")


def save(
    net: tf.keras.Model, optimizer: tf.keras.optimizers.Optimizer, batch_size: int, me: Identity, epoch: int, batch: int
) -> None:
    """Write a checkpoint on rank 0: `epoch` and `batch` come next.

    All processes hold the same variables. The learning rate is a function of the optimizer's step and the order of the
    data one of the epoch: nothing else is state.
    """
    if me.rank != 0:
        return
    path = checkpoint_path()
    partial = path.with_suffix(".partial")
    variables = [*net.variables, *optimizer.variables]
    state = {f"variable_{number}": each.numpy() for number, each in enumerate(variables)}
    try:
        path.parent.mkdir(exist_ok=True)
        with partial.open("wb") as file:
            numpy.savez(file, place=[epoch, batch, batch_size, me.world_size], **state)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
        checkpoint_written(path)
    except OSError as error:  # a full disk: training goes on, the former checkpoint stays
        log_event("warned", what="no checkpoint", why=str(error))
        print(f"no checkpoint written: {error}", file=sys.stderr)
        partial.unlink(missing_ok=True)


def load(
    net: tf.keras.Model,
    optimizer: tf.keras.optimizers.Optimizer,
    resume: str,
    epochs: int,
    batch_size: int,
    me: Identity,
) -> tuple[int, int]:
    """Return the epoch and batch to begin with, after putting a checkpoint's variables into this process's.

    `resume`: `auto` takes the newest one if its training was not finished, `no` none, a path that one.
    """
    path = checkpoint_path() if resume == "auto" else Path(resume)
    if resume == "no" or (resume == "auto" and not path.exists()):
        return 0, 0
    try:
        state = numpy.load(path)
    except (OSError, ValueError, BadZipFile) as error:
        raise SystemExit(f"{path} is no checkpoint: {error}") from None
    epoch, batch, former_batch_size, former_processes = (int(each) for each in state["place"])
    # finished: a run that is started again begins anew; a later segment only has the last numbers to tell
    if resume == "auto" and epoch >= epochs and os.environ.get("HK_SEGMENT", "1") == "1":
        return 0, 0
    for number, variable in enumerate([*net.variables, *optimizer.variables]):
        variable.assign(state[f"variable_{number}"])
    # other shares of the data than before: the epoch begins again
    first_batch = batch if (former_batch_size, former_processes) == (batch_size, me.world_size) else 0
    if me.rank == 0:
        print(f"resumed from {path}: epoch {epoch}, batch {first_batch}", flush=True)
    return epoch, first_batch
