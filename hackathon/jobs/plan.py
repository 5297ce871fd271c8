"""Jobs that were checked and rendered, and are not submitted yet: what `render` and `check` need, and no more."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from hackathon.jobs.request import Request

if TYPE_CHECKING:
    from hackathon.jobs.cost import Cost
    from hackathon.jobs.grid import Cell
    from hackathon.jobs.resolve import Sources
    from hackathon.jobs.script import JobScript
    from hackathon.jobs.settings import Settings
    from hackathon.schedulers.machine import NodeGroup


@dataclass(frozen=True)
class PlannedJob:
    """One job of a plan."""

    request: Request
    sources: "Sources" = field(repr=False)
    settings: "Settings" = field(default_factory=dict, hash=False)
    """What sets it apart from the other points of its study, beside the process count."""

    @cached_property
    def script(self) -> "JobScript":
        """Its script, byte for byte as it is submitted. Raises TemplateError and RequestError."""
        from hackathon.jobs.render import render

        return render(self.request, self.sources.cluster, self.sources.template_folders)

    @property
    def key(self) -> str:
        """Its key in a study."""
        from hackathon.jobs.settings import point_key

        return point_key(self.request.processes, self.settings)


@dataclass(frozen=True)
class Plan:
    """Jobs that were checked and rendered, and of which none is submitted yet."""

    sources: "Sources" = field(repr=False)
    jobs: tuple[PlannedJob, ...]
    repeat: int = 1
    """How often each job is submitted."""
    nodes: "Sequence[NodeGroup]" = ()
    """The machine's nodes, as its scheduler describes them; none where the profile does, or nobody was asked."""
    preflight: PlannedJob | None = None
    """The job that looks at the nodes first; the others start only if it finds nothing wrong."""

    @property
    def requests(self) -> list[Request]:
        """The request of every job that will be submitted, the preflight's first; repeats stand there repeatedly."""
        first = [self.preflight.request] if self.preflight else []
        return [*first, *(job.request for job in self.jobs for _ in range(self.repeat))]

    @property
    def cost(self) -> "Cost":
        """The most that all of it can cost."""
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
    """Return the plan of the jobs that are wanted, by default the one that the sources resolve to.

    `become` makes of a checked request the one that is submitted: a small job in the project's place. `place=False`
    does not check where the runs would lie; `script=False` does not render; `nodes` are those of the machine,
    where its scheduler was asked. Raises CheckError for the first request
    that the cluster would not run, and as `render` does.
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
