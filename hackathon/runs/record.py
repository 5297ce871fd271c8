"""The record of a run: the decisions at its creation, read once from its files into typed fields.

`request.json`, `client/created.json` and `client/adopted.json` are written before the run directory gets its name and
never change. Later facts (job id, state, times, numbers) are not part of the record.
"""

import math
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hackathon.config.records import Scalar
from hackathon.jobs.measured import DEFAULT_METRIC, RUN, measured_by
from hackathon.jobs.request import newer_version
from hackathon.jobs.settings import settings_in
from hackathon.text.json_fields import count_of, listed, mapping_of, moment_of, text_of, texts_of
from hackathon.text.numbers import finite

REHEARSAL_TAG, SPEEDUP_TAG = "try", "speedup"
"""Tags of the runs of `hackathon try` and of `hackathon speedup`."""
NO_RESULTS = frozenset({REHEARSAL_TAG, SPEEDUP_TAG})
"""Tags of runs that were stopped early or contain many short starts: their numbers are not results."""
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
        """Return a check from its JSON object; None for other values and without a metric."""
        if not isinstance(value, Mapping) or not text_of(value.get("metric")):
            return None
        return cls(text_of(value["metric"]), finite(value.get("at_least")), finite(value.get("at_most")))

    def to_json(self) -> dict[str, Any]:
        """Return `{"metric", "at_least", "at_most"}`; an unset bound is None."""
        return {"metric": self.metric, "at_least": self.at_least, "at_most": self.at_most}

    def passes(self, value: float | None) -> bool | None:
        """Return whether a number passes; None without a number (neither passed nor failed). NaN never passes."""
        if value is None:
            return None
        over = self.at_least is None or value >= self.at_least
        under = self.at_most is None or value <= self.at_most
        return over and under and not math.isnan(value)


@dataclass(frozen=True, slots=True)
class StudyPoint:
    """The point of a study that a run was created for."""

    id: str
    """Id of the study."""
    processes: int = 0
    repeat: int = 0
    """From 1; 0 means unknown."""
    key: str = ""
    """Distinguishes the point if more than the process count varies."""
    settings: dict[str, Scalar] = field(default_factory=dict, hash=False)
    """What varies besides the process count."""


@dataclass(frozen=True, slots=True)
class Adopted:
    """A job that was submitted by hand, as it was when the toolkit adopted it."""

    job_id: str = ""
    directory: str = ""
    """The folder that the job ran in; empty when it is unknown."""
    t: float | None = None
    """When it began, if known, else when it was adopted; seconds since 1970."""
    job: Mapping[str, Any] = field(default_factory=dict)
    """The scheduler's report at that time (fields of `schedulers.base.JobState`)."""


@dataclass(frozen=True, slots=True)
class RunRecord:
    """A run as it was created. Missing and invalid fields have the value for "unknown": empty text, 0, None, {}."""

    id: str
    path: Path
    readable: bool = False
    """Whether `request.json` exists and holds an object; else nearly all fields are empty."""
    name: str = ""
    """Name of the recipe or the project."""
    newer: int = 0
    """The version of `request.json` if this toolkit is too old to read it, else 0; such a record is not readable."""
    recipe: str = ""
    """Empty for the user's own code."""
    framework: str = ""
    team: str = ""
    cluster: str = ""
    scheduler: str = ""
    dialect: Mapping[str, Any] = field(default_factory=dict)
    """How the scheduler was used at that time (read by schedulers.dialect.Dialect.of)."""
    queue: str = ""
    group: str = ""
    reservation: str = ""
    nodes: int = 0
    processes: int = 0
    processes_per_node: int = 0
    threads: int = 0
    """Threads per process."""
    gpus_per_node: int = 0
    gpus_per_process: int = 1
    """GPUs per rank."""
    walltime: int = 0
    """Requested seconds; 0 means unknown."""
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
    """Name → declared metric (fields of config.recipe.Metric), as in the current project (`jobs.measured`)."""
    metrics_from: str = RUN
    """`project` when project.yaml declares other metrics than the request, else `run`."""
    check: RecordedCheck | None = None
    data: tuple[Mapping[str, Any], ...] = ()
    """Data sets (fields of config.recipe.Data)."""
    python_environment: Mapping[str, Any] = field(default_factory=dict)
    """Details of an environment built by `hackathon env create`, else empty."""
    source: str = ""
    """The folder that the program was copied from, or ran in (`in_place`)."""
    in_place: bool = False
    note: str = ""
    tags: tuple[str, ...] = ()
    parent: str = ""
    """The id of the run that it follows or repeats."""
    study: StudyPoint | None = None
    chain: tuple[str, ...] = ()
    """The ids of all segments of its chain, if any."""
    toolkit_version: str = ""
    created: float = 0.0
    """Seconds since 1970; from the run id if the fact is missing, else 0."""
    user: str = ""
    """Account that created it."""
    host: str = ""
    """Machine on which it was created."""
    adopted: Adopted | None = None
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)
    """The content of `request.json`: to display it and to resolve it again, not for reading fields."""

    @property
    def gpus(self) -> int:
        """GPUs of all its nodes; 0 without GPUs."""
        return self.nodes * self.gpus_per_node

    @property
    def origins(self) -> dict[str, str]:
        """Field or `parameters.NAME` → origin of its value; computed on first use, because it is long."""
        return {name: text_of(origin) for name, origin in mapping_of(self.raw.get("origins")).items()}

    @property
    def inside_allocation(self) -> bool:
        """Whether it is part of a user's allocation: `Dialect.inside_allocation`."""
        if not self.dialect:
            return False
        from hackathon.schedulers import registry

        kind = registry.dialect_type(self.scheduler)
        return kind is not None and kind.of(self.dialect).inside_allocation

    @property
    def rehearsal(self) -> bool:
        """Whether it is a run of `hackathon try` or `hackathon speedup`: its numbers are not results."""
        return bool(NO_RESULTS & set(self.tags)) and self.study is None

    @property
    def probe(self) -> bool:
        """Whether it is the small job of `hackathon ready`: it checked a node and is not the team's work."""
        return PROBE_TAG in self.tags and self.command[1:] == (PROBE_PROGRAM,)


def read_record(run: Path, read: Callable[[str], object], *, in_project: bool = True) -> RunRecord:
    """Return the record of a run directory; missing, incomplete or invalid files leave gaps, never an error.

    `read` returns the JSON value of a file of the run by its name (`request.json`), None without one.
    `in_project=False`: the run is not in a project that could declare its metrics again.
    """
    request = read("request.json")
    newer = newer_version(request)
    values = {} if newer else mapping_of(request)
    created = mapping_of(read("client/created.json"))
    # a job submitted by hand has no launcher
    adopted = {} if values.get("launcher") else mapping_of(read("client/adopted.json"))
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
    """Return the folder above `runs/<id>` and `runs/.removed/<id>`; empty for a run elsewhere."""
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
    """Return when a run was created by its id (`YYYYMMDD-HHMMSS-…`, local time): seconds since 1970, None without."""
    try:
        return time.mktime(time.strptime(run_id[:15], "%Y%m%d-%H%M%S"))
    except (ValueError, OverflowError):
        return None
