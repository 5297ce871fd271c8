"""Studies: their points, the run of each point, and the points that are not submitted yet.

`studies/<id>/points/<key>-<repeat>` is a reservation. It is created once, complete, before the run exists; its first
line is the run id, its second line who reserved it. So no point is submitted twice, whoever resumes a study. The key is
the process count; if more varies, a digest of the point's settings follows.

The points of a tuning study are added one by one: `trials/<number>.json` is a trial, created once, complete, with its
request.
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
    from hackathon.config.records import Scalar
    from hackathon.jobs.request import Request

SCHEMA_VERSION = 1
GRID_VERSION = 2
"""The schema of a study that varies more than the process count; an older toolkit would treat its points as repeats."""
FOLDER = "studies"
TUNE, TRIALS = "tune", "trials"
"""The kind of a study whose points are trials, and the folder of its trials."""
ABANDONED = 60.0
"""Seconds after which a reservation without a run directory counts as abandoned."""
LIVE = 600.0
"""The same while its process exists: it may be slow, or another process may have its number by now."""
_KEY = re.compile(r"\d{1,9}(-[0-9a-f]{8})?\Z")
_TRIAL = re.compile(r"\d{5}\.json\Z")


@dataclass(frozen=True)
class Point:
    """One measurement of a study."""

    processes: int
    repeat: int
    """From 1."""
    run: RunDirectory | None = None
    """A run that was created for it but not submitted: it is submitted instead of a new one."""
    key: str = ""
    """Distinguishes the point from others, except repeats; the process count if only that varies."""
    settings: "Mapping[str, Scalar]" = field(default_factory=dict, hash=False)
    """What varies besides the process count (`hackathon.jobs.grid`)."""

    def __post_init__(self) -> None:
        if not self.key:
            object.__setattr__(self, "key", str(self.processes))

    @property
    def name(self) -> str:
        """The name of its reservation."""
        return f"{self.key}-{self.repeat}"

    def to_json(self, study: str = "") -> dict[str, Any]:
        """Return its entry in `study.json`, or with a study's id the one in its run's `request.json`."""
        value: dict[str, Any] = {"id": study} if study else {}
        value |= {"processes": self.processes, "repeat": self.repeat}
        return {**value, "key": self.key, "settings": dict(self.settings)} if self.settings else value

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "Point":
        """Return the point from either entry; older records have neither key nor settings. Raises ValueError."""
        key = str(value.get("key") or "")
        if key and not _KEY.match(key):  # it becomes a file name
            raise ValueError(f"not the key of a point: {key!r}")
        processes, repeat = int(value.get("processes") or 0), int(value.get("repeat") or 0)
        return cls(processes, repeat, key=key, settings=settings_in(value))


class Study(NamedDirectory):
    """A study: its folder beside `runs/`."""

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
                raise RequestError(
                    "runs.study_broken", "{path} is not a study: study.json is missing or damaged", path=self.path
                )
            version = value.get("schema_version")
            if isinstance(version, int) and version > GRID_VERSION:
                raise RequestError(
                    "runs.newer_study",
                    "study {study} was made by a newer hackathon (records of version {version}), which this "
                    "one cannot read",
                    hint="Update hackathon: `hackathon docs install` shows how.",
                    study=self.id,
                    version=version,
                )
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
            raise RequestError(
                "runs.study_broken", "{path} is not a study: study.json is missing or damaged", path=self.path
            ) from None

    def _point_records(self) -> list[dict[str, Any]]:
        return [*self.record().get("points", []), *(record for record in self.trials().values() if record)]

    @property
    def tuned(self) -> bool:
        """Whether its points are trials of `hackathon tune`."""
        return self.record().get("kind") == TUNE

    def trials(self) -> dict[int, dict[str, Any]]:
        """Return number → record of each trial of a tuning study; unfinished files are omitted."""
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
        """Return (run id, who, time of the reservation in seconds since 1970) after all takeovers."""
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
    """Return a new study in `<project>/studies/`; a study of the kind TUNE gets its points later.

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
            raise RequestError(
                "runs.bad_value", "a value of the request cannot be recorded: {what}", what=error
            ) from error
        raise UnavailableError(
            "runs.not_written",
            "{folder} cannot be written: {what}",
            hint="free some space (`hackathon clean` lists what can be deleted), or check the folder's owner and "
            "permissions",
            folder=study.path.parent,
            what=error.strerror or error,
        ) from error
    return study


def add_trial(study: Study, number: int, point: Point, request: "Request", more: Mapping[str, Any]) -> bool:
    """Write the trial with this number (from 1); return False when the number is taken. Raises UnavailableError.

    The writer of number n knows that no other trial was added since it read n − 1, so what it computed before (queue
    slots, budget) is still right.
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
        raise UnavailableError(
            "runs.not_written",
            "{folder} cannot be written: {what}",
            hint="free some space (`hackathon clean` lists what can be deleted), or check the folder's owner and "
            "permissions",
            folder=folder,
            what=error.strerror or error,
        ) from error
    step("after-trial")
    return True


def find_studies(project: Path) -> list[Study]:
    """Return the studies of a project, newest first."""
    return [Study(project / FOLDER / name) for name in list_ids(project / FOLDER)]


def find_study(text: str, project: Path, *, exact: bool = True) -> Study | None:
    """Return the study whose id contains `text`, if only one does.

    Raises RequestError when several or none match; with `exact=False` the result for none is None.
    """
    names = list_ids(project / FOLDER)
    if not exact and not meant(text, names):
        return None
    return Study(project / FOLDER / pick(text, names, "study", project / FOLDER))


def newest_study(project: Path) -> Study:
    """Return the newest study of a project. Raises RequestError without one."""
    names = list_ids(project / FOLDER)
    if not names:
        raise RequestError(
            "runs.no_study_yet",
            "there are no studies in {folder} yet",
            hint="`hackathon scale` creates one",
            folder=project / FOLDER,
        )
    return Study(project / FOLDER / names[0])


def reserve(study: Study, point: Point, run_id: str, now: float | None = None) -> bool:
    """Reserve a point for a new run; return False when another process has it.

    A reservation without a run directory is taken over when its process is gone or it is older than ABANDONED; only one
    of several concurrent processes gets it. A process that was too slow to create its run notices by `holds` before it
    submits. Raises UnavailableError when the reservation cannot be written.
    """
    folder = study.path / "points"
    reservation = study._reservation(point)
    if reservation is None:
        done = _reserve_file(folder / point.name, run_id)
    elif not _abandoned(study, reservation, now):
        return False
    else:
        done = _reserve_file(folder / _takeover(point, reservation[0]), run_id)
        if done:  # `points/<name>` is for readers; the chain of takeovers decides
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
    """Return whether the point of a run is still reserved for it. Called just before submitting."""
    point = run.study
    return point is not None and study.run_id(Point(point.processes, point.repeat, key=point.key)) == run.id


def runs_of(study: Study) -> list[RunDirectory]:
    """Return the existing runs of a study, in the order of its points."""
    runs = [RunDirectory(study.runs_folder / run_id) for point in study.points() if (run_id := study.run_id(point))]
    return [run for run in runs if (run.path / "request.json").exists()]


def pending_points(study: Study, states: Iterable[RunStatus]) -> list[Point]:
    """Return the points that have to be submitted still, in order.

    These are points without a run or with an abandoned reservation, and points whose run was created but not submitted,
    or was refused: then the point has its run. `states`: those of the study's runs. A point is not pending while it is
    unclear whether it was submitted.
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


def next_points(study: Study, limit: int | None = None, *, states: Sequence[RunStatus] | None) -> list[Point]:
    """Return the points to submit now, so that at most `limit` runs of the study are with the scheduler at once.

    `states`: those of its runs, if the caller has them; else one query to the scheduler.
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
        raise UnavailableError(
            "runs.not_written",
            "{folder} cannot be written: {what}",
            hint="free some space (`hackathon clean` lists what can be deleted), or check the folder's owner and "
            "permissions",
            folder=path.parent,
            what=error.strerror or error,
        ) from error
    return True


def _read_reservation(path: Path) -> tuple[str, dict[str, Any], float] | None:
    """Return (run id, who, when); older toolkits and file systems without hard links may leave an empty file."""
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
