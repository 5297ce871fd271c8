"""One step over all stages: the passes of this rank in the shared order, with the tensors they need from others."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from hackathon.parallel.live.exchange import Messenger, Received
from hackathon.parallel.live.layout import Layout
from hackathon.parallel.live.split import StagePart, Value
from hackathon.parallel.live.stage import RankStage
from hackathon.parallel.plan.order import rank_order, warm_ups

Pass = tuple[bool, int]
"""(True, i): the forward pass of micro-batch i; (False, i): its backward pass."""


def passes(layout: Layout, rank: int, micro_batches: int, schedule: str) -> list[Pass]:
    """Return the passes of a rank in order. `gpipe`: all forward passes, then all backward passes."""
    stage, replica = layout.place(rank)
    warm_up = warm_ups(layout.replicas)[stage] if schedule == "1f1b" else micro_batches
    order = rank_order(warm_up, replica, layout.replicas[stage], micro_batches)
    return order if schedule == "1f1b" else sorted(order, key=lambda each: (not each[0], each[1]))


@dataclass(frozen=True)
class Links:
    """The tensors between stages, numbered alike on all ranks: a number for each value and stage that reads it."""

    numbers: Mapping[tuple[str, int], int]

    @classmethod
    def of(cls, parts: Sequence[StagePart]) -> "Links":
        """Return the links of all stages."""
        pairs = [(value.name, reader) for part in parts for value in part.sends for reader in value.readers]
        return cls({pair: number for number, pair in enumerate(pairs)})

    def tag(self, value: Value, reader: int, micro_batch: int, *, forward: bool) -> int:
        """Return the tag of a message: unlike that of any other message of a step."""
        return (micro_batch * len(self.numbers) + self.numbers[value.name, reader]) * 2 + forward


class Pipeline:
    """What this rank does in a step."""

    def __init__(self, stage: RankStage, links: Links, exchange: Messenger, schedule: str = "1f1b") -> None:
        self.stage, self.links, self.exchange, self.schedule = stage, links, exchange, schedule
        self.number, self.replica = exchange.layout.place(exchange.rank)

    def step(
        self, micro_batches: Sequence[Sequence[Any]], gradient: Callable[[torch.Tensor], torch.Tensor]
    ) -> torch.Tensor:
        """Make all passes; gradients are added to `.grad`. Return the loss of each micro-batch that this rank computed.

        `micro_batches`: the leaves of each micro-batch's inputs; `gradient`: of the step's loss by a micro-batch's.
        """
        count = len(micro_batches)
        losses = torch.zeros(count, dtype=torch.float64, device=self.exchange.device)
        order = passes(self.exchange.layout, self.exchange.rank, count, self.schedule)
        part = self.stage.part
        coming = self._begin(order[0]) if order else []
        results: dict[int, list[torch.Tensor]] = {}
        for at, (is_forward, number) in enumerate(order):
            now = coming
            coming = self._begin(order[at + 1]) if at + 1 < len(order) else []
            tensors = [self.exchange.wait(each) for each in now]
            if is_forward:
                outputs = self.stage.forward(number, [micro_batches[number][leaf] for leaf in part.inputs], tensors)
                self._send(part.sends, outputs, number)
                results[number] = outputs[len(part.sends) :]
                if part.results:
                    losses[number] = results[number][0].double()
            else:
                gradients: list[torch.Tensor | None] = [*_summed(part.sends, now, tensors)]
                gradients += [gradient(each) for each in results.pop(number)]
                made = self.stage.backward(number, gradients)
                self._send_back(part.receives, made, number)
            self.exchange.tidy()
        self.exchange.finish()
        return losses

    def infer(
        self, parts: Sequence[StagePart], links: Links, micro_batches: Sequence[Sequence[Any]]
    ) -> list[list[torch.Tensor]]:
        """Run an evaluation; return the results of each micro-batch that this rank ran, none for the others."""
        part = parts[self.number]
        made: list[list[torch.Tensor]] = []
        layout = self.exchange.layout
        for number, leaves in enumerate(micro_batches):
            if layout.rank(self.number, number) != self.exchange.rank:
                made.append([])
                continue
            coming = [self._receive(links, value, value.sender, number, self.number, True) for value in part.receives]
            tensors = [self.exchange.wait(each) for each in coming]
            outputs = self.stage.infer(part, [leaves[leaf] for leaf in part.inputs], tensors)
            self._send(part.sends, outputs, number, links)
            made.append(outputs[len(part.sends) :])
            self.exchange.tidy()
        self.exchange.finish()
        return made

    def _begin(self, each: Pass) -> list[Received]:
        """Begin to receive what a pass needs; gradients from the latest stage first."""
        is_forward, number = each
        part = self.stage.part
        if is_forward:
            return [self._receive(self.links, v, v.sender, number, self.number, True) for v in part.receives]
        return [
            self._receive(self.links, value, reader, number, reader, False)
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

    def _send_back(self, receives: Sequence[Value], gradients: Sequence[torch.Tensor | None], micro_batch: int) -> None:
        for value, gradient in zip(receives, gradients, strict=True):
            if value.gradient:
                made = (
                    torch.zeros(value.shape, dtype=value.dtype, device=self.exchange.device)
                    if gradient is None
                    else gradient
                )
                tag = self.links.tag(value, self.number, micro_batch, forward=False)
                self.exchange.send(
                    value, made, self.exchange.layout.rank(value.sender, micro_batch), tag, forward=False
                )


def _summed(
    sends: Sequence[Value], coming: Sequence[Received], tensors: Sequence[torch.Tensor]
) -> list[torch.Tensor | None]:
    """Return the gradient of each value: its readers' added, the latest stage's first, as autograd adds them."""
    found: dict[str, torch.Tensor] = {}
    for each, tensor in zip(coming, tensors, strict=True):
        name = each.value.name
        found[name] = found[name] + tensor if name in found else tensor
    return [found.get(value.name) for value in sends]
