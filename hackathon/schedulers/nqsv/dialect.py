"""How a site's NQSV is used."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from hackathon.schedulers.dialect import Dialect, Header
from hackathon.text.errors import RequestError


@dataclass(frozen=True)
class NqsvDialect(Dialect):
    """NQSV's options for the account to charge, for kinds of MPI, and for parts of nodes."""

    requeue_options: ClassVar[tuple[str, str] | None] = ("-r y", "-r n")

    topology: Literal["openmpi", "intmpi", "necmpi"] | None = None
    """`-T`: whose mpirun starts processes on other nodes. Required: without it every node would run the script."""
    group: Literal["account", "group", "none"] = "none"
    """Account to charge: `-A`, `--group=`, or none."""
    mpi_variable: Literal["NQSV_MPI_VER", "NQSV_MPI_MODULE"] | None = None
    """The variable that names the MPI at some sites."""
    mpi_version: str | None = None
    """Value of the variable: the module's version (NQSV_MPI_VER) or modules separated by `:` (NQSV_MPI_MODULE)."""
    gpu_request: Literal["none", "gpunum_job"] = "none"
    """`-l gpunum_job=`, GPUs per node; `none` if the site allocates whole nodes."""
    cpu_request: Literal["none", "cpunum_job"] = "none"
    """`-l cpunum_job=`, cores per node; `none` if the site allocates whole nodes."""
    host: str | None = None
    """Host in a request's id, e.g. `nqsv`: names of output files contain only the number."""

    @property
    def wants_group(self) -> bool:
        """Sites with accounts refuse a job without one."""
        return self.group != "none"

    @property
    def whole_nodes(self) -> bool:
        """Without GPU requests, a queue allocates whole nodes."""
        return self.gpu_request == "none"

    @property
    def mpi_from_job(self) -> bool:
        """`mpirun $NQSV_MPIOPTS`."""
        return True

    def directives(self, header: Header) -> dict[str, Any]:
        """Add `topology`, `account` or `group`, `mpi_version`, `cpunum_job`, `gpunum_job`.

        Raises RequestError without `topology`, and for a reservation: its option is not documented.
        """
        if self.topology is None:
            raise RequestError(
                "schedulers.nqsv_topology",
                "The cluster profile does not say which MPI `-T` asks for. Without `-T`, NQSV runs the script "
                "on every node.",
                hint="Set `dialect.topology` in the cluster profile to openmpi, intmpi or necmpi.",
            )
        if header.reservation:
            raise RequestError(
                "schedulers.nqsv_reservation",
                "Reservations are not supported on NQSV.",
                hint="If your site has an option for it, add it under `directives:` in the cluster profile.",
            )
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
