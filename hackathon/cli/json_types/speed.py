"""JSON of commands that make programs faster or larger."""

from collections.abc import Mapping
from typing import Any, NotRequired, TypedDict

from hackathon.cli.json_types.nested import Settings, Values


class WaitedForJson(TypedDict):
    """A rank that others wait for."""

    rank: int
    seconds: float


class ProfiledStepJson(TypedDict):
    """The parts of a step in seconds, mean of the ranks."""

    seconds: float
    data: float | None
    host: float | None
    compute: float | None
    communication: float | None
    waiting: float | None
    other: float | None


class ClockJson(TypedDict):
    """How well a rank's clock is known."""

    basis: str
    spread_seconds: float | None


class ProfiledRankJson(ProfiledStepJson):
    """The parts of a step of one rank."""

    rank: int
    steps: int
    unknown: Mapping[str, str]
    hostname: str | None
    devices: list[str]
    clock: ClockJson


class ExposedJson(TypedDict):
    """Seconds of a step, and those not hidden behind computation."""

    seconds: float
    exposed_seconds: float


class OperatorJson(TypedDict):
    """An operator or a kernel, per step."""

    name: str
    calls: float
    seconds: float
    tensor_cores: NotRequired[bool]


class DeviceOperatorJson(TypedDict):
    """An operator by the time of its kernels."""

    name: str
    kernels: float
    seconds: float
    share: float


class GapJson(TypedDict):
    """A gap in which nothing is computed."""

    rank: int
    step: int
    begin: float
    seconds: float
    after: str | None
    before: str | None


class ProfileFindingJson(TypedDict):
    """What costs time."""

    id: str
    rank: int | None
    share: float | None
    message: str
    advice: str


class ProfileJson(TypedDict):
    """Where the time of a step goes."""

    processes: int
    ranks: list[ProfiledRankJson]
    late_rank: int | None
    waited_for: list[WaitedForJson]
    step: ProfiledStepJson
    communication: ExposedJson
    loader: ExposedJson
    operators: list[OperatorJson]
    kernels: list[OperatorJson]
    device_operators: list[DeviceOperatorJson]
    device_operators_known: float | None
    tensor_core_share: float | None
    gaps: list[GapJson]
    memory_bytes: Mapping[str, Any]
    roofline: Values | None
    overhead: Values | float | None
    findings: list[ProfileFindingJson]
    verdict: str
    remarks: list[str]
    run: str | None


class MeasuredOptionJson(TypedDict):
    """An option beside the unchanged program."""

    name: str
    kind: str
    settings: Settings
    value: float | None
    pairs: int
    ratio: float | None
    low: float | None
    high: float | None
    verdict: str
    loss: str
    wins: bool
    reason: str | None
    memory_bytes: int | None
    failed_log: str | None


class SpeedupBaseJson(TypedDict):
    """The unchanged program."""

    value: float | None
    min: float | None
    max: float | None
    shares: Mapping[str, float]
    memory_bytes: int | None


class NotTriedJson(TypedDict):
    """An option that needs lines in the program."""

    name: str
    needs: str
    lines: str | None


class SpeedupResultJson(TypedDict):
    """What makes one process faster."""

    run: str
    second_run: str | None
    metric: str
    unit: str
    rounds: int
    false_claims: float
    """Probability of a false claim in the whole table."""
    baseline: SpeedupBaseJson
    options: list[MeasuredOptionJson]
    together: MeasuredOptionJson | None
    not_tried: list[NotTriedJson]
    apply: Settings


class BatchProbeJson(TypedDict):
    """A start with one batch."""

    batch: int
    kind: str
    fits: bool
    memory_bytes: int | None
    seconds: float
    cause: str | None


class LargestBatchJson(TypedDict):
    """The largest batch, with `--largest-batch`."""

    run: str
    parameter: str
    batch: int
    limit_bytes: int | None
    memory_of: str
    predicted: int | None
    predicted_by: str | None
    fake: Values | None
    noise_scale: Values | None
    largest: int | None
    recommended: int | None
    confirmed: bool | None
    probes: list[BatchProbeJson]
    other_failure: BatchProbeJson | None


SpeedupJson = SpeedupResultJson | LargestBatchJson


class SplitProbeJson(TypedDict):
    """A start with some micro-batches."""

    micro_batches: int
    size: int
    kind: str
    fits: bool
    memory_bytes: int | None
    value: float | None
    cause: str | None


class SplitSpeedJson(TypedDict):
    """The rate with some micro-batches."""

    micro_batches: int
    size: int
    rates: list[float]
    rate: float | None
    memory_bytes: int | None


class BatchSplitJson(TypedDict):
    """The division of a batch."""

    batch: int
    limit_bytes: int | None
    memory_of: str
    micro_batches: int | None
    fewest_micro_batches: int | None
    sizes: list[int]
    planned_bytes: int | None
    measured_bytes: int | None
    batch_normalisation: list[str]
    metric: str
    unit: str
    probes: list[SplitProbeJson]
    speeds: list[SplitSpeedJson]
    apply: Settings
    run: str


class SplitLayerJson(TypedDict):
    """A convolution and its parts."""

    name: str
    batch: int
    seconds: float | None
    sizes: list[int]
    planned_seconds: float | None


class LayerSplitsJson(TypedDict):
    """Convolutions in parts, with `--layers`."""

    run: str
    second_run: str | None
    workspace_bytes: int | None
    shared: bool
    layers: list[SplitLayerJson]
    seconds: float | None
    planned_seconds: float | None
    comparison: MeasuredOptionJson | None
    apply: NotRequired[Settings]


MicrobatchJson = BatchSplitJson | LayerSplitsJson


class HookBaseJson(TypedDict):
    """The uncompressed training."""

    value: float | None
    min: float | None
    max: float | None
    sent_bytes: float | None
    accuracy: float | None
    accuracy_min: float | None
    accuracy_max: float | None
    seed_difference: float | None


class HookJson(TypedDict):
    """A precision of communication beside the uncompressed training."""

    name: str
    settings: Settings
    value: float | None
    pairs: int
    ratio: float | None
    low: float | None
    high: float | None
    time_verdict: str
    memory_bytes: int | None
    failed_log: str | None
    sent_bytes: float | None
    sent_ratio: float | None
    accuracy: float | None
    difference: float | None
    difference_low: float | None
    difference_high: float | None
    accuracy_pairs: int
    accuracy_verdict: str
    verdict: str


class CompressJson(TypedDict):
    """Which precision of communication pays."""

    metric: str
    unit: str
    seeds: int
    false_claims: float
    accuracy_metric: str | None
    more_is_better: bool
    baseline: HookBaseJson
    hooks: list[HookJson]
    apply: Settings
    run: str
    processes: int


class BoundTermJson(TypedDict):
    """A term of the plan's lower bound."""

    reason: str
    stage: int | None
    seconds: float


class StageMemoryJson(TypedDict):
    """Bytes of one replica of a stage."""

    parameters: float
    gradients: float
    optimizer: float
    activations: float
    buffers: float
    workspace: float
    total: float


class StageJson(TypedDict):
    """A stage of a plan."""

    operators: list[str]
    replicas: int
    forward: float
    backward: float
    transfer: float
    memory: StageMemoryJson
    recompute: bool
    offload: bool


class AlternativeJson(TypedDict):
    """A simple plan beside the best one."""

    name: str
    value: float | None
    feasible: bool


class BlockingJson(TypedDict):
    """The operator that fits into no device."""

    operator: str
    bytes: float


class PlacementJson(TypedDict):
    """The nodes of the stages."""

    nodes: int
    processes_per_node: int
    stages: list[list[int]]
    step: float


class PlanJson(TypedDict):
    """How a model is cut: `docs/reference/plan-files.md`."""

    graph: str
    """Hash."""
    devices: Mapping[str, float]
    objective: str
    feasible: bool
    value: float | None
    bound: float | None
    plan_bound: float | None
    proven: bool
    gap: float | None
    basis: str
    bound_terms: list[BoundTermJson]
    micro_batches: int
    stages: list[StageJson]
    alternatives: list[AlternativeJson]
    blocking: NotRequired[BlockingJson]
    help: NotRequired[list[str]]
    enough_devices: NotRequired[int]
    placement: NotRequired[PlacementJson]
    self_check: NotRequired[Values]
