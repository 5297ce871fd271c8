"""The page of the problem board: open, answered and solved posts, with findings and answers."""

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
from hackathon.text.messages import _
from hackathon.text.paths import expanded
from hackathon.web.page import sanitize as clean
from hackathon.web.page.addresses import Options, option

SHOWN = 200
"""The most solved posts on a page, the newest ones; `hackathon board search` finds the others."""
LINE, LONGEST = 300, 4000
"""Characters of a line, and of one text of several lines, on the page."""
KEPT = 60.0
"""Seconds for which a board is cached while its directories do not change."""
JUST_NOW = 3.0
"""Seconds after a change in which a further change may not change a directory's time."""


@dataclass(frozen=True)
class Step:
    """An answer, or a change of a post's state."""

    kind: str
    """answer, take or solve."""
    person: str
    """Empty if no names may be published."""
    time: float
    text: str


@dataclass(frozen=True)
class PostView:
    """One post or request for help as the page displays it."""

    id: str
    short: str
    """The part of the id that people use."""
    anchor: str
    """The id of its element on the page: `post-` and the short id."""
    kind: str
    """post or ask."""
    state: str
    """open, taken, answered or solved."""
    title: str
    text: str
    person: str
    """Empty if no names may be published."""
    team: str
    time: float
    part: str = ""
    rule: str = ""
    run_id: str = ""
    run: str = ""
    """The run's key if the run exists; empty otherwise."""
    folder: str = ""
    guessed: bool = False
    """Whether the run was chosen by the toolkit."""
    finding: str = ""
    """The diagnosis."""
    evidence: str = ""
    place: str = ""
    """The position of the line: `logs/rank-1.log:17`."""
    advice: str = ""
    steps: tuple[Step, ...] = ()
    """Oldest first."""
    mine: bool = False
    """Whether the viewer may close it, as its author or a tutor."""

    def has(self, words: Sequence[str]) -> bool:
        """Return whether all words (in lower case) occur in its displayed texts."""
        about = (self.title, self.text, self.person, self.team, self.part, self.rule, self.run_id, self.short)
        diagnosis = (self.finding, self.evidence, self.place, self.advice)
        steps = (text for step in self.steps for text in (step.person, step.text))
        everything = "\n".join((*about, *diagnosis, *steps)).casefold() if words else ""
        return all(word in everything for word in words)


@dataclass(frozen=True)
class BoardView:
    """The board's page."""

    there: bool = False
    """Whether the event has a board."""
    open: tuple[PostView, ...] = ()
    """Requests and posts without an answer, and requests that are taken; requests first, oldest first."""
    answered: tuple[PostView, ...] = ()
    """Newest first, like the solved ones."""
    solved: tuple[PostView, ...] = ()
    older: int = 0
    """Solved posts that are not displayed."""
    passed: int = 0
    """Files on the board that were skipped as invalid."""
    problems: tuple[str, ...] = ()
    named: bool = True
    """Whether people's names are displayed."""
    tutoring: bool = False
    """Whether the viewer is a tutor of the event and can take requests."""
    find: str = ""
    """The words of the filter; empty: no filter."""
    all: int = 0
    """Number of posts, including those that do not match."""

    @property
    def count(self) -> int:
        """Number of matching posts."""
        return len(self.open) + len(self.answered) + len(self.solved) + self.older


def values(source: Catalog, key: str = "", options: Options = ()) -> dict[str, Any] | None:
    """Return the template's values; None on a site whose event does not publish its board.

    Option: `find`, words that a post contains.
    """
    rules = source.event.publish if source.event is not None else Publish()
    return {"view": board_view(source, option(options, "find"))} if source.live or rules.board else None


def board_view(source: Catalog, find: str = "") -> BoardView:
    """Return the event's board for a page, with the posts whose displayed texts contain all words of `find`.

    Authors, paths and log lines are left out if the event does not publish them.
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
        problems=tuple(_(identifier, **values) for identifier, values in board.place.problems) if source.live else (),
        named=display.users,
        tutoring=source.live and board.people.is_tutor(os.geteuid()),
    )


class _Shown:
    """Converts posts to the records of a page."""

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
            guessed=post.guessed,
            finding=line(finding.message) if finding else "",
            evidence=line(finding.text) if finding and self._logs else "",
            place=place_of(finding.file, finding.line) if finding and self._logs else "",
            advice=clean.block(finding.advice, LONGEST) if finding else "",
            steps=steps_of(post, self._person),
            mine=self._live and (post.uid == os.geteuid() or self._people.is_tutor(os.geteuid())),
        )

    def _anchor(self, short: str) -> str:
        # posts written by hand may have the same random part
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
    """Return the history of a post, oldest first; `person` returns an account's display name."""
    steps: list[Reply] = [*post.answers, *(reply for reply in (post.taken, post.solved) if reply)]
    steps.sort(key=lambda reply: (reply.time, reply.id))
    return tuple(Step(reply.kind, person(reply.user), reply.time, clean.block(reply.text, LONGEST)) for reply in steps)


def line(text: str) -> str:
    """Return other people's text as one line without control characters and direction marks."""
    return clean.line(text, LINE).strip()


def anchor_of(short: str) -> str:
    """Return the anchor of a post on the board's page."""
    return f"post-{short}"


def place_of(file: str, number: int | None) -> str:
    """Return the position of a log line in the usual notation."""
    return line(file if number is None or not file else f"{file}:{number}")


def read(source: Catalog) -> tuple[Board | None, str]:
    """Return the event's board, and why it cannot be read; (None, "") if the event has none.

    HACKATHON_SHARED names it, else `shared` of hackathon.yaml.
    """
    path = _folder(source)
    if path is None:
        return None, ""
    try:
        directory = open_place(path)
        signature = _signature(directory)
        now = time.time()
        cached = source.memory.recall("boards", path)
        # entries are only added and removed, which changes the directories
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
    """Return the event's board in its present state, for writing.

    Raises HackathonError, as the commands do for an event of another account that the user does not trust.
    """
    path = _folder(source)
    if path is None:
        raise RequestError(
            "board.no_shared",
            "no shared directory is configured for the event",
            hint="give --shared DIR, set HACKATHON_SHARED, or write `shared: DIR` in hackathon.yaml",
        )
    if not os.environ.get(VARIABLE) and source.event_folder is not None:
        trusted_event_folder(source.event_folder)  # others read what is written at the path in its file
    return read_board(open_place(path), People(source.event))


def mark_of(source: Catalog) -> tuple[int, ...]:
    """Return a value that changes with every entry on the event's board; () without a readable one."""
    path = _folder(source)
    try:
        return _signature(open_place(path)) if path is not None else ()
    except (HackathonError, OSError):
        return ()


def _folder(source: Catalog) -> Path | None:
    """Return the board's directory: that in HACKATHON_SHARED, else the event's; None if there is none."""
    if os.environ.get(VARIABLE):
        return expanded(os.environ[VARIABLE]).absolute()
    if source.event is None or not source.event.shared or source.event_folder is None:
        return None
    return source.event_folder / expanded(source.event.shared)


def _signature(directory: BoardDirectory) -> tuple[int, ...]:
    """Return the modification times of the directories of the entries."""
    folders = [directory.folder]
    if directory.mode == "folders":
        folders += [Path(entry.path) for entry in os.scandir(directory.folder) if entry.is_dir(follow_symlinks=False)]
    return tuple(status.st_mtime_ns for folder in sorted(folders) if (status := folder.stat()))
