"""JSON of `tune`, and of `results` for its studies."""

from typing import Literal, TypedDict

from hackathon.cli.json_types.nested import Settings


class ObjectiveJson(TypedDict):
    """What the best trial is best in."""

    kind: str
    metric: str
    direction: str
    seconds: float | None
    goal: float | None
    text: str


class DimensionJson(TypedDict):
    """A parameter and its range."""

    name: str
    values: str


class TuningLimitsJson(TypedDict):
    """Limits of a tuning."""

    concurrent: int
    trials: int | None
    tokens: float | None
    delta: float | None


class TrialJson(TypedDict):
    """One configuration, which runs as a job."""

    number: int
    settings: Settings
    state: Literal["finished", "running", "waiting", "stopped", "failed"]
    value: float | None
    values: int
    """Values of the metric so far."""
    seconds: float | None
    tokens: float | None
    probability: float | None
    """That it would still be the best."""
    reason: str
    run: str | None


class BestTrialJson(TypedDict):
    """The best trial."""

    number: int
    settings: Settings
    value: float


class AlgorithmJson(TypedDict):
    """One of several algorithms."""

    value: str | int | float | bool | None
    trials: int
    probability: float | None
    stopped: int


class AlgorithmsJson(TypedDict):
    """The comparison of algorithms."""

    name: str
    best: str | int | float | bool | None
    decided: bool
    algorithms: list[AlgorithmJson]


class TuneJson(TypedDict):
    """A tuning study."""

    study: str
    objective: ObjectiveJson
    space: list[DimensionJson]
    sampler: Literal["optuna", "random", "grid"]
    stopper: Literal["predict", "halving", "median", "none"]
    limits: TuningLimitsJson
    trials: list[TrialJson]
    best: BestTrialJson | None
    share_of_all: float | None
    """Seconds of all trials ÷ those without stopping."""
    another_better: float | None
    """Probability that another trial would be better."""
    tokens: float | None
    comparison: AlgorithmsJson | None
