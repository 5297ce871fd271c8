# Copy of recipes/shared/communication.py, written by `make recipes`; edit it there.
"""What the recipe measures about its communication: how long a step waits for it, and whether it averages correctly."""

import gc
import time

import torch
import torch.distributed as dist
import torch.distributed.nn  # now, not when DDP wants it: its functions keep the group that they find, see leave()


class ExposedCommunication:
    """Seconds of a step in which a rank has all its own gradients and still waits for the averaged ones.

    DDP starts the all-reduce of a bucket of gradients as soon as the bucket is full, while backward goes on (Li et al.,
    PyTorch Distributed, VLDB 2020, section 3.2), and `backward()` returns when the last bucket has been averaged. What
    is hidden behind computing costs nothing; what is left over is the time from this rank's last gradient to the end of
    backward. The last gradient is that of the first layer, so one hook there is enough. It includes waiting for slower
    ranks: that is a cost of communicating too. On a GPU both moments are events in the stream that computes.
    """

    def __init__(self, net: torch.nn.Module, device: torch.device) -> None:
        self._gpu = device.type == "cuda"
        self._alone = not dist.is_initialized() or dist.get_world_size() == 1
        self._ready = self._events = self._former = None
        if not self._alone:
            next(net.parameters()).register_hook(self._last_gradient)

    def _last_gradient(self, gradient: torch.Tensor) -> None:
        if self._gpu:
            self._events = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
            self._events[0].record()
        else:
            self._ready = time.perf_counter()

    def seconds(self) -> float:
        """Return the exposed seconds; call it right after `backward()`.

        On a GPU they are the former step's, whose end is awaited here: that keeps the host at most one step ahead, so
        that the phases of the meter stay true, and leaves the GPU always something to do.
        """
        if self._alone:
            return 0.0
        if not self._gpu:
            return time.perf_counter() - self._ready
        self._events[1].record()
        former, self._former = self._former, self._events
        if former is None:
            return 0.0
        former[1].synchronize()
        return former[0].elapsed_time(former[1]) / 1000  # milliseconds


def check_gradients(model, net, loss_of, batch) -> tuple[float, float]:
    """Return (largest difference between the averaged gradient and the mean of all ranks', largest entry of that mean).

    `model` is `net` wrapped for data-parallel training. Every rank has its own batch. The reference does not use DDP:
    each rank's gradient is gathered and averaged here. At most a million entries are compared, evenly spread.
    """
    inputs, labels = batch
    training = net.training
    net.eval()  # no dropout, and batch normalisation keeps its statistics
    own = torch.autograd.grad(loss_of(net(inputs), labels), list(net.parameters()))
    loss_of(model(inputs), labels).backward()
    averaged = [parameter.grad for parameter in net.parameters()]
    own, averaged = (torch.cat([each.flatten() for each in gradients]) for gradients in (own, averaged))
    every = -(-own.numel() // 1_000_000)
    own, averaged = own[::every].contiguous(), averaged[::every]
    mean = own
    if dist.is_initialized():
        gathered = [torch.empty_like(own) for _ in range(dist.get_world_size())]
        dist.all_gather(gathered, own)
        mean = torch.stack(gathered).mean(dim=0)
    net.zero_grad(set_to_none=True)
    net.train(training)
    return (averaged - mean).abs().max().item(), mean.abs().max().item()


def leave() -> None:
    """Leave the other processes; call it when nothing refers to the DDP model any more.

    Gloo's threads drop the last tensors on their own time. A thread that does so while Python is ending aborts the
    process ("terminate called without an active exception", PyTorch issue 190489), and a good run has failed. They are
    waited for when the process group goes, and it goes only when nobody holds it: neither a DDP model, nor the default
    arguments of torch.distributed.nn, which are the group of the time at which it was imported.
    """
    gc.collect()
    if dist.is_initialized():
        dist.destroy_process_group()
