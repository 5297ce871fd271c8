"""The own least squares beside SciPy's."""

import random

import pytest

from hackathon.prediction.least_squares import least_squares, non_negative


def test_non_negative_is_that_of_scipy() -> None:
    from scipy.optimize import nnls  # not above: a worker that collects would spend a second on it

    draw = random.Random(4)
    for _ in range(200):
        rows, count = draw.randint(3, 8), draw.randint(1, 3)
        columns = [[draw.gauss(0.3, 1) for _ in range(rows)] for _ in range(count)]
        heights = [draw.gauss(0.5, 1) for _ in range(rows)]
        expected, residual = nnls([list(line) for line in zip(*columns, strict=True)], heights)
        found = non_negative(columns, heights)
        if found is None:  # nothing but zeros
            assert max(expected) < 1e-9
        else:
            assert found.coefficients == pytest.approx(list(expected), abs=1e-8)
            assert found.residual == pytest.approx(residual**2, abs=1e-8)


def test_leverage_is_the_variance_of_the_fitted_height() -> None:
    ones, sizes = [1.0] * 4, [0.0, 1.0, 2.0, 3.0]
    found = least_squares([ones, sizes], [1.0, 2.0, 2.5, 4.0])
    assert found is not None
    # the textbook's formula for a straight line
    assert found.leverage([1.0, 5.0]) == pytest.approx(1 / 4 + (5 - 1.5) ** 2 / 5)


def test_columns_that_depend_on_each_other_have_no_fit() -> None:
    assert least_squares([[1.0, 1.0, 1.0], [2.0, 2.0, 2.0]], [1.0, 2.0, 3.0]) is None
    assert least_squares([[1.0], [2.0]], [1.0]) is None
