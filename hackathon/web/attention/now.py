"""The Now page, which tutors keep open, and the content of `hackathon top`."""

import hashlib
import os
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice
from typing import Any

from hackathon.board.board import Board, Post
from hackathon.board.people import People
from hackathon.config.event import Event
from hackathon.index.catalog import Catalog
from hackathon.index.record import RunEntry, key_of
from hackathon.runs.states import ENDING, HELD, OPEN, QUEUED, RUNNING, SUCCEEDED
from hackathon.scaling.show import number, percent
from hackathon.text.messages import N_, _, language
from hackathon.text.told import reworded
from hackathon.usage.overrun import Overrun, overruns
from hackathon.usage.tables import BUDGET_KINDS
from hackathon.web.attention.agenda import Agenda, agenda
from hackathon.web.attention.background import Background
from hackathon.web.attention.records import NowItem, RunLine
from hackathon.web.attention.run_lines import run_line
from hackathon.web.attention.troubles import Matter, RunTrouble, Troubles
from hackathon.web.attention.urgency import by_urgency, lost_per_hour, urgency
from hackathon.web.page import sanitize as clean
from hackathon.web.page.addresses import Options, option
from hackathon.web.views import board as problems
from hackathon.web.views.board import LONGEST, line
from hackathon.web.views.trouble import KINDS, RECENT, age, clock, moment, says, since

_HEAD_TEXTS = {
    "stands": N_("{count} without progress"),
    "idle": N_("{count} with low use"),
    "budget": N_("{count} {count:budget|budgets} at the limit"),
    "asked": N_("{count} {count:team asks|teams ask}"),
    "failed": N_("{count} {count:failure|failures}"),
    "waits": N_("{count} waiting long"),
    "memory": N_("{count} nearly out of memory"),
    "lost": N_("{count} in an unknown state"),
    "warned": N_("{count} {count:warning|warnings}"),
}

RELOAD = 60
"""Seconds between two loads of a page in a browser without scripts."""
SHOWN = 40
"""Normally running runs with a line of their own."""
MOST = 200
"""The most matters on the page."""
CHOICES = 20
"""Runs that a request may be about instead."""
RUNS = 6
"""The most runs of one matter that are listed."""
TOGETHER = 2
"""Number of teams with the same cause from which on they share one matter."""


@dataclass(frozen=True)
class Well:
    """An unfinished run without trouble."""

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
    """In the order of `attention.urgency`."""
    left: int
    """Items that are not displayed."""
    well: tuple[Well, ...]
    well_left: int
    running: int
    queued: int
    ended: int
    """Runs that ended since midnight, and how many of them succeeded."""
    succeeded: int
    now: float
    team: str = ""
    problems: tuple[str, ...] = ()
    """Sources that could not be read."""
    empty: bool = False
    """Whether no run was found: none was submitted yet, or this is the wrong folder."""
    counts: tuple[tuple[str, int], ...] = ()
    """(kind, count): teams with a request, budgets, and runs in each other trouble without a request."""
    old: tuple[NowItem, ...] = ()
    """Matters that ended more than an hour ago."""
    tutors: tuple[tuple[str, str], ...] = ()
    """(account, name) of the tutors for whose teams the page can be filtered."""
    tutor: str = ""
    """Only the teams of this account are displayed; empty: all."""
    me: str = ""
    """The viewer's account, if it tutors a team."""
    tutoring: bool = False
    """Whether the viewer is a tutor of the event and can take requests."""
    board: bool = False
    """Whether there is a board to write on."""
    jobs: tuple[tuple[str, int, int], ...] = ()
    """(team, running, waiting) jobs of each team with an unfinished run."""
    agenda: Agenda | None = None
    """The present and the next item of the schedule."""

    @property
    def count(self) -> int:
        """Number of matters that need attention."""
        return len(self.items) + self.left

    @property
    def headline(self) -> str:
        """The numbers of matters in the current language: `4 teams ask · 6 failures`."""
        parts = [_(_HEAD_TEXTS[kind], count=count) for kind, count in self.counts if count]
        return " · ".join(parts) or _("Nothing needs attention")

    def to_json(self) -> dict[str, Any]:
        """Return the view as JSON values."""
        return asdict(self)


def values(source: Catalog, key: str = "", options: Options = ()) -> dict[str, Any] | None:
    """Return the template's values; `key`: only the teams of this tutor's account. None if there is no such tutor.

    `reload`: seconds after which a browser without scripts loads the page again; 0 with the option `reload=off`, for
    somebody who reads or writes.
    """
    if key and key not in tutors_of(source.event):
        return None
    return {"view": now_view(source, key), "reload": 0 if option(options, "reload") == "off" else RELOAD}


def now_view(source: Catalog, tutor: str = "") -> NowView:
    """Return matters by urgency, and the normally running runs. One pass over all runs, others over recent ones."""
    now = source.now
    midnight = time.mktime((*time.localtime(now)[:3], 0, 0, 0, 0, 0, -1))
    recent = [run for run in source.summaries if run.state in OPEN or moment(run) > now - RECENT]
    board, problem = problems.read(source)
    people = board.people if board is not None else People(source.event)
    teams = {line(team.name) for team in source.event.teams if tutor in team.tutors} if source.event else set[str]()
    if tutor:
        recent = [run for run in recent if (line(run.team) or people.team(run.user)) in teams]
    ended = [run for run in recent if run.ended is not None and run.ended >= midnight and run.state not in OPEN]
    look = _Look(source, board, people, recent)
    requests = [look.asked(post) for post in board.of("ask") if not post.solved] if board is not None else []
    requests = [item for item in requests if not source.team or item.team == source.team]
    requests = [item for item in requests if not tutor or not item.team or item.team in teams]
    requests.sort(key=lambda item: (bool(item.helper), item.since or 0.0))
    troubles = [trouble for trouble in look.troubles.all() if trouble.matter not in look.told]
    fresh = [trouble for trouble in troubles if not trouble.old(now)]
    budgets = look.budgets(teams if tutor else None)
    matters, left = look.together(fresh, max(0, MOST - len(requests) - len(budgets)))
    old, __ = look.together([trouble for trouble in troubles if trouble.old(now)], MOST)
    well = [run for run in recent if run.state in (RUNNING, ENDING) and look.troubles.matter_of(run) is None]
    counted = {kind: sum(len(trouble.runs) for trouble in fresh if trouble.kind == kind) for kind in KINDS}
    counted["asked"] = len({item.team or item.person for item in requests})
    counted["budget"] = len(budgets)
    tutors, account = tutors_of(source.event), people.account(os.geteuid())
    return NowView(
        items=tuple(by_urgency([*budgets, *requests, *matters])[:MOST]),
        left=max(0, len(budgets) + len(requests) - MOST) + left,
        well=tuple(look.well(run) for run in well[:SHOWN]),
        well_left=max(0, len(well) - SHOWN),
        running=sum(run.state in (RUNNING, ENDING) for run in recent),
        queued=sum(run.state in (QUEUED, HELD) for run in recent),
        ended=len(ended),
        succeeded=sum(run.state == SUCCEEDED for run in ended),
        now=now,
        team=source.team,
        problems=tuple(line(reworded(text)) for text in (*source.problems, problem) if text),
        empty=not source.summaries,
        counts=tuple(counted.items()),
        old=tuple(old),
        tutors=tuple((user, line(people.name(user))) for user in tutors),
        tutor=tutor,
        me=account if account in tutors else "",
        tutoring=people.is_tutor(os.geteuid()),
        board=board is not None,
        jobs=look.jobs(recent),
        agenda=agenda(source),
    )


def tutors_of(event: Event | None) -> list[str]:
    """Return the accounts that tutor a team of the event, in the order of its file."""
    teams = event.teams if event is not None else ()
    return list(dict.fromkeys(user for team in teams for user in team.tutors))


class _Look:
    """Makes the page's items for requests and troubles."""

    def __init__(self, source: Catalog, board: Board | None, people: People, recent: Sequence[RunEntry]) -> None:
        self._source, self._now, self._people = source, source.now, people
        self._recent = recent
        self._by_id = {run.id: run for run in reversed(recent)}
        self._by_team: dict[str, list[RunEntry]] = {}
        self.troubles = Troubles(source, people, recent)
        self.told: set[Matter] = set()
        """Matters of the requests."""
        self._background = Background(source, board, people)
        self._anchors: set[str] = set()

    def jobs(self, runs: Sequence[RunEntry]) -> tuple[tuple[str, int, int], ...]:
        """Return (team, running, waiting) jobs of each team with an unfinished run, by name."""
        counts: dict[str, list[int]] = {}
        for run in runs:
            for place, states in enumerate(((RUNNING, ENDING), (QUEUED, HELD))):
                if run.state in states:
                    counts.setdefault(self.troubles.team(run), [0, 0])[place] += 1
        return tuple((team, running, queued) for team, (running, queued) in sorted(counts.items()))

    def together(self, troubles: Sequence[RunTrouble], most: int) -> tuple[list[NowItem], int]:
        """Return at most `most` matters, the most urgent ones, and the number of others.

        Failures of several teams with one cause are one matter.
        """
        same: dict[str, list[RunTrouble]] = {}
        for trouble in troubles:
            if trouble.kind == "failed":
                same.setdefault(trouble.matter[2], []).append(trouble)
        groups: dict[str, list[RunTrouble]] = {}
        for trouble in troubles:
            shared = (
                trouble.kind == "failed" and len({other.matter[0] for other in same[trouble.matter[2]]}) >= TOGETHER
            )
            groups.setdefault(trouble.matter[2] if shared else "\n".join(trouble.matter), []).append(trouble)
        order = sorted(
            groups.values(),
            key=lambda group: urgency(group[0].kind, lost_per_hour(group[0].kind, group[0].runs)),
        )
        return [self._group(group) for group in order[:most]], max(0, len(groups) - most)

    def _group(self, troubles: Sequence[RunTrouble]) -> NowItem:
        items = tuple(self.item(trouble) for trouble in troubles)
        first = items[0]
        if len(items) == 1:
            return first
        latest = max(item.since or 0.0 for item in items)
        return replace(
            first,
            items=items,
            team="",
            since=latest,
            age=age(self._now, latest),
            when=clock(self._now, latest),
            id=f"m-{_digest(first.cause)}",
            more=sum(item.count for item in items) - 1,
        )

    def item(self, trouble: RunTrouble) -> NowItem:
        """Return the item of a trouble."""
        kind, run = trouble.kind, trouble.run
        explanation, advice, evidence, location = self._told(kind, run)
        begin = since(kind, run)
        return NowItem(
            kind=kind,
            **self._who(run),
            message=explanation,
            since=begin,
            age=age(self._now, begin),
            when=clock(self._now, begin),
            advice=advice,
            part=line(run.part),
            evidence=evidence,
            place=location,
            more=len(trouble.runs) - 1,
            newer=trouble.newer,
            id=f"m-{_digest(*trouble.matter)}",
            cause=line(trouble.matter[2]),
            runs=tuple(run_line(entry, self._people, self._now, kind) for entry in trouble.runs[:RUNS]),
            lost_per_hour=lost_per_hour(kind, trouble.runs),
            **self._about(self.troubles.team(run)),
            similar=self._background.similar(run.rule, evidence),
        )

    def _told(self, kind: str, run: RunEntry) -> tuple[str, str, str, str]:
        """Return a run's problem, the remedy, the line that shows it and the line's position."""
        diagnosis = run.told_in(language()) if kind in ("failed", "stands", "lost") else None
        explanation, advice = says(kind, run, self._now)
        if diagnosis is None:
            return explanation, advice, "", ""
        better = clean.block(diagnosis.advice, LONGEST) if diagnosis.advice else advice
        return line(diagnosis.message), better, line(diagnosis.evidence), line(diagnosis.place)

    def well(self, run: RunEntry) -> Well:
        """Return the line of a normally running run."""
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
        background = self._background
        return {
            "tutors": background.tutors(team), "seat": background.seat(team), "note": background.note(team),
            "history": background.history(team),
        }  # fmt: skip

    def budgets(self, teams: "set[str] | None") -> list[NowItem]:
        """Return a matter for each team and cluster whose budget is used up or will be today; `teams`: only theirs."""
        matters: dict[tuple[str, str], list[Overrun]] = {}
        for overrun in overruns(self._source):
            team = line(overrun.team)
            if (teams is None or team in teams) and self._source.team in ("", overrun.team):
                matters.setdefault((team, overrun.cluster), []).append(overrun)
        going: dict[tuple[str, str], list[RunEntry]] = {}
        for run in self._recent if matters else ():
            if run.state in (RUNNING, ENDING):
                going.setdefault((self.troubles.team(run), run.cluster), []).append(run)
        return [self._budget(*where, budgets, going.get(where, ())) for where, budgets in matters.items()]

    def _budget(self, team: str, cluster: str, budgets: Sequence[Overrun], going: Sequence[RunEntry]) -> NowItem:
        return NowItem(
            kind="budget",
            team=team,
            person="",
            name="",
            message="; ".join(self._spoken(overrun) for overrun in budgets),
            since=None,
            advice=_("Ask the team which jobs it still needs; by account: hackathon event usage --by user"),
            id=f"m-{_digest('budget', team, cluster)}",
            cause="budget",
            runs=tuple(run_line(run, self._people, self._now, "") for run in going[:RUNS]),
            **self._about(team),
        )

    def _spoken(self, overrun: Overrun) -> str:
        """Return the state of a budget as a sentence."""
        amount = overrun.amount
        text = _(
            "{used} of {budget} {kind} on {cluster} used ({share})",
            used=number(amount.used, 3),
            budget=number(amount.budget, 3),
            kind=_(BUDGET_KINDS[amount.kind]),
            cluster=line(overrun.cluster),
            share=percent(amount.share),
        )
        if overrun.moment is None:
            return text
        rest = _("running jobs use up the rest at {clock}", clock=clock(self._now, overrun.moment))
        return f"{text}; {rest}"

    def asked(self, post: Post) -> NowItem:
        """Return a request for help: one item with its run's trouble and the present state of the run."""
        run = self._by_id.get(post.run) if post.run else None
        about = self._who(run) if run is not None else {"name": "", "run_id": line(post.run), "state": ""}
        about |= {"person": line(self._people.name(post.user)), "team": self._people.team(post.user)}
        about["team"] = about["team"] or (self.troubles.team(run) if run is not None else self._team_at(post.folder))
        helper = line(self._people.name(post.taken.user)) if post.taken else ""
        finding = post.finding.spoken() if post.finding else None
        explanation, advice = (line(finding.message), clean.block(finding.advice, LONGEST)) if finding else ("", "")
        evidence, location = (
            (line(finding.text), problems.place_of(finding.file, finding.line)) if finding else ("", "")
        )
        mine = post.uid == os.geteuid() or self._people.is_tutor(os.geteuid())
        rule, part, runs = post.rule, line(post.part), tuple[RunEntry, ...]()
        matter = self.troubles.matter_of(run) if run is not None else None
        if run is not None:
            runs = (run,)
        if run is not None and matter is not None:
            self.told.add(matter)
            runs = (run, *(other for other in self.troubles.runs_of(matter) if other is not run))
            # the present knowledge
            if finding is None or matter[1] not in ("failed", "warned") or run.told is not None:
                explanation, advice, evidence, location = self._told(matter[1], run)
            rule, part = run.rule or rule, line(run.part) or part
        return NowItem(
            kind="asked",
            **about,
            message=line(post.title),
            since=post.time,
            age=age(self._now, post.time),
            when=clock(self._now, post.time),
            advice=advice
            or ("" if helper else _("Take this request: hackathon ask take {request!q}", request=post.short)),
            part=part,
            evidence=evidence,
            place=location,
            post=post.short,
            helper=helper,
            more=max(0, len(runs) - 1),
            id=f"m-{_digest(post.id)}",
            lost_per_hour=lost_per_hour(matter[1], runs) if matter is not None else 0,
            anchor=self._anchor(post.short),
            cause=line(matter[2]) if matter is not None else line(rule),
            finding=explanation,
            text=clean.block(post.text, LONGEST),
            post_id=post.id,
            steps=problems.steps_of(post, lambda account: line(self._people.name(account))),
            guessed=post.guessed,
            choices=self._choices(about["team"], run) if mine else (),
            mine=mine,
            runs=tuple(
                run_line(entry, self._people, self._now, matter[1] if matter else "failed") for entry in runs[:RUNS]
            ),
            **self._about(about["team"]),
            similar=self._background.similar(rule, evidence, post.id),
        )

    def _choices(self, team: str, but: RunEntry | None) -> tuple[RunLine, ...]:
        """Return the newest runs of a team without one of them; of a request without a team those of all."""
        if not self._by_team:
            for run in self._recent:
                for key in ("", self.troubles.team(run)) if self.troubles.team(run) else ("",):
                    self._by_team.setdefault(key, []).append(run)
        runs = (run for run in self._by_team.get(team, ()) if run is not but)
        return tuple(run_line(run, self._people, self._now) for run in islice(runs, CHOICES))

    def _anchor(self, short: str) -> str:
        """Return a post's anchor; empty if another post has it."""
        # posts written by hand may have equal short ids
        anchor = "" if short in self._anchors else problems.anchor_of(short)
        self._anchors.add(short)
        return anchor

    def _team_at(self, folder: str) -> str:
        """Return the team of the project around a folder; empty if there is none."""
        inside = (project.team for project in self._source.projects if f"{folder}/".startswith(f"{project.path}/"))
        return line(next(inside, "")) if folder else ""


def _digest(*words: str) -> str:
    return hashlib.sha256("\n".join(words).encode("utf-8", "replace")).hexdigest()[:12]
