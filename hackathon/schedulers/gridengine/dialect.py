"""How a site's Grid Engine is used."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from hackathon.schedulers.dialect import Dialect, Header
from hackathon.text.errors import RequestError

if TYPE_CHECKING:
    from hackathon.schedulers.reports import NodeGroup

STOPPED = frozenset({99, 100})
"""A job that ends with 99 is rerun forever; one that ends with 100 stays in the queue in error (Eqw)."""


@dataclass(frozen=True)
class GridEngineDialect(Dialect):
    """Grid Engine's options for the account to charge and for nodes."""

    group: Literal["g", "project", "none"] = "none"
    """Account to charge: `qsub -g`, `-P`, or none.

    `-g` is for Univa's and Altair's Grid Engine at TSUBAME and ABCI; it is an option of the command, not of the script.
    """
    queue: Literal["name", "resource"] = "name"
    """Meaning of the profile's queues: queues, `-q NAME`, or resource types, `-l TYPE=NODES` (TSUBAME, ABCI)."""
    pe: str | None = None
    """The parallel environment that allocates whole nodes: its `allocation_rule` is a number of slots per node.

    Resource types need none.
    """
    slots_per_node: int | None = None
    """Slots of a whole node, by that rule; without it a node has as many slots as processes."""
    gpu_request: Literal["none", "slot", "host", "job"] = "none"
    """`-l gpu=`: for each slot (a consumable YES), each host (HOST), or once for a job, on its first host (JOB).

    `qconf -sc` tells it. `none` if the site allocates whole nodes.
    """
    gpu_resource: str = "gpu"
    """The name of the resource that `gpu_request` requests."""
    history: Literal["qacct", "none"] = "qacct"
    """How ended jobs are queried: `qacct -j`, or `none`."""

    patterns: ClassVar[Mapping[str, str]] = {
        **Dialect.patterns,
        "resource": r"[A-Za-z][A-Za-z0-9_.]{0,62}=[1-9][0-9]{0,5}",
        "pe": r"[A-Za-z][A-Za-z0-9_.-]{0,62} [1-9][0-9]{0,6}",
        "gpu": r"[A-Za-z][A-Za-z0-9_.-]{0,62}=[1-9][0-9]{0,5}",
    }
    sites_are_alike: ClassVar[bool] = False
    requeue_options: ClassVar[tuple[str, str] | None] = ("-r y", "-r n")
    hosts_command: ClassVar[str] = "awk '!seen[$1]++ { print $1 }' \"$PE_HOSTFILE\""
    id_variable: ClassVar[str] = "JOB_ID"
    # `HOSTNAME` and `TMPDIR` are omitted for every scheduler
    task_variables: ClassVar[tuple[str, ...]] = (
        "SGE_TASK", "SGE_JOB_SPOOL", "SGE_BINDING", "SGE_HGR", "NSLOTS", "QUEUE", "REQNAME", "REQUEST", "RESTARTED",
        "PE_HOSTFILE", "PE$", "T4TMPDIR", "SGE_LOCALDIR",
    )  # fmt: skip

    @property
    def wants_group(self) -> bool:
        """Sites with accounts refuse a job without one, or limit it to minutes."""
        return self.group != "none"

    def keys_for_gpus(self, nodes: "NodeGroup") -> Mapping[str, str]:
        """Return the resource of these nodes and how its requests count; resource types bring their GPUs."""
        if self.queue == "resource" or not nodes.gpu_request:
            return {}
        return {"gpu_request": nodes.gpu_request, "gpu_resource": nodes.gpu_resource}

    @property
    def whole_nodes(self) -> bool:
        """Without GPU requests, a job has whole nodes, or the site's resource types."""
        return self.gpu_request == "none"

    @property
    def reserved_exit_codes(self) -> frozenset[int]:
        """Exit codes that a job must not return."""
        return STOPPED

    def command_options(self, header: Header) -> list[str]:
        """Return `-g GROUP`, which scripts cannot contain."""
        return ["-g", header.group] if self.group == "g" and header.group else []

    def directives(self, header: Header) -> dict[str, Any]:
        """Add `resource` or `pe` with a number, and `project`."""
        by_type = self.queue == "resource"
        slots = header.nodes * (self.slots_per_node or header.processes_per_node)
        values = super().directives(header)
        return {
            **values,
            "queue": None if by_type else values["queue"],
            "reservation": header.reservation,
            "resource": f"{header.queue}={header.nodes}" if by_type and header.queue else None,
            "pe": f"{self.pe} {slots}" if self.pe else None,
            "gpu": self._gpus(header),
            "project": header.group if self.group == "project" else None,
        }

    def _gpus(self, header: Header) -> str | None:
        """Return `gpu=N` for the job's GPUs, on whole nodes at least so many.

        Raises RequestError if one GPU for each slot is more than a node has.
        """
        gpus = header.gpus_per_node
        if self.gpu_request == "none" or not gpus:
            return None
        slots = (self.slots_per_node or header.processes_per_node) if self.pe else 1
        if self.gpu_request == "slot":
            gpus = -(-gpus // slots)
            if gpus * slots > max(header.gpus_per_node, header.node_gpus or 0):
                raise RequestError(
                    "jobs.gpus_per_slot",
                    "{gpus} {gpus:GPU|GPUs} of a node cannot be requested: Grid Engine counts `{resource}` for each "
                    "slot, and the job has {slots} {slots:slot|slots} on a node",
                    hint="set dialect.pe to a parallel environment with one slot for each GPU, and "
                    "dialect.slots_per_node to their number",
                    gpus=header.gpus_per_node,
                    resource=self.gpu_resource,
                    slots=slots,
                )
        return f"{self.gpu_resource}={gpus}"

    def nodes_of(self, slots: int) -> int | None:
        """Return the number of nodes for a job's slots; None when the profile does not define it.

        Resource types smaller than a node have fewer slots, in an unknown number.
        """
        slots_per_node = self.slots_per_node if self.queue == "name" else None
        return -(-slots // slots_per_node) if slots_per_node else None
