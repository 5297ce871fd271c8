"""Messages between ranks: tensors between stages, sums over ranks; and the detection of a lost rank."""

import atexit
import contextlib
import itertools
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist

from hackathon.parallel.live.layout import Layout
from hackathon.parallel.live.slow_stages import SlowStages, StepProgress
from hackathon.parallel.live.split import Value
from hackathon.text.errors import HackathonError

GRACE = 1.0
"""Seconds in which ranks that lost a neighbour report it, before one of them names the lost rank."""
PATIENCE = 4.0
"""Seconds after which one is named even if several may be lost; a busy machine can delay heartbeats."""
HEART = "hackathon/beats/"


class RankLostError(HackathonError):
    """Another rank ended, or did not answer within the time limit."""


@dataclass
class Received:
    """A tensor that is being received."""

    value: Value
    source: int
    tensor: torch.Tensor | None
    """None: it comes from a stage of this rank."""
    work: Any
    tag: int = 0


class Messenger:
    """This rank's messages to others. A single rank sends none and does not use torch.distributed."""

    def __init__(self, layout: Layout, rank: int, device: torch.device, timeout: float) -> None:
        self.layout, self.rank, self.device, self.timeout = layout, rank, device, timeout
        self.progress = StepProgress()
        self._sent: list[tuple[Any, torch.Tensor, int]] = []
        self._kept: dict[int, torch.Tensor] = {}
        """Tag → tensor that a stage of this rank sent to another of its stages."""
        self._groups: dict[tuple[int, ...], Any] = {}
        self._all = None
        self._ways: dict[tuple[bool, bool], Any] = {}
        if layout.size > 1:
            _Heart(rank, lambda store: SlowStages(layout, rank, self.progress, store, timeout))
            self._all = self._new(None)  # a separate group, with our time limit
            if device.type == "cuda":
                # NCCL has no tags: forward and backward messages must not wait for each other, nor messages to higher
                # and to lower ranks, which is another distinction if a rank has several stages
                routes = [(True, True), (False, False)] if layout.chunks == 1 else [
                    (forward, up) for forward in (True, False) for up in (True, False)
                ]  # fmt: skip
                self._ways = {way: self._new(None) for way in routes}

    def _group(self, forward: bool, *, up: bool) -> Any:
        return self._ways.get((forward, up), self._all)

    def _new(self, ranks: Sequence[int] | None) -> Any:
        return dist.new_group(ranks, timeout=timedelta(seconds=self.timeout))

    def make_group(self, ranks: tuple[int, ...]) -> None:
        """Prepare sums over some ranks. All ranks call this, for the same sets in the same order."""
        if len(ranks) > 1 and ranks not in self._groups:
            self._groups[ranks] = self._all if len(ranks) == self.layout.size else self._new(ranks)

    def mesh(self, ranks: tuple[int, ...]) -> Any:
        """Return a one-dimensional mesh over some ranks including this one, with our time limit."""
        from torch.distributed.device_mesh import DeviceMesh

        return DeviceMesh.from_group(self._groups[ranks], self.device.type, mesh_dim_names=("replica",))

    # ---- stage to stage
    def send(self, value: Value, tensor: torch.Tensor, target: int, tag: int, *, forward: bool) -> None:
        """Send a tensor without waiting for it."""
        flat = flat_bytes(value, tensor)
        if target == self.rank:
            self._kept[tag] = flat.clone()
        elif flat.numel():
            with self._blaming((target,)):
                group = self._group(forward, up=target > self.rank)
                self._sent.append((dist.isend(flat, target, group=group, tag=tag), flat, target))

    def receive(self, value: Value, source: int, tag: int, *, forward: bool) -> Received:
        """Start receiving a tensor."""
        if source == self.rank:
            return Received(value, source, None, None, tag)
        size = 1
        for length in value.shape:
            size *= length
        flat = torch.empty(size, dtype=value.dtype, device=self.device)
        tensor = flat.as_strided(value.shape, value.strides) if size else flat.view(value.shape)
        if not size:
            return Received(value, source, tensor, None)
        with self._blaming((source,)):
            group = self._group(forward, up=source < self.rank)
            work = dist.irecv(flat.view(torch.uint8), source, group=group, tag=tag)
        return Received(value, source, tensor, work)

    def wait(self, received: Received) -> torch.Tensor:
        """Return a tensor when it has arrived."""
        value = received.value
        if received.tensor is None:
            flat = self._kept.pop(received.tag).view(value.dtype)
            return flat.as_strided(value.shape, value.strides) if flat.numel() else flat.view(value.shape)
        if received.work is not None:
            with self._blaming((received.source,)):
                received.work.wait()
        return received.tensor

    def finish(self) -> None:
        """Wait until all sent tensors have arrived."""
        for work, _, target in self._sent:
            with self._blaming((target,)):
                work.wait()
        self._sent.clear()

    def tidy(self) -> None:
        """Release the memory of tensors that have arrived."""
        self._sent = [message for message in self._sent if not message[0].is_completed()]

    # ---- many ranks
    def sum(self, tensor: torch.Tensor, ranks: tuple[int, ...]) -> None:
        """Add the tensors of some ranks, in place, on all of them."""
        if len(ranks) > 1:
            with self._blaming(ranks):
                dist.all_reduce(tensor, group=self._groups[ranks])

    def sum_over_all(self, tensor: torch.Tensor) -> None:
        """Add the tensors of all ranks, in place."""
        if self.layout.size > 1:
            with self._blaming(range(self.layout.size)):
                dist.all_reduce(tensor, group=self._all)

    def broadcast(self, tensor: torch.Tensor, source: int, ranks: tuple[int, ...] | None = None) -> None:
        """Send the tensor of one rank to some, or to all."""
        if self.layout.size > 1 and (ranks is None or len(ranks) > 1):
            with self._blaming(ranks or range(self.layout.size)):
                dist.broadcast(tensor, source, group=self._all if ranks is None else self._groups[ranks])

    def objects_of_all(self, value: object) -> list[Any]:
        """Return each rank's object. Only for small ones: they are pickled."""
        if self.layout.size == 1:
            return [value]
        objects: list[Any] = [None] * self.layout.size
        with self._blaming(range(self.layout.size)):
            dist.all_gather_object(objects, value, group=self._all)
        return objects

    def barrier(self) -> None:
        """Wait for all ranks."""
        if self.layout.size > 1:
            with self._blaming(range(self.layout.size)):
                dist.barrier(group=self._all)

    # ---- detection of a lost rank
    @contextlib.contextmanager
    def _blaming(self, ranks: Sequence[int]) -> Iterator[None]:
        try:
            with self.progress.waiting(ranks):
                yield
        except (RuntimeError, ValueError) as error:
            raise self._lost(ranks, error) from error

    @contextlib.contextmanager
    def together(self, ranks: Sequence[int]) -> Iterator[None]:
        """Name the lost rank if a collective of another library over some ranks fails because of it."""
        try:
            with self.progress.waiting(ranks, surely=False) if len(ranks) > 1 else contextlib.nullcontext():
                yield
        except RuntimeError as error:
            if not isinstance(error, dist.DistError) and not any(backend in str(error) for backend in ("gloo", "NCCL")):
                raise
            raise self._lost(ranks, error) from error

    def _lost(self, ranks: Sequence[int], error: Exception) -> RankLostError:
        lost = self.blamed([rank for rank in ranks if rank != self.rank])
        stage, replica = self.layout.place(lost)
        return RankLostError(
            "auto_parallel.rank_lost",
            "stage {stage}, replica {replica} (rank {rank}) does not answer: {reason}",
            hint="The cause is in the output of that rank.",
            stage=stage,
            replica=replica,
            rank=lost,
            reason=str(error).split("\n")[0],
        )

    def blamed(self, waited_for: Sequence[int]) -> int:
        """Return the lost rank. All ranks that this one waits for may be alive, and wait themselves.

        A rank that lost a neighbour publishes for whom it waits, and the chain is followed to its ends. An end is a
        rank that is dead or hangs, or one that has not noticed yet: it has a heartbeat, and a dead one is named
        instead.
        """
        try:
            store = dist.distributed_c10d._get_default_store()
            store.set(f"hackathon/waits/{self.rank}", ",".join(map(str, waited_for)))
            before = self._beats(store)
            end = time.monotonic() + PATIENCE
            while True:
                time.sleep(GRACE)
                ends = self._ends(store, waited_for)
                now = self._beats(store)
                dead = [rank for rank in ends if now[rank] == before[rank]]
                if len(dead) <= 1 or time.monotonic() > end:
                    break
            suspects = dead or ends or list(waited_for)
            if self.rank == 0:  # it may host the store, which others still need
                time.sleep(2 * GRACE)
            return suspects[0]
        except (RuntimeError, ValueError):  # the rank that hosts the store is lost
            return waited_for[0]

    def _beats(self, store: Any) -> list[bytes]:
        """Return the heartbeat counters of all ranks; none for a rank without a heartbeat so far."""
        keys = [f"{HEART}{rank}" for rank in range(self.layout.size)]
        return [store.get(key) if store.check([key]) else b"" for key in keys]

    def _ends(self, store: Any, waited_for: Sequence[int]) -> list[int]:
        """Return the ranks at the ends of all chains of waiting, in order."""
        suspects, visited, ends = list(waited_for), {self.rank}, []
        while suspects:
            rank = suspects.pop(0)
            if rank in visited:
                continue
            visited.add(rank)
            if store.check([f"hackathon/waits/{rank}"]):
                suspects += [
                    int(number) for number in store.get(f"hackathon/waits/{rank}").decode().split(",") if number
                ]
            else:
                ends.append(rank)
        return sorted(ends)


class _Heart:
    """Counts up in the store as a sign of life. It stops before Python ends.

    Meanwhile it searches for stages that hang, and names them on standard error.
    """

    def __init__(self, rank: int, watch: Callable[[Any], SlowStages]) -> None:
        store = dist.distributed_c10d._get_default_store()
        self._store, self._key = store.clone() if hasattr(store, "clone") else store, f"{HEART}{rank}"
        self._slow = watch(self._store)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._beat, daemon=True, name="heart")
        atexit.register(self.stop)
        self._thread.start()

    def _beat(self) -> None:
        with contextlib.suppress(RuntimeError, ValueError):  # the store is gone
            for number in itertools.count():
                self._store.set(self._key, str(number))
                if (words := self._slow.look()) is not None:
                    print(words, file=sys.stderr, flush=True)
                if self._stop.wait(GRACE / 4):
                    return

    def stop(self) -> None:
        """Stop the thread: one that uses the store while Python ends can abort the process."""
        self._stop.set()
        self._thread.join(GRACE)


def flat_bytes(value: Value, tensor: torch.Tensor) -> torch.Tensor:
    """Return the bytes of a tensor in the order of its receiver's layout."""
    tensor = tensor.detach().to(value.dtype)
    if tuple(tensor.stride()) != value.strides:
        tensor = torch.empty_strided(value.shape, value.strides, dtype=value.dtype, device=tensor.device).copy_(tensor)
    return tensor.as_strided((tensor.numel(),), (1,), tensor.storage_offset()).view(torch.uint8)
