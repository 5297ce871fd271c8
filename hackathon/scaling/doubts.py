"""Doubts about a result: their kinds, and those that only the points of a study show together. Pure.

`hackathon.diagnosis.doubts` finds those in a run's own records.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hackathon.text.messages import N_, _

_TEXTS = {
    ("identical-ranks", "batches"): N_("all {ranks} ranks did the same work: their first {count} batches are equal"),
    ("identical-ranks", "losses"): N_(
        "all {ranks} ranks did the same work: their {count} losses are equal ({first}, …)"
    ),
    ("identical-ranks", "stream"): N_(
        "all {processes} ranks train with the same samples: the IterableDataset is not divided"
    ),
    ("identical-ranks", "text"): N_(
        "all {processes} ranks train with the same batches: the DataLoader has no sampler, and the seed is the same"
    ),
    ("no-group", ""): N_(
        "the {processes} processes do not work together: {file} and the files that it imports join no process group"
    ),
    ("no-group", "recorded"): N_(
        "the {processes} processes do not work together: none of them had a process group in {steps} recorded "
        "steps, so each one trains alone"
    ),
    ("no-group", "silent"): N_(
        "the {processes} processes do not work together: they form a group, but exchanged nothing in {steps} "
        "recorded steps"
    ),
    ("outside-steps", ""): N_(
        "in {steps} recorded training steps the {processes} processes exchanged nothing; they did so only outside "
        "these steps, as evaluations do. Is the model of each process trained with the others?"
    ),
    ("outside-steps", "beside"): N_(
        "in {steps} recorded training steps the {processes} processes exchanged nothing through their group. Unless "
        "the program averages its gradients with {package}, each process trains alone"
    ),
    ("several-worlds", ""): N_(
        "the {processes} processes form {worlds} groups of {size} that do not know of each other"
    ),
    ("several-worlds", "recorded"): N_(
        "the group of each process has {size} {size:member|members} instead of {processes}: the processes do not "
        "all work together"
    ),
    ("several-worlds", "fixed"): N_(
        "each of the {processes} processes forms a group of its own: the program says `world_size=1`"
    ),
    ("several-worlds", "apart"): N_(
        "the {processes} processes join one group and exchange neither gradients nor weights: each one trains by itself"
    ),
    ("several-worlds", "around"): N_(
        "the {processes} processes exchange no gradients: the program calls `model.module(…)`, which goes around "
        "DistributedDataParallel, so each one trains by itself"
    ),
    ("several-worlds", "launched"): N_(
        "each of the {processes} processes starts `{launcher}`, and with it a group of its own"
    ),
    ("several-worlds", "spawned"): N_(
        "each of the {processes} processes starts ranks of its own that meet on the local machine: they form "
        "{processes} groups"
    ),
    ("work-mismatch", ""): N_(
        "a step processes {work} samples, where {scaling} from {base} {base:process|processes} gives {expected}"
    ),
    ("work-mismatch", "swallowed"): N_(
        "the training ended early: an exception was caught ({text}), and the program went on as if it had succeeded"
    ),
    ("work-mismatch", "divided"): N_(
        "the program divides the batch by the {processes} processes itself: this is strong scaling, shown as weak "
        "scaling"
    ),
    ("bad-loss", "value"): N_("the loss of rank {rank} became {value} and stayed so"),
    ("check-failed", ""): N_("the check failed: {metric} is {value}, wanted {rule}"),
    ("log-cut", ""): N_(
        "the log of rank {rank} has {size} of the {bytes} bytes that it had when the rank ended: what it said "
        "cannot be checked"
    ),
    ("base-mismatch", ""): N_("the base was measured with {base} processes, because {smallest} gave no value"),
    ("warm-up-included", ""): N_(
        "the mean includes the warm-up: without the first value it is {without} instead of {value}"
    ),
    ("unsure-metric", ""): N_(
        "the output does not say whether {metric} is one process's or that of all {processes}; it is taken for "
        "all. Print it with the word total or the unit per GPU, or write `ranks: sum` under `metrics:`"
    ),
    ("coarse-metric", ""): N_(
        "{metric} may be off by more than 10 %: it comes from a time that was printed with one digit. Give each "
        "step more work, or use the Meter"
    ),
    ("metric-contradicted", ""): N_("the program prints {printed} {unit}, but the recorder counted {recorded}"),
    ("undivided-data", "equal"): N_(
        "all {ranks} ranks read the same batches in the same order: their first {count} lists of indices are equal"
    ),
    ("undivided-data", "each"): N_(
        "each of the {ranks} ranks reads the whole data set of {samples} samples in an epoch: it is not divided"
    ),
    ("few-steps", ""): N_(
        "the throughput is that of {steps} {steps:step|steps} after the first ones, too few to be sure of it. Train "
        "for more steps"
    ),
    ("few-steps", "apart"): N_(
        "the {processes} processes exchanged nothing in {steps} recorded training {steps:step|steps}, too few to know "
        "whether they train together. Train for more steps"
    ),
    ("flat-loss", ""): N_("the loss did not fall in {steps} steps (from {first} to {last})"),
    ("super-linear", ""): N_(
        "the efficiency of {efficiency} % is higher than noise explains: does each process still do its part of "
        "the work?"
    ),
    ("super-linear", "few-repeats"): N_(
        "the efficiency is {efficiency} %, and the noise is not known from so few repeats: other work on the machine "
        "may have slowed the {base} {base:process|processes} of the base, or each process does less than its part of "
        "the work. Measure again with `--repeat 3`"
    ),
    ("noise", ""): N_(
        "the speed-up differs from that of {processes} {processes:process|processes} by less than the spread of "
        "the repeats (± {deviation})"
    ),
}
"""Id and kind of a doubt → message."""
_MODE_TEXTS = {"weak": N_("weak scaling"), "strong": N_("strong scaling")}

FALSE, CHECK = "false", "check"
"""The result is not what it seems; it may be right, and somebody should check."""
SEVERITIES = {
    "identical-ranks": FALSE,
    "no-group": FALSE,
    "several-worlds": FALSE,
    "bad-loss": FALSE,
    "check-failed": FALSE,
    "work-mismatch": FALSE,
    "log-cut": FALSE,
    "outside-steps": CHECK,
    "base-mismatch": CHECK,
    "warm-up-included": CHECK,
    "unsure-metric": CHECK,
    "coarse-metric": CHECK,
    "metric-contradicted": CHECK,
    "undivided-data": CHECK,
    "few-steps": CHECK,
    "flat-loss": CHECK,
    "super-linear": CHECK,
    "noise": CHECK,
}
"""Id of each kind of doubt → its severity; a false result is marked wherever it is displayed."""
SUPER_LINEAR, SIGMAS, REPEATS = 0.05, 3.0, 3
"""Excess over 1 of a doubted efficiency: absolute, and in standard deviations; repeats for a standard deviation."""
FAR_SUPER_LINEAR = 0.2
"""Excess over 1 of a doubted efficiency with fewer repeats."""
WORK = 0.02
"""Tolerated relative difference of a step's samples from those of the mode."""


@dataclass(frozen=True)
class Doubt:
    """One reason to doubt a run's result, in stored form."""

    id: str
    """One of SEVERITIES."""
    values: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Placeholders of its message."""
    kind: str = ""
    """Selects one of several messages of the id."""
    evidence: str = ""
    """Its location: `logs/rank-1.log:3`, a run's id, or empty if the numbers are the evidence."""

    def to_json(self) -> dict[str, str]:
        """Return the doubt as in the results' JSON, its message in the current language."""
        severity = SEVERITIES[self.id]
        return {"id": self.id, "severity": severity, "message": self.message, "evidence": self.evidence}

    @property
    def message(self) -> str:
        """The doubt and its reason, in the current language."""
        text = _TEXTS[self.id, self.kind]
        if "mode" not in self.values:
            return _(text, **self.values)
        return _(text, **self.values, scaling=_(_MODE_TEXTS[self.values["mode"]]))

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "Doubt":
        """Return a doubt from its fields as JSON. Raises KeyError, TypeError or ValueError for invalid ones."""
        values = {str(name): str(text) for name, text in value["values"].items()}
        doubt = cls(str(value["id"]), values, str(value["kind"]), str(value["evidence"]))
        if not doubt.message:
            raise ValueError(value["id"])
        return doubt


@dataclass(frozen=True)
class RunJudgement:
    """The verdict of a run's own records on its result."""

    doubts: tuple[Doubt, ...] = ()
    work: float | None = None
    """Samples of a step over all processes, by the Meter; None when not recorded."""


def is_false(doubts: Iterable[Mapping[str, Any]]) -> bool:
    """Return whether one of the doubts of a point or a run (as JSON) marks its result as false."""
    return any(doubt["severity"] == FALSE for doubt in doubts)


def believed(points: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the points (as in `scaling.table.results`) with a speed-up that is not false."""
    return [point for point in points if point["speedup"] is not None and not is_false(point["doubts"])]


def headline(points: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """Return the point that stands for a series: the largest believed one.

    The base's own 100 % says nothing of a study that has larger sizes: then there is none.
    """
    good = believed(points)
    if not good or (len(good) == 1 and any(point["processes"] > good[0]["processes"] for point in points)):
        return None
    return good[-1]


def merged(doubts: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return doubts (as JSON) with each kind once, false ones first: those of several runs of a point."""
    order = list(SEVERITIES)
    first: dict[str, dict[str, Any]] = {}
    for doubt in doubts:
        first.setdefault(doubt["id"], dict(doubt))
    return sorted(first.values(), key=lambda doubt: order.index(doubt["id"]))


def work_doubt(mode: str, processes: int, work: float, base_processes: int, base_work: float) -> Doubt | None:
    """Return a doubt when a run's samples per step do not fit its study's mode; else None.

    `work`, `base_work`: samples of a step over all processes. In weak scaling they grow with the processes, in strong
    scaling they are constant: a batch that is not divisible may lose up to one sample per process.
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
    """Return a point's doubts in comparison with others of its series (points as in `scaling.table.results`).

    `base`: the series' base point; `before`: the next smaller point with a value; `smallest`: fewest requested
    processes.
    """
    doubts: list[Doubt] = []
    if point["value"] is None:
        return []
    if base is not None and point["processes"] == base["processes"] and smallest < point["processes"]:
        doubts.append(Doubt("base-mismatch", {"base": str(base["processes"]), "smallest": str(smallest)}))
    if base is not None and _super_linear(point, base):
        values = {"efficiency": f"{100 * point['efficiency']:.1f}", "base": str(base["processes"])}
        doubts.append(Doubt("super-linear", values, "" if _noise_known(point, base) else "few-repeats"))
    noise = _noise([point, before]) if before is not None else None
    if before is not None and noise is not None and abs(point["speedup"] - before["speedup"]) < noise:
        doubts.append(Doubt("noise", {"processes": str(before["processes"]), "deviation": f"{noise:.4g}"}))
    return [doubt.to_json() for doubt in doubts]


def _super_linear(point: Mapping[str, Any], base: Mapping[str, Any]) -> bool:
    """Return whether an efficiency exceeds 1 by more than the noise of both points' repeats explains."""
    efficiency = point["efficiency"]
    if efficiency is None or point["processes"] <= base["processes"] or efficiency <= 1 + SUPER_LINEAR:
        return False
    if not _noise_known(point, base):
        return bool(efficiency > 1 + FAR_SUPER_LINEAR)
    relative = [entry["spread"]["stdev"] / entry["value"] for entry in (point, base)]
    sigma = efficiency * math.hypot(*relative)
    return bool(efficiency - 1 > SIGMAS * sigma)


def _noise_known(*points: Mapping[str, Any]) -> bool:
    """Return whether each point has enough repeats for a standard deviation."""
    spreads = [point["spread"] for point in points]
    return all(spread["n"] >= REPEATS and spread["stdev"] is not None for spread in spreads)


def _noise(points: Sequence[Mapping[str, Any]]) -> float | None:
    """Return the largest standard deviation of points over their repeats, as a speed-up; None if one has none.

    Values themselves are unsuitable: the time of a step whose work grows with the processes ideally does not change.
    """
    if any(point["spread"]["stdev"] is None or point["speedup"] is None for point in points):
        return None
    return max(float(point["speedup"] * point["spread"]["stdev"] / point["value"]) for point in points)
