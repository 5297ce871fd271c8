"""One hackathon: `hackathon.yaml`; the folders of its teams, and the team of a project."""

import os
import pwd
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from hackathon.config.project import Defaults
from hackathon.config.records import Amount, Natural, Text
from hackathon.text.paths import expanded

_PLACEHOLDER = re.compile(r"\{(group|user)\}")
_UNSAFE = re.compile(r"[/\0]|\A\.\.?\Z")


@dataclass(frozen=True)
class Budget:
    """A team's budget."""

    node_hours: Amount | None = None
    """Node-hours."""
    gpu_hours: Amount | None = None
    """GPU-hours."""
    tokens: Amount | None = None
    """The site's tokens."""


@dataclass(frozen=True)
class EventCluster:
    """The event's use of a cluster."""

    queue: str | None = None
    """The event's queue."""
    reservation: str | None = None
    """The event's reservation."""
    budget: Budget | None = None
    """The budget of each team."""


@dataclass(frozen=True)
class Member:
    """A participant."""

    user: str = ""
    """The account on the cluster; with a name it may be empty until the account is known."""
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
    """Group or account to charge."""
    members: list[Member] = field(default_factory=list)
    """Its members."""
    tutors: list[str] = field(default_factory=list)
    """Accounts of its tutors."""
    seat: str = ""
    """Its location: a table, a room, an address of a video call."""
    project: str = ""
    """The team's project."""
    model: str = ""
    """The model and the framework of its training."""
    done: Text = ""
    """The team's work at the event in a sentence or two, for the report."""
    main_study: str = ""
    """Main study for pages, report and slides: its id, its name or its project's folder.

    Default: the study with the largest speed-up.
    """
    took_part: bool = True
    """Whether it took part; a selected team that did not is counted, but has no results."""
    publish: bool = True
    """Whether the published site and the report include it; if false, only its people are counted."""
    folders: list[str] = field(default_factory=list)
    """Folders of its projects, relative to this file, e.g. `/lustre/{group}/{user}`; default: its name."""

    @property
    def accounts(self) -> list[str]:
        """The accounts of its members, without unknown ones."""
        return [member.user for member in self.members if member.user]


@dataclass(frozen=True)
class Tutor:
    """A tutor."""

    user: str
    """The account on the cluster."""
    name: str = ""
    """The person's name."""
    affiliation: Text = ""
    """The person's affiliation; published with the name if `publish.tutors` is true."""
    knows: list[str] = field(default_factory=list)
    """The person's topics."""


@dataclass(frozen=True)
class Item:
    """An item of the schedule; it may have no time, or a start without an end."""

    title: Text
    """The title."""
    day: str
    """The day, e.g. 2019-01-24."""
    start: str | None = None
    """When it begins, e.g. 09:30."""
    end: str | None = None
    """When it ends; after midnight the hours continue: 26:00."""


@dataclass(frozen=True)
class Publish:
    """What is published; secrets, e-mail addresses and network addresses never are."""

    teams: bool = True
    """Names of teams."""
    users: bool = False
    """Accounts and names of people."""
    tutors: bool = False
    """Names and affiliations of tutors, without their accounts."""
    groups: bool = False
    """Groups or accounts that are charged."""
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
    """The schedule."""
    surveys: bool = True
    """Summaries of closed surveys; free answers only after somebody has reviewed them."""
    crates: bool = True
    """A crate of each successful run of a study, to rerun it elsewhere."""
    runs: Literal["all", "best", "none"] = "best"
    """Runs with a page of their own; best: one for each study."""
    address: str = ""
    """The site's address, e.g. https://example.org/hackathon/: for links and pictures on other services."""


@dataclass(frozen=True)
class Photograph:
    """A picture of the event."""

    file: str
    """PNG or JPEG, relative to this file; location, camera and names are removed from it."""
    caption: Text
    """The caption."""


@dataclass(frozen=True)
class Article:
    """The report's additions to the records."""

    style: Literal["polite", "plain"] = "polite"
    """Style of Japanese sentences; polite: です・ます, plain: である."""
    authors: list[Text] = field(default_factory=list)
    """Authors with affiliation."""
    photographs: list[Photograph] = field(default_factory=list)
    """Pictures in it, in this order."""
    closing: Text = ""
    """Its last paragraph; empty: thanks to those named in this file."""


@dataclass(frozen=True)
class Event:
    """One hackathon."""

    title: Text
    """The event's name."""
    occasion: Text = ""
    """The occasion in a sentence or two; the report begins with it."""
    dates: list[str] = field(default_factory=list)
    """Its days, e.g. 2019-01-24."""
    place: Text = ""
    """The venue."""
    hosts: list[Text] = field(default_factory=list)
    """The hosts, the main one first."""
    languages: list[Literal["en", "ja"]] = field(default_factory=lambda: ["en", "ja"])
    """Languages of its pages."""
    clusters: dict[str, EventCluster] = field(default_factory=dict)
    """Its clusters."""
    when_spent: Literal["warn", "refuse"] = "warn"
    """What happens when a team with a spent budget submits."""
    defaults: Defaults = field(default_factory=Defaults)
    """Defaults of projects."""
    applied: Natural | None = None
    """Number of teams that applied, if public."""
    chosen: Natural | None = None
    """Number of selected teams; default: those of `teams`."""
    kinds: dict[str, Text] = field(default_factory=dict)
    """Further kinds of participants with their display names, in the order of the tables."""
    teams: list[Team] = field(default_factory=list)
    """The teams."""
    tutors: list[Tutor] = field(default_factory=list)
    """The tutors."""
    shared: str | None = None
    """The directory that all participants reach, with the board (`hackathon board init`); relative to this file."""
    schedule: list[Item] = field(default_factory=list)
    """The schedule."""
    lessons: list[Text] = field(default_factory=list)
    """Lessons for the report."""
    logo: str = ""
    """A PNG or JPEG for the published site, relative to this file."""
    report_page: str = ""
    """The address of the published report, for a link on the site."""
    lecture_page: str = ""
    """The address of the lectures' page, for a link on the site."""
    report: Article = field(default_factory=Article)
    """The report's style, authors, photographs and closing paragraph."""
    publish: Publish = field(default_factory=Publish)
    """What its published pages show."""


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
                    subfolder = expanded(filled) if team.folders else filled  # the team's name is not a home folder
                    paths[Path(os.path.normpath(event_folder.absolute() / subfolder))] = None
    return list(paths)


def own_team(event: Event, event_folder: Path, project: Path, claimed: str | None) -> Team | None:
    """Return the team of a project: by its folder, else by the account, else by project.yaml."""
    real = os.path.realpath(project)
    for team in event.teams:
        for folder in team_folders(team, event_folder):
            root = os.path.realpath(folder)
            if real == root or real.startswith(f"{root.rstrip('/')}/"):
                return team
    try:
        user = pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:  # an account without a name on this machine
        user = ""
    mine = next((team for team in event.teams if user and user in team.accounts), None)
    return mine or next((team for team in event.teams if team.name == claimed), None)
