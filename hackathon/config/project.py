"""A team's project: `project.yaml`; and the defaults of a user or an event."""

from dataclasses import field
from typing import Literal

from hackathon.config.cluster import Binding, Launcher
from hackathon.config.recipe import Check, Data, Metric, Parameter, Scaling
from hackathon.config.records import Positive, Scalar, Size, Text, Walltime
from hackathon.text.light_dataclass import dataclass

Framework = Literal["torch", "tensorflow", "keras", "horovod", "chainer", "jax", "none"]
"""What a program trains with."""


@dataclass(frozen=True)
class Defaults:
    """Values of a user (`~/.config/hackathon/config.yaml`) or an event for keys that the project omits."""

    cluster: str | None = None
    """The cluster's name."""
    queue: str | None = None
    """The queue."""
    group: str | None = None
    """Group or account to charge."""
    reservation: str | None = None
    """The reservation to run in."""
    qos: str | None = None
    """Slurm's quality of service; default that of the queue. Other schedulers ignore it."""
    constraint: str | None = None
    """Slurm's features of the nodes; default the cluster's. Other schedulers ignore it."""
    walltime: Walltime | None = None
    """Time limit of a job: 00:30:00, 90m or 2h."""
    requeue: bool | None = None
    """Whether the scheduler may start a job again after a preemption or a node failure; default the site's."""
    launcher: Launcher | None = None
    """The launcher of the ranks."""
    binding: Binding | None = None
    """Cores of a rank: none, numa or cores; default the cluster's."""
    processes_per_node: Positive | None = None
    """Ranks per node; default the cluster's."""
    lang: Literal["en", "ja"] | None = None
    """The language of messages."""


@dataclass(frozen=True)
class UserSettings(Defaults):
    """A user's own `~/.config/hackathon/config.yaml`."""

    confirm: bool = True
    """Ask on a terminal before `scale`, and `submit` of several runs, use node-hours."""


@dataclass(frozen=True)
class Project:
    """A team's folder: its command or recipe, its defaults."""

    name: str
    """Up to 60 characters: letters (Japanese too), digits and signs other than `/`; part of folder names."""
    team: str | None = None
    """Its team."""
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
    """Group or account to charge."""
    reservation: str | None = None
    """The reservation to run in."""
    qos: str | None = None
    """Slurm's quality of service; default that of the queue. Other schedulers ignore it."""
    constraint: str | None = None
    """Slurm's features of the nodes; default the cluster's. Other schedulers ignore it."""
    nodes: Positive | None = None
    """Nodes of a job."""
    processes: Positive | None = None
    """Total number of ranks."""
    processes_per_node: Positive | None = None
    """Ranks per node; default the cluster's."""
    threads: Positive | None = None
    """Threads per rank; default cores ÷ processes_per_node."""
    gpus_per_process: Positive | None = None
    """GPUs per rank; from 2 on a rank sees only its own, numbered from 0, and fewer ranks share a node."""
    memory: Size | None = None
    """Main memory per node that a job requests, e.g. 64 GiB; default the site's."""
    walltime: Walltime | None = None
    """Time limit of a job: 00:30:00, 90m or 2h."""
    requeue: bool | None = None
    """Whether the scheduler may start a job again after a preemption or a node failure; default the site's."""
    launcher: Launcher | None = None
    """The launcher of the ranks."""
    binding: Binding | None = None
    """Cores of a rank: none, numa or cores; default the cluster's."""
    framework: Framework | None = None
    """For the user's own code: torch → torchrun by default; tensorflow → TF_CONFIG for each rank."""
    metric: str | None = None
    """The metric for scaling; default the recipe's, else samples_per_s."""
    metrics: dict[str, Metric] = field(default_factory=dict)
    """Metrics of the user's own code."""
    check: Check | None = None
    """The condition for a correct run."""
    data: list[Data] = field(default_factory=list)
    """Data for `hackathon data fetch`."""
    scaling: Scaling | None = None
    """How the parameters of the user's own code change in a study."""
    exclude: list[str] = field(default_factory=list)
    """Paths or patterns in the project's folder (`data`, `weights/*.pt`) that are linked into a run, not copied."""
    image: str | None = None
    """The container image in which the program runs: a file or folder, or `docker://NAME:TAG`."""
    image_binds: list[str] = field(default_factory=list)
    """Further folders of the nodes that the image gets under the same name, e.g. `/lustre/data`."""
    environment: list[str] = field(default_factory=list)
    """Shell lines after the cluster's: an environment to activate, modules."""
    variables: dict[str, str] = field(default_factory=dict)
    """Exported variables (double-quoted shell text)."""
    directives: list[str] = field(default_factory=list)
    """Further options in the header, after the cluster's, in the scheduler's notation: `--mem=64G`, `-l mem=64gb`."""
    signal: Literal["none", "TERM", "USR1", "USR2"] = "none"
    """A signal to the program when the `stop` file appears; none by default."""
    title: Text = ""
    """A one-line description."""
    main_study: str | None = None
    """The team's main study for pages, the report and the slides: its id or its name."""

    def place(self) -> Defaults:
        """Return the values about where jobs run: those that a recipe inside this project uses."""
        return Defaults(
            cluster=self.cluster,
            queue=self.queue,
            group=self.group,
            reservation=self.reservation,
            qos=self.qos,
            constraint=self.constraint,
            walltime=self.walltime,
            requeue=self.requeue,
        )
