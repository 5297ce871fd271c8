"""A team's project: `project.yaml`; and the defaults that a user or an event gives."""

from dataclasses import dataclass, field
from typing import Literal

from hackathon.config.cluster import Binding, Launcher
from hackathon.config.fields import Positive, Scalar, Size, Text, Walltime
from hackathon.config.recipe import Check, Data, Metric, Parameter, Scaling


@dataclass(frozen=True)
class Defaults:
    """What a user (`~/.config/hackathon/config.yaml`) or an event gives when the project is silent."""

    cluster: str | None = None
    """The cluster's name."""
    queue: str | None = None
    """The queue."""
    group: str | None = None
    """The group (project, account) that pays."""
    reservation: str | None = None
    """The reservation to run in."""
    walltime: Walltime | None = None
    """How long a job may run: 00:30:00, 90m or 2h."""
    launcher: Launcher | None = None
    """What starts the ranks."""
    binding: Binding | None = None
    """Which cores a rank may use: none, numa or cores; default the cluster's."""
    processes_per_node: Positive | None = None
    """Ranks on a node; default the cluster's."""
    lang: Literal["en", "ja"] | None = None
    """The language of messages."""


@dataclass(frozen=True)
class Project:
    """A team's folder: its command or recipe, its defaults."""

    name: str
    """Up to 60 letters (Japanese too), digits and signs other than `/`; a part of folder names."""
    team: str | None = None
    """The team it belongs to."""
    recipe: str | None = None
    """A recipe's name; exclusive with `command`."""
    command: str | None = None
    """Words, not shell: split first, then `{name}` of declared parameters is filled in."""
    parameters: dict[str, Scalar | Parameter] = field(default_factory=dict)
    """Values for the recipe's parameters, or the command's own with `{default, type, choices, help}`."""
    cluster: str | None = None
    """The cluster's name."""
    queue: str | None = None
    """The queue."""
    group: str | None = None
    """The group (project, account) that pays."""
    reservation: str | None = None
    """The reservation to run in."""
    nodes: Positive | None = None
    """Nodes of a job."""
    processes: Positive | None = None
    """Ranks in all."""
    processes_per_node: Positive | None = None
    """Ranks on a node; default the cluster's."""
    threads: Positive | None = None
    """Threads a rank; default cores ÷ processes_per_node."""
    gpus_per_process: Positive | None = None
    """GPUs of a rank; from 2 on a rank sees only its own, numbered from 0, and fewer ranks share a node."""
    memory: Size | None = None
    """Main memory of each node that a job asks for, e.g. 64 GiB; default what the site gives."""
    walltime: Walltime | None = None
    """How long a job may run: 00:30:00, 90m or 2h."""
    launcher: Launcher | None = None
    """What starts the ranks."""
    binding: Binding | None = None
    """Which cores a rank may use: none, numa or cores; default the cluster's."""
    framework: str | None = None
    """For own code: decides the default launcher (torch → torchrun)."""
    metric: str | None = None
    """The metric that scaling is measured with; default the recipe's, else samples_per_s."""
    metrics: dict[str, Metric] = field(default_factory=dict)
    """Own code's metrics."""
    check: Check | None = None
    """What a run must reach to count as correct."""
    data: list[Data] = field(default_factory=list)
    """What `hackathon data fetch` brings."""
    scaling: Scaling | None = None
    """How own code's parameters change in a study."""
    exclude: list[str] = field(default_factory=list)
    """Paths or patterns in the project's folder (`data`, `weights/*.pt`) that are linked into a run, not copied."""
    environment: list[str] = field(default_factory=list)
    """Shell lines after the cluster's: an environment to activate, modules."""
    variables: dict[str, str] = field(default_factory=dict)
    """Exported variables (double-quoted shell text)."""
    directives: list[str] = field(default_factory=list)
    """Further options in the header, after the cluster's, as the scheduler writes them: `--mem=64G`, `-l mem=64gb`."""
    signal: Literal["none", "TERM", "USR1", "USR2"] = "none"
    """A signal to the program when the `stop` file appears; none by default."""
    title: Text = ""
    """One line for people."""
    main_study: str | None = None
    """The study that stands for the team on pages, in the report and in the slides: its id or its name."""

    def place(self) -> Defaults:
        """Return what says where jobs run: what a recipe takes that is run inside this project."""
        return Defaults(
            cluster=self.cluster,
            queue=self.queue,
            group=self.group,
            reservation=self.reservation,
            walltime=self.walltime,
        )
