"""Why a result may not be believed: the kinds of doubt, and those that only the points of a study show together. Pure.

What a run's own records show is found by `hackathon.diagnosis.doubts`.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hackathon.text.messages import message

FALSE, CHECK = "false", "check"
"""The result is not what it is taken for; it may be right, and somebody should look."""
SEVERITIES = {
    "identical-ranks": FALSE,
    "no-group": FALSE,
    "several-worlds": FALSE,
    "bad-loss": FALSE,
    "check-failed": FALSE,
    "work-mismatch": FALSE,
    "log-cut": FALSE,
    "base-mismatch": CHECK,
    "warm-up-included": CHECK,
    "unsure-metric": CHECK,
    "coarse-metric": CHECK,
    "metric-contradicted": CHECK,
    "flat-loss": CHECK,
    "super-linear": CHECK,
    "noise": CHECK,
}
"""Id of each kind of doubt → its severity; a false result is marked wherever it is shown."""
SUPER_LINEAR, SIGMAS, REPEATS = 0.05, 3.0, 3
"""How far above 1 an efficiency must lie, in itself and in standard deviations, and repeats that these are made of."""
FAR_SUPER_LINEAR = 0.2
"""How far above 1 an efficiency must lie where there are fewer repeats."""
WORK = 0.02
"""Share by which the samples of a step may differ from what the mode says."""


@dataclass(frozen=True)
class Doubt:
    """One reason why a run's result may not be believed, as it is kept until somebody reads it."""

    id: str
    """One of SEVERITIES."""
    values: Mapping[str, str] = field(default_factory=dict, hash=False)
    """For its message."""
    kind: str = ""
    """Which of several messages of the id it is."""
    evidence: str = ""
    """Where it shows: `logs/rank-1.log:3`, a run's id, or empty where the numbers are the evidence."""

    def to_json(self) -> dict[str, str]:
        """Return the doubt as DESIGN's results JSON has it, its message in the current language."""
        severity = SEVERITIES[self.id]
        return {"id": self.id, "severity": severity, "message": self.message, "evidence": self.evidence}

    @property
    def message(self) -> str:
        """What is doubted and why, in the current language."""
        name = "_".join(filter(None, (f"doubts.{self.id.replace('-', '_')}", self.kind)))
        if "mode" not in self.values:
            return message(name, **self.values)
        return message(name, **self.values, scaling=message(f"web.mode_{self.values['mode']}"))

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "Doubt":
        """Return a doubt from its fields as JSON. Raises KeyError, TypeError or ValueError for what is none."""
        values = {str(name): str(text) for name, text in value["values"].items()}
        doubt = cls(str(value["id"]), values, str(value["kind"]), str(value["evidence"]))
        if not doubt.message:
            raise ValueError(value["id"])
        return doubt


@dataclass(frozen=True)
class RunJudgement:
    """What a run's own records say about its result."""

    doubts: tuple[Doubt, ...] = ()
    work: float | None = None
    """Samples of a step over all processes, as the Meter told them; None when it did not."""


def is_false(doubts: Iterable[Mapping[str, Any]]) -> bool:
    """Return whether one of the doubts of a point or a run (as JSON) says that its result is false."""
    return any(doubt["severity"] == FALSE for doubt in doubts)


def believed(points: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the points (as DESIGN's results JSON) with a speed-up that is not false: what a study has reached."""
    return [point for point in points if point["speedup"] is not None and not is_false(point["doubts"])]


def merged(doubts: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return doubts (as JSON) each kind once, false ones first: what several runs of a point show."""
    order = list(SEVERITIES)
    first: dict[str, dict[str, Any]] = {}
    for doubt in doubts:
        first.setdefault(doubt["id"], dict(doubt))
    return sorted(first.values(), key=lambda doubt: order.index(doubt["id"]))


def work_doubt(mode: str, processes: int, work: float, base_processes: int, base_work: float) -> Doubt | None:
    """Return a doubt when a run's samples per step are not those of its study's mode; None when they are.

    `work`, `base_work`: samples of a step over all processes. In weak scaling they grow with the processes, in strong
    scaling they stay: there a batch that cannot be divided may lose up to one sample a process.
    """
    if mode not in ("weak", "strong") or not base_work > 0 or not base_processes:
        return None
    expected = base_work * processes / base_processes if mode == "weak" else base_work
    rounding = processes if mode == "strong" else 0.0
    if abs(work - expected) <= max(WORK * expected, rounding):
        return None
    return Doubt(
        "work-mismatch",
        {
            "work": f"{work:.6g}", "expected": f"{expected:.6g}", "processes": str(processes),
            "base": str(base_processes), "mode": mode,
        },
    )  # fmt: skip


def point_doubts(
    point: Mapping[str, Any], base: Mapping[str, Any] | None, before: Mapping[str, Any] | None, smallest: int
) -> list[dict[str, str]]:
    """Return the doubts that a point raises beside others of its series (points as DESIGN's results JSON).

    `base`: the series' base point; `before`: the next smaller point with a value; `smallest`: fewest processes asked
    for.
    """
    doubts: list[Doubt] = []
    if point["value"] is None:
        return []
    if base is not None and point["processes"] == base["processes"] and smallest < point["processes"]:
        doubts.append(Doubt("base-mismatch", {"base": str(base["processes"]), "smallest": str(smallest)}))
    if base is not None and _super_linear(point, base):
        doubts.append(Doubt("super-linear", {"efficiency": f"{100 * point['efficiency']:.1f}"}))
    noise = _noise([point, before]) if before is not None else None
    if before is not None and noise is not None and abs(point["speedup"] - before["speedup"]) < noise:
        doubts.append(Doubt("noise", {"processes": str(before["processes"]), "deviation": f"{noise:.4g}"}))
    return [doubt.to_json() for doubt in doubts]


def _super_linear(point: Mapping[str, Any], base: Mapping[str, Any]) -> bool:
    """Return whether an efficiency lies above 1 by more than the noise of both points' repeats explains."""
    efficiency = point["efficiency"]
    if efficiency is None or point["processes"] <= base["processes"] or efficiency <= 1 + SUPER_LINEAR:
        return False
    spreads = [entry["spread"] for entry in (point, base)]
    if any(spread["n"] < REPEATS or spread["stdev"] is None for spread in spreads):
        return bool(efficiency > 1 + FAR_SUPER_LINEAR)
    relative = [entry["spread"]["stdev"] / entry["value"] for entry in (point, base)]
    sigma = efficiency * math.hypot(*relative)
    return bool(efficiency - 1 > SIGMAS * sigma)


def _noise(points: Sequence[Mapping[str, Any]]) -> float | None:
    """Return the larger standard deviation of points over their repeats, as a speed-up; None where one has none.

    Values themselves would not do: the time of a step whose work grows with the processes had better not change at all.
    """
    if any(point["spread"]["stdev"] is None or point["speedup"] is None for point in points):
        return None
    return max(float(point["speedup"] * point["spread"]["stdev"] / point["value"]) for point in points)
