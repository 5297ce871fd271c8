"""The setting `binding`: which cores a rank may use, as options of each launcher."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hackathon.jobs.request import Request

BINDING_LAUNCHERS = ("torchrun", "srun", "mpirun")
"""Launchers with such an option."""


def arrays(request: "Request") -> "dict[str, list[str]]":
    """Return the options of a request's binding by name of the script's array; empty for a launcher without such."""
    binding, per_node, threads = request.binding, request.processes_per_node, request.threads
    match request.launcher:
        case "torchrun":
            return {"HK_BIND": torchrun_words(binding)}
        case "srun":
            return {"HK_BIND": srun_words(binding)}
        case "mpirun":
            words = {"openmpi": openmpi_words(binding, per_node, threads), "mpich": mpich_words(binding, threads)}
            return {f"HK_BIND_{name.upper()}": words[name] for name in words if request.mpi in (name, "auto")}
    return {}


def torchrun_words(binding: "str | None") -> list[str]:
    """Return torchrun's option (torch 2.9 or newer, with GPUs and numactl): near the GPU of the local rank.

    Source: docs.pytorch.org, torch.numa.binding.AffinityMode.
    """
    return {"numa": ["--numa-binding=node"], "cores": ["--numa-binding=exclusive"]}.get(binding or "", [])


def srun_words(binding: "str | None") -> list[str]:
    """Return srun's option; the local rank chooses its memory domain (`ldoms`). Source: srun(1)."""
    word = {"none": "none", "numa": "ldoms", "cores": "cores"}.get(binding or "")
    return [f"--cpu-bind={word}"] if word else []


def openmpi_words(binding: "str | None", per_node: int, threads: int) -> list[str]:
    """Return the options of Open MPI's mpirun; without a binding ranks are not bound. Source: mpirun(1)."""
    if binding == "cores":
        return ["--map-by", f"ppr:{per_node}:node:PE={threads}", "--bind-to", "core"]
    return ["--map-by", f"ppr:{per_node}:node", "--bind-to", "numa" if binding == "numa" else "none"]


def mpich_words(binding: "str | None", threads: int) -> list[str]:
    """Return the options of Hydra's mpiexec. Source: mpiexec -bind-to -help."""
    word = {"none": "none", "numa": "numa", "cores": f"core:{threads}"}.get(binding or "")
    return ["-bind-to", word] if word else []
