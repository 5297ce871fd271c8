"""Gradients of parameters that several ranks hold: one sum for each set of ranks; and the norm over all stages."""

from collections.abc import Collection, Mapping, Sequence

import torch

from hackathon.parallel.live.exchange import Messenger
from hackathon.parallel.live.shards import rows


class Reduction:
    """Replicas and tied weights alike: all ranks that hold a parameter get the sum of its gradients."""

    def __init__(
        self, parameters: Mapping[str, torch.nn.Parameter], holders: Mapping[str, tuple[int, ...]],
        exchange: Messenger, divided: Collection[str] = (),
    ) -> None:  # fmt: skip
        """`holders`: name → ranks that hold it, for all parameters of the model; `parameters`: those of this rank.

        `divided`: those of which this rank holds rows only; the backward pass has summed their gradients.
        """
        self._exchange = exchange
        self._parameters = dict(parameters)
        self._owned = [
            each for name, each in parameters.items() if name in divided or min(holders[name]) == exchange.rank
        ]
        sets: dict[tuple[tuple[int, ...], torch.dtype], list[torch.nn.Parameter]] = {}
        for name in sorted(parameters):
            if len(holders[name]) > 1 and parameters[name].requires_grad and name not in divided:
                sets.setdefault((holders[name], parameters[name].dtype), []).append(parameters[name])
        self._sets = sorted(sets.items(), key=lambda item: (item[0][0], str(item[0][1])))

    @torch.no_grad()
    def reduce(self) -> None:
        """Sum the gradients of each parameter over its ranks. One that no rank has a gradient of keeps none."""
        for (ranks, dtype), members in self._sets:
            sizes = [each.numel() for each in members]
            flat = torch.zeros(sum(sizes) + len(members), dtype=dtype, device=self._exchange.device)
            *places, known = torch.split(flat, [*sizes, len(members)])
            for number, each in enumerate(members):
                if each.grad is not None:
                    places[number].view_as(each).copy_(each.grad)
                    known[number] = 1
            self._exchange.sum(flat, ranks)
            for each, place, count in zip(members, places, known.tolist(), strict=True):
                if count:
                    if each.grad is None:
                        each.grad = torch.empty_like(each)
                    each.grad.copy_(place.view_as(each))

    @torch.no_grad()
    def clip(self, limit: float) -> torch.Tensor:
        """Scale all gradients so that their norm over the whole model is at most `limit`; return the norm before.

        A parameter that several ranks hold counts once.
        """
        squares = torch.zeros((), dtype=torch.float64, device=self._exchange.device)
        for each in self._owned:
            if each.grad is not None:
                squares += rows(each.grad).double().square().sum()
        self._exchange.sum_over_all(squares)
        norm = squares.sqrt()
        factor = (limit / (norm + 1e-6)).clamp(max=1.0)
        for each in self._parameters.values():
            if each.grad is not None:
                gradient = rows(each.grad)
                gradient.mul_(factor.to(gradient))
        return norm


def share_buffers(buffers: Sequence[torch.Tensor], ranks: tuple[int, ...], exchange: Messenger) -> None:
    """Give the statistics of a stage's first replica to its other replicas."""
    for each in buffers:
        tensor = each.detach().clone()
        exchange.broadcast(tensor, ranks[0], ranks)
        each.data.copy_(tensor)
