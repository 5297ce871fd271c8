"""The slots of a comparison: the order of their settings, and their results."""

import hashlib
import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean
from typing import Any

from hackathon.logs.final import final_numbers
from hackathon.logs.metrics import series
from hackathon.runs.directory import RunDirectory
from hackathon.runs.record import RunRecord
from hackathon.text.numbers import finite, integer

FINISHED = "finishes_per_s"
"""The metric of programs without a throughput: complete runs per second."""


@dataclass(frozen=True)
class TrainingStart:
    """The result of one start of the program."""

    arm: int
    """0: the unchanged program; from 1 on the options."""
    round: int
    value: float | None
    """Its throughput; None without one or after a failure."""
    metric: str = ""
    unit: str = ""
    loss: float | None = None
    """Mean loss of the last third of its steps; NaN and infinities stay."""
    losses: Mapping[float, float] = field(default_factory=dict)
    """Step → loss."""
    shares: Mapping[str, float] = field(default_factory=dict)
    """`data`, `compute`, … → share of the time of a step."""
    seconds: float = 0.0
    """Its duration if it ended by itself; else 0."""
    memory: int | None = None
    failed: bool = False
    folder: str = ""
    """Relative to the run."""
    numbers: Mapping[str, float] = field(default_factory=dict)
    """Metric → final number."""


def order_of(arms: int, rounds: int, seed: str) -> list[dict[str, int]]:
    """Return the slots of a comparison: every round has each arm once, in a random order drawn from `seed`.

    This is a randomised complete block design: changes of the machine affect all arms alike.
    """
    drawn = random.Random(hashlib.sha256(seed.encode()).hexdigest())
    slots = []
    for number in range(rounds):
        order = list(range(arms))
        drawn.shuffle(order)
        slots += [{"arm": arm, "round": number} for arm in order]
    return slots


def slot_folders(run: RunDirectory) -> list[str]:
    """Return a run's complete slots, relative to the run, in order."""
    return sorted(
        f"slots/{name}"
        for name, kind in run.files.kinds("slots").items()
        if kind == "folder" and name.isdecimal() and run.files.json(f"slots/{name}/slot.json")
    )


def read_slots(run: RunDirectory) -> list[TrainingStart]:
    """Return the results of a comparison's complete slots, in order.

    Raises RequestError for a metric's pattern that is not a regular expression.
    """
    record = run.known()
    slots = [_read(run, folder, record) for folder in slot_folders(run)]
    return _by_duration(slots) if all(slot.value is None for slot in slots) else slots


def _read(run: RunDirectory, folder: str, record: RunRecord) -> TrainingStart:
    slot = run.files.json(f"{folder}/slot.json")
    arm, number = integer(slot.get("arm")), integer(slot.get("round"))
    path: Path = run.path / folder
    failed = bool(slot.get("failed"))
    numbers = final_numbers(path, record, over=True)
    losses = dict(series(path).get("loss", []))
    shares = {name.removesuffix("_share"): value for name, value in numbers.values.items() if name.endswith("_share")}
    return TrainingStart(
        arm=-1 if arm is None else arm,
        round=-1 if number is None else number,
        value=None if failed else numbers.value,
        metric=numbers.metric,
        unit=numbers.unit,
        losses=losses,
        loss=_end_of(losses, numbers.values),
        shares=shares,
        seconds=finite(slot.get("seconds")) or 0.0 if slot.get("ended") == "itself" else 0.0,
        memory=integer(slot.get("memory")),
        failed=failed,
        folder=folder,
        numbers=numbers.values,
    )


def _end_of(losses: Mapping[float, float], values: Mapping[str, float]) -> float | None:
    """Return the mean loss of the last third of the steps; the last printed loss without a curve."""
    if losses:
        steps = sorted(losses)
        return fmean(losses[step] for step in steps[-max(1, len(steps) // 3) :])
    return values.get("loss")


def _by_duration(slots: Sequence[TrainingStart]) -> list[TrainingStart]:
    """Return the slots measured by their duration, if all of them ended by themselves; else unchanged."""
    if not slots or any(slot.seconds <= 0 and not slot.failed for slot in slots):
        return list(slots)
    return [
        replace(slot, value=None if slot.failed else 1 / slot.seconds, metric=FINISHED, unit="1/s") for slot in slots
    ]


def common_losses(first: TrainingStart, second: TrainingStart) -> tuple[float, float] | None:
    """Return the mean losses of two slots over the last third of the steps that both reached; None without any.

    Without a curve the last losses are compared, which are of the same step only if both ended by themselves.
    """
    steps = sorted(first.losses.keys() & second.losses.keys())
    if steps:
        last = steps[-max(1, len(steps) // 3) :]
        return fmean(first.losses[step] for step in last), fmean(second.losses[step] for step in last)
    if first.seconds > 0 and second.seconds > 0 and first.loss is not None and second.loss is not None:
        return first.loss, second.loss
    return None


def task_json(value: Mapping[str, Any]) -> bytes:
    """Return a task in the job's format."""
    return (json.dumps(value, indent=1, sort_keys=True) + "\n").encode("utf-8", "surrogateescape")
