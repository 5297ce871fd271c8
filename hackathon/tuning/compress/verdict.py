"""The result of a comparison of hooks: bytes sent, speed, and the change of accuracy seed by seed."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import median
from typing import Any, Literal

from hackathon.config.records import Scalar
from hackathon.text.json_fields import text_of
from hackathon.text.numbers import finite
from hackathon.tuning.compress.measurement import LEAST_SEEDS
from hackathon.tuning.intervals import FALSE_CLAIMS, ratio_of
from hackathon.tuning.options import Option
from hackathon.tuning.slots import TrainingStart
from hackathon.tuning.trials.objective import direction
from hackathon.tuning.verdict import Comparison, OptionRow, compare

Kept = Literal["same", "worse", "unclear", "unknown"]
Verdict = Literal["pays", "accuracy", "unclear", "slower", "none", "few", "failed"]
SENT = "sent_bytes"
"""The final number of a training with the bytes that a process sends per step."""
FAR = 4.0
"""Multiple of the difference of two seeds by which few seeds, if all agree, show a loss of accuracy."""


@dataclass(frozen=True)
class Accuracy:
    """Difference of a hook's final metric from the uncompressed training's with the same seed; above 0 is better."""

    pairs: int
    middle: float
    """Median difference."""
    low: float
    """Lower end of its interval; −∞ with too few pairs."""
    high: float
    kept: Kept


@dataclass(frozen=True)
class HookRow:
    """One line of the table."""

    time: OptionRow
    sent: float | None
    """Bytes that a process sends per step, median."""
    value: float | None
    """Median of the final metric."""
    accuracy: Accuracy | None
    """None when no pair has the metric."""
    verdict: Verdict

    @property
    def pays(self) -> bool:
        """Whether it is faster beyond the noise, and keeps the accuracy."""
        return self.verdict == "pays"


@dataclass(frozen=True)
class HookTable:
    """The results of one job."""

    rows: tuple[HookRow, ...]
    compared: Comparison
    metric: str
    """The final metric for the accuracy; empty when unknown."""
    more_is_better: bool
    sent: float | None
    """Bytes that a process of the uncompressed training sends per step."""
    values: tuple[float, ...]
    """Final metrics of the uncompressed trainings."""
    spread: float | None
    """Median difference between two of them: the effect of another seed."""

    @property
    def applied(self) -> Mapping[str, Scalar]:
        """The setting of the best hook; empty without any."""
        best = max((row for row in self.rows if row.pays), key=_ratio, default=None)
        return best.time.settings if best is not None else {}

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON values; unknown values are null."""
        compared = self.compared
        return {
            "schema_version": 1, "metric": compared.metric, "unit": compared.unit, "seeds": compared.rounds,
            "false_claims": FALSE_CLAIMS, "accuracy_metric": self.metric or None,
            "more_is_better": self.more_is_better,
            "baseline": {
                "value": compared.value, "min": compared.low, "max": compared.high, "sent_bytes": self.sent,
                "accuracy": median(self.values) if self.values else None,
                "accuracy_min": min(self.values, default=None), "accuracy_max": max(self.values, default=None),
                "seed_difference": self.spread,
            },
            "hooks": [self._row_json(row) for row in self.rows], "apply": dict(self.applied),
        }  # fmt: skip

    def _row_json(self, row: HookRow) -> dict[str, Any]:
        time, accuracy = row.time.as_json(), row.accuracy
        return {
            **{name: time[name] for name in ("name", "settings", "value", "pairs", "ratio", "low", "high")},
            "time_verdict": time["verdict"], "memory_bytes": time["memory_bytes"], "failed_log": time["failed_log"],
            "sent_bytes": row.sent,
            "sent_ratio": row.sent / self.sent if row.sent is not None and self.sent else None,
            "accuracy": finite(row.value), "difference": finite(accuracy.middle) if accuracy else None,
            "difference_low": finite(accuracy.low) if accuracy else None,
            "difference_high": finite(accuracy.high) if accuracy else None,
            "accuracy_pairs": accuracy.pairs if accuracy else 0,
            "accuracy_verdict": accuracy.kept if accuracy else "unknown", "verdict": row.verdict,
        }  # fmt: skip


def final_metric(slots: Sequence[TrainingStart], check: Mapping[str, Any] | None) -> tuple[str, bool]:
    """Return the final metric that must not get worse, and whether more of it is better; "" without one.

    It is the recipe's check; else the accuracy, else the loss.
    """
    preferred = text_of(check.get("metric")) if check is not None else ""
    metrics = {name for slot in slots for name in slot.numbers}
    metric = next((name for name in (preferred, "accuracy", "loss") if name in metrics), "")
    return metric, direction(metric, check)


def judge(slots: Sequence[TrainingStart], hooks: Sequence[Option], metric: str, more_is_better: bool) -> HookTable:
    """Return the table of hooks against the uncompressed training, which is arm 0; hook n − 1 is arm n.

    `metric`: the final number that must not get worse.
    """
    claims = len(hooks)
    compared = compare(slots, hooks, claims)
    base = {slot.round: slot for slot in slots if slot.arm == 0 and not slot.failed}
    values = tuple(slot.numbers[metric] for slot in base.values() if math.isfinite(slot.numbers.get(metric, math.nan)))
    spread = median(abs(first - second) for first, second in combinations(values, 2)) if len(values) > 1 else None
    times = {row.name: row for row in compared.rows}
    rows = []
    for number, hook in enumerate(hooks, 1):
        mine = [slot for slot in slots if slot.arm == number and not slot.failed]
        sign = 1.0 if more_is_better else -1.0
        differences = [
            difference for slot in mine if slot.round in base
            if (difference := _difference(base[slot.round], slot, metric, sign)) is not None
        ]  # fmt: skip
        accuracy = _judged(differences, spread, claims) if differences else None
        finals = [slot.numbers[metric] for slot in mine if metric in slot.numbers]
        time = times[hook.name]
        rows.append(
            HookRow(time, _sent(mine), median(finals) if finals else None, accuracy, _verdict(time, accuracy))
        )  # fmt: skip
    order = ("pays", "unclear", "none", "few", "slower", "accuracy", "failed")
    rows.sort(key=lambda row: (order.index(row.verdict), -_ratio(row)))
    return HookTable(tuple(rows), compared, metric, more_is_better, _sent(list(base.values())), values, spread)


def _difference(base: TrainingStart, slot: TrainingStart, metric: str, sign: float) -> float | None:
    ours, its = base.numbers.get(metric), slot.numbers.get(metric)
    if ours is None or its is None or not math.isfinite(ours):
        return None
    return sign * (its - ours) if math.isfinite(its) else -math.inf


def _judged(differences: Sequence[float], spread: float | None, claims: int) -> Accuracy:
    """Return the verdict on the differences.

    `worse`: the interval is below 0, or all differences are and the median exceeds FAR times the effect of another
    seed. `same`: the median is not worse than another seed. In between the result is unclear, and no gain is claimed.
    """
    ratio = ratio_of(differences, claims)  # the interval of the sign test is valid for differences as for ratios
    bounded = ratio.high != math.inf
    low, high = (ratio.low, ratio.high) if bounded else (-math.inf, math.inf)
    usual = spread or 0.0
    accuracy: Kept
    if len(differences) < LEAST_SEEDS or spread is None:
        accuracy = "unknown"
    elif high < 0 or (max(differences) < 0 and ratio.middle < -FAR * usual):
        accuracy = "worse"
    else:
        accuracy = "same" if ratio.middle >= -usual else "unclear"
    return Accuracy(len(differences), ratio.middle, low, high, accuracy)


def _verdict(time: OptionRow, accuracy: Accuracy | None) -> Verdict:
    if time.verdict == "failed":
        return "failed"
    if accuracy is not None and accuracy.kept == "worse":
        return "accuracy"
    if time.verdict == "faster":
        return "pays" if accuracy is not None and accuracy.kept == "same" else "unclear"
    return time.verdict


def _sent(slots: Sequence[TrainingStart]) -> float | None:
    amounts = [slot.numbers[SENT] for slot in slots if math.isfinite(slot.numbers.get(SENT, math.nan))]
    return median(amounts) if amounts else None


def _ratio(row: HookRow) -> float:
    return row.time.ratio.middle if row.time.ratio is not None else 0.0
