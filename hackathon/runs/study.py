"""Studies: which points there are, which run each of them has, and which are still to be submitted.

`studies/<id>/points/<key>-<repeat>` is a reservation: made once, whole, before the run exists. It holds the run id
on its first line and who reserved it on the second. So no point is submitted twice, whoever resumes a study. The key is
the process count; in a study that varies more, a digest of the point's settings follows it.

A tuning study's points come one by one: `trials/<number>.json` is a trial, made once, whole, with its request.
"""

import contextlib
import json
import os
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hackathon.access.publish import publish_path
from hackathon.config.trust import writable_folder
from hackathon.jobs.settings import settings_in
from hackathon.runs.create import modes_below
from hackathon.runs.directory import PARTIAL, NamedDirectory, RunDirectory, list_ids, meant, new_id, pick, safe_name
from hackathon.runs.states import CREATED, FAILED, OPEN, RunStatus
from hackathon.text.errors import RequestError, UnavailableError
from hackathon.text.files import read_json, write_json, write_whole
from hackathon.text.kill_points import step
from hackathon.text.uptime import age as age_of
from hackathon.text.uptime import lives, this_process

if TYPE_CHECKING:
    from hackathon.config.fields import Scalar
    from hackathon.jobs.request import Request

SCHEMA_VERSION = 1
GRID_VERSION = 2
"""The schema of a study that varies more than the process count: an older toolkit would take its points for repeats."""
FOLDER = "studies"
TUNE, TRIALS = "tune", "trials"
"""The kind of a study whose points are trials, and the folder that its trials lie in."""
ABANDONED = 60.0
"""Seconds after which a reservation without a run directory counts as left behind."""
LIVE = 600.0
"""The same while the process that made it exists: it may be slow, or its number may be another process's by now."""
_KEY = re.compile(r"\d{1,9}(-[0-9a-f]{8})?\Z")
_TRIAL = re.compile(r"\d{5}\.json\Z")


@dataclass(frozen=True)
class Point:
    """One measurement of a study."""

    processes: int
    repeat: int
    """From 1."""
    run: RunDirectory | None = None
    """A run that was made for it and never got into the queue: it is submitted, not a new one."""
    key: str = ""
    """What tells it from the other points, repeats aside; the process count where that alone varies."""
    settings: "Mapping[str, Scalar]" = field(default_factory=dict, hash=False)
    """What varies beside the process count (`hackathon.jobs.grid`)."""

    def __post_init__(self) -> None:
        if not self.key:
            object.__setattr__(self, "key", str(self.processes))

    @property
    def name(self) -> str:
        """The name of its reservation."""
        return f"{self.key}-{self.repeat}"

    def to_json(self, study: str = "") -> dict[str, Any]:
        """Return what `study.json` says of it, or with a study's id what its run's `request.json` says."""
        value: dict[str, Any] = {"id": study} if study else {}
        value |= {"processes": self.processes, "repeat": self.repeat}
        return {**value, "key": self.key, "settings": dict(self.settings)} if self.settings else value

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "Point":
        """Return the point from either; older records have neither key nor settings. Raises ValueError."""
        key = str(value.get("key") or "")
        if key and not _KEY.match(key):  # it becomes the name of a file
            raise ValueError(f"not the key of a point: {key!r}")
        processes, repeat = int(value.get("processes") or 0), int(value.get("repeat") or 0)
        return cls(processes, repeat, key=key, settings=settings_in(value))


class Study(NamedDirectory):
    """One study: its folder beside `runs/`."""

    __slots__ = ("_record", "_trials")

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._record: dict[str, Any] | None = None
        self._trials: dict[int, dict[str, Any]] = {}

    @property
    def runs_folder(self) -> Path:
        """The folder of its runs."""
        return self.path.parent.parent / "runs"

    def record(self) -> dict[str, Any]:
        """Return `study.json`. Raises RequestError when it is missing, broken, or of a newer toolkit."""
        if self._record is None:
            value = read_json(self.path / "study.json")
            if not isinstance(value, dict):
                raise RequestError("runs.study_broken", path=self.path)
            version = value.get("schema_version")
            if isinstance(version, int) and version > GRID_VERSION:
                raise RequestError("runs.newer_study", study=self.id, version=version)
            self._record = value
        return self._record

    def base_request(self) -> "Request":
        """Return the request of its first point."""
        from hackathon.jobs.request import Request

        return Request.from_json(self.record()["base_request"])

    def points(self) -> list[Point]:
        """Return all points, in the order in which they are submitted."""
        try:
            return [Point.from_json(point) for point in self._point_records()]
        except (TypeError, ValueError, AttributeError):
            raise RequestError("runs.study_broken", path=self.path) from None

    def _point_records(self) -> list[dict[str, Any]]:
        return [*self.record().get("points", []), *(record for record in self.trials().values() if record)]

    @property
    def tuned(self) -> bool:
        """Whether its points are trials of `hackathon tune`."""
        return self.record().get("kind") == TUNE

    def trials(self) -> dict[int, dict[str, Any]]:
        """Return number → record of each trial of a tuning study; empty for one that is not written yet."""
        if not self.tuned:
            return {}
        for name in self.path.folder.names(TRIALS):
            number = int(name[:5]) if _TRIAL.match(name) else 0
            if number and not self._trials.get(number):
                self._trials[number] = self.path.folder.json(f"{TRIALS}/{name}")
        return {number: self._trials[number] for number in sorted(self._trials)}

    def requested(self, point: "Point") -> "Request":
        """Return the request of a point. Raises KeyError when the study has no such point."""
        from hackathon.jobs.request import Request

        for record in self.trials().values():
            if record and Point.from_json(record).name == point.name:
                return Request.from_json(record["request"])
        return Request.from_json(self.record()["options"]["requests"][point.key])

    def run_id(self, point: Point) -> str | None:
        """Return the id of the run that a point is reserved for, None when it is free."""
        reservation = self._reservation(point)
        return reservation[0] if reservation else None

    def _reservation(self, point: Point) -> tuple[str, dict[str, Any], float] | None:
        """Return (run id, who, age of it in seconds since 1970) after all takeovers."""
        folder = self.path / "points"
        latest = _read_reservation(folder / point.name)
        while latest is not None and (later := _read_reservation(folder / _takeover(point, latest[0]))) is not None:
            latest = later
        return latest


def create_study(
    project: Path,
    name: str,
    *,
    mode: str,
    metric: str,
    unit: str,
    points: Sequence[Point],
    base_request: "Request",
    options: dict[str, Any] | None = None,
    now: float | None = None,
    kind: str = "",
) -> Study:
    """Return a new study in `<project>/studies/`; the points of one of the kind TUNE come later.

    Raises UnavailableError.
    """
    study = Study(project / FOLDER / new_id(safe_name(name, "study"), now))
    record = {
        "schema_version": GRID_VERSION if kind or any(point.settings for point in points) else SCHEMA_VERSION,
        "id": study.id,
        "name": name,
        "created": time.time() if now is None else now,
        "mode": mode,
        "metric": metric,
        "unit": unit,
        "points": [point.to_json() for point in points],
        "base_request": base_request.to_json(),
        "options": options or {},
    }
    if kind:
        record["kind"] = kind
    partial = study.path.parent / f"{PARTIAL}{study.id}"
    try:
        writable_folder(study.path.parent)
        (partial / "points").mkdir(parents=True)
        folder_mode, file_mode = modes_below(study.path.parent)
        write_json(partial / "study.json", record)
        (partial / "study.json").chmod(file_mode)
        (partial / "points").chmod(folder_mode)
        if kind == TUNE:
            (partial / TRIALS).mkdir()
            (partial / TRIALS).chmod(folder_mode)
        partial.chmod(folder_mode)
        partial.rename(study.path)
    except (OSError, ValueError) as error:
        import shutil

        shutil.rmtree(partial, ignore_errors=True)
        if isinstance(error, ValueError):
            raise RequestError("runs.bad_value", what=error) from error
        raise UnavailableError("runs.not_written", folder=study.path.parent, what=error.strerror or error) from error
    return study


def add_trial(study: Study, number: int, point: Point, request: "Request", more: Mapping[str, Any]) -> bool:
    """Write the trial of this number (from 1); False when somebody else has taken the number. Raises UnavailableError.

    Whoever writes number n knows that no other trial was added since it read n − 1: what it reckoned before (places,
    budget) holds.
    """
    folder = study.path / TRIALS
    record = {**more, **point.to_json(), "key": point.key, "number": number, "request": request.to_json(),
              "t": time.time(), "by": this_process()}  # fmt: skip
    raw = json.dumps(record, ensure_ascii=False, allow_nan=False, indent=1).encode()
    try:
        publish_path(folder / f"{number:05d}.json", raw, 0o600 | folder.stat().st_mode & 0o044)
    except FileExistsError:
        return False
    except OSError as error:
        raise UnavailableError("runs.not_written", folder=folder, what=error.strerror or error) from error
    step("after-trial")
    return True


def find_studies(project: Path) -> list[Study]:
    """Return the studies of a project, newest first."""
    return [Study(project / FOLDER / name) for name in list_ids(project / FOLDER)]


def find_study(text: str, project: Path, *, exact: bool = True) -> Study | None:
    """Return the study whose id `text` is a unique part of.

    Raises RequestError when several match, or none; with `exact=False` None is returned for none.
    """
    names = list_ids(project / FOLDER)
    if not exact and not meant(text, names):
        return None
    return Study(project / FOLDER / pick(text, names, "study", project / FOLDER))


def newest_study(project: Path) -> Study:
    """Return the newest study of a project. Raises RequestError when there is none."""
    names = list_ids(project / FOLDER)
    if not names:
        raise RequestError("runs.no_study_yet", folder=project / FOLDER)
    return Study(project / FOLDER / names[0])


def reserve(study: Study, point: Point, run_id: str, now: float | None = None) -> bool:
    """Reserve a point for a run that is about to be made; False when somebody else has it.

    A reservation whose run directory never appeared is taken over when its process is gone or it is older than
    ABANDONED. Of two that try at the same moment one gets it. Whoever was slower than that to make the run asks `holds`
    before submitting it. Raises UnavailableError when it cannot be written.
    """
    folder = study.path / "points"
    reservation = study._reservation(point)
    if reservation is None:
        done = _reserve_file(folder / point.name, run_id)
    elif not _abandoned(study, reservation, now):
        return False
    else:
        done = _reserve_file(folder / _takeover(point, reservation[0]), run_id)
        if done:  # what `points/<name>` says is for readers; the chain of takeovers is what counts
            with contextlib.suppress(OSError):
                write_whole(folder / point.name, _reservation_text(run_id))
    if done:
        step("after-reserved")
    return done


def held_points(study: Study) -> list[Point]:
    """Return the points that have no run, and that a process reserved which may be about to make it."""
    points = []
    for point in study.points():
        claim = study._reservation(point)
        if claim and not (study.runs_folder / claim[0]).is_dir() and not _abandoned(study, claim):
            points.append(point)
    return points


def holds(study: Study, run: RunDirectory) -> bool:
    """Return whether the point that a run was made for is still reserved for it: asked just before submitting."""
    point = run.study
    return point is not None and study.run_id(Point(point.processes, point.repeat, key=point.key)) == run.id


def runs_of(study: Study) -> list[RunDirectory]:
    """Return the runs of a study that exist, in the order of its points."""
    runs = [RunDirectory(study.runs_folder / run_id) for point in study.points() if (run_id := study.run_id(point))]
    return [run for run in runs if (run.path / "request.json").exists()]


def pending_points(study: Study, states: Iterable[RunStatus]) -> list[Point]:
    """Return the points that have to be submitted still, in order.

    A point without a run, or whose reservation was left behind; or one whose run was made and not submitted, or refused
    by the scheduler: then the run comes with it. `states` are those of the study's runs. A point whose submission's end
    is unknown is not pending.
    """
    by_run = {state.run_id: state for state in states}
    pending = []
    for point in study.points():
        reservation = study._reservation(point)
        if reservation is None or _abandoned(study, reservation):
            pending.append(point)
            continue
        state = by_run.get(reservation[0])
        if state is not None and (state.state == CREATED or (state.state == FAILED and state.cause == "refused")):
            pending.append(replace(point, run=RunDirectory(study.runs_folder / reservation[0])))
    return pending


def next_points(study: Study, limit: int | None = None, *, states: Sequence[RunStatus] | None = None) -> list[Point]:
    """Return the points to submit now, so that at most `limit` runs of the study are with the scheduler at once.

    `states`: those of its runs when they are known already; else they are looked up (one question to the scheduler).
    """
    if states is None:
        from hackathon.runs.status import status

        states = status(runs_of(study))
    pending = pending_points(study, states)
    if limit is None:
        return pending
    return pending[: max(0, limit - sum(state.state in OPEN for state in states))]


def _abandoned(study: Study, reservation: tuple[str, dict[str, Any], float], now: float | None = None) -> bool:
    """Return whether the run of a reservation does not exist, and nobody is about to make it."""
    run_id, process, moment = reservation
    if (study.runs_folder / run_id).is_dir():
        return False
    age = age_of(moment, process, now)
    if process.get("host") == os.uname().nodename and isinstance(process.get("pid"), int):
        return age > LIVE if process["pid"] == os.getpid() or lives(process["pid"], process.get("born")) else True
    return age > ABANDONED


def _takeover(point: Point, run_id: str) -> str:
    return f".{point.name}.after-{run_id}"


def _reservation_text(run_id: str) -> str:
    return f"{run_id}\n{json.dumps(this_process())}\n"


def _reserve_file(path: Path, run_id: str) -> bool:
    try:
        publish_path(path, _reservation_text(run_id).encode(), 0o600 | path.parent.stat().st_mode & 0o044)
    except FileExistsError:
        return False
    except OSError as error:
        raise UnavailableError("runs.not_written", folder=path.parent, what=error.strerror or error) from error
    return True


def _read_reservation(path: Path) -> tuple[str, dict[str, Any], float] | None:
    """Return (run id, who, when); older toolkits, and file systems without hard links, may leave an empty file."""
    try:
        text = path.read_text("utf-8", "replace")
        moment = path.stat().st_mtime
    except OSError:
        return None
    run_id, _, text_of_process = text.partition("\n")
    try:
        process = json.loads(text_of_process)
    except ValueError:
        process = {}
    return run_id.strip() or "unnamed", process if isinstance(process, dict) else {}, moment
