"""The options of a tuning study, as stored in its `study.json`: a later `--resume` uses the same."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from hackathon.jobs.request import Options
from hackathon.text.json_fields import listed, mapping_of, text_of
from hackathon.text.numbers import finite, integer
from hackathon.tuning.trials.objective import Objective
from hackathon.tuning.trials.space import Dimension
from hackathon.tuning.trials.stopping import DELTA, RULES

SAMPLERS = ("optuna", "random", "grid")
USUAL_TRIALS = 30
"""Trials when neither a number nor tokens limit them."""
MOST_TRIALS = 10_000


@dataclass(frozen=True)
class TuningPlan:
    """The space, the objective, and how trials are proposed, stopped and limited."""

    space: tuple[Dimension, ...]
    objective: Objective
    sampler: str
    """One of SAMPLERS."""
    stopper: str = "predict"
    """One of stopping.RULES."""
    concurrent: int = 1
    """Trials that are with the scheduler at once."""
    trials: int | None = None
    """Total number of trials; None: as many as the tokens allow."""
    tokens: float | None = None
    """Maximum cost of all trials together."""
    delta: float = DELTA
    seed: str = "1"
    compare: str = ""
    """The dimension whose choices are compared as algorithms; empty for none."""
    inside: bool = False
    """Whether trials share the tuner's allocation instead of being separate jobs."""

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "space": [{**asdict(dimension), "choices": list(dimension.choices)} for dimension in self.space],
            "objective": self.objective.to_json(),
            **{name: getattr(self, name) for name in _PLAIN},
        }

    @classmethod
    def from_json(cls, value: object) -> "TuningPlan":
        """Return it from its JSON. Raises ValueError for invalid values."""
        entry = mapping_of(value)
        space = []
        for record in map(mapping_of, listed(entry.get("space"))):
            low, high = finite(record.get("low")), finite(record.get("high"))
            if low is None or high is None:
                raise ValueError("not a dimension")
            choices = tuple(
                choice for choice in listed(record.get("choices")) if isinstance(choice, (str, int, float, bool))
            )
            space.append(Dimension(text_of(record.get("name")), text_of(record.get("kind")), low, high, choices))
        plan = cls(
            tuple(space), Objective.from_json(entry.get("objective")), text_of(entry.get("sampler")),
            text_of(entry.get("stopper")), integer(entry.get("concurrent")) or 1, integer(entry.get("trials")),
            finite(entry.get("tokens")), finite(entry.get("delta")) or DELTA, text_of(entry.get("seed")),
            text_of(entry.get("compare")), entry.get("inside") is True,
        )  # fmt: skip
        if not space or plan.sampler not in SAMPLERS or plan.stopper not in RULES:
            raise ValueError("not a plan of trials")
        return plan


_PLAIN = ("sampler", "stopper", "concurrent", "trials", "tokens", "delta", "seed", "compare", "inside")


def options_json(options: Options) -> dict[str, Any]:
    """Return the options that a study was started with, as JSON values."""
    return asdict(options)


def options_of(value: Mapping[str, Any]) -> Options:
    """Return the options from their JSON; unknown fields are dropped."""
    names = {entry.name for entry in fields(Options)}
    return Options(**{name: setting for name, setting in value.items() if name in names})
