"""Schedulers by name (built-ins, imported on first use, and plug-ins), and clusters with the dialect of theirs."""

import functools
import importlib
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hackathon.config import load as files
from hackathon.config.cluster import Cluster
from hackathon.schedulers.dialect import Dialect, JobAllocation
from hackathon.text.errors import RequestError
from hackathon.text.paths import shipped

if TYPE_CHECKING:
    from hackathon.config.plug_ins import PlugIn
    from hackathon.config.problems import Problem
    from hackathon.schedulers.base import Scheduler
    from hackathon.schedulers.scripts import ScriptLanguage

BUILT_IN = {
    "gridengine": (
        "hackathon.schedulers.gridengine.commands:GridEngine",
        "hackathon.schedulers.gridengine.dialect:GridEngineDialect",
    ),
    "kubernetes": (
        "hackathon.schedulers.kubernetes.commands:Kubernetes",
        "hackathon.schedulers.kubernetes.dialect:KubernetesDialect",
    ),
    "local": ("hackathon.schedulers.local.commands:Local", "hackathon.schedulers.local.dialect:LocalDialect"),
    "nqsv": ("hackathon.schedulers.nqsv.commands:Nqsv", "hackathon.schedulers.nqsv.dialect:NqsvDialect"),
    "pbs": ("hackathon.schedulers.pbs.commands:Pbs", "hackathon.schedulers.pbs.dialect:PbsDialect"),
    "pjm": ("hackathon.schedulers.pjm.commands:Pjm", "hackathon.schedulers.pjm.dialect:PjmDialect"),
    "slurm": ("hackathon.schedulers.slurm.commands:Slurm", "hackathon.schedulers.slurm.dialect:SlurmDialect"),
}
"""Name → `module:class` of the scheduler and of its dialect, which is imported alone where no command is run. A plug-in
of the same name does not replace a built-in."""
SITES = {
    ("pbs", "history", "H"): "hackathon.schedulers.pbs.miyabi:Miyabi",
    ("pjm", "table", "site"): "hackathon.schedulers.pjm.wisteria:Wisteria",
}
"""(Scheduler, key of its dialect, value) → `module:class` of the commands of a site that has its own."""
SCRIPTS = {
    "slurm": "hackathon.schedulers.slurm.script:LANGUAGE",
    "pbs": "hackathon.schedulers.pbs.script:LANGUAGE",
    "gridengine": "hackathon.schedulers.gridengine.script:LANGUAGE",
    "pjm": "hackathon.schedulers.pjm.script:LANGUAGE",
    "nqsv": "hackathon.schedulers.nqsv.script:LANGUAGE",
}
"""Name → `module:name` of the reader and writer of job scripts."""
UNREAD = {
    "#BSUB": "LSF", "#FLUX:": "Flux", "#COBALT": "Cobalt", "#MSUB": "Moab", "#OAR": "OAR", "#@": "LoadLeveler",
    "#CCS": "OpenCCS", "#YBATCH": "ybatch",
}  # fmt: skip
"""Prefix of directives, in capitals and without blanks → the scheduler whose job scripts are not read."""
MARKS = {
    "slurm": ("sbatch",), "gridengine": ("qconf",), "pjm": ("pjsub",), "nqsv": ("/opt/nec/nqsv/bin",),
    "pbs": ("qsub", "/etc/pbs.conf"),
}  # fmt: skip
"""Name → commands and files by which a machine is recognised; the first match counts.

(Slurm has a `qsub` of its own, and NQSV's has that name.)
"""


def load(name: str, dialect: Mapping[str, Any] | None = None) -> "Scheduler":
    """Return the scheduler of that name, with the dialect of a profile or a run's record.

    Raises RequestError for an unknown name or a plug-in that does not load.
    """
    values = dialect or {}
    if name in BUILT_IN:
        sites = [target for (owner, key, value), target in SITES.items() if owner == name and values.get(key) == value]
        return _with_dialect(_class(sites[0] if sites else BUILT_IN[name][0])(), values)
    from hackathon.config import plug_ins

    plug_in = _plug_in(name)
    kind = plug_ins.load(plug_in)
    try:
        return _with_dialect(_checked(name, kind, plug_in.target)(), values)
    except Exception as error:  # a plug-in is foreign code and can raise anything; none of it may end the toolkit
        raise plug_ins.broken(plug_in, error) from error


def load_dialect(name: str, values: Mapping[str, Any] | None = None) -> Dialect:
    """Return a scheduler's dialect with these values, without loading its commands. Raises like `load`."""
    kind = _dialect_type(name, tuple(sys.path))
    return load(name).dialect if kind is None else kind.of(values or {})


def dialect_type(name: str) -> type[Dialect] | None:
    """Return the class of a scheduler's dialect; None when it is unavailable or does not load.

    Cached for this process, because records of many runs ask repeatedly.
    """
    return _dialect_type(name, tuple(sys.path))


@functools.cache
def _dialect_type(name: str, folders: tuple[str, ...]) -> type[Dialect] | None:
    if name in BUILT_IN:
        kind: type[Dialect] = _class(BUILT_IN[name][1])
        return kind
    try:
        return type(load(name).dialect)
    except RequestError:
        return None


def load_cluster(name: str, folders: Sequence[Path] = ()) -> Cluster:
    """Return the checked profile of a cluster; its `dialect` contains every key of its scheduler's dialect.

    `folders` are searched before the user's and the shipped profiles. Raises ConfigError with all problems of the file,
    RequestError for an unknown name. The dialect of an unavailable scheduler is not checked.
    """
    return files.load_cluster(name, folders, dialect_type)


def load_cluster_file(path: Path) -> Cluster:
    """Return the profile in a file that `config.load.find_cluster` gave, checked as `load_cluster` does."""
    return files.load_cluster_file(path, dialect_type)


def list_clusters(folders: Sequence[Path] = ()) -> "tuple[list[Cluster], list[Problem]]":
    """Return the clusters by name, and the problems of unreadable profiles."""
    return files.list_clusters(folders, dialect_type)


def dialect_of(cluster: Cluster) -> Dialect:
    """Return a cluster's dialect. Raises RequestError when its scheduler is unavailable."""
    return load_dialect(cluster.scheduler, cluster.dialect)


def known_dialect(cluster: Cluster) -> Dialect:
    """Return a cluster's dialect, or one without keys and hooks when its scheduler is unavailable (old runs remain)."""
    kind = dialect_type(cluster.scheduler) or Dialect
    return kind.of(cluster.dialect)


def scheduler_of(cluster: Cluster) -> "Scheduler":
    """Return a cluster's scheduler with its dialect. Raises RequestError when it is unavailable."""
    return load(cluster.scheduler, cluster.dialect)


def allocation(environment: Mapping[str, str]) -> JobAllocation | None:
    """Return the job of a process with this environment, if it can start steps of it; None outside of one.

    Raises ValueError with the job's id when its variables do not describe its resources.
    """
    kinds = (dialect_type(name) for name in BUILT_IN)
    return next((job for kind in kinds if kind is not None and (job := kind.allocation_of(environment))), None)


def script_language(name: str) -> "ScriptLanguage | None":
    """Return how a scheduler's job scripts are read and written; None when that is unavailable."""
    if name in SCRIPTS:
        language: ScriptLanguage = _class(SCRIPTS[name])
        return language
    try:
        return load(name).script_language()
    except RequestError:
        return None


def script_languages() -> "list[ScriptLanguage]":
    """Return the script languages that come with the toolkit."""
    return [language for name in SCRIPTS if (language := script_language(name)) is not None]


def dialect_types() -> dict[str, type[Dialect]]:
    """Return name → dialect class of every scheduler that can be loaded."""
    return {name: kind for name in names() if (kind := dialect_type(name)) is not None}


def names() -> list[str]:
    """Return the names of all schedulers with plug-ins, including those that do not load (see `problems`)."""
    from hackathon.config import plug_ins

    return sorted({*BUILT_IN, *(plug_in.name for plug_in in plug_ins.of_kind("schedulers"))})


def here() -> list[str]:
    """Return the built-in schedulers whose commands this machine has, the likeliest first."""
    import shutil

    def there(mark: str) -> bool:
        return os.path.exists(mark) if mark.startswith("/") else shutil.which(mark) is not None  # noqa: PTH110

    return [name for name, marks in MARKS.items() if any(map(there, marks))]


def likely_cluster(schedulers: list[str] | None = None) -> str | None:
    """Return the profile to use when the user names none: a machine without a scheduler is a laptop.

    `schedulers`: those of this machine, the likeliest first; default: `here()`. A scheduler whose sites are alike has
    a shipped profile of its own name. None if they differ too much to guess.
    """
    recognised = here() if schedulers is None else schedulers
    if not recognised:
        return "laptop"
    dialect = dialect_type(recognised[0])
    if dialect is None or not dialect.sites_are_alike:
        return None
    return recognised[0] if shipped("templates", "clusters", f"{recognised[0]}.yaml").is_file() else None


def problems() -> dict[str, str]:
    """Return name → reason of every scheduler that cannot be loaded."""
    reasons = {}
    for name in names():
        try:
            load(name)
        except RequestError as error:
            reasons[name] = str(error.values["reason"])
    return reasons


def _checked(name: str, kind: Any, target: str) -> "type[Scheduler]":
    """Return the class of a plug-in's scheduler. Raises TypeError for anything else."""
    from hackathon.schedulers.base import Scheduler

    if not (isinstance(kind, type) and issubclass(kind, Scheduler)):
        raise TypeError(f"{target} is not a subclass of {Scheduler.__module__}.Scheduler")
    if kind.name != name:
        raise TypeError(f"{target} has the name {kind.name!r}")
    return kind


def _with_dialect(scheduler: "Scheduler", values: Mapping[str, Any]) -> "Scheduler":
    return replace(scheduler, dialect=type(scheduler.dialect).of(values)) if values else scheduler


def _class(target: str) -> Any:
    module, _, attribute = target.partition(":")
    return getattr(importlib.import_module(module), attribute)


def _plug_in(name: str) -> "PlugIn":
    from hackathon.config import plug_ins

    plug_in = plug_ins.find("schedulers", name)
    if plug_in is not None:
        return plug_in
    near = _near(name, names())
    if near:
        raise RequestError(
            "schedulers.unknown_near",
            "Scheduler {name!r} does not exist. Did you mean {near}? Known: {known}.",
            name=name,
            near=", ".join(near),
            known=", ".join(names()),
        )
    raise RequestError(
        "schedulers.unknown", "Scheduler {name!r} does not exist. Known: {known}.", name=name, known=", ".join(names())
    )


def _near(name: str, candidates: list[str]) -> list[str]:
    import difflib

    return difflib.get_close_matches(name, candidates, 3)
