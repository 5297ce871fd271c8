"""Checked and rendered jobs before submission: what `render` and `check` need, and no more."""

from collections.abc import Callable, Sequence
from dataclasses import field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from hackathon.jobs.request import Request
from hackathon.text.light_dataclass import dataclass

if TYPE_CHECKING:
    from hackathon.jobs.cost import Cost
    from hackathon.jobs.grid import Cell
    from hackathon.jobs.resolve import Sources
    from hackathon.jobs.script import JobScript
    from hackathon.jobs.settings import Settings
    from hackathon.schedulers.reports import NodeGroup


@dataclass(frozen=True)
class PlannedJob:
    """One job of a plan."""

    request: Request
    sources: "Sources" = field(repr=False)
    settings: "Settings" = field(default_factory=dict, hash=False)
    """The settings of its study's point, besides the process count."""

    @cached_property
    def script(self) -> "JobScript":
        """Its script, byte for byte as it is submitted. Raises RequestError."""
        from hackathon.jobs.render import render

        return render(self.request, self.sources.cluster, self.sources.template_folders)

    @property
    def key(self) -> str:
        """Its key in a study."""
        from hackathon.jobs.settings import point_key

        return point_key(self.request.processes, self.settings)


@dataclass(frozen=True)
class Plan:
    """Checked and rendered jobs, none of which is submitted yet."""

    sources: "Sources" = field(repr=False)
    jobs: tuple[PlannedJob, ...]
    repeat: int = 1
    """How often each job is submitted."""
    nodes: "Sequence[NodeGroup]" = ()
    """The machine's nodes, as its scheduler describes them; empty if the profile does, or if it was not asked."""
    preflight: PlannedJob | None = None
    """The job that checks the nodes first; the others start only if it finds no error."""

    @property
    def requests(self) -> list[Request]:
        """The request of every job that will be submitted, the preflight's first, repeats included."""
        first = [self.preflight.request] if self.preflight else []
        return [*first, *(job.request for job in self.jobs for _ in range(self.repeat))]

    @property
    def cost(self) -> "Cost":
        """The highest possible cost of all jobs."""
        from hackathon.jobs.cost import cost

        return cost(self.requests, self.sources.cluster)


def plan_jobs(
    sources: "Sources",
    wanted: "Sequence[Request] | Sequence[Cell] | None" = None,
    *,
    repeat: int = 1,
    become: Callable[[Request], Request] | None = None,
    place: bool = True,
    script: bool = True,
    nodes: "Sequence[NodeGroup]" = (),
) -> Plan:
    """Return the plan of `requests`, by default of the one that the sources resolve to.

    `become` changes a checked request into the one to submit, e.g. a small job in place of the project's. `place=False`
    does not check the folder of the runs; `script=False` does not render; `nodes`: the machine's, as its scheduler
    describes them. Raises CheckError for the first request that the cluster would not run, and as `render` does.
    """
    from hackathon.jobs.check import check
    from hackathon.jobs.resolve import resolve

    cells = wanted or [resolve(sources)]
    jobs = tuple(
        PlannedJob(entry, sources) if isinstance(entry, Request) else PlannedJob(entry.request, sources, entry.settings)
        for entry in cells
    )
    for job in jobs:
        check(job.request, sources.cluster, sources.recipe, sources.runs if place else None, nodes)
    if become is not None:
        jobs = tuple(replace(job, request=become(job.request)) for job in jobs)
    for job in jobs if script else ():
        assert job.script
    return Plan(sources, jobs, repeat, nodes)
