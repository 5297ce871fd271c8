"""Collect the files that a diagnosis reads, and the rank that wrote each of them."""

import os
import re
from collections.abc import Sequence
from pathlib import Path

from hackathon.access.guarded_folder import GuardedFolder
from hackathon.access.guarded_path import GuardedPath
from hackathon.diagnosis.facts import RunFacts
from hackathon.diagnosis.scan import LogFile
from hackathon.logs.metrics import rank_of
from hackathon.runs.directory import RunDirectory, find_runs
from hackathon.schedulers.foreign import OUTPUT

MOST_FILES = 4000
"""Files of a folder that are read; a folder that is not a run may be anything."""
TEXT = (".log", ".out", ".err", ".txt", ".stdout", ".stderr")
# `rank-3.log`, `rank_3.out`, Open MPI's and horovodrun's `rank.3/stdout`, torchrun's `attempt_0/3/stderr.log`,
# Slurm's `job-%t.out` as people name it
_RANK = re.compile(r"(?i)(?:rank|task|worker|proc)[._-]?(\d{1,6})(?!\d)|(?:^|/)(\d{1,6})/std(?:out|err)(?:\.log)?$")


EARLIER = "logs/attempt-"
"""Beginning of the names of earlier attempts' logs, which the job script set aside: the newest one is diagnosed."""


def of_run(facts: RunFacts) -> list[LogFile]:
    """Return a run's files in reading order: scheduler, job, ranks, others."""
    folder = facts.path / "logs"
    hosts = facts.host_of
    files = []
    for path in _below(folder):
        name = str(path.relative_to(facts.path))
        if name.startswith(EARLIER):
            continue
        rank = rank_of(path) if path.parent == folder and path.suffix == ".log" else -1
        if path.name in ("scheduler.log", "scheduler-errors.log"):
            files.append((0, name, LogFile(path, name, "scheduler", None, "")))
        elif path.name == "job.log":
            files.append((1, name, LogFile(path, name, "job", None, _job_host(facts))))
        elif rank >= 0:
            files.append((2, f"{rank:09d}", LogFile(path, name, "rank", rank, hosts.get(rank, ""))))
        elif path.suffix in TEXT:
            files.append((3, name, LogFile(path, name, "other", _rank_in(name), "")))
    refused = facts.path / "client" / "refused.json"
    if facts.status is not None and facts.status.cause == "refused" and refused.is_file():
        files.append((0, "", LogFile(refused, "client/refused.json", "scheduler", None, "")))
    return [file for _, _, file in sorted(files, key=lambda entry: entry[:2])]


def runs_among(paths: Sequence[Path]) -> tuple[list[RunDirectory], list[Path]]:
    """Return the runs that paths name, and the other files and folders.

    A study stands for the runs of its points; a project or its folder `runs` for all its runs.
    """
    runs: dict[Path, RunDirectory] = {}
    files = []
    for path in paths:
        if (path / "request.json").is_file():
            listed = [RunDirectory(path.absolute())]
        elif (path / "study.json").is_file():
            from hackathon.runs.study import Study, runs_of

            listed = runs_of(Study(path.absolute()))
        elif inside := _runs_in(path.absolute()) or _runs_in(path.absolute() / "runs"):
            listed = inside
        else:
            files.append(path)
            continue
        runs |= {run.path: run for run in listed}
    return list(runs.values()), files


def _runs_in(folder: Path) -> list[RunDirectory]:
    return [run for run in find_runs(folder) if (run.path / "request.json").is_file()]


def of_paths(paths: Sequence[Path], names: Sequence[str]) -> list[LogFile]:
    """Return files that the user names, as the logs of one job; a folder stands for its text files."""
    files = []
    for path, name in zip(paths, names, strict=True):
        if path.is_dir():
            folder = guarded_folder(path)
            inside = [member for member in _below(folder) if member.suffix in TEXT or OUTPUT.search(member.name)]
            files += [_file(member, str(Path(name) / member.relative_to(folder))) for member in inside]
        else:
            files.append(_file(path, name))
    return files


def guarded_folder(path: Path) -> Path:
    """Return a folder that the user names. Another account's folder is read like a run, without links out of it."""
    try:
        own = path.stat().st_uid == os.geteuid()
    except OSError:
        own = False
    if own or isinstance(path, GuardedPath):
        return path
    absolute = path.absolute()
    return GuardedPath(absolute, folder=GuardedFolder(absolute))


def _file(path: Path, name: str) -> LogFile:
    # the content of a file that the user names is unknown: all rules apply to it
    return LogFile(path, name, "other", _rank_in(name), "")


def _rank_in(name: str) -> int | None:
    """Return the rank in the name of a file or of its folder, the last one there."""
    numbers = [match[1] or match[2] for match in _RANK.finditer("/".join(Path(name).parts[-3:]))]
    return int(numbers[-1]) if numbers else None


def _below(folder: Path) -> list[Path]:
    if isinstance(folder, GuardedPath):
        top = folder.joinpath(folder.folder.root)
        names = folder.folder.files(folder.inner, MOST_FILES)
        return [top / name for name in names if not name.rsplit("/", 1)[-1].startswith(".")]
    paths: list[Path] = []
    for directory, folders, files in os.walk(folder):
        folders.sort()
        paths += [Path(directory) / name for name in sorted(files) if not name.startswith(".")]
        if len(paths) >= MOST_FILES:
            break
    return [path for path in paths[:MOST_FILES] if path.is_file()]


def _job_host(facts: RunFacts) -> str:
    return next((str(event["host"]) for event in facts.job_events if event.get("host")), "")
