"""One step over all stages: the passes of this rank in the common order, with the tensors they need from others."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from hackathon.parallel.live.exchange import Messenger, Received
from hackathon.parallel.live.layout import Layout
from hackathon.parallel.live.split import StagePart, Value
from hackathon.parallel.live.stage import RankStage
from hackathon.parallel.plan.order import BACKWARD, FORWARD, INPUT, WEIGHT, interleaved_order, rank_order, warm_ups

Pass = tuple[bool, int]
"""(True, i): the forward pass of micro-batch i; (False, i): its backward pass."""


def passes(layout: Layout, rank: int, micro_batches: int, schedule: str) -> list[Pass]:
    """Return the passes of a rank in order. `gpipe`: all forward passes, then all backward passes."""
    stage, replica = layout.place(rank)
    warm_up = warm_ups(layout.replicas)[stage] if schedule == "1f1b" else micro_batches
    order = rank_order(warm_up, replica, layout.replicas[stage], micro_batches)
    return order if schedule == "1f1b" else sorted(order, key=lambda step: (not step[0], step[1]))


StagePass = tuple[str, int, int]
"""(kind, stage, micro-batch); kinds are those of plan.order."""
INTERLEAVED = {"interleaved-1f1b": False, "interleaved-zero-bubble": True}
"""Schedules with several stages per rank → whether backward passes are split in two."""


def stage_passes(layout: Layout, rank: int, micro_batches: int, schedule: str) -> list[StagePass]:
    """Return the passes of a rank over all its stages, in order."""
    first, replica = layout.place(rank)
    if schedule not in INTERLEAVED:
        order = passes(layout, rank, micro_batches, schedule)
        return [(FORWARD if forward else BACKWARD, first, number) for forward, number in order]
    replicas = layout.replicas[first]
    rows = interleaved_order(
        first, layout.distance, layout.chunks, micro_batches // replicas, zero_bubble=INTERLEAVED[schedule]
    )
    return [(kind, stage, number * replicas + replica) for kind, stage, number in rows]


@dataclass(frozen=True)
class Links:
    """The tensors between stages, with the same numbers on all ranks: one for each value and stage that reads it."""

    numbers: Mapping[tuple[str, int], int]

    @classmethod
    def of(cls, parts: Sequence[StagePart]) -> "Links":
        """Return the links of all stages."""
        pairs = [(value.name, reader) for part in parts for value in part.sends for reader in value.readers]
        return cls({pair: number for number, pair in enumerate(pairs)})

    def tag(self, value: Value, reader: int, micro_batch: int, *, forward: bool) -> int:
        """Return the tag of a message, unique in a step."""
        return (micro_batch * len(self.numbers) + self.numbers[value.name, reader]) * 2 + forward


class Pipeline:
    """The work of this rank in a step."""

    def __init__(
        self, stages: Sequence[RankStage], links: Links, exchange: Messenger, schedule: str = "1f1b"
    ) -> None:  # fmt: skip
        self.links, self.exchange, self.schedule = links, exchange, schedule
        self.stages = {stage.part.number: stage for stage in stages}
        self._replicas = exchange.layout.ranks([exchange.layout.place(exchange.rank)[0]])

    @property
    def stage(self) -> RankStage:
        """The stage of this rank, or the first of them."""
        return next(iter(self.stages.values()))

    def step(
        self, micro_batches: Sequence[Sequence[Any]], gradient: Callable[[torch.Tensor], torch.Tensor]
    ) -> torch.Tensor:
        """Make all passes; gradients are added to `.grad`. Return the loss of each micro-batch that this rank computed.

        `micro_batches`: the leaves of each micro-batch's inputs; `gradient`: of the step's loss by a micro-batch's.
        """
        count = len(micro_batches)
        losses = torch.zeros(count, dtype=torch.float64, device=self.exchange.device)
        order = stage_passes(self.exchange.layout, self.exchange.rank, count, self.schedule)
        coming = self._begin(order[0]) if order else []
        results: dict[tuple[int, int], list[torch.Tensor]] = {}
        for at, (kind, number, micro_batch) in enumerate(order):
            now = coming
            coming = self._begin(order[at + 1]) if at + 1 < len(order) else []
            tensors = [self.exchange.wait(message) for message in now]
            stage = self.stages[number]
            part = stage.part
            if kind == FORWARD:
                inputs = [micro_batches[micro_batch][leaf] for leaf in part.inputs]
                with self.exchange.together(self._replicas):
                    outputs = stage.forward(micro_batch, inputs, tensors)
                self._send(part.sends, outputs, micro_batch)
                results[number, micro_batch] = outputs[len(part.sends) :]
                if part.results:
                    losses[micro_batch] = results[number, micro_batch][0].double()
            elif kind == WEIGHT:
                stage.backward_weight(micro_batch)
            else:
                gradients: list[torch.Tensor | None] = [*_summed(part.sends, now, tensors)]
                gradients += [gradient(loss) for loss in results.pop((number, micro_batch))]
                backward = stage.backward_input if kind == INPUT else stage.backward
                with self.exchange.together(self._replicas):
                    input_gradients = backward(micro_batch, gradients)
                self._send_back(part, input_gradients, micro_batch)
            self.exchange.tidy()
        self.exchange.finish()
        return losses

    def infer(
        self, parts: Sequence[StagePart], links: Links, micro_batches: Sequence[Sequence[Any]]
    ) -> list[dict[int, list[torch.Tensor]]]:
        """Run an evaluation; return, for each micro-batch, the results of the stages that this rank ran for it."""
        results: list[dict[int, list[torch.Tensor]]] = []
        layout = self.exchange.layout
        for micro_batch, leaves in enumerate(micro_batches):
            results.append({})
            for number, stage in self.stages.items():
                if layout.rank(number, micro_batch) != self.exchange.rank:
                    continue
                part = parts[number]
                coming = [self._receive(links, v, v.sender, micro_batch, number, True) for v in part.receives]
                tensors = [self.exchange.wait(message) for message in coming]
                outputs = stage.infer(micro_batch, part, [leaves[leaf] for leaf in part.inputs], tensors)
                self._send(part.sends, outputs, micro_batch, links)
                results[-1][number] = outputs[len(part.sends) :]
                self.exchange.tidy()
        self.exchange.finish()
        return results

    def _begin(self, step: StagePass) -> list[Received]:
        """Start receiving the tensors of a pass; gradients from the latest stage first."""
        kind, number, micro_batch = step
        part = self.stages[number].part
        if kind == FORWARD:
            return [self._receive(self.links, v, v.sender, micro_batch, number, True) for v in part.receives]
        if kind == WEIGHT:
            return []
        return [
            self._receive(self.links, value, reader, micro_batch, reader, False)
            for value in part.sends if value.gradient for reader in reversed(value.readers)
        ]  # fmt: skip

    def _receive(
        self, links: Links, value: Value, other: int, micro_batch: int, reader: int, forward: bool
    ) -> Received:
        tag = links.tag(value, reader, micro_batch, forward=forward)
        return self.exchange.receive(value, self.exchange.layout.rank(other, micro_batch), tag, forward=forward)

    def _send(
        self, sends: Sequence[Value], outputs: Sequence[torch.Tensor], micro_batch: int, links: Links | None = None
    ) -> None:
        for value, tensor in zip(sends, outputs, strict=False):
            for reader in value.readers:
                tag = (links or self.links).tag(value, reader, micro_batch, forward=True)
                self.exchange.send(value, tensor, self.exchange.layout.rank(reader, micro_batch), tag, forward=True)

    def _send_back(self, part: StagePart, gradients: Sequence[torch.Tensor | None], micro_batch: int) -> None:
        for value, gradient in zip(part.receives, gradients, strict=True):
            if value.gradient:
                tensor = (
                    torch.zeros(value.shape, dtype=value.dtype, device=self.exchange.device)
                    if gradient is None
                    else gradient
                )
                tag = self.links.tag(value, part.number, micro_batch, forward=False)
                self.exchange.send(
                    value, tensor, self.exchange.layout.rank(value.sender, micro_batch), tag, forward=False
                )


def _summed(
    sends: Sequence[Value], coming: Sequence[Received], tensors: Sequence[torch.Tensor]
) -> list[torch.Tensor | None]:
    """Return the gradient of each value: its readers' sum, the latest stage's first, in the order of autograd."""
    sums: dict[str, torch.Tensor] = {}
    for message, tensor in zip(coming, tensors, strict=True):
        name = message.value.name
        sums[name] = sums[name] + tensor if name in sums else tensor
    return [sums.get(value.name) for value in sends]
