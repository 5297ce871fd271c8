"""Training steps that are simulated event by event, to predict them from little: no formula of the product is in here.

Ranks compute layer by layer, each with its own noise. A gradient bucket is sent when the last rank has it, one bucket
after another, around a ring of which each hop takes its latency and its bytes over its link. Sending slows computing.
"""

import random
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Machine:
    """Links of a cluster: inside a node and between nodes."""

    per_node: int
    inside: tuple[float, float]
    """Seconds of latency, bytes per second."""
    between: tuple[float, float]

    def ring(self, size: float, processes: int) -> float:
        """Return the seconds of one ring all-reduce: 2(n−1) rounds, each as long as its slowest hop."""
        if processes < 2:
            return 0.0
        nodes = -(-processes // self.per_node)
        hops = [self.inside] + ([self.between] if nodes > 1 else [])
        return sum(max(latency + size / processes / rate for latency, rate in hops) for _ in range(2 * (processes - 1)))

    def measured(self, draw: random.Random) -> list[dict[str, Any]]:
        """Return what `clusters measure` would keep of one and two nodes, with a few per cent of noise."""
        found = []
        for nodes in (1, 2):
            processes = nodes * self.per_node
            if processes < 2:
                continue
            small, large = ((self.ring(size, processes), self.ring(2 * size, processes)) for size in (32e3, 1.28e8))
            fits = {}
            for name, (first, second), size in (("small", small, 32e3), ("large", large, 1.28e8)):
                rate = size / (second - first) * draw.gauss(1, 0.03)
                fits[name] = {
                    "alpha_us": max(0.0, 2 * first - second) * 1e6, "beta_gb_s": rate / 1e9, "from_bytes": size / 8,
                    "to_bytes": size * 8, "relative_error": 0.03,
                }  # fmt: skip
            found.append(
                {"nodes": nodes, "hosts": nodes, "processes": processes, "operations": {"all-reduce": {"fits": fits}}}
            )
        return found


@dataclass(frozen=True)
class Program:
    """A training program: what a step computes and sends."""

    seconds: float
    """Computing of one process and step."""
    size: float
    """Bytes of all gradients."""
    layers: int
    buckets: int
    noise: float
    """Standard deviation of a rank's computing, relative."""
    slowed: float
    """How much slower computing is while something is sent."""

    def step(self, machine: Machine, processes: int, draw: random.Random) -> tuple[float, float]:
        """Return (seconds of one step, seconds in which every rank only waited for communication)."""
        speeds = [max(0.5, draw.gauss(1, self.noise)) for _ in range(min(processes, 256))]
        slowest = max(speeds)
        bucket = self.size / self.buckets
        link_free, at = 0.0, self.seconds / 3 * slowest
        per_bucket = self.layers / self.buckets
        sent = 0
        for layer in range(1, self.layers + 1):
            part = 0.64 * self.seconds / self.layers * slowest
            at += part * (1 + self.slowed * (link_free > at))
            while sent < self.buckets and layer >= (sent + 1) * per_bucket - 1e-9:
                link_free = max(link_free, at) + machine.ring(bucket, processes)
                sent += 1
        waited = max(0.0, link_free - at) if processes > 1 else 0.0
        return at + waited + 0.03 * self.seconds * slowest, waited

    def mean(self, machine: Machine, processes: int, draw: random.Random, steps: int = 12) -> tuple[float, float]:
        """Return the means of `step`."""
        found = [self.step(machine, processes, draw) for _ in range(steps)]
        return sum(step for step, _ in found) / steps, sum(waited for _, waited in found) / steps


def drawn(draw: random.Random) -> tuple[Machine, Program]:
    """Return a cluster and a program as they may be: networks from Ethernet to NVLink, models from 5 MB to 1.5 GB."""
    machine = Machine(
        draw.choice([1, 2, 4, 8]),
        (draw.uniform(1e-6, 8e-6), 10 ** draw.uniform(9.8, 11.2)),
        (draw.uniform(2e-6, 3e-5), 10 ** draw.uniform(9.0, 10.4)),
    )
    size = 10 ** draw.uniform(6.7, 9.2)
    buckets = max(1, min(40, round(size / 25e6)))
    program = Program(
        10 ** draw.uniform(-1.3, -0.2),
        size,
        60,
        buckets,
        draw.choice([0.0, 0.005, 0.02]),
        draw.choice([0.0, 0.03, 0.08]),
    )
    return machine, program
