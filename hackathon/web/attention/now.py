"""Who needs help: the page that tutors keep open, and what `hackathon top` shows."""

import hashlib
import os
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from hackathon.board.board import Board, Post
from hackathon.board.people import People
from hackathon.config.event import Event
from hackathon.index.catalog import Catalog
from hackathon.index.record import RunEntry, key_of
from hackathon.runs.states import ENDING, HELD, OPEN, QUEUED, RUNNING, SUCCEEDED
from hackathon.text.messages import language, message
from hackathon.web.attention.background import Background
from hackathon.web.attention.records import NowItem
from hackathon.web.attention.run_lines import run_line
from hackathon.web.attention.troubles import Matter, RunTrouble, Troubles
from hackathon.web.page import sanitize as clean
from hackathon.web.views import board as problems
from hackathon.web.views.board import LONGEST, line
from hackathon.web.views.trouble import KINDS, RECENT, age, clock, moment, says, since

SHOWN = 40
"""Runs that are well and have a line of their own."""
MOST = 200
"""Matters on the page."""
RUNS = 6
"""Runs of one matter that are listed."""
TOGETHER = 2
"""Teams that meet one cause from which on it is one matter."""


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
    counts: tuple[tuple[str, int], ...] = ()
    """(kind, how many): teams that ask, and runs in each other trouble that nobody asks about."""
    old: tuple[NowItem, ...] = ()
    """What is over for longer than an hour."""
    tutors: tuple[tuple[str, str], ...] = ()
    """(account, name) of those whose teams can be chosen."""
    tutor: str = ""
    """Only the teams of this account are shown; empty: all."""
    me: str = ""
    """The account that looks, if it tutors a team."""
    tutoring: bool = False
    """Whether whoever looks is a tutor of the event: then requests can be taken."""
    board: bool = False
    """Whether there is a board to write on."""

    @property
    def count(self) -> int:
        """How many matters need somebody."""
        return len(self.items) + self.left

    @property
    def headline(self) -> str:
        """Who and what needs somebody, in the current language: `4 teams ask · 6 failures`."""
        told = [message(f"now.head_{kind}", count=count) for kind, count in self.counts if count]
        return " · ".join(told) or message("now.calm")

    def to_json(self) -> dict[str, Any]:
        """Return the view as JSON values."""
        return asdict(self)


def values(source: Catalog, key: str = "") -> dict[str, Any] | None:
    """Return what the template shows; `key`: only the teams of this tutor's account. None: there is no such tutor."""
    if key and key not in tutors_of(source.event):
        return None
    return {"view": now_view(source, key)}


def now_view(source: Catalog, tutor: str = "") -> NowView:
    """Return who needs help, by urgency, and what goes on well. One pass over all runs, others over recent ones."""
    now = source.now
    midnight = time.mktime((*time.localtime(now)[:3], 0, 0, 0, 0, 0, -1))
    recent = [each for each in source.summaries if each.state in OPEN or moment(each) > now - RECENT]
    board, problem = problems.read(source)
    people = board.people if board is not None else People(source.event)
    teams = {line(each.name) for each in source.event.teams if tutor in each.tutors} if source.event else set[str]()
    if tutor:
        recent = [each for each in recent if (line(each.team) or people.team(each.user)) in teams]
    ended = [each for each in recent if each.ended is not None and each.ended >= midnight and each.state not in OPEN]
    look = _Look(source, board, people, recent)
    asked = [look.asked(post) for post in board.of("ask") if not post.solved] if board is not None else []
    asked = [item for item in asked if not source.team or item.team == source.team]
    asked = [item for item in asked if not tutor or not item.team or item.team in teams]
    asked.sort(key=lambda item: (bool(item.helper), item.since or 0.0))
    troubles = [each for each in look.troubles.all() if each.matter not in look.told]
    fresh = [each for each in troubles if not each.old(now)]
    shown, left = look.together(fresh, max(0, MOST - len(asked)))
    old, _ = look.together([each for each in troubles if each.old(now)], MOST)
    well = [each for each in recent if each.state in (RUNNING, ENDING) and look.troubles.matter_of(each) is None]
    counted = {kind: sum(len(each.runs) for each in fresh if each.kind == kind) for kind in KINDS}
    counted["asked"] = len({item.team or item.person for item in asked})
    tutors, account = tutors_of(source.event), people.account(os.geteuid())
    return NowView(
        items=(*asked[:MOST], *shown),
        left=max(0, len(asked) - MOST) + left,
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
        counts=tuple(counted.items()),
        old=tuple(old),
        tutors=tuple((each, line(people.name(each))) for each in tutors),
        tutor=tutor,
        me=account if account in tutors else "",
        tutoring=people.is_tutor(os.geteuid()),
        board=board is not None,
    )


def tutors_of(event: Event | None) -> list[str]:
    """Return the accounts that tutor a team of the event, in the order of its file."""
    teams = event.teams if event is not None else ()
    return list(dict.fromkeys(user for team in teams for user in team.tutors))


class _Look:
    """Makes what the page says of requests and troubles."""

    def __init__(self, source: Catalog, board: Board | None, people: People, recent: Sequence[RunEntry]) -> None:
        self._source, self._now, self._people = source, source.now, people
        self._by_id = {each.id: each for each in reversed(recent)}
        self.troubles = Troubles(source, people, recent)
        self.told: set[Matter] = set()
        """Matters that a request is about."""
        self._background = Background(source, board, people)
        self._anchors: set[str] = set()

    def together(self, troubles: Sequence[RunTrouble], most: int) -> tuple[list[NowItem], int]:
        """Return at most `most` matters, and how many are left; failures of several teams by one cause are one."""
        same: dict[str, list[RunTrouble]] = {}
        for each in troubles:
            if each.kind == "failed":
                same.setdefault(each.matter[2], []).append(each)
        groups: dict[str, list[RunTrouble]] = {}
        for each in troubles:
            shared = each.kind == "failed" and len({one.matter[0] for one in same[each.matter[2]]}) >= TOGETHER
            groups.setdefault(each.matter[2] if shared else "\n".join(each.matter), []).append(each)
        return [self._group(each) for each in list(groups.values())[:most]], max(0, len(groups) - most)

    def _group(self, troubles: Sequence[RunTrouble]) -> NowItem:
        items = tuple(self.item(each) for each in troubles)
        first = items[0]
        if len(items) == 1:
            return first
        latest = max(each.since or 0.0 for each in items)
        return replace(
            first,
            items=items,
            team="",
            since=latest,
            age=age(self._now, latest),
            when=clock(self._now, latest),
            id=f"m-{_digest(first.cause)}",
            more=sum(each.count for each in items) - 1,
        )

    def item(self, trouble: RunTrouble) -> NowItem:
        """Return what the page says of a trouble."""
        kind, run = trouble.kind, trouble.run
        said, advice, evidence, place = self._told(kind, run)
        begin = since(kind, run)
        return NowItem(
            kind=kind,
            **self._who(run),
            message=said,
            since=begin,
            age=age(self._now, begin),
            when=clock(self._now, begin),
            advice=advice,
            part=line(run.part),
            evidence=evidence,
            place=place,
            more=len(trouble.runs) - 1,
            newer=trouble.newer,
            id=f"m-{_digest(*trouble.matter)}",
            cause=line(trouble.matter[2]),
            runs=tuple(run_line(each, self._people, self._now, kind) for each in trouble.runs[:RUNS]),
            **self._about(self.troubles.team(run)),
            similar=self._background.similar(run.rule, evidence),
        )

    def _told(self, kind: str, run: RunEntry) -> tuple[str, str, str, str]:
        """Return what is the matter with a run, what to do, the line that shows it and the line's place."""
        told = run.told_in(language()) if kind in ("failed", "stands", "lost") else None
        said, advice = says(kind, run, self._now)
        if told is None:
            return said, advice, "", ""
        better = clean.block(told.advice, LONGEST) if told.advice else advice
        return line(told.message), better, line(told.evidence), line(told.place)

    def well(self, run: RunEntry) -> Well:
        """Return the line of a run that is well."""
        numbers = {"value": run.value, "unit": line(run.unit), "loss": run.loss, "gpu_percent": run.gpu_percent}
        return Well(**self._who(run), since=run.started, age=age(self._now, run.started), **numbers)  # type: ignore[arg-type]

    def _who(self, run: RunEntry) -> dict[str, Any]:
        return {
            "team": self.troubles.team(run),
            "person": line(self._people.name(run.user)) if run.user else "",
            "name": line(run.name),
            "state": run.state,
            "processes": run.processes,
            "run": key_of(run.project, run.id),
            "run_id": line(run.id),
        }

    def _about(self, team: str) -> dict[str, Any]:
        known = self._background
        return {
            "tutors": known.tutors(team), "seat": known.seat(team), "note": known.note(team),
            "history": known.history(team),
        }  # fmt: skip

    def asked(self, post: Post) -> NowItem:
        """Return a request for help: one matter with its run's trouble, and what is known of the run by now."""
        run = self._by_id.get(post.run) if post.run else None
        about = self._who(run) if run is not None else {"name": "", "run_id": line(post.run), "state": ""}
        about |= {"person": line(self._people.name(post.user)), "team": self._people.team(post.user)}
        about["team"] = about["team"] or (self.troubles.team(run) if run is not None else self._team_at(post.folder))
        helper = line(self._people.name(post.taken.user)) if post.taken else ""
        found = post.finding.spoken() if post.finding else None
        said, advice = (line(found.message), clean.block(found.advice, LONGEST)) if found else ("", "")
        evidence, place = (line(found.text), problems.place_of(found.file, found.line)) if found else ("", "")
        rule, part, runs = post.rule, line(post.part), tuple[RunEntry, ...]()
        matter = self.troubles.matter_of(run) if run is not None else None
        if run is not None:
            runs = (run,)
        if run is not None and matter is not None:
            self.told.add(matter)
            runs = (run, *(each for each in self.troubles.runs_of(matter) if each is not run))
            if found is None or matter[1] not in ("failed", "warned") or run.told is not None:  # what is known by now
                said, advice, evidence, place = self._told(matter[1], run)
            rule, part = run.rule or rule, line(run.part) or part
        return NowItem(
            kind="asked",
            **about,
            message=line(post.title),
            since=post.time,
            age=age(self._now, post.time),
            when=clock(self._now, post.time),
            advice=advice or ("" if helper else message("now.advice_asked", request=post.short)),
            part=part,
            evidence=evidence,
            place=place,
            post=post.short,
            helper=helper,
            more=max(0, len(runs) - 1),
            id=f"m-{_digest(post.id)}",
            anchor=self._anchor(post.short),
            cause=line(matter[2]) if matter is not None else line(rule),
            finding=said,
            text=clean.block(post.text, LONGEST),
            post_id=post.id,
            steps=problems.steps_of(post, lambda account: line(self._people.name(account))),
            mine=post.uid == os.geteuid() or self._people.is_tutor(os.geteuid()),
            runs=tuple(
                run_line(each, self._people, self._now, matter[1] if matter else "failed") for each in runs[:RUNS]
            ),
            **self._about(about["team"]),
            similar=self._background.similar(rule, evidence, post.id),
        )

    def _anchor(self, short: str) -> str:
        """Return a post's place, empty where another has it: who writes files by hand could give two the same end."""
        anchor = "" if short in self._anchors else problems.anchor_of(short)
        self._anchors.add(short)
        return anchor

    def _team_at(self, folder: str) -> str:
        """Return the team of the project that a folder lies in, empty for none."""
        inside = (each.team for each in self._source.projects if f"{folder}/".startswith(f"{each.path}/"))
        return line(next(inside, "")) if folder else ""


def _digest(*words: str) -> str:
    return hashlib.sha256("\n".join(words).encode("utf-8", "replace")).hexdigest()[:12]
