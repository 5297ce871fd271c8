"""A branched graph without its lightest operators, with few enough cuts to search them all, for a bound of all plans.

A plan of the graph becomes one of the lighter graph if the removed operators and then empty stages leave it. No stage
then takes longer, needs more memory, or waits longer: so the least value of the lighter graph is a lower bound. If an
operator waits for another one through removed ones, a tensor of 0 bytes stays.
"""

from collections.abc import Sequence

from hackathon.parallel.plan.coarsen import Blocks
from hackathon.parallel.plan.graph import Alias, Graph, Tensor


def lightened(graph: Graph, most: int) -> tuple[Blocks, list[int]] | None:
    """Return blocks and ideals, at most `most`, of a graph without its lightest operators; None if that leaves none.

    It removes operators that cost little and are independent of many others.
    """
    order = _candidates(graph)
    best: tuple[Blocks, list[int]] | None = None
    low, high = 0, len(order) + 1
    while low < high:  # finds the fewest of `order` to remove
        middle = (low + high) // 2
        out = set(order[:middle])
        mask = [number not in out for number in range(len(graph.operators))]
        blocks = Blocks(without(graph, mask))
        ideals = blocks.ideals(most)
        if ideals is None:
            low = middle + 1
        else:
            best, high = (blocks, ideals), middle
    return best


def _candidates(graph: Graph) -> list[int]:
    """Return the operators to remove, in this order: least time per independent operator first."""
    count = len(graph.operators)
    readers: list[set[int]] = [set() for _ in range(count)]
    for tensor in graph.tensors:
        readers[tensor.producer] |= set(tensor.readers)
    before, after = [0] * count, [0] * count  # bit masks
    for number in range(count):
        for reader in readers[number]:
            before[reader] |= before[number] | 1 << number
    for number in range(count - 1, -1, -1):
        for reader in readers[number]:
            after[number] |= after[reader] | 1 << reader
    free = [count - 1 - (before[number] | after[number]).bit_count() for number in range(count)]
    seconds = [operator.forward + operator.backward for operator in graph.operators]
    heaviest = max(range(count), key=seconds.__getitem__)
    candidates = [number for number in range(count) if free[number] and number != heaviest]
    return sorted(candidates, key=lambda number: (seconds[number] / free[number], -free[number]))


def without(graph: Graph, mask: Sequence[bool]) -> Graph:
    """Return the graph of the operators with a true mask."""
    number = {member: at for at, member in enumerate(member for member, keep in enumerate(mask) if keep)}
    readers: list[set[int]] = [set() for _ in graph.operators]
    for tensor in graph.tensors:
        readers[tensor.producer] |= set(tensor.readers)
    reached: list[set[int]] = [set() for _ in graph.operators]
    """Operator → remaining operators that read it through removed ones."""
    for at in range(len(mask) - 1, -1, -1):  # in the order of operators readers come later
        for reader in readers[at]:
            if not mask[reader]:
                reached[at] |= reached[reader] | {other for other in readers[reader] if mask[other]}
    tensors = []
    for tensor in graph.tensors:
        mine = tuple(sorted(number[reader] for reader in tensor.readers if mask[reader]))
        if mask[tensor.producer] and mine:
            tensors.append(Tensor(number[tensor.producer], mine, tensor.bytes, tensor.gradient_bytes))
    for at, targets in enumerate(reached):
        through = tuple(sorted(number[reader] for reader in targets - readers[at]))
        if mask[at] and through:
            tensors.append(Tensor(number[at], through, 0.0, 0.0))
    aliases = [
        (tuple(number[member] for member in alias.operators if mask[member]), alias.bytes) for alias in graph.aliases
    ]
    glued = [tuple(number[member] for member in group if mask[member]) for group in graph.glued]
    return Graph(
        tuple(operator for operator, keep in zip(graph.operators, mask, strict=True) if keep),
        tuple(sorted(tensors, key=lambda tensor: (tensor.producer, tensor.bytes))),
        tuple(Alias(members, size) for members, size in aliases if len(members) > 1),
        tuple(group for group in glued if len(group) > 1),
    )
