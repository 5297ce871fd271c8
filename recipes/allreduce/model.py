"""The arithmetic: bandwidths as nccl-tests define them, and the fit of time = α + β · bytes."""

from collections.abc import Sequence

COLLECTIVES = ("all-reduce", "all-gather", "reduce-scatter", "broadcast")


def bus_factor(operation: str, processes: int) -> float:
    """Return bus bandwidth ÷ algorithm bandwidth, which makes operations and process counts comparable.

    From doc/PERFORMANCE.md of github.com/NVIDIA/nccl-tests: an all-reduce must move 2(n−1)/n of the data through each
    process's link, all-gather and reduce-scatter (n−1)/n, a broadcast all of it. A copy in one process has no bus.
    """
    around = (processes - 1) / processes
    return {"all-reduce": 2 * around, "all-gather": around, "reduce-scatter": around}.get(operation, 1.0)


def bandwidths(operation: str, size: int, seconds: float, processes: int) -> tuple[float, float]:
    """Return (algorithm bandwidth, bus bandwidth) in GB/s, 10⁹ bytes each.

    `size` is what nccl-tests call S: the whole buffer, for all-gather and reduce-scatter the shares of all processes.
    """
    algorithm = size / seconds / 1e9
    return algorithm, algorithm * bus_factor(operation, processes)


def fit(sizes: Sequence[int], seconds: Sequence[float]) -> tuple[float, float] | None:
    """Return (α in seconds, β in seconds per byte) of t = α + β·m, or None with fewer than two different sizes.

    Least squares on the relative error, Σ((α + β·m − t)/t)²: else the largest message alone would decide. Neither may
    be negative; where the free fit says so, that one is 0 and the other is fitted alone.
    """
    if len(set(sizes)) < 2:
        return None
    ones = [1 / t for t in seconds]
    scaled = [m / t for m, t in zip(sizes, seconds, strict=True)]
    a, b, c = _dot(ones, ones), _dot(ones, scaled), _dot(scaled, scaled)
    x, y = sum(ones), sum(scaled)
    determinant = a * c - b * b
    alpha, beta = (c * x - b * y) / determinant, (a * y - b * x) / determinant
    if alpha < 0:
        return 0.0, y / c
    if beta < 0:
        return x / a, 0.0
    return alpha, beta


def _dot(left: Sequence[float], right: Sequence[float]) -> float:
    return sum(one * other for one, other in zip(left, right, strict=True))


def fits(sizes: Sequence[int], seconds: Sequence[float], split: int) -> dict[str, dict[str, float]]:
    """Return the fits of the ranges `small` (up to `split` bytes) and `large` (from there on) that hold two sizes.

    Two ranges, for libraries change their algorithm with the size: α of the small one is the latency, 1/β of the large
    one the bandwidth. Units: µs and GB/s (0 where time does not grow with size); `relative_error` is the largest.
    """
    found = {}
    for name, chosen in (("small", [m <= split for m in sizes]), ("large", [m >= split for m in sizes])):
        m = [value for value, use in zip(sizes, chosen, strict=True) if use]
        t = [value for value, use in zip(seconds, chosen, strict=True) if use]
        line = fit(m, t)
        if line is not None:
            alpha, beta = line
            error = max(abs(alpha + beta * size - time) / time for size, time in zip(m, t, strict=True))
            found[name] = {
                "from_bytes": min(m), "to_bytes": max(m), "alpha_us": alpha * 1e6,
                "beta_gb_s": 1e-9 / beta if beta else 0.0, "relative_error": error,
            }  # fmt: skip
    return found
