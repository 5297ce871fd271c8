"""Asynchronous SGD as formulas, which explain the simulation. Pure.

A worker needs P = τ + c for a gradient, c = α + β·bytes·waiting. N workers make L = N ÷ P gradients a second, so an
epoch of G gradients takes G ÷ L: workers do not wait for the server. An update takes u. If gradients are waiting at its
end the next one starts at once, else with the next gradient. So updates are T = max(u + p₀ ÷ L, 1 ÷ L) apart, where p₀
= exp(−L·u) is the probability that none arrived meanwhile (Poisson). An update has L·T gradients. A gradient is P ÷ T
updates old when it arrives, and waits for one more if an update is running, which has the probability u ÷ T.
"""

import math
from dataclasses import dataclass

from hackathon.prediction.asynchronous.timings import Timings

ROUNDS = 60


@dataclass(frozen=True)
class ClosedForm:
    """The formulas' results, in steady state."""

    rate: float
    """Gradients per second, all workers together."""
    batch: float
    """Gradients per update."""
    staleness: float
    """Staleness of a gradient, in updates."""
    waiting: float
    """Exchanges at the server when one arrives, including it."""


def closed_form(timings: Timings, workers: int) -> ClosedForm:
    """Return the formulas' results. They ignore workers that are held back, by a bound or by the server.

    `waiting` is the solution of mean value analysis for a closed network with one queue (Reiser and Lavenberg 1980): an
    exchange finds as many others as there are on average with one worker less. Gradients per update are computed by
    iteration, because an update takes longer with more of them. If that diverges, all gradients of the training are one
    update.
    """
    think, service = timings.compute.mean + timings.latency, timings.transfer.mean
    queue, waiting, rate = 0.0, 1.0, 0.0
    for number in range(1, workers + 1):
        waiting = 1.0 + queue
        rate = number / (think + service * waiting)
        queue = rate * service * waiting
    if workers == 1:
        return _alone(timings, rate)
    batch = 1.0
    cycle = 1 / rate
    for _ in range(ROUNDS):
        update = timings.update.mean + timings.add * batch
        cycle = max(update + math.exp(-rate * update) / rate, 1 / rate)
        batch = min(rate * cycle, float(timings.gradients))
    update = timings.update.mean + timings.add * batch
    return ClosedForm(rate, batch, 1 / rate * workers / cycle + min(1.0, update / cycle), waiting)


def _alone(timings: Timings, rate: float) -> ClosedForm:
    """Return the values of one worker, whose gradients do not come at random times: exact for constant times.

    While an update takes less than a gradient, each gradient is one update, and has not seen the previous one.
    """
    update = timings.update.mean + timings.add
    period = 1 / rate
    if update <= period:
        return ClosedForm(rate, 1.0, 1.0, 1.0)
    return ClosedForm(rate, update / period, 1.0 + period / update, 1.0)
