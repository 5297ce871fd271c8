"""Asynchronous SGD as formulas: why the simulation comes out as it does. Pure.

A worker needs P = τ + c for a gradient, c = α + β·bytes·waiting. N workers make L = N ÷ P gradients a second, so an
epoch of G gradients takes G ÷ L: nobody waits for the server. An update takes u. If gradients wait at its end the next
one starts at once, else with the next gradient; so updates are T = max(u + p₀ ÷ L, 1 ÷ L) apart, p₀ = exp(−L·u) being
the probability that none came meanwhile (Poisson). An update has L·T gradients. A gradient is P ÷ T updates old when it
arrives, and waits for one more when an update is going on, which is so with the probability u ÷ T.
"""

import math
from dataclasses import dataclass

from hackathon.prediction.asynchronous.timings import Timings

ROUNDS = 60


@dataclass(frozen=True)
class ClosedForm:
    """What the formulas say, in steady state."""

    rate: float
    """Gradients per second, all workers together."""
    batch: float
    """Gradients of an update."""
    staleness: float
    """Of a gradient, in updates."""
    waiting: float
    """Exchanges at the server when one more comes, with that one."""


def closed_form(timings: Timings, workers: int) -> ClosedForm:
    """Return what the formulas say. Workers that are held back, by a bound or by the server, are not in them.

    `waiting` is the solution of mean value analysis for a closed network with one queue (Reiser and Lavenberg 1980): an
    exchange finds as many others as there are on average with one worker less. Gradients per update by iteration: an
    update takes longer with more of them. Where that grows without end, all gradients of the training are one update.
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

    While an update takes less than a gradient, each gradient is one update, and has not seen the former one.
    """
    update = timings.update.mean + timings.add
    period = 1 / rate
    if update <= period:
        return ClosedForm(rate, 1.0, 1.0, 1.0)
    return ClosedForm(rate, update / period, 1.0 + period / update, 1.0)
