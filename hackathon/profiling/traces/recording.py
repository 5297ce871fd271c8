"""Read the recorder's files beside the traces: the cost of recording, memory, and reasons for missing traces."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from hackathon.logs.metrics import rank_files, rank_of
from hackathon.profiling.shares import rounded
from hackathon.runs.directory import RunDirectory
from hackathon.text.json_fields import count_of, listed, mapping_of, text_of
from hackathon.text.numbers import positive

FOLDER = "profile"
"""Folder of a run for its traces."""
RANKS = 1024
"""Ranks whose traces are read."""
REASONS = ("steps", "failed", "follower", "optimizer", "framework", "tensorflow", "chainer", "jax", "mxnet")
"""The recorder's reasons for a missing trace."""
PRECISIONS = ("fp32", "tf32", "bf16", "fp16")
"""Precisions that the probe measures."""
_STEPS = 10_000
_TRACE = re.compile(r"rank-\d{1,9}\.json(\.gz)?\Z")


@dataclass(frozen=True)
class Recording:
    """One rank's recorder data beside its trace."""

    rank: int
    complete: bool
    """Whether it timed the steps after the window, too: the rank need not run any longer."""
    plain: tuple[float, ...]
    """Seconds of unrecorded steps, before and after the window."""
    recorded: tuple[float, ...]
    """Seconds of the steps in the window."""
    process_bytes: float | None = None
    """Peak main memory of the process."""
    device_bytes: float | None = None
    """Peak memory of its tensors on the device."""
    device: str = ""
    flops_per_s: tuple[tuple[str, float], ...] = ()
    """(precision, measured rate of a matrix product); () without a probe."""
    bytes_per_s: float | None = None
    """Measured rate of a copy in the device's memory."""

    @property
    def overhead(self) -> float | None:
        """Relative extra length of a recorded step; None with too few steps."""
        if len(self.plain) < 3 or len(self.recorded) < 3 or median(self.plain) <= 0:
            return None
        return median(self.recorded) / median(self.plain) - 1


@dataclass(frozen=True)
class NoTrace:
    """Why a rank wrote no trace."""

    rank: int
    reason: str
    """One of REASONS."""
    text: str = ""
    steps: int = 0
    """Steps that it made."""
    needed: int = 0
    """Steps that the recorder needs."""


def trace_files(run: RunDirectory) -> dict[int, Path]:
    """Return rank → the path of its trace in a run, for the lowest RANKS ranks."""
    files = [file for file in rank_files(run.path / FOLDER, "") if _TRACE.match(file.name)]
    return {rank_of(file): file for file in files[:RANKS]}


def recordings(run: RunDirectory) -> list[Recording]:
    """Return the data of a run's recorders, by rank."""
    return [
        recording(rank_of(file), run.files.json(f"{FOLDER}/{file.name}"))
        for file in rank_files(run.path / FOLDER, ".info.json")[:RANKS]
    ]


def recording(rank: int, value: Mapping[str, Any]) -> Recording:
    """Return the content of a recorder's `rank-N.info.json`, which may be arbitrary JSON."""
    seconds, peaks = mapping_of(value.get("seconds")), mapping_of(value.get("peak_bytes"))
    probed = mapping_of(value.get("device_peaks"))
    rates = mapping_of(probed.get("flops_per_s"))
    return Recording(
        rank,
        value.get("complete") is True,
        (*_times(seconds.get("before")), *_times(seconds.get("after"))),
        _times(seconds.get("recorded")),
        positive(peaks.get("process"), 1e18),
        positive(peaks.get("device"), 1e18),
        text_of(value.get("device")),
        tuple((name, rate) for name in PRECISIONS if (rate := positive(rates.get(name), 1e18)) is not None),
        positive(probed.get("bytes_per_s"), 1e18),
    )


def _times(value: Any) -> tuple[float, ...]:
    return tuple(seconds for number in listed(value)[:_STEPS] if (seconds := positive(number, 1e18)) is not None)


def missing(run: RunDirectory) -> list[NoTrace]:
    """Return why ranks of a run wrote no trace, if they recorded the reason."""
    ranks = set(trace_files(run))
    notes = []
    for file in rank_files(run.path / FOLDER, ".note.json")[:RANKS]:
        value = run.files.json(f"{FOLDER}/{file.name}")
        reason = text_of(value.get("reason"))
        if rank_of(file) not in ranks and reason in REASONS:
            steps, needed = count_of(value.get("steps")), count_of(value.get("needed"))
            notes.append(NoTrace(rank_of(file), reason, text_of(value.get("text")), steps, needed))
    return notes


def overhead(recordings: Sequence[Recording]) -> dict[str, Any] | None:
    """Return the cost of recording: the median over ranks, with its number of steps; None when unknown."""
    timed = [recording for recording in recordings if recording.overhead is not None]
    if not timed:
        return None
    return {
        "share": rounded(median(recording.overhead or 0.0 for recording in timed)),
        "plain_seconds": rounded(median(median(recording.plain) for recording in timed)),
        "recorded_seconds": rounded(median(median(recording.recorded) for recording in timed)),
        "steps": min(len(recording.plain) for recording in timed),
    }
