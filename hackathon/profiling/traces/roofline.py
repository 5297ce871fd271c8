"""The utilisation of the device in a step: FLOP/s and bytes/s against peaks, and the limiting one. Pure.

MFU is the model FLOPs utilisation (Chowdhery et al. 2022): FLOPs of a step ÷ its time ÷ the device's peak in the
precision of each operator. The roofline (Williams et al. 2009): below peak FLOP/s ÷ peak bytes/s FLOPs per byte, memory
limits an operator; above, computing does. Unknown values stay None.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

from hackathon.profiling.shares import rounded
from hackathon.profiling.traces.launches import inclusive
from hackathon.profiling.traces.reckoning import SECOND, RankTime
from hackathon.profiling.traces.recording import Recording
from hackathon.profiling.traces.trace import Trace

FASTER = 1.1
"""Factor by which the probe must exceed a declared peak to disprove it."""
PROBE = "probe"
"""Source of a peak that the profile's own job measured."""


@dataclass(frozen=True)
class Peak:
    """A device's peak rate."""

    value: float
    """FLOP/s or bytes/s."""
    source: str
    """PROBE, or the name of the cluster whose profile contains it."""


@dataclass(frozen=True)
class Peaks:
    """The peaks of the device of one process."""

    flops: Mapping[str, Peak]
    """By precision (`fp32`, `bf16`)."""
    memory: Peak | None = None


@dataclass(frozen=True)
class OperatorWork:
    """An operator's work in a step, and its time; the mean over ranks."""

    name: str
    flops: float
    bytes: float
    seconds: float | None
    """Its own time; None on a device, if the trace has only the time of its launch."""
    by_precision: Mapping[str, float]

    @property
    def intensity(self) -> float | None:
        """FLOPs per byte."""
        return self.flops / self.bytes if self.bytes > 0 else None


@dataclass(frozen=True)
class Roofline:
    """The position of a step under the roof."""

    seconds: float
    """Seconds of a step."""
    operators: Sequence[OperatorWork]
    """The counted operators, the most FLOPs first."""
    peaks: Peaks

    @property
    def flops(self) -> float:
        """FLOPs of a step of one process."""
        return sum(operator.flops for operator in self.operators)

    @property
    def achieved(self) -> float:
        """FLOP/s of a step of one process."""
        return self.flops / self.seconds

    @property
    def bytes(self) -> float:
        """Bytes that the counted operators read and write in a step: a lower bound for the step."""
        return sum(operator.bytes for operator in self.operators)

    @property
    def utilisation(self) -> float | None:
        """MFU: the share of a step that its FLOPs take at the peaks; None if the peak of a precision is missing."""
        return self._at_peak(self.operators, self.seconds)

    @property
    def sources(self) -> list[tuple[str, Peak]]:
        """(precision, peak) of those that count for this step."""
        used = {name for operator in self.operators for name in operator.by_precision}
        return [(name, self.peaks.flops[name]) for name in sorted(used) if name in self.peaks.flops]

    def utilisation_of(self, operator: OperatorWork) -> float | None:
        """Return an operator's share of the peak; None when its time or the peak is unknown."""
        return self._at_peak([operator], operator.seconds) if operator.seconds else None

    def bound_of(self, operator: OperatorWork) -> str | None:
        """Return `memory` or `compute`, by the operator's FLOPs per byte; None when a peak is unknown."""
        ridge = self._ridge(operator)
        if ridge is None or operator.intensity is None:
            return None
        return "memory" if operator.intensity < ridge else "compute"

    def _ridge(self, operator: OperatorWork) -> float | None:
        """Return the FLOPs per byte at which both peaks are reached."""
        at_peak = self._at_peak([operator], 1.0)
        if not at_peak or self.peaks.memory is None or self.peaks.memory.value <= 0:
            return None
        return operator.flops / at_peak / self.peaks.memory.value

    def _at_peak(self, operators: Sequence[OperatorWork], seconds: float) -> float | None:
        needed = 0.0
        for operator in operators:
            for precision, flops in operator.by_precision.items():
                peak = self.peaks.flops.get(precision)
                if peak is None or peak.value <= 0:
                    return None
                needed += flops / peak.value
        return needed / seconds if seconds > 0 else None

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON values: FLOPs, bytes and seconds of a step of one process."""
        memory = self.peaks.memory
        return {
            "flops": rounded(self.flops), "flops_per_s": rounded(self.achieved), "mfu": rounded(self.utilisation),
            "counted_bytes": rounded(self.bytes), "counted_bytes_per_s": rounded(self.bytes / self.seconds),
            "peaks": {
                "flops_per_s": {name: {"value": rounded(peak.value), "source": peak.source}
                                for name, peak in self.peaks.flops.items()},
                "bytes_per_s": {"value": rounded(memory.value), "source": memory.source} if memory else None,
            },
            "operators": [
                {
                    "name": operator.name, "flops": rounded(operator.flops), "bytes": rounded(operator.bytes),
                    "precision": sorted(operator.by_precision), "seconds": rounded(operator.seconds),
                    "flops_per_s": rounded(operator.flops / operator.seconds) if operator.seconds else None,
                    "bytes_per_s": rounded(operator.bytes / operator.seconds) if operator.seconds else None,
                    "peak_share": rounded(self.utilisation_of(operator)), "flops_per_byte": rounded(operator.intensity),
                    "bound": self.bound_of(operator),
                }
                for operator in self.operators
            ],
        }  # fmt: skip


def roofline(traces: Mapping[int, Trace], times: Mapping[int, RankTime], peaks: Peaks) -> Roofline | None:
    """Return the roofline of a step; None for a trace without marked steps, shapes, or counted operators."""
    if not all(trace.shaped for trace in traces.values()) or not all(time.marked for time in times.values()):
        return None
    device = {rank: inclusive(trace, times[rank]) if trace.on_device else None for rank, trace in traces.items()}
    flops: dict[str, dict[str, float]] = {}
    moved: dict[str, float] = {}
    spent: dict[str, float] = {}
    for rank, trace in traces.items():
        steps = times[rank].steps
        scale = 1 / len(steps) / len(traces)
        on_device = device[rank]
        for number in _counted(trace, steps[0].begin, steps[-1].end):
            name, work = trace.name(number), trace.work[number]
            mine = flops.setdefault(name, {})
            # the probe measures TF32 if cuDNN uses it for fp32 convolutions; matrix products may not use it
            in_tf32 = work.precision == "fp32" and "tf32" in peaks.flops and name.startswith("aten::convolution")
            precision = "tf32" if in_tf32 else work.precision
            mine[precision] = mine.get(precision, 0.0) + work.flops * scale
            moved[name] = moved.get(name, 0.0) + work.bytes * scale
            took = trace.ends[number] - trace.begins[number] if on_device is None else on_device.get(number, 0.0)
            spent[name] = spent.get(name, 0.0) + took / SECOND * scale
    # on a device an operator's own event is only its launch: its time is that of its kernels
    timed = all(owned is None or owned for owned in device.values())
    operators = [
        OperatorWork(
            name,
            sum(by_precision.values()),
            moved[name],
            spent[name] if timed and spent[name] > 0 else None,
            by_precision,
        )
        for name, by_precision in flops.items()
    ]
    if not operators or sum(operator.flops for operator in operators) <= 0:
        return None
    seconds = sum(time.seconds / len(time.steps) for time in times.values()) / len(times)
    return Roofline(seconds, sorted(operators, key=lambda operator: -operator.flops), peaks)


def _counted(trace: Trace, begin: float, end: float) -> Iterator[int]:
    """Yield the counted operators that begin in a time span, without those that another counted one calls."""
    numbers = [number for number in trace.work if begin <= trace.begins[number] < end]
    inside: dict[int, float] = {}
    for number in sorted(numbers, key=lambda number: (trace.begins[number], -trace.ends[number])):
        lane = trace.lane_of[number]
        if trace.begins[number] >= inside.get(lane, -inf):
            inside[lane] = trace.ends[number]
            yield number


def peaks_of(recordings: Sequence[Recording], declared: Peaks | None = None) -> Peaks:
    """Return the peaks: those of the cluster's profile, others from the probe; the lowest over ranks.

    `declared`: of the cluster's GPU; they do not count for a step on CPUs.
    """
    measured: dict[str, list[float]] = {}
    copied = [recording.bytes_per_s for recording in recordings if recording.bytes_per_s]
    for recording in recordings:
        for name, value in recording.flops_per_s:
            measured.setdefault(name, []).append(value)
    flops = {name: Peak(min(values), PROBE) for name, values in measured.items() if len(values) == len(recordings)}
    memory = Peak(min(copied), PROBE) if copied and len(copied) == len(recordings) else None
    if declared is not None:
        # a product that exceeds the peak of its precision is computed in another one, such as TF32
        other = {
            name for name, peak in declared.flops.items() if name in flops and flops[name].value > FASTER * peak.value
        }
        other |= {"tf32"} - set(flops)  # this program does not use precisions that the probe did not measure
        flops |= {name: peak for name, peak in declared.flops.items() if name not in other}
        memory = declared.memory or memory
    return Peaks(flops, memory)
