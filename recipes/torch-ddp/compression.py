# Copy of recipes/shared/compression.py, written by `make recipes`; edit it there.
"""Gradients that take fewer bytes on the network: hooks for DistributedDataParallel, on NCCL and on Gloo.

    from compression import compress
    sent = compress(model, "topk")          # model: DistributedDataParallel; before the first step
    ...
    sent.bytes                              # what this process sent in the last step

| hook | what travels | bytes of fp32's |
|---|---|---|
| `fp16`, `bf16` | rounded gradients | 1/2 (bf16 on Gloo: 1/2 × m/2) |
| `int8` | whole numbers from −127 to 127, with a scale for each 1024 | 1/4 × m/2 |
| `topk` | the largest hundredth of the entries, with their places | 1/50 × m/2 |
| `onebit` | signs, with a scale for each 1024 (Seide et al., 1-Bit SGD, Interspeech 2014) | 1/31 × m/2 |
| `powersgd` | two thin matrices for each wide one (Vogels et al., PowerSGD, NeurIPS 2019) | by the shapes |

m is the number of processes: what cannot be added up on the way is gathered by everybody. What a lossy hook leaves out
is kept and added to the next gradient (error feedback, Karimireddy et al., ICML 2019); without it trainings end worse
or not at all. The first steps of the lossy ones go uncompressed, for early gradients compress badly.
"""

import math
from collections.abc import Callable

import torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks.powerSGD_hook import PowerSGDState, powerSGD_hook
from torch.nn.parallel import DistributedDataParallel

CHUNK = 1024
"""Entries of a gradient that share a scale."""
SHARE = 0.01
"""Part of the entries that `topk` sends."""
START = 10
"""Steps that lossy hooks send uncompressed. DDP puts its buckets together anew after the first one."""
ROUNDING = {"fp16": torch.float16, "bf16": torch.bfloat16}


class Sent:
    """What this process sends in a step, in bytes, as the usual algorithms of the collectives send it.

    A ring all-reduce sends 2(m − 1)/m times what is reduced (Patarasuk and Yuan 2009), an all-gather (m − 1) times what
    one process has. The sizes are those of the tensors that were really handed over.
    """

    def __init__(self, processes: int, parameters: float = 0) -> None:
        self.processes = processes
        self.bytes = self._reduced(parameters)
        self._now, self.steps = 0.0, 0

    def _reduced(self, size: float) -> float:
        return 2 * (self.processes - 1) / self.processes * size

    def reduced(self, size: float) -> None:
        """Count a tensor of so many bytes that is reduced."""
        self._now += self._reduced(size)

    def gathered(self, size: float) -> None:
        """Count a tensor of so many bytes that everybody gets."""
        self._now += (self.processes - 1) * size

    def end(self, last: bool) -> None:
        """End a bucket; the last one ends a step."""
        if last:
            self.bytes, self._now, self.steps = self._now, 0.0, self.steps + 1


def compress(
    model: DistributedDataParallel, hook: str, *, start: int = START, rank: int = 2, seed: int = 0,
    error_feedback: bool = True,
) -> Sent:  # fmt: skip
    """Send a model's gradients as the hook says; return what counts the bytes. Raises ValueError for an unknown hook.

    `rank`: of PowerSGD's matrices; `start`: steps that lossy hooks send uncompressed, at least 2.
    """
    sent = Sent(dist.get_world_size(), sum(each.nbytes for each in model.parameters() if each.requires_grad))
    start = max(2, start)
    if hook == "bf16" and dist.get_backend() == "gloo":  # it adds fp16, not bf16
        model.register_comm_hook(None, _gathered(Packing(pack_bf16, unpack_bf16, keep=False), 0, sent))
    elif hook in ROUNDING:
        model.register_comm_hook(None, _rounded(ROUNDING[hook], sent))
    elif hook == "powersgd":
        state = PowerSGDState(
            process_group=None, matrix_approximation_rank=rank, start_powerSGD_iter=start,
            use_error_feedback=error_feedback, warm_start=error_feedback, random_seed=seed,
        )  # fmt: skip
        model.register_comm_hook(state, _power(sent))
    elif hook in PACKERS:
        model.register_comm_hook(None, _gathered(Packing(*PACKERS[hook], keep=error_feedback), start, sent))
    elif hook != "none":
        raise ValueError(f"no such hook: {hook}")
    return sent


def tolerance(hook: str, processes: int, amp: str = "none") -> float:
    """Return how far the averaged gradient may lie from the true mean, as a part of its largest entry.

    fp16 rounds to 2^-11 and bf16 to 2^-8 of a number, once before the sum and again in it; random roundings grow with
    the root of their number. The others send their first gradients, of which the check looks at one, uncompressed.
    Mixed precision (`amp`) computes the gradient twice, and GPUs add up in no fixed order: the largest entry may become
    one of the next four numbers that fp16 or bf16 has.
    """
    sent = {"fp16": 1e-3, "bf16": 8e-3}.get(hook, 0) * math.sqrt(max(1, processes / 2))
    return max(1e-3, sent, {"fp16": 4e-3, "bf16": 3e-2}.get(amp, 0))


class Packing:
    """Packs gradients and keeps what the packing leaves out, for the next gradient of the same bucket."""

    def __init__(self, pack: Callable, unpack: Callable, keep: bool = True) -> None:
        self.unpack, self._pack, self._keep = unpack, pack, keep
        self._memory: dict[int, torch.Tensor] = {}

    def packed(self, bucket: int, gradient: torch.Tensor) -> torch.Tensor:
        """Return the bytes that stand for a gradient, as many in every process."""
        if not self._keep:
            return self._pack(gradient)
        before = self._memory.get(bucket)
        if before is not None and before.shape == gradient.shape:
            gradient = gradient + before
        payload = self._pack(gradient)
        left = gradient - self.unpack(payload, gradient.numel()).to(gradient.dtype)
        # a gradient that overflowed (fp16 with loss scaling leaves the step out) must not stay in the memory
        self._memory[bucket] = torch.where(left.isfinite(), left, 0.0)
        return payload


def pack_bf16(gradient: torch.Tensor) -> torch.Tensor:
    """Return the rounded gradient as bytes."""
    return _bytes(gradient.to(torch.bfloat16))


def unpack_bf16(payload: torch.Tensor, count: int) -> torch.Tensor:
    """Return the gradient that `pack_bf16` packed."""
    return payload.view(torch.bfloat16).float()


def pack_int8(gradient: torch.Tensor) -> torch.Tensor:
    """Return whole numbers from −127 to 127 and the scales, as bytes."""
    rows = _rows(gradient)
    scale = rows.abs().amax(dim=1, keepdim=True) / 127
    whole = torch.where(scale > 0, rows / scale, 0.0).round().to(torch.int8)
    return torch.cat([_bytes(scale.flatten()), _bytes(whole.flatten())])


def unpack_int8(payload: torch.Tensor, count: int) -> torch.Tensor:
    """Return the gradient of `count` entries that `pack_int8` packed."""
    scale, whole = _scales(payload, count)
    return (whole.view(torch.int8).view(-1, CHUNK) * scale).flatten()[:count]


def pack_onebit(gradient: torch.Tensor) -> torch.Tensor:
    """Return the signs, eight in a byte, and the mean sizes, as bytes."""
    rows = _rows(gradient)
    used = _rows(torch.ones_like(gradient)).sum(dim=1)
    scale = rows.abs().sum(dim=1) / used
    bits = (rows >= 0).view(-1, 8).to(torch.uint8) << torch.arange(8, device=rows.device, dtype=torch.uint8)
    return torch.cat([_bytes(scale), bits.sum(dim=1).to(torch.uint8)])


def unpack_onebit(payload: torch.Tensor, count: int) -> torch.Tensor:
    """Return the gradient of `count` entries that `pack_onebit` packed."""
    scale, packed = _scales(payload, count)
    bits = (packed[:, None] >> torch.arange(8, device=packed.device, dtype=torch.uint8)) & 1
    return ((bits.view(-1, CHUNK).to(torch.float32) * 2 - 1) * scale).flatten()[:count]


def pack_topk(gradient: torch.Tensor) -> torch.Tensor:
    """Return the places and values of the largest entries, as bytes."""
    count = max(1, round(SHARE * gradient.numel()))
    places = gradient.abs().topk(count, sorted=False).indices
    return torch.cat([_bytes(places.to(torch.int32)), _bytes(gradient[places].to(torch.float32))])


def unpack_topk(payload: torch.Tensor, count: int) -> torch.Tensor:
    """Return the gradient of `count` entries that `pack_topk` packed: 0 where nothing was sent."""
    places, values = payload.view(2, -1)
    found = torch.zeros(count, device=payload.device)
    found[places.contiguous().view(torch.int32).long()] = values.contiguous().view(torch.float32)
    return found


PACKERS = {
    "int8": (pack_int8, unpack_int8), "topk": (pack_topk, unpack_topk), "onebit": (pack_onebit, unpack_onebit),
}  # fmt: skip
"""Hook → (gradient → bytes, bytes and number of entries → gradient)."""
HOOKS = ("none", "fp16", "bf16", "powersgd", *PACKERS)


def _rows(gradient: torch.Tensor) -> torch.Tensor:
    """Return the gradient as fp32 in rows of CHUNK entries, filled up with zeros."""
    return torch.nn.functional.pad(gradient.float(), (0, -gradient.numel() % CHUNK)).view(-1, CHUNK)


def _bytes(values: torch.Tensor) -> torch.Tensor:
    return values.contiguous().view(torch.uint8)


def _scales(payload: torch.Tensor, count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the scales, one a row, and the bytes behind them."""
    end = 4 * -(-count // CHUNK)
    return payload[:end].clone().view(torch.float32)[:, None], payload[end:]


def _rounded(dtype: torch.dtype, sent: Sent) -> Callable:
    def hook(state: object, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
        buffer = bucket.buffer()
        small = (buffer / sent.processes).to(dtype)
        sent.reduced(small.nbytes)
        sent.end(bucket.is_last())
        future = dist.all_reduce(small, async_op=True).get_future()
        return future.then(lambda done: buffer.copy_(small))

    return hook


def _power(sent: Sent) -> Callable:
    def hook(state: PowerSGDState, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
        buffer = bucket.buffer()
        before = state.compression_stats()[2]
        future = powerSGD_hook(state, bucket)
        entries = state.compression_stats()[2] - before  # 0 in the first steps, which go uncompressed
        sent.reduced(entries * buffer.element_size() if entries else buffer.nbytes)
        sent.end(bucket.is_last())
        return future

    return hook


def _gathered(packing: Packing, start: int, sent: Sent) -> Callable:
    def hook(state: object, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
        buffer = bucket.buffer()
        if sent.steps < start:
            sent.reduced(buffer.nbytes)
            sent.end(bucket.is_last())
            buffer.div_(sent.processes)
            return dist.all_reduce(buffer, async_op=True).get_future().then(lambda done: buffer)
        payload = packing.packed(bucket.index(), buffer)
        sent.gathered(payload.nbytes)
        sent.end(bucket.is_last())
        parts = [torch.empty_like(payload) for _ in range(sent.processes)]

        def mean(done: torch.futures.Future[torch.Tensor]) -> torch.Tensor:
            total = sum(packing.unpack(each, buffer.numel()) for each in parts)
            return buffer.copy_(total / sent.processes)

        return dist.all_gather(parts, payload, async_op=True).get_future().then(mean)

    return hook
