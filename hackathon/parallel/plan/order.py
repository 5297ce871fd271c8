"""The order of forward and backward passes on each rank, the same for the simulator and the runtime.

One forward, one backward (1F1B; Narayanan et al. 2019, PipeDream) with a warm-up that is safe for uneven replicas; the
usual one, "stages behind", deadlocks with them. If all stages have the same replicas, a process may run several stages:
the interleaved schedules of torch.
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
    """Return the most micro-batches that a rank has between their forward and backward pass."""
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


FORWARD, BACKWARD, INPUT, WEIGHT = "forward", "backward", "input", "weight"
"""Kinds of passes. INPUT and WEIGHT split a backward pass: gradients that others wait for, then the parameters'."""


def rounds_fit(processes: int, micro_batches: int) -> bool:
    """Return whether micro-batches can be interleaved: in rounds of one size, about one for each process."""
    return micro_batches % max(1, micro_batches // processes) == 0


def interleaved_order(
    process: int, processes: int, chunks: int, micro_batches: int, *, zero_bubble: bool
) -> list[tuple[str, int, int]]:
    """Return the passes of one process in order, as (kind, stage, micro-batch).

    Process p runs the `chunks` stages p, p + processes, … in interleaved 1F1B (Narayanan et al. 2021); `zero_bubble`
    splits each backward pass (ZB-H1 of Qi et al. 2024). The orders are those of torch's ScheduleInterleaved1F1B and
    ScheduleInterleavedZeroBubble.
    """
    size = micro_batches // max(1, micro_batches // processes)
    total = chunks * micro_batches

    def at(step: int, *, forward: bool) -> tuple[int, int]:
        turn, position = divmod(step, size)
        chunk = turn % chunks if forward else chunks - 1 - turn % chunks
        return chunk * processes + process, turn // chunks * size + position

    warm_up = min((chunks - 1) * size + (processes - 1 - process) * (1 if zero_bubble else 2), total)
    passes = [(FORWARD, *at(step, forward=True)) for step in range(warm_up)]
    for step in range(total + process if zero_bubble else total):
        if warm_up + step < total:
            passes.append((FORWARD, *at(warm_up + step, forward=True)))
        if step < total:
            passes.append((INPUT if zero_bubble else BACKWARD, *at(step, forward=False)))
        if zero_bubble and 0 <= step - process < total:
            passes.append((WEIGHT, *at(step - process, forward=False)))
    return passes
