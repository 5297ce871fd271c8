"""How the processes train one network together: each keeps a part of every parameter (FSDP2)."""

import torch
import torch.distributed as dist
from model import GPT
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import CPUOffloadPolicy, MixedPrecisionPolicy, OffloadPolicy, fully_shard

DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}
ROUNDING = {"fp32": 1e-3, "bf16": 3e-2}
"""Precision → how far one gradient computed twice may differ, as a part of its largest entry.

GPUs add up in no fixed order: in bf16 the largest entry then becomes a neighbouring number, up to 2^-7 of it away.
"""


def shard(net: GPT, device: torch.device, precision: str, cpu_offload: bool, keep: bool) -> GPT:
    """Cut the network into shards, in place, and return it; FSDP moves it to the device.

    Every block is a group of parameters: they are gathered before it computes, let go afterwards (unless `keep`),
    gathered again for backward, and their gradients are averaged and scattered by one reduce-scatter (Zhao et al.,
    PyTorch FSDP, VLDB 2023). Embeddings and the last norm are the outermost group.
    bf16: parameters are gathered and multiplied in bf16, gradients averaged in fp32, weights and optimizer stay fp32.
    One process in fp32 has nothing to cut: it is what speed-up is compared with, and FSDP's hooks would cost it time.
    """
    if dist.get_world_size() == 1 and precision == "fp32" and not cpu_offload:
        return net.to(device)
    mesh = init_device_mesh(device.type, (dist.get_world_size(),))
    mesh._pg_registry.clear()  # PyTorch caches meshes for ever, and with them what leave() must see go; names suffice
    options = {
        "mesh": mesh,
        "mp_policy": MixedPrecisionPolicy(param_dtype=DTYPES[precision], reduce_dtype=torch.float32),
        "offload_policy": CPUOffloadPolicy(pin_memory=True) if cpu_offload else OffloadPolicy(),
    }
    for block in net.blocks:
        fully_shard(block, reshard_after_forward=not keep, **options)
    fully_shard(net, **options)
    return net
