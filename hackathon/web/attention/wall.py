"""The wall: the Now page for a projector, with one tile for each team."""

from dataclasses import dataclass
from typing import Any

from hackathon.index.catalog import Catalog
from hackathon.web.attention.now import RELOAD, NowView, now_view
from hackathon.web.attention.records import NowItem
from hackathon.web.views.board import line

MATTERS = 2
"""Matters of a tile that are displayed."""


@dataclass(frozen=True)
class TeamTile:
    """One team."""

    team: str
    """Empty for matters of no team."""
    seat: str = ""
    matters: tuple[NowItem, ...] = ()
    """The most urgent ones first."""
    left: int = 0
    """Matters that are not displayed."""
    running: int = 0
    queued: int = 0

    @property
    def tone(self) -> str:
        """The kind of its most urgent matter; `live` with running jobs, else empty."""
        return self.matters[0].kind if self.matters else "live" if self.running else ""


@dataclass(frozen=True)
class WallView:
    """All teams, in the order of the event's file, and the totals of the Now page."""

    tiles: tuple[TeamTile, ...]
    now: NowView


def values(source: Catalog, key: str = "") -> dict[str, Any] | None:
    """Return the template's values."""
    return None if key else {"view": wall_view(source), "reload": RELOAD}


def wall_view(source: Catalog) -> WallView:
    """Return a tile for each team of the event or with a run, and one for matters of no team."""
    view = now_view(source)
    matters: dict[str, list[NowItem]] = {}
    for item in view.items:
        for part in item.items or (item,):
            matters.setdefault(part.team, []).append(part)
    teams = [line(team.name) for team in source.event.teams] if source.event is not None else []
    jobs = {team: (running, queued) for team, running, queued in view.jobs}
    names = dict.fromkeys([*teams, *sorted(jobs), *matters])
    if source.team:
        names = dict.fromkeys(team for team in names if team == line(source.team))
    seats = {line(team.name): line(team.seat) for team in source.event.teams} if source.event is not None else {}

    def tile(team: str) -> TeamTile:
        own, (running, queued) = matters.get(team, []), jobs.get(team, (0, 0))
        return TeamTile(
            team=team,
            seat=seats.get(team, ""),
            matters=tuple(own[:MATTERS]),
            left=max(0, len(own) - MATTERS),
            running=running,
            queued=queued,
        )

    return WallView(tuple(tile(team) for team in names), view)
