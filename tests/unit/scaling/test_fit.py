"""A known serial fraction comes back out of points made from it, and nothing comes out of too little."""

import random

import pytest

from hackathon.scaling.fit import Measured, efficiency, fit, karp_flatt


def _points(law: str, fraction: float, repeats: int = 3, stdev: float | None = 0.01) -> list[Measured]:
    return [Measured(2 * n, n, n * efficiency(law, fraction, n), repeats, stdev) for n in (1, 2, 4, 8)]


@pytest.mark.parametrize(("mode", "law"), [("strong", "amdahl"), ("weak", "gustafson"), ("weak", "amdahl")])
@pytest.mark.parametrize("fraction", [0.0, 0.05, 0.4])
def test_the_fraction_comes_back(mode: str, law: str, fraction: float) -> None:
    found = fit(mode, _points(law, fraction))
    assert found is not None
    assert found["serial_fraction"] == pytest.approx(fraction, abs=1e-12)
    assert found["model"] == law or fraction == 0.0


def test_the_stated_error_covers_the_truth_under_noise() -> None:
    draw = random.Random(1967)
    inside = 0
    for _ in range(300):
        base = 1 + draw.gauss(0, 0.02)
        points = [Measured(1, 1, 1.0, 1, None)]
        for n in (2, 4, 8, 16):
            speed = n * efficiency("amdahl", 0.05, n) * (1 + draw.gauss(0, 0.02)) / base
            points.append(Measured(n, n, speed, 1, None))
        known = [Measured(p.processes, p.n, p.speedup, 2, 0.02 * 2**0.5) for p in points]  # means of two runs
        found = fit("strong", known)
        assert found is not None
        raw = found["serial_fraction"] or 0.0
        inside += abs(raw - 0.05) <= 2 * found["standard_error"]
    assert inside >= 0.93 * 300


def test_two_points_are_too_few() -> None:
    assert fit("strong", _points("amdahl", 0.1)[:2]) is None
    assert fit("strong", _points("amdahl", 0.1)[1:]) is None  # no base


def test_without_repeats_there_is_no_error() -> None:
    found = fit("strong", _points("amdahl", 0.1, repeats=1, stdev=None))
    assert found is not None
    assert found["serial_fraction"] == pytest.approx(0.1)
    assert found["standard_error"] is None


def test_no_fraction_above_linear_speed_up_or_where_the_law_does_not_hold() -> None:
    above = [Measured(n, n, n * 1.3 if n > 1 else 1.0, 3, 0.01) for n in (1, 2, 4)]
    cliff = [Measured(n, n, speed, 3, 0.01) for n, speed in ((1, 1.0), (2, 2.0), (4, 4.0), (8, 2.0), (16, 15.0))]
    for points in (above, cliff):
        found = fit("strong", points)
        assert found is not None and found["serial_fraction"] is None


def test_karp_flatt_of_known_cases() -> None:
    assert karp_flatt(1, 1) is None
    assert karp_flatt(8, 8) == pytest.approx(0)
    # Karp and Flatt's own example of the measure: 1/S - 1/n over 1 - 1/n.
    assert karp_flatt(2, 1.95) == pytest.approx(0.0256, abs=1e-4)
