"""Read the problem board: posts and requests for help with their answers, searchable by words or finding.

The owners of files decide who may close a post: the asker or a tutor of the event.
"""

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hackathon.board.directory import BoardDirectory, find_people, find_shared, open_place
from hackathon.board.entry import GUESSED, Attached, Entry, clean_line
from hackathon.board.people import People
from hackathon.board.store import Owned, PassedOver, read_entries, write_entry
from hackathon.config.rule import tells_failures_apart
from hackathon.text.errors import HackathonError, RequestError
from hackathon.text.messages import Message, _

if TYPE_CHECKING:
    from hackathon.diagnosis.findings import Finding

SHORT = 8
"""Characters of the random end of an id, which people use."""
TELLING = 12
"""The least number of characters in a masked log line that identifies a failure."""


@dataclass(frozen=True)
class Reply:
    """An answer, or a change of a post's state: taken, solved."""

    id: str
    kind: str
    uid: int
    user: str
    """The account that owns its file."""
    time: float
    text: str
    to: str
    run: str = ""
    """A run that it attaches to a request."""
    folder: str = ""
    finding: Attached | None = None
    """The cause of that run."""

    def to_json(self) -> dict[str, Any]:
        """Return the reply as JSON values."""
        hidden = ("kind", "to", "folder", "finding", *(() if self.run else ("run",)))
        return {name: value for name, value in asdict(self).items() if name not in hidden}


@dataclass(frozen=True)
class Post:
    """A post on the board, or a request for help, with its answers and its state."""

    id: str
    kind: str
    """post or ask."""
    uid: int
    user: str
    """The account that owns its file."""
    time: float
    title: str
    text: str
    part: str = ""
    rule: str = ""
    run: str = ""
    folder: str = ""
    finding: Attached | None = None
    answers: tuple[Reply, ...] = ()
    """Oldest first; includes the entry of a second tutor who took or closed the post at the same moment."""
    taken: Reply | None = None
    """The entry of the tutor who helps."""
    solved: Reply | None = None
    guessed: bool = False
    """Whether its run was chosen by the toolkit, and nobody has named another one."""
    future: bool = False
    """Whether its entry claims a time later than its file's."""

    @property
    def short(self) -> str:
        """The part of the id that people use."""
        return self.id[-SHORT:]

    @property
    def state(self) -> str:
        """open, taken, answered or solved."""
        if self.solved:
            return "solved"
        return "taken" if self.taken else "answered" if self.answers else "open"

    def to_json(self) -> dict[str, Any]:
        """Return the post as JSON values."""
        value = {name: field for name, field in vars(self).items() if name not in ("answers", "taken", "solved")}
        return {
            **value,
            "short": self.short,
            "state": self.state,
            "finding": {key: field for key, field in asdict(self.finding).items() if key != "said"}
            if self.finding
            else None,
            "answers": [reply.to_json() for reply in self.answers],
            "taken": self.taken.to_json() if self.taken else None,
            "solved": self.solved.to_json() if self.solved else None,
        }


@dataclass
class Board:
    """The entries of a board, oldest first."""

    place: BoardDirectory
    people: People
    posts: list[Post] = field(default_factory=list)
    """Posts and requests."""
    reports: list[Owned] = field(default_factory=list)
    """Reports of members for the daily status report."""
    ready: list[Owned] = field(default_factory=list)
    """Checklists of `hackathon ready`."""
    passed: list[PassedOver] = field(default_factory=list)

    def of(self, kind: str) -> list[Post]:
        """Return the posts (`post`) or the requests (`ask`)."""
        return [post for post in self.posts if post.kind == kind]


def open_board(shared: Path | None = None, start: Path | None = None) -> Board:
    """Return the event's board in its present state.

    `shared` is its directory (default: HACKATHON_SHARED, then the event of the folder `start` or the current one).
    Raises RequestError if there is none and HackathonError if it cannot be read.
    """
    folder = start or Path.cwd()
    directory = open_place(find_shared(shared, os.environ, folder))
    return read_board(directory, People(find_people(directory, folder)))


def read_board(directory: BoardDirectory, people: People) -> Board:
    """Return the entries of a board's directory, with replies attached to their posts. Raises HackathonError."""
    entries, passed = read_entries(directory)
    board = Board(directory, people, passed=passed)
    tops = {owned.entry.id: owned for owned in entries if owned.entry.kind in ("post", "ask")}
    replies: dict[str, list[Reply]] = {}
    for owned in entries:
        entry = owned.entry
        if entry.kind == "standup":
            board.reports.append(owned)
        elif entry.kind == "ready":
            board.ready.append(owned)
        elif entry.id not in tops:
            why = _refused(owned, tops.get(entry.to), people)
            if why:
                board.passed.append(PassedOver(f"{entry.id}.json", owned.uid, why))
            else:
                replies.setdefault(entry.to, []).append(_reply(owned, people))
    board.posts = [_post(owned, replies.get(identifier, []), people) for identifier, owned in tops.items()]
    return board


def _refused(owned: Owned, top: Owned | None, people: People) -> str:
    """Return why a reply does not count; empty if it does. Only the owners of files decide."""
    kind = owned.entry.kind
    if top is None:
        return "no_such_post"
    if kind == "solve" and owned.uid != top.uid and not people.is_tutor(owned.uid):
        return "not_allowed"
    if kind == "take" and (top.entry.kind != "ask" or not people.is_tutor(owned.uid)):
        return "not_allowed"
    return ""


def _reply(owned: Owned, people: People) -> Reply:
    entry = owned.entry
    user = people.account(owned.uid)
    return Reply(
        entry.id, entry.kind, owned.uid, user, entry.time, entry.text.strip(), entry.to, entry.run, entry.folder,
        entry.finding,
    )  # fmt: skip


def _post(owned: Owned, replies: Sequence[Reply], people: People) -> Post:
    entry = owned.entry
    lines = entry.text.strip().split("\n", 1)
    by_kind = {kind: [reply for reply in replies if reply.kind == kind] for kind in ("answer", "take", "solve")}
    later = [reply for reply in (*by_kind["take"][1:], *by_kind["solve"][1:]) if reply.text]
    finding = entry.finding.spoken() if entry.finding else None
    # the last run that the asker or a tutor named counts
    named = [reply for reply in by_kind["answer"] if reply.run and _may_attach(reply.uid, owned.uid, people)]
    attached = max(named, key=lambda reply: (reply.time, reply.id), default=None)
    if attached is not None:
        finding = attached.finding.spoken() if attached.finding else None
        entry = replace(entry, run=attached.run, folder=attached.folder, part="", rule="", basis="")
    return Post(
        id=entry.id,
        kind=entry.kind,
        uid=owned.uid,
        user=people.account(owned.uid),
        time=entry.time,
        title=entry.title or (finding.message if finding else ""),
        text=lines[1].strip("\n") if len(lines) > 1 else "",
        part=entry.part or (finding.part if finding else ""),
        rule=entry.rule or (finding.rule if finding else ""),
        run=entry.run,
        folder=entry.folder,
        finding=finding,
        answers=tuple(sorted((*by_kind["answer"], *later), key=lambda reply: (reply.time, reply.id))),
        taken=by_kind["take"][0] if by_kind["take"] else None,
        solved=by_kind["solve"][0] if by_kind["solve"] else None,
        guessed=entry.basis == GUESSED,
        future=owned.future,
    )


def _may_attach(uid: int, author: int, people: People) -> bool:
    return uid == author or people.is_tutor(uid)


def find_post(board: Board, text: str, kind: str | None = None) -> Post:
    """Return the post that a part of its id identifies.

    Raises RequestError if none or several match, and lists these.
    """
    key = text.strip().lstrip("#").lower()
    posts = board.posts if kind is None else board.of(kind)
    matches = [post for post in posts if key in (post.id, post.short)] or [
        post for post in posts if key and key in post.id
    ]
    if len(matches) == 1:
        return matches[0]
    if matches:
        names = "\n".join(f"  {post.id}  {post.user}  {post.title[:60]}" for post in matches[:8])
        raise RequestError(
            "board.ambiguous", "{count} posts match {text!r}:\n{names}", text=text, count=len(matches), names=names
        )
    if kind == "ask" and any(key in (post.id, post.short) for post in board.posts):
        raise RequestError(
            "board.only_requests", "this is a post, not a request for help", hint="answer it: `hackathon board answer`"
        )
    raise RequestError(
        Message("board.unknown_request", "there is no request {text!r}", hint="`hackathon ask list` lists them")
        if kind == "ask"
        else Message("board.unknown", "there is no post {text!r}", hint="`hackathon board` lists them"),
        text=text,
    )


def reply(board: Board, post: Post, kind: str, text: str = "") -> Owned:
    """Answer, take or solve a post, as the current user.

    Raises RequestError if the user may not: only tutors can take a post, only the asker and tutors can solve it.
    """
    if post.kind != "ask" and kind == "take":
        raise RequestError(
            "board.only_requests", "this is a post, not a request for help", hint="answer it: `hackathon board answer`"
        )
    entry = Entry(id="", kind=kind, time=0.0, board=board.place.board, to=post.id, text=text)
    top = Owned(Entry(id=post.id, kind=post.kind, time=post.time, board=board.place.board), post.uid)
    if _refused(Owned(entry, os.geteuid()), top, board.people):
        raise RequestError(
            Message(
                "board.only_tutors", "only tutors listed in hackathon.yaml can take requests for help ({user} asked)"
            )
            if kind == "take"
            else Message(
                "board.only_asker", "only {user}, who wrote it, or a tutor listed in hackathon.yaml can close it"
            ),
            user=post.user,
        )
    return write_entry(board.place, entry)


def attach_run(board: Board, post: Post, run: str, folder: Path, finding: Attached | None) -> Owned:
    """Say, as the current user, which run a request is about; it replaces the run that it had.

    Raises RequestError if the user is neither the asker nor a tutor.
    """
    if not _may_attach(os.geteuid(), post.uid, board.people):
        raise RequestError(
            "board.only_asker_attaches",
            "only {user}, who asked, or a tutor listed in hackathon.yaml can attach a run",
            user=post.user,
        )
    entry = Entry(
        id="", kind="answer", time=0.0, board=board.place.board, to=post.id,
        text=_("This is about the run {run}.", run=clean_line(run)), run=clean_line(run),
        folder=clean_line(str(folder)), finding=finding,
    )  # fmt: skip
    return write_entry(board.place, entry)


def search(
    posts: Iterable[Post], words: Sequence[str] = (), *, part: str = "", rule: str = "", unsolved: bool = False
) -> list[Post]:
    """Return the posts with all words (case-insensitive), of a part, of a rule, or not solved yet."""
    folded = [word.casefold() for word in words]
    return [
        post
        for post in posts
        if (not part or post.part == part)
        and (not rule or post.rule == rule)
        and not (unsolved and post.solved)
        and all(word in _all_text(post) for word in folded)
    ]


def _all_text(post: Post) -> str:
    texts = [post.id, post.user, post.title, post.text, post.part, post.rule, post.run]
    if post.finding:
        texts += [post.finding.message, post.finding.text, *(text for text, _ in post.finding.said.values())]
    texts += [reply.text for reply in (*post.answers, post.solved) if reply]
    return "\n".join(texts).casefold()


def similar(finding: "Finding", board: Board | None = None, limit: int = 3) -> list[Post]:
    """Return solved posts and requests about the same failure: of the same rule, then with the same masked log line.

    Newest first; empty if no board can be read.
    """
    if board is None:
        try:
            board = open_board()
        # a diagnosis must not depend on a board
        except (HackathonError, OSError):
            return []
    # two consequences of other failures are not the same failure because one rule matches both
    names = finding.rule if finding.level != "secondary" else ""
    return solved_like(board, names, finding.evidence.text if finding.evidence else "", limit)


def solved_like(board: Board, rule: str, text: str, limit: int) -> list[Post]:
    """Return solved posts and requests of a rule, then those with the same masked log line, as `similar` does."""
    solved = [post for post in reversed(board.posts) if post.solved]
    names = rule and tells_failures_apart(rule)
    same_rule = [post for post in solved if names and post.rule == rule]
    line = masked(clean_line(text))
    telling = len(line) >= TELLING
    same_line = [post for post in solved if telling and post.finding and masked(post.finding.text) == line]
    return list({post.id: post for post in [*same_rule, *same_line]}.values())[:limit]


_MASKS = (
    (re.compile(r"0x[0-9a-fA-F]+"), "#"),
    (re.compile(r"(?<![\w.])(?:/[\w.@%+-]+)+/?"), "/"),
    (re.compile(r"\b[\w-]*\d[\w-]*(?:\.[\w-]+)*\b"), "#"),
    (re.compile(r"[\s\W]+"), " "),
)


def masked(text: str) -> str:
    """Return a log line without the parts that differ between runs: numbers, paths, host names, punctuation."""
    for pattern, word in _MASKS:
        text = pattern.sub(word, text)
    return text.strip().casefold()
