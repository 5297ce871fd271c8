"""Speed of the recipe chainermn-mnist as a ratio to Chainer's own trainer without our measuring, and to a bare loop.

    python tests/bench/bench_chainermn_mnist.py [--pairs 21] [--processes 1,2]

It runs in the recipe's environment (`hackathon env create chainermn-mnist` is called for it). Three ways train the same
network on the same data in turns, in random order, some epochs at a time: the recipe's trainer (Meter, learning rate,
stop file), Chainer's trainer as in its example (LogReport only), and a loop of `optimizer.update` alone. Evaluation and
snapshots are in none of them. The interval of the median comes from order statistics (sign test).
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

RECIPE = Path(__file__).resolve().parents[2] / "recipes" / "chainermn-mnist"
SHARED = (Path(__file__).resolve().parents[2] / "hackathon" / "runtime", RECIPE.parent / "shared")


def measure(pairs: int, epochs: int, batch_size: int, clock: Callable[[], float]) -> None:
    """Run in each process: print rank 0's ratios."""
    sys.path[:0] = [str(RECIPE), *map(str, SHARED)]
    import chainer
    import chainermn
    import numpy
    import train
    from hackathon_runtime import Meter, Stopper, identity

    me = identity()
    args = argparse.Namespace(
        communicator="naive", double_buffering=False, allreduce_fp16=False, numpy_threads=0, iterator="serial",
        batch_size=batch_size, lr=0.01, warmup_epochs=1, epochs=(pairs + 1) * epochs,
    )  # fmt: skip
    ways: dict[str, Callable[[], None]] = {}

    def prepare() -> tuple:  # type: ignore[type-arg]
        comm, device = train.connect(args, me)
        numpy.random.seed(1)
        model = chainer.links.Classifier(train.Network(256))
        samples = chainermn.scatter_dataset(train.digits()[0] if comm.rank == 0 else None, comm, shuffle=True, seed=0)
        optimizer = train.training_optimizer(args.lr, model, comm)
        batches = train.iterator(samples, args, train.OrderByEpoch(1))
        return comm, device, model, samples, optimizer, batches

    def recipe() -> Callable[[], None]:
        comm, device, _, samples, optimizer, batches = prepare()
        updater = chainer.training.updaters.StandardUpdater(batches, optimizer, device=device)
        meter = Meter(every_steps=25)
        until = train.Until(0, Stopper(lambda number: comm.bcast_obj(number if comm.rank == 0 else None)))
        rate = train.LearningRate(optimizer, args, me.world_size, -(-len(samples) // batch_size))
        train.time_phases(meter, batches, updater, argparse.Namespace(evaluate=lambda: None), comm)

        def block() -> None:
            until.epochs += epochs
            trainer = chainer.training.Trainer(updater, until, out=os.environ["HK_RUN"])
            trainer.extend(rate)
            trainer.extend(train.MeterSteps(meter, batch_size * me.world_size))
            if comm.rank == 0:
                trainer.extend(chainer.training.extensions.LogReport())
            trainer.run()

        return block

    def own_trainer() -> Callable[[], None]:
        comm, device, _, _, optimizer, batches = prepare()
        updater = chainer.training.updaters.StandardUpdater(batches, optimizer, device=device)

        def block() -> None:
            trainer = chainer.training.Trainer(updater, (updater.epoch + epochs, "epoch"), out=os.environ["HK_RUN"])
            if comm.rank == 0:
                trainer.extend(chainer.training.extensions.LogReport())
            trainer.run()

        return block

    def bare_loop() -> Callable[[], None]:
        _, _, model, _, optimizer, batches = prepare()

        def block() -> None:
            end = batches.epoch + epochs
            while batches.epoch < end:
                images, labels = chainer.dataset.concat_examples(batches.next())
                optimizer.update(model, images, labels)

        return block

    for way in (recipe, own_trainer, bare_loop):
        ways[way.__name__] = way()
    from mpi4py import MPI

    order = random.Random(1)  # the same order on all ranks
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(pairs + 1):
        for name in order.sample(list(ways), len(ways)):
            MPI.COMM_WORLD.Barrier()
            start = clock()
            ways[name]()
            times[name].append(clock() - start)
    if me.rank == 0:
        samples = epochs * (1437 // me.world_size) * me.world_size
        rate = samples / statistics.median(times["recipe"][1:])
        for other in ("own_trainer", "bare_loop"):
            ratios = [theirs / ours for ours, theirs in list(zip(times["recipe"], times[other], strict=True))[1:]]
            median, low, high = interval(ratios)
            print(
                f"processes {me.world_size}, batch {batch_size}: recipe {rate:.0f} samples/s, "
                f"speed of recipe / {other} median {median:.4f}, 95 % interval {low:.4f}–{high:.4f}, "
                f"{len(ratios)} pairs",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=21, help="interleaved pairs (at least 11)")
    parser.add_argument("--processes", default="1,2", help="process counts, one study each")
    parser.add_argument("--batch-size", type=int, default=64, help="samples per process and step")
    parser.add_argument(
        "--clock", choices=["wall", "cpu"], default="wall", help="cpu: for one process on a machine with other work"
    )
    parser.add_argument("--worker", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        clock = time.perf_counter if options.clock == "wall" else time.process_time
        measure(options.pairs, options.worker, options.batch_size, clock)
        return
    if options.pairs < 11:
        parser.error("at least 11 pairs")
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    from support.stacks import stack, stack_environ

    path = stack("chainermn-mnist") / "bin"
    for processes in map(int, options.processes.split(",")):
        with tempfile.TemporaryDirectory() as run:
            for name in ("metrics", "events"):
                (Path(run) / name).mkdir()
            environ = {
                **stack_environ("chainermn-mnist"), "OMP_NUM_THREADS": "1", "HK_RUN": run, "HK_STOP": f"{run}/stop",
                "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            }  # fmt: skip
            launcher = [str(path / "mpirun"), "-np", str(processes), "--oversubscribe"] if processes > 1 else []
            worker = [__file__, "--pairs", str(options.pairs), "--batch-size", str(options.batch_size), "--worker", "3"]
            worker += ["--clock", options.clock]
            subprocess.run([*launcher, str(path / "python"), *worker], env=environ, check=True)


if __name__ == "__main__":
    main()
