"""What to try where a step's time goes to something else than computing, largest share first. Pure.

Each piece of advice names the share that has to fall if it was right: the same measurement confirms it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

from hackathon.profiling.shares import SAMPLED, RunShares, late_rank, mean_of_runs, mean_shares, rounded
from hackathon.text.messages import message

STEPS = 10
"""Steps of each rank that advice is made from at least."""
LIMITS = {"data": 0.15, "host": 0.15, "communication": 0.20, "waiting": 0.10}
"""Part → its share of a step from which it is worth an attempt."""
BLUR = 0.03
"""By how much the host's share has to be larger where it comes from samples: that is their standard error at most."""
_IDS = {"data": "slow-loader", "host": "host-bound", "communication": "exposed-communication"}
_OWN = ("data", "host", "compute", "other")
"""Parts that can make a rank late."""


@dataclass(frozen=True)
class Advice:
    """One thing to try."""

    id: str
    """`slow-loader`, `host-bound`, `exposed-communication`, `straggler` or `imbalance`."""
    part: str
    """The part whose share has to fall."""
    gain: float
    """The most that it can save, as a share of a step: that of the part."""
    rank: int | None = None
    """The rank that the others wait for."""
    values: Mapping[str, str] = field(default_factory=dict)
    """For its message."""

    def to_json(self) -> dict[str, Any]:
        """Return the advice as the results JSON has it, its texts in the current language."""
        return {
            "id": self.id, "part": self.part, "gain": rounded(self.gain), "rank": self.rank,
            "message": self.message, "confirm": message("shares.confirm", part=message(f"shares.{self.part}")),
        }  # fmt: skip

    @property
    def message(self) -> str:
        """What is the matter and what to try, in the current language."""
        values = {**self.values}
        if "cause" in values:
            values["cause"] = message(f"shares.{values['cause']}")
        return message(f"shares.advice_{self.id.replace('-', '_')}", gain=f"{100 * self.gain:.0f} %", **values)


def advice(runs: Sequence[RunShares]) -> list[Advice]:
    """Return what to try after runs with equally many processes; nothing for healthy ones, or too few steps."""
    ranks = [rank for run in runs for rank in run.ranks]
    if not ranks or min(rank.steps for rank in ranks) < STEPS:
        return []
    mean, late = mean_of_runs(runs), late_rank(runs)
    baseline = mean if late is None else mean_shares([rank for rank in ranks if rank.rank != late] or ranks)
    suggestions = []
    sampled = any(run.basis == SAMPLED for run in runs)
    for part, limit in LIMITS.items():
        if sampled and part == "host":
            limit += BLUR
        share = (baseline if part == "waiting" else mean).share(part)
        # communication with the waiting in it may be nothing but waiting
        if share is None or share < limit or (part == "communication" and mean.waiting is None):
            continue
        if part != "waiting":
            suggestions.append(Advice(_IDS[part], part, share))
        elif late is None:
            suggestions.append(Advice("imbalance", part, share))
        else:
            suggestions.append(Advice("straggler", part, share, late, {"rank": str(late), "cause": _cause(runs, late)}))
    return sorted(suggestions, key=lambda suggestion: -suggestion.gain)


def _cause(runs: Sequence[RunShares], late: int) -> str:
    """Return the part in which the late rank spends the most more than the others."""
    ranks = [rank for run in runs for rank in run.ranks]

    def more(part: str) -> float:
        own = [value for rank in ranks if rank.rank == late and (value := getattr(rank, part)) is not None]
        peers = [value for rank in ranks if rank.rank != late and (value := getattr(rank, part)) is not None]
        return fmean(own) - fmean(peers) if own and peers else 0.0

    return max(_OWN, key=more)
