"""The problem board as a page: what is open, what was answered, what was solved, with findings and answers."""

import os
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hackathon.board.board import Board, Post, Reply, read_board
from hackathon.board.directory import VARIABLE, BoardDirectory, open_place
from hackathon.board.people import People
from hackathon.config.event import Publish
from hackathon.config.trust import trusted_event_folder
from hackathon.index.catalog import Catalog
from hackathon.index.record import key_of
from hackathon.text.errors import HackathonError, RequestError
from hackathon.text.messages import message
from hackathon.text.paths import expanded
from hackathon.web.page import sanitize as clean
from hackathon.web.page.addresses import Options, option

SHOWN = 200
"""Solved posts that a page shows, the newest ones; the others are found by `hackathon board search`."""
LINE, LONGEST = 300, 4000
"""Letters of a line, and of one text of several lines, on the page."""
KEPT = 60.0
"""Seconds that a board is used again when its directories did not change."""
JUST_NOW = 3.0
"""Seconds after a change in which a further change might not show in a directory's time."""


@dataclass(frozen=True)
class Step:
    """An answer, or what became of a post."""

    kind: str
    """answer, take or solve."""
    person: str
    """Empty where nobody may be named."""
    time: float
    text: str


@dataclass(frozen=True)
class PostView:
    """One post or request for help as the page shows it."""

    id: str
    short: str
    """What people call it by."""
    anchor: str
    """The id of its place on the page: `post-` and the short id."""
    kind: str
    """post or ask."""
    state: str
    """open, taken, answered or solved."""
    title: str
    text: str
    person: str
    """Empty where nobody may be named."""
    team: str
    time: float
    part: str = ""
    rule: str = ""
    run_id: str = ""
    run: str = ""
    """The run's key when the run is there; empty otherwise."""
    folder: str = ""
    finding: str = ""
    """What the diagnosis said."""
    evidence: str = ""
    place: str = ""
    """Where the line stands: `logs/rank-1.log:17`."""
    advice: str = ""
    steps: tuple[Step, ...] = ()
    """Oldest first."""
    mine: bool = False
    """Whether whoever looks may close it: who wrote it, and tutors."""

    def has(self, words: Sequence[str]) -> bool:
        """Return whether all words (in small letters) are in what a page shows of it."""
        about = (self.title, self.text, self.person, self.team, self.part, self.rule, self.run_id, self.short)
        diagnosis = (self.finding, self.evidence, self.place, self.advice)
        steps = (text for step in self.steps for text in (step.person, step.text))
        everything = "\n".join((*about, *diagnosis, *steps)).casefold() if words else ""
        return all(word in everything for word in words)


@dataclass(frozen=True)
class BoardView:
    """The board's page."""

    there: bool = False
    """Whether the event has a board at all."""
    open: tuple[PostView, ...] = ()
    """Requests and posts that nobody answered, and requests that somebody took; requests first, the oldest first."""
    answered: tuple[PostView, ...] = ()
    """The newest first, as are those solved."""
    solved: tuple[PostView, ...] = ()
    older: int = 0
    """Solved posts that are not shown."""
    passed: int = 0
    """Files on the board that are not taken for what they claim to be."""
    problems: tuple[str, ...] = ()
    named: bool = True
    """Whether people are named."""
    tutoring: bool = False
    """Whether whoever looks is a tutor of the event: then requests can be taken."""
    find: str = ""
    """Words that all posts on the page have; empty: no filter."""
    all: int = 0
    """How many posts there are, found or not."""

    @property
    def count(self) -> int:
        """How many posts were found."""
        return len(self.open) + len(self.answered) + len(self.solved) + self.older


def values(source: Catalog, key: str = "", options: Options = ()) -> dict[str, Any] | None:
    """Return what the board's template shows; None on a site whose event does not publish its board.

    Option: `find`, words that a post has anywhere in it.
    """
    rules = source.event.publish if source.event is not None else Publish()
    return {"view": board_view(source, option(options, "find"))} if source.live or rules.board else None


def board_view(source: Catalog, find: str = "") -> BoardView:
    """Return the event's board for a page, of the posts that have all words of `find` in what is shown of them.

    Without authors, paths and log lines where the event does not allow them.
    """
    board, problem = read(source)
    if board is None:
        return BoardView(there=bool(problem), problems=(problem,) if problem else ())
    rules = source.event.publish if source.event is not None else Publish()
    display, words = _Shown(source, board.people, rules), find.casefold().split()
    groups: dict[str, list[Post]] = {"open": [], "answered": [], "solved": []}
    for post in board.posts:
        if source.hidden and source.hidden.intersection(
            map(board.people.team, (post.user, *(answer.user for answer in post.answers)))
        ):
            continue
        groups["open" if post.state == "taken" else post.state].append(post)
    waiting = sorted(groups["open"], key=lambda post: (post.kind != "ask", post.time))
    solved = sorted(groups["solved"], key=lambda post: post.solved.time if post.solved else 0.0, reverse=True)
    matches = [view for view in display.posts(solved if words else solved[:SHOWN]) if view.has(words)]
    return BoardView(
        there=True,
        open=tuple(view for view in display.posts(waiting) if view.has(words)),
        answered=tuple(view for view in display.posts(reversed(groups["answered"])) if view.has(words)),
        solved=tuple(matches[:SHOWN]),
        older=max(0, (len(matches) if words else len(solved)) - SHOWN),
        find=" ".join(find.split()),
        all=sum(map(len, groups.values())),
        passed=sum(entry.count for entry in board.passed),
        problems=tuple(message(identifier, **values) for identifier, values in board.place.problems)
        if source.live
        else (),
        named=display.users,
        tutoring=source.live and board.people.is_tutor(os.geteuid()),
    )


class _Shown:
    """Turns posts into what a page may show of them."""

    def __init__(self, source: Catalog, people: People, rules: Publish) -> None:
        self._people, self._live = people, source.live
        self.users = source.live or rules.users
        self._teams = source.live or rules.teams
        self._paths = source.live or rules.paths
        self._logs = source.live or rules.logs
        self._anchors: dict[str, int] = {}
        self._runs: dict[str, list[str]] = {}
        for run in source.summaries:
            self._runs.setdefault(run.id, []).append(run.project)

    def posts(self, posts: Iterable[Post]) -> tuple[PostView, ...]:
        return tuple(self._post(post) for post in posts)

    def _post(self, post: Post) -> PostView:
        finding = post.finding.spoken() if post.finding else None
        return PostView(
            id=post.id,
            short=post.short,
            anchor=self._anchor(post.short),
            kind=post.kind,
            state=post.state,
            title=line(post.title),
            text=clean.block(post.text, LONGEST),
            person=self._person(post.user),
            team=self._people.team(post.user) if self._teams else "",
            time=post.time,
            part=line(post.part),
            rule=line(post.rule),
            run_id=line(post.run),
            run=self._run(post),
            folder=line(post.folder) if self._paths else "",
            finding=line(finding.message) if finding else "",
            evidence=line(finding.text) if finding and self._logs else "",
            place=place_of(finding.file, finding.line) if finding and self._logs else "",
            advice=clean.block(finding.advice, LONGEST) if finding else "",
            steps=steps_of(post, self._person),
            mine=self._live and (post.uid == os.geteuid() or self._people.is_tutor(os.geteuid())),
        )

    def _anchor(self, short: str) -> str:
        # who writes files by hand could give two posts the same random end
        self._anchors[short] = self._anchors.get(short, 0) + 1
        return anchor_of(short) if self._anchors[short] == 1 else f"{anchor_of(short)}-{self._anchors[short]}"

    def _person(self, account: str) -> str:
        return line(self._people.name(account)) if self.users else ""

    def _run(self, post: Post) -> str:
        projects = self._runs.get(post.run, [])
        path = str(Path(post.folder).parent.parent) if post.folder else ""
        project = path if path in projects else projects[0] if len(projects) == 1 else ""
        return key_of(project, post.run) if project else ""


def steps_of(post: Post, person: Callable[[str], str]) -> tuple[Step, ...]:
    """Return what became of a post, the oldest first; `person` returns how an account is shown."""
    steps: list[Reply] = [*post.answers, *(reply for reply in (post.taken, post.solved) if reply)]
    steps.sort(key=lambda reply: (reply.time, reply.id))
    return tuple(Step(reply.kind, person(reply.user), reply.time, clean.block(reply.text, LONGEST)) for reply in steps)


def line(text: str) -> str:
    """Return what somebody wrote as one line without anything that steers a terminal or turns the reading direction."""
    return clean.line(text, LINE).strip()


def anchor_of(short: str) -> str:
    """Return the name of a post's place on the board's page."""
    return f"post-{short}"


def place_of(file: str, number: int | None) -> str:
    """Return the place of a log line as people write it."""
    return line(file if number is None or not file else f"{file}:{number}")


def read(source: Catalog) -> tuple[Board | None, str]:
    """Return the event's board, and why it cannot be read; (None, "") when the event has none.

    HACKATHON_SHARED names it, else `shared` of hackathon.yaml. A board whose directories did not change is not read
    again: entries are never changed, only added and taken away.
    """
    path = _folder(source)
    if path is None:
        return None, ""
    try:
        directory = open_place(path)
        signature = _signature(directory)
        now = time.time()
        cached = source.memory.recall("boards", path)
        if cached and cached[0] == signature and 0 <= now - cached[1] < KEPT and cached[2] == source.event:
            hit: Board = cached[3]
            return hit, ""
        board = read_board(directory, People(source.event))
    except (HackathonError, OSError) as error:
        return None, error.message if isinstance(error, HackathonError) else str(error.strerror or error)
    if max(signature) / 1e9 < now - JUST_NOW:
        source.memory.keep("boards", path, (signature, now, source.event, board), 1)
    else:
        source.memory.forget("boards", path)
    return board, ""


def board_now(source: Catalog) -> Board:
    """Return the event's board as it is at this moment, for whoever writes on it.

    Raises HackathonError, as the commands do for an event of another account that the user has not trusted.
    """
    path = _folder(source)
    if path is None:
        raise RequestError("board.no_shared")
    if not os.environ.get(VARIABLE) and source.event_folder is not None:
        trusted_event_folder(source.event_folder)  # what is written where its file says, others read
    return read_board(open_place(path), People(source.event))


def mark_of(source: Catalog) -> tuple[int, ...]:
    """Return what differs after something was written on the event's board; () without one that can be read."""
    path = _folder(source)
    try:
        return _signature(open_place(path)) if path is not None else ()
    except (HackathonError, OSError):
        return ()


def _folder(source: Catalog) -> Path | None:
    """Return the board's directory: as HACKATHON_SHARED names it, else the event's; None when there is none."""
    if os.environ.get(VARIABLE):
        return expanded(os.environ[VARIABLE]).absolute()
    if source.event is None or not source.event.shared or source.event_folder is None:
        return None
    return source.event_folder / expanded(source.event.shared)


def _signature(directory: BoardDirectory) -> tuple[int, ...]:
    """Return the times of change of the directories that hold the entries."""
    folders = [directory.folder]
    if directory.mode == "folders":
        folders += [Path(entry.path) for entry in os.scandir(directory.folder) if entry.is_dir(follow_symlinks=False)]
    return tuple(status.st_mtime_ns for folder in sorted(folders) if (status := folder.stat()))
