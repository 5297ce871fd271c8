"""The small job of a checklist (one process, the project's own environment, queue and group) and its report."""

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hackathon.board.entry import clean_line
from hackathon.config.command import interpreter_of
from hackathon.readiness import job
from hackathon.readiness.job import MARK
from hackathon.readiness.wanted import MOST_FILES, MOST_MODULES, ProbeTask
from hackathon.runs.directory import files_of
from hackathon.runs.record import PROBE_PROGRAM, PROBE_TAG

if TYPE_CHECKING:
    from hackathon.jobs.request import Request
    from hackathon.jobs.resolve import Sources
    from hackathon.runs.campaign import Admit
    from hackathon.runs.submit import Outcomes

LIMIT = 60.0
"""Seconds after its start in which the job must end."""
WALLTIME = 300
WANTED, LOG = "wanted.json", "logs/rank-0.log"
_READ = 1_000_000


@dataclass(frozen=True)
class NodeReport:
    """The job's report about its node; all texts are cleaned, because anybody may have written the log."""

    python: str = ""
    host: str = ""
    versions: dict[str, str] = field(default_factory=dict)
    """Package that could be imported → version."""
    failed: dict[str, str] = field(default_factory=dict)
    """Package that could not be imported → why."""
    files: dict[str, Any] = field(default_factory=dict)
    """Path → [size, sample] as the node reads the file, or {"error"}."""
    gpus: int | None = None


def submit_probe(sources: "Sources", task: ProbeTask, admit: "Admit") -> "Outcomes":
    """Submit the job of a checklist: the project's own job with another shape and program.

    Raises RequestError if the cluster would not run it, the errors of `admit`, and those of `create`.
    """
    from hackathon.jobs.resolve import resolve
    from hackathon.runs.campaign import plan, start
    from hackathon.runs.source.snapshot import SnapshotFile, Source

    small = replace(sources, options=replace(sources.options, nodes=1, processes=1, processes_per_node=1))
    request = resolve(small)
    walltime = min(WALLTIME, request.walltime)
    request = replace(request, data=(), walltime=walltime, stop_before=min(request.stop_before, walltime // 5))
    planned = plan(small, [request], become=lambda original: _probe_of(original, str(sources.runs.parent)), admit=admit)
    contents = {
        PROBE_PROGRAM: Path(job.__file__).read_bytes(),
        WANTED: (json.dumps(task.to_json(), indent=1) + "\n").encode("utf-8", "surrogatepass"),
    }
    files = {name: SnapshotFile(raw, hashlib.sha256(raw).hexdigest()) for name, raw in contents.items()}
    return start(planned, tags=(PROBE_TAG,), source=Source(sources.runs.parent, files))


def _probe_of(request: "Request", source: str) -> "Request":
    """Return the job's request: the project's own for one process."""
    return replace(
        request,
        name=PROBE_TAG,
        recipe=None,
        framework=None,
        command=(interpreter_of(request.command), PROBE_PROGRAM),
        parameters={},
        # copying data to the node's own disk would take longer than the job's time limit
        variables={name: value for name, value in request.variables.items() if name != "HK_STAGE"},
        launcher="local",
        metric="seconds",
        metrics={},
        check=None,
        mode=None,
        signal="none",
        source=source,
        in_place=False,
        exclude=(),
    )


def wanted_by(run: Path) -> ProbeTask:
    """Return the job's task, from its own source folder."""
    value = files_of(run).json(f"source/{WANTED}", 16 * _READ)
    modules, files = value.get("modules"), value.get("files")
    return ProbeTask(
        tuple(name for name in modules if isinstance(name, str)) if isinstance(modules, list) else (),
        {path: sample for path, sample in files.items() if isinstance(sample, (list, dict))}
        if isinstance(files, dict)
        else {},
    )


def told_by(run: Path) -> NodeReport | None:
    """Return the job's last report; None if there is none that can be parsed."""
    tail = files_of(run).end(LOG, _READ)
    lines = (tail[0] if tail else b"").decode("utf-8", "replace").splitlines()
    for line in reversed(lines):
        if line.startswith(MARK):
            try:
                value = json.loads(line[len(MARK) :])
            except (ValueError, RecursionError):
                continue
            if isinstance(value, dict):
                return _told(value)
    return None


def _told(value: Mapping[str, Any]) -> NodeReport:
    modules, files, gpus = value.get("modules"), value.get("files"), value.get("gpus")
    versions, failed = {}, {}
    for name, facts in list(modules.items())[:MOST_MODULES] if isinstance(modules, dict) else ():
        if isinstance(facts, dict) and isinstance(facts.get("version"), str):
            versions[clean_line(name)] = clean_line(facts["version"])
        elif isinstance(facts, dict):
            failed[clean_line(name)] = clean_line(str(facts.get("error", "")))
    return NodeReport(
        python=clean_line(str(value.get("python", ""))),
        host=clean_line(str(value.get("host", ""))),
        versions=versions,
        failed=failed,
        files=dict(list(files.items())[:MOST_FILES]) if isinstance(files, dict) else {},
        gpus=gpus if isinstance(gpus, int) and not isinstance(gpus, bool) and 0 <= gpus < 1000 else None,
    )


def differing(task: ProbeTask, report: NodeReport) -> list[tuple[str, str]]:
    """Return the files that differ between a node and the login node, each with a short reason."""
    differences = []
    for path, expected in task.files.items():
        sample = report.files.get(path)
        if sample != expected or isinstance(expected, dict):
            error = sample.get("error") if isinstance(sample, dict) else None
            differences.append((clean_line(path), clean_line(str(error)) if error else ""))
    return differences


def seconds_of(begun: float | None, ended: float | None) -> float | None:
    """Return the seconds between two moments; None if one is missing or the end comes first."""
    if begun is None or ended is None or not math.isfinite(ended - begun):
        return None
    return max(0.0, ended - begun) if ended >= begun - 1 else None
