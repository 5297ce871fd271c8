"""Records of the Now page: one matter that needs attention, its runs, and its background."""

from dataclasses import dataclass

from hackathon.web.views.board import Step


@dataclass(frozen=True)
class RunLine:
    """One run of a matter, in its present state."""

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
    """Whether it belongs to the viewer's account."""
    going: bool
    """Whether it is unfinished and can be cancelled; otherwise it can be submitted again."""
    project: str
    """The folder for commands about it."""


@dataclass(frozen=True)
class Similar:
    """A solved post about the same failure."""

    title: str
    anchor: str
    """Its anchor on the board's page."""
    solution: str


@dataclass(frozen=True)
class Note:
    """A tutor's last note to a team."""

    person: str
    age: str
    text: str


@dataclass(frozen=True)
class NowItem:
    """One matter that needs attention: a request, or one trouble of a team's runs with one cause."""

    kind: str
    """One of trouble.KINDS."""
    team: str
    person: str
    """The name in the event, else the account."""
    name: str
    """Its recipe or project; for a request its run's, empty without one."""
    message: str
    """The problem, in one sentence; for a request its text."""
    since: float | None
    age: str = ""
    """How long ago that was."""
    when: str = ""
    """The same as a time of day."""
    advice: str = ""
    """The remedy."""
    state: str = ""
    """The run's state; for a request empty without a run."""
    processes: int = 0
    part: str = ""
    """The part of a failure: gpu, nccl, …"""
    evidence: str = ""
    """The line that shows it."""
    place: str = ""
    """The position of the line."""
    run: str = ""
    """The run's key; empty without one."""
    run_id: str = ""
    post: str = ""
    """The short id of the request on the board."""
    helper: str = ""
    """The tutor who has taken it."""
    more: int = 0
    """Further runs of the same team with the same cause."""
    newer: str = ""
    """The state of an unfinished run of the same name that was submitted after the failure."""
    id: str = ""
    """Constant for a matter as long as it lasts; the name of its anchor on the page."""
    cause: str = ""
    """Distinguishes causes: a rule's name, or words of the log without their numbers."""
    finding: str = ""
    """For a request: the present problem of its run."""
    text: str = ""
    """For a request: its text without the first line."""
    post_id: str = ""
    anchor: str = ""
    """For a request: its anchor on the page."""
    steps: tuple[Step, ...] = ()
    """For a request: its answers."""
    guessed: bool = False
    """For a request: whether its run was chosen by the toolkit, not by a person."""
    choices: tuple[RunLine, ...] = ()
    """For a request that the viewer may change: other runs of the team, which it may be about instead."""
    mine: bool = False
    """For a request: whether the viewer may close it."""
    runs: tuple[RunLine, ...] = ()
    """The newest runs."""
    tutors: tuple[str, ...] = ()
    """The team's tutors."""
    seat: str = ""
    """The team's seat."""
    note: Note | None = None
    similar: tuple[Similar, ...] = ()
    lost_per_hour: int = 0
    """Node-hours that it loses per hour: nodes of running jobs without progress or with idle devices."""
    history: tuple[tuple[str, int], ...] = ()
    """(part, number of the team's failures), the most frequent first."""
    items: tuple["NowItem", ...] = ()
    """For a cause that several teams share: the matter of each team."""

    @property
    def count(self) -> int:
        """Number of its runs; for a request from 0 to all of them."""
        return sum(item.count for item in self.items) or bool(self.run) + self.more
