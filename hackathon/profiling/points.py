"""The shares of a run, and of all runs of a point, with advice."""

from collections.abc import Sequence
from typing import Any

from hackathon.profiling.advice import advice
from hackathon.profiling.shares import HOOKED, MEASURED, SAMPLED, RunShares, late_rank, mean_of_runs


def point_json(runs: Sequence[RunShares]) -> dict[str, Any] | None:
    """Return the mean of runs with equally many processes as in the results JSON; None without any."""
    if not runs:
        return None
    mean = mean_of_runs(runs).to_json()
    bases = {run.basis for run in runs}
    return {
        "basis": next(basis for basis in (SAMPLED, HOOKED, MEASURED, *bases) if basis in bases),
        "late_rank": late_rank(runs),
        **{name: value for name, value in mean.items() if name != "rank"},
        "advice": [suggestion.to_json() for suggestion in advice(runs)],
    }


def run_json(run: RunShares | None) -> dict[str, Any] | None:
    """Return the shares of one run and of its ranks as in the results JSON; None stays None."""
    point = point_json([run] if run is not None else [])
    return {**point, "ranks": [rank.to_json() for rank in run.ranks]} if point is not None and run is not None else None
