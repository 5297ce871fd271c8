"""The order of forward and backward passes on each rank: one order for the simulator and the runtime.

One forward, one backward (1F1B; Narayanan et al. 2019, PipeDream) with a warm-up that is safe for uneven replicas. The
usual warm-up, "stages behind", deadlocks with them.
"""

from collections.abc import Sequence


def warm_ups(replicas: Sequence[int]) -> list[int]:
    """Return, per stage, how many forward passes a rank makes before its first backward pass.

    The last stage makes 1, any other ceil(w_next · r_next / r) + 1.
    """
    counts = [1] * len(replicas)
    for stage in range(len(replicas) - 2, -1, -1):
        counts[stage] = warm_up_before(counts[stage + 1] * replicas[stage + 1], replicas[stage])
    return counts


def warm_up_before(product: int, replicas: int) -> int:
    """Return the warm-up of a stage with `replicas` before one whose warm-up × replicas is `product`."""
    return -(-product // replicas) + 1


def in_flight(warm_up: int, replicas: int, micro_batches: int) -> int:
    """Return how many micro-batches a rank holds at most between their forward and backward pass."""
    return min(warm_up, -(-micro_batches // replicas))


def rank_order(warm_up: int, replica: int, replicas: int, micro_batches: int) -> list[tuple[bool, int]]:
    """Return the passes of one rank in order: (True, i) for the forward pass of micro-batch i, (False, i) for backward.

    Micro-batch i runs on replica i mod `replicas`.
    """
    mine = range(replica, micro_batches, replicas)
    ahead = min(warm_up, len(mine))
    passes = [(True, number) for number in mine[:ahead]]
    for at, number in enumerate(mine):
        passes.append((False, number))
        if at + ahead < len(mine):
            passes.append((True, mine[at + ahead]))
    return passes
