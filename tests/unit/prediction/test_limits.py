"""A limit that no row has met: it widens what bends, and leaves alone what one curve explains."""

import math
import random

import pytest

from hackathon.prediction.advice import advice
from hackathon.prediction.flags import flags, good_rows
from hackathon.prediction.forecast import forecast
from hackathon.prediction.limits import bends, limited
from hackathon.prediction.rows import MeasuredValue, Series, series


def made(rates: dict[int, float], per_node: int = 1, mode: str = "weak") -> Series:
    lines = [MeasuredValue(p, rate, -(-p // per_node)) for p, rate in rates.items()]
    return series("x", mode, "img/s", lines)


def saturating(count: int, cap: float, sharp: float, noise: float, draw: random.Random) -> dict[int, float]:
    """Rates that a server with so much capacity allows: a smooth minimum, no shape of the product."""
    return {
        p: (p**-sharp + cap**-sharp) ** (-1 / sharp) * (1 + draw.gauss(0, noise))
        for p in (2**step for step in range(count))
    }


def test_growing_losses_bend_and_a_step_to_other_nodes_does_not() -> None:
    assert bends(made({1: 1, 2: 1.95, 4: 3.6, 8: 5.6}).rows) == pytest.approx(math.log(2 * 3.6 / 5.6))
    assert bends(made({1: 1, 2: 1.9, 4: 3.7, 8: 7.2}).rows) is None
    assert bends(made({1: 1, 4: 3.98, 8: 6.4}, per_node=4).rows) is None
    assert bends(made({1: 1, 2: 1.5}).rows) is None


@pytest.mark.slow
def test_intervals_of_saturating_series_hold() -> None:
    draw, held, count = random.Random(3), 0, 120
    for _ in range(count):
        sizes = draw.randint(4, 6)
        cap, sharp = 2 ** draw.uniform(sizes - 2, sizes + 2), draw.uniform(1.5, 4)
        rates = saturating(sizes + 1, cap, sharp, 0.01, draw)
        size = 2**sizes
        truth = (size**-sharp + cap**-sharp) ** (-1 / sharp)
        known = made({p: rate for p, rate in rates.items() if p < size})
        (entry,) = forecast(known, [size], advise=False).predictions
        held += entry["low"] <= truth <= entry["high"]
    assert held >= 0.75 * count, "without a share for limits: 13 %; most that miss it show nothing before the last row"


def test_rows_that_one_curve_meets_exactly_leave_no_room() -> None:
    linear = made({p: p / (1 + 0.05 * (p - 1)) for p in (1, 2, 4, 8, 16)})
    assert bends(linear.rows) is not None
    (entry,) = forecast(linear, [32], advise=False).predictions
    assert entry["value"] == pytest.approx(32 / (1 + 0.05 * 31), rel=0.01)
    assert limited(linear.rows, 32, "weak", 0.5, 0.0)[0] == 0.0


def test_a_limit_widens_to_the_slow_side_only() -> None:
    rows = made({1: 1, 2: 1.97, 4: 3.9, 8: 7.7})
    (entry,) = forecast(rows, [16], advise=False).predictions
    assert entry["value"] - entry["low"] > 1.5 * (entry["high"] - entry["value"])
    assert any(shape["name"] == "limit" for shape in entry["shapes"])


def test_whole_nodes_are_paid() -> None:
    found = made({1: 1, 4: 3.6, 8: 7.0, 16: 13.0}, per_node=4)
    best = advice(found, found.rows, [32, 64])
    assert best.cheapest[0] == 4, "one process pays a node of four"
    assert best.largest is not None and best.largest[0] == 32 and best.largest[1] > 0.75
    slow = made({1: 1, 2: 1.2, 4: 1.3})
    assert advice(slow, slow.rows, [8]).largest == (1, 1.0)
    wrong = made({1: 1.0, 2: 1.95, 4: 5.5, 8: 7.5, 16: 14.5})
    rows = good_rows(wrong, flags(wrong))
    assert 4 not in {row.processes for row in rows} and advice(wrong, rows, [4, 32]).cheapest[0] == 1
