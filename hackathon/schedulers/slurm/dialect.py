"""How a site's Slurm wants to be asked."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from hackathon.schedulers.dialect import Dialect, Header


@dataclass(frozen=True)
class SlurmDialect(Dialect):
    """Slurm's words for who pays, and for GPUs."""

    hosts_command: ClassVar[str] = 'scontrol show hostnames "$SLURM_JOB_NODELIST"'
    asks_memory: ClassVar[bool] = True
    id_variable: ClassVar[str] = "SLURM_JOB_ID"
    task_identity: ClassVar[tuple[str, str, str]] = ("SLURM_NODEID", "SLURM_PROCID", "SLURM_LOCALID")

    group: Literal["account", "none"] = "none"
    """Who pays: `--account=`, or nothing. A user may have a default account, so none is demanded."""
    gpu_request: Literal["none", "gpus-per-node", "gres"] = "none"
    """`--gpus-per-node=` or `--gres=gpu:`; `none` where whole nodes are given."""
    exclusive: bool = False
    """`--exclusive`: no other job on the nodes."""

    @property
    def whole_nodes(self) -> bool:
        """Exclusive nodes are charged whole, as those of which nobody asks for a part."""
        return self.gpu_request == "none" or self.exclusive

    def has_launcher(self, launcher: str) -> bool:
        """srun starts ranks as steps of a job."""
        return True

    def directives(self, header: Header) -> dict[str, Any]:
        """Add `account`, `gpus_per_node` or `gres`, `memory`, `exclusive`."""
        gpus = header.gpus_per_node
        return {
            **super().directives(header),
            "account": header.group if self.group == "account" else None,
            "gpus_per_node": gpus if gpus and self.gpu_request == "gpus-per-node" else None,
            "gres": f"gpu:{gpus}" if gpus and self.gpu_request == "gres" else None,
            "memory": header.memory and f"{header.mebibytes}M",
            "exclusive": "yes" if self.exclusive else None,
        }
