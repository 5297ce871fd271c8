"""The final numbers of a run: one function computes them, and reports whether all sources were read."""

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hackathon.jobs.measured import DEFAULT_METRIC
from hackathon.logs.formats import UNITS
from hackathon.logs.meter_files import MeterFiles
from hackathon.logs.metrics import read_metrics
from hackathon.logs.recorded import RankRecording, confirms, is_comparable, rates, recordings, work_of_step
from hackathon.logs.tracked import TRACKER, tracked_metrics
from hackathon.runs.directory import RunDirectory
from hackathon.runs.outputs.record import outputs_of
from hackathon.runs.record import RunRecord
from hackathon.text.units import PER_PROCESS

STEPS = "steps_per_s"
THROUGHPUTS = ("samples_per_s", "tokens_per_s", STEPS)
"""Metrics of a training's speed, the most reliable first."""
RECORDED = "recorded"
"""Reliability of a number from the recorder, used if the program prints none."""
FILES, SECONDS = 2000, 2.0
"""Limits of a search for an experiment tracker's files in a run without a list of its outputs."""
MOST_LOGS = 64 << 20
"""Bytes of a run's logs that are read for its numbers while somebody waits for them."""


@dataclass(frozen=True, slots=True)
class Numbers:
    """The final numbers of a run."""

    values: Mapping[str, float] = field(default_factory=dict)
    """Metric → number, including NaN and infinities: they are results too."""
    whole: bool = True
    """Whether all their sources were read."""
    metric: str = DEFAULT_METRIC
    """The metric that measures the run."""
    unit: str = ""
    """Unit of that metric."""
    sure: Mapping[str, str] = field(default_factory=dict)
    """Metric → how reliable it is, if known (`logs.formats.read_formats`), or `recorded` or `tracker`."""
    recorded: Mapping[str, float] = field(default_factory=dict)
    """Throughput as the recorder counted it, beside the printed one."""
    origins: Mapping[str, str] = field(default_factory=dict)
    """Metric → its source: `meter`, `pattern`, `printed`, `recorded` or `tracker`."""

    @property
    def value(self) -> float | None:
        """The number that measures the run; None when it is missing or not finite."""
        amount = self.values.get(self.metric)
        return amount if amount is not None and math.isfinite(amount) else None


def final_numbers(
    run: Path,
    record: RunRecord,
    *,
    over: bool,
    metric: str = "",
    most_bytes: int | None = None,
    meters: MeterFiles | None = None,
) -> Numbers:
    """Return the final numbers of a run, or the current ones when it is not `over`.

    The Meter's lines and the logs are read as `read_metrics` describes. Without a throughput there, the recorder's
    counts replace it (`logs.recorded`). The metric itself, the checked one and declared ones that the logs do not have
    are read from the files of an experiment tracker (`logs.tracked`), once the run is over. `metric` replaces
    the request's. `most_bytes`: longer logs are not searched, and `whole` is False. `meters`: the Meters' files if the
    caller has read them. Raises RequestError for a metric's pattern that is not a regular expression.
    """
    target = metric or record.metric
    left_out = False

    def readable(size: int) -> bool:
        nonlocal left_out
        left_out = most_bytes is not None and size > most_bytes
        return not left_out

    sure: dict[str, str] = {}
    origins: dict[str, str] = {}
    values = read_metrics(
        run, record.metrics, target, processes=record.processes, torn=over, readable=readable, sure=sure,
        origins=origins, meters=meters,
    )  # fmt: skip
    recorded: dict[str, float] = {}
    if target in THROUGHPUTS and target not in record.metrics:
        ranks = recordings(run, record.processes)
        if is_comparable(ranks) or not any(name in values for name in THROUGHPUTS):
            recorded = rates(ranks, record.processes)
        printed = [name for name in THROUGHPUTS if name in values]
        # steps alone do not say how much work they are, so samples are added; other rates stay as they are
        missing = set(THROUGHPUTS) if not printed else {target} if printed == [STEPS] else set()
        stand_ins = {name: rate for name, rate in recorded.items() if name in missing - values.keys()}
        counted = _counted(ranks, record.processes, recorded)
        for name in counted.keys() & sure.keys() - {STEPS}:  # the recorder confirms what the text left open
            if sure[name] == "unsure" and confirms(values[name], counted[name]):
                del sure[name]
        values |= stand_ins
        sure |= dict.fromkeys(stand_ins, RECORDED)
        origins |= dict.fromkeys(stand_ins, RECORDED)
    if over:
        checked = record.check.metric if record.check is not None else target
        missing = {target, checked, *record.metrics} - values.keys()
        found = _tracked(run, missing) if missing else {}
        values |= found
        alone = record.processes <= 1
        # who writes it is known to nobody: one rank for itself, or for all
        sure |= {name: TRACKER if alone or name not in THROUGHPUTS else "unsure" for name in found}
        origins |= dict.fromkeys(found, TRACKER)
    chosen = target if metric else throughput(target, record.metrics, values)
    return Numbers(values, not left_out, chosen, metric_unit(record.metrics, chosen), sure, recorded, origins)


def _tracked(run: Path, missing: Collection[str]) -> Mapping[str, float]:
    """Return metrics that the log does not have from the files of the program's experiment tracker."""
    directory = RunDirectory(run)
    outputs = outputs_of(directory, write=False, most_files=FILES, most_seconds=SECONDS)
    return tracked_metrics(directory, outputs.files, missing, THROUGHPUTS)


def _counted(ranks: Mapping[int, RankRecording], processes: int, recorded: Mapping[str, float]) -> Mapping[str, float]:
    """Return the recorded rates, and samples/s by the inputs of the model where no DataLoader was seen.

    Such inputs are not known to be samples. They still tell whether a printed number is that of one process or of all.
    """
    work = work_of_step(ranks, processes) if STEPS in recorded else None
    return {"samples_per_s": work * recorded[STEPS], **recorded} if work else recorded


def throughput(chosen: str, declared: Mapping[str, Any], names: Collection[str]) -> str:
    """Return the metric for measuring runs: the requested one; if it is missing, samples/s, tokens/s or steps/s.

    `declared`: the metrics of the request, which are never replaced; `names`: the available numbers.
    """
    if chosen not in THROUGHPUTS or chosen in names or chosen in declared:
        return chosen
    return next((name for name in THROUGHPUTS if name in names), chosen)


def metric_unit(declared: Mapping[str, Any], metric: str) -> str:
    """Return a metric's unit as declared in a request's `metrics`, else as in known formats.

    A sum over the ranks is not a rate of one process, even if its declared unit is that of the lines: `samples/s/GPU`
    becomes `samples/s`.
    """
    entry = declared.get(metric)
    entry = entry if isinstance(entry, dict) else {}
    unit = str(entry.get("unit") or UNITS.get(metric, ""))
    if entry.get("pattern") and entry.get("ranks") == "sum" and unit.lower().endswith(PER_PROCESS):
        return unit.rpartition("/")[0]
    return unit
