"""The processes of Horovod: join them, wrap the optimizer, prove that they train one network, leave."""

import os
import sys

import horovod.torch as hvd
import torch


def connect(me, reduction: str) -> torch.device:
    """Return this process's device, after joining the others. Exits when Horovod does not see those that were started.

    Adasum merges pairs, then pairs of pairs, and so on (Maleki et al., MLSys 2021): it needs 1, 2, 4, 8, … processes.
    """
    if reduction == "adasum" and me.world_size & (me.world_size - 1):
        below = 1 << (me.world_size.bit_length() - 1)
        near = f"take {below} or {2 * below}, or --reduction average"
        sys.exit(f"adasum needs 1, 2, 4, 8, … processes, not {me.world_size}: {near}")
    gpus = torch.cuda.device_count() if torch.cuda.is_available() else 0
    device = torch.device("cuda", me.local_rank % gpus) if gpus else torch.device("cpu")
    if gpus:
        torch.cuda.set_device(device)
    elif "OMP_NUM_THREADS" not in os.environ:
        torch.set_num_threads(max(1, len(os.sched_getaffinity(0)) // me.local_world_size))
    if not any(name in os.environ for name in ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK")):
        os.environ.setdefault("HOROVOD_CONTROLLER", "gloo")  # else Horovod tries MPI, which can end the process
        os.environ.setdefault("HOROVOD_CPU_OPERATIONS", "gloo")
    hvd.init()
    if (hvd.rank(), hvd.size()) != (me.rank, me.world_size):
        sys.exit(
            f"this is process {me.rank} of {me.world_size}, but Horovod says {hvd.rank()} of {hvd.size()}: "
            "start it with horovodrun or with the mpirun that Horovod was built with"
        )
    if reduction == "adasum" and me.world_size > 1 and not hvd.mpi_enabled():
        sys.exit("Horovod has Adasum over MPI only: take the launcher mpirun or horovodrun-mpi, or --reduction average")
    return device


def distributed(optimizer: torch.optim.Optimizer, net: torch.nn.Module, compression: str, reduction: str):
    """Return the optimizer wrapped by Horovod: it combines the gradients of all processes while they are computed."""
    return hvd.DistributedOptimizer(
        optimizer,
        named_parameters=net.named_parameters(),
        compression=hvd.Compression.fp16 if compression == "fp16" else hvd.Compression.none,
        op=hvd.Adasum if reduction == "adasum" else hvd.Average,
    )


def check_gradients(optimizer, net: torch.nn.Module, loss_of, batch) -> tuple[float, float]:
    """Return (largest difference between Horovod's averaged gradient and the mean of all ranks', largest of that mean).

    Every rank has its own batch. The reference does not use the optimizer: each rank's gradient is gathered and
    averaged here. At most a million entries are compared, evenly spread. Not for Adasum, which averages no gradients.
    """
    inputs, labels = batch
    training = net.training
    net.eval()  # no dropout, and batch normalisation keeps its statistics
    own = torch.autograd.grad(loss_of(net(inputs), labels), list(net.parameters()))
    loss_of(net(inputs), labels).backward()
    optimizer.synchronize()
    averaged = [parameter.grad for parameter in net.parameters()]
    own, averaged = (torch.cat([each.flatten() for each in gradients]) for gradients in (own, averaged))
    every = -(-own.numel() // 1_000_000)
    own, averaged = own[::every].contiguous(), averaged[::every]
    mean = hvd.allgather(own[None], name="check").mean(dim=0)
    optimizer.zero_grad()
    net.train(training)
    return (averaged - mean).abs().max().item(), mean.abs().max().item()


def over_ranks(number: float) -> float:
    """Return the sum of all processes' numbers."""
    return hvd.allreduce(torch.tensor(float(number)), op=hvd.Sum, name="sum").item()


def from_rank_zero(number: int) -> int:
    """Return rank 0's number on every rank."""
    return int(hvd.broadcast(torch.tensor(number), 0, name="from rank 0").item())


@torch.no_grad()
def apart(net: torch.nn.Module) -> float:
    """Return how far the ranks' weights are from rank 0's, relative to its largest: 0 when they train one network."""
    own = torch.cat([parameter.flatten() for parameter in net.parameters()])
    first = hvd.broadcast(own, 0, name="weights")
    distance = ((own - first).abs().max() / first.abs().max()).item()
    return hvd.allreduce(torch.tensor(distance), op=hvd.Max, name="apart").item()


def leave() -> None:
    """Leave the other processes: Horovod's thread ends before Python does."""
    hvd.shutdown()
