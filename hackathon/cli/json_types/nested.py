"""Objects inside the JSON of several commands."""

from collections.abc import Mapping
from typing import Any, NotRequired, TypedDict

Settings = Mapping[str, str | int | float | bool]


class EvidenceJson(TypedDict):
    """A line in a log or in a run's records."""

    file: str
    line: int | None
    text: str
    rank: int | None
    host: str | None


class ReasonJson(TypedDict):
    """A possible reason of a failure."""

    text: str
    check: str | None
    """A command that confirms it."""


class FindingJson(TypedDict):
    """A diagnosed failure."""

    rule: str
    part: str
    level: str
    """`root`: the cause; `likely`, `secondary`: the others."""
    message: str
    evidence: EvidenceJson | None
    advice: str
    causes: list[ReasonJson]
    references: list[str]
    ranks: list[int]
    count: int
    at_least: bool
    """Whether there are more than `count`: not all lines were counted."""
    certainty: str
    """`certain`, `likely` or `unknown`."""
    program: str | None
    """`train.py:12`: the innermost line of the user's code."""
    run: NotRequired[str]
    """With several runs."""


class LintFindingJson(TypedDict):
    """A mistake in a script or a program."""

    line: int
    rule: str
    severity: str
    """`error` or `warning`."""
    message: str
    effect: str
    """`ignored`, `refused` or `changed`."""
    replacement: str | None
    processes: NotRequired[int]
    """Of `try`: the size of the run that showed it."""


class CheckedFileJson(TypedDict):
    """A script or a program with its findings."""

    path: str
    dialect: str | None
    checked: NotRequired[bool]
    findings: list[LintFindingJson]


class DoubtJson(TypedDict):
    """A reason why a result may not be believed."""

    id: str
    severity: str
    """`false` or `check`."""
    message: str
    evidence: str


class SubmittedRunJson(TypedDict):
    """A submitted run."""

    run: str
    job_id: str
    path: str


class SubmittedJson(TypedDict):
    """Submitted runs, without `--wait`."""

    runs: list[SubmittedRunJson]


class StepTimesJson(TypedDict):
    """The parts of a step in seconds; null: unknown."""

    steps: int
    seconds: float | None
    data: float | None
    host: float | None
    compute: float | None
    communication: float | None
    waiting: float | None
    other: float | None
    unknown: Mapping[str, str]
    """Part → why it is unknown."""


class RankTimesJson(StepTimesJson):
    """The parts of a step of one rank."""

    rank: int


class StepAdviceJson(TypedDict):
    """What would make a step shorter."""

    id: str
    part: str
    gain: float | None
    rank: int | None
    message: str
    confirm: str


class SharesJson(StepTimesJson):
    """Where the time of a step goes."""

    basis: str
    late_rank: int | None
    advice: list[StepAdviceJson]
    ranks: NotRequired[list[RankTimesJson]]


class CostJson(TypedDict):
    """The most that jobs can cost."""

    jobs: int
    node_hours: float
    gpu_hours: float
    tokens: float | None


class ExpectedGainJson(TypedDict):
    """What a piece of advice can gain."""

    gain: float | None
    bound: bool
    low: float | None
    high: float | None
    basis: str
    text: str
    why: str


Values = Mapping[str, Any]
"""Values whose keys a plug-in, a scheduler or a user defines."""
