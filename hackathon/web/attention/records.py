"""What the Now page shows, as records: one matter that needs somebody, its runs, and what is known beside it."""

from dataclasses import dataclass

from hackathon.web.views.board import Step


@dataclass(frozen=True)
class RunLine:
    """One run of a matter, as it stands now."""

    run: str
    """The run's key."""
    run_id: str
    name: str
    person: str
    state: str
    processes: int
    age: str
    """How long ago its trouble began."""
    own: bool
    """Whether it belongs to the account that looks."""
    going: bool
    """Whether it has not ended: it can be cancelled; else it can be submitted again."""
    project: str
    """The folder that the commands about it are typed in."""


@dataclass(frozen=True)
class Similar:
    """A solved post about the same failure."""

    title: str
    anchor: str
    """Its place on the board's page."""
    solution: str


@dataclass(frozen=True)
class Note:
    """What a tutor last wrote to a team."""

    person: str
    age: str
    text: str


@dataclass(frozen=True)
class NowItem:
    """One matter that somebody should look at: a request, or one trouble of a team's runs with one cause."""

    kind: str
    """One of trouble.KINDS."""
    team: str
    person: str
    """The name as the event gives it, else the account."""
    name: str
    """Its recipe or project; of a request its run's, empty without one."""
    message: str
    """What is the matter, in one sentence; of a request what was asked."""
    since: float | None
    age: str = ""
    """How long ago that was."""
    when: str = ""
    """The same as a clock shows it."""
    advice: str = ""
    """What to do."""
    state: str = ""
    """The run's; of a request empty without a run."""
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
    """Further runs of the same team with the same cause."""
    newer: str = ""
    """The state of a run of the same name that was submitted after a failure and goes on."""
    id: str = ""
    """The same for the same matter as long as it lasts; a name for its place on the page."""
    cause: str = ""
    """What tells one cause from another: a rule's name, or words of the log without their numbers."""
    finding: str = ""
    """Of a request: what is the matter with its run, as it stands now."""
    text: str = ""
    """Of a request: what was asked, without its first line."""
    post_id: str = ""
    anchor: str = ""
    """Of a request: its place on the page."""
    steps: tuple[Step, ...] = ()
    """Of a request: what was answered."""
    mine: bool = False
    """Of a request: whether whoever looks may close it."""
    runs: tuple[RunLine, ...] = ()
    """The newest ones."""
    tutors: tuple[str, ...] = ()
    """Who tutors the team."""
    seat: str = ""
    """Where the team sits."""
    note: Note | None = None
    similar: tuple[Similar, ...] = ()
    history: tuple[tuple[str, int], ...] = ()
    """(part, failures of the team in it), the most frequent first."""
    items: tuple["NowItem", ...] = ()
    """Of a cause that several teams meet: the matter of each team."""

    @property
    def count(self) -> int:
        """How many runs it is about; of a request 0 to all of them."""
        return sum(item.count for item in self.items) or bool(self.run) + self.more
