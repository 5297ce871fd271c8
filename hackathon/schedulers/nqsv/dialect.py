"""How a site's NQSV wants to be asked."""

from dataclasses import dataclass
from typing import Any, Literal

from hackathon.schedulers.dialect import Dialect, Header
from hackathon.text.errors import RequestError


@dataclass(frozen=True)
class NqsvDialect(Dialect):
    """NQSV's words for who pays, for its kinds of MPI, and for parts of nodes."""

    topology: Literal["openmpi", "intmpi", "necmpi"] | None = None
    """`-T`: whose mpirun starts what runs on other nodes. Without it the script itself would run on every node, so
    nothing is rendered."""
    group: Literal["account", "group", "none"] = "none"
    """Who pays: `-A`, `--group=`, or nothing."""
    mpi_variable: Literal["NQSV_MPI_VER", "NQSV_MPI_MODULE"] | None = None
    """The variable in which a site wants to be told which MPI is meant."""
    mpi_version: str | None = None
    """What the variable says: the module's version (NQSV_MPI_VER) or modules with `:` between (NQSV_MPI_MODULE)."""
    gpu_request: Literal["none", "gpunum_job"] = "none"
    """`-l gpunum_job=`, GPUs of each node; `none` where whole nodes are given."""
    cpu_request: Literal["none", "cpunum_job"] = "none"
    """`-l cpunum_job=`, cores of each node; `none` where whole nodes are given."""
    host: str | None = None
    """What stands behind the number in a request's id, e.g. `nqsv`: names of output files have the number alone."""

    @property
    def wants_group(self) -> bool:
        """Sites that ask who pays refuse a job that does not say so."""
        return self.group != "none"

    @property
    def whole_nodes(self) -> bool:
        """Where jobs do not ask for GPUs, a queue gives all of a node."""
        return self.gpu_request == "none"

    @property
    def mpi_from_job(self) -> bool:
        """`mpirun $NQSV_MPIOPTS`."""
        return True

    def directives(self, header: Header) -> dict[str, Any]:
        """Add `topology`, `account` or `group`, `mpi_version`, `cpunum_job`, `gpunum_job`.

        Raises RequestError without `topology`, and for a reservation: how one is asked for is not on record.
        """
        if self.topology is None:
            raise RequestError("schedulers.nqsv_topology")
        if header.reservation:
            raise RequestError("schedulers.nqsv_reservation")
        version = f"{self.mpi_variable}={self.mpi_version}" if self.mpi_variable and self.mpi_version else None
        return {
            **super().directives(header),
            "topology": self.topology,
            "account": header.group if self.group == "account" else None,
            "group": header.group if self.group == "group" else None,
            "mpi_version": version,
            "cpunum_job": header.processes_per_node * header.threads if self.cpu_request == "cpunum_job" else None,
            "gpunum_job": header.gpus_per_node if self.gpu_request == "gpunum_job" and header.gpus_per_node else None,
        }
