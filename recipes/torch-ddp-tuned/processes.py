# Copy of recipes/shared/processes.py, written by `make recipes`; edit it there.
"""Joining the other processes of a training with torch.distributed, and numbers that all of them agree on."""

import os

import torch
import torch.distributed as dist
from hackathon_runtime import rendezvous


def connect(me, deterministic: bool) -> torch.device:
    """Return this process's device, after joining the others."""
    gpus = torch.cuda.device_count() if torch.cuda.is_available() else 0
    device = torch.device("cuda", me.local_rank % gpus) if gpus else torch.device("cpu")
    if gpus:
        torch.cuda.set_device(device)
    elif "OMP_NUM_THREADS" not in os.environ:
        torch.set_num_threads(max(1, len(os.sched_getaffinity(0)) // me.local_world_size))
    if deterministic:
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
        torch.use_deterministic_algorithms(True)
    if me.world_size > 1:
        address, port = rendezvous(me)
        os.environ.setdefault("MASTER_ADDR", address)
        os.environ.setdefault("MASTER_PORT", str(port))
        dist.init_process_group("nccl" if gpus else "gloo", rank=me.rank, world_size=me.world_size)
    return device


def over_ranks(number: float, device: torch.device) -> float:
    """Return the sum of all processes' numbers."""
    box = torch.tensor(float(number), device=device)
    if dist.is_initialized():
        dist.all_reduce(box)
    return box.item()


def from_rank_zero(number: int, device: torch.device) -> int:
    """Return rank 0's number on every rank."""
    box = torch.tensor(number, device=device)
    if dist.is_initialized():
        dist.broadcast(box, 0)
    return int(box.item())
