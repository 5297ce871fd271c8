"""Create a run directory: build it under a hidden name, then rename it."""

import contextlib
import errno
import json
import os
import shutil
import stat
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hackathon
from hackathon.config.trust import writable_folder
from hackathon.runs.directory import PARTIAL, RunDirectory, new_run_id
from hackathon.runs.source import provenance, snapshot
from hackathon.text.errors import HackathonError, RequestError, UnavailableError
from hackathon.text.kill_points import step
from hackathon.text.paths import runtime_file, shipped

if TYPE_CHECKING:
    from hackathon.jobs.request import Request
    from hackathon.jobs.script import JobScript

STEPS = "steps.py"
"""Records in each rank's Python how long steps take; `rank.sh` loads it."""
JOB_FOLDERS = ("events", "logs", "metrics", "telemetry", "env")
"""Folders that the job writes into. The job creates them, except `logs`: the scheduler writes there first."""


def create(
    request: "Request",
    script: "JobScript",
    *,
    runs_folder: Path,
    note: str = "",
    tags: Sequence[str] = (),
    parent: str | None = None,
    study: dict[str, Any] | None = None,
    source: snapshot.Source | None = None,
    run_id: str | None = None,
    facts: dict[str, dict[str, Any]] | None = None,
    chain: Sequence[str] = (),
    files: Mapping[str, bytes] | None = None,
) -> RunDirectory:
    """Return a complete new run directory in `runs_folder`, which is created if missing.

    `source`: the result of `snapshot.take`; one serves every run of a command. Without it the request's folder is read
    now (only hashed with `request.in_place`). `run_id`: set when a study has reserved it. `facts`: further files for
    `client/`. `chain`: the run ids of all segments. `files`: further files, each in a folder of its own (path in the
    run's directory → content). A reader sees the complete directory or none. An error leaves nothing; SIGKILL leaves a
    hidden `.partial-…`, which `clean` removes. Modes follow the folder's, not the umask. Raises RequestError (source,
    values that JSON cannot hold, no permission) and UnavailableError (disk full, quota).
    """
    if source is None:
        source = snapshot.of_request(request, runs_folder)
    runs_folder = runs_folder.absolute()
    run = RunDirectory(runs_folder / (run_id or new_run_id(request.name, request.processes)))
    record = {
        **_record(request),
        "note": note,
        "tags": list(tags),
        "parent": parent,
        "study": study,
        **({"chain": list(chain)} if chain else {}),
    }
    partial = runs_folder / f"{PARTIAL}{run.id}"
    try:
        writable_folder(runs_folder)
        modes = modes_below(runs_folder)
        partial.mkdir(mode=0o700)
        step("after-mkdir")
        try:
            _write_job(partial, source, request, record, script, facts or {}, modes)
            if chain:  # the job script reads this: number, number of segments, the first one, the one before
                words = [str(chain.index(run.id) + 1), str(len(chain)), chain[0], parent or ""]
                _put(partial / "segment", f"{' '.join(words)}\n".encode(), modes[1])
            for name, content in (files or {}).items():
                _put_below(partial, name, content, modes)
            step("after-files")
            partial.chmod(modes[0])
            partial.rename(run.path)
        except BaseException:
            with contextlib.suppress(OSError):
                shutil.rmtree(partial)
            raise
    except HackathonError:
        raise
    except ValueError as error:
        raise RequestError("runs.bad_value", "a value of the request cannot be recorded: {what}", what=error) from error
    except OSError as error:
        raise _failure(error, runs_folder) from error
    step("after-rename")
    return run


def hand_on(request: "Request", script: "JobScript", folder: Path, *, runs_folder: Path) -> tuple[str, ...]:
    """Write a new folder from which anybody can submit the job repeatedly; return what was left out of it.

    `script`: the result of `render(…, handed_on=…)`. The folder may exist if it is empty. It appears complete or not at
    all. Raises RequestError (not empty, among the runs, the current folder, source, no permission) and UnavailableError
    (disk full, quota).
    """
    folder = folder.absolute()
    destination = folder.resolve()
    if destination.exists() and not (destination.is_dir() and next(destination.iterdir(), None) is None):
        raise RequestError("runs.hand_on_not_empty", "{folder} exists and is not an empty folder", folder=folder)
    if destination.is_relative_to(runs_folder.resolve()):
        raise RequestError(
            "runs.hand_on_in_runs",
            "{folder} lies in {runs}, where runs are kept; choose a folder elsewhere",
            folder=folder,
            runs=runs_folder,
        )
    if destination == Path.cwd():
        raise RequestError("runs.hand_on_here", "{folder} is the current folder; name a new one", folder=folder)
    source = snapshot.of_request(request, runs_folder)
    partial = destination.with_name(f"{PARTIAL}{destination.name}-{os.getpid()}")
    try:
        writable_folder(destination.parent)
        modes = modes_below(destination.parent)
        partial.mkdir(mode=0o700)
        try:
            _write_job(partial, source, request, _record(request), script, {}, modes)
            (partial / "jobs").mkdir()
            for path in (partial / "jobs", partial):
                path.chmod(modes[0])
            partial.rename(destination)
        except BaseException:
            with contextlib.suppress(OSError):
                shutil.rmtree(partial)
            raise
    except OSError as error:
        raise _failure(error, destination.parent) from error
    return source.warnings


def modes_below(folder: Path) -> tuple[int, int]:
    """Return the modes of new folders and files in a folder: the owner's, plus its read access for others.

    Only a run's owner writes in it, so a group with write access to the folder gets only read access.
    """
    granted = stat.S_IMODE(folder.stat().st_mode)
    return 0o700 | granted & 0o055 | granted & stat.S_ISGID, 0o600 | granted & 0o044


def _record(request: "Request") -> dict[str, Any]:
    """Return the part of `request.json` that is the same for a run and for a folder of `render --to`."""
    return {**request.to_json(), "toolkit_version": hackathon.__version__}


def _write_job(
    partial: Path, source: snapshot.Source, request: "Request", record: dict[str, Any], script: "JobScript",
    facts: dict[str, dict[str, Any]], modes: tuple[int, int],
) -> None:  # fmt: skip
    """Write all files of a job into a hidden folder."""
    added = snapshot.with_runtime(source, request.command, runtime_file())
    _write_source(partial, source, added, modes)
    step("after-source")
    _write_rest(partial, record, script, facts, modes)


def _write_source(
    partial: Path, source: snapshot.Source, added: dict[str, snapshot.SnapshotFile], modes: tuple[int, int]
) -> None:
    if source.in_place:
        _put(partial / "source.sha256", source.checksums(), modes[1])
    else:
        snapshot.write(source, partial / "source", added, modes)
    _put(partial / "source.json", _json(source.record(added)), modes[1])
    if source.diff:
        _put(partial / "source.diff", source.diff, modes[1])


def _write_rest(
    partial: Path, record: dict[str, Any], script: "JobScript", facts: dict[str, dict[str, Any]], modes: tuple[int, int]
) -> None:
    folder_mode, file_mode = modes
    _put(partial / "request.json", _json(record), file_mode)
    executable = file_mode | 0o100 | (file_mode & 0o044) >> 2
    for name, text in script.files.items():
        _put(partial / name, text.encode("utf-8", "surrogateescape"), executable)
    _put(partial / STEPS, shipped("templates", "jobs", STEPS).read_bytes(), file_mode)
    for name in ("logs", "client"):
        os.mkdir(partial / name, 0o700)  # noqa: PTH102
        os.chmod(partial / name, folder_mode)  # noqa: PTH101
    for name, fact in {"created": {"t": time.time(), **provenance.facts()}, **facts}.items():
        _put(partial / "client" / f"{name}.json", _json(fact), file_mode)


def _json(value: dict[str, Any]) -> bytes:
    return (json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode("utf-8", "surrogateescape")


def _put_below(partial: Path, name: str, content: bytes, modes: tuple[int, int]) -> None:
    folder = (partial / name).parent
    folder.mkdir(mode=0o700, exist_ok=True)
    folder.chmod(modes[0])
    _put(partial / name, content, modes[1])


def _put(path: Path, content: bytes, mode: int) -> None:
    """Write a new file. Nobody reads it before the directory has its final name, so no rename is needed."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(content)
        os.fchmod(descriptor, mode)


def _failure(error: OSError, folder: Path) -> HackathonError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return UnavailableError(
            "runs.disk_full",
            "{folder}: {what}: no run was created",
            hint="free some space (`hackathon clean` lists what can be deleted), or check your quota",
            folder=folder,
            what=error.strerror,
        )
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return RequestError(
            "runs.no_permission",
            "cannot write runs to {folder}: {what}",
            hint="work in your own copy of the project",
            folder=folder,
            what=error.strerror,
        )
    return UnavailableError(
        "runs.not_written",
        "{folder} cannot be written: {what}",
        hint="free some space (`hackathon clean` lists what can be deleted), or check the folder's owner and "
        "permissions",
        folder=folder,
        what=error.strerror or error,
    )
