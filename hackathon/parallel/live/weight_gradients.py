"""Split a backward pass: first the gradients of received tensors, for which other stages wait, then of parameters.

The first pass visits the operators that depend on received tensors, and also stores the incoming gradients of those
that use parameters. The second continues from there. A parameter that is used by several of them, e.g. one tied within
a stage, gets its gradient in the first pass: autograd follows all paths to it at once.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
from torch.autograd.graph import GradientEdge, Node, get_gradient_edge

Edge = tuple[Node, int]


class DeferredWeights:
    """The rest of a backward pass: `run` adds to the `.grad` of parameters."""

    def __init__(
        self, outputs: Sequence[torch.Tensor], gradients: Sequence[torch.Tensor], received: Sequence[torch.Tensor]
    ) -> None:
        """Make the first pass: add to the `.grad` of each tensor in `received`, which are leaves."""
        roots = [get_gradient_edge(output) for output in outputs]
        inputs = {get_gradient_edge(tensor).node for tensor in received}
        leading, crossing = _leading([root.node for root in roots], inputs)
        crossing, early = _apart(crossing)
        self._ends: dict[Edge, torch.Tensor] = {}
        """Edges to nodes that depend on no received tensor → the sum of the gradients along them."""
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
                targets = [
                    *(get_gradient_edge(tensor) for tensor in received),
                    *(GradientEdge(leaf, 0) for leaf in early),
                ]
                results = torch.autograd.grad(
                    [edge for edge, _ in now],
                    targets,
                    [gradient for _, gradient in now],
                    retain_graph=True,
                    allow_unused=True,
                )
                for tensor, gradient in zip(received, results, strict=False):
                    if gradient is not None:
                        tensor.grad = gradient if tensor.grad is None else tensor.grad + gradient
                for leaf, gradient in zip(early, results[len(received) :], strict=True):
                    if gradient is not None:
                        self._add((leaf, 0), gradient)
        finally:
            for handle in handles:
                handle.remove()

    def _keeper(self, node: Node, edges: list[Edge]) -> Any:
        def keep(gradients: Sequence[torch.Tensor | None]) -> None:
            self._came.append((node, tuple(gradients), edges))

        return keep

    def run(self) -> None:
        """Make the second pass."""
        for node, gradients, edges in self._came:
            roots = [
                (GradientEdge(node, at), gradient) for at, gradient in enumerate(gradients) if gradient is not None
            ]
            results = torch.autograd.grad(
                [edge for edge, _ in roots], [GradientEdge(*edge) for edge in edges],
                [gradient for _, gradient in roots], retain_graph=True, allow_unused=True,
            )  # fmt: skip
            for edge, gradient in zip(edges, results, strict=True):
                if gradient is not None:
                    self._add(edge, gradient)
        self._came = []
        if self._ends:
            torch.autograd.backward([GradientEdge(*edge) for edge in self._ends], list(self._ends.values()))
        self._ends = {}

    def _add(self, edge: Edge, gradient: torch.Tensor) -> None:
        """Add the gradient along an edge: autograd accepts one for each, and would lose a second."""
        self._ends[edge] = self._ends[edge] + gradient if edge in self._ends else gradient


def _leading(roots: Iterable[Node], inputs: set[Node]) -> tuple[set[Node], dict[Node, list[Edge]]]:
    """Return the operators that depend on an input, and those of them with other edges, with these edges."""
    order: list[Node] = []
    visited: set[Node] = set()
    stack: list[tuple[Node, bool]] = [(root, False) for root in roots]
    while stack:
        node, entered = stack.pop()
        if entered:
            order.append(node)
        elif node not in visited:
            visited.add(node)
            stack.append((node, True))
            stack += [
                (source, False) for source, _ in node.next_functions if source is not None and source not in visited
            ]
    leading = set(inputs) & visited
    crossing = {}
    for node in order:  # after all its dependencies
        edges = [(source, at) for source, at in node.next_functions if source is not None]
        if any(source in leading for source, _ in edges):
            leading.add(node)
            crossings = list(dict.fromkeys(edge for edge in edges if edge[0] not in leading))
            if crossings:
                crossing[node] = crossings
    return leading, crossing


def _apart(crossing: Mapping[Node, list[Edge]]) -> tuple[dict[Node, list[Edge]], list[Node]]:
    """Return the edges that alone lead to their leaves; and the leaves of several edges."""
    paths = [(node, edge, _leaves(edge[0])) for node, edges in crossing.items() for edge in edges]
    counts = Counter(leaf for _, _, leaves in paths for leaf in leaves)
    early = {leaf for leaf, count in counts.items() if count > 1}
    before = -1
    while len(early) != before:  # an edge to one of them is not followed, so its other leaves are early, too
        before = len(early)
        early |= {leaf for _, _, leaves in paths if not early.isdisjoint(leaves) for leaf in leaves}
    apart: dict[Node, list[Edge]] = {}
    for node, edge, leaves in paths:
        if early.isdisjoint(leaves):
            apart.setdefault(node, []).append(edge)
    return apart, [leaf for leaf in counts if leaf in early]


def _leaves(start: Node) -> dict[Node, None]:
    """Return the leaves before an operator: the parameters that it uses."""
    visited, stack, leaves = {start}, [start], dict[Node, None]()
    while stack:
        node = stack.pop()
        sources = [source for source, _ in node.next_functions if source is not None]
        if not sources:
            leaves[node] = None
        new = [source for source in sources if source not in visited]
        visited.update(new)
        stack += new
    return leaves
