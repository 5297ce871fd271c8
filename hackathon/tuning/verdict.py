"""The result of a comparison: the speed of each option, whether it exceeds the noise, and the loss."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from statistics import median
from typing import Any, Literal, cast, get_args

from hackathon.config.records import Scalar
from hackathon.scaling.table import grows_with_processes, lower_is_better
from hackathon.text.json_fields import count_of, mapping_of, text_of
from hackathon.text.messages import N_, _
from hackathon.text.numbers import finite, integer
from hackathon.tuning.intervals import Ratio, ratio_of
from hackathon.tuning.options import Option
from hackathon.tuning.slots import TrainingStart, common_losses

_LITTLE_TEXTS = {
    "data": N_("loading takes {percent} % of a step: little to gain"),
    "compute": N_("computing takes {percent} % of a step: little to gain"),
}
_BOUND_TEXTS = {
    "data": N_("loader-bound: {percent} % of a step"),
    "compute": N_("compute-bound: {percent} % of a step"),
}
_PART_TEXTS = {
    "data": N_("loading takes {percent} % of a step"),
    "compute": N_("computing takes {percent} % of a step"),
}

Loss = Literal["untouched", "same", "worse", "unknown"]
Verdict = Literal["faster", "slower", "none", "few", "failed"]
LOG = "/logs/rank-0.log"
"""The log of a slot in its folder."""
LITTLE = 0.03
"""Share of a step below which a part has no gain worth naming."""
_OF_KIND = {"loader": "data", "precision": "compute", "layout": "compute", "compile": "compute", "threads": "compute"}
"""Kind of an option → the part of a step that it acts on."""


@dataclass(frozen=True)
class OptionRow:
    """One line of the table."""

    name: str
    kind: str
    settings: Mapping[str, Scalar]
    value: float | None
    """Median of its slots' throughputs, or times, in their own unit."""
    ratio: Ratio | None
    """None without a measured pair."""
    verdict: Verdict
    loss: Loss
    reason: str = ""
    failed: str = ""
    """The slot whose log has the reason, relative to the run."""
    memory: int | None = None

    @property
    def wins(self) -> bool:
        """Whether it is faster beyond the noise without a worse loss."""
        return self.verdict == "faster" and self.loss in ("untouched", "same")

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON values; an infinite end of an interval is null."""
        bounded = self.ratio is not None and not math.isinf(self.ratio.high)
        return {
            "name": self.name, "kind": self.kind, "settings": dict(self.settings), "value": self.value,
            "pairs": self.ratio.pairs if self.ratio else 0,
            "ratio": self.ratio.middle if self.ratio else None,
            "low": self.ratio.low if bounded and self.ratio else None,
            "high": self.ratio.high if bounded and self.ratio else None,
            "verdict": self.verdict, "loss": self.loss, "wins": self.wins, "reason": self.reason or None,
            "memory_bytes": self.memory, "failed_log": f"{self.failed}{LOG}" if self.failed else None,
        }  # fmt: skip

    @classmethod
    def from_json(cls, value: Mapping[str, Any], shares: Mapping[str, float]) -> "OptionRow":
        """Return a row from arbitrary JSON values, its reason in the current language; invalid fields become unknown.

        `shares`: the parts of a step of the unchanged program.
        """
        kind, middle, verdict = text_of(value.get("kind")), finite(value.get("ratio")), value.get("verdict")
        low, high, loss = finite(value.get("low")), finite(value.get("high")), value.get("loss")
        ratio = None
        if middle is not None and middle > 0:
            bounded = low is not None and high is not None
            ratio = Ratio(count_of(value.get("pairs")), middle, low if low is not None and bounded else 0.0,
                          high if high is not None and bounded else math.inf)  # fmt: skip
        return cls(
            name=text_of(value.get("name")),
            kind=kind,
            settings=scalars(value.get("settings")),
            value=finite(value.get("value")),
            ratio=ratio,
            verdict=cast("Verdict", verdict) if verdict in get_args(Verdict) else "failed" if ratio is None else "few",
            loss=cast("Loss", loss) if loss in get_args(Loss) else "unknown",
            reason=reason_of(kind, shares, ratio),
            failed=text_of(value.get("failed_log")).removesuffix(LOG),
            memory=integer(value.get("memory_bytes")),
        )


@dataclass(frozen=True)
class Comparison:
    """The table of one job."""

    rows: tuple[OptionRow, ...]
    metric: str
    unit: str
    rounds: int
    """Rounds with a throughput of the unchanged program."""
    value: float | None
    """Its median throughput."""
    low: float | None
    high: float | None
    """Its minimum and its maximum."""
    shares: Mapping[str, float] = field(default_factory=dict)
    failed: str = ""
    """The slot in which the unchanged program failed, relative to the run."""
    memory: int | None = None


def compare(slots: Sequence[TrainingStart], options: Sequence[Option], claims: int) -> Comparison:
    """Return the table of options against the unchanged program; `claims`: rows with a common error probability.

    Arm n of the slots is option n − 1. A round counts for an option if both have a throughput in it.
    """
    base = {slot.round: slot for slot in slots if slot.arm == 0}
    values = [slot.value for slot in base.values() if slot.value is not None]
    first = next((slot for slot in base.values() if slot.value is not None), None)
    shares = _shares(list(base.values()))
    spread = _seed_noise(list(base.values()))
    rows = []
    for number, option in enumerate(options, 1):
        mine = [slot for slot in slots if slot.arm == number]
        rows.append(_row(option, mine, base, claims, shares, spread, first.unit if first else ""))
    return Comparison(
        rows=tuple(sorted(rows, key=_rank)),
        metric=first.metric if first else "",
        unit=first.unit if first else "",
        rounds=len(values),
        value=median(values) if values else None,
        low=min(values, default=None),
        high=max(values, default=None),
        shares=shares,
        failed=next((slot.folder for slot in base.values() if slot.failed), ""),
        memory=max((slot.memory for slot in base.values() if slot.memory), default=None),
    )


def winners(rows: Sequence[OptionRow]) -> list[OptionRow]:
    """Return the options to combine: the winners, and of several with one setting the best."""
    chosen: list[OptionRow] = []
    taken: set[str] = set()
    kinds: set[str] = set()
    for row in sorted((row for row in rows if row.wins), key=lambda row: -(row.ratio.middle if row.ratio else 0)):
        if taken & set(row.settings) or (row.kind == "precision" and "precision" in kinds):
            continue
        taken |= set(row.settings)
        kinds.add(row.kind)
        chosen.append(row)
    return chosen


def scalars(value: object) -> dict[str, Scalar]:
    """Return the settings of a JSON object, without values that are not scalars."""
    return {
        text_of(name): setting
        for name, setting in mapping_of(value).items()
        if isinstance(setting, (str, int, float, bool))
    }  # fmt: skip


def _rank(row: OptionRow) -> tuple[int, float]:
    order = ("faster", "none", "few", "slower", "failed")
    return order.index(row.verdict), -(row.ratio.middle if row.ratio else 0.0)


def _row(
    option: Option, mine: Sequence[TrainingStart], base: Mapping[int, TrainingStart], claims: int,
    shares: Mapping[str, float], spread: float | None, unit: str,
) -> OptionRow:  # fmt: skip
    pairs = [
        (base[slot.round], slot)
        for slot in mine
        if slot.value and slot.round in base and base[slot.round].value
    ]  # fmt: skip
    ratios = [_speed(option, slot.value, other.value, unit) for other, slot in pairs if slot.value and other.value]
    ratio = ratio_of(ratios, claims) if ratios else None
    broken = next((slot.folder for slot in mine if slot.failed), "")
    values = [slot.value for slot in mine if slot.value is not None]
    loss = _loss(option, pairs, spread)
    return OptionRow(
        name=option.name,
        kind=option.kind,
        settings=option.settings,
        value=median(values) if values else None,
        ratio=ratio,
        verdict="failed" if broken or ratio is None else ratio.claim,  # type: ignore[arg-type]
        loss=loss,
        reason=reason_of(option.kind, shares, ratio),
        failed=broken,
        memory=max((slot.memory for slot in mine if slot.memory), default=None),
    )


def _speed(option: Option, value: float, base: float, unit: str) -> float:
    """Return the speed-up of a start. For times less is better; a step of a larger batch is more work."""
    ratio = base / value if lower_is_better(unit) else value / base
    return ratio * option.work if grows_with_processes(unit) else ratio


def _loss(option: Option, pairs: Sequence[tuple[TrainingStart, TrainingStart]], spread: float | None) -> Loss:
    """Return the verdict on the loss over the same steps, relative to the difference of two seeds.

    Both starts of a round have the same seed. A lower loss is not worse.
    """
    if option.changes == "nothing":
        return "untouched"
    if option.changes == "training":
        return "unknown"
    both = [losses for base, slot in pairs if (losses := common_losses(base, slot)) is not None]
    if not both:
        return "unknown"
    if any(not math.isfinite(its) and math.isfinite(ours) for ours, its in both):
        return "worse"
    if all(its <= ours for ours, its in both):
        return "same"
    if not spread or len(both) < 2:  # without two seeds the normal difference of losses is unknown
        return "unknown"
    return "same" if median(its - ours for ours, its in both) <= spread else "worse"


def _seed_noise(base: Sequence[TrainingStart]) -> float | None:
    """Return the median difference between the losses of two seeds, over all pairs of rounds; None if unknown."""
    pairs = [common_losses(first, second) for first, second in combinations(base, 2)]
    differences = [abs(pair[0] - pair[1]) for pair in pairs if pair is not None]
    finite = [difference for difference in differences if math.isfinite(difference)]
    return median(finite) if finite else None


def _shares(base: Sequence[TrainingStart]) -> dict[str, float]:
    names = {name for slot in base for name in slot.shares}
    return {name: median(slot.shares[name] for slot in base if name in slot.shares) for name in sorted(names)}


def reason_of(kind: str, shares: Mapping[str, float], ratio: Ratio | None) -> str:
    """Return why an option does or does not help according to the program's own measurements; else ""."""
    part = _OF_KIND.get(kind, "")
    share = shares.get(part)
    if share is None or ratio is None:
        return ""
    percent = f"{100 * share:.0f}"
    if share < LITTLE:
        return _(_LITTLE_TEXTS[part], percent=percent)
    largest = max(shares, key=lambda name: shares[name]) == part
    return _((_BOUND_TEXTS if largest else _PART_TEXTS)[part], percent=percent)
