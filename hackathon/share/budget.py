"""Hold requests against the budget of the team that makes them, before they are submitted."""

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hackathon.jobs.cost import KINDS, cost, spent
from hackathon.share.people import People
from hackathon.share.places import Project, bounds_of, find_projects, team_folders
from hackathon.text.files import read_json, write_json
from hackathon.text.paths import user_cache

if TYPE_CHECKING:
    from hackathon.config.cluster import Cluster
    from hackathon.config.event import Budget, Event, Team
    from hackathon.jobs.request import Request

FOUND_FOR = 600.0
"""Seconds for which a team's folders are not searched again for projects; the own project always counts."""
MINUTE = 60
CRUMB = 1e-9
"""Hours by which sums of floating-point numbers may be off."""


@dataclass(frozen=True)
class Line:
    """One thing that the budget limits, in hours or tokens."""

    kind: str
    budget: float
    used: float
    waiting: float
    """What jobs in the queue, or running, can still take at most."""
    request: float
    """What the requests can take at most."""

    @property
    def left(self) -> float:
        """What is free now, before the requests; not less than nothing."""
        return max(0.0, self.budget - self.used - self.waiting)

    @property
    def spent(self) -> bool:
        """Whether nothing is left that ended or running jobs have not used, and the requests need some."""
        return self.request > 0 and self.used >= self.budget - CRUMB

    @property
    def over(self) -> bool:
        """Whether the requests can go beyond the budget."""
        return self.request > 0 and self.used + self.waiting + self.request > self.budget + CRUMB


@dataclass(frozen=True)
class Standing:
    """A team's budget on one cluster, and what requests would do to it."""

    team: str
    """Empty when the project and the account belong to no team."""
    cluster: str
    lines: tuple[Line, ...] = ()
    folders: int = 0
    """Folders of runs of the team."""
    unread: int = 0
    """Those of them that this account can not read."""
    walltime: int | None = None
    """The longest walltime in seconds, in whole minutes, with which the requests would fit; None: not even a minute."""
    jobs: int = 0
    """How many of the jobs would fit as they are; 0 where they are not alike."""

    @property
    def spent(self) -> bool:
        """Whether something that the requests need is used up."""
        return any(line.spent for line in self.lines)

    @property
    def over(self) -> bool:
        """Whether the requests can go beyond the budget."""
        return any(line.over for line in self.lines)


def budget_of(event: "Event", cluster: str) -> "Budget | None":
    """Return what each team may use on a cluster; None where nothing is limited."""
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
    """Return how the requests, each submitted `repeat` times, stand to the team's budget; None where there is none.

    Counted are the runs in the team's folders and in `project` as far as this account can read them, by their own
    markers and what schedulers said before: no scheduler is asked. What running jobs can still take, and jobs in the
    queue, is told beside it.
    """
    limits = budget_of(event, cluster.name)
    if limits is None:
        return None
    team = own_team(event, event_folder, project, requests[0].team)
    if team is None:
        return Standing("", cluster.name)
    from hackathon.share.usage_read import read_projects
    from hackathon.share.usage_rows import counted_twice, gpus_of

    moment = time.time() if now is None else now
    alone = replace(event, teams=[team])
    projects = _projects(alone, event_folder, project, moment)
    reads, _ = read_projects(projects, bounds_of(event_folder, alone, [project]), now=moment)
    twice = counted_twice(reads)
    held, still = [0.0, 0.0], [0.0, 0.0]
    for read in reads:
        for use in read.uses:
            if use.cluster != cluster.name or (twice and f"{read.project.path}//{use.id}" in twice):
                continue
            gpus = gpus_of(use, cluster)
            for life in use.lives:
                held[0] += life.seconds * life.nodes
                held[1] += life.seconds * (life.nodes * gpus if life.gpus is None else life.gpus)
            if use.waiting or use.state:
                seconds = use.still() * use.nodes
                still[0] += seconds
                still[1] += seconds * gpus
    used, waiting = (spent(nodes, gpus, cluster.rates) for nodes, gpus in (held, still))
    asked = cost(requests, cluster, repeat)
    lines = tuple(
        Line(kind, float(limit), used.of(kind), waiting.of(kind), asked.of(kind))
        for kind in KINDS
        if (limit := getattr(limits, kind)) is not None
    )
    closed = sum(_is_closed(folder) for folder in team_folders(team, event_folder))
    unread = closed + sum(not read.readable for read in reads)
    found = Standing(team.name, cluster.name, lines, len(reads) + closed, unread)
    return _with_nearest(found, requests, cluster, repeat) if found.over else found


def own_team(event: "Event", event_folder: Path, project: Path, claimed: str | None) -> "Team | None":
    """Return the team that a project belongs to: by its folder, else by the account, else as project.yaml says."""
    place = os.path.realpath(project)
    for team in event.teams:
        for folder in team_folders(team, event_folder):
            root = os.path.realpath(folder)
            if place == root or place.startswith(f"{root.rstrip('/')}/"):
                return team
    people = People(event)
    own = people.team_of(people.account(os.geteuid())) or claimed
    return next((team for team in event.teams if team.name == own), None)


def _with_nearest(found: Standing, requests: "Sequence[Request]", cluster: "Cluster", repeat: int) -> Standing:
    def fits(walltime: int) -> bool:
        shorter = cost(requests, cluster, repeat, walltime)
        return all(shorter.of(line.kind) <= line.left + CRUMB for line in found.lines if line.request > 0)

    low, high = 0, max(request.walltime for request in requests) // MINUTE
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle * MINUTE) else (low, middle - 1)
    jobs, each = len(requests) * repeat, cost(requests[:1], cluster)
    if any(cost([request], cluster) != each for request in requests):
        jobs = 0
    for line in found.lines:
        if line.request > 0 and jobs:
            jobs = min(jobs, int((line.left + CRUMB) / each.of(line.kind)))
    return replace(found, walltime=low * MINUTE or None, jobs=jobs)


def _is_closed(folder: Path) -> bool:
    """Return whether a folder is there and this account can not look into it."""
    return os.path.lexists(folder) and not os.access(folder, os.R_OK | os.X_OK, effective_ids=True)


def _projects(event: "Event", event_folder: Path, project: Path, now: float) -> list[Project]:
    """Return the team's projects and the own one; the team's folders are searched anew after FOUND_FOR seconds."""
    import hashlib

    team = event.teams[0].name
    roots = [os.path.realpath(folder) for folder in team_folders(event.teams[0], event_folder)]
    name = hashlib.sha256("\0".join([os.path.realpath(event_folder), team, *roots]).encode()).hexdigest()[:24]
    path = user_cache() / "usage" / f"team-{name}.json"
    kept: Any = read_json(path)
    listed = kept.get("projects") if isinstance(kept, dict) and kept.get("roots") == roots else None
    moment = kept.get("t") if isinstance(kept, dict) else None
    fresh = isinstance(moment, (int, float)) and 0 <= now - moment < FOUND_FOR
    if fresh and isinstance(listed, list) and all(isinstance(each, str) for each in listed):
        found = [Project(Path(each), team) for each in listed]
    else:
        found, _ = find_projects(event_folder, event, [])
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_json(path, {"t": now, "roots": roots, "projects": [str(each.path) for each in found]})
        except (OSError, ValueError):
            pass  # the next submission searches again
    places = {os.path.realpath(each.path) for each in found}
    if os.path.realpath(project) not in places and (project / "runs").is_dir():
        found = [*found, Project(project, team)]
    return found
