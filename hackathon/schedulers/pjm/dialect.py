"""How a site's PJM is used."""

import re
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from hackathon.schedulers.dialect import Dialect, Header


@dataclass(frozen=True)
class PjmDialect(Dialect):
    """PJM's options for the account to charge, the resources of a job, and the variant of `pjstat`."""

    requeue_options: ClassVar[tuple[str, str] | None] = ("--restart", "--norestart")
    sends_xcpu: ClassVar[bool] = True
    hosts_command: ClassVar[str] = "awk 'NF && !seen[$1]++ { print $1 }' \"$PJM_O_NODEINF\""
    id_variable: ClassVar[str] = "PJM_JOBID"

    group: Literal["g", "none"] = "none"
    """Account to charge: `-g`, or none if the site has no such option (Genkai, Flow)."""
    rscunit: str | None = None
    """`-L rscunit=`, e.g. `cx`; none if a site has one unit or derives it from the queue."""
    gpu_queues: str = ""
    """Regular expression of the queues whose jobs request GPUs (`-L gpu=`) instead of nodes (`-L node=`)."""
    gpus_of_node: int = 0
    """From this number of GPUs a job requests its node if a queue accepts both; 0: `gpu_queues` accept only `gpu=`."""
    table: Literal["fujitsu", "site"] = "fujitsu"
    """Variant of `pjstat`: `fujitsu`, with exit codes in its history, or `site`, Wisteria's own.

    Wisteria's has words and no exit codes, so that only the job's own records show success.
    """
    history_days: int = 0
    """Days of history to query with `pjstat -H` (`-H day=3`); 0: the site's default."""
    jobenv: str | None = None
    """`-L jobenv=`, e.g. `singularity`, which programs in containers need on some machines."""
    no_check_directory: bool = False
    """`--no-check-directory`: also submit from folders that PJM refuses otherwise (Fugaku, outside a data area)."""

    @property
    def wants_group(self) -> bool:
        """Sites with `-g` refuse a job without it."""
        return self.group != "none"

    @property
    def whole_nodes(self) -> bool:
        """If some queues allocate GPUs, this is unknown without the job's queue."""
        return not self.gpu_queues

    def gives_nodes(self, queue: str | None, nodes: int, gpus_per_node: int) -> bool:
        """A job gets whole nodes unless it requests `-L gpu=`."""
        return not self.asks_for_gpus(queue, nodes, gpus_per_node)

    def asks_for_gpus(self, queue: str | None, nodes: int, gpus_per_node: int) -> bool:
        """Return whether a job requests `-L gpu=`: on one node, in such a queue, for less than the node."""
        if nodes != 1 or not gpus_per_node or not self.gpu_queues or re.fullmatch(self.gpu_queues, queue or "") is None:
            return False
        return not self.gpus_of_node or gpus_per_node < self.gpus_of_node

    def directives(self, header: Header) -> dict[str, Any]:
        """Add `gpus` for jobs that request them, `group`, `rscunit`, `jobenv`, `no_check_directory`."""
        shares = self.asks_for_gpus(header.queue, header.nodes, header.gpus_per_node)
        return {
            **super().directives(header),
            "gpus": header.gpus_per_node if shares else None,
            "group": header.group if self.wants_group else None,
            "rscunit": self.rscunit,
            "jobenv": self.jobenv,
            "no_check_directory": "yes" if self.no_check_directory else None,
        }
