"""Predict the speed, batch sizes and gradient staleness of asynchronous SGD with many workers. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean, median
from typing import Any

from hackathon.prediction.asynchronous.closed_form import closed_form
from hackathon.prediction.asynchronous.simulation import Counts, Simulated, simulate
from hackathon.prediction.asynchronous.timings import Timings

SCHEMA_VERSION = 1
SEEDS = (1, 2, 3, 4, 5)
"""Seeds of the simulations for each number of workers, because short trainings differ."""
MOST_GRADIENTS = 20_000
"""Gradients of a simulated training, at most: a longer one has the same statistics."""
MOST_WORKERS = 4096
TOLERANCE = 0.25
"""Tolerated relative distance of a batch from the target (SPRINT)."""
BUSY = 0.95
"""Load at which the server counts as saturated."""
HELD = 0.05
"""Share of exchanges waiting for updates from which it is reported."""
ADDING = 0.1
"""Share of an update that its gradients may take before their measured number matters."""


@dataclass(frozen=True)
class MeasuredRun:
    """A run's measurements with several workers."""

    workers: int
    sweep_seconds: float
    batch: float
    """Samples per update."""
    staleness: float


@dataclass(frozen=True)
class OneWorker:
    """A run of one worker, with measurements of other runs with the same settings."""

    run: str
    timings: Timings
    most_gradients: float = 1.0
    """Gradients of its largest update."""
    measured: Sequence[MeasuredRun] = ()


@dataclass(frozen=True)
class WorkersOutlook:
    """A prediction for one number of workers."""

    workers: int
    sweep_seconds: float
    samples_per_second: float
    batch: float
    """Mean samples per update; `batches` are in gradients."""
    batches: Counts
    staleness: Counts
    update_load: float
    link_load: float
    formula: Mapping[str, float]
    """The closed form's results: sweep_seconds, batch, staleness."""
    measured: Mapping[str, float] | None
    """The same from measured runs (medians), with their number as `runs`."""
    warnings: tuple[str, ...] = ()
    """Ids of texts."""

    def to_json(self, samples: int) -> dict[str, Any]:
        """Return the prediction; `samples`: per gradient."""
        batch = {"mean": self.batch} | {f"p{p}": samples * self.batches.percentile(p) for p in (10, 50, 90)}
        staleness: dict[str, float] = {"mean": self.staleness.mean}
        staleness |= {f"p{p}": self.staleness.percentile(p) for p in (50, 90, 99)} | {"max": self.staleness.largest}
        return {
            "workers": self.workers, "sweep_seconds": self.sweep_seconds, "samples_per_s": self.samples_per_second,
            "batch": batch, "staleness": staleness, "update_load": self.update_load, "exchange_load": self.link_load,
            "closed_form": dict(self.formula), "measured": dict(self.measured) if self.measured else None,
            "warnings": list(self.warnings),
        }  # fmt: skip


@dataclass(frozen=True)
class AsyncPrediction:
    """The predictions for all requested numbers of workers."""

    source: OneWorker
    outlooks: Sequence[WorkersOutlook]
    target: float | None = None
    """Requested samples per update."""
    chosen: int | None = None
    """Workers of the fastest configuration whose batch is close enough to the target; None without one."""
    nearest: int | None = None
    """Workers with the batch closest to the target."""
    json: Mapping[str, Any] = field(default_factory=dict)


def predict(source: OneWorker, workers: Sequence[int], target: float | None = None) -> AsyncPrediction:
    """Return the statistics for each number of workers, in ascending order, and the best number for a batch."""
    outlooks = [_outlook(source, count) for count in sorted(set(workers))]
    possible = [outlook for outlook in outlooks if "few_samples" not in outlook.warnings]
    chosen = nearest = None
    if target is not None and possible:
        near = [outlook for outlook in possible if abs(outlook.batch / target - 1) <= TOLERANCE]
        chosen = min(near, key=lambda outlook: outlook.sweep_seconds).workers if near else None
        nearest = min(possible, key=lambda outlook: abs(outlook.batch / target - 1)).workers
    prediction = AsyncPrediction(source, outlooks, target, chosen, nearest)
    return replace(prediction, json=_json(prediction))


def _outlook(source: OneWorker, workers: int) -> WorkersOutlook:
    timings = replace(source.timings, gradients=min(source.timings.gradients, MOST_GRADIENTS))
    simulations = [simulate(timings, workers, seed) for seed in SEEDS]
    rate = fmean(simulation.rate for simulation in simulations)
    batches, staleness = Counts(), Counts()
    for simulation in simulations:
        batches.values.update(simulation.batches.values)
        staleness.values.update(simulation.staleness.values)
    formula = closed_form(timings, workers)
    measured = [run for run in source.measured if run.workers == workers]
    summary = {
        "runs": float(len(measured)), "sweep_seconds": median(run.sweep_seconds for run in measured),
        "batch": median(run.batch for run in measured), "staleness": median(run.staleness for run in measured),
    } if measured else None  # fmt: skip
    return WorkersOutlook(
        workers=workers,
        sweep_seconds=timings.gradients_per_epoch / rate,
        samples_per_second=rate * timings.batch,
        batch=timings.batch * batches.mean,
        batches=batches,
        staleness=staleness,
        update_load=min(1.0, fmean(simulation.update_load for simulation in simulations)),
        link_load=min(1.0, fmean(simulation.link_load for simulation in simulations)),
        formula={
            "sweep_seconds": timings.gradients_per_epoch / formula.rate, "batch": timings.batch * formula.batch,
            "staleness": formula.staleness,
        },
        measured=summary,
        warnings=tuple(_warnings(source, workers, simulations, batches, measured=bool(measured))),
    )  # fmt: skip


def _warnings(
    source: OneWorker, workers: int, simulations: Sequence[Simulated], batches: Counts, *, measured: bool
) -> list[str]:
    """Return the warnings for a prediction."""
    timings = source.timings
    warnings = []
    largest = max((run.workers for run in source.measured), default=1)
    if not measured and workers > largest:
        warnings.append("extrapolated")
    if workers * timings.batch > timings.epoch_samples:
        warnings.append("few_samples")
    if fmean(simulation.update_load for simulation in simulations) >= BUSY:
        warnings.append("update_full")
    if fmean(simulation.link_load for simulation in simulations) >= BUSY:
        warnings.append("link_full")
    if timings.bound is None and fmean(simulation.held for simulation in simulations) > HELD:
        warnings.append("held_back")
    adding = timings.add * batches.mean
    if batches.mean > source.most_gradients and adding > ADDING * (timings.update.mean + adding):
        warnings.append("large_updates")
    return warnings


def _json(prediction: AsyncPrediction) -> dict[str, Any]:
    timings = prediction.source.timings
    return {
        "schema_version": SCHEMA_VERSION,
        "run": prediction.source.run,
        "timings": {
            "compute_seconds": timings.compute.mean, "compute_deviation": timings.compute.deviation,
            "latency_seconds": timings.latency, "transfer_seconds": timings.transfer.mean,
            "update_seconds": timings.update.mean, "add_seconds": timings.add, "batch_size": timings.batch,
            "epoch_samples": timings.epoch_samples, "gradients": timings.gradients, "staleness_bound": timings.bound,
        },
        "target_batch": prediction.target,
        "predictions": [outlook.to_json(timings.batch) for outlook in prediction.outlooks],
        "chosen": prediction.chosen,
        "nearest": prediction.nearest,
        "measured": [vars(run) for run in sorted(prediction.source.measured, key=lambda run: run.workers)],
    }  # fmt: skip
