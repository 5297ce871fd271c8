"""Trials inside one allocation: its resources, and the share of each concurrent trial.

Inside a Slurm job each trial is a step of it, so that several nodes can be used. Elsewhere trials are processes of this
machine, each with cores and GPUs of its own (`hackathon.schedulers.local.share`).
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from hackathon.config.cluster import Launcher, Rates, gpus_here
from hackathon.logs.collapse import ranks_text
from hackathon.schedulers import registry
from hackathon.schedulers.local.share import units
from hackathon.text.errors import RequestError
from hackathon.text.messages import Message

if TYPE_CHECKING:
    from hackathon.jobs.resolve import Sources

USUAL = 4
"""Concurrent trials when neither a number nor GPUs determine them."""
_GPU = re.compile(r"(\d{1,3}|(GPU|MIG)-[A-Za-z0-9-]+)\Z", re.ASCII)


@dataclass(frozen=True)
class Allocation:
    """The resources of an allocation."""

    cores: tuple[int, ...]
    """Cores of each node; for steps only their number matters."""
    gpus: tuple[str, ...] = ()
    """GPUs of each node, by number or UUID."""
    nodes: int = 1
    step_of: str = ""
    """The Slurm job; empty for this machine."""

    @property
    def most(self) -> int:
        """Highest number of concurrent trials."""
        return self.nodes * (len(self.gpus) or len(self.cores))

    @property
    def usual(self) -> int:
        """Default number of concurrent trials: one per GPU, else USUAL."""
        return self.most if self.gpus else min(USUAL, self.most)

    def share(self, concurrent: int) -> tuple[int, int]:
        """Return the cores and GPUs of each of so many concurrent trials. Raises RequestError for too many."""
        if concurrent > self.most:
            kind = (
                Message(
                    "tune.too_many_gpus",
                    "{concurrent} trials at once need more GPUs than the {most} of this allocation",
                    hint="Use --concurrent {most}.",
                )
                if self.gpus
                else Message(
                    "tune.too_many_cores",
                    "{concurrent} trials at once need more cores than the {most} of this allocation",
                    hint="Use --concurrent {most}.",
                )
            )
            raise RequestError(kind, concurrent=concurrent, most=self.most)
        of_node = -(-concurrent // self.nodes)
        return max(1, len(self.cores) // of_node), len(self.gpus) // of_node


def find_allocation(environment: Mapping[str, str]) -> Allocation:
    """Return the allocation of this process, by its environment and the kernel's limits.

    Raises RequestError for a job whose environment does not describe its resources.
    """
    try:
        allocation = registry.allocation(environment)
    except ValueError as error:
        raise RequestError(
            "tune.odd_allocation",
            "the environment does not say what Slurm job {job} has",
            hint="Start the command inside the job, with salloc or in a script for sbatch.",
            job=error,
        ) from None
    if allocation is not None:
        gpus = tuple(map(str, range(allocation.gpus)))
        return Allocation(tuple(range(allocation.cores)), gpus, allocation.nodes, allocation.job)
    visible = environment.get("CUDA_VISIBLE_DEVICES")
    if visible is None:
        devices = tuple(map(str, range(gpus_here())))
    else:
        devices = tuple(unit for unit in units(visible.replace(" ", "")) if _GPU.match(unit))
    return Allocation(tuple(sorted(os.sched_getaffinity(0))), devices)


def inside(sources: "Sources", allocation: Allocation, concurrent: int) -> "Sources":
    """Return the sources of trials that share an allocation. Raises RequestError: too many at once, several nodes.

    A trial sees its share as a small machine of one node without queues. It has no price: the allocation has.
    """
    from hackathon.jobs.resolve import resolve

    cores, gpus = allocation.share(concurrent)
    dialect: dict[str, Any] = {"cores_each": cores, "gpus_each": gpus}
    if allocation.step_of:
        dialect["step_of"] = allocation.step_of
    else:
        dialect |= {"cores": ranks_text(allocation.cores), "gpus": ",".join(allocation.gpus)}
    cluster = sources.cluster
    # mpirun inside a step would start its ranks through Slurm, outside that step
    fitting: tuple[Launcher, ...] = ("torchrun", "local") if allocation.step_of else ("torchrun", "local", "mpirun")
    usable = [launcher for launcher in cluster.launchers or fitting if launcher in fitting]
    profile = replace(
        cluster, scheduler="local", dialect=dialect, node=replace(cluster.node, cores=cores, gpus=gpus),
        processes_per_node=gpus or 1, threads=None, queues={}, queue=None, launchers=usable or ["local"],
        starter="local", rates=Rates(), directives=[],
    )  # fmt: skip
    narrowed = replace(sources, cluster=profile)
    request = resolve(narrowed)
    if request.nodes != 1:
        raise RequestError(
            "tune.inside_one_node",
            "a trial inside an allocation runs on one node, not on {nodes}",
            hint="Ask for fewer processes, or leave out --inside-allocation: then each trial is a job of its own.",
            nodes=request.nodes,
        )
    if not gpus and request.processes > 1:
        profile = replace(profile, processes_per_node=min(request.processes, cores))
    return replace(narrowed, cluster=profile)
