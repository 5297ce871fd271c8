"""JSON of commands about studies."""

from collections.abc import Mapping
from typing import Any, NotRequired, TypedDict

from hackathon.api.prediction import ThroughputForecast
from hackathon.api.results import StudyResults
from hackathon.cli.json_types.nested import CostJson, DoubtJson, ExpectedGainJson, Settings, SharesJson
from hackathon.cli.json_types.tuning import TuneJson
from hackathon.scaling.expectations import ComparedExpectation


class ReadCheckJson(TypedDict, total=False):
    """The check of a run; empty where the recipe has none."""

    metric: str
    at_least: float | None
    at_most: float | None
    value: float | None
    passed: bool | None


class RunResultJson(TypedDict):
    """The numbers of one run."""

    run: str
    job_id: str | None
    status: str
    reason: str
    processes: int | None
    nodes: int | None
    note: str
    metrics: Mapping[str, float | None]
    """null: not a finite number."""
    sure: Mapping[str, str]
    """Metric → how it was read, where that is not certain."""
    metric_sources: Mapping[str, str]
    """Metric → where it was read: `pattern`, `meter`, `printed`, `recorded` or `tracker`."""
    metrics_from: str
    shares: SharesJson | None
    check: ReadCheckJson
    doubts: list[DoubtJson]
    segment: NotRequired[int]
    """Of a chain: the one whose numbers these are, from 1."""
    segments: NotRequired[int]
    complete: NotRequired[bool]
    expectations: NotRequired[list[ComparedExpectation]]
    """With `--expect`."""


class GainJson(TypedDict):
    """A piece of advice with its gain and its command."""

    id: str
    part: str | None
    rank: int | None
    message: str
    expected: ExpectedGainJson
    settings: Settings
    ruled_out: list[Any]
    environment: Mapping[str, Any]
    lines: str | None
    confirm: str
    command: str | None
    confirm_command: str | None


class AdvisedPointJson(TypedDict):
    """The advice for a point."""

    processes: int
    run: str
    known: bool
    advice: list[GainJson]


class AdviceJson(TypedDict):
    """What to try, with `--advice`."""

    of: str
    points: list[AdvisedPointJson]


class SuggestedMetricJson(TypedDict):
    """A line that looks like a throughput, and the entry that reads it."""

    name: str
    pattern: str
    unit: str
    reduce: str
    skip_first: int
    ranks: str
    file: str
    line: int
    text: str
    values: list[float]
    value: float


class SuggestionsJson(TypedDict):
    """Lines that look like a throughput, with `--suggest`."""

    run: str
    known: Mapping[str, float]
    suggestions: list[SuggestedMetricJson]


ResultsJson = StudyResults | RunResultJson | TuneJson | AdviceJson | SuggestionsJson


class PlannedPointJson(TypedDict):
    """A point that would be submitted."""

    processes: int
    nodes: int
    settings: Settings
    repeat: int


class ScalePlanJson(TypedDict):
    """What would be submitted, with `--dry-run`."""

    points: list[PlannedPointJson]
    cost: CostJson


class ScaledRunJson(TypedDict):
    """A run of a study."""

    run: str
    job_id: str | None
    state: str


class ScaleStartJson(TypedDict):
    """A study that was submitted."""

    study: str
    runs: list[ScaledRunJson]
    left: int
    """Points that are not submitted yet."""
    held: int
    """Points that another process is submitting."""


ScaleJson = ScalePlanJson | ScaleStartJson | StudyResults


class DifferenceJson(TypedDict):
    """A metric on both sides."""

    name: str
    unit: str
    old: list[float]
    new: list[float]
    change: float | None
    low: float | None
    high: float | None
    method: str
    differs: bool | None


class MeasuredGainJson(TypedDict):
    """The gain that was measured."""

    gain: float
    low: float | None
    high: float | None
    repeated: bool


class ChangedSettingJson(TypedDict):
    """A setting that differs."""

    name: str
    before: Any
    after: Any


class PartShareJson(TypedDict):
    """The share of a step's part on both sides."""

    before: float | None
    after: float | None


class TriedAdviceJson(TypedDict):
    """A piece of advice that was tried."""

    id: str
    part: str | None
    verdict: str
    reason: str
    expected: ExpectedGainJson | None
    measured: MeasuredGainJson | None
    beyond_expected: bool
    changed: list[ChangedSettingJson]
    other_changes: list[Any]
    part_share: PartShareJson | None
    message: str


class ComparedPointJson(TypedDict):
    """Both sides at one process count."""

    processes: int
    verdict: str
    speed: DifferenceJson | None
    quality: DifferenceJson | None
    passed: bool | None
    texts: Mapping[str, Any]
    runs: list[int]
    settings: Settings
    shares: list[SharesJson | None]
    tried: list[TriedAdviceJson]
    diverged: list[str]


class CompareJson(TypedDict):
    """Two results beside each other."""

    old: list[str]
    new: list[str]
    verdict: str
    tolerance: float
    points: list[ComparedPointJson]


class ExportJson(TypedDict):
    """A study that was written for an experiment tracker."""

    study: str
    tracker: str
    folder: str
    runs: Mapping[str, str]
    """Id of a run → that of the tracker's run."""
    left_out: list[str]
    """Runs that had not ended."""
    command: str
    """Shows or uploads it."""


class ForecastsJson(TypedDict):
    """The predictions of a table with several series."""

    results: list[ThroughputForecast]


class AsyncTimingsJson(TypedDict):
    """The times of one worker."""

    compute_seconds: float
    compute_deviation: float
    latency_seconds: float
    transfer_seconds: float
    update_seconds: float
    add_seconds: float
    batch_size: int
    epoch_samples: float
    gradients: int
    staleness_bound: int | None


class SpreadNumbersJson(TypedDict):
    """Mean and percentiles."""

    mean: float
    p10: NotRequired[float]
    p50: float
    p90: float
    p99: NotRequired[float]
    max: NotRequired[float]


class AsyncNumbersJson(TypedDict):
    """Sweep time, mini-batch and staleness."""

    workers: NotRequired[int]
    runs: NotRequired[float]
    sweep_seconds: float | None
    batch: float | None
    staleness: float | None


class AsyncPredictionJson(TypedDict):
    """The prediction with some workers."""

    workers: int
    sweep_seconds: float
    samples_per_s: float
    batch: SpreadNumbersJson
    staleness: SpreadNumbersJson
    update_load: float
    exchange_load: float
    closed_form: AsyncNumbersJson
    measured: AsyncNumbersJson | None
    warnings: list[str]


class AsyncForecastJson(TypedDict):
    """Asynchronous SGD, with `--async`."""

    run: str
    timings: AsyncTimingsJson
    target_batch: float | None
    predictions: list[AsyncPredictionJson]
    chosen: int | None
    nearest: int | None
    measured: list[AsyncNumbersJson]


PredictJson = ThroughputForecast | ForecastsJson | AsyncForecastJson
