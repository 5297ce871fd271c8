"""One hackathon: `hackathon.yaml`."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

from hackathon.config.fields import STRICT, Text
from hackathon.config.project import Defaults


@dataclass(frozen=True)
class Budget:
    """What a team may use."""

    __pydantic_config__: ClassVar[Any] = STRICT
    node_hours: float | None = None
    gpu_hours: float | None = None
    tokens: float | None = None


@dataclass(frozen=True)
class EventCluster:
    """A cluster as the event uses it."""

    __pydantic_config__: ClassVar[Any] = STRICT
    queue: str | None = None
    reservation: str | None = None
    budget: Budget | None = None


@dataclass(frozen=True)
class Member:
    """A participant."""

    __pydantic_config__: ClassVar[Any] = STRICT
    user: str
    kind: str = ""
    name: str = ""


@dataclass(frozen=True)
class Team:
    """A team of participants."""

    __pydantic_config__: ClassVar[Any] = STRICT
    name: str
    group: str | None = None
    members: list[Member] = field(default_factory=list)
    tutors: list[str] = field(default_factory=list)
    project: str = ""


@dataclass(frozen=True)
class Tutor:
    """Somebody who helps."""

    __pydantic_config__: ClassVar[Any] = STRICT
    user: str
    name: str = ""
    knows: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Item:
    """An item of the schedule; it may have no time, or a start without an end."""

    __pydantic_config__: ClassVar[Any] = STRICT
    title: Text
    day: str
    start: str | None = None
    end: str | None = None


@dataclass(frozen=True)
class Publish:
    """What may go out."""

    __pydantic_config__: ClassVar[Any] = STRICT
    teams: bool = True
    users: bool = False
    logs: bool = False
    paths: bool = False


@dataclass(frozen=True)
class Event:
    """One hackathon."""

    __pydantic_config__: ClassVar[Any] = STRICT
    title: Text
    dates: list[str] = field(default_factory=list)
    place: Text = ""
    languages: list[str] = field(default_factory=lambda: ["en", "ja"])
    clusters: dict[str, EventCluster] = field(default_factory=dict)
    defaults: Defaults = field(default_factory=Defaults)
    teams: list[Team] = field(default_factory=list)
    tutors: list[Tutor] = field(default_factory=list)
    schedule: list[Item] = field(default_factory=list)
    publish: Publish = field(default_factory=Publish)
