"""Describe the utilisation of the device in a step, for the terminal and the page."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hackathon.profiling.traces.recording import overhead
from hackathon.profiling.traces.roofline import PROBE, Peak, Roofline
from hackathon.text.messages import N_, _

if TYPE_CHECKING:
    from hackathon.profiling.traces.report import Profile

_BOUND_TEXTS = {
    "memory": N_("memory"),
    "compute": N_("computing"),
}

SHOWN = 8
"""Operators that are listed."""
COSTLY = 0.05
"""Overhead of recording from which the MFU of the recorded steps is not that of the program."""


def roof_sentences(profile: "Profile") -> list[str]:
    """Return sentences on FLOP/s, MFU, bytes/s and the peaks, or on why they are unknown."""
    roof = profile.roofline
    if roof is None:
        return [
            _(
                "FLOPs of a step: not known. The traces mark no steps, have no shapes, no kernels of the GPU "
                "that computes, or no product of matrices, convolution or attention; too little of them could "
                "be read; or the GPU does not keep pace with the steps."
            )
        ]
    sentences = [
        _(
            "One step of a process: {flops}FLOP in products of matrices, convolutions and attention, {rate}FLOP/s",
            flops=_number(roof.flops),
            rate=_number(roof.achieved),
        )
    ]
    if roof.utilisation is None:
        sentences.append(
            _(
                "MFU: not known, for the device's peak is not. A recording that runs to its end measures it; "
                "the cluster's profile may have `peak_tflops`."
            )
        )
    else:
        peaks = _(", ").join(
            _("{rate}FLOP/s in {precision} ({source})", precision=name, rate=_number(peak.value), source=_source(peak))
            for name, peak in roof.sources
        )
        sentences.append(_("MFU {share} % of {peaks}", share=f"{100 * roof.utilisation:.1f}", peaks=peaks))
        cost = (overhead(profile.recordings) or {}).get("share", 0.0)
        if cost >= COSTLY:
            plain = f"{100 * roof.utilisation * (1 + cost):.1f}"
            sentences.append(
                _(
                    "Recording makes a step {longer} % longer: without it the MFU is about {share} %",
                    share=plain,
                    longer=f"{100 * cost:.0f}",
                )
            )
    memory = roof.peaks.memory
    sentences.append(
        _(
            "These operators read and write {rate}B/s, each byte counted once; the whole step moves more",
            rate=_number(roof.bytes / roof.seconds),
        )
    )
    if memory is not None:
        sentences.append(
            _("Peak of the memory: {rate}B/s ({source})", rate=_number(memory.value), source=_source(memory))
        )
    return sentences


def operator_rows(roof: Roofline) -> list[Sequence[str]]:
    """Return a row for each counted operator: FLOPs, FLOP/s, bytes/s, share of the peak, intensity, bound."""
    unknown = _("not known")
    rows: list[Sequence[str]] = []
    for operator in roof.operators[:SHOWN]:
        share, bound = roof.utilisation_of(operator), roof.bound_of(operator)
        rows.append(
            [
                operator.name,
                _rounded(operator.flops / 1e9),
                unknown if operator.seconds is None else _rounded(operator.flops / operator.seconds / 1e9),
                unknown if operator.seconds is None else _rounded(operator.bytes / operator.seconds / 1e9),
                unknown if share is None else f"{100 * share:.0f} %",
                unknown if operator.intensity is None else f"{operator.intensity:.3g}",
                unknown if bound is None else _(_BOUND_TEXTS[bound]),
            ]
        )
    return rows


def _source(peak: Peak) -> str:
    return _("measured in this job, all ranks of a node at once") if peak.source == PROBE else peak.source


def _rounded(value: float) -> str:
    """Return a number with four digits, never in exponential notation: `0.4712`, `773,200`."""
    return f"{float(f'{value:.4g}'):,.0f}" if value >= 1000 else f"{value:.4g}"


def _number(value: float) -> str:
    """Return a number with its prefix: `12.3 G`, `989 T`."""
    for size, prefix in ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:.3g} {prefix}"
    return f"{value:.3g} "
