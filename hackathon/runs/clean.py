"""What can go from a project, with sizes; and its removal."""

import contextlib
import os
import shutil
import stat
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from hackathon.runs import chain
from hackathon.runs.directory import PARTIAL, REMOVED, RunDirectory, find_runs
from hackathon.runs.markers import read_final, read_markers
from hackathon.runs.states import ENDED, SUCCEEDED
from hackathon.runs.study import FOLDER
from hackathon.text.files import read_json
from hackathon.text.json_fields import mapping_of, number, text_of

PARTIAL_AGE = 3600.0
"""Seconds after which a hidden half-made directory belongs to nobody: making one takes seconds."""
OLD = 86_400.0
"""Seconds after its end that a failed run is kept in any case."""
CACHES = frozenset({"__pycache__", ".pytest_cache", ".ipynb_checkpoints"})
CHECKPOINT_FOLDERS = frozenset({"checkpoints", "checkpoint", "lightning_logs", "snapshots"})
CHECKPOINT_ENDINGS = (".pt", ".pth", ".ckpt", ".safetensors", ".h5", ".npz")


@dataclass(frozen=True)
class Candidate:
    """Something that can go."""

    path: Path
    reason: str
    """partial, failed, never_submitted, checkpoint, source, cache: `message(f"runs.clean_{reason}")` tells a person."""
    size: int
    """Bytes on the disk."""


def candidates(
    project: Path, *, failed: bool = False, sources: bool = False, now: float | None = None
) -> list[Candidate]:
    """Return what can go from a project's runs and studies; nothing of a run that a job may still use.

    Always: half-made directories older than an hour; of sealed runs the checkpoints and caches. `failed`: whole runs
    that ended without success a day ago, or were made a day ago and never submitted. `sources`: the snapshots of sealed
    runs (which cannot be run again then).
    """
    moment = time.time() if now is None else now
    found = [
        Candidate(path, "partial", disk_size(path))
        for folder in (project / "runs", project / FOLDER)
        for path in _partials(folder, moment)
    ]
    for run in find_runs(project / "runs"):
        if not run.owned() or chain.in_use(run):
            continue
        whole = _whole_run(run, moment) if failed else None
        if whole is not None:
            found.append(Candidate(run.path, whole, disk_size(run.path)))
        elif read_final(run) is not None:
            found += _parts(run, sources)
    return found


def remove(chosen: Sequence[Candidate], project: Path) -> int:
    """Remove what `candidates` named and return the bytes freed.

    Each is looked at again: it must lie below the project's runs or studies without a link on the way, belong to the
    user, and not be part of an open run. A link is removed, never what it leads to. What cannot be removed stays.
    """
    freed = 0
    for candidate in chosen:
        if not _still_removable(candidate, project):
            continue
        with contextlib.suppress(OSError):
            path = candidate.path
            if path.is_symlink() or not path.is_dir():
                path.unlink()
            else:
                if path.parent.absolute() == project.absolute() / "runs" and not path.name.startswith(PARTIAL):
                    hidden = path.rename(path.with_name(f"{PARTIAL}removed-{path.name}"))  # all of it at once
                    if candidate.reason == "never_submitted" and RunDirectory(hidden).submitting()[0]:
                        hidden.rename(path)  # somebody submitted it in this very moment
                        continue
                    path = hidden
                    if candidate.reason == "failed":
                        _keep_bill(hidden, project / "runs" / REMOVED / candidate.path.name)
                shutil.rmtree(path)
            freed += candidate.size
    return freed


def _keep_bill(run: Path, place: Path) -> None:
    """Move what says how long the job held its nodes out of a run that goes: a budget is not freed by a clean-up.

    Moved, not copied, because a disk that is full is the reason to clean up; where not even that is possible, it goes.
    """
    with contextlib.suppress(OSError):
        (place / "events").mkdir(parents=True, exist_ok=True)
        for name in ("request.json", "final.json", "events/job.jsonl"):
            if (run / name).is_file() and not (run / name).is_symlink():
                (run / name).rename(place / name)


def disk_size(path: Path) -> int:
    """Return the bytes that a file or a folder takes on the disk; links count as themselves, errors as nothing."""
    try:
        facts = path.lstat()
    except OSError:
        return 0
    total = facts.st_blocks * 512
    if stat.S_ISDIR(facts.st_mode):
        with contextlib.suppress(OSError), os.scandir(path) as entries:
            total += sum(disk_size(Path(entry.path)) for entry in entries)
    return total


def _partials(folder: Path, now: float) -> Iterator[Path]:
    with contextlib.suppress(OSError):
        for path in sorted(folder.iterdir()):
            if path.name.startswith(PARTIAL):
                facts = path.lstat()
                if facts.st_uid == os.geteuid() and now - facts.st_mtime > PARTIAL_AGE:
                    yield path


def _whole_run(run: RunDirectory, now: float) -> str | None:
    """Return why a whole run can go, None when it cannot."""
    final = read_final(run)
    if final is None:
        never = run.submitting()[0] == 0 and run.job_id() is None and not run.client("adopted")
        return "never_submitted" if never and now - run.created > OLD else None
    ended = number(final.get("t_ended")) or number(final.get("sealed")) or now
    return "failed" if text_of(final["state"]) in ENDED - {SUCCEEDED} and now - ended > OLD else None


def _parts(run: RunDirectory, sources: bool) -> Iterator[Candidate]:
    """Yield the parts of a sealed run that can go."""
    source = run.path / "source"
    if sources and source.is_dir() and not source.is_symlink():
        yield Candidate(source, "source", disk_size(source))
    record = read_json(run.path / "source.json")
    known = frozenset({*mapping_of(mapping_of(record).get("files")), *mapping_of(mapping_of(record).get("links"))})
    for top in (run.path / "checkpoints", source):
        if top == source and sources:
            continue
        yield from _below(top, source, known)


def _below(top: Path, source: Path, known: frozenset[str]) -> Iterator[Candidate]:
    """Yield checkpoints and caches at or below a folder; what was part of the snapshot is source, whatever its name."""
    waiting = [top]
    while waiting:
        path = waiting.pop()
        name = str(path.relative_to(source)) if path.is_relative_to(source) else ""
        if path.is_symlink() or name in known:
            continue
        if path.is_dir():
            inside = any(entry.startswith(f"{name}/") for entry in known) if name else False
            if path.name in CACHES:
                yield Candidate(path, "cache", disk_size(path))
            elif path.name in CHECKPOINT_FOLDERS and not inside:
                yield Candidate(path, "checkpoint", disk_size(path))
            else:
                with contextlib.suppress(OSError):
                    waiting += sorted(path.iterdir(), reverse=True)
        elif path.suffix in CHECKPOINT_ENDINGS:
            yield Candidate(path, "checkpoint", disk_size(path))


def _still_removable(candidate: Candidate, project: Path) -> bool:
    """Return whether a candidate may be removed now."""
    path = candidate.path.absolute()
    for folder in (project.absolute() / "runs", project.absolute() / FOLDER):
        if not path.is_relative_to(folder) or path == folder or ".." in path.parts:
            continue
        try:
            if path.parent.resolve() != folder.resolve() / path.parent.relative_to(folder):
                return False  # a link on the way
            if path.lstat().st_uid != os.geteuid():
                return False
        except OSError:
            return False
        top = folder / path.relative_to(folder).parts[0]
        if top.name.startswith(PARTIAL):
            return True
        run = RunDirectory(top)
        if chain.in_use(run):
            return False
        if read_final(run) is not None:
            return folder.name == "runs"
        return candidate.reason == "never_submitted" and read_markers(run).submitting is None
    return False
