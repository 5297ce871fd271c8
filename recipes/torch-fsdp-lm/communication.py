"""The check that gradients are averaged correctly, and how to leave at the end."""

import gc

import torch
import torch.distributed as dist
from torch.distributed.tensor import DTensor


def mean_gradient(net: torch.nn.Module, loss_of, batch) -> torch.Tensor:
    """Return the mean over all ranks of each rank's own gradient, of a network that is not cut into shards.

    No FSDP in it: every rank computes alone and what it finds is gathered and averaged here.
    """
    tokens, followers = batch
    own = _some(torch.autograd.grad(loss_of(net(tokens), followers), list(net.parameters())))
    gathered = [torch.empty_like(own) for _ in range(dist.get_world_size())]
    dist.all_gather(gathered, own)
    return torch.stack(gathered).mean(dim=0)


def check_gradients(model: torch.nn.Module, loss_of, batch, mean: torch.Tensor) -> tuple[float, float]:
    """Return (largest difference between the gradient that the shards hold together and `mean`, largest of `mean`)."""
    tokens, followers = batch
    loss_of(model(tokens), followers).backward()
    # one after the other, so that never more than one whole gradient is in memory
    averaged = _some(_whole(parameter.grad.to(tokens.device)) for parameter in model.parameters())
    model.zero_grad(set_to_none=True)
    return (averaged - mean).abs().max().item(), mean.abs().max().item()


def _whole(gradient: torch.Tensor) -> torch.Tensor:
    """Return a gradient with the shards of all ranks put together."""
    return gradient.full_tensor() if isinstance(gradient, DTensor) else gradient


def _some(gradients) -> torch.Tensor:
    """Return one to two thousand evenly spread entries of each gradient, or all it has, in one fp32 vector."""
    return torch.cat([each.flatten()[:: max(1, each.numel() // 1000)].float() for each in gradients])


def leave() -> None:
    """Leave the other processes; call it when nothing refers to the sharded network any more.

    Gloo's threads drop the last tensors on their own time. A thread that does so while Python is ending aborts the
    process ("terminate called without an active exception", PyTorch issue 190489), and a good run has failed. They are
    waited for when the process group goes, and it goes only when nobody holds it.
    """
    gc.collect()
    if dist.is_initialized():
        dist.destroy_process_group()
