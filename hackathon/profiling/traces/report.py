"""A profile: all results from the traces of a run's ranks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from statistics import fmean, median
from typing import Any

from hackathon.profiling.shares import (
    MISSING_RANKS,
    ON_DEVICE,
    PARTS,
    UNMARKED,
    UNMATCHED,
    RunShares,
    StepShares,
    rounded,
)
from hackathon.profiling.traces.activity import SHOWN, Activity, Gap, gaps, kernels, operators
from hackathon.profiling.traces.alignment import UNALIGNED, Clock, clocks, comparable, matched
from hackathon.profiling.traces.findings import ProfileFinding, findings, late_rank
from hackathon.profiling.traces.intervals import length, within
from hackathon.profiling.traces.launches import DeviceTime, device_time
from hackathon.profiling.traces.reckoning import SECOND, RankTime, reckon, shares_of
from hackathon.profiling.traces.recording import NoTrace, Recording, overhead
from hackathon.profiling.traces.roofline import Peaks, Roofline, peaks_of, roofline
from hackathon.profiling.traces.trace import Trace, read_trace
from hackathon.text.errors import RequestError
from hackathon.text.messages import N_, _

_VERDICT_TEXTS = {
    "behind": N_("no verdict: the GPU falls behind the program's steps"),
    "catching_up": N_("no verdict: in these steps the program also waits for work of earlier ones"),
}

_REMARK_TEXTS = {
    "torn": N_("{file} is damaged; the part before the damage was read"),
    "cut": N_("{file} is too large; only its beginning was read"),
    "many": N_("{file} has too many events; only the first ones were read"),
    "behind": N_(
        "the GPU falls further and further behind the program, which does not wait for it: the step takes longer "
        "than is told here. Record more steps, or call torch.cuda.synchronize() in each"
    ),
    "catching_up": N_(
        "in these steps the program also waits for work of earlier ones, which it had given to the GPU without "
        "waiting: a step takes less time than is told here. Record more steps, or call torch.cuda.synchronize() in "
        "each"
    ),
    "on-device": N_(
        "a GPU computes, but its kernels are not in the trace: where the time goes is not known. With "
        "torch.profiler, record ProfilerActivity.CUDA, too; Chainer's kernels cannot be recorded"
    ),
    "cut-short": N_("too little of the trace could be read to tell where the time goes"),
    "unmarked": N_("the traces mark no steps: all of the recording counts as one step"),
    "unmatched": N_("the ranks recorded different collectives: waiting cannot be told from communication"),
}

SCHEMA_VERSION = 1
STRETCHES = 1500
"""Parts of one rank in the picture of a step."""


@dataclass(frozen=True)
class Profile:
    """The results from the traces of some ranks."""

    traces: Mapping[int, Trace]
    times: Mapping[int, RankTime]
    clocks: Mapping[int, Clock]
    shares: RunShares
    operators: Sequence[Activity]
    kernels: Sequence[Activity]
    """All kernels; SHOWN of them are listed."""
    device_time: DeviceTime | None
    """The time of operators on the device; None without one, and when the traces lack it."""
    gaps: Sequence[Gap]
    findings: Sequence[ProfileFinding]
    recordings: Sequence[Recording] = ()
    declared: Peaks | None = None
    """Peaks of the GPU in the cluster's profile."""
    untold: Sequence[NoTrace] = ()
    """Why other ranks have no trace, if known."""

    @cached_property
    def roofline(self) -> Roofline | None:
        """The utilisation of the device in a step; None when the traces lack its work or its time."""
        if self.off_pace or any(time.unknown for time in self.times.values()):
            return None
        return roofline(self.traces, self.times, self.peaks)

    @property
    def peaks(self) -> Peaks:
        """The device's peak rates."""
        return peaks_of(self.recordings, self.declared if self.on_device else None)

    @property
    def verdict(self) -> str:
        """The main finding, in one line."""
        if self.findings:
            return self.findings[0].message
        compute = self.mean.share("compute")
        unknown = {time.unknown for time in self.times.values()} - {""}
        if unknown:
            return (
                _("no verdict: the traces do not show what the GPU computes")
                if ON_DEVICE in unknown
                else _("no verdict: too little of the traces could be read")
            )
        if self.off_pace:
            return _(_VERDICT_TEXTS[self.off_pace])
        if not self.marked:
            return _("no verdict: the traces mark no steps")
        return _("nothing stands out: {share} % of a step is compute", share=f"{100 * (compute or 0.0):.0f}")

    @property
    def mean(self) -> StepShares:
        """The mean over the ranks."""
        return self.shares.mean

    @property
    def marked(self) -> bool:
        """Whether the traces mark steps."""
        return all(time.marked for time in self.times.values())

    @property
    def off_pace(self) -> str:
        """Why the time of the steps is not that of the devices' work, like `RankTime.off_pace`; empty when it is."""
        return next((time.off_pace for time in self.times.values() if time.off_pace), "")

    @property
    def on_device(self) -> bool:
        """Whether kernels of a device were recorded."""
        return any(trace.on_device for trace in self.traces.values())

    @property
    def tensor_core_share(self) -> float | None:
        """The share of Tensor Core kernels, by their names, in the time of all kernels; None without kernels."""
        total = sum(kernel.seconds for kernel in self.kernels)
        return sum(kernel.seconds for kernel in self.kernels if kernel.tensor_cores) / total if total else None

    @property
    def communication(self) -> tuple[float, float] | None:
        """(Seconds in collectives, those not overlapped by computing) per step; None when unknown."""
        if any(time.reason == "unmarked" or time.unknown for time in self.times.values()):
            return None
        inside = fmean(length(time.communicating) / SECOND / len(time.steps) for time in self.times.values())
        exposed = fmean(
            (time.spent("communication") + time.spent("waiting")) / len(time.steps) for time in self.times.values()
        )
        return max(inside, exposed), exposed

    @property
    def loader(self) -> tuple[float, float] | None:
        """(Seconds in the loader, those not overlapped by computing) per step; None when unknown."""
        if any(time.unknown for time in self.times.values()):
            return None
        inside = fmean(length(time.loading) / SECOND / len(time.steps) for time in self.times.values())
        exposed = (within(time.parts["data"], time.loading) for time in self.times.values())
        pairs = zip(exposed, self.times.values(), strict=True)
        return inside, fmean(length(moments) / SECOND / len(time.steps) for moments, time in pairs)

    @property
    def memory(self) -> dict[str, float]:
        """Peak memory in bytes: `device`, `tensors` (of the host) and `process`."""
        peaks: dict[str, list[float]] = {}
        for trace in self.traces.values():
            for key, name in (("device", "device"), ("host", "tensors")):
                if key in trace.peaks:
                    peaks.setdefault(name, []).append(trace.peaks[key])
        for recording in self.recordings:
            for name, value in (("device", recording.device_bytes), ("process", recording.process_bytes)):
                if value is not None:
                    peaks.setdefault(name, []).append(value)
        return {name: max(values) for name, values in peaks.items()}

    @property
    def remarks(self) -> list[str]:
        """Remarks for the reader: incomplete files, missing ranks, hosts with unaligned clocks."""
        remarks = [
            _(_REMARK_TEXTS[trace.remark], file=Path(trace.file).name) for trace in self.traces.values() if trace.remark
        ]
        if len(self.traces) < self.shares.processes:
            remarks.append(
                _(
                    "traces of {count} of {processes} ranks: waiting cannot be told from communication",
                    count=len(self.traces),
                    processes=self.shares.processes,
                )
            )
        if any(note.reason == "follower" for note in self.untold):
            remarks.append(
                _(
                    "of the workers of MultiWorkerMirroredStrategy only the first is recorded: TensorFlow's "
                    "profiler can crash the others"
                )
            )
        remarks += [
            _("rank {rank} could not be recorded: {text}", rank=note.rank, text=note.text)
            for note in self.untold
            if note.reason == "failed"
        ]
        unaligned = any(clock.basis == UNALIGNED for clock in self.clocks.values())
        if unaligned:
            remarks.append(
                _(
                    "too few collectives could be matched between the hosts to align their clocks: waiting for "
                    "another host cannot be told from communication"
                )
            )
        if not self.marked:
            remarks.append(_(_REMARK_TEXTS[UNMARKED]))
        remarks += [_(_REMARK_TEXTS[why]) for why in sorted({time.off_pace for time in self.times.values()} - {""})]
        reasons = {why for share in self.shares.ranks for _, why in share.unknown} - {MISSING_RANKS}
        if unaligned:
            reasons.discard(UNMATCHED)
        if not self.marked:
            reasons.discard(UNMARKED)
        remarks += [_(_REMARK_TEXTS[why]) for why in sorted(reasons)]
        return remarks

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON values; seconds are per step."""
        communication, loader, late = self.communication, self.loader, late_rank(self.times)
        return {
            "schema_version": SCHEMA_VERSION,
            "processes": self.shares.processes,
            "ranks": [self._rank(share.rank, share.to_json()) for share in self.shares.ranks],
            "late_rank": None if late is None else late[0],
            "waited_for": [{"rank": rank, "seconds": rounded(seconds)} for rank, seconds in self.shares.caused],
            "step": {name: rounded(getattr(self.mean, name)) for name in ("seconds", *PARTS)},
            "communication": None if communication is None else
            {"seconds": rounded(communication[0]), "exposed_seconds": rounded(communication[1])},
            "loader": None if loader is None else
            {"seconds": rounded(loader[0]), "exposed_seconds": rounded(loader[1])},
            "operators": [operator.to_json() for operator in self.operators],
            "kernels": [{**kernel.to_json(), "tensor_cores": kernel.tensor_cores} for kernel in self.kernels[:SHOWN]],
            "device_operators": [entry.to_json() for entry in self.device_time.operators] if self.device_time else [],
            "device_operators_known": rounded(self.device_time.known) if self.device_time else None,
            "tensor_core_share": rounded(self.tensor_core_share),
            "gaps": [gap.to_json() for gap in self.gaps],
            "memory_bytes": self.memory,
            "roofline": self.roofline.to_json() if self.roofline is not None else None,
            "overhead": overhead(self.recordings),
            "findings": [finding.to_json() for finding in self.findings],
            "verdict": self.verdict,
            "remarks": self.remarks,
        }  # fmt: skip

    def _rank(self, rank: int, shares: dict[str, Any]) -> dict[str, Any]:
        trace, clock = self.traces[rank], self.clocks[rank]
        return {
            **shares, "hostname": trace.host or None, "devices": list(trace.devices),
            "clock": {"basis": clock.basis, "spread_seconds": rounded(clock.spread / SECOND)},
        }  # fmt: skip

    def typical_step(self) -> int | None:
        """Return the number of the step of median length among those that all ranks have; None without any."""
        lengths = [{step.number: step.end - step.begin for step in time.steps} for time in self.times.values()]
        common = set.intersection(*(set(by_step) for by_step in lengths)) if lengths else set()
        if not common:
            return None
        mean = {number: fmean(by_step[number] for by_step in lengths) for number in common}
        middle = median(mean.values())
        return min(common, key=lambda number: (abs(mean[number] - middle), number))

    def stretches(self, number: int) -> dict[int, list[tuple[str, float, float]]]:
        """Return rank → (part, begin, end) of a step, in seconds of one clock from its first start on.

        For a rank with many changes, only the longest STRETCHES are returned.
        """
        stretches: dict[int, list[tuple[str, float, float]]] = {}
        for rank, time in self.times.items():
            windows = [(step.begin, step.end) for step in time.steps if step.number == number]
            shift = self.clocks[rank].shift
            spans = [
                (part, (begin + shift) / SECOND, (end + shift) / SECOND)
                for part in PARTS
                for begin, end in within(time.parts[part], windows)
            ]
            longest = sorted(spans, key=lambda span: span[1] - span[2])[:STRETCHES]
            stretches[rank] = sorted(longest, key=lambda span: span[1])
        first = min((spans[0][1] for spans in stretches.values() if spans), default=0.0)
        return {
            rank: [(part, begin - first, end - first) for part, begin, end in spans]
            for rank, spans in stretches.items()
        }


def profile_of(
    traces: Sequence[Trace],
    recordings: Sequence[Recording] = (),
    declared: Peaks | None = None,
    untold: Sequence[NoTrace] = (),
) -> Profile:
    """Return the profile of some ranks' traces.

    `declared`: peaks of the cluster's GPU; `untold`: why other ranks have no trace. Raises RequestError when two traces
    are of one rank, or none has any time.
    """
    by_rank = _by_rank(traces)
    processes = max(len(by_rank), *(trace.processes for trace in by_rank.values()))
    pairs = matched(by_rank)
    times = clocks(by_rank, pairs)
    # a profiler starts the device even if the program does not use it
    on_device = {recording.rank for recording in recordings if recording.device and recording.device_bytes}
    reckoned = reckon(by_rank, times, comparable(by_rank, pairs, times), processes, on_device)
    empty = [by_rank[rank].file for rank, time in reckoned.items() if not time.steps]
    if empty:
        raise RequestError("profile.no_time", "{file} records no time", file=empty[0])
    return Profile(
        by_rank, reckoned, times, shares_of(reckoned, processes), operators(by_rank, reckoned),
        kernels(by_rank, reckoned), device_time(by_rank, reckoned), gaps(by_rank, reckoned),
        findings(reckoned, next((trace.framework for trace in by_rank.values()), "")),
        recordings, declared, untold,
    )  # fmt: skip


def read_profile(
    files: Sequence[Path | str],
    recordings: Sequence[Recording] = (),
    declared: Peaks | None = None,
    untold: Sequence[NoTrace] = (),
) -> Profile:
    """Return the profile of trace files. Raises RequestError like `read_trace` and `profile_of`."""
    return profile_of([read_trace(file, number) for number, file in enumerate(files)], recordings, declared, untold)


def _by_rank(traces: Sequence[Trace]) -> dict[int, Trace]:
    """Return rank → trace. If one does not contain its rank, all are numbered in the order of the files."""
    if not all(trace.told_rank for trace in traces):
        return {number: replace(trace, rank=number, processes=len(traces)) for number, trace in enumerate(traces)}
    by_rank: dict[int, Trace] = {}
    for trace in sorted(traces, key=lambda trace: trace.rank):
        if trace.rank in by_rank:
            raise RequestError(
                "profile.same_rank",
                "{first} and {second} are both of rank {rank}",
                hint="Give one file for each rank of one run.",
                rank=trace.rank,
                first=by_rank[trace.rank].file,
                second=trace.file,
            )
        by_rank[trace.rank] = trace
    return by_rank
