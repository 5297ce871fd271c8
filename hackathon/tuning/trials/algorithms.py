"""Find the best algorithm: compare the choices of one dimension (optimizer, batch policy, compression).

All algorithms get the same number of trials at first. At a few planned looks, those that are certainly not the best get
no more, and the others share the rest. The score of an algorithm is the expected best of BEST_OF of its trials: nobody
uses a random configuration, and the best of all says little and varies much.

Two conditions stop an algorithm. The bootstrap over trials (with the spread of predicted ends) gives it a probability
of being the best below delta. And the lead of the best one over it exceeds the largest difference between any two under
random exchange of all trials, with a level of delta ÷ looks: so over all looks together equal algorithms are separated
with a probability of at most delta, for any distribution of results. This needs configurations that do not depend on
results: while algorithms are compared, they are drawn at random.
"""

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache

from hackathon.config.records import Scalar
from hackathon.tuning.trials.curves import WIDENED, ExpectedEnd, Scale, by_families, by_ratios
from hackathon.tuning.trials.ledger import Trial
from hackathon.tuning.trials.objective import END, TIME_TO
from hackathon.tuning.trials.outcome import HOPELESS, best
from hackathon.tuning.trials.plan import TuningPlan
from hackathon.tuning.trials.reading import FAILED, FINISHED, STOPPED, with_final

LEVEL = 0.05
"""Highest probability of separating equal algorithms."""
BEST_OF = 3
"""Trials whose best one represents an algorithm."""
FIRST_LOOK = 5
"""Trials of each algorithm at the first look; each further look comes after twice as many."""
USUAL_TRIALS = 80
"""Trials for which looks are planned when only tokens limit them."""
DRAWS = 1000
"""Bootstrap samples, and random exchanges."""
Fixed = tuple[tuple[Scalar, tuple[ExpectedEnd, ...]], ...]
GUESS = 0.3
"""Spread of the end of a stopped trial on the scale of costs when it is otherwise unknown."""


@dataclass(frozen=True)
class AlgorithmStanding:
    """The state of one algorithm."""

    name: Scalar
    trials: int
    """Trials with a result or a prediction."""
    probability: float | None = None
    """Probability of being the best one; None before each has FIRST_LOOK trials."""
    out: bool = False
    """Whether it gets no more trials."""


@dataclass(frozen=True)
class AlgorithmComparison:
    """The comparison of all algorithms by the trials so far."""

    algorithms: tuple[AlgorithmStanding, ...]
    decided: bool = False
    """Whether all but one are certainly not the best."""

    @property
    def best(self) -> AlgorithmStanding | None:
        """The most probable one; None while unknown."""
        candidates = [standing for standing in self.algorithms if standing.probability is not None and not standing.out]
        return max(candidates, key=lambda standing: standing.probability or 0.0, default=None)

    @property
    def living(self) -> list[Scalar]:
        """The algorithms that get more trials."""
        return [standing.name for standing in self.algorithms if not standing.out]


def comparison(
    plan: TuningPlan, trials: Sequence[Trial], *, over: bool = False, told: bool = False
) -> AlgorithmComparison | None:
    """Return the state of a plan's algorithms; None when it compares none.

    `over`: no trial will be added. `told`: with the probabilities, which take a while.
    """
    axis = next((dimension for dimension in plan.space if dimension.name == plan.compare), None)
    if axis is None:
        return None
    ends = expected_ends(plan, trials)
    groups: dict[Scalar, list[ExpectedEnd]] = {name: [] for name in axis.choices}
    failed: dict[Scalar, int] = dict.fromkeys(axis.choices, 0)
    for trial in sorted(trials, key=lambda trial: trial.number):
        name = trial.settings.get(axis.name)
        if name not in groups:
            continue
        if trial.number in ends:
            groups[name].append(ends[trial.number])
        failed[name] += trial.progress.state == FAILED
    hopeless = {name for name in groups if failed[name] >= HOPELESS and not groups[name]}
    standings = compare(
        {name: members for name, members in groups.items() if name not in hopeless}, plan.trials, LEVEL, plan.seed,
        over=over, told=told,
    )  # fmt: skip
    by_name = {standing.name: standing for standing in standings.algorithms}
    gone = tuple(AlgorithmStanding(name, 0, 0.0, out=True) for name in hopeless)
    return replace(standings, algorithms=tuple(by_name[name] for name in groups if name in by_name) + gone)


def expected_ends(plan: TuningPlan, trials: Sequence[Trial]) -> dict[int, ExpectedEnd]:
    """Return number → the actual or expected end of each trial, on a scale where less is better."""
    finished = [trial for trial in trials if trial.progress.state == FINISHED and trial.progress.value is not None]
    if plan.objective.kind == TIME_TO:
        return _times(plan, trials)
    curves = [with_final(trial.progress.curve, trial.progress, plan.objective) for trial in finished]
    stopped = [trial for trial in trials if trial.progress.state == STOPPED and trial.progress.curve]
    values = [trial.progress.value or 0.0 for trial in finished]
    values += [value for curve in (*curves, *(trial.progress.curve for trial in stopped)) for _, value in curve]
    scale = Scale.of([value for value in values if math.isfinite(value)], plan.objective.maximise)
    ends = {trial.number: ExpectedEnd(scale.cost(trial.progress.value or 0.0), 0.0, 1.0) for trial in finished}
    lengths = sorted(curve[-1][0] for curve in curves if curve)
    horizon = lengths[len(lengths) // 2] if plan.objective.kind == END and lengths else plan.objective.seconds
    worst = max((end.mean for end in ends.values()), default=None)
    for trial in stopped:
        curve = trial.progress.curve
        if not math.isfinite(curve[-1][1]):
            if worst is not None:  # it diverged
                ends[trial.number] = ExpectedEnd(worst, 0.0, 1.0)
            continue
        end = None
        if horizon is not None and curve[-1][0] < horizon:
            end = by_ratios(curve, curves, horizon, scale) or by_families(curve, horizon, scale, WIDENED)
        ends[trial.number] = end or ExpectedEnd(scale.cost(curve[-1][1]), GUESS, math.inf)
    return ends


def _times(plan: TuningPlan, trials: Sequence[Trial]) -> dict[int, ExpectedEnd]:
    """Return the logarithms of times to a value; a trial that was stopped as too slow counts with twice the best."""
    fastest = best(trials, plan)
    ends = {}
    for trial in trials:
        value = trial.progress.value if trial.progress.state == FINISHED else None
        if trial.progress.state == STOPPED and fastest is not None:
            value = 2 * (fastest.progress.value or 0.0)
        if value is not None:
            ends[trial.number] = ExpectedEnd(math.log(max(value, 1e-3)), 0.0, 1.0)
    return ends


def looks(trials: int | None) -> list[int]:
    """Return the numbers of trials per algorithm at which to decide; one more look comes at the end."""
    most, counts = (USUAL_TRIALS if trials is None else trials) // 2, []
    number = FIRST_LOOK
    while number <= most:
        counts.append(number)
        number *= 2
    return counts


def compare(
    groups: Mapping[Scalar, Sequence[ExpectedEnd]], trials: int | None, delta: float, seed: str, *,
    over: bool = False, told: bool = False,
) -> AlgorithmComparison:  # fmt: skip
    """Return the state of algorithms whose trials have these ends, in order; pure and deterministic.

    Each planned look uses the first so many trials of each remaining algorithm, and no later ones.
    """
    planned = looks(trials)
    level = delta / (len(planned) + 1)
    living = list(groups)
    for number in planned:
        if len(living) < 2 or any(len(groups[name]) < number for name in living):
            break
        living = _after_look(_fixed({name: groups[name][:number] for name in living}), delta, level, seed)
    ready = len(groups) > 0 and all(len(ends) >= FIRST_LOOK for ends in groups.values())
    if over and ready and len(living) > 1:
        living = _after_look(_fixed({name: groups[name] for name in living}), delta, level, seed)
    chances = probabilities(groups, seed) if ready and told else {}
    standings = [
        AlgorithmStanding(name, len(ends), chances.get(name), name not in living) for name, ends in groups.items()
    ]
    return AlgorithmComparison(tuple(standings), decided=len(living) == 1 and len(groups) > 1)


def _fixed(groups: Mapping[Scalar, Sequence[ExpectedEnd]]) -> Fixed:
    return tuple((name, tuple(ends)) for name, ends in groups.items())


@lru_cache(256)  # a tuner calls this every second, with arguments that change only when a trial ends
def _after_look(fixed: Fixed, delta: float, level: float, seed: str) -> list[Scalar]:
    groups = dict(fixed)
    scores = {name: score(sorted(end.mean for end in ends)) for name, ends in groups.items()}
    first = min(scores.values())
    beyond = exchanged(groups, [scores[name] - first for name in groups], level, seed)
    worse = [name for name, share in zip(groups, beyond, strict=True) if share < level]
    chances = probabilities(groups, seed) if worse else {}
    return [name for name in groups if name not in worse or chances[name] >= delta]


def probabilities(groups: Mapping[Scalar, Sequence[ExpectedEnd]], seed: str) -> dict[Scalar, float]:
    """Return each algorithm's probability of being the best, by the bootstrap over trials."""
    return dict(_probabilities(_fixed(groups), seed))


@lru_cache(256)
def _probabilities(fixed: Fixed, seed: str) -> Mapping[Scalar, float]:
    groups = dict(fixed)
    source = random.Random(f"algorithms {seed} {[len(ends) for ends in groups.values()]}")
    counts = dict.fromkeys(groups, 0.0)
    for _ in range(DRAWS):
        drawn = {
            name: score(sorted(_drawn(source, end) for end in source.choices(ends, k=len(ends))))
            for name, ends in groups.items()
        }
        least = min(drawn.values())
        first = [name for name, value in drawn.items() if value == least]
        for name in first:
            counts[name] += 1.0 / len(first)
    return {name: count / DRAWS for name, count in counts.items()}


def _drawn(source: random.Random, end: ExpectedEnd) -> float:
    if end.spread <= 0.0:
        return end.mean
    wide = 1.0 if math.isinf(end.freedom) else math.sqrt(source.gammavariate(end.freedom / 2, 2 / end.freedom))
    return end.mean + end.spread * max(-8.0, min(8.0, source.gauss(0.0, 1.0) / max(wide, 1e-6)))


def exchanged(
    groups: Mapping[Scalar, Sequence[ExpectedEnd]], leads: Sequence[float], level: float, seed: str
) -> list[float]:
    """Return, for each lead, how often two algorithms differ as much when all trials are exchanged at random.

    The observed order counts as one of the exchanges. It stops as soon as no lead can be below the level any more: the
    returned values are then too small, but still not below it.
    """
    source = random.Random(f"exchange {seed} {[len(ends) for ends in groups.values()]}")
    values = [end.mean for ends in groups.values() for end in ends]
    sizes = [len(ends) for ends in groups.values()]
    counts = [1] * len(leads)
    enough = level * (DRAWS + 1)
    for _ in range(DRAWS):
        source.shuffle(values)
        scores, start = [], 0
        for size in sizes:
            scores.append(score(sorted(values[start : start + size])))
            start += size
        apart = max(scores) - min(scores)
        for number, lead in enumerate(leads):
            counts[number] += apart >= lead - 1e-12
        if all(count >= enough for count in counts):
            break
    return [count / (DRAWS + 1) for count in counts]


def score(ordered: Sequence[float]) -> float:
    """Return the expected minimum of BEST_OF values drawn without replacement; `ordered`: ascending."""
    return math.fsum(weight * value for weight, value in zip(_weights(len(ordered)), ordered, strict=False))


@cache
def _weights(count: int) -> tuple[float, ...]:
    taken = min(BEST_OF, count)
    total = math.comb(count, taken)
    return tuple(math.comb(count - 1 - number, taken - 1) / total for number in range(count - taken + 1))


def next_algorithm(plan: TuningPlan, trials: Sequence[Trial], standings: AlgorithmComparison) -> list[Scalar]:
    """Return the algorithms that get a trial, the one with the fewest trials first."""
    counts = {name: sum(trial.settings.get(plan.compare) == name for trial in trials) for name in standings.living}
    return sorted(standings.living, key=lambda name: counts[name])
