"""What a training has to reach: by what was asked for, or by the runs of a study that reached their check."""

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from hackathon.index.record import RunEntry
from hackathon.logs.metrics import series as curves
from hackathon.prediction.rows import STRONG
from hackathon.prediction.training import Goal, Need
from hackathon.runs.record import RecordedCheck
from hackathon.runs.states import SUCCEEDED

MOST_RUNS = 64
"""Runs of a study whose curves are read, the newest ones."""
EPOCHS = "epochs"
"""The final number of a program that says how many epochs it did."""


@dataclass(frozen=True)
class Wish:
    """What was asked for on the command line; None was not."""

    epochs: float | None = None
    """At the smallest size that can be used."""
    samples: float | None = None
    """Of an epoch."""
    batch: float | None = None
    """Samples of a step: of one process in weak scaling, of all in strong scaling."""
    critical: float | None = None
    target: RecordedCheck | None = None

    @property
    def asks(self) -> bool:
        """Whether the time of a training is asked for."""
        return any(number is not None for number in (self.epochs, self.samples, self.critical, self.target))


NO_WISH = Wish()


def goal_asked(wish: Wish, mode: str, base: int, batch: float | None) -> Goal | None:
    """Return the goal of epochs and samples that were asked for; None without both.

    `base`: processes of the size at which they hold; `batch`: as Wish.batch, where it is not asked for but known.
    """
    if wish.epochs is None or wish.samples is None:
        return None
    own = wish.batch or batch
    weak = mode != STRONG
    size = own or 1.0
    need = Need(size * base if weak else size, wish.epochs * wish.samples)
    return Goal((need,), size, weak, own is not None, wish.samples, wish.critical, given=True)


def goal_measured(
    runs: Sequence[RunEntry], check: RecordedCheck | None, mode: str, batch: float | None, wish: Wish = NO_WISH
) -> Goal | None:
    """Return the goal that runs reached: the samples at which the check's metric first passed, for each batch.

    A run that wrote the metric only at its end had passed by then. None when no run tells.
    """
    own = wish.batch or batch
    check = wish.target or check
    if own is None or check is None or (check.at_least is None and check.at_most is None):
        return None
    good = [run for run in runs if run.state == SUCCEEDED and run.work and run.step and not run.is_false]
    needs = [need for run in good[-MOST_RUNS:] if (need := _need(run, check)) is not None]
    if not needs:
        return None
    return Goal(tuple(needs), own, mode != STRONG, True, wish.samples or epoch_samples(good), wish.critical)


def _need(run: RunEntry, check: RecordedCheck) -> Need | None:
    """Return when a run reached its target; None when it did not."""
    work, steps = run.work or 0.0, run.step or 0
    if not run.removed:
        curve = curves(Path(run.project) / "runs" / run.id).get(check.metric, [])
        before = False
        for step, value in curve:
            if check.passes(value):
                return Need(work, step * work, before) if step > 0 else None
            before = True
    if check.passes(dict(run.numbers).get(check.metric)):
        return Need(work, steps * work, exact=False)
    return None


def epoch_samples(runs: Iterable[RunEntry]) -> float | None:
    """Return the samples of an epoch, by the newest run that told how many epochs it did."""
    samples = None
    for run in runs:
        epochs = dict(run.numbers).get(EPOCHS)
        if epochs is not None and math.isfinite(epochs) and epochs >= 1 and run.work and run.step:
            samples = run.work * run.step / epochs
    return samples


def alike(series: Sequence[Sequence[RunEntry]]) -> Iterator[list[RunEntry]]:
    """Yield for each series of a study the runs that tell how many samples its training needs.

    Its own; and those of the others where the series differ in nothing but the batch.
    """
    every = list(itertools.chain.from_iterable(series))
    only_batches = {name for run in every for name in run.settings} <= {"batch_size"}
    for own in series:
        yield every if only_batches else list(own)
