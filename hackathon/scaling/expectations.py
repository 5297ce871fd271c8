"""Compare results with the expected ones of `reference.yaml`, for tests that run again and again."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from hackathon.config.reference import Expectation, ReferenceFile
from hackathon.scaling.doubts import is_false
from hackathon.scaling.show import number
from hackathon.scaling.table import series_of
from hackathon.text.errors import RequestError
from hackathon.text.messages import _


@dataclass(frozen=True)
class ComparedExpectation:
    """One expected result beside the measured one."""

    processes: int | None
    quantity: str
    """`value`, `speedup` or `efficiency`."""
    metric: str
    unit: str
    expected: float
    lower: float | None
    """The smallest number that is accepted; None: no bound."""
    upper: float | None
    measured: float | None
    """None: there is no such result."""
    met: bool
    reason: str = ""
    """Why it is not met, in the current language."""

    def to_json(self) -> dict[str, Any]:
        """Return it as in the JSON of `results --expect`."""
        return asdict(self)

    @property
    def line(self) -> str:
        """The comparison in one line."""
        size = "" if self.processes is None else _("{n} {n:process|processes}: ", n=self.processes)
        bounds = f"{number(self.lower)} … {number(self.upper)}"
        name = self.metric if self.quantity == "value" else self.quantity
        text = _(
            "{size}{name} {measured}, expected {expected} ({bounds})",
            size=size, name=name, measured=f"{number(self.measured)} {self.unit}".strip(),
            expected=number(self.expected), bounds=bounds,
        )  # fmt: skip
        return f"{'✓' if self.met else '✗'} {text}" + (f": {self.reason}" if self.reason else "")


def expectations_of(reference: ReferenceFile, cluster: str) -> Sequence[Expectation]:
    """Return the expectations for a cluster. Raises RequestError if the file has none: nothing would be tested."""
    expectations = reference.clusters.get(cluster)
    if not expectations:
        raise RequestError(
            "reference.no_cluster",
            "the reference has no expected results for cluster {cluster}; it has: {known}",
            cluster=cluster or "–",
            known=", ".join(reference.clusters),
        )
    return expectations


def compare_study(expectations: Sequence[Expectation], results: Mapping[str, Any]) -> list[ComparedExpectation]:
    """Compare a study's results (`scaling.table.results`). A doubted result and a missing one meet nothing.

    Raises RequestError for an expectation of another metric or unit, or whose settings no series has.
    """
    compared = []
    for expectation in expectations:
        _same_meaning(expectation, results["metric"], results["unit"])
        points = [
            point
            for series in series_of(results)
            if all(series["settings"].get(name) == value for name, value in expectation.settings.items())
            for point in series["points"]
            if expectation.processes in (None, point["processes"])
        ]
        if len(points) > 1:
            raise RequestError(
                "reference.ambiguous",
                "an expectation fits {count} points; name their `processes` and `settings`",
                count=len(points),
            )
        point = points[0] if points else None
        measured = point[expectation.quantity] if point is not None else None
        reason = _("not measured") if point is None else "" if measured is not None else _("no result")
        if point is not None and is_false(point["doubts"]):
            reason = _("not believable")
        compared.append(_compared(expectation, results["metric"], results["unit"], measured, reason))
    return compared


def compare_run(
    expectations: Sequence[Expectation], processes: int, metrics: Mapping[str, float], metric: str, unit: str,
    doubts: Sequence[Mapping[str, Any]],
) -> list[ComparedExpectation]:  # fmt: skip
    """Compare the numbers of one run with the expectations of its size. Raises RequestError if there are none."""
    own = [entry for entry in expectations if entry.processes in (None, processes) and entry.quantity == "value"]
    if not own:
        raise RequestError(
            "reference.no_size_of_run",
            "the reference has no expected value for {processes} {processes:process|processes}",
            processes=processes,
        )
    compared = []
    for entry in own:
        name = entry.metric or metric
        measured = metrics.get(name)
        reason = _("no result") if measured is None else _("not believable") if is_false(doubts) else ""
        compared.append(_compared(entry, name, unit if name == metric else entry.unit or "", measured, reason))
    return compared


def _same_meaning(expectation: Expectation, metric: str, unit: str) -> None:
    for name, expected, actual in (("metric", expectation.metric, metric), ("unit", expectation.unit, unit)):
        if expected is not None and expected != actual:
            raise RequestError(
                "reference.other_meaning",
                "the reference expects the {name} {expected!r}; the results have {actual!r}",
                hint="--metric NAME shows another metric of the runs",
                name=name,
                expected=expected,
                actual=actual,
            )


def _compared(
    expectation: Expectation, metric: str, unit: str, measured: float | None, reason: str
) -> ComparedExpectation:
    bounds = expectation.tolerance
    low, high = bounds if isinstance(bounds, list) else (-bounds, bounds)
    lower = None if low is None else expectation.value * (1 + low)
    upper = None if high is None else expectation.value * (1 + high)
    if not reason and measured is not None:
        if lower is not None and measured < lower:
            reason = _("{percent} % below the reference", percent=number(100 * (1 - measured / expectation.value), 3))
        elif upper is not None and measured > upper:
            reason = _("{percent} % above the reference", percent=number(100 * (measured / expectation.value - 1), 3))
    plain = expectation.quantity == "value"
    return ComparedExpectation(
        expectation.processes, expectation.quantity, metric, unit if plain else "", expectation.value, lower, upper,
        measured, not reason, reason,
    )  # fmt: skip
