"""JSON of commands about runs."""

from typing import NotRequired, TypedDict

from hackathon.cli.json_types.board import PostJson
from hackathon.cli.json_types.nested import (
    CheckedFileJson,
    CostJson,
    DoubtJson,
    EvidenceJson,
    FindingJson,
    SubmittedJson,
    Values,
)
from hackathon.cli.json_types.studies import RunResultJson
from hackathon.runs.chain import Segment


class RunStatusJson(TypedDict):
    """The state of a run; times are seconds since 1970, null is unknown."""

    run_id: str
    state: str
    cause: str
    reason: str
    raw: str
    """The scheduler's own state code."""
    exit_code: int | None
    signal: int | None
    job_id: str | None
    attempt: int
    t_created: float | None
    t_submitted: float | None
    t_started: float | None
    t_ended: float | None
    stale_seconds: float | None
    """Age of the information when the scheduler did not answer."""
    hosts: list[str]
    sealed: bool
    settled: bool
    problem: str
    first_rank: int | None
    first_host: str
    first_exit_code: int | None
    first_signal: int | None


class OutputFileJson(TypedDict):
    """A file that a program wrote."""

    path: str
    bytes: int


class ListedOutputJson(TypedDict):
    """A file, or a folder with many."""

    path: str
    files: int
    bytes: int


class TrackerJson(TypedDict):
    """What an experiment tracker wrote below one folder."""

    tracker: str
    """`W&B`, `TensorBoard` or `MLflow`."""
    path: str
    runs: int
    """0 if only the tracker can tell."""
    command: str
    """A line for a shell, in the run's directory."""


class OutputsJson(TypedDict):
    """The files that a program wrote."""

    files: int
    bytes: int
    complete: bool
    listed: list[ListedOutputJson]
    trackers: list[TrackerJson]


class ListedRunJson(RunStatusJson):
    """A run of `status`."""

    segment: NotRequired[Segment]
    finding: NotRequired[FindingJson]
    outputs: NotRequired[OutputsJson]


class StatusJson(TypedDict):
    """States of runs, the newest first."""

    runs: list[ListedRunJson]


class WaitedJson(TypedDict):
    """The final states of submitted runs, with `--wait`."""

    runs: list[RunStatusJson]


SubmitJson = SubmittedJson | WaitedJson | RunResultJson


class DiagnosedRunJson(TypedDict):
    """A run that was diagnosed."""

    run: str | None
    state: str | None


class DiagnoseJson(TypedDict):
    """All findings, the cause of each run first."""

    run: str | None
    """The only run; null for files and for several runs."""
    state: str | None
    findings: list[FindingJson]
    harmless: list[FindingJson]
    unknown: list[EvidenceJson]
    """Lines worth reading where no rule matches."""
    left_out: list[str]
    """Rules that were not applied to all lines."""
    runs: NotRequired[list[DiagnosedRunJson]]
    """With several runs, or none."""
    similar: list[PostJson]
    """Solved posts of the event's board about the same failure."""


class FetchedFileJson(TypedDict):
    """A file that was copied."""

    path: str
    bytes: int
    to: str


class NotCopiedJson(TypedDict):
    """A file that was not copied."""

    path: str
    why: str


class FetchJson(TypedDict):
    """Copied outputs of a run."""

    run: str
    to: str
    fetched: list[FetchedFileJson]
    not_copied: list[NotCopiedJson]
    unmatched: list[str]
    """Patterns that match nothing."""


class ChangedValueJson(TypedDict):
    """A value of the request that differs from the recorded one."""

    name: str
    old: str
    new: str
    why: str


class RerunPlanJson(TypedDict):
    """What would be submitted, with `--dry-run`."""

    changes: list[ChangedValueJson]
    remarks: list[str]
    request: Values
    from_crate: NotRequired[Values]


RerunJson = RerunPlanJson | SubmittedJson | WaitedJson


class ReadMetricJson(TypedDict):
    """A metric with the line that it came from."""

    name: str
    value: float | None
    unit: str
    file: str | None
    line: int | None
    by: str | None


class QuantityJson(TypedDict):
    """A quantity, and how it is known."""

    value: float | None
    basis: str


class TriedRunJson(TypedDict):
    """What was understood of a rehearsal's run."""

    run: str
    processes: int
    state: str
    ended: str | None
    ranks: int
    hosts: list[str]
    metric: str
    metrics: list[ReadMetricJson]
    seconds_per_step: QuantityJson
    samples_per_step: QuantityJson
    memory_mib: QuantityJson
    doubts: list[DoubtJson]
    written: list[OutputFileJson]


class PortComparisonJson(TypedDict):
    """A ported program beside its original."""

    original: str
    processes: int
    result: str
    reason: str | None
    steps: int
    loss_original: float | None
    loss_ported: float | None
    standard_error: float | None
    samples_per_step: list[int | None]
    runs: list[str]


class StudyPointJson(TypedDict):
    """A point of the study that could follow."""

    processes: int
    nodes: int
    queue: str | None
    walltime: int


class StudyPlanJson(TypedDict):
    """The study that could follow."""

    points: list[StudyPointJson]
    cost: CostJson


class TryJson(TypedDict):
    """A rehearsal."""

    ready: bool
    runs: list[TriedRunJson]
    files: list[CheckedFileJson]
    comparison: PortComparisonJson | None
    study: StudyPlanJson | None
    """null unless `ready`."""
