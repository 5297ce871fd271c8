"""Least squares of a few columns with non-negative coefficients, in plain Python."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

TOLERANCE = 1e-9
"""A column whose independent part is below this share of it is dependent."""


@dataclass(frozen=True)
class Fit:
    """Coefficients, residual, and the variance of combinations of the coefficients."""

    coefficients: tuple[float, ...]
    """One for each column, zero for unused ones."""
    residual: float
    """Sum of squares."""
    used: tuple[int, ...]
    """Columns with a coefficient."""
    triangle: tuple[tuple[float, ...], ...]
    """R of the QR decomposition of the used columns, row by row."""

    def value(self, at: Sequence[float]) -> float:
        """Return the fitted height for values of the columns."""
        return math.fsum(c * x for c, x in zip(self.coefficients, at, strict=True))

    def leverage(self, at: Sequence[float]) -> float:
        """Return xᵀ(XᵀX)⁻¹x: the variance of the fitted height, in units of that of one row."""
        solved: list[float] = []
        for i, column in enumerate(self.used):
            total = math.fsum(self.triangle[j][i] * solved[j] for j in range(i))
            solved.append((at[column] - total) / self.triangle[i][i])
        return math.fsum(part * part for part in solved)


def least_squares(columns: Sequence[Sequence[float]], heights: Sequence[float]) -> Fit | None:
    """Return the unconstrained fit; None when the columns are dependent or too many.

    QR by Gram and Schmidt, each column twice: with a few columns as exact as Householder's (Giraud et al. 2005).
    """
    rows: list[list[float]] = [[0.0] * len(columns) for _ in columns]
    basis: list[list[float]] = []
    for number, column in enumerate(columns):
        left = list(column)
        for _ in range(2):
            for i, direction in enumerate(basis):
                part = math.fsum(a * b for a, b in zip(direction, left, strict=True))
                rows[i][number] += part
                left = [a - part * b for a, b in zip(left, direction, strict=True)]
        length, scale = (math.sqrt(math.fsum(a * a for a in vector)) for vector in (left, column))
        if length <= TOLERANCE * scale or not length:
            return None
        rows[number][number] = length
        basis.append([a / length for a in left])
    shares = [math.fsum(a * b for a, b in zip(direction, heights, strict=True)) for direction in basis]
    coefficients = [0.0] * len(columns)
    for i in reversed(range(len(columns))):
        coefficients[i] = (
            shares[i] - math.fsum(rows[i][j] * coefficients[j] for j in range(i + 1, len(columns)))
        ) / rows[i][i]
    left = [
        y - math.fsum(c * x for c, x in zip(coefficients, line, strict=True))
        for y, *line in zip(heights, *columns, strict=True)
    ]
    residual = math.fsum(error * error for error in left)
    return Fit(tuple(coefficients), residual, tuple(range(len(columns))), tuple(map(tuple, rows)))


def non_negative(columns: Sequence[Sequence[float]], heights: Sequence[float]) -> Fit | None:
    """Return the fit with the smallest residual among those without a negative coefficient; None without any.

    Every set of columns is tried, which is exact (the solution is a fit of the columns that it uses) and quick for the
    at most four columns here.
    """
    best: Fit | None = None
    numbers = range(len(columns))
    for count in range(1, len(columns) + 1):
        for chosen in combinations(numbers, count):
            fit = least_squares([columns[i] for i in chosen], heights)
            if fit is None or min(fit.coefficients) < 0:
                continue
            if best is None or fit.residual < best.residual * (1 - 1e-12):
                coefficients = [0.0] * len(columns)
                for i, coefficient in zip(chosen, fit.coefficients, strict=True):
                    coefficients[i] = coefficient
                best = Fit(tuple(coefficients), fit.residual, chosen, fit.triangle)
    return best
