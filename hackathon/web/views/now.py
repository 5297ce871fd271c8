"""Who needs help: the page that tutors keep open, and what `hackathon top` shows."""

import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from hackathon.board.people import People
from hackathon.index.catalog import Catalog
from hackathon.index.record import RunEntry, key_of
from hackathon.runs.states import CANCELLED, ENDING, HELD, OPEN, QUEUED, RUNNING, SUCCEEDED
from hackathon.text.messages import language, message
from hackathon.web.page import sanitize as clean
from hackathon.web.views import board as problems
from hackathon.web.views.board import LONGEST, line
from hackathon.web.views.cluster import cores
from hackathon.web.views.trouble import KINDS, RECENT, SILENT, age, clock, kind_of, moment, says, since

SHOWN = 40
"""Runs that are well and have a line of their own."""
MOST = 200
"""Items on the page."""


@dataclass(frozen=True)
class NowItem:
    """One thing that somebody should look at."""

    kind: str
    """One of trouble.KINDS."""
    team: str
    person: str
    """The name as the event gives it, else the account."""
    name: str
    """Its recipe or project; of a request its run's, empty without one."""
    message: str
    """What is the matter, in one sentence."""
    since: float | None
    age: str = ""
    """How long ago that was."""
    when: str = ""
    """The same as a clock shows it."""
    advice: str = ""
    """What to do."""
    state: str = ""
    """The run's; empty for a request."""
    processes: int = 0
    part: str = ""
    """Where a failure lies: gpu, nccl, …"""
    evidence: str = ""
    """The line that shows it."""
    place: str = ""
    """Where the line stands."""
    run: str = ""
    """The run's key; empty without one."""
    run_id: str = ""
    post: str = ""
    """The short id of the request on the board."""
    helper: str = ""
    """Who has taken it."""
    more: int = 0
    """Further runs of the same name in the same trouble."""
    newer: str = ""
    """The state of a run of the same name that was submitted after a failure and goes on."""


@dataclass(frozen=True)
class Well:
    """A run that goes on and needs nobody."""

    team: str
    person: str
    name: str
    processes: int
    state: str
    since: float | None
    age: str
    run: str
    run_id: str
    value: float | None = None
    unit: str = ""
    loss: float | None = None
    gpu_percent: float | None = None


@dataclass(frozen=True)
class NowView:
    """The Now page."""

    items: tuple[NowItem, ...]
    """The most urgent first."""
    left: int
    """Items that are not shown."""
    well: tuple[Well, ...]
    well_left: int
    running: int
    queued: int
    ended: int
    """Runs that ended since midnight, and how many of them well."""
    succeeded: int
    now: float
    team: str = ""
    problems: tuple[str, ...] = ()
    """What could not be read."""
    empty: bool = False
    """Whether no run was found at all: nothing was submitted yet, or this is the wrong folder."""

    @property
    def count(self) -> int:
        """How many things need somebody."""
        return len(self.items) + self.left

    def to_json(self) -> dict[str, Any]:
        """Return the view as JSON values."""
        return asdict(self)


def values(source: Catalog, key: str = "") -> dict[str, Any] | None:
    """Return what the template shows."""
    return {"view": now_view(source)}


def now_view(source: Catalog) -> NowView:
    """Return who needs help, by urgency, and what goes on well. One pass over all runs, a second over recent ones."""
    now = source.now
    midnight = time.mktime((*time.localtime(now)[:3], 0, 0, 0, 0, 0, -1))
    recent = [each for each in source.summaries if each.state in OPEN or moment(each) > now - RECENT]
    ended = [each for each in recent if each.ended is not None and each.ended >= midnight and each.state not in OPEN]
    board, problem = problems.read(source)
    people = board.people if board is not None else People(source.event)
    look = _Look(source, people, recent)
    asked = [look.asked(post) for post in board.of("ask") if not post.solved] if board is not None else []
    asked = [item for item in asked if not source.team or item.team == source.team]
    asked.sort(key=lambda item: (bool(item.helper), item.since or 0.0))
    told = {item.run for item in asked if item.run}
    troubles = [each for each in look.troubles() if key_of(each.run.project, each.run.id) not in told]
    well = [each for each in recent if each.state in (RUNNING, ENDING) and not look.troubled(each)]
    count = len(asked) + len(troubles)
    return NowView(
        items=(*asked[:MOST], *map(look.item, troubles[: max(0, MOST - len(asked))])),
        left=max(0, count - MOST),
        well=tuple(look.well(each) for each in well[:SHOWN]),
        well_left=max(0, len(well) - SHOWN),
        running=sum(each.state in (RUNNING, ENDING) for each in recent),
        queued=sum(each.state in (QUEUED, HELD) for each in recent),
        ended=len(ended),
        succeeded=sum(each.state == SUCCEEDED for each in ended),
        now=now,
        team=source.team,
        problems=tuple(line(each) for each in (*source.problems, problem) if each),
        empty=not source.summaries,
    )


def _same(run: RunEntry) -> tuple[str, str, str]:
    return run.project, run.user, run.name


class _Trouble(NamedTuple):
    """Runs of one person, name and study in the same trouble."""

    kind: str
    run: RunEntry
    """The one that stands for all."""
    more: int
    newer: str
    """As Item.newer."""


class _Look:
    """Looks at recent runs for trouble."""

    def __init__(self, source: Catalog, people: People, recent: Sequence[RunEntry]) -> None:
        self._source, self._now, self._people = source, source.now, people
        self._by_id = {each.id: each for each in reversed(recent)}
        self._good: dict[tuple[str, str, str], float] = {}
        self._newer: dict[tuple[str, str, str], RunEntry] = {}
        for each in recent:
            created = each.created or 0.0
            if each.state == SUCCEEDED:
                self._good[_same(each)] = max(created, self._good.get(_same(each), 0.0))
            elif each.state in OPEN:
                other = self._newer.get(_same(each))
                if other is None or created > (other.created or 0.0):
                    self._newer[_same(each)] = each
        self._found: dict[str, list[RunEntry]] = {kind: [] for kind in KINDS}
        self._troubled: set[tuple[str, str]] = set()
        for each in recent:
            if each.state == CANCELLED or (each.state == SUCCEEDED and moment(each) < self._now - SILENT):
                continue  # most runs: nothing is to be found
            kind = self._kind(each)
            if kind:
                self._found[kind].append(each)
                self._troubled.add((each.project, each.id))

    def troubled(self, run: RunEntry) -> bool:
        return (run.project, run.id) in self._troubled

    def _kind(self, run: RunEntry) -> str:
        """Return the kind of a run's trouble; empty for none, and for what a success of its name followed."""
        kind = kind_of(run, self._now, lambda: cores(self._source, run.cluster))
        good = self._good.get(_same(run), -1.0)
        over = (kind == "failed" and good > moment(run)) or (run.state == SUCCEEDED and good > (run.created or 0.0))
        return "" if over else kind

    def troubles(self) -> list[_Trouble]:
        """Return all trouble, the most urgent first; runs of one person, name and kind of trouble are one."""
        made: list[_Trouble] = []
        for kind in KINDS:
            groups: dict[tuple[str, ...], list[RunEntry]] = {}
            for run in self._found[kind]:
                groups.setdefault((*_same(run), run.study), []).append(run)
            if kind == "failed":
                made += self._failed(groups.values())
            else:
                found = [_Trouble(kind, _oldest(kind, each), len(each) - 1, "") for each in groups.values()]
                made += sorted(found, key=lambda each: since(each.kind, each.run) or 0.0)
        return made

    def _failed(self, groups: Iterable[Sequence[RunEntry]]) -> list[_Trouble]:
        """Return failures: those without a newer try first, of each person the last one before further ones."""
        latest = [(max(each, key=moment), len(each) - 1) for each in groups]
        latest.sort(key=lambda each: -moment(each[0]))
        nth: dict[tuple[str, str], int] = {}
        ranked: list[tuple[bool, int, _Trouble]] = []
        for run, more in latest:
            whose = (run.team or run.project, run.user)
            nth[whose] = nth.get(whose, -1) + 1
            newer = self._newer.get(_same(run))
            again = newer.state if newer is not None and (newer.created or 0.0) >= (run.created or 0.0) else ""
            ranked.append((bool(again), nth[whose], _Trouble("failed", run, more, again)))
        return [trouble for *_, trouble in sorted(ranked, key=lambda each: each[:2])]

    def item(self, trouble: _Trouble) -> NowItem:
        """Return what the page says of a trouble."""
        kind, run, more, newer = trouble
        told = run.told_in(language()) if kind in ("failed", "stands", "lost") else None
        said, advice = says(kind, run, self._now)
        begin = since(kind, run)
        return NowItem(
            kind=kind,
            **self._who(run),
            message=line(told.message) if told else said,
            since=begin,
            age=age(self._now, begin),
            when=clock(self._now, begin),
            advice=clean.block(told.advice, LONGEST) if told and told.advice else advice,
            part=line(run.part),
            evidence=line(told.evidence) if told else "",
            place=line(told.place) if told else "",
            more=more,
            newer=newer,
        )

    def well(self, run: RunEntry) -> Well:
        """Return the line of a run that is well."""
        numbers = {"value": run.value, "unit": line(run.unit), "loss": run.loss, "gpu_percent": run.gpu_percent}
        return Well(**self._who(run), since=run.started, age=age(self._now, run.started), **numbers)  # type: ignore[arg-type]

    def _who(self, run: RunEntry) -> dict[str, Any]:
        return {
            "team": line(run.team) or self._people.team(run.user),
            "person": line(self._people.name(run.user)) if run.user else "",
            "name": line(run.name),
            "state": run.state,
            "processes": run.processes,
            "run": key_of(run.project, run.id),
            "run_id": line(run.id),
        }

    def asked(self, post: Any) -> NowItem:
        """Return a request for help; with its run where that is known."""
        run = self._by_id.get(post.run) if post.run else None
        found = post.finding.spoken() if post.finding else None
        about = self._who(run) if run is not None else {"name": "", "run_id": line(post.run), "state": ""}
        about |= {"person": line(self._people.name(post.user)), "team": self._people.team(post.user)}
        about["team"] = about["team"] or line(run.team if run is not None else self._team_at(post.folder))
        helper = line(self._people.name(post.taken.user)) if post.taken else ""
        return NowItem(
            kind="asked",
            **about,
            message=line(post.title),
            since=post.time,
            age=age(self._now, post.time),
            when=clock(self._now, post.time),
            advice="" if helper else message("now.advice_asked", request=post.short),
            part=line(post.part),
            evidence=line(found.text) if found else "",
            place=problems.place_of(found.file, found.line) if found else "",
            post=post.short,
            helper=helper,
        )

    def _team_at(self, folder: str) -> str:
        """Return the team of the project that a folder lies in, empty for none."""
        inside = (each.team for each in self._source.projects if f"{folder}/".startswith(f"{each.path}/"))
        return next(inside, "") if folder else ""


def _oldest(kind: str, runs: Sequence[RunEntry]) -> RunEntry:
    """Return the run that stands for all: what can never run, else what is in its trouble longest."""
    return min(runs, key=lambda run: (run.cause != "never_runs", since(kind, run) or 0.0))
