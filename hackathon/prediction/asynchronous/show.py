"""A prediction of asynchronous SGD as lines of text for a terminal."""

from hackathon.prediction.asynchronous.outlook import TOLERANCE, AsyncPrediction, WorkersOutlook
from hackathon.scaling.show import number, percent
from hackathon.text.columns import aligned
from hackathon.text.messages import message
from hackathon.text.printable import printable

WIDTH = 200


def lines(found: AsyncPrediction) -> list[str]:
    """Return what was measured, a table of the predictions, and what is to be said beside them."""
    timings = found.source.timings
    bound = message("asynchronous.bound", bound=timings.bound) if timings.bound is not None else ""
    title = message(
        "asynchronous.title", run=printable(found.source.run), compute=_time(timings.compute.mean),
        exchange=_time(timings.exchange), update=_time(timings.update.mean + timings.add), batch=timings.batch,
    )  # fmt: skip
    return [title + bound, *_table(found), *(f"- {line}" for line in (*_choice(found), *_notes(found)))]


def _table(found: AsyncPrediction) -> list[str]:
    keys = ["workers", "sweep", "rate", "batch", "staleness", "formula"]
    measured = any(each.measured for each in found.outlooks)
    keys += ["measured"] if measured else []
    rows = [[message(f"asynchronous.column_{key}") for key in keys]]
    for each in found.outlooks:
        samples = found.source.timings.batch
        low, high = (samples * each.batches.percentile(p) for p in (10, 90))
        row = [
            str(each.workers), _time(each.sweep_seconds), number(each.samples_per_second),
            f"{number(each.batch, 3)} ({low}–{high})",
            f"{number(each.staleness.mean, 3)} ({each.staleness.percentile(90)})",
            _three(each.formula["sweep_seconds"], each.formula["batch"], each.formula["staleness"]),
        ]  # fmt: skip
        if measured:
            row.append(_measured(each))
        rows.append(row)
    return aligned(rows, WIDTH)


def _measured(each: WorkersOutlook) -> str:
    if each.measured is None:
        return "–"
    return _three(each.measured["sweep_seconds"], each.measured["batch"], each.measured["staleness"])


def _three(sweep: float, batch: float, staleness: float) -> str:
    return f"{_time(sweep)}, {number(batch, 3)}, {number(staleness, 3)}"


def _time(seconds: float) -> str:
    """Return a time with the unit in which it is read best."""
    if 0 < seconds < 0.001:
        return f"{number(1e6 * seconds, 3)} µs"
    return f"{number(1e3 * seconds, 3)} ms" if 0 < seconds < 1 else f"{number(seconds, 3)} s"


def _choice(found: AsyncPrediction) -> list[str]:
    """Return which count of workers suits the batch that is wanted."""
    if found.target is None:
        return []
    target, tolerance = number(found.target, 6), f"{100 * TOLERANCE:.0f} %"
    if found.chosen is not None:
        best = next(each for each in found.outlooks if each.workers == found.chosen)
        return [
            message(
                "asynchronous.chosen", workers=best.workers, batch=number(best.batch, 3), target=target,
                tolerance=tolerance, sweep=_time(best.sweep_seconds),
            )
        ]  # fmt: skip
    if found.nearest is None:
        return []
    near = next(each for each in found.outlooks if each.workers == found.nearest)
    batch = number(near.batch, 3)
    return [message("asynchronous.none_chosen", target=target, tolerance=tolerance, workers=near.workers, batch=batch)]


def _notes(found: AsyncPrediction) -> list[str]:
    """Return each warning once with the counts of workers that it is about, then what no simulation knows."""
    about: dict[str, list[int]] = {}
    for each in found.outlooks:
        for warning in each.warnings:
            about.setdefault(warning, []).append(each.workers)
    largest = max((each.workers for each in found.source.measured), default=1)
    most = int(found.source.timings.epoch_samples // found.source.timings.batch)
    told = [
        message(
            f"asynchronous.warning_{warning}", workers=", ".join(map(str, sizes)), largest=largest, most=most,
            gradients=number(found.source.most_gradients, 3), busy=percent(1.0),
        )
        for warning, sizes in about.items()
    ]  # fmt: skip
    return [*told, message("asynchronous.assumes")]
