"""A training program with its parameters and metrics: `recipes/<name>/recipe.yaml`."""

from dataclasses import dataclass, field
from typing import Literal

from hackathon.config.cluster import Launcher
from hackathon.config.fields import Natural, Scalar, Text


@dataclass(frozen=True)
class Parameter:
    """One named value of a training program, given to it as `--name value`."""

    default: Scalar | None = None
    """The value when nobody gives one; none means the option is left out."""
    type: Literal["int", "float", "str", "bool"] = "str"
    """How the value is read; left out: as the default. A true `bool` becomes the bare option, a false one nothing."""
    choices: list[Scalar] | None = None
    """The values it may have."""
    min: float | None = None
    """Least value."""
    max: float | None = None
    """Greatest value."""
    per: Literal["process"] | None = None
    """`process`: the value counts per process (a batch size)."""
    help: Text = ""
    """What it does, and when it pays."""


@dataclass(frozen=True)
class Metric:
    """A number found in a program's output."""

    pattern: str | None = None
    """A regular expression with one group around the number; none when the program uses the runtime's Meter."""
    unit: str = ""
    """E.g. samples/s."""
    reduce: Literal["median", "mean", "last", "first", "max", "min"] = "last"
    """How many values become one."""
    skip_first: Natural = 0
    """Values passed over at the start (warm-up)."""
    ranks: Literal["first", "sum", "mean"] = "first"
    """`first`: the lowest rank that printed it speaks for all; `sum`/`mean` over ranks otherwise."""


@dataclass(frozen=True)
class Data:
    """Something a program reads that is not in its source: fetched once, found by jobs below $HK_DATA."""

    name: str
    """Its name in the folder `data`: letters, digits, `.`, `-`, `_`."""
    url: str
    """https://…, http://… or file:///…"""
    sha256: str | None = None
    """The SHA-256 of what is fetched, 64 hexadecimal digits; without it a changed file is not noticed."""
    unpack: Literal["none", "tar", "zip"] = "none"
    """What the fetched file is: itself, or an archive that becomes a folder of this name."""
    stage: bool = False
    """Copy it to each node's own disk when a job begins."""


@dataclass(frozen=True)
class Check:
    """What a run must reach to count as correct."""

    metric: str
    """A metric's name."""
    at_least: float | None = None
    """Least final value."""
    at_most: float | None = None
    """Greatest final value."""


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
    """A file of the folder; beside `requirements.txt`, `requirements-cuda.txt` is taken for the variant `cuda`."""
    packages: list[str] = field(default_factory=list)
    """Packages, e.g. horovod==0.28.1; exclusive with `requirements`."""
    build_isolation: bool = True
    """`false`: what is built sees the packages of the steps before."""
    from_source: list[str] = field(default_factory=list)
    """Packages that are built here although there are wheels."""
    no_dependencies: bool = False
    """`true`: without what the packages ask for."""
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
    """Files of the folder `shared` beside the recipe's, else of the toolkit's `recipes/shared`: they are put beside the
    program, where the recipe's folder has no file of that name. `hackathon_runtime.py` always is."""
    title: Text = ""
    """One line for people."""
    launchers: list[Launcher] = field(default_factory=list)
    """Launchers it runs under, the preferred one first; empty means every one."""
    parameters: dict[str, Parameter] = field(default_factory=dict)
    """Its parameters."""
    metric: str = "samples_per_s"
    """The metric that scaling is measured with."""
    metrics: dict[str, Metric] = field(default_factory=dict)
    """Metrics found in its output; what the runtime's Meter writes needs no entry except for its unit."""
    check: Check | None = None
    """What a run must reach to count as correct."""
    data: list[Data] = field(default_factory=list)
    """What `hackathon data fetch` brings."""
    scaling: Scaling = field(default_factory=Scaling)
    """How parameters change in a study."""
    install: list[InstallStep] = field(default_factory=list)
    """How `hackathon env create` builds its environment; empty: from `requirements.txt`."""
    environment: list[str] = field(default_factory=list)
    """Shell lines before the program."""
    variables: dict[str, str] = field(default_factory=dict)
    """Exported variables (double-quoted shell text)."""
