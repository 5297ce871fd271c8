"""JSON of commands about clusters, accounts and rules."""

from collections.abc import Mapping
from typing import Any, NotRequired, TypedDict

from hackathon.config.cluster import Cluster
from hackathon.config.rule import Rule
from hackathon.runs.doctor import DoctorFinding


class DoctorJson(TypedDict):
    """Whether account and machine are ready."""

    cluster: NotRequired[str]
    """Absent with `--security`."""
    findings: list[DoctorFinding]


ListedClusterJson = TypedDict("ListedClusterJson", {"name": str, "title": str, "scheduler": str, "from": str})


class ClustersListJson(TypedDict):
    """All clusters."""

    clusters: list[ListedClusterJson]
    problems: list[str]


class CitedValueJson(TypedDict):
    """A value of the profile with its source."""

    key: str
    value: Any
    sources: list[str]
    unverified: bool


class ComparedValueJson(TypedDict):
    """A value of the profile beside that of the machine."""

    key: str
    profile: Any
    machine: Any
    verdict: str


class NodeGroupJson(TypedDict):
    """Equal nodes of the machine."""

    nodes: int
    queues: list[str]
    cores: int | None
    cpus: int | None
    memory: int | None
    gpus: int | None
    gpu: str


class ClustersCheckJson(TypedDict):
    """A checked profile; the later keys are those of `--live`."""

    cluster: str
    scheduler: str
    file: str
    unverified: list[str]
    without_confirmed_source: list[str]
    day: NotRequired[str]
    values: NotRequired[list[ComparedValueJson]]
    nodes: NotRequired[list[NodeGroupJson]]
    nodes_not_known: NotRequired[str | None]
    other_queues: NotRequired[list[str]]
    gpus_not_requested: NotRequired[int | None]
    closed_queues: NotRequired[list[str]]
    patch: NotRequired[str]


class OperationJson(TypedDict):
    """A collective operation."""

    bytes: int
    busbw_gb_s: float
    latency_us: float
    fits: Mapping[str, Any]


class NetworkJson(TypedDict):
    """A measured network."""

    nodes: int
    processes: int
    where: str
    hosts: int
    backend: str
    device: str
    launcher: str
    date: str
    run: str
    job_id: str | None
    operations: Mapping[str, OperationJson]


class ClustersMeasureJson(TypedDict):
    """Measurements, and the file that keeps them."""

    file: str
    measured: list[NetworkJson]


class ClustersNewJson(TypedDict):
    """A new profile."""

    file: str
    cluster: str
    unverified: list[str]
    text: str


ListedRuleJson = TypedDict("ListedRuleJson", {"id": str, "part": str, "level": str, "title": str, "from": str})


class RulesListJson(TypedDict):
    """All rules of the diagnosis."""

    rules: list[ListedRuleJson]
    problems: list[str]


class ClusterMeasuredJson(TypedDict):
    """What is known of a cluster besides its profile."""

    measured: list[NetworkJson]
    values: list[CitedValueJson]
    live: NotRequired[list[Mapping[str, Any]]]
    """The queues as the scheduler describes them, with `--live`."""


ShownClusterJson = TypedDict("ShownClusterJson", {"from": str})
ShownRuleJson = TypedDict("ShownRuleJson", {"from": str, "package": NotRequired[str]})
ClusterShowJson = (Cluster, ClusterMeasuredJson, ShownClusterJson)
RuleShowJson = (Rule, ShownRuleJson)
