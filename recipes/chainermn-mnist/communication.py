"""The communicator, the optimizer that averages gradients with it, and the check that it does."""

import copy
import multiprocessing
import os
import sys

import chainer
import chainermn
import numpy


def connect(args, me):
    """Return (communicator, device). Exits with the reason when the wanted communicator cannot work here.

    An exception on one rank ends all of them from here on: else the others would wait for it until the walltime.
    """
    gpu = args.communicator != "naive"
    if gpu and not chainer.backends.cuda.available:
        sys.exit(f"--communicator {args.communicator} computes on GPUs and needs CuPy, which is not here: take naive")
    for name in ("double_buffering", "allreduce_fp16"):
        if getattr(args, name) and args.communicator != "pure_nccl":
            sys.exit(f"--{name.replace('_', '-')} needs --communicator pure_nccl")
    if "OPAL_PREFIX" not in os.environ and os.path.exists(os.path.join(sys.prefix, "bin", "orted")):
        # PyPI's Open MPI was built for another folder: its mpirun tells processes, one that starts alone must be told
        os.environ["OPAL_PREFIX"] = sys.prefix
    words = {"allreduce_grad_dtype": numpy.float16} if args.allreduce_fp16 else {}
    comm = chainermn.create_communicator(args.communicator, **words)
    if comm.size != me.world_size:
        processes = "1 process" if comm.size == 1 else f"{comm.size} processes"
        sys.exit(f"MPI knows {processes}, {me.source} {me.world_size}: start with mpirun")
    if comm.size > 1:
        chainermn.global_except_hook.add_hook()
    if args.numpy_threads:
        import threadpoolctl

        threadpoolctl.threadpool_limits(args.numpy_threads)
    return comm, chainer.get_device(f"@cupy:{comm.intra_rank}" if gpu else "@numpy")


def start_workers():
    """Let processes that make batches come from a server that is there before MPI, which may break in forked ones."""
    multiprocessing.set_start_method("forkserver")
    first = multiprocessing.Process(target=int)
    first.start()
    first.join()


def training_optimizer(lr, model, comm, double_buffering=False):
    """Return the optimizer that updates a model with the mean gradient of all processes.

    One process needs no wrapper: it is what speed-up is compared with and pays nothing for communication.
    """
    optimizer = chainer.optimizers.MomentumSGD(lr=lr, momentum=0.9)
    if comm.size > 1:
        optimizer = chainermn.create_multi_node_optimizer(optimizer, comm, double_buffering=double_buffering)
    optimizer.setup(model)
    know_model(optimizer, model)
    return optimizer


def know_model(optimizer, model):
    """Tell ChainerMN's optimizer that the weights are alike everywhere: else its first step would only send them."""
    if hasattr(optimizer, "is_changed"):
        optimizer.is_changed(model)


def check_gradients(model, comm, samples, device):
    """Return (largest difference, largest value): the gradient in use against the mean of all ranks' own gradients.

    A copy of the model makes one step of rate 1 from rest, so that the change of its weights is the gradient in use.
    """
    images, labels = device.send(chainer.dataset.concat_examples(samples))
    twin = copy.deepcopy(model)
    twin.cleargrads()
    twin(images, labels).backward()
    weights = [each for _, each in sorted(twin.namedparams())]
    own = [chainer.backends.cuda.to_cpu(each.grad) for each in weights]
    before = [chainer.backends.cuda.to_cpu(each.array).copy() for each in weights]
    training_optimizer(1.0, twin, comm).update(twin, images, labels)
    difference = largest = 0.0
    for number, each in enumerate(weights):
        mean = comm.allreduce_obj(own[number].astype(numpy.float64)) / comm.size
        used = before[number].astype(numpy.float64) - chainer.backends.cuda.to_cpu(each.array)
        difference = max(difference, float(numpy.abs(used - mean).max()))
        largest = max(largest, float(numpy.abs(mean).max()))
    return _largest(comm, difference), largest


def _largest(comm, number):
    """Return the largest of all ranks' numbers, on every rank."""
    numbers = comm.gather_obj(number)
    return comm.bcast_obj(max(numbers) if comm.rank == 0 else None)
