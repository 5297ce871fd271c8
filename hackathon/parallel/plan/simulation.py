"""The time of a step by simulating its order: when each pass and each all-reduce begins and ends."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from hackathon.parallel.plan.cost import CostedPlan
from hackathon.parallel.plan.order import rank_order

_cached_order = lru_cache(maxsize=4096)(rank_order)


@dataclass
class Timing:
    """The inputs of a simulation: seconds of passes, replicas, and which stages wait for which."""

    forward: Sequence[float]
    backward: Sequence[float]
    replicas: Sequence[int]
    warm_ups: Sequence[int]
    senders: Sequence[Sequence[tuple[int, float]]]
    """Stage → (stage whose tensors it reads, seconds of the transfer)."""
    readers: Sequence[Sequence[tuple[int, float]]]
    """Stage → (stage whose gradients it reads, seconds of the transfer)."""
    release: Sequence[float] = field(default=())
    """Stage → seconds before which it cannot begin; empty: none."""


@dataclass(frozen=True)
class SimulatedStep:
    """A simulated step: the end of each pass as [stage][micro-batch], and (exchange, begin, end) of all-reduces."""

    seconds: float
    forward: list[list[float]]
    backward: list[list[float]]
    exchanges: list[tuple[int, float, float]]


def pass_ends(timing: Timing, micro_batches: int) -> tuple[list[list[float]], list[list[float]]]:
    """Return when each forward and backward pass ends: [stage][micro-batch], in seconds.

    Raises AssertionError if the order waits for itself, which no plan's does.
    """
    stages = len(timing.forward)
    forward_ends = [[-1.0] * micro_batches for _ in range(stages)]
    backward_ends = [[-1.0] * micro_batches for _ in range(stages)]
    orders = [
        [_cached_order(timing.warm_ups[s], q, timing.replicas[s], micro_batches) for q in range(timing.replicas[s])]
        for s in range(stages)
    ]
    at = [[0] * replicas for replicas in timing.replicas]
    free = [[timing.release[s] if timing.release else 0.0] * timing.replicas[s] for s in range(stages)]
    waiting = 2 * stages * micro_batches
    sweep = list(range(stages))
    while waiting:
        before = waiting
        for stage in sweep:
            ends_f, ends_b = forward_ends[stage], backward_ends[stage]
            senders = [(forward_ends[other], seconds) for other, seconds in timing.senders[stage]]
            readers = [(backward_ends[other], seconds) for other, seconds in timing.readers[stage]]
            for replica, order in enumerate(orders[stage]):
                now, done, length = free[stage][replica], at[stage][replica], len(order)
                while done < length:
                    is_forward, number = order[done]
                    for ends, seconds in senders if is_forward else readers:
                        come = ends[number]
                        if come < 0:
                            break
                        if come + seconds > now:
                            now = come + seconds
                    else:
                        if is_forward:
                            now += timing.forward[stage]
                            ends_f[number] = now
                        else:
                            now += timing.backward[stage]
                            ends_b[number] = now
                        done += 1
                        continue
                    break
                waiting -= done - at[stage][replica]
                free[stage][replica], at[stage][replica] = now, done
        sweep.reverse()
        assert waiting < before, "the order of passes waits for itself"
    return forward_ends, backward_ends


def timing_of(plan: CostedPlan) -> Timing:
    """Return the inputs for the simulation of a plan."""
    senders: list[list[tuple[int, float]]] = [[] for _ in plan.stages]
    readers: list[list[tuple[int, float]]] = [[] for _ in plan.stages]
    for link in plan.links:
        senders[link.reader].append((link.sender, link.forward))
        readers[link.sender].append((link.reader, link.backward))
    return Timing(
        [cost.forward for cost in plan.costs], [cost.backward for cost in plan.costs], plan.replicas, plan.warm_ups,
        senders, readers,
    )  # fmt: skip


def simulate(
    plan: CostedPlan, timing: Timing | None = None, exchange_seconds: Sequence[float] | None = None
) -> SimulatedStep:
    """Return the simulated step of a plan: passes in the shared order, then the all-reduces.

    `timing` and `exchange_seconds`, one for each all-reduce, replace the times that the formulas give the plan.
    A transfer delays its reader and occupies no device. An all-reduce begins after the last backward pass of all its
    ranks; a rank runs one at a time: the one that is ready first, of these the one of fewer stages.
    """
    forward_ends, backward_ends = pass_ends(timing or timing_of(plan), plan.micro_batches)
    last = [max(ends) for ends in backward_ends]
    seconds = exchange_seconds or [exchange.seconds(plan.devices) for exchange in plan.exchanges]
    queue = sorted(
        (max(last[stage] for stage in exchange.stages), len(exchange.stages), exchange.stages, number)
        for number, exchange in enumerate(plan.exchanges)
    )
    free, intervals = list(last), []
    for ready, _, stages, number in queue:
        begin = max([ready] + [free[stage] for stage in stages])
        end = begin + seconds[number]
        for stage in stages:
            free[stage] = end
        intervals.append((number, begin, end))
    return SimulatedStep(max(free), forward_ends, backward_ends, intervals)
