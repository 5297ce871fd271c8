"""One clock for all ranks: ranks of one host share a clock; ends of collectives align different hosts.

No rank leaves an all-reduce or a barrier before all have entered it, and all leave it nearly together. Clocks of two
hosts with NTP differ by up to milliseconds.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from hackathon.profiling.traces.trace import Collective, Trace

ENOUGH = 3
"""Common collectives that are needed to compare the clocks of two hosts."""
SAME_HOST, BY_COLLECTIVES, UNALIGNED = "same-host", "collectives", "unaligned"


@dataclass(frozen=True)
class Clock:
    """The conversion of a rank's times to those of the first rank."""

    shift: float
    """Microseconds that are added to the rank's times."""
    basis: str
    """`same-host`, `collectives`, or `unaligned`: too few common collectives, so the clock is used unchanged."""
    spread: float = 0.0
    """Median deviation of the differences, in microseconds: the accuracy of the shift."""


Matched = Sequence[Mapping[int, Collective]]
"""Each collective that all its ranks have: rank → its part of it."""


def matched(traces: Mapping[int, Trace]) -> list[dict[int, Collective]]:
    """Return the collectives that several ranks have in common, in the order of the first rank.

    They are matched by step, process group, kind, and position among those. A step with different numbers of a kind on
    the ranks is omitted, as is a group with a missing trace. Programs may be ahead of their devices by different
    numbers of steps: a kernel without a known launch has no known step, and is matched only with kernels that ran at
    the same time on its host, or ended at the same time on others.
    """
    by_key: dict[tuple[int, str, str, str, int], dict[int, list[Collective]]] = {}
    for rank, trace in traces.items():
        for collective, step in _with_steps(trace):
            key = (step, collective.group, collective.ranks, collective.what, collective.members or len(traces))
            by_key.setdefault(key, {}).setdefault(rank, []).append(collective)
    pairs = []
    for (_, _, _, _, members), by_rank in by_key.items():
        if len(by_rank) == members and len({len(collectives) for collectives in by_rank.values()}) == 1:
            rows = zip(*by_rank.values(), strict=True)
            pairs += [dict(zip(by_rank, row, strict=True)) for row in rows]
    plain, near = _plain(traces), _least_distance(traces) / 2
    return [
        pair
        for pair in pairs
        if _is_placed(pair)
        or (_overlap(pair, plain) if _on_one_host(pair, traces) else _end_together(pair, plain, near))
    ]


def _is_placed(pair: Mapping[int, Collective]) -> bool:
    """Return whether the step of each part is known."""
    return all(part.launched is not None or not part.on_device for part in pair.values())


def _overlap(pair: Mapping[int, Collective], plain: Mapping[int, float]) -> bool:
    begins = [part.begin + plain[rank] for rank, part in pair.items()]
    return max(begins) <= min(part.end + plain[rank] for rank, part in pair.items())


def _on_one_host(pair: Mapping[int, Collective], traces: Mapping[int, Trace]) -> bool:
    hosts = {traces[rank].host for rank in pair}
    return len(hosts) == 1 and "" not in hosts


def _end_together(pair: Mapping[int, Collective], plain: Mapping[int, float], near: float) -> bool:
    """Return whether the ends differ by at most some microseconds, apart from the clocks of the hosts."""
    ends = [part.end + plain[rank] for rank, part in pair.items()]
    return max(ends) - min(ends) < near


def _least_distance(traces: Mapping[int, Trace]) -> float:
    """Return the least microseconds between the ends of two consecutive collectives of a rank."""
    ends = (sorted(collective.end for collective in trace.collectives) for trace in traces.values())
    return min((then - end for moments in ends for end, then in pairwise(moments) if then > end), default=0.0)


def _plain(traces: Mapping[int, Trace]) -> dict[int, float]:
    """Return the conversion of each rank's times to the lowest rank's, if all clocks are right."""
    first = traces[min(traces)]
    return {rank: (trace.origin - first.origin) + (trace.base - first.base) / 1000 for rank, trace in traces.items()}


def _with_steps(trace: Trace) -> list[tuple[Collective, int]]:
    """Return each collective with the number of the step that launched it, or else in which it begins.

    Without steps all are in one.
    """
    if not trace.steps:
        return [(collective, 0) for collective in trace.collectives]
    pairs = []
    begins = [step.begin for step in trace.steps]
    for collective in trace.collectives:
        at = collective.begin if collective.launched is None else collective.launched
        index = bisect_right(begins, at) - 1
        if index >= 0 and at < trace.steps[index].end:
            pairs.append((collective, trace.steps[index].number))
    return pairs


def clocks(traces: Mapping[int, Trace], pairs: Matched) -> dict[int, Clock]:
    """Return the conversion of each rank's times to the lowest rank's; empty without traces."""
    if not traces:
        return {}
    first = min(traces)
    reference = traces[first]
    plain = _plain(traces)
    shifts: dict[str, tuple[float, float]] = {}
    by_rank: dict[int, Clock] = {}
    for rank, trace in traces.items():
        if trace.host == reference.host and (trace.host or rank == first):
            by_rank[rank] = Clock(plain[rank], SAME_HOST)
            continue
        host = trace.host or f"rank {rank}"
        if host not in shifts:
            members = [member for member, other in traces.items() if (other.host or f"rank {member}") == host]
            differences = _differences(members, first, reference, traces, plain, pairs)
            if len(differences) < ENOUGH:
                by_rank[rank] = Clock(plain[rank], UNALIGNED)
                continue
            middle = median(differences)
            shifts[host] = middle, median(abs(difference - middle) for difference in differences)
        shift, spread = shifts[host]
        by_rank[rank] = Clock(plain[rank] + shift, BY_COLLECTIVES, spread)
    return by_rank


def _differences(
    members: Sequence[int],
    first: int,
    reference: Trace,
    traces: Mapping[int, Trace],
    plain: Mapping[int, float],
    pairs: Matched,
) -> list[float]:
    """Return the lag of a host's clock behind the first one's, for each collective that both ended."""
    near = [rank for rank, trace in traces.items() if trace.host == reference.host] if reference.host else [first]
    differences = []
    for pair in pairs:
        base = [pair[rank].end + plain[rank] for rank in near if rank in pair]
        host = [pair[rank].end + plain[rank] for rank in members if rank in pair]
        if base and host and next(iter(pair.values())).together:
            differences.append(median(base) - median(host))
    return differences


def comparable(
    traces: Mapping[int, Trace], pairs: Matched, times: Mapping[int, Clock]
) -> list[Mapping[int, Collective]]:
    """Return the pairs whose parts have one clock: not those between hosts with unaligned clocks."""
    return [
        pair for pair in pairs if _on_one_host(pair, traces) or all(times[rank].basis != UNALIGNED for rank in pair)
    ]
