"""A backward pass in two: gradients of what a stage received, which other stages wait for, and later of its parameters.

The first pass visits the operators that depend on what was received, and keeps the gradients that came to those which
parameters enter, too. The second goes on from there. A parameter that enters several of them, one that is tied within a
stage say, gets its gradient in the first pass: autograd follows all ways to it at once.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
from torch.autograd.graph import GradientEdge, Node, get_gradient_edge

Edge = tuple[Node, int]


class DeferredWeights:
    """The rest of a backward pass: what `run` adds to the `.grad` of parameters."""

    def __init__(
        self, outputs: Sequence[torch.Tensor], gradients: Sequence[torch.Tensor], received: Sequence[torch.Tensor]
    ) -> None:
        """Make the first pass: add to the `.grad` of each tensor in `received`, which are leaves."""
        roots = [get_gradient_edge(each) for each in outputs]
        inputs = {get_gradient_edge(each).node for each in received}
        leading, crossing = _leading([each.node for each in roots], inputs)
        crossing, early = _apart(crossing)
        self._ends: dict[Edge, torch.Tensor] = {}
        """Edges to what depends on nothing received → the sum of the gradients that flow there."""
        now: list[tuple[GradientEdge, torch.Tensor]] = []
        for root, gradient in zip(roots, gradients, strict=True):
            if root.node in leading:
                now.append((root, gradient))
            else:
                self._add((root.node, root.output_nr), gradient)
        self._came: list[tuple[Node, Sequence[torch.Tensor | None], list[Edge]]] = []
        handles = [node.register_prehook(self._keeper(node, edges)) for node, edges in crossing.items()]
        try:
            if now and received:
                wanted = [*(get_gradient_edge(each) for each in received), *(GradientEdge(each, 0) for each in early)]
                found = torch.autograd.grad(
                    [edge for edge, _ in now], wanted, [each for _, each in now], retain_graph=True, allow_unused=True
                )
                for tensor, each in zip(received, found, strict=False):
                    if each is not None:
                        tensor.grad = each if tensor.grad is None else tensor.grad + each
                for leaf, each in zip(early, found[len(received) :], strict=True):
                    if each is not None:
                        self._add((leaf, 0), each)
        finally:
            for handle in handles:
                handle.remove()

    def _keeper(self, node: Node, edges: list[Edge]) -> Any:
        def keep(gradients: Sequence[torch.Tensor | None]) -> None:
            self._came.append((node, tuple(gradients), edges))

        return keep

    def run(self) -> None:
        """Make the second pass."""
        for node, given, edges in self._came:
            roots = [(GradientEdge(node, at), each) for at, each in enumerate(given) if each is not None]
            found = torch.autograd.grad(
                [edge for edge, _ in roots], [GradientEdge(*each) for each in edges], [each for _, each in roots],
                retain_graph=True, allow_unused=True,
            )  # fmt: skip
            for edge, each in zip(edges, found, strict=True):
                if each is not None:
                    self._add(edge, each)
        self._came = []
        if self._ends:
            torch.autograd.backward([GradientEdge(*edge) for edge in self._ends], list(self._ends.values()))
        self._ends = {}

    def _add(self, edge: Edge, gradient: torch.Tensor) -> None:
        """Add what flows along an edge: autograd takes one gradient for each, and would lose a second."""
        self._ends[edge] = self._ends[edge] + gradient if edge in self._ends else gradient


def _leading(roots: Iterable[Node], inputs: set[Node]) -> tuple[set[Node], dict[Node, list[Edge]]]:
    """Return the operators that depend on an input, and those of them that something else enters, with its edges."""
    order: list[Node] = []
    seen: set[Node] = set()
    stack: list[tuple[Node, bool]] = [(each, False) for each in roots]
    while stack:
        node, entered = stack.pop()
        if entered:
            order.append(node)
        elif node not in seen:
            seen.add(node)
            stack.append((node, True))
            stack += [(each, False) for each, _ in node.next_functions if each is not None and each not in seen]
    leading = set(inputs) & seen
    crossing = {}
    for node in order:  # after all that it depends on
        edges = [(each, at) for each, at in node.next_functions if each is not None]
        if any(each in leading for each, _ in edges):
            leading.add(node)
            others = list(dict.fromkeys(edge for edge in edges if edge[0] not in leading))
            if others:
                crossing[node] = others
    return leading, crossing


def _apart(crossing: Mapping[Node, list[Edge]]) -> tuple[dict[Node, list[Edge]], list[Node]]:
    """Return the edges that alone lead to their leaves; and the leaves to which several lead."""
    ways = [(node, edge, _leaves(edge[0])) for node, edges in crossing.items() for edge in edges]
    counts = Counter(leaf for _, _, leaves in ways for leaf in leaves)
    early = {leaf for leaf, count in counts.items() if count > 1}
    before = -1
    while len(early) != before:  # an edge that leads to one of them is not followed: its other leaves are early, too
        before = len(early)
        early |= {leaf for _, _, leaves in ways if not early.isdisjoint(leaves) for leaf in leaves}
    apart: dict[Node, list[Edge]] = {}
    for node, edge, leaves in ways:
        if early.isdisjoint(leaves):
            apart.setdefault(node, []).append(edge)
    return apart, [leaf for leaf in counts if leaf in early]


def _leaves(start: Node) -> dict[Node, None]:
    """Return what has no operator before it: the parameters to which an operator leads."""
    seen, stack, found = {start}, [start], dict[Node, None]()
    while stack:
        node = stack.pop()
        others = [each for each, _ in node.next_functions if each is not None]
        if not others:
            found[node] = None
        new = [each for each in others if each not in seen]
        seen.update(new)
        stack += new
    return found
