"""The time of a cluster's all-reduce for any message and number of processes, from measurements. Pure."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from hackathon.text.numbers import finite, positive

OPERATION = "all-reduce"
"""Its name in the results of `hackathon clusters measure`."""


@dataclass(frozen=True)
class MeasuredCollective:
    """One measured size: seconds = `start` + bytes ÷ `rate` for large messages."""

    processes: int
    hosts: int
    start: float
    """Seconds before the first byte."""
    rate: float
    """Bytes per second of the whole buffer (algorithm bandwidth)."""
    small: tuple[float, float, float] | None = None
    """Start and rate for small messages, and the bytes up to which they are valid."""

    def line(self, size: float) -> tuple[float, float]:
        """Return start and rate for so many bytes."""
        return self.small[:2] if self.small is not None and size <= self.small[2] else (self.start, self.rate)


@dataclass(frozen=True)
class Network:
    """The measured sizes of one cluster, fewest processes first."""

    measured: tuple[MeasuredCollective, ...] = ()

    @property
    def ratio(self) -> float | None:
        """How many times longer many bytes take between nodes than inside one; None unless both were measured."""
        best: dict[bool, float] = {}
        for collective in self.measured:
            inside = collective.hosts == 1
            best[inside] = max(best.get(inside, 0.0), collective.rate * ring(collective.processes))
        return best[True] / best[False] if len(best) == 2 else None

    def seconds(self, size: float, processes: int, nodes: int | None) -> tuple[float, ...]:
        """Return the possible times of an all-reduce of so many bytes: one value, or several if it is ambiguous.

        A ring sends 2(n−1)/n of the bytes (Patarasuk and Yuan 2009), so the nearest measured size gives the bandwidth.
        Its start grows with n − 1 in a ring and with log₂ n in a tree. Empty without a comparable measurement.
        """
        if processes < 2:
            return (0.0,)
        inside = (nodes or 1) == 1 if nodes is not None else None
        alike = [collective for collective in self.measured if inside is None or (collective.hosts == 1) == inside]
        if not alike:
            return ()
        near = min(alike, key=lambda other: (abs(math.log(other.processes / processes)), other.processes))
        start, rate = near.line(size)
        bytes_time = size / rate * ring(processes) / ring(near.processes)
        if near.processes == processes:
            return (start + bytes_time,)
        growths = {(processes - 1) / (near.processes - 1), math.log2(processes) / math.log2(near.processes)}
        return tuple(sorted(start * growth + bytes_time for growth in growths))


def ring(processes: int) -> float:
    """Return how often each byte passes a link in a ring all-reduce: 2(n−1)/n."""
    return 2 * (1 - 1 / processes)


def network_from(entries: Iterable[Mapping[str, Any]]) -> Network:
    """Return the network by the entries of `scaling.cluster_measurements.measured`; others are omitted."""
    collectives = []
    for entry in entries:
        operation = entry["operations"].get(OPERATION)
        if not isinstance(operation, Mapping) or entry["processes"] < 2 or entry["hosts"] < 1:
            continue
        fits = operation.get("fits")
        lines = {name: _line(fits.get(name)) for name in ("large", "small")} if isinstance(fits, Mapping) else {}
        bus = positive(operation.get("busbw_gb_s"))
        large = lines.get("large") or (
            (0.0, bus * 1e9 / ring(entry["processes"]), math.inf) if bus else lines.get("small")
        )
        if large is not None:
            collective = MeasuredCollective(entry["processes"], entry["hosts"], large[0], large[1], lines.get("small"))
            collectives.append(collective)
    return Network(tuple(sorted(collectives, key=lambda collective: (collective.processes, collective.hosts))))


def _line(value: object) -> tuple[float, float, float] | None:
    """Return (seconds, bytes per second, largest bytes) of one fit; None for an invalid one."""
    if not isinstance(value, Mapping):
        return None
    start, rate = finite(value.get("alpha_us")), positive(value.get("beta_gb_s"))
    if start is None or rate is None:
        return None
    return max(0.0, start) / 1e6, rate * 1e9, positive(value.get("to_bytes")) or 0.0


NO_NETWORK = Network()
