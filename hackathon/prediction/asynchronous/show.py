"""Print a prediction of asynchronous SGD to a terminal."""

from hackathon.prediction.asynchronous.outlook import TOLERANCE, AsyncPrediction, WorkersOutlook
from hackathon.scaling.show import number, percent
from hackathon.text.columns import aligned
from hackathon.text.messages import N_, _, ngettext
from hackathon.text.printable import printable

_WARNING_TEXTS = {
    "extrapolated": N_("{workers} workers: no run with so many; the largest one that was measured has {largest}"),
    "few_samples": N_("{workers} workers: fewer samples than one batch for each worker; at most {most} can train"),
    "update_full": N_(
        "{workers} workers: the update thread works all the time; more workers make batches larger and gradients staler"
    ),
    "held_back": N_("{workers} workers: gradients come faster than the server can apply them, and workers wait for it"),
    "link_full": N_("{workers} workers: the server exchanges data all the time; more workers do not shorten the epoch"),
    "large_updates": N_(
        "{workers} workers: the cost of an update grows with its gradients, and none with more than {gradients} "
        "was measured"
    ),
}

_COLUMN_TEXTS = {
    "workers": N_("workers"),
    "sweep": N_("epoch sweep"),
    "rate": N_("samples/s"),
    "batch": N_("batch (10–90 %)"),
    "staleness": N_("staleness (90 %)"),
    "formula": N_("formula"),
    "measured": N_("measured"),
}

WIDTH = 200


def lines(prediction: AsyncPrediction) -> list[str]:
    """Return the measurements, a table of the predictions, and remarks."""
    timings = prediction.source.timings
    bound = _(", staleness bound {bound}", bound=timings.bound) if timings.bound is not None else ""
    title = _(
        "asynchronous SGD, from run {run} with one worker: gradient {compute} ({batch} samples), exchange "
"{exchange}, update {update}", run=printable(prediction.source.run), compute=_time(timings.compute.mean),
        exchange=_time(timings.exchange), update=_time(timings.update.mean + timings.add), batch=timings.batch,
    )  # fmt: skip
    return [title + bound, *_table(prediction), *(f"- {line}" for line in (*_choice(prediction), *_notes(prediction)))]


def _table(prediction: AsyncPrediction) -> list[str]:
    keys = ["workers", "sweep", "rate", "batch", "staleness", "formula"]
    measured = any(outlook.measured for outlook in prediction.outlooks)
    keys += ["measured"] if measured else []
    rows = [[_(_COLUMN_TEXTS[key]) for key in keys]]
    for outlook in prediction.outlooks:
        samples = prediction.source.timings.batch
        low, high = (samples * outlook.batches.percentile(p) for p in (10, 90))
        row = [
            str(outlook.workers), _time(outlook.sweep_seconds), number(outlook.samples_per_second),
            f"{number(outlook.batch, 3)} ({low}–{high})",
            f"{number(outlook.staleness.mean, 3)} ({outlook.staleness.percentile(90)})",
            _three(outlook.formula["sweep_seconds"], outlook.formula["batch"], outlook.formula["staleness"]),
        ]  # fmt: skip
        if measured:
            row.append(_measured(outlook))
        rows.append(row)
    return aligned(rows, WIDTH)


def _measured(outlook: WorkersOutlook) -> str:
    if outlook.measured is None:
        return "–"
    return _three(outlook.measured["sweep_seconds"], outlook.measured["batch"], outlook.measured["staleness"])


def _three(sweep: float, batch: float, staleness: float) -> str:
    return f"{_time(sweep)}, {number(batch, 3)}, {number(staleness, 3)}"


def _time(seconds: float) -> str:
    """Return a time with a suitable unit."""
    if 0 < seconds < 0.001:
        return f"{number(1e6 * seconds, 3)} µs"
    return f"{number(1e3 * seconds, 3)} ms" if 0 < seconds < 1 else f"{number(seconds, 3)} s"


def _choice(prediction: AsyncPrediction) -> list[str]:
    """Return which number of workers fits the requested batch."""
    if prediction.target is None:
        return []
    target, tolerance = number(prediction.target, 6), f"{100 * TOLERANCE:.0f} %"
    if prediction.chosen is not None:
        best = next(outlook for outlook in prediction.outlooks if outlook.workers == prediction.chosen)
        return [
            ngettext(
                "fastest with a batch within {tolerance} of {target}: {workers} worker, batch {batch}, {sweep} "
"an epoch", "fastest with a batch within {tolerance} of {target}: {workers} workers, batch {batch}, "
"{sweep} an epoch", best.workers, workers=best.workers, batch=number(best.batch, 3), target=target,
                tolerance=tolerance, sweep=_time(best.sweep_seconds),
            )
        ]  # fmt: skip
    if prediction.nearest is None:
        return []
    near = next(outlook for outlook in prediction.outlooks if outlook.workers == prediction.nearest)
    batch = number(near.batch, 3)
    return [
        ngettext(
            "no batch is within {tolerance} of {target}; the nearest one has {workers} worker, batch {batch}",
            "no batch is within {tolerance} of {target}; the nearest one has {workers} workers, batch {batch}",
            near.workers,
            target=target,
            tolerance=tolerance,
            workers=near.workers,
            batch=batch,
        )
    ]


def _notes(prediction: AsyncPrediction) -> list[str]:
    """Return each warning once with its numbers of workers, then the limits of the simulation."""
    about: dict[str, list[int]] = {}
    for outlook in prediction.outlooks:
        for warning in outlook.warnings:
            about.setdefault(warning, []).append(outlook.workers)
    largest = max((run.workers for run in prediction.source.measured), default=1)
    most = int(prediction.source.timings.epoch_samples // prediction.source.timings.batch)
    notes = [
        _(
            _WARNING_TEXTS[warning], workers=", ".join(map(str, sizes)), largest=largest, most=most,
            gradients=number(prediction.source.most_gradients, 3), busy=percent(1.0),
        )
        for warning, sizes in about.items()
    ]  # fmt: skip
    return [
        *notes,
        _(
            "assumed: each worker has cores or a GPU of its own, and exchanges as fast as the one that was "
            "measured; workers on other nodes are slower"
        ),
    ]
