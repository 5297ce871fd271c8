"""Blocks of operators that stay together, orders of blocks, and the sets of blocks at which a graph can be cut."""

from collections.abc import Iterable, Sequence

from hackathon.parallel.plan.graph import Graph


class Blocks:
    """Operators that are glued, or lie between glued ones, merged into blocks; in a topological order."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.members = _components(graph)
        self.of = [0] * len(graph.operators)
        for number, members in enumerate(self.members):
            for member in members:
                self.of[member] = number
        follows: list[set[int]] = [set() for _ in self.members]
        for tensor in graph.tensors:
            start = self.of[tensor.producer]
            follows[start] |= {self.of[reader] for reader in tensor.readers} - {start}
        self.followers = [sorted(readers) for readers in follows]
        self.before: list[list[int]] = [[] for _ in self.members]
        for number, followers in enumerate(self.followers):
            for other in followers:
                self.before[other].append(number)

    def __len__(self) -> int:
        return len(self.members)

    @property
    def is_path(self) -> bool:
        """Whether only the next block reads each block: the graph is a chain."""
        return all(followers == [number + 1] for number, followers in enumerate(self.followers[:-1]))

    def order(self, kind: str) -> list[int]:
        """Return a topological order of blocks: `depth` first, `breadth` first, or `narrow`: few bytes cross a cut."""
        if kind == "depth":
            return list(range(len(self.members)))
        waiting = [len(predecessors) for predecessors in self.before]
        ready = [number for number, count in enumerate(waiting) if not count]
        order: list[int] = []
        left = {number: len(followers) for number, followers in enumerate(self.followers)}
        sizes = self._sizes()
        while ready:
            if kind == "narrow":
                ready.sort(key=lambda number: self._growth(number, sizes, left), reverse=True)
                number = ready.pop()
            else:
                number = ready.pop(0)
            order.append(number)
            for other in self.before[number]:
                left[other] -= 1
            for other in self.followers[number]:
                waiting[other] -= 1
                if not waiting[other]:
                    ready.append(other)
        return order

    def _sizes(self) -> list[float]:
        sizes = [0.0] * len(self.members)
        for tensor in self.graph.tensors:
            if any(self.of[reader] != self.of[tensor.producer] for reader in tensor.readers):
                sizes[self.of[tensor.producer]] += tensor.bytes + tensor.gradient_bytes
        return sizes

    def _growth(self, number: int, sizes: Sequence[float], left: dict[int, int]) -> float:
        """Return by how many bytes the cut grows when a block moves before it."""
        freed = sum(sizes[other] for other in self.before[number] if left[other] == 1)
        return (sizes[number] if self.followers[number] else 0.0) - freed

    def ideals(self, most: int) -> list[int] | None:
        """Return all sets of blocks that contain the predecessors of each of their blocks, as bit masks, smallest
        first.

        A graph can be cut only between two such sets. None if there are more than `most`.
        """
        needs = [sum(1 << other for other in predecessors) for predecessors in self.before]
        level, ideals = {0}, [0]
        while level:
            following = set()
            for ideal in level:
                for number, need in enumerate(needs):
                    if not ideal >> number & 1 and need & ideal == need:
                        following.add(ideal | 1 << number)
                if len(ideals) + len(following) > most:
                    return None
            ideals += sorted(following)
            level = following
        return ideals


def _components(graph: Graph) -> list[tuple[int, ...]]:
    """Return the strongly connected sets of the graph in which glued operators reach each other (Tarjan 1972)."""
    count = len(graph.operators)
    follows: list[set[int]] = [set() for _ in range(count)]
    for tensor in graph.tensors:
        follows[tensor.producer] |= set(tensor.readers)
    for group in graph.glued:
        for source, other in zip(group, [*group[1:], group[0]], strict=True):
            follows[source].add(other)
    number, low = [-1] * count, [0] * count
    on_stack = [False] * count
    stack: list[int] = []
    components: list[tuple[int, ...]] = []
    reached = 0
    for root in range(count - 1, -1, -1):
        if number[root] >= 0:
            continue
        visits: list[tuple[int, list[int]]] = [(root, sorted(follows[root]))]
        number[root] = low[root] = reached
        reached += 1
        stack.append(root)
        on_stack[root] = True
        while visits:
            node, remaining = visits[-1]
            if remaining:
                other = remaining.pop()
                if number[other] < 0:
                    number[other] = low[other] = reached
                    reached += 1
                    stack.append(other)
                    on_stack[other] = True
                    visits.append((other, sorted(follows[other])))
                elif on_stack[other]:
                    low[node] = min(low[node], number[other])
                continue
            visits.pop()
            if visits:
                low[visits[-1][0]] = min(low[visits[-1][0]], low[node])
            if low[node] == number[node]:
                members = []
                while True:
                    member = stack.pop()
                    on_stack[member] = False
                    members.append(member)
                    if member == node:
                        break
                components.append(tuple(sorted(members)))
    return _sorted(components, follows)


def _sorted(groups: Iterable[tuple[int, ...]], follows: Sequence[set[int]]) -> list[tuple[int, ...]]:
    """Return components in a topological order near that of their operators."""
    from heapq import heapify, heappop, heappush

    components = sorted(groups)
    of = {member: number for number, members in enumerate(components) for member in members}
    edges = [
        {of[other] for member in members for other in follows[member]} - {number}
        for number, members in enumerate(components)
    ]
    waiting = [0] * len(components)
    for targets in edges:
        for other in targets:
            waiting[other] += 1
    ready = [number for number, count in enumerate(waiting) if not count]
    heapify(ready)
    order = []
    while ready:
        number = heappop(ready)
        order.append(components[number])
        for other in edges[number]:
            waiting[other] -= 1
            if not waiting[other]:
                heappush(ready, other)
    return order


def merged(weights: Sequence[float], most: int) -> list[int]:
    """Return the ends of at most about `most` groups of neighbours with about equal weight; heavy ones are alone.

    The ends are positions 0 < … ≤ len(weights); the last one is len(weights).
    """
    total = sum(weights)
    if len(weights) <= most or total <= 0:
        step = max(1, -(-len(weights) // most))
        return [*range(step, len(weights), step), len(weights)]
    limit, ends, sum_here = total / most, [], 0.0
    for number, weight in enumerate(weights):
        if sum_here > 0 and sum_here + weight > limit:
            ends.append(number)
            sum_here = 0.0
        sum_here += weight
    return [*ends, len(weights)]
