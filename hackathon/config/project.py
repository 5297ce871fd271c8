"""A team's project: `project.yaml`; and the defaults that a user or an event gives."""

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from hackathon.config.cluster import Launcher
from hackathon.config.fields import STRICT, Scalar, Text, Walltime
from hackathon.config.recipe import Check, Metric, Parameter, Scaling


@dataclass(frozen=True)
class Defaults:
    """What a user (`~/.config/hackathon/config.yaml`) or an event gives when the project is silent."""

    __pydantic_config__: ClassVar[Any] = STRICT
    cluster: str | None = None
    queue: str | None = None
    group: str | None = None
    reservation: str | None = None
    walltime: Walltime | None = None
    launcher: Launcher | None = None
    processes_per_node: int | None = None
    lang: Literal["en", "ja"] | None = None


@dataclass(frozen=True)
class Project:
    """A team's folder: its command or recipe, its defaults."""

    __pydantic_config__: ClassVar[Any] = STRICT
    name: str
    """Letters, digits, `-`, `_` or Japanese; shown everywhere."""
    team: str | None = None
    """The team it belongs to."""
    recipe: str | None = None
    """A recipe's name; exclusive with `command`."""
    command: str | None = None
    """Words, not shell: split first, then `{name}` of declared parameters is filled in."""
    parameters: dict[str, Scalar | Parameter] = field(default_factory=dict)
    """Values for the recipe's parameters, or the command's own with `{default, type, choices, help}`."""
    cluster: str | None = None
    queue: str | None = None
    group: str | None = None
    reservation: str | None = None
    nodes: int | None = None
    processes: int | None = None
    processes_per_node: int | None = None
    threads: int | None = None
    walltime: Walltime | None = None
    launcher: Launcher | None = None
    framework: str | None = None
    """For own code: decides the default launcher (torch → torchrun)."""
    metric: str | None = None
    """The metric that scaling is measured with; default the recipe's, else samples_per_s."""
    metrics: dict[str, Metric] = field(default_factory=dict)
    """Own code's metrics."""
    check: Check | None = None
    """What a run must reach to count as correct."""
    scaling: Scaling | None = None
    """How own code's parameters change in a study."""
    environment: list[str] = field(default_factory=list)
    """Shell lines after the cluster's: an environment to activate, modules."""
    variables: dict[str, str] = field(default_factory=dict)
    """Exported variables (double-quoted shell text)."""
    signal: Literal["none", "TERM", "USR1", "USR2"] = "none"
    """A signal to the program when the `stop` file appears; none by default."""
    title: Text = ""
    """One line for people."""
