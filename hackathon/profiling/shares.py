"""How the time of a step is split per rank: data, host, compute, communication, waiting and other. Pure.

All ranks leave an all-reduce or a barrier together, after the last one has entered it. So the shortest time of a rank
in a collective belongs to the rank that entered last: it only communicated. The excess of the others is waiting. No
common clock is needed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import fmean
from typing import Any

from hackathon.text.messages import N_

PART_TEXTS = {
    "data": N_("data"),
    "host": N_("host"),
    "compute": N_("compute"),
    "communication": N_("communication"),
    "waiting": N_("waiting"),
    "other": N_("other"),
}
PARTS = tuple(PART_TEXTS)
ALL = -1
"""The `rank` of a mean over ranks."""
NOTICED = 0.02
"""Share of a step that ranks must wait before one of them counts as late."""
UNMARKED, IN_COMPUTE, OLD_RUNTIME, MISSING_RANKS, UNMATCHED, UNSEEN, ON_DEVICE, FEW_SAMPLES = (
    "unmarked", "in-compute", "old-runtime", "missing-ranks", "unmatched", "unseen", "on-device", "few-samples",
)  # fmt: skip
"""Why a part is unknown.

The program does not mark it; compute contains it; the runtime beside the program is an older one; some ranks did not
write their times; their collectives cannot be matched. From outside: the program does it in a way that the recorder
does not observe; a GPU does it asynchronously; the run was too short for samples.
"""
MEASURED, HOOKED, SAMPLED = "measured", "hooked", "sampled"
"""Source of shares: the program's Meter; the framework's calls from outside; these with samples of the calls."""

_CONTAINED = {
    "waiting": "communication", "communication": "compute", "compute": "other", "host": "other", "data": "other",
}  # fmt: skip
"""Part → the part that includes its time when it is unknown."""


@dataclass(frozen=True)
class StepShares:
    """The time of a rank's steps, in seconds per step; the known parts add up to `seconds`."""

    rank: int
    steps: int
    """Number of steps of the means."""
    seconds: float
    data: float | None = None
    """Waiting for the next batch."""
    host: float | None = None
    """The program's own CPU work between the marked parts, such as Python code and logging."""
    compute: float | None = None
    communication: float | None = None
    """Inside collectives after the last rank has entered them; with the waiting if that is unknown."""
    waiting: float | None = None
    """Inside collectives before the last rank has entered them."""
    other: float | None = None
    """The rest: file access, sleeping, waiting for a CPU."""
    unknown: tuple[tuple[str, str], ...] = ()
    """(part, why it is unknown), one of the reasons above."""

    def to_json(self) -> dict[str, Any]:
        """Return the shares as JSON values, times with six digits."""
        times = {name: rounded(getattr(self, name)) for name in ("seconds", *PARTS)}
        return {"rank": self.rank, "steps": self.steps, **times, "unknown": dict(self.unknown)}

    def share(self, *parts: str) -> float | None:
        """Return the share of some parts in the step, 0…1; None when none of them is known."""
        values = [value for part in parts if (value := getattr(self, part)) is not None]
        return sum(values) / self.seconds if values and self.seconds > 0 else None


@dataclass(frozen=True)
class Interval:
    """A rank's record of some consecutive steps."""

    first: int
    last: int
    """Numbers of its first and last step; each rank counts steps from 1."""
    seconds: float
    """Seconds of all its steps together."""
    phases: Mapping[str, float]
    """Phase → seconds, with the Meter's names."""
    collectives: tuple[tuple[float, ...], ...] = ()
    """For each step from the first: the seconds that the rank spent in each of its collectives."""


@dataclass(frozen=True)
class RunShares:
    """The time of a run's steps."""

    processes: int
    ranks: tuple[StepShares, ...]
    """The shares of ranks with recorded times, by rank."""
    caused: tuple[tuple[int, float], ...] = ()
    """(rank, seconds per step for which all others together waited for it)."""
    basis: str = MEASURED
    """Source of the shares: MEASURED, HOOKED or SAMPLED."""

    @cached_property
    def mean(self) -> StepShares:
        """The mean over its ranks, cached because tables read it several times."""
        return mean_shares(self.ranks)

    @classmethod
    def from_fields(cls, value: Mapping[str, Any]) -> "RunShares":
        """Return the shares from the result of `dataclasses.asdict`. Raises TypeError or ValueError."""
        ranks = [
            StepShares(**{**entry, "unknown": tuple((str(part), str(why)) for part, why in entry["unknown"])})
            for entry in value["ranks"]
        ]
        return cls(
            int(value["processes"]),
            tuple(ranks),
            tuple((int(rank), float(seconds)) for rank, seconds in value["caused"]),
            str(value.get("basis", MEASURED)),
        )


def run_shares(
    records: Mapping[int, Sequence[Interval]],
    processes: int,
    why: Mapping[str, str] | None = None,
    basis: str = MEASURED,
) -> RunShares | None:
    """Return how the time of a run's steps is split, from each rank's records; None without any.

    Parts without data are not guessed: they are None, with the reason. `why`: part → that reason, if it is known
    already.
    """
    ranks = {
        rank: intervals
        for rank, intervals in sorted(records.items())
        if _seconds(intervals) > 0 and _steps(intervals) > 0
    }
    if not ranks:
        return None
    marked = {phase for intervals in ranks.values() for interval in intervals for phase in interval.phases}
    waits, caused, problem = _waiting(ranks, processes)
    shares = tuple(
        _rank_shares(rank, intervals, marked, processes, waits.get(rank), problem) for rank, intervals in ranks.items()
    )
    if why:
        shares = tuple(
            replace(share, unknown=tuple((part, why.get(part, reason)) for part, reason in share.unknown))
            for share in shares
        )
    return RunShares(processes, shares, tuple(sorted(caused.items())), basis)


def mean_shares(shares: Sequence[StepShares]) -> StepShares:
    """Return the mean over ranks, of one run or of several.

    A part that is unknown for one rank is unknown; the other ranks' times of it go to the containing part.
    """
    unknown = {part: why for share in shares for part, why in share.unknown}
    spent = {part: fmean([getattr(share, part) or 0.0 for share in shares]) for part in PARTS}
    for part, container in _CONTAINED.items():
        if part in unknown:
            spent[container] += spent.pop(part)
    parts = {part: spent.get(part) for part in PARTS}
    steps = min(share.steps for share in shares)
    return StepShares(ALL, steps, fmean([share.seconds for share in shares]), **parts, unknown=tuple(unknown.items()))


def mean_of_runs(runs: Sequence[RunShares]) -> StepShares:
    """Return the mean over all ranks of one run or of several."""
    return runs[0].mean if len(runs) == 1 else mean_shares([rank for run in runs for rank in run.ranks])


def late_rank(runs: Sequence[RunShares]) -> int | None:
    """Return the rank that the others wait for in runs with equally many processes, None without one.

    It causes more of the waiting than halfway between its chance (1 ÷ processes) and all of it, and the waiting is long
    enough.
    """
    caused: dict[int, float] = {}
    for run in runs:
        for rank, seconds in run.caused:
            caused[rank] = caused.get(rank, 0.0) + seconds
    total = sum(caused.values())
    if not total:
        return None
    waiting = mean_of_runs(runs).share("waiting")
    if waiting is None or waiting < NOTICED:
        return None
    rank = max(caused, key=lambda rank: caused[rank])
    return rank if caused[rank] / total > (1 + 1 / max(2, runs[0].processes)) / 2 else None


def rounded(value: float | None) -> float | None:
    """Return a number with six digits; None stays None."""
    return None if value is None else float(f"{value:.6g}")


def _seconds(intervals: Sequence[Interval]) -> float:
    return sum(interval.seconds for interval in intervals)


def _steps(intervals: Sequence[Interval]) -> int:
    return sum(interval.last - interval.first + 1 for interval in intervals)


def _rank_shares(
    rank: int, intervals: Sequence[Interval], marked: set[str], processes: int, waited: float | None, problem: str
) -> StepShares:
    """Return a rank's shares.

    `waited`: the share of its communication for which the rank waited; `problem`: why it is unknown.
    """
    steps, seconds = _steps(intervals), _seconds(intervals)
    spent = {phase: sum(interval.phases.get(phase, 0.0) for interval in intervals) / steps for phase in marked}
    unknown: dict[str, str] = {}
    data, compute, host = (spent.get(name) for name in ("data", "compute", "host"))
    if data is None:
        unknown["data"] = UNMARKED
    if compute is None:
        unknown["compute"] = unknown["host"] = UNMARKED
        host = None
    elif host is None:
        unknown["host"] = OLD_RUNTIME
    together = spent.get("communication", 0.0 if processes == 1 else None)
    communication, waiting = together, None
    if together is None:
        unknown["communication"] = unknown["waiting"] = UNMARKED if compute is None else IN_COMPUTE
    elif processes == 1 or not together:
        waiting = 0.0
    elif waited is None:
        unknown["waiting"] = problem
    else:
        waiting = together * waited
        communication = together - waiting
    total = sum(value for value in (data, host, compute, communication, waiting) if value is not None)
    other = max(0.0, seconds / steps - total)
    return StepShares(
        rank, steps, seconds / steps, data, host, compute, communication, waiting, other, tuple(unknown.items())
    )


def _waiting(ranks: Mapping[int, Sequence[Interval]], processes: int) -> tuple[dict[int, float], dict[int, float], str]:
    """Return (rank → share of its communication that is waiting, rank → seconds a step waited for it, why neither)."""
    steps = {
        rank: {
            interval.first + number: spent
            for interval in intervals
            for number, spent in enumerate(interval.collectives)
        }
        for rank, intervals in ranks.items()
    }  # fmt: skip
    if not any(spent for by_step in steps.values() for spent in by_step.values()):
        return {}, {}, OLD_RUNTIME
    if len(ranks) < processes:
        return {}, {}, MISSING_RANKS
    waited = dict.fromkeys(ranks, 0.0)
    caused = dict.fromkeys(ranks, 0.0)
    spent_in = dict.fromkeys(ranks, 0.0)
    matched = 0
    for step in set.intersection(*(set(by_step) for by_step in steps.values())):
        by_rank = {rank: by_step[step] for rank, by_step in steps.items()}
        if len({len(durations) for durations in by_rank.values()}) != 1 or not next(iter(by_rank.values())):
            continue
        matched += 1
        for number in range(len(next(iter(by_rank.values())))):
            last = min(by_rank, key=lambda rank: by_rank[rank][number])
            for rank, durations in by_rank.items():
                spent_in[rank] += durations[number]
                waited[rank] += durations[number] - by_rank[last][number]
                caused[last] += durations[number] - by_rank[last][number]
    if not matched:
        return {}, {}, UNMATCHED
    shares = {rank: waited[rank] / spent_in[rank] if spent_in[rank] > 0 else 0.0 for rank in ranks}
    return shares, {rank: seconds / matched for rank, seconds in caused.items()}, ""
