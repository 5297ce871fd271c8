"""Data-parallel training with ChainerMN, as the MNIST example does it, on handwritten digits that need no download.

    python train.py                                alone
    mpirun -np 2 python train.py --lr 0.2          two processes
    mpirun -np 2 python train.py --communicator pure_nccl --double-buffering     on GPUs (needs CuPy with NCCL)

Read main() first: it is the whole story.
"""

import argparse
import math
import os
import sys

import chainer
import chainer.functions as F
import chainer.links as L
import chainermn
import numpy
from chainer import training
from chainer.training import extensions
from communication import check_gradients, connect, start_workers, training_optimizer
from data import OrderByEpoch, digits, iterator
from hackathon_runtime import Meter, Stopper, identity, scaled_learning_rate
from metering import MeterSteps, time_phases
from snapshot import Snapshot


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--communicator", choices=["naive", "flat", "pure_nccl", "non_cuda_aware"], default="naive",
        help="how processes exchange gradients; all but naive compute on GPUs",
    )  # fmt: skip
    parser.add_argument("--double-buffering", action="store_true", help="pure_nccl: exchange while the next step runs")
    parser.add_argument("--allreduce-fp16", action="store_true", help="pure_nccl: exchange gradients in half precision")
    parser.add_argument("--units", type=int, default=256, help="units of each hidden layer")
    parser.add_argument("--batch-size", type=int, default=64, help="samples per process and step")
    parser.add_argument("--epochs", type=int, default=20, help="how often all data are seen")
    parser.add_argument("--lr", type=float, default=0.1, help="learning rate for the batches of all processes together")
    parser.add_argument("--warmup-epochs", type=float, default=2, help="epochs in which the rate rises to --lr")
    parser.add_argument(
        "--iterator", choices=["serial", "multithread", "multiprocess"], default="serial", help="who makes the batches"
    )
    parser.add_argument("--workers", type=int, default=2, help="threads or processes that make batches")
    parser.add_argument("--numpy-threads", type=int, default=0, help="threads of NumPy; 0: as the job says")
    parser.add_argument("--seed", type=int, default=1, help="of weights and order")
    parser.add_argument("--snapshot-every", type=int, default=5, help="epochs between snapshots; 0: only when stopped")
    parser.add_argument("--resume", default="auto", help="auto (what was not finished), no, or a snapshot's path")
    return parser.parse_args()


def main():
    args, me = options(), identity()
    if args.iterator == "multiprocess":
        start_workers()  # before MPI begins: forked afterwards they could break it
    comm, device = connect(args, me)
    numpy.random.seed(args.seed)  # the same weights everywhere
    model = L.Classifier(Network(args.units))
    model.to_device(device)
    device.use()
    comm.bcast_data(model)

    # rank 0 reads the data and every rank gets its share
    train, test = digits() if comm.rank == 0 else (None, None)
    train = chainermn.scatter_dataset(train, comm, shuffle=True, seed=0)
    test = chainermn.scatter_dataset(test, comm, force_equal_length=False)
    if len(train) < args.batch_size:
        sys.exit(f"a process has {len(train)} digits, fewer than one batch: take a smaller --batch-size")

    meter = Meter(every_steps=25, show=True)
    rank_sum = comm.allreduce_obj(me.rank + 1)
    difference, largest = check_gradients(model, comm, train[: args.batch_size], device)
    wrong = not difference <= 1e-3 * largest or rank_sum != me.world_size * (me.world_size + 1) // 2
    if comm.allreduce_obj(int(wrong)):  # found by one, all end: nobody waits for a process that is gone
        meter.final(gradient_check=difference, rank_sum=rank_sum)
        comm.allreduce_obj(0)  # the launcher ends the others when one fails: all have written by now
        sys.exit("gradient check failed: the processes do not train one network together")

    optimizer = training_optimizer(args.lr, model, comm, args.double_buffering)
    optimizer.add_hook(chainer.optimizer_hooks.WeightDecay(1e-4))
    order = OrderByEpoch(args.seed)
    batches = iterator(train, args, order)
    updater = training.updaters.StandardUpdater(batches, optimizer, device=device)
    until = Until(args.epochs, Stopper(lambda number: comm.bcast_obj(number if comm.rank == 0 else None)))
    trainer = training.Trainer(updater, until, out=os.path.join(os.environ.get("HK_RUN", "."), "result"))

    # every rank looks at its share of the test; the observation is the mean over all ranks
    evaluator = extensions.Evaluator(chainer.iterators.SerialIterator(test, 100, False, False), model, device=device)
    evaluator = chainermn.create_multi_node_evaluator(evaluator, comm)
    steps = -(-len(train) // args.batch_size)
    trainer.extend(LearningRate(optimizer, args, me.world_size, steps))
    trainer.extend(evaluator)
    trainer.extend(MeterSteps(meter, args.batch_size * me.world_size))
    if comm.rank == 0:  # one report is enough; it holds rank 0's training loss and everybody's validation
        entries = ["epoch", "main/loss", "validation/main/loss", "main/accuracy", "validation/main/accuracy"]
        trainer.extend(extensions.LogReport())
        trainer.extend(extensions.PrintReport([*entries, "elapsed_time"]), trigger=(1, "epoch"))
    snapshot = Snapshot(comm, optimizer, order, args.batch_size, meter)
    if args.snapshot_every:
        trainer.extend(snapshot, trigger=(args.snapshot_every, "epoch"))
    snapshot.load(trainer, args.resume, args.epochs)
    time_phases(meter, batches, updater, evaluator, None if args.double_buffering else comm)

    trainer.run()

    numbers = {"gradient_check": difference, "rank_sum": rank_sum, "epochs": updater.epoch, "stopped": until.stopped}
    with meter.phase("pause"):
        if until.stopped:  # the walltime is nearly over: the next job goes on with the next step
            snapshot(trainer)
        else:
            numbers["accuracy"] = accuracy(model, test, comm, device)
    batches.finalize()
    meter.final(**numbers)


class Network(chainer.Chain):
    """Three layers, as in Chainer's MNIST example."""

    def __init__(self, units):
        super().__init__()
        with self.init_scope():
            self.first, self.second, self.last = L.Linear(64, units), L.Linear(units, units), L.Linear(units, 10)

    def forward(self, images):
        return self.last(F.relu(self.second(F.relu(self.first(images)))))


class Until:
    """The end of training: all epochs are done, or the walltime nearly is."""

    def __init__(self, epochs, should_stop):
        self.epochs, self.should_stop, self.stopped = epochs, should_stop, False

    def __call__(self, trainer):
        done = trainer.updater.epoch >= self.epochs
        if not done and trainer.updater.iteration and not self.stopped:
            self.stopped = self.should_stop()
        return done or self.stopped


class LearningRate(training.Extension):
    """Warm-up from the rate of one process to --lr (linear scaling rule), then half a cosine down to zero."""

    trigger = (1, "iteration")

    def __init__(self, optimizer, args, processes, steps):
        self.optimizer, self.args, self.processes = optimizer, args, processes
        self.warmup, self.total = int(args.warmup_epochs * steps), args.epochs * steps

    def initialize(self, trainer):
        self(trainer)

    def __call__(self, trainer):
        step = trainer.updater.iteration
        rate = scaled_learning_rate(self.args.lr / self.processes, self.processes, step, self.warmup)
        if step >= self.warmup:
            rate *= (1 + math.cos(math.pi * min(1, (step - self.warmup) / max(1, self.total - self.warmup)))) / 2
        self.optimizer.lr = rate


def accuracy(model, test, comm, device):
    """Return the share of all ranks' test digits that are recognised, whatever the sizes of their shares."""
    images, labels = device.send(chainer.dataset.concat_examples(test[:]))
    with chainer.using_config("train", False), chainer.no_backprop_mode():
        right = int((model.predictor(images).array.argmax(axis=1) == labels).sum())
    return comm.allreduce_obj(right) / comm.allreduce_obj(len(labels))


if __name__ == "__main__":
    main()
