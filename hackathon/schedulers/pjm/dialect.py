"""How a site's PJM wants to be asked."""

import re
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from hackathon.schedulers.dialect import Dialect, Header


@dataclass(frozen=True)
class PjmDialect(Dialect):
    """PJM's words for who pays, what a job asks for, and whose `pjstat` answers."""

    sends_xcpu: ClassVar[bool] = True
    hosts_command: ClassVar[str] = "awk 'NF && !seen[$1]++ { print $1 }' \"$PJM_O_NODEINF\""
    id_variable: ClassVar[str] = "PJM_JOBID"

    group: Literal["g", "none"] = "none"
    """Who pays: `-g`, or nothing where the site has no such option (Genkai, Flow)."""
    rscunit: str | None = None
    """`-L rscunit=`, e.g. `cx`; nothing where a site has one unit or finds it by the queue."""
    gpu_queues: str = ""
    """Regular expression of the queues whose jobs ask for GPUs (`-L gpu=`) in place of nodes (`-L node=`)."""
    gpus_of_node: int = 0
    """Where a queue takes both: from so many GPUs a job asks for its node; 0: `gpu_queues` take `gpu=` alone."""
    table: Literal["fujitsu", "site"] = "fujitsu"
    """Whose `pjstat` it is: `fujitsu`, with exit codes in its history; `site`, Wisteria's own with words and without
    exit codes, so that only what the job wrote itself tells success."""
    history_days: int = 0
    """Days that `pjstat -H` is asked for (`-H day=3`); 0: the site's default."""
    jobenv: str | None = None
    """`-L jobenv=`, e.g. `singularity`, which programs in containers need on some machines."""
    no_check_directory: bool = False
    """`--no-check-directory`: also submits from where PJM refuses it otherwise (Fugaku, outside a data area)."""

    @property
    def wants_group(self) -> bool:
        """Sites that have `-g` refuse a job without."""
        return self.group != "none"

    @property
    def whole_nodes(self) -> bool:
        """Where some queues give GPUs, nobody knows of a job without its queue."""
        return not self.gpu_queues

    def gives_nodes(self, queue: str | None, nodes: int, gpus_per_node: int) -> bool:
        """A job holds its nodes unless it asks for `-L gpu=`."""
        return not self.asks_for_gpus(queue, nodes, gpus_per_node)

    def asks_for_gpus(self, queue: str | None, nodes: int, gpus_per_node: int) -> bool:
        """Return whether a job asks for `-L gpu=`: on one node, in a queue for that, for less than the node."""
        if nodes != 1 or not gpus_per_node or not self.gpu_queues or re.fullmatch(self.gpu_queues, queue or "") is None:
            return False
        return not self.gpus_of_node or gpus_per_node < self.gpus_of_node

    def directives(self, header: Header) -> dict[str, Any]:
        """Add `gpus` for jobs that ask for them, `group`, `rscunit`, `jobenv`, `no_check_directory`."""
        shares = self.asks_for_gpus(header.queue, header.nodes, header.gpus_per_node)
        return {
            **super().directives(header),
            "gpus": header.gpus_per_node if shares else None,
            "group": header.group if self.wants_group else None,
            "rscunit": self.rscunit,
            "jobenv": self.jobenv,
            "no_check_directory": "yes" if self.no_check_directory else None,
        }
