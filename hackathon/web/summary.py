"""Make the index's record of one run from its directory and its state."""

import os
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hackathon.runs.events import job_events
from hackathon.runs.markers import number
from hackathon.runs.states import CREATED, ENDED, LOST, RUNNING, STATES
from hackathon.scaling.table import passes
from hackathon.share.places import Project
from hackathon.share.usage_run import earlier_seconds
from hackathon.text.errors import RequestError
from hackathon.text.messages import language
from hackathon.web.causes import cause_kept, with_cause
from hackathon.web.recent import Usage, numbers, usage
from hackathon.web.records import Summary

if TYPE_CHECKING:
    from hackathon.runs.directory import RunDirectory
    from hackathon.runs.states import RunStatus

LONGEST = 2000
"""Letters of a note, a name or a warning that are kept."""
WARNINGS = 8
"""Warnings of a run that are kept."""
FILES = 512
"""Logs and metrics of a run whose last change is looked at."""


@dataclass(frozen=True)
class Files:
    """The files of one of a run's folders."""

    names: tuple[str, ...] = ()
    size: int = 0
    """Bytes of all."""
    newest: float | None = None
    """When one of them was last changed, by the file server's clock."""


def summarise(project: Project, run: "RunDirectory", status: "RunStatus") -> Summary:
    """Return the record of a run, with the cause of its failure when its own folder keeps one.

    Files that are missing, half-written or not what they should be leave gaps, never an error.
    """
    try:
        record = run.record()
    except RequestError:
        record = {}
    created, events = run.client("created"), _events(run)
    metrics, logs = files_of(f"{run.path}/metrics"), files_of(f"{run.path}/logs")
    state = status.state if status.state in STATES else LOST
    ended = state in ENDED
    measured = numbers(run.path, record, metrics.names, ended=ended, logs=logs.size)
    began = state != CREATED and (status.t_started is not None or events.started is not None)
    used = usage(run.path) if began else Usage()
    nodes = _whole(record.get("nodes"))
    study = record.get("study")
    check = record.get("check")
    newest = max((each for each in (metrics.newest, logs.newest) if each is not None), default=None)
    tags = record.get("tags")
    made = Summary(
        id=run.id,
        project=str(project.path),
        team=project.team or _text(record.get("team")),
        name=_text(record.get("name")),
        study=_text(study.get("id")) if isinstance(study, dict) else "",
        user=_text(created.get("user")),
        cluster=_text(record.get("cluster")),
        queue=_text(record.get("queue")),
        job_id=_text(status.job_id or (run.job_id() if state != CREATED else None)),
        note=_text(record.get("note")),
        tags=tuple(_text(tag) for tag in tags[:50]) if isinstance(tags, list) else (),
        parent=_text(record.get("parent")),
        processes=_whole(record.get("processes")),
        nodes=nodes,
        gpus=nodes * _whole(record.get("gpus_per_node")),
        walltime=_whole(record.get("walltime")),
        state=state,
        cause=_text(status.cause),
        reason=_reason(status),
        sealed=status.sealed,
        stale_seconds=status.stale_seconds,
        created=_moment(created.get("t")) or _moment(status.t_created) or _stamp(run.id),
        submitted=_moment(status.t_submitted),
        started=_moment(status.t_started) or (events.started if began else None),
        ended=_moment(status.t_ended) or (events.ended if ended else None),
        attempt=_whole(status.attempt) or 1,
        earlier=_earlier(run, status, record),
        metric=measured.metric,
        value=measured.value,
        unit=measured.unit,
        loss=measured.loss,
        step=measured.step,
        interval=measured.interval,
        progress=newest if began or state == RUNNING else None,
        check_passed=_passed(check, measured.check) if ended else None,
        gpu_percent=used.gpu_percent,
        memory_percent=used.memory_percent,
        cpu_percent=used.cpu_percent,
        rank=status.first_rank if isinstance(status.first_rank, int) else None,
        host=_text(status.first_host),
        warned=events.warned,
    )
    return with_cause(made, cause_kept(run.client("diagnosis")) if ended else None, language())


def _earlier(run: "RunDirectory", status: "RunStatus", record: Mapping[str, Any]) -> float:
    again = _whole(status.attempt) > 1
    return earlier_seconds(run, _whole(record.get("walltime")), time.time()) if again else 0.0


def files_of(folder: str) -> Files:
    """Return what lies in a folder: its regular files, no links."""
    names, size, newest = [], 0, 0.0
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if not entry.is_file(follow_symlinks=False):
                    continue
                names.append(entry.name)
                if len(names) <= FILES:
                    found = entry.stat(follow_symlinks=False)
                    size += found.st_size
                    newest = max(newest, found.st_mtime)
    except OSError:
        pass
    return Files(tuple(names), size, newest or None)


@dataclass(frozen=True)
class _Told:
    """What the job's events say."""

    started: float | None = None
    ended: float | None = None
    warned: tuple[str, ...] = ()


def _events(run: "RunDirectory") -> _Told:
    """Return the times of the newest attempt and the warnings of all."""
    started = ended = None
    texts: dict[str, None] = {}
    for event in job_events(run.path):
        kind = event.get("event")
        if kind == "started":
            started, ended = _moment(event.get("t")), None
        elif kind == "ended":
            ended = _moment(event.get("t"))
        elif kind == "warned" and len(texts) < WARNINGS:
            texts[_text(event.get("text") or event.get("about"))] = None
    return _Told(started, ended, tuple(text for text in texts if text))


def _reason(status: "RunStatus") -> str:
    """Return the status's explanation; of a seal with words that this version does not know, the scheduler's part."""
    try:
        return status.explanation[:LONGEST]
    except (KeyError, TypeError, AttributeError):
        return _text(status.reason)


def _passed(check: object, value: float | None) -> bool | None:
    if not isinstance(check, Mapping):
        return None
    return passes(value, number(check.get("at_least")), number(check.get("at_most")))


def _text(value: Any) -> str:
    """Return a text that can be written as UTF-8, whatever a file has in its place."""
    text = "" if value is None or isinstance(value, (dict, list)) else str(value)[:LONGEST]
    text = text if text.isascii() else text.encode("utf-8", "replace").decode()
    return sys.intern(text) if len(text) <= 32 else text  # thousands of runs share names


def _whole(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**9 else 0


def _moment(value: object) -> float | None:
    """Return seconds since 1970 as this toolkit's clocks can have them, None for anything else."""
    moment = number(value)
    return moment if moment is not None and 0 < moment < 1e11 else None


def _stamp(run_id: str) -> float | None:
    try:
        return time.mktime(time.strptime(run_id[:15], "%Y%m%d-%H%M%S"))
    except (ValueError, OverflowError):
        return None
