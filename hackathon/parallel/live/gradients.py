"""Gradients of parameters on several ranks: one sum for each set of ranks; and the norm over all stages."""

from collections.abc import Collection, Mapping, Sequence

import torch

from hackathon.parallel.live.exchange import Messenger
from hackathon.parallel.live.shards import rows


class Reduction:
    """Replicas and tied weights alike: all ranks with a parameter get the sum of its gradients."""

    def __init__(
        self, parameters: Mapping[str, torch.nn.Parameter], holders: Mapping[str, tuple[int, ...]],
        exchange: Messenger, divided: Collection[str] = (),
    ) -> None:  # fmt: skip
        """`holders`: name → its ranks, for all parameters of the model; `parameters`: those of this rank.

        `divided`: those of which this rank has only rows; the backward pass has summed their gradients.
        """
        self._exchange = exchange
        self._parameters = dict(parameters)
        self._owned = [
            parameter
            for name, parameter in parameters.items()
            if name in divided or min(holders[name]) == exchange.rank
        ]
        sets: dict[tuple[tuple[int, ...], torch.dtype], list[torch.nn.Parameter]] = {}
        for name in sorted(parameters):
            if len(holders[name]) > 1 and parameters[name].requires_grad and name not in divided:
                sets.setdefault((holders[name], parameters[name].dtype), []).append(parameters[name])
        self._sets = sorted(sets.items(), key=lambda item: (item[0][0], str(item[0][1])))

    @torch.no_grad()
    def reduce(self) -> None:
        """Sum the gradients of each parameter over its ranks. If no rank has a gradient it stays None."""
        for (ranks, dtype), members in self._sets:
            sizes = [member.numel() for member in members]
            flat = torch.zeros(sum(sizes) + len(members), dtype=dtype, device=self._exchange.device)
            *pieces, counts = torch.split(flat, [*sizes, len(members)])
            for number, member in enumerate(members):
                if member.grad is not None:
                    pieces[number].view_as(member).copy_(member.grad)
                    counts[number] = 1
            self._exchange.sum(flat, ranks)
            for member, piece, count in zip(members, pieces, counts.tolist(), strict=True):
                if count:
                    if member.grad is None:
                        member.grad = torch.empty_like(member)
                    member.grad.copy_(piece.view_as(member))

    @torch.no_grad()
    def clip(self, limit: float) -> torch.Tensor:
        """Scale all gradients so that their norm over the whole model is at most `limit`; return the previous norm.

        A parameter on several ranks counts once.
        """
        squares = torch.zeros((), dtype=torch.float64, device=self._exchange.device)
        for parameter in self._owned:
            if parameter.grad is not None:
                squares += rows(parameter.grad).double().square().sum()
        self._exchange.sum_over_all(squares)
        norm = squares.sqrt()
        factor = (limit / (norm + 1e-6)).clamp(max=1.0)
        for parameter in self._parameters.values():
            if parameter.grad is not None:
                gradient = rows(parameter.grad)
                gradient.mul_(factor.to(gradient))
        return norm


def share_buffers(buffers: Sequence[torch.Tensor], ranks: tuple[int, ...], exchange: Messenger) -> None:
    """Send the statistics of a stage's first replica to its other replicas."""
    for buffer in buffers:
        tensor = buffer.detach().clone()
        exchange.broadcast(tensor, ranks[0], ranks)
        buffer.data.copy_(tensor)
