"""JSON of the board, of requests for help, reports, and messages to a chat."""

from collections.abc import Mapping
from typing import Any, NotRequired, TypedDict

from hackathon.cli.json_types.nested import Values


class AttachedJson(TypedDict):
    """The diagnosis that is attached to a post."""

    rule: str
    part: str
    level: str
    message: str
    advice: str
    file: str
    line: int | None
    text: str
    rank: int | None
    host: str


class ReplyJson(TypedDict):
    """An answer, or the entry of who takes or solves a post."""

    id: str
    uid: int
    user: str
    time: float
    text: str
    run: NotRequired[str]
    """The run that it attaches to the request."""


class PostJson(TypedDict):
    """A post on the board, or a request for help."""

    id: str
    kind: str
    """`post` or `ask`."""
    uid: int
    user: str
    time: float
    title: str
    text: str
    part: str
    rule: str
    run: str
    folder: str
    finding: AttachedJson | None
    future: bool
    short: str
    state: str
    answers: list[ReplyJson]
    taken: ReplyJson | None
    solved: ReplyJson | None
    guessed: bool
    """Whether the toolkit chose its run, and nobody has named another one."""


class IgnoredEntryJson(TypedDict):
    """A file on the board that was ignored."""

    file: str
    user: str
    why: str
    count: NotRequired[int]


class _BoardJson(TypedDict):
    passed_over: list[IgnoredEntryJson]
    """Files that were ignored."""
    problems: list[Mapping[str, Any]]
    """Problems of the shared directory."""


class PostsJson(_BoardJson):
    """Posts, the newest first."""

    posts: list[PostJson]


class OnePostJson(_BoardJson):
    """One post."""

    post: PostJson


class RequestsJson(_BoardJson):
    """Requests for help."""

    requests: list[PostJson]


class EntryJson(TypedDict):
    """The entry that was written."""

    id: str
    short: str


class BoardInitJson(TypedDict):
    """The shared directory of a board."""

    shared: str
    mode: str
    problems: list[Values | str]
    commands: list[str]


class ReportJson(TypedDict):
    """A member's report."""

    user: str
    name: str
    time: float
    progress: str
    goals: str
    problems: str
    solved: str


class TeamReportJson(TypedDict):
    """The reports of a team."""

    team: str
    members: list[ReportJson]
    silent: list[str]


class StandupJson(_BoardJson):
    """The reports of a day."""

    day: str
    teams: list[TeamReportJson]
    solved: list[PostJson]
    waiting: list[PostJson]


class NotifyJson(TypedDict):
    """Whether notifications are on."""

    on: bool
    host: str | None


class PayloadsJson(TypedDict):
    """What would be sent, with `--dry-run`."""

    payloads: list[Values]


class RelayedJson(TypedDict):
    """What was sent, with `--once`."""

    sent: list[Any]
    refused: list[Any]
    waiting: int
    what: str
    """Why messages wait."""


RelayJson = PayloadsJson | RelayedJson
