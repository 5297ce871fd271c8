"""Runs a network in two stages, cut at one place, and compares with the network as its user wrote it, bit by bit."""

import copy
from collections.abc import Callable
from typing import Any

import torch
from torch.utils._pytree import tree_flatten

from hackathon.parallel.live.split import SplitError, check, split
from support.cuts import at_boundaries, legal_cuts
from support.described import Described


class CutNetwork:
    """A network on the CPU with what it gives when it is not cut: loss, gradients and buffers."""

    def __init__(self, function: Callable[[], Any]) -> None:
        torch.manual_seed(3)
        self.described = Described(function, "cpu")
        built = self.described.built
        self.traced = self.described.captured.train
        self.cuts = legal_cuts(self.traced)
        self.leaves = tree_flatten((built.args, dict(built.kwargs), built.target))[0]
        self._buffers = [each.clone() for each in built.model.buffers()]
        whole = copy.deepcopy(built.model)
        assert built.loss is not None
        loss = built.loss(whole(*built.args), built.target)
        loss.backward()
        self.expected = [loss.detach(), *(each.grad for each in whole.parameters()), *whole.buffers()]

    def equal(self, cut: int) -> bool:
        """Return whether two stages, cut before an operator, give the same bits."""
        model = self.described.built.model
        with torch.no_grad():
            for each, before in zip(model.buffers(), self._buffers, strict=True):
                each.copy_(before)
        model.zero_grad()
        first, last = split(self.traced, at_boundaries(self.traced, [cut]))
        sent = first.module(*(self.leaves[at] for at in first.inputs))
        received = [each.detach().requires_grad_(each.requires_grad) for each in sent]
        (loss,) = last.module(*(self.leaves[at] for at in last.inputs), *received)
        loss.backward()
        back = [(out, got.grad) for out, got in zip(sent, received, strict=True) if got.grad is not None]
        if back:
            torch.autograd.backward([out for out, _ in back], [gradient for _, gradient in back])
        found = [loss.detach(), *(each.grad for each in model.parameters()), *model.buffers()]
        return len(found) == len(self.expected) and all(map(torch.equal, found, self.expected))

    def refused(self, cut: int) -> str:
        """Return why a cut before an operator is refused; "" if it is not."""
        try:
            check(self.traced, at_boundaries(self.traced, [cut]))
        except SplitError as error:
            return error.reason
        return ""
