"""A training program with its parameters and metrics: `recipes/<name>/recipe.yaml`."""

from dataclasses import field
from typing import Literal

from hackathon.config.cluster import Launcher
from hackathon.config.records import Natural, Scalar, Text
from hackathon.text.light_dataclass import dataclass


@dataclass(frozen=True)
class Parameter:
    """One named value of a training program, passed to it as `--name value`."""

    default: Scalar | None = None
    """The default value; without one the option is omitted."""
    type: Literal["int", "float", "str", "bool"] = "str"
    """The value's type; default: that of `default`. A true `bool` becomes the bare option, a false one nothing."""
    choices: list[Scalar] | None = None
    """The allowed values."""
    min: float | None = None
    """Minimum."""
    max: float | None = None
    """Maximum."""
    per: Literal["process"] | None = None
    """`process`: the value counts per process (a batch size)."""
    help: Text = ""
    """Its effect, and when to use it."""


@dataclass(frozen=True)
class Metric:
    """A number in a program's output."""

    pattern: str | None = None
    """A regular expression with one group around the number; none when the program uses the runtime's Meter."""
    unit: str = ""
    """E.g. samples/s."""
    reduce: Literal["median", "mean", "last", "first", "max", "min"] = "last"
    """How several values become one."""
    skip_first: Natural = 0
    """Values to skip at the start (warm-up)."""
    ranks: Literal["first", "sum", "mean"] = "first"
    """`first`: the value of the lowest rank that printed one; `sum`, `mean`: over ranks."""


@dataclass(frozen=True)
class Data:
    """Data that a program reads and that is not in its source: fetched once; jobs find it below $HK_DATA."""

    name: str
    """Its name in the folder `data`: letters, digits, `.`, `-`, `_`."""
    url: str
    """https://…, http://… or file:///…"""
    sha256: str | None = None
    """SHA-256 of the fetched file, 64 hexadecimal digits; without it a changed file is not noticed."""
    unpack: Literal["none", "tar", "zip"] = "none"
    """Type of the fetched file: none, or an archive that becomes a folder with this name."""
    stage: bool = False
    """Copy it to each node's own disk when a job begins."""


@dataclass(frozen=True)
class Check:
    """The condition for a correct run."""

    metric: str
    """A metric's name."""
    at_least: float | None = None
    """Minimum of the final value."""
    at_most: float | None = None
    """Maximum of the final value."""


@dataclass(frozen=True)
class WeakScaling:
    """Fixed batch per process."""

    scale_learning_rate: str | None = None
    """The parameter that is multiplied by the number of processes."""


@dataclass(frozen=True)
class StrongScaling:
    """Fixed global batch."""

    divide: str | None = None
    """The parameter that is divided by the number of processes."""
    by_program: bool = False
    """The program divides its batch by the number of processes itself: no parameter changes."""


@dataclass(frozen=True)
class Scaling:
    """How parameters change with the number of processes in a study."""

    weak: WeakScaling = field(default_factory=WeakScaling)
    """Weak scaling: fixed batch per process."""
    strong: StrongScaling = field(default_factory=StrongScaling)
    """Strong scaling: fixed global batch."""


@dataclass(frozen=True)
class InstallStep:
    """One call of the installer when the recipe's environment is built: a requirements file, or packages."""

    requirements: str | None = None
    """A file of the folder; next to `requirements.txt`, `requirements-cuda.txt` is used for the variant `cuda`."""
    packages: list[str] = field(default_factory=list)
    """Packages, e.g. horovod==0.28.1; exclusive with `requirements`."""
    build_isolation: bool = True
    """`false`: the build sees the packages of the earlier steps."""
    from_source: list[str] = field(default_factory=list)
    """Packages that are built on this machine although there are wheels."""
    no_dependencies: bool = False
    """`true`: without the packages' dependencies."""
    variables: dict[str, str] = field(default_factory=dict)
    """Variables of the installer; `{recipe}` is the recipe's folder and `{env}` the environment's."""


@dataclass(frozen=True)
class Recipe:
    """A folder with a training program, its parameters and its metrics, runnable on any cluster."""

    name: str
    """The recipe's name; the same as the folder's."""
    framework: str
    """torch, tensorflow, horovod, chainer, …"""
    entry: str
    """The program, relative to the folder."""
    shared: list[str] = field(default_factory=list)
    """Shared files that are put beside the program, unless the recipe's folder has a file with that name.

    They come from the folder `shared` beside the recipe's, else from the toolkit's `recipes/shared`.
    `hackathon_runtime.py` is always included.
    """
    title: Text = ""
    """A one-line description."""
    launchers: list[Launcher] = field(default_factory=list)
    """Supported launchers, the preferred one first; empty means all."""
    parameters: dict[str, Parameter] = field(default_factory=dict)
    """Its parameters."""
    metric: str = "samples_per_s"
    """The metric for scaling."""
    metrics: dict[str, Metric] = field(default_factory=dict)
    """Metrics in its output; those that the runtime's Meter writes need no entry except for their unit."""
    check: Check | None = None
    """The condition for a correct run."""
    data: list[Data] = field(default_factory=list)
    """Data for `hackathon data fetch`."""
    scaling: Scaling = field(default_factory=Scaling)
    """How parameters change in a study."""
    install: list[InstallStep] = field(default_factory=list)
    """How `hackathon env create` builds its environment; empty: from `requirements.txt`."""
    environment: list[str] = field(default_factory=list)
    """Shell lines before the program."""
    variables: dict[str, str] = field(default_factory=dict)
    """Exported variables (double-quoted shell text)."""
