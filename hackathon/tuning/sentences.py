"""Describe the results of a speedup in cells and sentences, for the terminal and the page."""

import math
from collections.abc import Iterator

from hackathon.jobs.settings import settings_text
from hackathon.profiling.shares import PART_TEXTS, PARTS
from hackathon.scaling.show import number
from hackathon.text.messages import N_, _, ngettext
from hackathon.text.units import format_size
from hackathon.tuning.batches import BatchProbe, LargestBatch
from hackathon.tuning.intervals import FALSE_CLAIMS
from hackathon.tuning.result import SpeedupResult
from hackathon.tuning.verdict import LOG, OptionRow

PROBE_KIND_TEXTS = {
    "search": N_("search"),
    "confirm": N_("confirmation, longer"),
    "bf16": N_("with bf16"),
    "recompute": N_("with recomputation"),
    "checkpointing": N_("with activation checkpointing"),
    "accumulate": N_("half the batch, accumulate 2"),
}

_HEAD_TEXTS = {
    "option": N_("option"),
    "ratio": N_("speed"),
    "interval": N_("interval"),
    "verdict": N_("verdict"),
    "loss": N_("loss"),
    "reason": N_("reason"),
    "batch": N_("batch"),
    "what": N_("start"),
    "result": N_("result"),
    "memory": N_("peak memory"),
}

VERDICT_TEXTS = {
    "faster": N_("faster"),
    "slower": N_("slower"),
    "none": N_("within the noise"),
    "few": N_("not known: too few rounds"),
    "failed": N_("failed"),
}

_LOSS_TEXTS = {
    "untouched": N_("not affected"),
    "same": N_("same"),
    "worse": N_("worse"),
    "unknown": N_("not known"),
}

_FAKE_TEXTS = {
    "memory": N_("memory with it: {predicted} predicted by fake tensors, {measured} measured ({error} %)"),
    "no-step": N_(
        "fake tensors predict nothing here: the first start made no step of a torch optimizer that could be observed"
    ),
    "no-backward": N_("fake tensors predict nothing here: no `backward` of a module's result was seen in a step"),
    "no-growth": N_("fake tensors predict nothing here: by them, the memory of a step does not grow with the batch"),
    "compiled": N_("fake tensors predict nothing here: the step is compiled, and observing it would compile it again"),
    "failed": N_("fake tensors predict nothing here: the step cannot be computed with them ({text})"),
}

_LEFT_TEXTS = {
    "there": N_("not tried, the program sets it itself: {names}"),
    "gpu": N_("not tried, needs a GPU: {names}"),
    "lines": N_("not tried: {name} needs these lines:"),
}

OPTION_HEADS = ("option", "ratio", "interval", "verdict", "loss", "reason")
PROBE_HEADS = ("batch", "what", "result", "memory")


def option_heads() -> list[str]:
    """Return the headings of the table of options."""
    return [_(_HEAD_TEXTS[name]) for name in OPTION_HEADS]


def option_cells(row: OptionRow) -> list[str]:
    """Return a line of the table of options: one cell for each of OPTION_HEADS."""
    ratio = row.ratio
    interval = f"{ratio.low:.3f}–{ratio.high:.3f}" if ratio is not None and not math.isinf(ratio.high) else "–"
    return [
        row.name,
        f"{ratio.middle:.3f}×" if ratio is not None else "–",
        interval,
        _(VERDICT_TEXTS[row.verdict]),
        _(_LOSS_TEXTS[row.loss]),
        row.reason or "–",
    ]


def baseline_sentences(result: SpeedupResult) -> Iterator[str]:
    """Yield the throughput of the unchanged program, and the split of its steps' time."""
    compared = result.compared
    unit = f" {compared.unit}" if compared.unit else ""
    yield ngettext(
        "as it is: {metric} {value} ({low} to {high} over {rounds} start)",
        "as it is: {metric} {value} ({low} to {high} over {rounds} starts)",
        compared.rounds,
        metric=compared.metric,
        value=number(compared.value) + unit,
        low=number(compared.low),
        high=number(compared.high),
        rounds=compared.rounds,
    )
    if compared.shares:
        parts = (
            f"{_(PART_TEXTS[name]) if name in PARTS else name} {100 * share:.0f} %"
            for name, share in compared.shares.items()
        )
        yield _("time of a step: {parts}", parts=_(", ").join(parts))


def result_sentences(result: SpeedupResult) -> Iterator[str]:
    """Yield the error rate of such a table, the failed options, and the settings to use."""
    yield _(
        "speed: median of the ratios to the program as it is, in the same round. If no option had an effect, a "
        "table like this would claim one with a probability of at most {percent} %.",
        percent=f"{100 * FALSE_CLAIMS:g}",
    )
    together = [result.together] if result.together is not None else []
    for row in (*result.compared.rows, *together):
        if row.failed:
            run = result.second if row in together else result.run
            yield _("{option} failed: {log}", option=row.name, log=f"runs/{run}/{row.failed}{LOG}")
    if result.applied:
        yield _("use: {settings}   (`--apply` writes it into project.yaml)", settings=settings_text(result.applied))
    else:
        yield _("no option is faster outside the noise with an unchanged loss")


def untried(result: SpeedupResult) -> tuple[list[str], list[tuple[str, str]]]:
    """Return why options were not tried, and (sentence, lines) of those that need lines in the program."""
    reasons = []
    for why in ("there", "gpu"):
        names = [option.name for option in result.left if option.why == why]
        if names:
            reasons.append(_(_LEFT_TEXTS[why], names=", ".join(names)))
    lines = [
        (_("not tried: {name} needs these lines:", name=option.name), option.lines)
        for option in result.left
        if option.why == "lines"
    ]
    return reasons, lines


def probe_heads() -> list[str]:
    """Return the headings of the table of starts with a batch."""
    return [_(_HEAD_TEXTS[name]) for name in PROBE_HEADS]


def probe_cells(probe: BatchProbe) -> list[str]:
    """Return a line of the table of starts: one cell for each of PROBE_HEADS."""
    ended = (
        N_("fits") if probe.fits else N_("out of memory") if probe.out_of_memory else N_("failed for another reason")
    )
    memory = format_size(probe.memory) if probe.memory is not None else _("not known")
    return [str(probe.batch), kind_text(probe), _(ended), memory]


def kind_text(probe: BatchProbe) -> str:
    """Return the purpose of a start as text."""
    return _(PROBE_KIND_TEXTS[probe.kind])


def largest_sentences(search: LargestBatch, run: str) -> Iterator[str]:
    """Yield the limit, the largest batch, the recommended one, its meaning, and options that lower memory."""
    if search.limit is not None:
        yield _("limit: {size}", size=format_size(search.limit))
    if search.other_failure is not None:
        log = f"runs/{run}/{search.other_failure.folder}{LOG}"
        yield _(
            "not known: the start with batch {batch} failed, and no rule says that memory was the reason: {log}",
            batch=search.other_failure.batch,
            log=log,
        )
        return
    if search.largest is None:
        yield _("no batch fits, not even {batch}", batch=search.probes[-1].batch if search.probes else 1)
        return
    guess = _("not known") if search.predicted is None else str(search.predicted)
    way = (
        N_(
            "largest batch that fits: {batch} (predicted from the first start and fake tensors: {predicted}; "
            "{starts} starts of the search)"
        )
        if search.predicted_by == "fake-tensors"
        else N_("largest batch that fits: {batch} (predicted from two starts: {predicted})")
    )
    searched = sum(probe.kind == "search" for probe in search.probes)
    yield _(way, batch=search.largest, predicted=guess, starts=searched)
    if search.predicted_memory is not None:
        predicted, measured = search.predicted_memory
        yield _(
            "memory with it: {predicted} predicted by fake tensors, {measured} measured ({error} %)",
            predicted=format_size(predicted),
            measured=format_size(measured),
            error=f"{100 * (predicted / measured - 1):+.1f}",
        )
    if search.fake is not None and search.fake.reason:
        yield _(_FAKE_TEXTS[search.fake.reason], text=search.fake.text)
    if search.recommended is not None:
        confirmed = (
            N_("use at most {batch}: it leaves a margin, and a longer start confirmed it")
            if search.confirmed
            else N_("{batch} leaves a margin, but a longer start with it failed: use less")
        )
        yield _(confirmed, batch=search.recommended)
    if search.recommended and search.recommended > search.first:
        yield from _rate(search, search.recommended)
    yield from _savers(search)


def _rate(search: LargestBatch, batch: int) -> Iterator[str]:
    """Yield the effect of a batch on the learning rate and the number of steps, by the noise scale if it is known."""
    noise = search.noise
    measured = noise is not None and noise.samples is not None
    factor = noise.rate_factor(search.first, batch) if noise is not None and measured else batch / search.first
    way = (
        N_(
            "learning rate: {batch} instead of {first} samples per step call for about {factor} times the rate, by "
            "the noise scale (SGD; McCandlish et al. 2018), with warm-up; check the accuracy"
        )
        if measured
        else N_(
            "learning rate: {batch} instead of {first} samples per step call for {factor} times the rate, with "
            "warm-up (linear scaling rule, Goyal et al. 2017); check the accuracy"
        )
    )
    yield _(way, factor=f"{factor:.3g}", batch=batch, first=search.first)
    if noise is None:
        yield _("whether a batch this large needs more epochs (critical batch size) is not known: it was not measured")
    else:
        yield _(
            N_(
                "gradient noise scale: about {samples} samples, by gradients of {small} and {large} samples "
                "after the first steps. Beyond a batch of that size, all processes together, a larger batch "
                "spares few steps. It grows during the training."
            )
            if measured
            else N_(
                "gradient noise scale: at least {large} samples, by gradients of {small} and {large} samples "
                "after the first steps; more cannot be told from them. Up to a batch of that size, all "
                "processes together, steps are spared."
            ),
            samples=f"{noise.bound:.3g}",
            small=noise.small,
            large=noise.large,
        )


def _savers(search: LargestBatch) -> Iterator[str]:
    plain = next((probe.memory for probe in search.probes if probe.kind == "confirm"), None)
    for probe in search.probes:
        if probe.kind in ("search", "confirm") or probe.memory is None or plain is None or not probe.fits:
            continue
        yield _(
            "{name}: {memory} instead of {plain}",
            name=kind_text(probe),
            memory=format_size(probe.memory),
            plain=format_size(plain),
        )
