"""Describe the utilisation of the device in a step, for the terminal and the page."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hackathon.profiling.traces.recording import overhead
from hackathon.profiling.traces.roofline import PROBE, Peak, Roofline
from hackathon.text.messages import message

if TYPE_CHECKING:
    from hackathon.profiling.traces.report import Profile

_BOUND_TEXTS = {
    "memory": "profile.bound_memory",
    "compute": "profile.bound_compute",
}

SHOWN = 8
"""Operators that are listed."""
COSTLY = 0.05
"""Overhead of recording from which the MFU of the recorded steps is not that of the program."""


def roof_sentences(profile: "Profile") -> list[str]:
    """Return sentences on FLOP/s, MFU, bytes/s and the peaks, or on why they are unknown."""
    roof = profile.roofline
    if roof is None:
        return [message("profile.roof_unknown")]
    sentences = [message("profile.roof_flops", flops=_number(roof.flops), rate=_number(roof.achieved))]
    if roof.utilisation is None:
        sentences.append(message("profile.mfu_unknown"))
    else:
        peaks = message("shares.between").join(
            message("profile.peak_of", precision=name, rate=_number(peak.value), source=_source(peak))
            for name, peak in roof.sources
        )
        sentences.append(message("profile.mfu", share=f"{100 * roof.utilisation:.1f}", peaks=peaks))
        cost = (overhead(profile.recordings) or {}).get("share", 0.0)
        if cost >= COSTLY:
            plain = f"{100 * roof.utilisation * (1 + cost):.1f}"
            sentences.append(message("profile.mfu_plain", share=plain, longer=f"{100 * cost:.0f}"))
    memory = roof.peaks.memory
    sentences.append(message("profile.roof_bytes", rate=_number(roof.bytes / roof.seconds)))
    if memory is not None:
        sentences.append(message("profile.memory_peak", rate=_number(memory.value), source=_source(memory)))
    return sentences


def operator_rows(roof: Roofline) -> list[Sequence[str]]:
    """Return a row for each counted operator: FLOPs, FLOP/s, bytes/s, share of the peak, intensity, bound."""
    unknown = message("profile.not_known")
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
                unknown if bound is None else message(_BOUND_TEXTS[bound]),
            ]
        )
    return rows


def _source(peak: Peak) -> str:
    return message("profile.source_probe") if peak.source == PROBE else peak.source


def _rounded(value: float) -> str:
    """Return a number with four digits, never in exponential notation: `0.4712`, `773,200`."""
    return f"{float(f'{value:.4g}'):,.0f}" if value >= 1000 else f"{value:.4g}"


def _number(value: float) -> str:
    """Return a number with its prefix: `12.3 G`, `989 T`."""
    for size, prefix in ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:.3g} {prefix}"
    return f"{value:.3g} "
