"""Snapshots: the whole trainer, written by rank 0 and read by all ranks; replaced by rename, so never half written."""

import os
import sys

import chainer
import numpy
from chainer import training
from communication import know_model
from hackathon_runtime import checkpoint_written, log_event


class Snapshot(training.Extension):
    """A trainer extension that writes `last.npz`, and takes it up again."""

    priority = -100  # after all reports of the same step

    def __init__(self, comm, optimizer, order, batch_size, meter):
        self.comm, self.optimizer, self.order, self.meter = comm, optimizer, order, meter
        self.shape = [comm.size, batch_size]
        # in the run (all segments of a chain share it), or here outside one
        folder = os.environ.get("HK_CHECKPOINTS") or os.path.join(os.environ.get("HK_RUN", "."), "checkpoints")
        self.path = os.path.join(folder, "last.npz")

    def __call__(self, trainer):
        with self.meter.phase("pause"):
            self.meter.flush()  # what lies before a snapshot is on disk, even if the walltime kills this
            if self.comm.rank == 0:
                self._write(trainer)

    def _write(self, trainer):
        state, partial = chainer.serializers.DictionarySerializer(), self.path + ".partial"
        state.save(trainer)
        try:
            os.makedirs(os.path.dirname(self.path), exist_ok=True)
            with open(partial, "wb") as file:
                numpy.savez(file, shape=self.shape, **state.target)
                file.flush()
                os.fsync(file.fileno())
            os.replace(partial, self.path)
            checkpoint_written(self.path)
        except OSError as error:  # a full disk: training goes on, the former snapshot stays
            log_event("warned", what="no snapshot", why=str(error))
            print(f"no snapshot written: {error}", file=sys.stderr)

    def load(self, trainer, resume, epochs):
        """Take up a snapshot: `auto` the newest one if its training was not finished, `no` none, a path that one."""
        path = self.path if resume == "auto" else resume
        if resume == "no" or (resume == "auto" and not os.path.exists(path)):
            return
        with numpy.load(path) as state:
            # finished: a run that is started again begins anew; a later segment only has the last numbers to tell
            finished = state["updater/iterator:main/epoch"] >= epochs
            if resume == "auto" and finished and os.environ.get("HK_SEGMENT", "1") == "1":
                return
            processes, batch_size = shape = state["shape"].tolist()
            if shape != self.shape:
                sys.exit(f"{path} was written by {processes} processes with batches of {batch_size}: take as many")
            chainer.serializers.NpzDeserializer(state).load(trainer)
        self.order.epoch = trainer.updater.epoch + 1
        know_model(self.optimizer, self.optimizer.target)
        if self.comm.rank == 0:
            print(f"resumed from {path}: step {trainer.updater.iteration}", flush=True)
