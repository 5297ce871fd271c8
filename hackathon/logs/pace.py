"""Estimate a training's progress and remaining time, by its Meter and its parameters."""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hackathon.logs.values import number

STEPS = ("max_steps", "total_steps", "train_steps", "num_steps", "n_steps", "steps", "max_iterations", "iterations",
         "max_iters", "max_iter", "num_iterations", "iters")  # fmt: skip
"""Parameters for the number of steps of a training."""
EPOCHS = ("max_epochs", "num_epochs", "num_train_epochs", "n_epochs", "epochs")
"""Parameters for the number of epochs of a training."""
INTERVALS = 10
"""Last lines whose pace counts."""


@dataclass(frozen=True)
class Pace:
    """The progress of a training."""

    done: float
    """Steps or whole epochs."""
    total: float
    unit: str
    """`step` or `epoch`."""
    seconds: float
    """From its newest line until the end, at the pace of its last lines; 0 when all is done."""
    moment: float
    """Time of that line, in seconds since 1970."""


def pace(lines: Sequence[Mapping[str, Any]], parameters: Mapping[str, Any]) -> Pace | None:
    """Return a training's progress; None when its length is unknown or it has hardly begun.

    `lines`: of the newest attempt of one rank's Meter, from its beginning, or its first and its last ones.
    """
    rows = [line for line in lines if not line.get("final") and _number(line, "t") is not None]
    epochs, steps = _asked(parameters, EPOCHS), _asked(parameters, STEPS)
    if epochs and any(_number(line, "epoch") is not None for line in rows):
        return _by_epochs(rows, epochs)
    return _by_steps(rows[-INTERVALS - 1 :], steps) if steps else None


def _by_steps(lines: Sequence[Mapping[str, Any]], total: float) -> Pace | None:
    points = [(t, step) for line in lines if (t := _number(line, "t")) is not None
              and (step := _number(line, "step")) is not None]  # fmt: skip
    if len(points) < 2:
        return None
    (begin, first), (end, last) = points[0], points[-1]
    if end <= begin or last <= first or last > total:
        return None
    return Pace(last, total, "step", (total - last) * (end - begin) / (last - first), end)


def _by_epochs(lines: Sequence[Mapping[str, Any]], total: float) -> Pace | None:
    """Return the pace by whole epochs; the first line shows whether they are counted from 0 or from 1."""
    points = [(t, epoch) for line in lines if (t := _number(line, "t")) is not None
              and (epoch := _number(line, "epoch")) is not None]  # fmt: skip
    if not points or points[0][1] not in (0.0, 1.0):  # a resumed training, whose base is unknown
        return None
    changes = [after for before, after in itertools.pairwise(points) if after[1] > before[1]]
    if not changes:
        return None
    (since, current), (begin, base) = changes[-1], points[0]
    done = current - base
    if done >= total or since <= begin:
        return None
    seconds = (since - begin) / done
    now = points[-1][0]
    return Pace(done, total, "epoch", max(0.0, (total - done) * seconds - (now - since)), now)


def _asked(parameters: Mapping[str, Any], names: Sequence[str]) -> float | None:
    numbers = (number(parameters.get(name)) for name in names if name in parameters)
    return next((amount for amount in numbers if amount is not None and math.isfinite(amount) and amount > 0), None)


def _number(line: Mapping[str, Any], name: str) -> float | None:
    value = number(line.get(name))
    return value if value is not None and math.isfinite(value) else None
