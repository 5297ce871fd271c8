"""Advice for steps that do not only compute, largest share first. Pure.

Each piece of advice names the share that must fall if it was right: the same measurement confirms it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

from hackathon.profiling.shares import PART_TEXTS, SAMPLED, RunShares, late_rank, mean_of_runs, mean_shares, rounded
from hackathon.text.messages import N_, _

_ADVICE_TEXTS = {
    "slow-loader": N_(
        "loading data takes {gain} of a step: add loader workers and prefetching, or put the data on a faster disk"
    ),
    "host-bound": N_(
        "the program's own work between the parts of a step takes {gain}: log less often, avoid .item() and Python "
        "loops over samples, or move this work to the loader's workers"
    ),
    "exposed-communication": N_(
        "communication that no computing hides takes {gain} of a step: try other bucket sizes, gradients in fp16 "
        "or bf16 (DDP communication hook), gradient accumulation, or a larger batch per process"
    ),
    "straggler": N_(
        "all other ranks wait for rank {rank} during {gain} of a step; it spends more time than the others in: "
        "{cause}. Check its node, its share of the data, and other processes on its cores or GPU"
    ),
    "imbalance": N_(
        "the ranks wait for each other in turn during {gain} of a step: give all ranks equal work in each step, "
        "for example batches of samples of similar length"
    ),
}

STEPS = 10
"""Steps of each rank that advice needs."""
LIMITS = {"data": 0.15, "host": 0.15, "communication": 0.20, "waiting": 0.10}
"""Part → its share of a step from which an attempt is worthwhile."""
BLUR = 0.03
"""Extra share required of the host when it comes from samples: their standard error is at most this."""
_IDS = {"data": "slow-loader", "host": "host-bound", "communication": "exposed-communication"}
_OWN = ("data", "host", "compute", "other")
"""Parts that can make a rank late."""


@dataclass(frozen=True)
class Advice:
    """One piece of advice."""

    id: str
    """`slow-loader`, `host-bound`, `exposed-communication`, `straggler` or `imbalance`."""
    part: str
    """The part whose share must fall."""
    gain: float
    """Upper bound of the saving, as a share of a step: the part's share."""
    rank: int | None = None
    """The rank that the others wait for."""
    values: Mapping[str, str] = field(default_factory=dict)
    """Placeholders of its message."""

    def to_json(self) -> dict[str, Any]:
        """Return the advice as in the results JSON, with texts in the current language."""
        return {
            "id": self.id,
            "part": self.part,
            "gain": rounded(self.gain),
            "rank": self.rank,
            "message": self.message,
            "confirm": _("if it helps, the share of {part} falls", part=_(PART_TEXTS[self.part])),
        }

    @property
    def message(self) -> str:
        """The problem and the remedy, in the current language."""
        values = {**self.values}
        if "cause" in values:
            values["cause"] = _(PART_TEXTS[values["cause"]])
        return _(_ADVICE_TEXTS[self.id], gain=f"{100 * self.gain:.0f} %", **values)


def advice(runs: Sequence[RunShares]) -> list[Advice]:
    """Return the advice for runs with equally many processes; none for healthy runs or too few steps."""
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
        # communication that includes the waiting may be nothing but waiting
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
    """Return the part in which the late rank exceeds the others most."""
    ranks = [rank for run in runs for rank in run.ranks]

    def more(part: str) -> float:
        own = [value for rank in ranks if rank.rank == late and (value := getattr(rank, part)) is not None]
        peers = [value for rank in ranks if rank.rank != late and (value := getattr(rank, part)) is not None]
        return fmean(own) - fmean(peers) if own and peers else 0.0

    return max(_OWN, key=more)
