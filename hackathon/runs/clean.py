"""List deletable files of a project with their sizes, and delete them."""

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
from hackathon.runs.outputs.record import is_over, lines, outputs_of, record
from hackathon.runs.outputs.walk import RECORD, SOURCE, OutputFile, RecordedSource, walk
from hackathon.runs.states import ENDED, SUCCEEDED
from hackathon.runs.study import FOLDER
from hackathon.text.errors import RequestError
from hackathon.text.json_fields import text_of
from hackathon.text.numbers import number

PARTIAL_AGE = 3600.0
"""Age in seconds from which a hidden incomplete directory is abandoned: creating one takes seconds."""
OLD = 86_400.0
"""Seconds after its end in which a failed run is never deletable."""
CACHES = frozenset({"__pycache__", ".pytest_cache", ".ipynb_checkpoints"})


@dataclass(frozen=True)
class Candidate:
    """A folder or files that can be deleted."""

    path: Path
    reason: str
    """partial, failed, never_submitted, source, cache, output or changed_source; texts: `outputs.reason_<reason>`."""
    size: int
    """Bytes on the disk."""
    files: tuple[Path, ...] | None = None
    """The files of a folder to delete, with folders that become empty; None: the whole folder."""
    outputs: tuple[OutputFile, ...] = ()
    """Outputs of the program that are deleted with it."""


@dataclass(frozen=True)
class KeptOutputs:
    """Outputs of a run's program that a clean-up keeps."""

    run: RunDirectory
    count: int
    size: int


def candidates(
    project: Path, *, failed: bool = False, sources: bool = False, now: float | None = None
) -> list[Candidate]:
    """Return what can be deleted from a project's runs and studies, except files that a job may still use.

    Always: incomplete directories older than an hour, and the caches of sealed runs. `failed`: also whole runs that
    failed a day ago, with their outputs, or that were created a day ago and never submitted. `sources`: also the
    unchanged snapshots of sealed runs, which cannot run again then.
    """
    moment = time.time() if now is None else now
    candidates = [
        Candidate(path, "partial", disk_size(path))
        for folder in (project / "runs", project / FOLDER)
        for path in _partials(folder, moment)
    ]
    for run in find_runs(project / "runs"):
        if not run.owned() or chain.in_use(run):
            continue
        run_kind = _whole_run(run, moment) if failed else None
        if run_kind is not None:
            candidates.append(Candidate(run.path, run_kind, disk_size(run.path), outputs=walk(run, None, None).files))
        elif read_final(run) is not None:
            candidates += _caches(run)
            if sources:
                candidates += _source(run)
    return candidates


def output_candidates(run: RunDirectory) -> list[Candidate]:
    """Return all outputs of a run's program: single files, and folders with many files as one.

    Raises RequestError for another user's run and for one that is not over.
    """
    if not run.owned():
        raise RequestError(
            "outputs.not_yours", "run {run} belongs to somebody else: only its owner deletes files in it", run=run.id
        )
    if not is_over(run):
        raise RequestError(
            "outputs.not_over",
            "run {run} has not ended, or a later segment may still need its checkpoints",
            hint="`hackathon status {run!q}` shows its state; cancel it first if it is no longer needed",
            run=run.id,
        )
    recorded = {f"{SOURCE}/{name}" for name in RecordedSource(run).hashes}
    files = walk(run, None, None).files
    listing = [
        *(("changed_source", line) for line in lines([output for output in files if output.path in recorded])),
        *(("output", line) for line in lines([output for output in files if output.path not in recorded])),
    ]
    named = []
    for reason, line in listing:
        paths = tuple(run.path / output.path for output in line.files)
        named.append(Candidate(run.path / line.path, reason, sum(map(disk_size, paths)), paths, line.files))
    return named


def kept_outputs(project: Path, chosen: Sequence[Candidate]) -> list[KeptOutputs]:
    """Return the outputs of the user's sealed runs outside all candidates, the largest first."""
    going = {candidate.path for candidate in chosen}
    outputs_by_run = []
    for run in find_runs(project / "runs"):
        if run.path in going or not run.owned() or read_final(run) is None:
            continue
        outputs = outputs_of(run)
        if outputs.files:
            outputs_by_run.append(KeptOutputs(run, len(outputs.files), outputs.size))
    return sorted(outputs_by_run, key=lambda entry: -entry.size)


def remove(chosen: Sequence[Candidate], project: Path) -> int:
    """Delete candidates and return the bytes freed.

    Each is checked again: it must lie in the project's runs or studies without a link on the way, belong to the user,
    and not be part of an open run. A link is deleted, never its target. What cannot be deleted stays. Afterwards
    `outputs.json` of the runs lists what is left.
    """
    freed = 0
    emptied: set[Path] = set()
    for candidate in chosen:
        if candidate.files is not None:
            freed += _remove_files(candidate, project)
            if candidate.outputs:
                emptied.add(_top(candidate.path, project / "runs"))
            continue
        if not _still_removable(candidate, project):
            continue
        with contextlib.suppress(OSError):
            path = candidate.path
            if path.is_symlink() or not path.is_dir():
                path.unlink()
            else:
                if path.parent.absolute() == project.absolute() / "runs" and not path.name.startswith(PARTIAL):
                    # remove the whole run in one step
                    hidden = path.rename(path.with_name(f"{PARTIAL}removed-{path.name}"))
                    if candidate.reason == "never_submitted" and RunDirectory(hidden).submitting()[0]:
                        hidden.rename(path)  # somebody submitted it at this moment
                        continue
                    path = hidden
                    if candidate.reason == "failed":
                        _keep_bill(hidden, project / "runs" / REMOVED / candidate.path.name)
                shutil.rmtree(path)
            freed += candidate.size
    for folder in emptied:
        run = RunDirectory(folder)
        if (folder / RECORD).exists() and run.owned() and is_over(run):
            record(run)
    return freed


def _remove_files(candidate: Candidate, project: Path) -> int:
    """Delete the files of a candidate and the folders that become empty; return the bytes freed."""
    freed = 0
    folders: set[Path] = set()
    run = _top(candidate.path, project / "runs")
    if not _allows_removal(run, candidate.reason):
        return 0
    for path in map(_plain, candidate.files or ()):
        if not _is_own(path, project.absolute() / "runs"):
            continue
        size = disk_size(path)
        with contextlib.suppress(OSError):
            path.unlink()
            freed += size
            folders.add(path.parent)
    for folder in folders:
        while folder.is_relative_to(run) and folder != run:
            try:
                folder.rmdir()
            except OSError:
                break
            folder = folder.parent
    return freed


def _plain(path: Path) -> Path:
    """Return a path of a run as a path for writing."""
    return Path(str(path)).absolute()


def _top(path: Path, folder: Path) -> Path:
    """Return the directory of the run that contains a path below the folder `runs`."""
    folder = folder.absolute()
    return folder / _plain(path).relative_to(folder).parts[0]


def _keep_bill(run: Path, folder: Path) -> None:
    """Move the records of the job's times out of a run that is deleted: a clean-up does not refund a budget.

    They are moved, not copied, because a full disk is the reason to clean up. If even that fails, they are deleted.
    """
    with contextlib.suppress(OSError):
        (folder / "events").mkdir(parents=True, exist_ok=True)
        for name in ("request.json", "final.json", "events/job.jsonl"):
            if (run / name).is_file() and not (run / name).is_symlink():
                (run / name).rename(folder / name)


def disk_size(path: Path) -> int:
    """Return the bytes of a file or folder on the disk; links count as themselves, unreadable entries as 0."""
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
    """Return why a whole run can be deleted, None when it cannot."""
    final = read_final(run)
    if final is None:
        never = run.submitting()[0] == 0 and run.job_id() is None and not run.client("adopted")
        return "never_submitted" if never and now - run.created > OLD else None
    ended = number(final.get("t_ended")) or number(final.get("sealed")) or now
    return "failed" if text_of(final["state"]) in ENDED - {SUCCEEDED} and now - ended > OLD else None


def _source(run: RunDirectory) -> Iterator[Candidate]:
    """Yield the unchanged files of a sealed run's snapshot; files that the program wrote there stay."""
    source = RecordedSource(run)
    if not source.copied:
        return
    top = run.path / SOURCE
    files = [top / name for name in source.hashes if source.has_recorded_content(name)]
    files += [top / name for name, target in source.links.items() if _leads(top / name, target)]
    if files:
        yield Candidate(top, "source", sum(map(disk_size, files)), tuple(files))


def _leads(path: Path, target: str) -> bool:
    try:
        return str(path.readlink()) == target
    except (OSError, ValueError):
        return False


def _caches(run: RunDirectory) -> Iterator[Candidate]:
    """Yield the cache folders in a sealed run's checkpoints and source, except those of its source itself."""
    source = RecordedSource(run)
    tops = [run.path / "checkpoints", *([run.path / SOURCE] if source.copied else [])]
    waiting = [top for top in tops if not top.is_symlink() and top.is_dir()]
    while waiting:
        folder = waiting.pop()
        for entry in reversed(folder.names()):
            path = folder / entry
            if path.is_symlink() or not path.is_dir():
                continue
            name = f"{path.relative_to(run.path)}/"
            if path.name in CACHES and not source.has(name):
                yield Candidate(path, "cache", disk_size(path))
            else:
                waiting.append(path)


def _still_removable(candidate: Candidate, project: Path) -> bool:
    """Return whether a candidate may be deleted now."""
    path = candidate.path.absolute()
    for folder in (project.absolute() / "runs", project.absolute() / FOLDER):
        if _is_own(path, folder):
            return _allows_removal(folder / path.relative_to(folder).parts[0], candidate.reason)
    return False


def _is_own(path: Path, folder: Path) -> bool:
    """Return whether a path is the user's and lies below a folder without a link on the way."""
    if not path.is_relative_to(folder) or path == folder or ".." in path.parts:
        return False
    try:
        direct = path.parent.resolve() == folder.resolve() / path.parent.relative_to(folder)
        return direct and path.lstat().st_uid == os.geteuid()
    except OSError:
        return False


def _allows_removal(top: Path, reason: str) -> bool:
    """Return whether files of a run or study may be deleted; its job may run again."""
    if top.name.startswith(PARTIAL):
        return True
    run = RunDirectory(top)
    if chain.in_use(run):
        return False
    if read_final(run) is not None:
        return top.parent.name == "runs"
    return reason == "never_submitted" and read_markers(run).submitting is None
