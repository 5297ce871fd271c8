"""JSON of commands about an event, its teams and its surveys."""

from collections.abc import Mapping
from typing import Any, NotRequired, TypedDict

from hackathon.config.event import Member, Tutor
from hackathon.web.attention.now import NowView


class CheckCountsJson(TypedDict):
    """Troubles by level."""

    error: int
    warning: int
    remark: int


class EventTroubleJson(TypedDict):
    """A trouble of an event."""

    level: str
    id: str
    team: str
    what: str
    where: str
    remedy: str


class ReadyPointJson(TypedDict):
    """An item of a team's or a member's checklist."""

    name: str
    state: str
    user: str
    time: float | None
    evidence: str
    why: str


class TeamReadyJson(TypedDict):
    """Whether a team is ready."""

    team: str
    ready: bool
    points: list[ReadyPointJson]
    members: Mapping[str, list[ReadyPointJson]]


class EventCheckJson(TypedDict):
    """A checked event."""

    event: str
    counts: CheckCountsJson
    troubles: list[EventTroubleJson]
    ready: list[TeamReadyJson]


class EventFolderJson(TypedDict):
    """A folder of an event."""

    path: str
    what: str
    team: str
    state: str
    why: str
    mode: str


class NoteJson(TypedDict):
    """A note."""

    id: str
    text: str


class EventInitJson(TypedDict):
    """What was set up."""

    file: str
    written: bool
    teams_added: list[str]
    dry_run: bool
    folders: list[EventFolderJson]
    notes: list[NoteJson]
    commands: list[str]


class SlotJson(TypedDict):
    """A slot of the schedule."""

    title: str
    start: str
    end: str
    index: int
    day: str


class DayJson(TypedDict):
    """A day of the schedule."""

    date: str
    weekday: str
    slots: list[SlotJson]


class NowJson(TypedDict):
    """What happens now."""

    running: bool
    phase: str
    on: list[SlotJson]
    next: SlotJson | None
    minutes_until_next: int | None


class KindCountJson(TypedDict):
    """Participants of one kind."""

    kind: str
    label: str
    count: int


class ParticipationJson(TypedDict):
    """Numbers of teams and participants."""

    applied: int | None
    chosen: int
    took_part: int
    people: int
    kinds: list[KindCountJson]


class TeamJson(TypedDict):
    """A team."""

    name: str
    project: str
    group: str | None
    took_part: bool
    members: list[Member]
    tutors: list[str]


class EventShowJson(TypedDict):
    """An event."""

    title: str
    dates: list[str]
    place: str
    hosts: list[str]
    schedule: list[DayJson]
    now: NowJson
    participation: ParticipationJson
    teams: list[TeamJson]
    tutors: list[Tutor]


class ExpertsJson(TypedDict):
    """Tutors for a topic, with `--knows`."""

    tutors: list[Tutor]


ShownEventJson = EventShowJson | ExpertsJson


class UsageRowJson(TypedDict):
    """What a team used."""

    team: str | None
    in_event: bool | None
    day: str | None
    user: str | None
    cluster: str | None
    jobs: int
    running: int
    end_not_seen: int
    unclear: int
    node_hours: float | None
    gpu_hours: float | None
    tokens: float | None
    budget: Mapping[str, float | None]
    left: Mapping[str, float | None]
    basis: str | None


class LostHoursJson(TypedDict):
    """The outcome of the node-hours of a team, a person or a cluster; null means not known."""

    team: str | None
    user: str | None
    cluster: str | None
    runs: int
    node_hours: Mapping[str, float | None]
    total: float | None
    unjudged: Mapping[str, int]
    """Number of runs of which hang or idle GPUs could not be decided."""
    kwh: Mapping[str, float | None] | None
    metered: int
    """Runs whose nodes all recorded their power."""
    queue_node_hours: float | None


class UsageJson(TypedDict):
    """Usage of an event; times are seconds since 1970."""

    event: str | None
    now: float
    since: float | None
    until: float | None
    zone: str
    by: str
    asked: bool
    folders: int
    unread: int
    rows: list[UsageRowJson]
    lost: NotRequired[list[LostHoursJson]]
    lost_by_cluster: NotRequired[list[LostHoursJson]]
    problems: list[str]


class ChecklistItemJson(TypedDict):
    """An item of the checklist."""

    name: str
    ok: bool | None
    evidence: str
    remedy: str
    facts: Mapping[str, Any]


class ReadyJson(TypedDict):
    """Whether a team can start."""

    account: str
    team: str | None
    project: str
    cluster: str
    ready: bool
    items: list[ChecklistItemJson]
    posted: str | None
    not_posted: str | None


class SurveyTroubleJson(TypedDict):
    """A trouble of a survey."""

    level: str
    problem: str
    text: str
    remedy: str


class SurveyCheckJson(TypedDict):
    """A checked survey."""

    name: str
    state: str
    questions: int
    answered: int
    invited: int | None
    tokens: int
    spent: int
    by_channel: Mapping[str, int] | None
    left_out: int
    unread: list[str]
    ok: bool
    troubles: list[SurveyTroubleJson]


class ImportProblemJson(TypedDict):
    """A wrong cell."""

    file: str
    line: int | None
    column: str | None
    text: str
    remedy: str


class SurveyImportJson(TypedDict):
    """Imported answers."""

    counted: int
    known: int
    spent: int
    blank: int
    incomplete: int
    previews: int
    """Rows that are trials of the form or spam, left out."""
    other_texts: int
    """Texts beside an option "other" that count as this option."""
    coded: list[str]
    """Ratings that were read from codes such as `AO01`."""
    unused_words: list[str]
    """Words of `--values` that no file contains."""
    mapping: list[str]
    """`COLUMN=QUESTION` for `--map`."""
    skipped: int
    stored: bool
    problems: list[ImportProblemJson]


class SurveyOpenJson(TypedDict):
    """An open survey; the tokens are not stored."""

    name: str
    digest: str
    tokens: list[str]


class TrustedJson(TypedDict):
    """A decision about an event."""

    path: str
    inode: int
    owner: str | int
    answer: str
    name: str
    owners: list[Any]
    users: list[Any]
    groups: list[Any]
    everybody: bool
    time: float


class TrustListJson(TypedDict):
    """All decisions, with `--list`."""

    entries: list[TrustedJson]


class TrustStateJson(TypedDict):
    """Whether an event is trusted."""

    folder: str
    state: str
    owner: str | int | None


TrustJson = TrustListJson | TrustStateJson
TopJson = NowView
