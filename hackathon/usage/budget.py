"""Compare requests with the budget of the team that makes them, before they are submitted."""

import math
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hackathon.config.event import own_team, team_folders
from hackathon.index.members import Members
from hackathon.index.projects import ProjectFolder, bounds_of, find_projects
from hackathon.index.uses import read_uses
from hackathon.jobs.cost import KINDS, cost, spent
from hackathon.runs.lives import counted_twice, still_gpus
from hackathon.text.files import read_json, write_json
from hackathon.text.paths import user_cache
from hackathon.usage.rows import Profiles, divided

if TYPE_CHECKING:
    from hackathon.config.cluster import Cluster
    from hackathon.config.event import Budget, Event, Team
    from hackathon.jobs.request import Request

FOUND_FOR = 600.0
"""Seconds for which the list of a team's projects is reused; the user's own project always counts."""
MINUTE = 60
CRUMB = 1e-9
"""Tolerance, in hours, for sums of floating-point numbers."""


@dataclass(frozen=True)
class BudgetLine:
    """One quantity that the budget limits, in hours or tokens."""

    kind: str
    budget: float
    used: float
    waiting: float
    """The most that queued and running jobs can still use."""
    request: float
    """The most that the requests can use."""

    @property
    def left(self) -> float:
        """The amount free before the requests; at least 0."""
        return max(0.0, self.budget - self.used - self.waiting)

    @property
    def spent(self) -> bool:
        """Whether ended and running jobs have used all of the budget, and the requests need some."""
        return self.request > 0 and self.used >= self.budget - CRUMB

    @property
    def over(self) -> bool:
        """Whether the requests may exceed the budget."""
        return self.request > 0 and self.used + self.waiting + self.request > self.budget + CRUMB


@dataclass(frozen=True)
class Standing:
    """A team's budget on one cluster, and how requests would change it."""

    team: str
    """Empty when the project and the account belong to no team."""
    cluster: str
    lines: tuple[BudgetLine, ...] = ()
    folders: int = 0
    """Number of the team's folders of runs."""
    unread: int = 0
    """Number of them that this account cannot read."""
    walltime: int | None = None
    """The longest walltime, in seconds and full minutes, with which the requests fit; None if not even one minute does.
    """
    jobs: int = 0
    """Number of jobs that fit unchanged; 0 if the jobs differ."""

    @property
    def spent(self) -> bool:
        """Whether a quantity that the requests need is used up."""
        return any(line.spent for line in self.lines)

    @property
    def over(self) -> bool:
        """Whether the requests may exceed the budget."""
        return any(line.over for line in self.lines)


def budget_of(event: "Event", cluster: str) -> "Budget | None":
    """Return what each team may use on a cluster; None if there is no limit."""
    entry = event.clusters.get(cluster)
    limits = entry.budget if entry is not None else None
    return limits if limits is not None and any(getattr(limits, kind) is not None for kind in KINDS) else None


def standing(
    event: "Event",
    event_folder: Path,
    requests: "Sequence[Request]",
    cluster: "Cluster",
    project: Path,
    *,
    repeat: int = 1,
    now: float | None = None,
) -> Standing | None:
    """Return how the requests, each submitted `repeat` times, compare with the team's budget; None if it has none.

    This counts the runs in the team's folders and in `project` that this account can read, by their own markers and by
    earlier answers of the schedulers; it asks no scheduler. The result lists separately what running and queued jobs
    can still use.
    """
    limits = budget_of(event, cluster.name)
    if limits is None:
        return None
    team = own_team(event, event_folder, project, requests[0].team)
    if team is None:
        return Standing("", cluster.name)
    moment = time.time() if now is None else now
    projects = _projects(event, team, event_folder, project, moment)
    reads, _ = read_uses(projects, bounds_of(event_folder, event, [project]), now=moment)
    members, profiles = Members(event), Profiles([event_folder])
    profile = profiles.get(cluster.name) or cluster
    counted = [run for read in reads for run in read.counted]
    twice = counted_twice((run.key, run.use) for run in counted)
    own = [
        run
        for run in counted
        if run.use.cluster == cluster.name and members.team_of_run(run.project, run.use) == team.name
    ]
    rows = divided(own, twice, members, profiles, moment, days=False)
    occupied = [math.fsum(row.node_seconds for row in rows), math.fsum(row.gpu_seconds for row in rows)]
    still = [0.0, 0.0]
    for run in own:
        use = run.use
        if use.closed or run.key in twice:
            continue
        seconds = use.held(moment).still(use.walltime) * use.nodes
        still[0] += seconds
        still[1] += seconds * still_gpus(use, profile)
    used, waiting = (spent(nodes, gpus, profile.rates) for nodes, gpus in (occupied, still))
    demand = cost(requests, cluster, repeat)
    lines = tuple(
        BudgetLine(kind, float(limit), used.of(kind), waiting.of(kind), demand.of(kind))
        for kind in KINDS
        if (limit := getattr(limits, kind)) is not None
    )
    closed = sum(_is_closed(folder) for folder in team_folders(team, event_folder))
    unread = closed + sum(not read.readable for read in reads if read.project.team == team.name)
    ours = sum(read.project.team == team.name for read in reads)
    standing = Standing(team.name, cluster.name, lines, ours + closed, unread)
    return _with_nearest(standing, requests, cluster, repeat) if standing.over else standing


def _with_nearest(standing: Standing, requests: "Sequence[Request]", cluster: "Cluster", repeat: int) -> Standing:
    def fits(walltime: int) -> bool:
        shorter = cost(requests, cluster, repeat, walltime)
        return all(shorter.of(line.kind) <= line.left + CRUMB for line in standing.lines if line.request > 0)

    low, high = 0, max(request.walltime for request in requests) // MINUTE
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle * MINUTE) else (low, middle - 1)
    jobs, price = len(requests) * repeat, cost(requests[:1], cluster)
    if any(cost([request], cluster) != price for request in requests):
        jobs = 0
    for line in standing.lines:
        if line.request > 0 and jobs:
            jobs = min(jobs, int((line.left + CRUMB) / price.of(line.kind)))
    return replace(standing, walltime=low * MINUTE or None, jobs=jobs)


def _is_closed(folder: Path) -> bool:
    """Return whether a folder exists and this account cannot list it."""
    return os.path.lexists(folder) and not os.access(folder, os.R_OK | os.X_OK, effective_ids=True)


def _projects(event: "Event", team: "Team", event_folder: Path, project: Path, now: float) -> list[ProjectFolder]:
    """Return the team's projects, the user's own, and those without a team.

    The list is renewed after FOUND_FOR seconds.
    """
    import hashlib

    folders = {other.name: team_folders(other, event_folder) for other in event.teams}
    roots = [os.path.realpath(folder) for folder in folders[team.name]]
    name = hashlib.sha256("\0".join([os.path.realpath(event_folder), team.name, *roots]).encode()).hexdigest()[:24]
    try:
        path = user_cache() / "usage" / f"team-{name}.json"
    except RuntimeError:
        path = Path(os.devnull) / name  # no cache
    cached: Any = read_json(path)
    listed = cached.get("projects") if isinstance(cached, dict) and cached.get("roots") == roots else None
    moment = cached.get("t") if isinstance(cached, dict) else None
    fresh = isinstance(moment, (int, float)) and 0 <= now - moment < FOUND_FOR
    if fresh and isinstance(listed, list) and all(_is_listed(entry) for entry in listed):
        projects = [ProjectFolder(Path(folder), team.name if ours else "", shown=ours) for folder, ours in listed]
    else:
        alone = replace(event, teams=[team])
        excluded = [folder for other, paths in folders.items() if other != team.name for folder in paths]
        projects, _ = find_projects(event_folder, alone, [], strays=[], without=excluded)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            entries = [[str(project.path), project.shown] for project in projects]
            write_json(path, {"t": now, "roots": roots, "projects": entries})
        except (OSError, ValueError):
            pass  # the next submission searches again
    locations = {os.path.realpath(project.path) for project in projects}
    if os.path.realpath(project) not in locations and (project / "runs").is_dir():
        projects = [*projects, ProjectFolder(project, team.name)]
    return projects


def _is_listed(value: object) -> bool:
    return isinstance(value, list) and len(value) == 2 and isinstance(value[0], str) and isinstance(value[1], bool)
