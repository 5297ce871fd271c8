"""The predictions of well-known laws, for comparison."""

from collections.abc import Sequence

from hackathon.prediction.least_squares import non_negative
from hackathon.prediction.rows import MeasuredSize, Series

LAWS = ("amdahl", "gustafson", "usl", "constant_efficiency")


def beside(series: Series, rows: Sequence[MeasuredSize], sizes: Sequence[int]) -> dict[str, list[float | None]]:
    """Return law → its value at each size, in the series' unit; None when it cannot be fitted.

    Amdahl (AFIPS 1967): cost = a + b·(n−1). Gustafson (CACM 31(5), 1988): rate per process = a + b/n. Universal
    scalability law (Gunther 1993): cost = a + b·(n−1) + c·n(n−1). n: multiples of the smallest good size. Relative
    errors are minimised, coefficients are not negative. Constant efficiency: that of the largest good row.
    """
    base, last = rows[0].processes, rows[-1]
    multiples = [row.processes / base for row in rows]
    values: dict[str, list[float | None]] = {}
    constant = [1.0] * len(rows)
    linear = [n - 1 for n in multiples]
    quadratic = [n * (n - 1) for n in multiples]
    for law, columns in (("amdahl", [constant, linear]), ("usl", [constant, linear, quadratic])):
        relative = [[x / row.cost for x, row in zip(column, rows, strict=True)] for column in columns]
        fit = non_negative(relative, constant)
        values[law] = []
        for size in sizes:
            n = size / base
            cost = fit.value([1.0, n - 1, n * (n - 1)][: len(columns)]) if fit else 0.0
            values[law].append(series.value(size / cost, size) if cost > 0 else None)
    per_process = [1 / row.cost for row in rows]
    shrinking = [1 / n for n in multiples]
    fit = non_negative([[x / y for x, y in zip(c, per_process, strict=True)] for c in (constant, shrinking)], constant)
    values["gustafson"] = []
    for size in sizes:
        rate = size * fit.value([1.0, base / size]) if fit else 0.0
        values["gustafson"].append(series.value(rate, size) if rate > 0 else None)
    values["constant_efficiency"] = [series.value(size / last.cost, size) for size in sizes]
    return {law: values[law] for law in LAWS}
