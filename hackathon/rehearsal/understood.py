"""Which ranks, metrics, step times, memory, batch and files a rehearsal's run shows, and why others are missing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

from hackathon.diagnosis.doubts import judge
from hackathon.diagnosis.facts import RunFacts
from hackathon.diagnosis.findings import Finding
from hackathon.diagnosis.silent import training
from hackathon.logs.final import RECORDED, final_numbers, metric_unit
from hackathon.logs.values import number
from hackathon.profiling.meters import shares_of_run
from hackathon.rehearsal.rehearsal import STEPS, ended_by_us
from hackathon.rehearsal.told import MetricPlace, counted, places, recorded_place
from hackathon.runs.directory import STEPS_FOLDER, RunDirectory
from hackathon.runs.outputs.record import lines, outputs_of
from hackathon.runs.states import SUCCEEDED, RunStatus
from hackathon.scaling.doubts import Doubt
from hackathon.text.errors import RequestError
from hackathon.text.json_fields import count_of

CUT_OFF = frozenset({"check-failed"})
"""Doubts that every run which was ended early raises."""
OBSERVED = ("by_meter", "by_recorder")
"""Sources of a batch that was counted while the program ran."""
FILES = 20
"""The number of written files and folders that are listed."""


@dataclass(frozen=True)
class ToldMetric:
    """A metric with the first line that contains it."""

    name: str
    value: float
    unit: str
    place: MetricPlace | None
    sure: str = ""
    """How certain the meaning of a customary word is: `sum`, `times` or `unsure`; else empty."""


@dataclass(frozen=True)
class Quantity:
    """A number with its unit, or the reason why it is unknown."""

    value: float | None
    about: str
    """The source of the value, or the reason why it is unknown: the end of a message's id."""


@dataclass(frozen=True)
class Understood:
    """The facts that one run of a rehearsal shows."""

    run: RunDirectory
    state: RunStatus
    processes: int
    ended: str
    """Why the rehearsal ended it: `steps`, `seconds`, `silent`, `walltime`; empty if it ended by itself."""
    ranks: int
    """Number of ranks that started."""
    hosts: tuple[str, ...]
    metric: str
    metrics: tuple[ToldMetric, ...]
    step: Quantity
    """Seconds per step."""
    batch: Quantity
    """Samples per step over all processes."""
    memory: Quantity
    """Peak use in MiB, of a GPU or else of the node."""
    doubts: tuple[Doubt, ...]
    written: tuple[tuple[str, int], ...]
    """(path below the run's directory, bytes) of files that the program wrote; a folder's path ends in `/`."""
    cause: Finding | None = None
    """Why it failed."""
    trouble: str = ""
    """Why its metrics cannot be read."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    unrecorded: str = ""
    """Why the recorder counted nothing, though the program printed numbers: `no-optimizer` or `few`; else empty."""

    @property
    def good(self) -> bool:
        """Whether it ran until it had shown enough."""
        return self.state.state == SUCCEEDED or (self.ended != "" and bool(self.metrics))

    @property
    def beside_program(self) -> tuple[tuple[str, int], ...]:
        """(path below the program's folder, bytes) of files that the program wrote there."""
        inside = [(path.removeprefix("source/"), size) for path, size in self.written if path.startswith("source/")]
        return tuple((path or "./", size) for path, size in inside)

    @property
    def throughput(self) -> ToldMetric | None:
        """The metric by which a study would measure it."""
        return next((metric for metric in self.metrics if metric.name == self.metric), None)


def understand(run: RunDirectory, state: RunStatus, cause: Finding | None = None) -> Understood:
    """Return the facts that an ended run shows; `cause` is its diagnosis."""
    record = run.known()
    facts = RunFacts(run.path, status=state, record=record)
    trouble = ""
    try:
        numbers = final_numbers(run.path, record, over=True)
    except RequestError as error:
        from hackathon.logs.final import Numbers

        numbers, trouble = Numbers(metric=record.metric), error.message
    sources = places(run, record.metrics)
    metrics = tuple(
        ToldMetric(
            name,
            value,
            metric_unit(record.metrics, name),
            recorded_place() if numbers.sure.get(name) == RECORDED else sources.get(name),
            numbers.sure.get(name, ""),
        )
        for name, value in numbers.values.items()
    )
    ended = ended_by_us(run, state)
    judged = judge(run.path, record, numbers)
    doubts = tuple(doubt for doubt in judged.doubts if state.state == SUCCEEDED or doubt.id not in CUT_OFF)
    observer = "by_meter" if facts.metrics else "by_recorder"
    batch = Quantity(judged.work, observer) if judged.work else _batch(record.parameters, record.processes)
    return Understood(
        run=run,
        state=state,
        processes=record.processes,
        ended=ended,
        ranks=len(facts.rank_events),
        hosts=tuple(sorted(set(facts.host_of.values()))),
        metric=numbers.metric,
        metrics=metrics,
        step=_step(facts, numbers.values, batch),
        batch=batch,
        memory=_memory(facts),
        doubts=doubts,
        written=written(run),
        cause=cause,
        trouble=trouble,
        parameters=record.parameters,
        unrecorded="" if facts.recordings or facts.metrics else _unrecorded(run, ended),
    )


def _unrecorded(run: RunDirectory, ended: str) -> str:
    """Return why nothing was recorded; a run that was ended early may not have written its first steps."""
    steps = count_of(run.files.json(f"{STEPS_FOLDER}/rank-0.json").get("steps"))
    return "few" if steps or (ended and counted(run) < STEPS) else "no-optimizer"


def _batch(parameters: Mapping[str, Any], processes: int) -> Quantity:
    """Return the batch that a declared parameter gives; its name does not show whether it counts one process or all."""
    for name, value in parameters.items():
        words = name.lower().replace("-", "_").split("_")
        if "batch" in words and (size := number(value)) is not None and size > 0:
            per_process = (
                {"per", "device"} <= set(words) or {"per", "process"} <= set(words) or {"per", "gpu"} <= set(words)
            )
            return Quantity(size * processes, "by_parameter") if per_process else Quantity(None, "batch_scope")
    return Quantity(None, "batch_unknown")


def _step(facts: RunFacts, values: Mapping[str, float], batch: Quantity) -> Quantity:
    split = training.split(facts, min(facts.metrics, default=0))
    if split.steps and split.seconds > 0:
        return Quantity(split.seconds / split.steps, "step_by_meter")
    if values.get("steps_per_s", 0) > 0:
        return Quantity(1 / values["steps_per_s"], "step_by_rate")
    if batch.value and values.get("samples_per_s", 0) > 0:
        return Quantity(batch.value / values["samples_per_s"], "step_by_batch")
    shares = shares_of_run(facts.path, facts.record.processes)
    if shares is not None:
        return Quantity(fmean(rank.seconds for rank in shares.ranks), "step_by_recorder")
    return Quantity(None, "step_unknown")


def _memory(facts: RunFacts) -> Quantity:
    gpus = [memory for host in facts.gpu_rows.values() for rows in host.values() for _, memory in rows]
    if gpus:
        return Quantity(max(gpus), "memory_of_gpu")
    nodes = [
        value
        for rows in facts.telemetry.values()
        for row in rows
        if row.get("kind") == "cpu" and (value := number(row.get("memory_mib"))) is not None
    ]
    return Quantity(max(nodes), "memory_of_node") if nodes else Quantity(None, "memory_unknown")


def written(run: RunDirectory) -> tuple[tuple[str, int], ...]:
    """Return the files that a run's program wrote in its folder, the largest first.

    A folder with many files is one entry.
    """
    listing = lines(outputs_of(run).files)
    return tuple((line.path or "./", line.size) for line in listing[:FILES])


def work_doubts(reports: Sequence[Understood]) -> list[tuple[Understood, Doubt]]:
    """Return the runs whose batch neither grows with their processes nor stays the same, each with its doubt.

    A batch that stays the same is strong scaling, and the results say so.
    """
    from hackathon.scaling.doubts import work_doubt

    measured = [report for report in reports if report.batch.value and report.batch.about in OBSERVED]
    doubts = []
    for report in measured[1:]:
        sizes = (report.processes, report.batch.value or 0.0, measured[0].processes, measured[0].batch.value or 0.0)
        doubt = work_doubt("weak", *sizes)
        if doubt is not None and work_doubt("strong", *sizes) is not None:
            doubts.append((report, doubt))
    return doubts
