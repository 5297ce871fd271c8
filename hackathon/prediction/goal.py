"""The goal of a training: as requested, or from the runs of a study that passed their check."""

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
"""The final number of a program with its number of epochs."""


@dataclass(frozen=True)
class Wish:
    """The command line's request; None: not specified."""

    epochs: float | None = None
    """At the smallest usable size."""
    samples: float | None = None
    """Samples per epoch."""
    batch: float | None = None
    """Samples per step: of one process in weak scaling, of all in strong scaling."""
    critical: float | None = None
    target: RecordedCheck | None = None

    @property
    def asks(self) -> bool:
        """Whether the time of a training is requested."""
        return any(number is not None for number in (self.epochs, self.samples, self.critical, self.target))


NO_WISH = Wish()


def goal_asked(wish: Wish, mode: str, base: int, batch: float | None) -> Goal | None:
    """Return the goal of the requested epochs and samples; None without both.

    `base`: processes of the size for which they are valid; `batch`: as Wish.batch, if it is known without a request.
    """
    if wish.epochs is None or wish.samples is None:
        return None
    own = wish.batch or batch
    weak = mode != STRONG
    size = own or 1.0
    need = Need(size * base if weak else size, wish.epochs * wish.samples)
    return Goal((need,), size, weak, own is not None, wish.samples, wish.critical, given=True)


def goal_measured(
    runs: Sequence[RunEntry], check: RecordedCheck | None, mode: str, batch: float | None, wish: Wish
) -> Goal | None:
    """Return the goal that runs reached: the samples at which the check's metric first passed, for each batch.

    A run that wrote the metric only at its end had passed by then. None without data.
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
    """Return the samples per epoch, by the newest run with a number of epochs."""
    samples = None
    for run in runs:
        epochs = dict(run.numbers).get(EPOCHS)
        if epochs is not None and math.isfinite(epochs) and epochs >= 1 and run.work and run.step:
            samples = run.work * run.step / epochs
    return samples


def alike(series: Sequence[Sequence[RunEntry]]) -> Iterator[list[RunEntry]]:
    """Yield for each series of a study the runs that show how many samples its training needs.

    These are its own, and those of other series that differ only in the batch.
    """
    every = list(itertools.chain.from_iterable(series))
    only_batches = {name for run in every for name in run.settings} <= {"batch_size"}
    for own in series:
        yield every if only_batches else list(own)
