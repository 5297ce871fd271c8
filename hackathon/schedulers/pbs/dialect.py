"""How a site's PBS is used."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from hackathon.schedulers.dialect import Dialect, Header

if TYPE_CHECKING:
    from hackathon.schedulers.reports import NodeGroup


@dataclass(frozen=True)
class PbsDialect(Dialect):
    """PBS's options for the account to charge, and the resources of a select."""

    inherits_path: ClassVar[bool] = False
    asks_memory: ClassVar[bool] = True
    requeue_options: ClassVar[tuple[str, str] | None] = ("-r y", "-r n")
    hosts_command: ClassVar[str] = "awk '!seen[$0]++' \"$PBS_NODEFILE\""
    id_variable: ClassVar[str] = "PBS_JOBID"

    group: Literal["group_list", "project", "account", "none"] = "none"
    """Account to charge: `-W group_list=`, `-P`, `-A`, or none."""
    gpu_request: Literal["none", "ngpus"] = "none"
    """`ngpus=` in the select; `none` if the site allocates whole nodes."""
    cpu_request: Literal["none", "ncpus"] = "none"
    """`ncpus=` in the select; `none` if the site's users omit it."""
    place: str | None = None
    """`-l place=`, e.g. `scatter`."""
    history: Literal["x", "H", "none"] = "x"
    """How ended jobs are queried: `x`, `H` or `none`.

    `x` is PBS's `qstat -x`; `H` is `qstat -H -f ID` of a site's own qstat, which lists queues with `qstat --rsc`
    (Miyabi).
    """

    @property
    def wants_group(self) -> bool:
        """Sites with accounts refuse a job without one."""
        return self.group != "none"

    def keys_for_gpus(self, nodes: "NodeGroup") -> Mapping[str, str]:
        """Return `ngpus`, and `ncpus`, without which a chunk has one core."""
        return {"gpu_request": "ngpus", "cpu_request": "ncpus"}

    @classmethod
    def keys_to_scatter(cls) -> Mapping[str, str]:
        """Return `place`: without it and a default of the queue, PBS fills one host after the other."""
        return {"place": "scatter"}

    @property
    def whole_nodes(self) -> bool:
        """Without GPU requests, a queue allocates whole nodes."""
        return self.gpu_request == "none"

    @property
    def reservation_is_queue(self) -> bool:
        """A reservation is a queue: `#PBS -q R123` (pbs_rsub(1B))."""
        return True

    def directives(self, header: Header) -> dict[str, Any]:
        """Add `group_list`, `project` or `account`, `ncpus`, `ngpus`, `memory`, `place`."""
        return {
            **super().directives(header),
            "place": self.place,
            "group_list": header.group if self.group == "group_list" else None,
            "project": header.group if self.group == "project" else None,
            "account": header.group if self.group == "account" else None,
            "ncpus": header.processes_per_node * header.threads if self.cpu_request == "ncpus" else None,
            "memory": header.memory and f"{header.mebibytes}mb",
            "ngpus": header.gpus_per_node if self.gpu_request == "ngpus" and header.gpus_per_node else None,
        }
