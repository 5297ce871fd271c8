"""Least squares of a few columns with coefficients that are not negative, in plain Python."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

TOLERANCE = 1e-9
"""A column whose part that is new is smaller than this share of it says nothing new."""


@dataclass(frozen=True)
class Fit:
    """Coefficients, what is left of the heights, and how sure a combination of the coefficients is."""

    coefficients: tuple[float, ...]
    """One for each column, zero for those that are not used."""
    residual: float
    """Sum of squares."""
    used: tuple[int, ...]
    """Columns with a coefficient."""
    triangle: tuple[tuple[float, ...], ...]
    """R of the QR decomposition of the used columns, row by row."""

    def value(self, at: Sequence[float]) -> float:
        """Return the fitted height where the columns have these values."""
        return math.fsum(c * x for c, x in zip(self.coefficients, at, strict=True))

    def leverage(self, at: Sequence[float]) -> float:
        """Return xᵀ(XᵀX)⁻¹x: the variance of the fitted height, in units of that of one row."""
        solved: list[float] = []
        for i, column in enumerate(self.used):
            known = math.fsum(self.triangle[j][i] * solved[j] for j in range(i))
            solved.append((at[column] - known) / self.triangle[i][i])
        return math.fsum(each * each for each in solved)


def least_squares(columns: Sequence[Sequence[float]], heights: Sequence[float]) -> Fit | None:
    """Return the fit without a sign condition; None when the columns depend on each other or are too many.

    QR by Gram and Schmidt, each column twice: with a handful of columns as exact as Householder's (Giraud et al. 2005).
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
        length, whole = (math.sqrt(math.fsum(a * a for a in each)) for each in (left, column))
        if length <= TOLERANCE * whole or not length:
            return None
        rows[number][number] = length
        basis.append([a / length for a in left])
    shares = [math.fsum(a * b for a, b in zip(direction, heights, strict=True)) for direction in basis]
    found = [0.0] * len(columns)
    for i in reversed(range(len(columns))):
        found[i] = (shares[i] - math.fsum(rows[i][j] * found[j] for j in range(i + 1, len(columns)))) / rows[i][i]
    left = [
        y - math.fsum(c * x for c, x in zip(found, line, strict=True))
        for y, *line in zip(heights, *columns, strict=True)
    ]
    residual = math.fsum(each * each for each in left)
    return Fit(tuple(found), residual, tuple(range(len(columns))), tuple(map(tuple, rows)))


def non_negative(columns: Sequence[Sequence[float]], heights: Sequence[float]) -> Fit | None:
    """Return the fit with the smallest residual among those without a negative coefficient; None without any.

    Every set of columns is tried, which is exact (the solution is a fit of the columns that it uses) and quick for
    the at most four columns here.
    """
    best: Fit | None = None
    numbers = range(len(columns))
    for count in range(1, len(columns) + 1):
        for chosen in combinations(numbers, count):
            found = least_squares([columns[i] for i in chosen], heights)
            if found is None or min(found.coefficients) < 0:
                continue
            if best is None or found.residual < best.residual * (1 - 1e-12):
                whole = [0.0] * len(columns)
                for i, coefficient in zip(chosen, found.coefficients, strict=True):
                    whole[i] = coefficient
                best = Fit(tuple(whole), found.residual, chosen, found.triangle)
    return best
