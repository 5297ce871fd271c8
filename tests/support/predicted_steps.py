"""Predictions of simulated training steps from few rows and a measured network, beside the simulated truth."""

import random
import statistics
from dataclasses import dataclass

from hackathon.prediction.forecast import Knowledge, forecast
from hackathon.prediction.network import network_from
from hackathon.prediction.physics import Exposed, Physics
from hackathon.prediction.rows import MeasuredValue, series
from support.simulated_steps import drawn

BATCH = 32


@dataclass(frozen=True)
class PredictedSteps:
    """What came of some simulated programs."""

    errors: list[float]
    """Of the predictions, relative."""
    constant: list[float]
    """Of constant efficiency."""
    held: float
    half_width: float


def outcomes(places: str, count: int, seed: int, mode: str = "weak", *, exposed: bool = False) -> PredictedSteps:
    """Predict four nodes from rows at `places`, some of `1 node two`, and the measured network."""
    draw = random.Random(seed)
    errors, constant, widths, held = [], [], [], 0
    for _ in range(count):
        machine, program = drawn(draw)
        per_node = machine.per_node
        named = {"1": 1, "node": per_node, "two": 2 * per_node}
        sizes = sorted({named[place] for place in places.split()})
        times = {size: program.mean(machine, size, draw) for size in sizes}
        lines = [
            MeasuredValue(size, BATCH * size / step * draw.gauss(1, 0.007), -(-size // per_node))
            for size, (step, _) in times.items()
        ]
        waits = tuple(Exposed(p, -(-p // per_node), wait) for p, (_, wait) in times.items() if p > 1 and exposed)
        physics = Physics(network_from(machine.measured(draw)), program.size, BATCH, waits)
        made, size = series("made", mode, "img/s", lines), 4 * per_node
        truth = BATCH * size / program.mean(machine, size, draw)[0]
        (entry,) = forecast(made, [size], Knowledge(per_node=per_node, physics=physics), advise=False).predictions
        assert entry["basis"] in ("physics", "measured")
        errors.append(abs(entry["value"] / truth - 1))
        constant.append(abs(size / made.rows[-1].cost / truth - 1))
        widths.append((entry["high"] - entry["low"]) / 2 / entry["value"])
        held += entry["low"] <= truth <= entry["high"]
    return PredictedSteps(errors, constant, held / count, statistics.median(widths))
