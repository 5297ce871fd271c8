"""Describe the results of a speedup in cells and sentences, for the terminal and the page."""

import math
from collections.abc import Iterator

from hackathon.jobs.settings import settings_text
from hackathon.profiling.shares import PART_TEXTS, PARTS
from hackathon.scaling.show import number
from hackathon.text.messages import message
from hackathon.text.units import format_size
from hackathon.tuning.batches import BatchProbe, LargestBatch
from hackathon.tuning.intervals import FALSE_CLAIMS
from hackathon.tuning.result import SpeedupResult
from hackathon.tuning.verdict import LOG, OptionRow

_KIND_TEXTS = {
    "search": "largest_batch.kind_search",
    "confirm": "largest_batch.kind_confirm",
    "bf16": "largest_batch.kind_bf16",
    "recompute": "largest_batch.kind_recompute",
    "checkpointing": "largest_batch.kind_checkpointing",
    "accumulate": "largest_batch.kind_accumulate",
}

_HEAD_TEXTS = {
    "option": "speedup.head_option",
    "ratio": "speedup.head_ratio",
    "interval": "speedup.head_interval",
    "verdict": "speedup.head_verdict",
    "loss": "speedup.head_loss",
    "reason": "speedup.head_reason",
    "batch": "largest_batch.head_batch",
    "what": "largest_batch.head_what",
    "result": "largest_batch.head_result",
    "memory": "largest_batch.head_memory",
}

_VERDICT_TEXTS = {
    "faster": "speedup.verdict_faster",
    "slower": "speedup.verdict_slower",
    "none": "speedup.verdict_none",
    "few": "speedup.verdict_few",
    "failed": "speedup.verdict_failed",
}

_LOSS_TEXTS = {
    "untouched": "speedup.loss_untouched",
    "same": "speedup.loss_same",
    "worse": "speedup.loss_worse",
    "unknown": "speedup.loss_unknown",
}

_FAKE_TEXTS = {
    "memory": "largest_batch.fake_memory",
    "no-step": "largest_batch.fake_no_step",
    "no-backward": "largest_batch.fake_no_backward",
    "no-growth": "largest_batch.fake_no_growth",
    "compiled": "largest_batch.fake_compiled",
    "failed": "largest_batch.fake_failed",
}

_LEFT_TEXTS = {
    "there": "speedup.left_there",
    "gpu": "speedup.left_gpu",
    "lines": "speedup.left_lines",
}

OPTION_HEADS = ("option", "ratio", "interval", "verdict", "loss", "reason")
PROBE_HEADS = ("batch", "what", "result", "memory")


def option_heads() -> list[str]:
    """Return the headings of the table of options."""
    return [message(_HEAD_TEXTS[name]) for name in OPTION_HEADS]


def option_cells(row: OptionRow) -> list[str]:
    """Return a line of the table of options: one cell for each of OPTION_HEADS."""
    ratio = row.ratio
    interval = f"{ratio.low:.3f}–{ratio.high:.3f}" if ratio is not None and not math.isinf(ratio.high) else "–"
    return [
        row.name,
        f"{ratio.middle:.3f}×" if ratio is not None else "–",
        interval,
        message(_VERDICT_TEXTS[row.verdict]),
        message(_LOSS_TEXTS[row.loss]),
        row.reason or "–",
    ]


def baseline_sentences(result: SpeedupResult) -> Iterator[str]:
    """Yield the throughput of the unchanged program, and the split of its steps' time."""
    compared = result.compared
    unit = f" {compared.unit}" if compared.unit else ""
    yield message(
        "speedup.baseline", metric=compared.metric, value=number(compared.value) + unit, low=number(compared.low),
        high=number(compared.high), rounds=compared.rounds,
    )  # fmt: skip
    if compared.shares:
        parts = (
            f"{message(PART_TEXTS[name]) if name in PARTS else name} {100 * share:.0f} %"
            for name, share in compared.shares.items()
        )
        yield message("speedup.shares", parts=message("shares.between").join(parts))


def result_sentences(result: SpeedupResult) -> Iterator[str]:
    """Yield the error rate of such a table, the failed options, and the settings to use."""
    yield message("speedup.error_rate", percent=f"{100 * FALSE_CLAIMS:g}")
    together = [result.together] if result.together is not None else []
    for row in (*result.compared.rows, *together):
        if row.failed:
            run = result.second if row in together else result.run
            yield message("speedup.failed_log", option=row.name, log=f"runs/{run}/{row.failed}{LOG}")
    if result.applied:
        yield message("speedup.use", settings=settings_text(result.applied))
    else:
        yield message("speedup.nothing")


def untried(result: SpeedupResult) -> tuple[list[str], list[tuple[str, str]]]:
    """Return why options were not tried, and (sentence, lines) of those that need lines in the program."""
    reasons = []
    for why in ("there", "gpu"):
        names = [option.name for option in result.left if option.why == why]
        if names:
            reasons.append(message(_LEFT_TEXTS[why], names=", ".join(names)))
    lines = [
        (message("speedup.left_lines", name=option.name), option.lines)
        for option in result.left
        if option.why == "lines"
    ]
    return reasons, lines


def probe_heads() -> list[str]:
    """Return the headings of the table of starts with a batch."""
    return [message(_HEAD_TEXTS[name]) for name in PROBE_HEADS]


def probe_cells(probe: BatchProbe) -> list[str]:
    """Return a line of the table of starts: one cell for each of PROBE_HEADS."""
    ended = (
        "largest_batch.fits"
        if probe.fits
        else "largest_batch.out_of_memory"
        if probe.out_of_memory
        else "largest_batch.failed"
    )
    memory = format_size(probe.memory) if probe.memory is not None else message("speedup.unknown")
    return [str(probe.batch), kind_text(probe), message(ended), memory]


def kind_text(probe: BatchProbe) -> str:
    """Return the purpose of a start as text."""
    return message(_KIND_TEXTS[probe.kind])


def largest_sentences(search: LargestBatch, run: str) -> Iterator[str]:
    """Yield the limit, the largest batch, the recommended one, its meaning, and options that lower memory."""
    if search.limit is not None:
        yield message("largest_batch.limit", size=format_size(search.limit))
    if search.other_failure is not None:
        log = f"runs/{run}/{search.other_failure.folder}{LOG}"
        yield message("largest_batch.other_failure", batch=search.other_failure.batch, log=log)
        return
    if search.largest is None:
        yield message("largest_batch.none_fits", batch=search.probes[-1].batch if search.probes else 1)
        return
    guess = message("speedup.unknown") if search.predicted is None else str(search.predicted)
    way = "largest_batch.largest_fake" if search.predicted_by == "fake-tensors" else "largest_batch.largest"
    searched = sum(probe.kind == "search" for probe in search.probes)
    yield message(way, batch=search.largest, predicted=guess, starts=searched)
    if search.predicted_memory is not None:
        predicted, measured = search.predicted_memory
        yield message(
            "largest_batch.fake_memory", predicted=format_size(predicted), measured=format_size(measured),
            error=f"{100 * (predicted / measured - 1):+.1f}",
        )  # fmt: skip
    if search.fake is not None and search.fake.reason:
        yield message(_FAKE_TEXTS[search.fake.reason], text=search.fake.text)
    if search.recommended is not None:
        confirmed = "largest_batch.confirmed" if search.confirmed else "largest_batch.not_confirmed"
        yield message(confirmed, batch=search.recommended)
    if search.recommended and search.recommended > search.first:
        yield from _rate(search, search.recommended)
    yield from _savers(search)


def _rate(search: LargestBatch, batch: int) -> Iterator[str]:
    """Yield the effect of a batch on the learning rate and the number of steps, by the noise scale if it is known."""
    noise = search.noise
    measured = noise is not None and noise.samples is not None
    factor = noise.rate_factor(search.first, batch) if noise is not None and measured else batch / search.first
    way = "largest_batch.rate_noise" if measured else "largest_batch.rate"
    yield message(way, factor=f"{factor:.3g}", batch=batch, first=search.first)
    if noise is None:
        yield message("largest_batch.critical")
    else:
        yield message(
            "largest_batch.critical_measured" if measured else "largest_batch.critical_bound",
            samples=f"{noise.bound:.3g}",
            small=noise.small,
            large=noise.large,
        )


def _savers(search: LargestBatch) -> Iterator[str]:
    plain = next((probe.memory for probe in search.probes if probe.kind == "confirm"), None)
    for probe in search.probes:
        if probe.kind in ("search", "confirm") or probe.memory is None or plain is None or not probe.fits:
            continue
        yield message(
            "largest_batch.saver", name=kind_text(probe), memory=format_size(probe.memory), plain=format_size(plain)
        )
