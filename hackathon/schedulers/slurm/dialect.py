"""How a site's Slurm is used."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from hackathon.schedulers.dialect import Dialect, Header, JobAllocation

if TYPE_CHECKING:
    from hackathon.schedulers.reports import NodeGroup

_CPUS = re.compile(r"(\d{1,6})(?:\(x(\d{1,6})\))?\Z", re.ASCII)
_JOB = re.compile(r"\d{1,15}\Z", re.ASCII)
_GPU = re.compile(r"(\d{1,3}|(GPU|MIG)-[A-Za-z0-9-]+)\Z", re.ASCII)


@dataclass(frozen=True)
class SlurmDialect(Dialect):
    """Slurm's options for the account to charge, and for GPUs."""

    requeue_options: ClassVar[tuple[str, str] | None] = ("--requeue", "--no-requeue")
    hosts_command: ClassVar[str] = 'scontrol show hostnames "$SLURM_JOB_NODELIST"'
    asks_memory: ClassVar[bool] = True
    id_variable: ClassVar[str] = "SLURM_JOB_ID"
    patterns: ClassVar[Mapping[str, str]] = {
        **Dialect.patterns,
        "qos": r"[A-Za-z0-9_][A-Za-z0-9_.@-]{0,62}",
        # sbatch(1): features joined by `&`, `|`, `,`, with counts and brackets; a directive is a comment for the shell
        "constraint": r"[A-Za-z0-9_(\[][A-Za-z0-9_.,:=@*&|()\[\]-]{0,198}",
    }
    task_identity: ClassVar[tuple[str, str, str]] = ("SLURM_NODEID", "SLURM_PROCID", "SLURM_LOCALID")

    group: Literal["account", "none"] = "none"
    """Account to charge: `--account=`, or none. It is optional, since a user may have a default account."""
    gpu_request: Literal["none", "gpus-per-node", "gres"] = "none"
    """`--gpus-per-node=` or `--gres=gpu:`; `none` if the site allocates whole nodes."""
    exclusive: bool = False
    """`--exclusive`: no other job on the nodes."""

    @property
    def whole_nodes(self) -> bool:
        """Exclusive nodes are charged in full, as are nodes of which no part is requested."""
        return self.gpu_request == "none" or self.exclusive

    def keys_for_gpus(self, nodes: "NodeGroup") -> Mapping[str, str]:
        """Return `gres`, which every version and select plug-in reads."""
        return {"gpu_request": "gres"}

    @classmethod
    def allocation_of(cls, environment: Mapping[str, str]) -> JobAllocation | None:
        """Return the job in the variables of sbatch(1) and salloc(1); of unequal nodes the smallest counts."""
        job = environment.get("SLURM_JOB_ID", "")
        if not job:
            return None
        nodes = environment.get("SLURM_JOB_NUM_NODES") or environment.get("SLURM_NNODES") or "1"
        cores = cpus_of_nodes(environment.get("SLURM_JOB_CPUS_PER_NODE", ""))
        devices = environment.get("CUDA_VISIBLE_DEVICES") or environment.get("ROCR_VISIBLE_DEVICES") or ""
        visible = [gpu for gpu in devices.split(",") if _GPU.match(gpu)]
        gpus = environment.get("SLURM_GPUS_ON_NODE") or str(len(visible))
        if (
            not _JOB.match(job)
            or not cores
            or not all(re.match(r"\d{1,6}\Z", text, re.ASCII) for text in (nodes, gpus))
        ):
            raise ValueError(job)
        return JobAllocation(job, max(1, int(nodes)), min(cores), int(gpus))

    def has_launcher(self, launcher: str) -> bool:
        """Return True: srun starts ranks as steps of a job."""
        return True

    def directives(self, header: Header) -> dict[str, Any]:
        """Add `account`, `qos`, `constraint`, GPUs, `memory`, `exclusive`; `queue` is the partition."""
        gpus = header.gpus_per_node
        return {
            **super().directives(header),
            "queue": header.queue if header.partition is None else header.partition,
            "qos": header.qos,
            "constraint": header.constraint,
            "account": header.group if self.group == "account" else None,
            "gpus_per_node": gpus if gpus and self.gpu_request == "gpus-per-node" else None,
            "gres": f"gpu:{gpus}" if gpus and self.gpu_request == "gres" else None,
            "memory": header.memory and f"{header.mebibytes}M",
            "exclusive": "yes" if self.exclusive else None,
        }


def cpus_of_nodes(text: str) -> list[int]:
    """Return the CPUs of the nodes in SLURM_JOB_CPUS_PER_NODE, such as `72(x2),36`; none for invalid text."""
    cpus: list[int] = []
    for word in text.split(",") if text else ():
        match = _CPUS.match(word)
        if match is None or int(match[1]) == 0:
            return []
        cpus.append(int(match[1]))
    return cpus
