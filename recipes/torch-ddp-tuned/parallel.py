"""How the processes train one network together: DistributedDataParallel, its options and what its all-reduce sends."""

import argparse
import math
import warnings

import torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
from torch.distributed.algorithms.ddp_comm_hooks.powerSGD_hook import PowerSGDState, powerSGD_hook
from torch.nn.parallel import DistributedDataParallel


def wrap(net: torch.nn.Module, args: argparse.Namespace) -> DistributedDataParallel:
    """Return the network with averaged gradients, as the options say.

    Batch normalisation keeps its statistics per rank while training (unless it is SyncBatchNorm), and evaluate()
    averages them: else every step would wait.
    """
    warnings.filterwarnings("ignore", "`broadcast_buffers`")  # deprecated, but its successor is too young to rely on
    model = DistributedDataParallel(
        net, broadcast_buffers=False, bucket_cap_mb=args.bucket_mb,
        gradient_as_bucket_view=args.bucket_view, static_graph=args.static_graph,
    )  # fmt: skip
    if args.hook == "fp16":
        model.register_comm_hook(None, default_hooks.fp16_compress_hook)
    elif args.hook == "bf16":
        model.register_comm_hook(None, default_hooks.bf16_compress_hook)
    elif args.hook == "powersgd":
        # error feedback: what a compressed gradient leaves out is added to the next one, so nothing is lost for good
        state = PowerSGDState(
            process_group=None, matrix_approximation_rank=args.powersgd_rank,
            start_powerSGD_iter=args.powersgd_start, use_error_feedback=True, warm_start=True, random_seed=args.seed,
        )  # fmt: skip
        model.register_comm_hook(state, powerSGD_hook)
    return model


def tolerance(hook: str, processes: int) -> float:
    """Return how far the averaged gradient may lie from the true mean, as a part of its largest entry.

    fp16 rounds to 2^-11 and bf16 to 2^-8 of a number, once before the sum and again in it; random roundings grow with
    the root of their number. PowerSGD sends its first gradients, of which the check looks at one, uncompressed.
    """
    return {"fp16": 1e-3, "bf16": 8e-3}.get(hook, 0) * math.sqrt(max(1, processes / 2)) or 1e-3


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
