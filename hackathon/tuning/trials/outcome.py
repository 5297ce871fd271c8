"""The state of a tuning: the best trial, the cost, the saving by stopping, the value of another trial."""

import math
from collections.abc import Sequence
from statistics import fmean, median

from hackathon.tuning.trials.ledger import Trial
from hackathon.tuning.trials.objective import END
from hackathon.tuning.trials.plan import TuningPlan
from hackathon.tuning.trials.reading import FAILED, FINISHED, STOPPED, Progress

HOPELESS = 3
"""Number of failed trials from which a tuning where all fail is given up."""
_ENDED_WELL = frozenset({FINISHED, STOPPED})


def best(trials: Sequence[Trial], plan: TuningPlan) -> Trial | None:
    """Return the finished trial with the best result, the first of several."""
    leader: Trial | None = None
    for trial in trials:
        value = trial.progress.value
        if trial.progress.state != FINISHED or value is None:
            continue
        if leader is None or plan.objective.better(value, leader.progress.value or 0.0):
            leader = trial
    return leader


def hopeless(trials: Sequence[Trial]) -> bool:
    """Return whether so many trials failed, without any other result, that more of them would fail, too."""
    ended = [trial.progress.state for trial in trials if not trial.place]
    return len(ended) >= HOPELESS and all(state == FAILED for state in ended)


def tokens_used(trials: Sequence[Trial]) -> float:
    """Return the cost of the trials' jobs so far."""
    return math.fsum(trial.progress.used.tokens or 0.0 for trial in trials)


def tokens_open(trials: Sequence[Trial]) -> float:
    """Return the maximum remaining cost of waiting and running jobs."""
    return math.fsum(trial.progress.still.tokens or 0.0 for trial in trials)


def share_of_all(trials: Sequence[Trial], plan: TuningPlan) -> float | None:
    """Return the trials' time ÷ their estimated time without stopping; None if none finished.

    A stopped trial would have taken as long as the finished ones on average; if the whole training counts, as long as
    it needs at its own pace for as many values as the finished ones have (median).
    """
    finished = [trial.progress for trial in trials if trial.progress.state == FINISHED and trial.progress.seconds]
    ended = [trial.progress for trial in trials if trial.progress.state in _ENDED_WELL]
    if not finished:
        return None
    usual = fmean(progress.seconds for progress in finished)
    # for END: the number of values
    values = median(progress.curve[-1][0] if progress.curve else 0.0 for progress in finished)

    def whole(stopped: Progress) -> float:
        if plan.objective.kind == END and stopped.curve and values:
            return stopped.seconds * max(1.0, values / max(1.0, stopped.curve[-1][0]))
        return max(usual, stopped.seconds)

    total = math.fsum(whole(progress) if progress.state == STOPPED else progress.seconds for progress in ended)
    return math.fsum(progress.seconds for progress in ended) / total if total > 0 else None


LEAST = 8
"""Number of trials from which the next one is predicted."""


def another_better(trials: Sequence[Trial]) -> float | None:
    """Return the probability that one more random trial is better than the best; None for too few trials.

    The best of n + 1 exchangeable draws is the last one with probability 1 ÷ (n + 1). Stopped trials count, because
    they would not have become the best.
    """
    count = sum(trial.progress.state in _ENDED_WELL for trial in trials)
    return 1.0 / (count + 1) if count >= LEAST and any(trial.progress.value is not None for trial in trials) else None
