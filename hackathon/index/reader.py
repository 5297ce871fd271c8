"""Make the index's record of one run from its directory and its state."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from hackathon.access.guarded_folder import GuardedFolder
from hackathon.diagnosis.doubts import judge
from hackathon.index.cause import cause_kept, with_cause
from hackathon.index.numbers import HostLoad, numbers, usage
from hackathon.index.projects import ProjectFolder
from hackathon.index.record import RunEntry
from hackathon.logs.meter_files import MeterFiles
from hackathon.logs.metrics import rank_files
from hackathon.profiling.meters import shares_of_run
from hackathon.runs.directory import REMOVED
from hackathon.runs.events import job_events
from hackathon.runs.lives import RunUse
from hackathon.runs.states import CREATED, ENDED, LOST, OPEN, RUNNING, STATES, SUCCEEDED
from hackathon.scaling.doubts import RunJudgement
from hackathon.text.json_fields import count_of, moment_of, text_of
from hackathon.text.numbers import finite
from hackathon.text.told import Told

if TYPE_CHECKING:
    from hackathon.runs.directory import RunDirectory
    from hackathon.runs.states import RunStatus

LONGEST = 2000
"""Characters of a note, a name or a warning that are stored."""
WARNINGS = 8
"""Warnings of a run that are stored."""
NUMBERS = 64
"""Final numbers of a run that are stored."""
FILES = 512
"""Logs and metrics of a run whose modification time is checked."""


@dataclass(frozen=True)
class Files:
    """The files in one of a run's folders."""

    names: tuple[str, ...] = ()
    size: int = 0
    """Bytes of all files."""
    newest: float | None = None
    """The latest modification time, by the file server's clock."""


def summarise(project: ProjectFolder, run: "RunDirectory", status: "RunStatus", use: RunUse | None = None) -> RunEntry:
    """Return the record of a run, with the cause of its failure if its own folder contains one; `use`: its use.

    Files that are missing, half-written or malformed leave gaps and raise no error.
    """
    record, events = run.known(), _events(run)
    metrics, logs = folder_of(run.files, "metrics"), folder_of(run.files, "logs")
    state = status.state if status.state in STATES else LOST
    ended, over = state in ENDED, state not in (*OPEN, CREATED)
    meters = MeterFiles(rank_files(run.path / "metrics", ".jsonl"))
    measured = numbers(run.path, record, metrics.names, meters, over=over)
    result, step = measured.numbers, measured.numbers.values.get("step")
    judged = judge(run.path, record, result, meters) if state == SUCCEEDED else RunJudgement()
    began = state != CREATED and (status.t_started is not None or events.started is not None)
    used = usage(run.path) if began else HostLoad()
    newest = max((moment for moment in (metrics.newest, logs.newest) if moment is not None), default=None)
    summary = RunEntry(
        id=run.id,
        project=str(project.path),
        team=project.team or record.team,
        name=record.name,
        study=record.study.id if record.study else "",
        settings=dict(record.study.settings) if record.study else {},
        user=record.user,
        cluster=record.cluster,
        queue=record.queue,
        job_id=text_of(status.job_id or (run.job_id() if state != CREATED else None)),
        note=text_of(record.note),
        tags=record.tags[:50],
        parent=record.parent,
        processes=record.processes,
        nodes=record.nodes,
        gpus=record.gpus,
        walltime=record.walltime,
        state=state,
        cause=text_of(status.cause),
        reasons=tuple(reason if isinstance(reason, Told) else text_of(reason)[:LONGEST] for reason in status.reasons),
        sealed=status.sealed,
        stale_seconds=status.stale_seconds,
        created=record.created or moment_of(status.t_created),
        submitted=moment_of(status.t_submitted),
        started=moment_of(status.t_started) or (events.started if began else None),
        ended=moment_of(status.t_ended) or (events.ended if ended else None),
        attempt=count_of(status.attempt) or 1,
        removed=run.path.parent.name == REMOVED,
        use=use,
        metric=result.metric,
        value=result.value,
        unit=result.unit,
        loss=finite(result.values.get("loss")),
        step=int(step) if step is not None and math.isfinite(step) else None,
        interval=measured.interval,
        numbers=_kept(result.values) if over else (),
        whole=result.whole or not over,
        doubts=judged.doubts,
        work=judged.work,
        recorded=_kept(result.recorded) if over else (),
        origins=tuple(result.origins.items()) if over else (),
        shares=shares_of_run(run.path, record.processes, meters) if state == SUCCEEDED else None,
        progress=newest if began or state == RUNNING else None,
        check_passed=record.check.passes(result.values.get(record.check.metric)) if over and record.check else None,
        gpu_percent=used.gpu_percent,
        memory_percent=used.memory_percent,
        cpu_percent=used.cpu_percent,
        rank=status.first_rank if isinstance(status.first_rank, int) else None,
        host=text_of(status.first_host),
        warned=(*events.warned, *([measured.problem] if measured.problem else [])),
    )
    return with_cause(summary, cause_kept(run) if ended else None)


def _kept(values: Mapping[str, float]) -> tuple[tuple[str, float], ...]:
    """Return the first NUMBERS of a run's numbers."""
    return tuple(
        # all NaN are one object, so that equal summaries are equal
        (text_of(name), math.nan if math.isnan(value) else value)
        for name, value in islice(values.items(), NUMBERS)
    )


def folder_of(run: GuardedFolder, name: str) -> Files:
    """Return the regular files in a folder of a run; links are left out."""
    states = run.states(name, FILES)
    size = sum(state.st_size for state in states.values() if state)
    newest = max((state.st_mtime for state in states.values() if state), default=None)
    return Files(tuple(states), size, newest)


@dataclass(frozen=True)
class _JobEvents:
    """The facts in the job's events."""

    started: float | None = None
    ended: float | None = None
    warned: tuple[str, ...] = ()


def _events(run: "RunDirectory") -> _JobEvents:
    """Return the times of the newest attempt and the warnings of all attempts."""
    started = ended = None
    texts: dict[str, None] = {}
    for event in job_events(run.path):
        kind = event.get("event")
        if kind == "started":
            started, ended = moment_of(event.get("t")), None
        elif kind == "ended":
            ended = moment_of(event.get("t"))
        elif kind == "warned" and len(texts) < WARNINGS:
            texts[text_of(event.get("text") or event.get("about"))] = None
    return _JobEvents(started, ended, tuple(text for text in texts if text))
