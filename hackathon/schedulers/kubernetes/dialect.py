"""How a site's Kubernetes is used: the parts of a manifest that a job script cannot contain."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from hackathon.config.records import Count, Natural
from hackathon.schedulers.dialect import Dialect, Header
from hackathon.text.errors import RequestError

LABEL = r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
"""A DNS label (RFC 1123): the form of names of namespaces, Jobs and Services."""
SUBDOMAIN = r"(?=.{1,253}\Z)[a-z0-9]([a-z0-9.-]*[a-z0-9])?"
"""A DNS subdomain: the form of names of most other objects."""
QUANTITY = r"[0-9]+(\.[0-9]+)?(m|k|[MGTPE]|[KMGTPE]i)?"
"""An amount of a resource: `16`, `500m`, `64Gi` (Kubernetes, `resource.Quantity`)."""
QUALIFIED = r"([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?"
"""A qualified name: the form of labels and resources, `nvidia.com/gpu`."""
VALUE = r"([A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?)?"
"""A label's value."""
PATH = r"/[^:\0-\x1f\x7f]{0,4000}"
"""Mount point of a volume: absolute, without a colon."""


@dataclass(frozen=True)
class Volume:
    """Storage of the runs: the same folder on the machine of the commands and in every pod."""

    path: str
    """The folder, e.g. `/work`: the pods mount the volume there, and it must exist there where `hackathon` runs."""
    claim: str | None = None
    """A PersistentVolumeClaim of the namespace that many nodes may write to (ReadWriteMany)."""
    host_path: str | None = None
    """A folder of every node instead of a claim, if the site allows it."""


@dataclass(frozen=True)
class Toleration:
    """A taint of nodes that the pods tolerate."""

    key: str | None = None
    """The taint's key, e.g. `nvidia.com/gpu`; none for every taint."""
    operator: Literal["Exists", "Equal"] = "Exists"
    """Whether the taint's value counts."""
    value: str | None = None
    """The taint's value with `Equal`."""
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] | None = None
    """The taint's effect; none for every effect."""


@dataclass(frozen=True)
class KubernetesDialect(Dialect):
    """Namespace, image, volume, account, nodes, and the component that starts all pods together."""

    namespace: str = "default"
    """Namespace of the jobs. Other namespaces need profiles of their own."""
    context: str | None = None
    """Context of the kubeconfig; none for the current one."""
    image: str | None = None
    """Image of the container, with bash, coreutils, procps, Python and the training framework. Needed to submit."""
    image_pull_policy: Literal["Always", "IfNotPresent", "Never"] | None = None
    """When nodes fetch the image; none for Kubernetes' default."""
    image_pull_secrets: list[str] = field(default_factory=list)
    """Secrets of the namespace with which nodes fetch the image."""
    volume: Volume | None = None
    """The volume with the runs, `{claim: team-work, path: /work}`. Needed to submit."""
    run_as_user: Count = "auto"
    """Number of the account that the pods run as; `auto`: that of the submitting user, who owns the files."""
    run_as_group: Count = "auto"
    """Number of its group, also that of the volume's files (`fsGroup`)."""
    supplemental_groups: list[Natural] = field(default_factory=list)
    """Numbers of further groups, e.g. that of a team's shared data."""
    gpu_resource: str = "nvidia.com/gpu"
    """The resource name of a GPU."""
    resources: dict[str, str] = field(default_factory=dict)
    """Further limits of a pod, e.g. `{memory: 200Gi, rdma/hca: "1"}`."""
    cpu_request: Literal["none", "cpu"] = "none"
    """`requests.cpu` for the threads of all processes. A node never offers all its cores: set `threads` accordingly."""
    shm_size: str | None = None
    """Size of /dev/shm, which data loaders need, e.g. `64Gi`; it counts as the pod's memory.

    None: no limit of its own.
    """
    startup: Natural = 600
    """Seconds that a pod may take beyond the walltime, e.g. to pull the image. `stop` still follows the walltime."""
    grace: Natural = 60
    """Seconds between TERM and KILL."""
    gang: Literal["none", "kueue", "volcano", "scheduler-plugins"] = "none"
    """Starts all pods together: Kueue (a queue is a LocalQueue), Volcano or scheduler-plugins (a PodGroup)."""
    scheduler_name: str | None = None
    """Scheduler of the pods; none: that of the gang, else that of the cluster."""
    priority_class: str | None = None
    """Priority class of the pods."""
    node_selector: dict[str, str] = field(default_factory=dict)
    """Labels of the nodes that the pods may run on."""
    tolerations: list[Toleration] = field(default_factory=list)
    """Taints that the pods tolerate, e.g. `{key: nvidia.com/gpu, effect: NoSchedule}`."""
    validation: bool = True
    """Whether kubectl validates the manifest against the server's schema before it creates objects."""

    patterns: ClassVar[Mapping[str, str]] = {
        **Dialect.patterns,
        "queue": SUBDOMAIN,
        "namespace": LABEL,
        "image": r"[A-Za-z0-9][A-Za-z0-9._/:@-]{0,499}",
        "volume": PATH,
        "host_path": PATH,
        "claim": SUBDOMAIN,
        "priority_class": SUBDOMAIN,
        "scheduler_name": SUBDOMAIN,
        "gpu_resource": QUALIFIED,
        "shm_size": QUANTITY,
    }
    asks_memory: ClassVar[bool] = True
    own_account: ClassVar[bool] = False
    file_names: ClassVar[tuple[str, ...]] = ("job.yaml",)
    task_variables: ClassVar[tuple[str, ...]] = ("JOB_COMPLETION_INDEX", "KUBERNETES")

    @property
    def whole_nodes(self) -> bool:
        """A pod has only the GPUs that it requests; other pods may use the rest."""
        return False

    def has_launcher(self, launcher: str) -> bool:
        """Only torchrun, in each pod: a launcher cannot reach other pods."""
        return launcher in ("torchrun", "local")

    def directives(self, header: Header) -> dict[str, Any]:
        """Add the profile's values for the manifest.

        Raises RequestError for values that would be refused or ignored.
        """
        volume = self.volume
        if self.gang == "kueue" and header.queue is None:
            raise RequestError(
                "kubernetes.queue_needed",
                "Kueue needs a queue.",
                hint="Name a LocalQueue: `--queue NAME`, or `queue:` in project.yaml or the cluster profile.",
            )
        if header.queue is not None and self.gang not in ("kueue", "volcano"):
            raise RequestError(
                "kubernetes.queue_unused",
                "Queue {queue} has no meaning here: `dialect.gang` is neither kueue nor volcano.",
                hint="Leave out the queue, or set `dialect.gang` in the cluster profile. A namespace is "
                "`dialect.namespace`.",
                queue=header.queue,
            )
        if volume is not None and (volume.claim is None) == (volume.host_path is None):
            raise RequestError(
                "kubernetes.one_volume",
                "`dialect.volume` for {path} needs exactly one of `claim` and `host_path`.",
                path=volume.path,
            )
        for name, values in (("resources", self.resources), ("node_selector", self.node_selector)):
            pattern = QUANTITY if name == "resources" else VALUE
            for key, value in values.items():
                for text, form in ((key, QUALIFIED), (value, pattern)):
                    if not re.fullmatch(form, text):
                        raise RequestError(
                            "kubernetes.bad_value",
                            "`dialect.{name}` in the cluster profile: {value!r} is not allowed (it must match "
                            "{pattern})",
                            name=f"{name}.{key}",
                            value=text,
                            pattern=form,
                        )
        return {
            **super().directives(header),
            "namespace": self.namespace,
            "image": self.image,
            "volume": volume and volume.path,
            "claim": volume and volume.claim,
            "host_path": volume and volume.host_path,
            "gpus_per_node": header.gpus_per_node,
            "gpu_resource": self.gpu_resource,
            "shm_size": self.shm_size,
            "gang": self.gang,
            "scheduler_name": self.scheduler_name,
            "priority_class": self.priority_class,
        }
