"""The results of a scaling study as typed records: the fields of `hackathon results --json`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hackathon.api import frames, html
from hackathon.api.reading import read
from hackathon.scaling.expectations import ComparedExpectation
from hackathon.text.errors import HackathonError
from hackathon.text.messages import _


@dataclass(frozen=True)
class ResultDoubt:
    """A reason why a result may not be believed."""

    id: str
    severity: str
    """`false`: the result is wrong; `check`: look at it."""
    message: str
    evidence: str
    """Where it shows: a file and line, a run's id, or empty if the numbers are the evidence."""


@dataclass(frozen=True)
class ResultRun:
    """One run of a point."""

    id: str
    job_id: str | None
    status: str
    """A run's state: SUCCEEDED, FAILED, TIMEOUT, RUNNING, …"""
    value: float | None
    """The study's metric; None while the run is unfinished, and for a run that printed none."""
    doubts: tuple[ResultDoubt, ...] = ()
    shares: Mapping[str, Any] | None = None
    """The parts of a step's time; None when not recorded."""
    metric_source: str | None = None
    """Where `value` was read: `pattern` (of `metrics:`), `meter`, `printed` (a known format), `recorded` (from outside
    the program) or `tracker` (files of an experiment tracker); None without a value."""
    reason: str = ""
    note: str = ""
    tags: tuple[str, ...] = ()


@dataclass(frozen=True)
class ResultSpread:
    """The spread of a point's repeats."""

    min: float | None
    max: float | None
    stdev: float | None
    """Standard deviation; None with fewer than two values."""
    n: int
    """Successful repeats with a value."""


@dataclass(frozen=True)
class ResultPoint:
    """The runs of a study with one number of processes."""

    processes: int
    nodes: int
    value: float | None
    """Median over the successful repeats; None without any."""
    spread: ResultSpread
    speedup: float | None
    """Against the base of its series."""
    efficiency: float | None
    """Parallel efficiency: speed-up ÷ (processes ÷ base processes)."""
    status: str
    """SUCCEEDED, PARTIAL (not all repeats), or the state of a run that did not succeed."""
    runs: tuple[ResultRun, ...]
    doubts: tuple[ResultDoubt, ...] = ()
    shares: Mapping[str, Any] | None = None
    """The parts of a step's time, mean of the successful runs; None when not recorded."""
    metric_source: str | None = None
    """As of its runs; None without a value, and if they differ."""
    reason: str = ""


@dataclass(frozen=True)
class PredictedEfficiency:
    """The efficiency at a size that was not measured."""

    processes: int
    efficiency: float
    low: float
    high: float
    level: float | None
    """0.9 for a validated interval, else None."""
    basis: str


@dataclass(frozen=True)
class KarpFlatt:
    """The experimentally determined serial fraction of a point (Karp and Flatt 1990)."""

    processes: int
    serial_fraction: float | None


@dataclass(frozen=True)
class ScalingFit:
    """A law fitted to the points of a series."""

    model: str
    """`amdahl` or `gustafson`."""
    formula: str
    source: str
    serial_fraction: float | None
    """None when the law does not describe the points."""
    standard_error: float | None
    """None without repeats."""
    distance: float
    """Root mean square distance in efficiency."""
    karp_flatt: tuple[KarpFlatt, ...]
    predicted: tuple[PredictedEfficiency, ...] = ()


@dataclass(frozen=True)
class CheckedRun:
    """A run's value under the recipe's check."""

    id: str
    value: float | None
    passed: bool | None
    """None without a value."""


@dataclass(frozen=True)
class ResultCheck:
    """The accuracy check of a study's recipe; empty where the recipe has none."""

    metric: str = ""
    at_least: float | None = None
    at_most: float | None = None
    passed: bool | None = None
    """None if a successful run has no value."""
    runs: tuple[CheckedRun, ...] = ()


@dataclass(frozen=True)
class ResultSeries:
    """The points with equal settings: speed-up and efficiency are computed within them."""

    settings: Mapping[str, str | int | float | bool]
    """What the study varies besides the process count."""
    base_processes: int | None
    """Process count of the base: the smallest point with a value; None without any."""
    points: tuple[ResultPoint, ...]
    checks: ResultCheck
    fit: ScalingFit | None
    """None with fewer than three points."""
    baseline: str = ""
    """The run that was chosen as the base."""


@dataclass(frozen=True)
class UnreadableRun:
    """A run whose request no longer tells its number of processes."""

    id: str
    status: str


@dataclass(frozen=True)
class StudyResults:
    """The results of a scaling study: what `hackathon results --json` prints.

    With one series, its fields are at the top, too: `results.points`. With several they are empty there.
    """

    schema_version: int
    study: str
    """The study's id."""
    mode: str
    """`weak` or `strong`; empty when unknown."""
    metric: str
    unit: str
    series: tuple[ResultSeries, ...]
    """One for each combination of the settings that the study varies."""
    metrics_from: str
    """`run`, or `project` when project.yaml declares other metrics than at the time of submission."""
    source: str
    """Where the values come from: `printed` by the program or written by its Meter, `recorded` from outside, or
    `tracker`. All points have one source; `metric_source` of a point names it exactly."""
    base_processes: int | None = None
    points: tuple[ResultPoint, ...] = ()
    checks: ResultCheck | None = None
    fit: ScalingFit | None = None
    baseline: str = ""
    mode_asked: str = ""
    """The requested mode, if the samples of a step show another."""
    unreadable: tuple[UnreadableRun, ...] = ()
    expectations: tuple[ComparedExpectation, ...] = ()
    """With `--expect`: the expected results beside these."""
    json: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False, metadata={"json": False})
    """All fields as JSON values."""

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "StudyResults":
        """Return the results from JSON values of `hackathon results --json`."""
        return read(cls, {**value, "json": value})

    def to_pandas(self, rows: str = "points") -> Any:
        """Return a `pandas.DataFrame`: one row per point, or with `rows="runs"` the columns of `--format csv`.

        Raises RequestError where pandas is not installed.
        """
        return frames.to_pandas(self._columns(rows))

    def to_polars(self, rows: str = "points") -> Any:
        """Return a `polars.DataFrame` with the columns of `to_pandas`. Raises RequestError without polars."""
        return frames.to_polars(self._columns(rows))

    def svg(self) -> str:
        """Return the plot of speed-up and efficiency as SVG.

        Raises UnavailableError without vl-convert (extra `share`), HackathonError when the drawing fails.
        """
        from hackathon.scaling.plot import pictures, plot_spec

        (picture,) = pictures([plot_spec(self.json)], "svg")
        return picture.decode()

    def _columns(self, rows: str) -> frames.Columns:
        from hackathon.scaling import show
        from hackathon.text.errors import RequestError

        if rows == "points":
            return frames.columns(show.point_columns(self.json), list(show.point_rows(self.json)))
        if rows == "runs":
            return frames.columns(show.run_columns(self.json), list(show.run_rows(self.json)))
        raise RequestError("api.rows", "rows is 'points' or 'runs', not {rows!r}", rows=rows)

    def __str__(self) -> str:
        from hackathon.scaling.show import render

        return render(self.json)

    def _repr_html_(self) -> str:
        from hackathon.scaling.show import headings, remarks, text_rows

        rows = [row for _point, row in text_rows(self.json)]
        parts = [html.table(headings(self.json), rows, self.study), html.paragraphs(remarks(self.json))]
        try:
            parts.append(html.picture(self.svg().encode(), _("speed-up and efficiency of {study}", study=self.study)))
        except HackathonError:  # without vl-convert the table is what there is
            pass
        return "".join(parts)
