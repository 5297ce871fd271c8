"""Plans of events, and their run directories: what hypothesis chooses from, and what it becomes on the disk.

A plan is small, frozen data. `write_event` writes it as the toolkit and its jobs would have, without any code of the
product: so the same plan can be read by any version. `events()` is a hypothesis strategy of plans.
"""

import json
import os
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml
from hypothesis import strategies as st

CLUSTERS = {"reedbush-h": ("pbs", 2), "abci3": ("pbs", 8), "reedbush-u": ("pbs", 0)}
"""Shipped cluster → (scheduler, GPUs of a node)."""
LAPTOP = "laptop"
MACHINES = {**CLUSTERS, LAPTOP: ("local", 0)}
"""The same with the computer of somebody's own, which an event does not compare with its machines."""
ENDED_BADLY = {"FAILED": 1, "TIMEOUT": 143, "CANCELLED": 143, "OUT_OF_MEMORY": 137, "NODE_FAILED": None}
"""State → exit code that the job wrote; None: it wrote none."""
OPEN = ("RUNNING", "QUEUED", "HELD", "CREATED", "UNCERTAIN")
STATES = ("SUCCEEDED", *ENDED_BADLY, "LOST", *OPEN)
RATES = ("samples_per_s", "tokens_per_s", "steps_per_s")
UNITS = {"samples_per_s": "samples/s", "tokens_per_s": "tokens/s", "steps_per_s": "steps/s"}
WALLTIME = 7200
CHECK = {"metric": "accuracy", "at_least": 0.9, "at_most": None}
TEAM, GROUP, USER, HOST = "aurora", "gq01", "member01", "a001"
LETTERS = "abcdefghijklmnopqrstuvwxyz234567"


@dataclass(frozen=True)
class PlannedLife:
    """One stretch in which a job ran."""

    seconds: float = 600.0
    ended: bool = True
    """Whether the job wrote its end."""
    pause: float = 60.0
    """Seconds between the former life's end, or the submission, and this one's start."""


@dataclass(frozen=True)
class PlannedRun:
    """One run."""

    processes: int = 1
    state: str = "SUCCEEDED"
    """One of STATES."""
    rates: tuple[float, ...] = (100.0,)
    """Throughput of the intervals of the last life, in equal parts."""
    lines: int = 8
    """Lines of metrics behind the warm-up."""
    padding: int = 0
    """Bytes by which each line is longer."""
    final: bool = True
    """Whether the program told its final numbers."""
    accuracy: float | None = 0.95
    measured: str = "samples_per_s"
    """Which of RATES the program tells."""
    printed: bool = False
    """Whether it prints its numbers in a known format instead of using the Meter."""
    split: tuple[float, ...] = ()
    """Shares of a step (data, host, compute, communication of rank 0, other) that every rank records; () for none.
    The last rank is the one that the others wait for: it communicates half as long and computes the more."""
    cluster: str = "reedbush-h"
    nodes: int = 1
    lives: tuple[PlannedLife, ...] = (PlannedLife(),)
    sealed: bool = True
    adopted: bool = False
    removed: bool = False
    """Whether `clean` took it away and kept the bill."""
    parameters: Mapping[str, Any] = field(default_factory=lambda: {"lr": 0.1})


@dataclass(frozen=True)
class PlannedStudy:
    """Runs that differ in their process count, with repeats; each with the reservation of its point."""

    runs: tuple[PlannedRun, ...]
    mode: str = "strong"
    check: bool = True


@dataclass(frozen=True)
class PlannedProject:
    """A further project of the event's team, or of another one."""

    team: str
    name: str = "train"
    studies: tuple[PlannedStudy, ...] = ()
    runs: tuple[PlannedRun, ...] = ()


@dataclass(frozen=True)
class PlannedEvent:
    """One team's project in an event, and further projects."""

    studies: tuple[PlannedStudy, ...] = ()
    runs: tuple[PlannedRun, ...] = ()
    """Single runs."""
    projects: tuple[PlannedProject, ...] = ()
    main_studies: Mapping[str, str] = field(default_factory=dict)
    """Team → the main study that `hackathon.yaml` names."""
    user: str = USER
    host: str = HOST
    person: str = "Ada Example"
    begin: float = 1_772_326_800.0
    """When the first run was made, seconds since 1970."""
    publish: Mapping[str, Any] = field(default_factory=lambda: {"runs": "all", "crates": True, "teams": True})
    clusters: Mapping[str, Any] = field(default_factory=lambda: {name: {} for name in CLUSTERS})
    """Cluster → its entry in `hackathon.yaml` (queue, budget …)."""


@dataclass(frozen=True)
class WrittenRun:
    """A run directory and the plan that it was written by."""

    plan: PlannedRun
    path: Path
    study: str = ""
    lives: tuple[tuple[float, float | None], ...] = ()
    """Start and written end of each life, seconds since 1970."""
    project: Path = Path()

    @property
    def id(self) -> str:
        """The run id."""
        return self.path.name


@dataclass(frozen=True)
class WrittenEvent:
    """Where a plan was written."""

    plan: PlannedEvent
    folder: Path
    """Of the event."""
    project: Path
    runs: tuple[WrittenRun, ...]
    studies: tuple[str, ...]
    """Their ids, in the order of the plan."""
    homes: Mapping[str, Path] = field(default_factory=dict)
    """Id of a study or a run → its project's folder."""

    def of_team(self, team: str) -> list[str]:
        """Return the studies of a team."""
        return [study for study in self.studies if self.homes[study].parent.name == team]

    def of_study(self, study: str) -> list[WrittenRun]:
        """Return the runs of a study."""
        return [run for run in self.runs if run.study == study]


def write_event(folder: Path, plan: PlannedEvent) -> WrittenEvent:
    """Write an event with its teams and their projects, and return what was written."""
    first = PlannedProject(TEAM, "train", plan.studies, plan.runs)
    projects = (first, *plan.projects)
    teams = []
    users = {team: f"{plan.user}{n or ''}" for n, team in enumerate(dict.fromkeys(each.team for each in projects))}
    for team, user in users.items():
        named = {"main_study": plan.main_studies[team]} if team in plan.main_studies else {}
        members = [{"user": user, "name": plan.person}]
        teams.append({"name": team, "group": GROUP, "members": members, **named})
    event = {
        "title": {"en": "Planned"}, "dates": ["2026-03-01"], "languages": ["en"], "publish": dict(plan.publish),
        "clusters": {name: dict(each) for name, each in plan.clusters.items()}, "teams": teams,
    }  # fmt: skip
    folder.mkdir(parents=True)
    (folder / "hackathon.yaml").write_text(yaml.safe_dump(event))
    moment = plan.begin
    written: list[WrittenRun] = []
    studies: dict[str, Path] = {}
    for each in projects:
        its = replace(plan, user=users[each.team])
        moment = _project(folder / each.team / each.name, its, each, moment, written, studies)
    homes = {**studies, **{run.id: run.project for run in written}}
    return WrittenEvent(plan, folder, folder / TEAM / "train", tuple(written), tuple(studies), homes)


def _project(
    project: Path, plan: PlannedEvent, told: PlannedProject, moment: float, written: list[WrittenRun],
    studies: dict[str, Path],
) -> float:  # fmt: skip
    """Write a project, add its runs and studies, and return the moment behind the last one."""
    (project / "runs").mkdir(parents=True)
    settings = {"name": told.name, "team": told.team, "command": "python train.py", "cluster": "reedbush-h"}
    (project / "project.yaml").write_text(yaml.safe_dump(settings))
    (project / "train.py").write_text("print('trained')\n")
    for study in told.studies:
        identifier = f"{_stamp(moment)}-planned-{_letters(900 + len(studies))}"
        _study(project, identifier, study, moment)
        studies[identifier] = project
        repeats: dict[int, int] = {}
        for run in study.runs:
            repeat = repeats[run.processes] = repeats.get(run.processes, 0) + 1
            made = _run(project, plan, run, len(written), moment, (identifier, study, repeat))
            written.append(made)
            point = project / "studies" / identifier / "points" / f"{run.processes}-{repeat}"
            point.write_text(f"{made.id}\n{{}}\n")
            moment += 1000
    for run in told.runs:
        written.append(_run(project, plan, run, len(written), moment, None))
        moment += 1000
    return moment


def _study(project: Path, identifier: str, study: PlannedStudy, moment: float) -> None:
    first = study.runs[0]
    repeats: dict[int, int] = {}
    points = []
    for run in study.runs:
        repeats[run.processes] = repeats.get(run.processes, 0) + 1
        points.append({"processes": run.processes, "repeat": repeats[run.processes]})
    base = _request(first, project, (identifier, study, 1))
    (project / "studies" / identifier / "points").mkdir(parents=True)
    _json(
        project / "studies" / identifier / "study.json",
        {
            "schema_version": 1, "id": identifier, "name": "planned", "created": moment, "mode": study.mode,
            "metric": "samples_per_s", "unit": "", "points": points, "base_request": base, "options": {},
        },
    )  # fmt: skip


def _request(run: PlannedRun, project: Path, point: "tuple[str, PlannedStudy, int] | None") -> dict[str, Any]:
    scheduler, gpus = MACHINES[run.cluster]
    return {
        "schema_version": 1, "name": project.name, "recipe": None, "framework": None, "cluster": run.cluster,
        "scheduler": scheduler, "queue": "debug", "group": GROUP, "reservation": None, "nodes": run.nodes,
        "processes": run.processes, "processes_per_node": max(1, run.processes // run.nodes), "threads": 1,
        "gpus_per_node": gpus, "walltime": 0 if run.adopted else WALLTIME,
        "launcher": "" if run.adopted else "mpirun", "starter": "" if run.adopted else "mpirun", "mpi": "openmpi",
        "command": [] if run.adopted else ["python", "train.py"], "parameters": dict(run.parameters),
        "environment": [], "variables": {}, "python_environment": None, "metric": "samples_per_s", "metrics": {},
        "data": [], "check": CHECK if point is None or point[1].check else None,
        "mode": point[1].mode if point else None, "source": "/work/train", "in_place": run.adopted,
        "team": project.parent.name,
        "origins": {}, "toolkit_version": "0.1.0", "note": "", "tags": [], "parent": None,
        "study": {"id": point[0], "processes": run.processes, "repeat": point[2]} if point else None,
    }  # fmt: skip


def _run(
    project: Path, event: PlannedEvent, run: PlannedRun, number: int, moment: float,
    point: "tuple[str, PlannedStudy, int] | None",
) -> WrittenRun:  # fmt: skip
    name = f"{_stamp(moment)}-{project.name}-{run.processes}p-{_letters(number)}"
    path = project / "runs" / name
    for folder in ("client", "events", "logs", "metrics", "env", "source"):
        (path / folder).mkdir(parents=True)
    _json(path / "request.json", _request(run, project, point))
    _json(
        path / "client/created.json", {"t": moment, "user": event.user, "host": event.host, "toolkit_version": "0.1.0"}
    )
    (path / "job.sh").write_text("#!/bin/bash\necho job\n")
    (path / "rank.sh").write_text("#!/bin/bash\necho rank\n")
    _json(path / "source.json", {"digest": "ab" * 32, "folder": "/work/train", "files": {}, "links": {}, "added": {}})
    job = f"{70000 + number}.server"
    if run.state == "UNCERTAIN":
        _json(path / "client/submitting.json", {"t": moment + 1, "name": "hk-x", "pid": 1, "host": "elsewhere"})
    elif run.state != "CREATED":
        fact = {"t": moment + 2, "job_id": job, "cluster": run.cluster, "scheduler": MACHINES[run.cluster][0]}
        _json(path / f"client/{'adopted' if run.adopted else 'submitted'}.json",
              {**fact, "directory": None, "job": None} if run.adopted else fact)  # fmt: skip
    lives = _lives(path, event, run, moment, job) if run.state in started_states() else ()
    if lives:
        (path / "claim").mkdir()
        (path / "claim/job_id").write_text(f"{job}\n")
        _json(path / f"env/{event.host}.json", {"host": event.host, "python": "3.11.2", "gpus": [], "packages": {}})
        _measured(path, run, lives)
    _said(path, run, moment, lives)
    if run.sealed and run.state in ("SUCCEEDED", *ENDED_BADLY):
        final = {
            "state": run.state, "cause": "", "reason": "", "job_id": job, "attempt": len(lives), "t_created": moment,
            "t_submitted": moment + 2, "t_started": lives[-1][0], "t_ended": lives[-1][1] or lives[-1][0] + 60,
            "exit_code": ENDED_BADLY.get(run.state, 0), "hosts": [event.host], "sealed": moment + 900,
        }  # fmt: skip
        _json(path / "final.json", final)
    if run.removed:
        path = _clean_up(project, path)
    return WrittenRun(run, path, point[0] if point else "", lives, project)


def started_states() -> frozenset[str]:
    """Return the states of runs whose job began."""
    return frozenset({"SUCCEEDED", *ENDED_BADLY, "LOST", "RUNNING"})


def _lives(
    path: Path, event: PlannedEvent, run: PlannedRun, moment: float, job: str
) -> tuple[tuple[float, float | None], ...]:
    """Write the job's events and return (start, written end) of each life."""
    lines: list[dict[str, Any]] = []
    found: list[tuple[float, float | None]] = []
    clock = moment + 2
    for attempt, life in enumerate(run.lives, 1):
        last = attempt == len(run.lives)
        start = clock + life.pause
        head = {"attempt": attempt, "host": event.host}
        lines.append({"t": start, "event": "started", **head, "job_id": job})
        code: int | None = 143
        if last:
            code = None if run.state in ("RUNNING", "LOST") else ENDED_BADLY.get(run.state, 0)
        clock = start + life.seconds
        # without an end the state of a run that is over is only what its seal says
        wrote = code is not None and (life.ended or (last and not run.sealed))
        if wrote:
            lines.append({"t": clock, "event": "ended", **head, "exit_code": code, "signal": None})
        found.append((start, clock if wrote else None))
    _lines(path / "events/job.jsonl", lines)
    return tuple(found)


def _said(path: Path, run: PlannedRun, moment: float, lives: tuple[tuple[float, float | None], ...]) -> None:
    """Write what the scheduler said last about a run that goes on or was lost."""
    head = {"raw": "x", "reason": "", "hosts": [], "attempt": max(1, len(lives))}
    if run.state == "LOST":
        since = lives[-1][0] + run.lives[-1].seconds
        said = {"state": "RUNNING", **head, "t": since - 30, "since": lives[-1][0]}
        _json(path / "client/seen.json", {**said, "absent_since": since, "absent_t": since + 120})
    elif run.state in ("QUEUED", "HELD"):
        _json(path / "client/seen.json", {"state": run.state, **head, "t": moment + 5, "since": moment + 5})


def _measured(path: Path, run: PlannedRun, lives: tuple[tuple[float, float | None], ...]) -> None:
    """Write what the program told in its last life; earlier lives told lower numbers."""
    per = max(1, run.lines // max(1, len(run.rates)))
    rates = [rate for rate in run.rates for _ in range(per)]
    (path / "logs/job.log").write_text("job\n")
    if run.printed:
        text = "".join(
            f"step {i} loss {2 / (i + 1):.4f} throughput {rate!r} samples/s\n" for i, rate in enumerate(rates)
        )
        (path / "logs/rank-0.log").write_text(text)
        return
    _other_ranks(path, run, lives)
    rows: list[dict[str, Any]] = []
    for attempt, (start, _) in enumerate(lives, 1):
        last = attempt == len(lives)
        for i, rate in enumerate(rates if last else [1.0]):
            rows.append({"t": start + i, "attempt": attempt, "step": 10 * i, run.measured: rate, "loss": 2 / (i + 1)})
            if run.split:
                rows[-1] |= _step_times(run, 0, i)
            if run.padding:
                rows[-1]["about"] = "x" * run.padding
            if last and run.accuracy is not None:
                rows[-1]["accuracy"] = run.accuracy
    if run.final and run.state not in ("RUNNING", "LOST"):
        final = {"t": lives[-1][0] + len(rates), "attempt": len(lives), "final": True, run.measured: rates[-1]}
        rows.append(final if run.accuracy is None else {**final, "accuracy": run.accuracy})
    _lines(path / "metrics/rank-0.jsonl", rows)


def _other_ranks(path: Path, run: PlannedRun, lives: tuple[tuple[float, float | None], ...]) -> None:
    """Write the step times of the ranks but the first."""
    for rank in range(1, run.processes if run.split else 1):
        rows = [
            {"t": start + i, "attempt": attempt, "step": 10 * i, **_step_times(run, rank, i)}
            for attempt, (start, _) in enumerate(lives, 1)
            for i in range(run.lines)
        ]
        _lines(path / f"metrics/rank-{rank}.jsonl", rows)


def _step_times(run: PlannedRun, rank: int, interval: int) -> dict[str, Any]:
    """Return what a Meter's line says of ten steps of 0.1 s."""
    data, host, compute, communication, other = run.split
    late = communication / 2 if rank == run.processes - 1 and run.processes > 1 else 0.0
    return {
        "seconds": 1.0, "interval": [10 * interval + 1, 10 * interval + 10],
        "data_share": data, "host_share": host, "compute_share": round(compute + late, 6),
        "communication_share": round(communication - late, 6), "other_share": other,
        "collectives": [[round(0.1 * (communication - late), 6)]] * 10,
    }  # fmt: skip


def _clean_up(project: Path, path: Path) -> Path:
    """Leave of a run what `hackathon clean` keeps: how long it held its nodes."""
    import shutil

    place = project / "runs" / ".removed" / path.name
    (place / "events").mkdir(parents=True)
    for name in ("request.json", "final.json", "events/job.jsonl"):
        if (path / name).exists():
            (path / name).rename(place / name)
    shutil.rmtree(path)
    return place


def _stamp(moment: float) -> str:
    return time.strftime("%Y%m%d-%H%M%S", time.localtime(moment))


def _letters(number: int) -> str:
    return "".join(LETTERS[(number * 7 + i * 11 + number // 32) % 32] for i in range(8))


def _json(path: Path, value: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")


def _lines(path: Path, values: Iterable[Mapping[str, Any]]) -> None:
    path.write_text("".join(json.dumps(value) + "\n" for value in values), encoding="utf-8")
    if values and path.parent.name == "metrics":  # not as new as now: a run that is over is old
        os.utime(path, None)


SPLITS = ((), (0.1, 0.05, 0.5, 0.3, 0.05), (0.4, 0.0, 0.6, 0.0, 0.0))
RATE = st.floats(1.0, 1e5, allow_nan=False).map(lambda value: float(f"{value:.4g}"))


@st.composite
def planned_runs(draw: st.DrawFn, *, processes: int | None = None, single: bool = True) -> PlannedRun:
    """Return a strategy of runs; `processes` fixes the size, `single` allows those that no study has."""
    state = draw(st.sampled_from(("SUCCEEDED",) * 8 + STATES))
    lives = tuple(draw(st.lists(
        st.builds(PlannedLife, st.floats(1.0, 3000.0), st.booleans(), st.floats(0.0, 500.0)), min_size=1, max_size=3,
    )))  # fmt: skip
    if state == "SUCCEEDED":
        lives = (*lives[:-1], PlannedLife(lives[-1].seconds, True, lives[-1].pause))
    long = draw(st.sampled_from((False, False, True)))
    removed = single and state in ENDED_BADLY and draw(st.booleans())
    return PlannedRun(
        processes=processes or draw(st.sampled_from((1, 2, 4))),
        state=state,
        rates=tuple(draw(st.lists(RATE, min_size=1, max_size=4))),
        lines=600 if long else draw(st.integers(1, 30)),
        padding=120 if long else 0,  # more than 64 KiB of lines
        final=draw(st.booleans()),
        accuracy=draw(st.sampled_from((None, 0.95, 0.5))),
        measured=draw(st.sampled_from(("samples_per_s",) * 3 + RATES)),
        printed=draw(st.sampled_from((False, False, False, True))),
        # with the numbers of all ranks a diagnosis finds causes of failures, which the index here does not look for
        split=draw(st.sampled_from(SPLITS)) if state == "SUCCEEDED" else (),
        cluster=draw(st.sampled_from(tuple(CLUSTERS))),
        nodes=draw(st.sampled_from((1, 2))),
        lives=lives,
        sealed=removed or draw(st.booleans()) or state == "NODE_FAILED",
        adopted=single and state in ("SUCCEEDED", "FAILED", "RUNNING") and draw(st.sampled_from((False, False, True))),
        removed=removed,
    )


@st.composite
def planned_studies(draw: st.DrawFn) -> PlannedStudy:
    """Return a strategy of studies over 1, 2 and 4 processes with up to two repeats."""
    sizes = [size for size in (1, 2, 4) for _ in range(draw(st.integers(1 if size == 1 else 0, 2)))]
    runs = tuple(draw(planned_runs(processes=size, single=False)) for size in sizes)
    return PlannedStudy(runs, draw(st.sampled_from(("strong", "weak"))), draw(st.booleans()))


def planned_events() -> st.SearchStrategy[PlannedEvent]:
    """Return a strategy of events."""
    return st.builds(
        PlannedEvent,
        studies=st.lists(planned_studies(), min_size=1, max_size=2).map(tuple),
        runs=st.lists(planned_runs(), max_size=4).map(tuple),
    )
