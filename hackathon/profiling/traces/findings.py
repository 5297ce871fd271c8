"""Notable findings in a profile that exceed the noise of its steps."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import sqrt
from statistics import fmean, stdev
from typing import Any

from hackathon.profiling.shares import PART_TEXTS, PARTS
from hackathon.profiling.traces.intervals import Intervals, length, within, without
from hackathon.profiling.traces.reckoning import SECOND, RankTime
from hackathon.text.messages import N_, _

_FOUND_TEXTS = {
    "copies": N_(
        "copy-bound: {share} % of a step ({milliseconds} ms) waits for data, more than half of it for copies to the GPU"
    ),
    "loader": N_("loader-bound: {share} % of a step ({milliseconds} ms) waits for data"),
    "host-bound": N_(
        "host-bound: in {share} % of a step ({milliseconds} ms) nothing is computed while the program's own Python runs"
    ),
    "communication": N_(
        "communication-bound: {share} % of a step ({milliseconds} ms) is communication that computing does not hide"
    ),
    "late-rank": N_("rank {rank} is late: the others wait for it during {share} % of a step ({milliseconds} ms)"),
}

DATA, HOST, COMMUNICATION, LATE = 0.10, 0.25, 0.25, 0.05
"""Share of a step from which a part is a finding.

Every rank must reach it; for the waiting, the mean of the waiting ranks.
"""
DEVIATIONS = 3.0
"""Standard errors of the mean by which a share must exceed its limit."""
FEWEST = 3
"""Steps that are needed to estimate the noise."""
ADVICE = {
    "copies": N_(
        "Copy while the GPU computes (pin_memory=True, .to(device, non_blocking=True)), keep on the GPU what is "
        "used again, or offload less to the CPU."
    ),
    "loader": N_(
        "Give the DataLoader workers (num_workers=4, persistent_workers=True, pin_memory=True on GPUs) or do less "
        "per sample."
    ),
    "host-bound": N_(
        "Look at the longest gaps; log and call .item() less often, use larger batches, torch.compile or CUDA graphs."
    ),
    "communication": N_("Try a larger batch, gradient accumulation, another bucket_cap_mb, or gradients in bf16."),
    "late-rank": N_(
        "Rank {rank} spends {more} ms a step more in {part} than the others. Compare its node, its data and its "
        "code path."
    ),
}
OWN_ADVICE = {
    ("tensorflow", "loader"): N_(
        "End the pipeline with .prefetch(tf.data.AUTOTUNE), give .map() num_parallel_calls=tf.data.AUTOTUNE, "
        ".cache() what does not change, or do less per sample."
    ),
    ("tensorflow", "host-bound"): N_(
        "Look at the longest gaps; put the whole step into a tf.function, read losses less often, use larger "
        "batches, or steps_per_execution of compile()."
    ),
    ("tensorflow", "communication"): N_(
        "Try a larger batch, gradient accumulation, or gradients in fp16 (with Horovod: "
        "compression=hvd.Compression.fp16)."
    ),
    ("tensorflow", "copies"): N_(
        "End the pipeline with .apply(tf.data.experimental.prefetch_to_device('/GPU:0')), and keep on the GPU what "
        "is used again."
    ),
    ("chainer", "loader"): N_("Use chainer.iterators.MultiprocessIterator, or do less per sample."),
}
"""(framework, finding) with other advice than for torch."""


@dataclass(frozen=True)
class ProfileFinding:
    """A finding; the largest share comes first."""

    id: str
    """`loader`, `copies`, `host-bound`, `communication` or `late-rank`."""
    share: float
    """Share of a step."""
    values: dict[str, Any] = field(default_factory=dict)
    """Placeholders of its text, besides the share."""
    rank: int | None = None
    """The rank concerned; None: all."""
    framework: str = ""
    """The program's framework: tensorflow or chainer; empty: torch."""

    @property
    def message(self) -> str:
        """The finding as text."""
        return _(_FOUND_TEXTS[self.id], share=f"{100 * self.share:.0f}", **self._shown)

    @property
    def advice(self) -> str:
        """The remedy."""
        text = OWN_ADVICE.get((self.framework, self.id)) or ADVICE[self.id]
        if self.id == "late-rank" and not self.values["part"]:
            text = N_(
                "Rank {rank} spends no more than the others outside of communication. Compare its network, and "
                "which collectives it calls."
            )
        return _(text, **self._shown)

    @property
    def _shown(self) -> dict[str, Any]:
        part = self.values.get("part")
        return {**self.values, **({"part": _(PART_TEXTS[part])} if part else {})}

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "id": self.id, "rank": self.rank, "share": float(f"{self.share:.6g}"), "message": self.message,
            "advice": self.advice,
        }  # fmt: skip


def findings(times: Mapping[int, RankTime], framework: str = "") -> list[ProfileFinding]:
    """Return the findings, the largest share first; `framework`: the program's, empty for torch."""
    if any(time.unknown or time.off_pace for time in times.values()):
        return []
    data = {rank: time.parts["data"] for rank, time in times.items()}
    loading = sum(length(within(moments, times[rank].loading)) for rank, moments in data.items())
    copying = sum(length(without(moments, times[rank].loading)) for rank, moments in data.items())
    host = {rank: time.parts["host"] for rank, time in times.items()}
    communication = {rank: time.parts["communication"] for rank, time in times.items()}
    candidates = [
        *_everywhere(times, "copies" if copying > loading else "loader", data, DATA),
        *_everywhere(times, "host-bound", host, HOST),
        *_everywhere(times, "communication", communication, COMMUNICATION),
        *_late(times),
    ]
    return sorted((replace(finding, framework=framework) for finding in candidates), key=lambda finding: -finding.share)


def _everywhere(
    times: Mapping[int, RankTime], name: str, moments: Mapping[int, Intervals], limit: float
) -> list[ProfileFinding]:
    """Return the finding if some times take more than the limit on every rank.

    A time that only one rank has makes that rank late, which is a finding of its own.
    """
    if not times or any(time.reason and name in ("host-bound", "communication") for time in times.values()):
        return []
    if not all(_is_above(list(_by_step(time, moments[rank]).values()), limit) for rank, time in times.items()):
        return []
    spent = {rank: length(intervals) / SECOND for rank, intervals in moments.items()}
    share = fmean(spent[rank] / time.seconds for rank, time in times.items())
    milliseconds = 1e3 * fmean(spent[rank] / len(time.steps) for rank, time in times.items())
    return [ProfileFinding(name, share, {"milliseconds": f"{milliseconds:.3g}"})]


def _by_step(time: RankTime, moments: Intervals) -> dict[int, float]:
    """Return step → share of some times in it, relative to the rank's mean step."""
    mean = time.seconds / len(time.steps)
    return {step: seconds / mean for step, seconds in time.by_step(moments).items()}


def _is_above(shares: Sequence[float], limit: float) -> bool:
    """Return whether the mean of a share exceeds its limit by more than the noise of the steps.

    Without several steps, e.g. in a trace without marks, the noise is unknown: the mean must then be twice the limit.
    """
    if len(shares) < FEWEST:
        return fmean(shares) >= 2 * limit
    return fmean(shares) - DEVIATIONS * stdev(shares) / sqrt(len(shares)) >= limit


def late_rank(times: Mapping[int, RankTime]) -> tuple[int, float] | None:
    """Return (rank, mean share of a step for which the others wait for it), None when no rank is always late.

    A rank's own waiting is subtracted from the waiting for it in each step, so ranks that are late in turn are not
    named.
    """
    best: tuple[int, float] | None = None
    for rank, time in times.items():
        own = _by_step(time, time.parts["waiting"])
        peers = [peer for number, peer in times.items() if number != rank]
        if not peers or any(time.reason or time.unknown or time.off_pace for time in times.values()):
            return None
        waits = [_by_step(peer, peer.waiting_for.get(rank, [])) for peer in peers]
        steps = set(own).intersection(*map(set, waits))
        net = [fmean(wait[step] for wait in waits) - own[step] for step in steps]
        if len(net) >= FEWEST and _is_above(net, LATE):
            share = fmean(fmean(wait[step] for wait in waits) for step in steps)
            best = max(
                [candidate for candidate in (best, (rank, share)) if candidate], key=lambda candidate: candidate[1]
            )
    return best


def _late(times: Mapping[int, RankTime]) -> list[ProfileFinding]:
    latest = late_rank(times)
    if latest is None:
        return []
    rank, share = latest
    time = times[rank]

    def spent(time: RankTime, part: str) -> float:
        return time.spent(part) / len(time.steps)

    more = {
        part: spent(time, part) - fmean(spent(peer, part) for number, peer in times.items() if number != rank)
        for part in PARTS
        if part not in ("waiting", "communication")
    }
    part = max(more, key=more.__getitem__)
    mean = fmean(peer.seconds / len(peer.steps) for number, peer in times.items() if number != rank)
    values = {
        "rank": rank, "milliseconds": f"{1e3 * share * mean:.3g}", "part": part if more[part] > 0 else "",
        "more": f"{1e3 * more[part]:.3g}",
    }  # fmt: skip
    return [ProfileFinding("late-rank", share, values, rank)]
