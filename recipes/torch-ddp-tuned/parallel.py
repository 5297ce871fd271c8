"""How the processes train one network together: DistributedDataParallel, its options and what its all-reduce sends."""

import argparse
import warnings

import torch
import torch.distributed as dist
from compression import START, Sent, compress
from torch.nn.parallel import DistributedDataParallel


def wrap(net: torch.nn.Module, args: argparse.Namespace) -> tuple[DistributedDataParallel, Sent]:
    """Return the network with averaged gradients, as the options say, and what counts the bytes that they send.

    Batch normalisation keeps its statistics per rank while training (unless it is SyncBatchNorm), and evaluate()
    averages them: else every step would wait.
    """
    warnings.filterwarnings("ignore", "`broadcast_buffers`")  # deprecated, but its successor is too young to rely on
    model = DistributedDataParallel(
        net, broadcast_buffers=False, bucket_cap_mb=args.bucket_mb,
        gradient_as_bucket_view=args.bucket_view, static_graph=args.static_graph,
    )  # fmt: skip
    start = args.powersgd_start if args.hook == "powersgd" else START
    return model, compress(model, args.hook, start=start, rank=args.powersgd_rank, seed=args.seed)


@torch.no_grad()
def spread(net: torch.nn.Module) -> float:
    """Return the largest difference of a weight between processes ÷ the largest weight: 0 while they train together."""
    if not dist.is_initialized():
        return 0.0
    most = torch.cat([each.flatten() for each in net.parameters()])
    least = most.clone()
    dist.all_reduce(most, dist.ReduceOp.MAX)
    dist.all_reduce(least, dist.ReduceOp.MIN)
    return ((most - least).max() / most.abs().max()).item()
