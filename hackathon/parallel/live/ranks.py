"""Connect the ranks: by the environment that every launcher of the toolkit sets."""

import os
from datetime import timedelta

import torch
import torch.distributed as dist


def device_of_rank() -> torch.device:
    """Return the GPU of this rank, or the CPU without one."""
    if not torch.cuda.is_available():
        return torch.device("cpu")
    return torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")) % torch.cuda.device_count())


def connect(device: torch.device, timeout: float) -> tuple[int, int]:
    """Return rank and number of ranks; connect them unless the program has. `timeout`: seconds to wait for a rank."""
    if not dist.is_initialized():
        size = int(os.environ.get("WORLD_SIZE", "1"))
        if size == 1:
            return 0, 1
        if device.type == "cuda":
            torch.cuda.set_device(device)
        backend = "nccl" if device.type == "cuda" else "gloo"
        dist.init_process_group(backend, timeout=timedelta(seconds=timeout))
    return dist.get_rank(), dist.get_world_size()
