"""The request: fully resolved numbers and names of one job, each with its origin."""

from collections.abc import Mapping
from dataclasses import field, fields
from pathlib import Path
from typing import Any

from hackathon.config.records import Scalar
from hackathon.text.errors import RequestError
from hackathon.text.light_dataclass import dataclass
from hackathon.text.units import parse_walltime


@dataclass(frozen=True)
class Options:
    """The shared options; None means "not given"."""

    cluster: str | None = None
    queue: str | None = None
    group: str | None = None
    reservation: str | None = None
    qos: str | None = None
    constraint: str | None = None
    nodes: int | None = None
    processes: int | None = None
    processes_per_node: int | None = None
    threads: int | None = None
    walltime: int | None = None
    """Seconds."""
    launcher: str | None = None
    binding: str | None = None
    parameters: dict[str, str] = field(default_factory=dict)
    """Texts of `-p NAME=VALUE`, read by the parameter's declared type."""
    variables: dict[str, str] = field(default_factory=dict)
    """Environment variables of the job with their literal values: the axes `env.NAME` of a study."""
    in_place: bool | None = None
    requeue: bool | None = None
    no_project: bool = False
    """Whether a recipe ignores the project around the current folder."""


_NUMBERS = frozenset({"nodes", "processes", "processes_per_node", "threads"})
_FROM_ENVIRONMENT = (
    "cluster",
    "queue",
    "group",
    "reservation",
    "qos",
    "constraint",
    "processes_per_node",
    "threads",
    "walltime",
    "launcher",
    "binding",
)


def options_of_environment(environment: Mapping[str, str]) -> Options:
    """Return the options of the variables `HACKATHON_CLUSTER`, `HACKATHON_QUEUE`, `HACKATHON_WALLTIME`, …

    Raises RequestError naming the variable whose value cannot be read.
    """
    values: dict[str, Any] = {}
    for name in _FROM_ENVIRONMENT:
        variable = f"HACKATHON_{name.upper()}"
        text = environment.get(variable, "")
        if not text:
            continue
        try:
            values[name] = parse_walltime(text) if name == "walltime" else int(text) if name in _NUMBERS else text
        except ValueError as error:
            raise RequestError(
                "jobs.bad_variable",
                "environment variable {variable}={value} cannot be read",
                hint="unset it or give it a valid value",
                variable=variable,
                value=text,
            ) from error
    return Options(**values)


SCHEMA_VERSION = 1
"""Increased when a field changes its meaning, so that an older toolkit would misread it; not for new fields."""


def newer_version(value: object) -> int:
    """Return the version of a JSON record if it is newer than this toolkit supports, else 0."""
    version = value.get("schema_version") if isinstance(value, dict) else None
    return version if isinstance(version, int) and version > SCHEMA_VERSION else 0


@dataclass(frozen=True)
class Request:
    """All inputs of a job script. Two equal requests give the same bytes."""

    name: str
    """Recipe's or project's name."""
    recipe: str | None
    """Recipe's name, None for the user's own code."""
    framework: str | None
    cluster: str
    scheduler: str
    queue: str | None
    group: str | None
    reservation: str | None
    nodes: int
    processes: int
    processes_per_node: int
    threads: int
    """Threads per process, constant in a study."""
    gpus_per_node: int
    walltime: int
    """Seconds."""
    launcher: str
    starter: str
    mpi: str
    command: tuple[str, ...]
    """The training command of one rank, as words."""
    parameters: dict[str, Scalar] = field(default_factory=dict)
    environment: tuple[str, ...] = ()
    """Shell lines before the program."""
    dialect: dict[str, Any] = field(default_factory=dict)
    """Options of the cluster's scheduler (Dialect as a dict); older records have none."""
    variables: dict[str, str] = field(default_factory=dict)
    """Exported variables as double-quoted shell text."""
    python_environment: dict[str, str] | None = None
    """Path, variant, digest and date of the environment that `hackathon env create` built; None: the job finds one."""
    metric: str = "samples_per_s"
    metrics: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Metric records (config.recipe.Metric) as plain dicts."""
    data: tuple[dict[str, Any], ...] = ()
    """Data records (config.recipe.Data) as plain dicts: what `data` beside the runs must contain."""
    check: dict[str, Any] | None = None
    """Check record (config.recipe.Check) as a plain dict."""
    mode: str | None = None
    """`weak` or `strong` when the job is a point of a study."""
    scratch: str = "${TMPDIR:-/tmp}"
    stop_before: int = 60
    """Seconds before the walltime at which the stop file appears."""
    telemetry_seconds: int = 10
    signal: str = "none"
    mpi_options: tuple[str, ...] = ()
    binding: str | None = None
    """Which cores a rank may use: none, numa or cores; None leaves the choice to the launcher."""
    directives: tuple[str, ...] = ()
    source: str = ""
    """The folder of which the source snapshot is taken."""
    shared: dict[str, str] = field(default_factory=dict)
    """Path below `source` → path of the file that recipes share: a run gets a copy of it."""
    in_place: bool = False
    """Run the live folder `source` instead of a snapshot."""
    partition: str | None = None
    """The partition that the queue stands for; "" for none, None for the one of the queue's name."""
    qos: str | None = None
    constraint: str | None = None
    """Features that the nodes must have."""
    master_addr_suffix: str = ""
    """What follows a node's name in the address where the ranks meet."""
    memory: int | None = None
    """Requested bytes of main memory on each node; None: the site's default."""
    gpus_per_process: int = 1
    """GPUs of a rank; from 2 on a rank sees only its own."""
    exclude: tuple[str, ...] = ()
    """Paths or patterns in `source` that a run links and does not copy."""
    image: str | None = None
    """The container image of the program: a path from the root, or a name; None runs it on the node itself."""
    container: dict[str, Any] | None = None
    """How the cluster runs the image (config.cluster.Container as a plain dict, with the project's `binds`)."""
    requeue: bool | None = None
    """Whether the scheduler may start the job again after a preemption or a node failure; None: the site's default."""
    team: str | None = None
    plug_ins: dict[str, str] | None = None
    """`kind name` → package and version of the plug-ins of installed packages; None without any."""
    origins: dict[str, str] = field(default_factory=dict)
    """Field or `parameters.NAME` → origin of its value."""

    @property
    def gpus_wanted(self) -> int:
        """GPUs of each node that the ranks use."""
        return min(self.gpus_per_node, self.processes_per_node * self.gpus_per_process)

    @property
    def exported(self) -> dict[str, str]:
        """The variables, and PYTHONPATH if the program runs in place: then there are no copies of shared files."""
        if not self.in_place or not self.shared:
            return self.variables
        from hackathon.jobs.script import in_double_quotes

        folders = ":".join(dict.fromkeys(in_double_quotes(str(Path(path).parent)) for path in self.shared.values()))
        inherited = self.variables.get("PYTHONPATH")
        tail = f":{inherited}" if inherited else "${PYTHONPATH:+:$PYTHONPATH}"
        return {**self.variables, "PYTHONPATH": folders + tail}

    def to_json(self) -> dict[str, Any]:
        """Return the request as JSON values, with its schema version."""
        return {"schema_version": SCHEMA_VERSION, **{entry.name: getattr(self, entry.name) for entry in fields(self)}}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> "Request":
        """Return the request from its JSON without unknown fields.

        Raises RequestError for the JSON of a newer version, whose fields this toolkit could misread.
        """
        if version := newer_version(value):
            raise RequestError(
                "jobs.newer_request",
                "the record was made by a newer hackathon (version {version}); this one reads version {known}",
                hint="Update hackathon: `hackathon docs install` shows how.",
                version=version,
                known=SCHEMA_VERSION,
            )
        names = {entry.name for entry in fields(cls)}
        values = {key: entry for key, entry in value.items() if key in names}
        for key in ("command", "environment", "mpi_options", "directives", "data", "exclude"):
            values[key] = tuple(values.get(key, ()))
        return cls(**values)
