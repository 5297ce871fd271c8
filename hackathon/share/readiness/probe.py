"""The small job of a checklist: one process, the project's own environment, queue and group; and what it said."""

import hashlib
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hackathon.runs.directory import RunDirectory
from hackathon.runs.probe import PROGRAM, TAG
from hackathon.share.entry import clean_line
from hackathon.share.readiness import job
from hackathon.share.readiness.job import MARK
from hackathon.share.readiness.wanted import MOST_FILES, MOST_MODULES, Wanted
from hackathon.text.inside import Inside

if TYPE_CHECKING:
    from hackathon.jobs.request import Request
    from hackathon.jobs.resolve import Sources

LIMIT = 60.0
"""Seconds in which the job must be over once it has begun."""
WALLTIME = 300
WANTED, LOG = "wanted.json", "logs/rank-0.log"
_READ = 1_000_000


@dataclass(frozen=True)
class Told:
    """What the job said of the node it ran on; everything is cleaned, for anybody may have written the log."""

    python: str = ""
    host: str = ""
    versions: dict[str, str] = field(default_factory=dict)
    """Package that was imported → version."""
    failed: dict[str, str] = field(default_factory=dict)
    """Package that could not be imported → why."""
    files: dict[str, Any] = field(default_factory=dict)
    """Path → [size, sample] as the node reads it, or {"error"}."""
    gpus: int | None = None


def submit_probe(sources: "Sources", request: "Request", wanted: Wanted) -> RunDirectory:
    """Make the run of `probe_request`, submit it and return it. Raises as `create` and `submit` do."""
    from hackathon.jobs.render import render
    from hackathon.runs.create import create
    from hackathon.runs.snapshot import Entry, Source
    from hackathon.runs.submit import submit
    from hackathon.schedulers import registry

    contents = {
        PROGRAM: Path(job.__file__).read_bytes(),
        WANTED: (json.dumps(wanted.to_json(), indent=1) + "\n").encode("utf-8", "surrogatepass"),
    }
    files = {name: Entry(raw, hashlib.sha256(raw).hexdigest()) for name, raw in contents.items()}
    run = create(
        request,
        render(request, sources.cluster, sources.template_folders),
        runs_folder=sources.runs,
        tags=(TAG,),
        source=Source(sources.runs.parent, files),
    )
    submit(run, registry.load(request.scheduler))
    return run


def probe_request(sources: "Sources") -> "Request":
    """Return the request of the job: the project's in all but its shape and its program. Raises RequestError."""
    from hackathon.jobs.check import check
    from hackathon.jobs.resolve import resolve

    options = replace(sources.options, nodes=1, processes=1, processes_per_node=1)
    request = resolve(replace(sources, options=options))
    walltime = min(WALLTIME, request.walltime)
    request = replace(request, data=(), walltime=walltime, stop_before=min(request.stop_before, walltime // 5))
    check(request, sources.cluster, sources.recipe, sources.runs)
    return replace(
        request,
        name=TAG,
        recipe=None,
        framework=None,
        command=(_python(request.command), PROGRAM),
        parameters={},
        # copying data to the node's own disk would take longer than the job may
        variables={name: value for name, value in request.variables.items() if name != "HK_STAGE"},
        launcher="local",
        metric="seconds",
        metrics={},
        check=None,
        mode=None,
        signal="none",
        source=str(sources.runs.parent),
        in_place=False,
    )


def _python(command: Iterable[str]) -> str:
    """Return the interpreter that a command names, else `python3`."""
    first = next(iter(command), "")
    return first if Path(first).name.startswith("python") else "python3"


def wanted_by(run: Path) -> Wanted:
    """Return what a job was to look at, as it lies in its own source."""
    value = Inside(run).json(f"source/{WANTED}", 16 * _READ)
    modules, files = value.get("modules"), value.get("files")
    return Wanted(
        tuple(each for each in modules if isinstance(each, str)) if isinstance(modules, list) else (),
        {path: each for path, each in files.items() if isinstance(each, (list, dict))}
        if isinstance(files, dict)
        else {},
    )


def told_by(run: Path) -> Told | None:
    """Return what a job said at last, None when it said nothing that can be understood."""
    found = Inside(run).end(LOG, _READ)
    lines = (found[0] if found else b"").decode("utf-8", "replace").splitlines()
    for line in reversed(lines):
        if line.startswith(MARK):
            try:
                value = json.loads(line[len(MARK) :])
            except (ValueError, RecursionError):
                continue
            if isinstance(value, dict):
                return _told(value)
    return None


def _told(value: Mapping[str, Any]) -> Told:
    modules, files, gpus = value.get("modules"), value.get("files"), value.get("gpus")
    versions, failed = {}, {}
    for name, each in list(modules.items())[:MOST_MODULES] if isinstance(modules, dict) else ():
        if isinstance(each, dict) and isinstance(each.get("version"), str):
            versions[clean_line(name)] = clean_line(each["version"])
        elif isinstance(each, dict):
            failed[clean_line(name)] = clean_line(str(each.get("error", "")))
    return Told(
        python=clean_line(str(value.get("python", ""))),
        host=clean_line(str(value.get("host", ""))),
        versions=versions,
        failed=failed,
        files=dict(list(files.items())[:MOST_FILES]) if isinstance(files, dict) else {},
        gpus=gpus if isinstance(gpus, int) and not isinstance(gpus, bool) and 0 <= gpus < 1000 else None,
    )


def differing(wanted: Wanted, told: Told) -> list[tuple[str, str]]:
    """Return the files that a node does not see as the login node does, each with the reason in a word or two."""
    found = []
    for path, expected in wanted.files.items():
        there = told.files.get(path)
        if there != expected or isinstance(expected, dict):
            error = there.get("error") if isinstance(there, dict) else None
            found.append((clean_line(path), clean_line(str(error)) if error else ""))
    return found


def seconds_of(begun: float | None, ended: float | None) -> float | None:
    """Return the seconds between two moments, None when one is missing or the end comes first."""
    if begun is None or ended is None or not math.isfinite(ended - begun):
        return None
    return max(0.0, ended - begun) if ended >= begun - 1 else None
