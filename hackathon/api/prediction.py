"""Predict throughput at sizes that were not measured, from Python."""

import csv
import io
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hackathon.api import frames, html
from hackathon.api.reading import read
from hackathon.text.errors import RequestError

if TYPE_CHECKING:
    from hackathon.api.project import HackathonProject, HackathonStudy


@dataclass(frozen=True)
class ShapeWeight:
    """How much a shape of curve counts in a prediction."""

    name: str
    weight: float


@dataclass(frozen=True)
class PredictedRange:
    """A number with its interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class PredictedTraining:
    """The time of a training at one size."""

    batch: float | None
    """Samples of a step of all processes; None when unknown."""
    samples: PredictedRange
    epochs: PredictedRange | None
    steps: PredictedRange | None
    seconds: PredictedRange
    tokens: PredictedRange | None
    basis: str


@dataclass(frozen=True)
class PredictedSize:
    """The prediction at one process count."""

    processes: int
    value: float
    """In the unit of the table: a rate, or a time."""
    low: float
    high: float
    efficiency: float
    """Against the smallest good row."""
    level: float | None
    """0.9: the interval's level was validated; None: `low` and `high` are only a range."""
    basis: str
    """`measured`, `in-node`, `across-nodes`, `history`, `physics` or `baseline`."""
    seconds: float | None
    """Seconds of a run; None when unknown."""
    tokens: float | None
    """Price of a run; None when unknown."""
    shapes: tuple[ShapeWeight, ...]
    warnings: tuple[str, ...]
    """`id: sentence`."""
    training: PredictedTraining | None


@dataclass(frozen=True)
class RowFlag:
    """A measured row that contradicts the others."""

    processes: int
    kind: str
    """`slow`, `fast`, `inconsistent`, `retrograde`, `superlinear` or `duplicate`."""
    size: float
    """Relative deviation; negative is slower."""


@dataclass(frozen=True)
class SuggestedRun:
    """The run that would narrow the interval most."""

    processes: int
    nodes: int | None
    seconds: float
    half_width_before: float
    half_width_after: float


@dataclass(frozen=True)
class AdvisedSize:
    """A recommended process count."""

    processes: int
    efficiency: float


@dataclass(frozen=True)
class SizeAdvice:
    """Recommended sizes; None where no size qualifies."""

    target: float
    """Parallel efficiency, 0…1."""
    largest: AdvisedSize | None
    """The largest size above the target."""
    cheapest: AdvisedSize | None
    """The size with the smallest cost per result."""


@dataclass(frozen=True)
class KnownLaws:
    """What well-known laws say at the requested sizes; None where a law cannot be fitted."""

    amdahl: tuple[float | None, ...]
    gustafson: tuple[float | None, ...]
    usl: tuple[float | None, ...]
    constant_efficiency: tuple[float | None, ...]


@dataclass(frozen=True)
class ThroughputForecast:
    """The predictions of one series: what `hackathon predict --json` prints."""

    schema_version: int
    series: str | None
    """Name of the series; None for a table without the column."""
    base_processes: int
    """The smallest good row, against which efficiency counts."""
    predictions: tuple[PredictedSize, ...]
    flags: tuple[RowFlag, ...]
    next_run: SuggestedRun | None
    advice: SizeAdvice | None
    beside: KnownLaws
    json: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False, metadata={"json": False})
    """All fields as JSON values."""
    text: str = field(default="", repr=False, compare=False, metadata={"json": False})
    """The table and the remarks that `hackathon predict` prints."""

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "ThroughputForecast":
        """Return the forecast from JSON values of `hackathon predict --json`."""
        return read(cls, {**value, "json": value})

    def to_pandas(self) -> Any:
        """Return a `pandas.DataFrame`, one row per size. Raises RequestError where pandas is not installed."""
        return frames.to_pandas(self._columns())

    def to_polars(self) -> Any:
        """Return a `polars.DataFrame`, one row per size. Raises RequestError where polars is not installed."""
        return frames.to_polars(self._columns())

    def _columns(self) -> frames.Columns:
        return {name: [getattr(size, name) for size in self.predictions] for name in _COLUMNS}

    def __str__(self) -> str:
        return self.text or repr(self)

    def _repr_html_(self) -> str:
        rows = [[getattr(size, name) for name in _COLUMNS] for size in self.predictions]
        warnings = dict.fromkeys(text for size in self.predictions for text in size.warnings)
        return html.table(_COLUMNS, rows, self.series or "") + html.paragraphs(warnings)


_COLUMNS = ("processes", "value", "low", "high", "efficiency", "level", "basis", "seconds", "tokens")


def predict(
    source: "str | os.PathLike[str] | HackathonProject | HackathonStudy | Iterable[Mapping[str, Any]]",
    processes: Sequence[int],
    *,
    series: str | None = None,
    history: str | os.PathLike[str] | None = None,
    processes_per_node: int | None = None,
    cluster: str | None = None,
    gradient_bytes: float | None = None,
    batch_size: float | None = None,
    epochs: float | None = None,
    samples: float | None = None,
    critical_batch: float | None = None,
) -> ThroughputForecast:
    """Return value, interval and efficiency at process counts that were not measured.

    `source`: a CSV file or a data frame with the columns processes,value and optionally nodes,repeat,mode,unit,series;
    rows as mappings with these keys; or a project (its newest study) or a study, as an object or as a folder.
    `series`: which of several series of a table. The other options are those of `hackathon predict`.

    Raises RequestError for a source that cannot be read, or that has several series and none is named.
    """
    from hackathon.prediction.forecast import forecast
    from hackathon.prediction.goal import Wish
    from hackathon.prediction.show import lines
    from hackathon.prediction.sources import SourceOptions, of_index, of_table, selected
    from hackathon.prediction.table import parse_table, read_table

    sizes = [int(size) for size in processes]
    if not sizes or min(sizes) < 1:
        raise RequestError("api.no_sizes", "processes is a list of process counts such as [16, 32]")
    wish = Wish(epochs, samples, batch_size, critical_batch)
    options = SourceOptions(processes_per_node, cluster, gradient_bytes, wish)
    place = _place(source)
    if place is not None:
        pairs = of_index(place[1], options, place[0])
    elif isinstance(source, str | os.PathLike):
        pairs = of_table(read_table(Path(source)), options, Path.cwd())
    else:
        pairs = of_table(parse_table(_csv(source), "the table"), options, Path.cwd())
    pairs = selected(pairs, series, read_table(Path(history)) if history is not None else None)
    if len(pairs) != 1:
        raise RequestError(
            "api.several_series",
            "the table has several series: {names}",
            hint="Name one: predict(…, series=NAME)",
            names=", ".join(curve.name or "–" for curve, _knowledge in pairs),
        )
    outcome = forecast(pairs[0][0], sizes, pairs[0][1])
    return read(ThroughputForecast, {**outcome.json, "json": outcome.json, "text": "\n".join(lines(outcome))})


def _place(source: object) -> tuple[Path, str | None] | None:
    """Return (project, study or None) of a source that is one, or the folder of one; None for a table."""
    from hackathon.api.project import HackathonProject, HackathonStudy, project

    if isinstance(source, HackathonProject):
        return source.path, None
    if isinstance(source, HackathonStudy):
        return source.path.parent.parent, source.id
    if isinstance(source, str | os.PathLike) and Path(source).is_dir():
        folder = Path(source).resolve()
        study = (folder / "study.json").is_file()
        return (folder.parent.parent, folder.name) if study else (project(folder).path, None)
    return None


def _csv(source: Any) -> bytes:
    """Return a data frame or rows as CSV."""
    if hasattr(source, "to_csv"):
        return str(source.to_csv(index=False)).encode()
    if hasattr(source, "write_csv"):
        return str(source.write_csv()).encode()
    rows = list(source)
    if not all(isinstance(row, Mapping) for row in rows):
        raise RequestError("api.no_table", "the table is neither a data frame nor a list of mappings")
    names = list(dict.fromkeys(str(name) for row in rows for name in row))
    stream = io.StringIO()
    writer = csv.DictWriter(stream, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return stream.getvalue().encode()
