"""The record of a run: what was decided when it was made, read once from its files into typed fields.

`request.json`, `client/created.json` and `client/adopted.json` are written before the run directory has its name and
never change. What happens later (job id, state, times, numbers) is not part of the record.
"""

import math
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hackathon.config.fields import Scalar
from hackathon.jobs.measured import DEFAULT_METRIC, RUN, measured_by
from hackathon.jobs.request import newer_version
from hackathon.jobs.settings import settings_in
from hackathon.text.json_fields import count_of, listed, mapping_of, moment_of, text_of, texts_of
from hackathon.text.numbers import finite

REHEARSAL_TAG, SPEEDUP_TAG = "try", "speedup"
"""Tags of the runs of `hackathon try` and of `hackathon speedup`."""
NO_RESULTS = frozenset({REHEARSAL_TAG, SPEEDUP_TAG})
"""Tags of runs that were ended before their end, or that hold many short starts: their numbers are no results."""
PROBE_TAG, PROBE_PROGRAM = "ready", "hackathon_ready.py"
"""Tag and program of the small job of `hackathon ready`."""
MOST_TAGS = 1000


@dataclass(frozen=True, slots=True)
class RecordedCheck:
    """The correctness check of a run: bounds for one of its final numbers."""

    metric: str
    at_least: float | None = None
    at_most: float | None = None

    @classmethod
    def from_json(cls, value: object) -> "RecordedCheck | None":
        """Return a check from its JSON object; None for anything else and for one that names no metric."""
        if not isinstance(value, Mapping) or not text_of(value.get("metric")):
            return None
        return cls(text_of(value["metric"]), finite(value.get("at_least")), finite(value.get("at_most")))

    def to_json(self) -> dict[str, Any]:
        """Return `{"metric", "at_least", "at_most"}`; a bound that is not set is None."""
        return {"metric": self.metric, "at_least": self.at_least, "at_most": self.at_most}

    def passes(self, value: float | None) -> bool | None:
        """Return whether a number passes; None without a number, which is no pass and no failure. NaN never passes."""
        if value is None:
            return None
        over = self.at_least is None or value >= self.at_least
        under = self.at_most is None or value <= self.at_most
        return over and under and not math.isnan(value)


@dataclass(frozen=True, slots=True)
class StudyPoint:
    """The point of a study that a run was made for."""

    id: str
    """Of the study."""
    processes: int = 0
    repeat: int = 0
    """From 1; 0 is not known."""
    key: str = ""
    """What tells it from the other points where more than the process count varies."""
    settings: dict[str, Scalar] = field(default_factory=dict, hash=False)
    """What varies beside the process count."""


@dataclass(frozen=True, slots=True)
class Adopted:
    """A job that was submitted by hand, as it was when the toolkit took it over."""

    job_id: str = ""
    directory: str = ""
    """The folder that the job ran in; empty when it is not known."""
    t: float | None = None
    """When it began as far as that was known, else when it was taken over; seconds since 1970."""
    job: Mapping[str, Any] = field(default_factory=dict)
    """What the scheduler said of it then (fields of `schedulers.base.JobState`)."""


@dataclass(frozen=True, slots=True)
class RunRecord:
    """One run as it was made. Missing and odd fields have the value that says "not known": empty text, 0, None, {}."""

    id: str
    path: Path
    readable: bool = False
    """Whether `request.json` is there and holds an object; else nearly all fields are empty."""
    name: str = ""
    """Of the recipe or the project."""
    newer: int = 0
    """The version of its `request.json` if this toolkit is too old to read it, else 0; it is not readable then."""
    recipe: str = ""
    """Empty for own code."""
    framework: str = ""
    team: str = ""
    cluster: str = ""
    scheduler: str = ""
    dialect: Mapping[str, Any] = field(default_factory=dict)
    """How the scheduler wanted to be asked on that day (schedulers.dialect.Dialect.of reads it)."""
    queue: str = ""
    group: str = ""
    reservation: str = ""
    nodes: int = 0
    processes: int = 0
    processes_per_node: int = 0
    threads: int = 0
    """Of a process."""
    gpus_per_node: int = 0
    gpus_per_process: int = 1
    """GPUs of a rank."""
    walltime: int = 0
    """Seconds asked for; 0 is not known."""
    launcher: str = ""
    """Empty for an adopted job."""
    starter: str = ""
    mpi: str = ""
    mode: str = ""
    """`weak` or `strong` for a point of a study, else empty."""
    command: tuple[str, ...] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict)
    metric: str = DEFAULT_METRIC
    metrics: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Name → declared metric (fields of config.recipe.Metric), as the project has it now (`jobs.measured`)."""
    metrics_from: str = RUN
    """`project` where project.yaml names others than the request, else `run`."""
    check: RecordedCheck | None = None
    data: tuple[Mapping[str, Any], ...] = ()
    """Data sets (fields of config.recipe.Data)."""
    python_environment: Mapping[str, Any] = field(default_factory=dict)
    """Of an environment that `hackathon env create` built, else empty."""
    source: str = ""
    """The folder that the program was copied from, or ran in (`in_place`)."""
    in_place: bool = False
    note: str = ""
    tags: tuple[str, ...] = ()
    parent: str = ""
    """The id of the run that it follows or repeats."""
    study: StudyPoint | None = None
    chain: tuple[str, ...] = ()
    """The ids of all segments when the run is one of a chain."""
    toolkit_version: str = ""
    created: float = 0.0
    """Seconds since 1970; from the run id where the fact is missing, else 0."""
    user: str = ""
    """Account that made it."""
    host: str = ""
    """Machine that it was made on."""
    adopted: Adopted | None = None
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)
    """`request.json` as it lies there: for showing it whole and for resolving it again, not for reading fields."""

    @property
    def gpus(self) -> int:
        """GPUs of all its nodes; 0 on machines without."""
        return self.nodes * self.gpus_per_node

    @property
    def origins(self) -> dict[str, str]:
        """Field or `parameters.NAME` → where its value came from; made when asked for, for it is long."""
        return {name: text_of(origin) for name, origin in mapping_of(self.raw.get("origins")).items()}

    @property
    def inside_allocation(self) -> bool:
        """Whether it is a part of an allocation that somebody holds: `Dialect.inside_allocation`."""
        if not self.dialect:
            return False
        from hackathon.schedulers import registry

        kind = registry.dialect_type(self.scheduler)
        return kind is not None and kind.of(self.dialect).inside_allocation

    @property
    def rehearsal(self) -> bool:
        """Whether it is a run of `hackathon try` or `hackathon speedup`: its numbers are no result."""
        return bool(NO_RESULTS & set(self.tags)) and self.study is None

    @property
    def probe(self) -> bool:
        """Whether it is the small job of `hackathon ready`: it looked at a node, and is no work of the team."""
        return PROBE_TAG in self.tags and self.command[1:] == (PROBE_PROGRAM,)


def read_record(run: Path, read: Callable[[str], object], *, in_project: bool = True) -> RunRecord:
    """Return the record of a run directory; files that are missing, torn or odd leave gaps, never an error.

    `read` returns the JSON value of a file of the run by its name (`request.json`), None when there is none.
    `in_project` False: the run lies in no project that could name its metrics anew.
    """
    request = read("request.json")
    newer = newer_version(request)
    values = {} if newer else mapping_of(request)
    created = mapping_of(read("client/created.json"))
    adopted = {} if values.get("launcher") else mapping_of(read("client/adopted.json"))  # such a job has no launcher
    project = _project_of(str(run)) if in_project else ""
    measured = measured_by(project, str(run), values)
    return RunRecord(
        id=run.name,
        path=run,
        readable=isinstance(request, dict) and not newer,
        newer=newer,
        name=text_of(values.get("name")),
        recipe=text_of(values.get("recipe")),
        framework=text_of(values.get("framework")),
        team=text_of(values.get("team")),
        cluster=text_of(values.get("cluster")),
        scheduler=text_of(values.get("scheduler")),
        queue=text_of(values.get("queue")),
        group=text_of(values.get("group")),
        reservation=text_of(values.get("reservation")),
        nodes=count_of(values.get("nodes")),
        processes=count_of(values.get("processes")),
        processes_per_node=count_of(values.get("processes_per_node")),
        threads=count_of(values.get("threads")),
        gpus_per_node=count_of(values.get("gpus_per_node")),
        gpus_per_process=count_of(values.get("gpus_per_process")) or 1,
        walltime=count_of(values.get("walltime")),
        launcher=text_of(values.get("launcher")),
        starter=text_of(values.get("starter")),
        mpi=text_of(values.get("mpi")),
        dialect=mapping_of(values.get("dialect")),
        mode=mode if (mode := values.get("mode")) in ("weak", "strong") else "",
        command=texts_of(values.get("command")),
        parameters=mapping_of(values.get("parameters")),
        metric=measured.metric,
        metrics=measured.metrics,
        metrics_from=measured.origin,
        check=RecordedCheck.from_json(values.get("check")),
        data=tuple(entry for entry in listed(values.get("data")) if isinstance(entry, dict)),
        python_environment=mapping_of(values.get("python_environment")),
        source=source if isinstance(source := values.get("source"), str) else "",
        in_place=bool(values.get("in_place")),
        note=note if isinstance(note := values.get("note"), str) else "",
        tags=tuple(text_of(tag) for tag in listed(values.get("tags"))[:MOST_TAGS]),
        parent=text_of(values.get("parent")),
        study=_point(values.get("study")),
        chain=texts_of(values.get("chain")),
        toolkit_version=text_of(created.get("toolkit_version")) or text_of(values.get("toolkit_version")),
        created=moment_of(created.get("t")) or moment_of(stamp(run.name)) or 0.0,
        user=text_of(created.get("user")),
        host=text_of(created.get("host")),
        adopted=_adopted(adopted),
        raw=values,
    )


def _project_of(run: str) -> str:
    """Return the folder above `runs/<id>` and `runs/.removed/<id>`; empty for a run that lies elsewhere."""
    above = os.path.dirname(run).removesuffix("/.removed")  # noqa: PTH120 — plain strings: it is done for every run
    return os.path.dirname(above) if above.endswith("/runs") else ""  # noqa: PTH120


def _point(value: object) -> StudyPoint | None:
    point = mapping_of(value)
    identifier = text_of(point.get("id"))
    if not identifier:
        return None
    processes, repeat = count_of(point.get("processes")), count_of(point.get("repeat"))
    return StudyPoint(identifier, processes, repeat, text_of(point.get("key")), settings_in(point))


def _adopted(fact: Mapping[str, Any]) -> Adopted | None:
    if not fact:
        return None
    folder = fact.get("directory")
    return Adopted(
        text_of(fact.get("job_id")),
        folder if isinstance(folder, str) else "",
        moment_of(fact.get("t")),
        mapping_of(fact.get("job")),
    )


def stamp(run_id: str) -> float | None:
    """Return when a run was made by its id (`YYYYMMDD-HHMMSS-…`, local time): seconds since 1970, None without."""
    try:
        return time.mktime(time.strptime(run_id[:15], "%Y%m%d-%H%M%S"))
    except (ValueError, OverflowError):
        return None
