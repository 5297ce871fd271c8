"""Expected results: `reference.yaml` of `hackathon results --expect`."""

from dataclasses import dataclass, field
from typing import Literal

from hackathon.config.records import Positive, Scalar


@dataclass(frozen=True)
class Expectation:
    """The expected result of one size."""

    value: float
    """The expected number, in the metric's unit; for `efficiency` from 0 to 1."""
    tolerance: float | list[float | None]
    """Relative: 0.05 allows 5 % below and above; [-0.05, 0.1] allows 5 % below and 10 % above; null: no bound."""
    processes: Positive | None = None
    """The process count; not needed for a single run."""
    quantity: Literal["value", "speedup", "efficiency"] = "value"
    """What is compared."""
    metric: str | None = None
    """The metric; by default that of the study or the run."""
    unit: str | None = None
    """The metric's unit; another one is an error."""
    settings: dict[str, Scalar] = field(default_factory=dict)
    """Of a study that varies settings: the values of the series."""


@dataclass(frozen=True)
class ReferenceFile:
    """Expected results per cluster."""

    clusters: dict[str, list[Expectation]]
    """Cluster → its expected results."""
