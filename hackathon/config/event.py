"""One hackathon: `hackathon.yaml`; the folders of its teams, and which team a project belongs to."""

import os
import pwd
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from hackathon.config.fields import Amount, Natural, Text
from hackathon.config.project import Defaults
from hackathon.text.paths import expanded

_PLACEHOLDER = re.compile(r"\{(group|user)\}")
_UNSAFE = re.compile(r"[/\0]|\A\.\.?\Z")


@dataclass(frozen=True)
class Budget:
    """What a team may use."""

    node_hours: Amount | None = None
    """Node-hours."""
    gpu_hours: Amount | None = None
    """GPU-hours."""
    tokens: Amount | None = None
    """The site's tokens."""


@dataclass(frozen=True)
class EventCluster:
    """A cluster as the event uses it."""

    queue: str | None = None
    """The queue that the event uses."""
    reservation: str | None = None
    """The event's reservation."""
    budget: Budget | None = None
    """What each team may use."""


@dataclass(frozen=True)
class Member:
    """A participant."""

    user: str = ""
    """The account on the cluster; may be empty until it is known, where there is a name."""
    kind: str = ""
    """undergraduate, master, doctoral, staff, company, or a word of `kinds`."""
    name: str = ""
    """The person's name."""


@dataclass(frozen=True)
class Team:
    """A team of participants."""

    name: str
    """The team's name."""
    group: str | None = None
    """The group (project, account) that pays."""
    members: list[Member] = field(default_factory=list)
    """Who is in it."""
    tutors: list[str] = field(default_factory=list)
    """Accounts of the tutors who help it."""
    seat: str = ""
    """Where it sits: a table, a room, an address of a video call."""
    project: str = ""
    """What it works on."""
    model: str = ""
    """The model and the framework it trains with."""
    done: Text = ""
    """What the team did at the event, in a sentence or two: the report says it."""
    main_study: str = ""
    """The study that pages, report and slides tell of it: its id, its name or its project's folder; default: the one
    with the largest speed-up."""
    took_part: bool = True
    """Whether it came; a team that was chosen and did not come is counted, and has no results."""
    publish: bool = True
    """Whether the published site and the report may tell of it; false: its people are counted, nothing else of it."""
    folders: list[str] = field(default_factory=list)
    """Folders that its projects lie in, relative to this file, e.g. `/lustre/{group}/{user}`; default: its name."""

    @property
    def accounts(self) -> list[str]:
        """The accounts of its members, without those that nobody knows yet."""
        return [member.user for member in self.members if member.user]


@dataclass(frozen=True)
class Tutor:
    """Somebody who helps."""

    user: str
    """The account on the cluster."""
    name: str = ""
    """The person's name."""
    affiliation: Text = ""
    """Where the person works; published with the name where `publish.tutors` allows it."""
    knows: list[str] = field(default_factory=list)
    """What to ask about."""


@dataclass(frozen=True)
class Item:
    """An item of the schedule; it may have no time, or a start without an end."""

    title: Text
    """What happens."""
    day: str
    """The day, e.g. 2019-01-24."""
    start: str | None = None
    """When it begins, e.g. 09:30."""
    end: str | None = None
    """When it ends; after midnight the hours go on: 26:00."""


@dataclass(frozen=True)
class Publish:
    """What may go out; secrets, e-mail addresses and network addresses never do."""

    teams: bool = True
    """Names of teams."""
    users: bool = False
    """Accounts and names of people."""
    tutors: bool = False
    """Names and affiliations of tutors, without their accounts."""
    groups: bool = False
    """Groups (projects, accounts) that pay."""
    hosts: bool = False
    """Names of machines."""
    logs: bool = False
    """Logs of runs, and lines of them as evidence of failures."""
    paths: bool = False
    """Paths on the cluster."""
    source: bool = False
    """The teams' programs: in the crates of runs, and as differences."""
    board: bool = False
    """The problem board."""
    schedule: bool = True
    """What happened when."""
    surveys: bool = True
    """Summaries of closed surveys; free answers only once somebody has reviewed them."""
    crates: bool = True
    """A crate of each successful run of a study, to rerun it elsewhere."""
    runs: Literal["all", "best", "none"] = "best"
    """Runs with a page of their own; best: one for each study."""
    address: str = ""
    """Where the site will be, e.g. https://example.org/hackathon/: for links and pictures that other services show."""


@dataclass(frozen=True)
class Photograph:
    """A picture of the event."""

    file: str
    """PNG or JPEG, relative to this file; place, camera and names in it are taken out."""
    caption: Text
    """What is to be seen."""


@dataclass(frozen=True)
class Article:
    """What the report says beside the records."""

    style: Literal["polite", "plain"] = "polite"
    """How Japanese sentences end; polite: です・ます, plain: である."""
    authors: list[Text] = field(default_factory=list)
    """Who signs it, with affiliation."""
    photographs: list[Photograph] = field(default_factory=list)
    """Pictures in it, in this order."""
    closing: Text = ""
    """Its last paragraph; empty: thanks to those that this file names."""


@dataclass(frozen=True)
class Event:
    """One hackathon."""

    title: Text
    """The event's name."""
    occasion: Text = ""
    """What it was held for, in a sentence or two: the report begins with it."""
    dates: list[str] = field(default_factory=list)
    """Its days, e.g. 2019-01-24."""
    place: Text = ""
    """Where it is held."""
    hosts: list[Text] = field(default_factory=list)
    """Who holds it, the first one first."""
    languages: list[Literal["en", "ja"]] = field(default_factory=lambda: ["en", "ja"])
    """Languages of its pages."""
    clusters: dict[str, EventCluster] = field(default_factory=dict)
    """The clusters it uses."""
    when_spent: Literal["warn", "refuse"] = "warn"
    """What a submission of a team does whose budget is spent."""
    defaults: Defaults = field(default_factory=Defaults)
    """What projects get when they are silent."""
    applied: Natural | None = None
    """How many teams applied, where that is told."""
    chosen: Natural | None = None
    """How many teams were chosen; default: those of `teams`."""
    kinds: dict[str, Text] = field(default_factory=dict)
    """Kinds of participants beyond the known ones, and how they are called; their order is that of the tables."""
    teams: list[Team] = field(default_factory=list)
    """The teams."""
    tutors: list[Tutor] = field(default_factory=list)
    """Who helps."""
    shared: str | None = None
    """The directory that all participants reach, with the board (`hackathon board init`); relative to this file."""
    schedule: list[Item] = field(default_factory=list)
    """What happens when."""
    lessons: list[Text] = field(default_factory=list)
    """What was learnt, for the report."""
    logo: str = ""
    """A PNG or JPEG for the published site, relative to this file."""
    report_page: str = ""
    """The address of the published report, for a link on the site."""
    lecture_page: str = ""
    """The address of the lectures' page, for a link on the site."""
    report: Article = field(default_factory=Article)
    """How the report is written, who signs it, its photographs and its closing paragraph."""
    publish: Publish = field(default_factory=Publish)
    """What its published pages may show."""


def team_folders(team: Team, event_folder: Path) -> list[Path]:
    """Return the folders of a team, absolute; `{group}` and `{user}` are filled in, `{user}` by every member."""
    paths: dict[Path, None] = {}
    for text in team.folders or [team.name]:
        names = set(_PLACEHOLDER.findall(text))
        groups = [team.group] if "group" in names else [""]
        users = team.accounts if "user" in names else [""]
        for group in groups:
            for user in users:
                if group is None or any(_UNSAFE.search(part) for part in (group, user)):
                    continue
                filled = text.replace("{group}", group).replace("{user}", user)
                if "\0" not in filled:
                    subfolder = expanded(filled) if team.folders else filled  # a name is nobody's home
                    paths[Path(os.path.normpath(event_folder.absolute() / subfolder))] = None
    return list(paths)


def own_team(event: Event, event_folder: Path, project: Path, claimed: str | None) -> Team | None:
    """Return the team that a project belongs to: by its folder, else by the account, else as project.yaml says."""
    real = os.path.realpath(project)
    for team in event.teams:
        for folder in team_folders(team, event_folder):
            root = os.path.realpath(folder)
            if real == root or real.startswith(f"{root.rstrip('/')}/"):
                return team
    try:
        user = pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:  # an account that this machine has no name for
        user = ""
    mine = next((team for team in event.teams if user and user in team.accounts), None)
    return mine or next((team for team in event.teams if team.name == claimed), None)
