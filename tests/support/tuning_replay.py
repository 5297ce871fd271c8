"""Replays tuning over recorded learning curves: what a rule of stopping costs, chooses, and gets wrong."""

import csv
import gzip
import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

from hackathon.tuning.trials.stopping import DELTA, StopVerdict, TrialSituation
from support.paths import TESTS

CURVES = TESTS / "samples" / "tuning" / "curves.csv.gz"
"""Made by `tests/bench/make_learning_curves.py`."""
Rule = Callable[[TrialSituation], StopVerdict]


@dataclass(frozen=True)
class Replay:
    """What one replay came to."""

    epochs: float
    """Share of the epochs of training all of them."""
    same: bool
    """Whether the choice is as good as the best of all."""
    regret: float
    """How much worse the choice is, in units of the metric."""
    stopped: int
    wrongly: int
    """Stopped trials that would have become better than the one that was best then."""


@cache
def curves(metric: str) -> tuple[tuple[float, ...], ...]:
    """Return the values after each epoch of every configuration."""
    with gzip.open(CURVES, "rt", encoding="utf-8", newline="") as stream:
        rows = list(csv.reader(stream))
    column = rows[0].index("metric")
    return tuple(tuple(map(float, row[column + 1 :])) for row in rows[1:] if row[column] == metric)


def replay(
    rule: Rule, chosen: Sequence[Sequence[float]], *, maximise: bool, concurrent: int = 4, delta: float = DELTA
) -> Replay:
    """Return what a rule does when so many trials run at once, each an epoch at a time, in the order given."""
    length, sign = len(chosen[0]), 1.0 if maximise else -1.0
    whole = [tuple((float(x), value) for x, value in enumerate(each, 1)) for each in chosen]
    waiting, running = list(range(len(chosen))), {}
    seen: dict[int, int] = {}
    finished: list[int] = []
    stopped = wrongly = 0
    while waiting or running:
        while waiting and len(running) < concurrent:
            running[waiting.pop(0)] = None
        for number in list(running):
            seen[number] = seen.get(number, 0) + 1
            if seen[number] == length:
                finished.append(number)
                del running[number]
                continue
            finals = [chosen[each][-1] for each in finished]
            best = max(finals, key=lambda value: sign * value) if finals else None
            others = [whole[each][:count] for each, count in seen.items() if each != number]
            now = TrialSituation(
                whole[number][: seen[number]], [whole[each] for each in finished], others, float(length), best,
                maximise, delta,
            )  # fmt: skip
            if rule(now).stop:
                stopped += 1
                wrongly += best is not None and sign * chosen[number][-1] > sign * best
                del running[number]
    best_of_all = max((each[-1] for each in chosen), key=lambda value: sign * value)
    choice = max((chosen[each][-1] for each in finished), key=lambda value: sign * value, default=math.nan)
    regret = sign * (best_of_all - choice)
    return Replay(sum(seen.values()) / (length * len(chosen)), regret <= 0, regret, stopped, wrongly)


def draws(metric: str, size: int, count: int, seed: int = 1) -> list[list[tuple[float, ...]]]:
    """Return so many random choices of configurations in random order."""
    known = curves(metric)
    return [random.Random(f"{seed}-{number}").sample(known, size) for number in range(count)]
