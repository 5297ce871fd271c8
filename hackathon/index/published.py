"""The runs of an event that a public page may count: not those of hidden teams, nor those on laptops."""

from dataclasses import replace
from typing import TYPE_CHECKING

from hackathon.index.catalog import Catalog
from hackathon.index.studies import by_team, run_key
from hackathon.schedulers.registry import load_cluster
from hackathon.text.errors import HackathonError

if TYPE_CHECKING:
    from hackathon.config.event import Event

LAPTOP = "local"
"""The scheduler of machines that have none."""


def hidden_teams(event: "Event | None") -> frozenset[str]:
    """Return the teams that no public page names: the organiser hides them, or they did not take part."""
    return frozenset(team.name for team in (event.teams if event else ()) if not (team.publish and team.took_part))


def without_hidden(source: Catalog) -> Catalog:
    """Return a catalog without the runs and projects of hidden teams; their people still count."""
    hidden = hidden_teams(source.event)
    if not hidden:
        return source
    gone = [team for team in by_team(source) if team.name in hidden]
    runs = {run_key(run) for team in gone for run in (*team.runs, *team.unseen)}
    paths = {path for team in gone for path in team.projects}
    return replace(
        source,
        hidden=hidden,
        summaries=tuple(run for run in source.summaries if run_key(run) not in runs),
        unseen=tuple(run for run in source.unseen if run_key(run) not in runs),
        projects=tuple(project for project in source.projects if project.path not in paths),
    )


def laptops(source: Catalog) -> frozenset[str]:
    """Return the clusters that are laptops, if the event uses other machines; no sum includes their runs.

    An event without clusters uses those of its runs, as far as their profiles are known.
    """
    if source.laptops is not None:
        return source.laptops
    # hackathon.yaml decides, so that a run's record cannot exclude the runs of other teams
    planned = source.event.clusters if source.event is not None else ()
    by_name = {name: _is_laptop(name, source) for name in {*planned, *(run.cluster for run in source.entries)} if name}
    if False not in [by_name[name] for name in (planned or by_name)]:
        return frozenset()
    return frozenset(name for name, is_laptop in by_name.items() if is_laptop)


def _is_laptop(name: str, source: Catalog) -> bool | None:
    """Return whether a cluster has no scheduler; None if there is no profile."""
    try:
        cluster = load_cluster(name, [source.event_folder] if source.event_folder else [])
    except (HackathonError, OSError):
        return None
    return cluster.scheduler == LAPTOP
