"""What a page shows of a study and its runs, read from run directories; nobody's name is in it."""

import math
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hackathon.logs.metrics import read_metrics
from hackathon.runs.directory import RunDirectory
from hackathon.text.errors import RequestError
from hackathon.text.files import read_json, read_lines
from hackathon.text.units import format_walltime
from hackathon.web.mask import Mask

LONGEST_TEXT = 200_000
"""Letters of a script that a page shows."""
PACKAGES = (
    "torch", "tensorflow", "chainer", "horovod", "mpi4py", "cupy", "jax", "numpy",
    "nvidia-nccl-cu13", "nvidia-nccl-cu12", "nvidia-nccl-cu11",
)  # fmt: skip
"""Packages that decide a result; the rest of the list stays in the run directory."""
_PATHS = frozenset({"source"})


@dataclass(frozen=True)
class Row:
    """One line of a table: a name, a value, and where the value came from."""

    name: str
    value: str
    origin: str = ""


@dataclass(frozen=True)
class RunView:
    """One run as a page shows it."""

    id: str
    job_id: str
    status: str
    reason: str
    processes: int
    nodes: int
    value: float | None
    command: str
    """The training command as one would type it."""
    rerun: str
    """The toolkit's command that submits it again."""
    note: str = ""
    tags: tuple[str, ...] = ()
    parent: str = ""
    cluster: str = ""
    scheduler: str = ""
    queue: str = ""
    request: tuple[Row, ...] = ()
    """The resolved request with origins, empty fields left out."""
    script: str = ""
    rank_script: str = ""
    commit: str = ""
    """git commit of the source, with `+` when files differed from it; empty outside git."""
    digest: str = ""
    """SHA-256 over the source's names, contents and modes; empty when it was not recorded."""
    environment: tuple[Row, ...] = ()
    metrics: tuple[tuple[str, float | None], ...] = ()
    check_passed: bool | None = None
    check_value: float | None = None
    created: float | None = None
    started: float | None = None
    ended: float | None = None
    attempts: int = 0
    events: tuple[Row, ...] = ()
    """Warnings of the job: name `warned`, value its text."""


@dataclass(frozen=True)
class StudyView:
    """One study as a page shows it."""

    id: str
    name: str
    results: dict[str, Any]
    """DESIGN's results JSON, masked."""
    runs: tuple[RunView, ...] = ()
    created: float | None = None
    clusters: tuple[str, ...] = ()
    team: str = ""
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def best(self) -> dict[str, Any] | None:
        """The largest point with a speed-up, None when there is none."""
        good = [point for point in self.results["points"] if point["speedup"] is not None]
        return good[-1] if good else None


def study_view(
    study: Mapping[str, Any],
    results: Mapping[str, Any],
    runs: Sequence[Path],
    *,
    metrics: Mapping[str, Mapping[str, float]] | None = None,
) -> StudyView:
    """Return a study for a page: its study.json, its results, its run directories in any order.

    States and reasons are those of the results. Files that are missing or half-written leave gaps, never an error.
    `metrics` (by run id) spares reading the logs again. Users, home folders and hosts are masked in every text.
    """
    facts = {run["id"]: run for point in results["points"] for run in point["runs"]}
    checks = {entry["id"]: entry for entry in results["checks"].get("runs", ())} if results["checks"] else {}
    views = [_run_view(path, facts.get(path.name, {}), checks.get(path.name), metrics) for path in runs]
    views.sort(key=lambda view: (view.processes, view.id))
    request = _mapping(study.get("base_request"))
    view = StudyView(
        id=str(study.get("id") or results["study"]),
        name=str(study.get("name") or request.get("name") or results["study"]),
        results=dict(results),
        runs=tuple(views),
        created=_number(study.get("created")),
        clusters=tuple(sorted({view.cluster for view in views if view.cluster})),
        team=str(request.get("team") or ""),
        options=_mapping(study.get("options")),
    )
    masked: StudyView = mask_of(runs).value(view)
    return masked


def mask_of(runs: Iterable[Path]) -> Mask:
    """Return the mask for what these run directories name: owners, hosts of clients, jobs and records, servers."""
    users, hosts = set(), set()
    for path in runs:
        run = RunDirectory(path)
        created = run.client("created")
        users.add(str(created.get("user") or ""))
        hosts.add(str(created.get("host") or ""))
        job_id = run.job_id() or ""
        server = job_id.partition(".")[2]
        if server and not server.isdigit():
            hosts.add(server)
        for folder, suffix in (("env", ".json"), ("telemetry", ".csv")):
            hosts.update(entry.removesuffix(suffix) for entry in _names(path / folder) if entry.endswith(suffix))
        for name in _names(path / "events"):
            hosts.update(str(event.get("host") or "") for event in read_lines(path / "events" / name))
        hosts.update(str(_mapping(read_json(path / "env" / name)).get("host") or "") for name in _names(path / "env"))
    return Mask(users, hosts)


def _run_view(
    path: Path,
    fact: Mapping[str, Any],
    check: Mapping[str, Any] | None,
    metrics: Mapping[str, Mapping[str, float]] | None,
) -> RunView:
    run = RunDirectory(path)
    record = _mapping(read_json(path / "request.json"))
    final = _mapping(read_json(path / "final.json"))
    command = record.get("command")
    source = _mapping(read_json(path / "source.json"))
    events = list(read_lines(path / "events" / "job.jsonl"))
    starts = [event for event in events if event.get("event") == "started"]
    ends = [event for event in events if event.get("event") == "ended"]
    tags = record.get("tags")
    return RunView(
        id=path.name,
        # PBS adds the server's name to the number.
        job_id=str(fact.get("job_id") or run.job_id() or "").partition(".")[0],
        status=str(fact.get("status") or final.get("state") or "CREATED"),
        reason=str(fact.get("reason") or final.get("reason") or final.get("cause") or ""),
        processes=int(_number(record.get("processes")) or 0),
        nodes=int(_number(record.get("nodes")) or 0),
        value=_number(fact.get("value")),
        command=shlex.join(str(word) for word in command) if isinstance(command, list) else "",
        rerun=f"hackathon rerun {path.name}",
        note=str(record.get("note") or ""),
        tags=tuple(str(tag) for tag in tags) if isinstance(tags, list) else (),
        parent=str(record.get("parent") or ""),
        cluster=str(record.get("cluster") or ""),
        scheduler=str(record.get("scheduler") or ""),
        queue=str(record.get("queue") or ""),
        request=tuple(_request_rows(record)),
        script=_text(path / "job.sh"),
        rank_script=_text(path / "rank.sh"),
        commit=_commit(_mapping(source.get("git"))),
        digest=str(source.get("digest") or ""),
        environment=tuple(_environment_rows(path)),
        metrics=tuple(sorted(_metrics(path, record, metrics))),
        check_passed=check["passed"] if check else None,
        check_value=_number(check["value"]) if check else None,
        created=_number(run.client("created").get("t")),
        started=_number(starts[0].get("t")) if starts else None,
        ended=_number(ends[-1].get("t")) if ends else None,
        attempts=len(starts),
        events=tuple(
            Row(str(event.get("about") or "warned"), str(event.get("text") or ""))
            for event in events
            if event.get("event") == "warned"
        ),
    )


def _metrics(
    path: Path, record: Mapping[str, Any], known: Mapping[str, Mapping[str, float]] | None
) -> list[tuple[str, float | None]]:
    if known is not None and path.name in known:
        found = dict(known[path.name])
    else:
        try:
            found = read_metrics(path, _mapping(record.get("metrics")), str(record.get("metric") or "samples_per_s"))
        except RequestError:
            found = {}
    return [(name, value if math.isfinite(value) else None) for name, value in found.items()]


def _request_rows(record: Mapping[str, Any]) -> list[Row]:
    """Return the request's fields that say something; parameters and variables one line each."""
    origins = _mapping(record.get("origins"))
    rows = []
    hidden = {"origins", "schema_version", "note", "tags", "parent", "study", "command", "metrics"}
    for name, value in record.items():
        if name in hidden or value in (None, "", [], {}):
            continue
        if name in ("parameters", "variables") and isinstance(value, dict):
            short = name.removesuffix("s")
            rows += [Row(f"{short} {key}", str(entry), _origin(origins, name, key)) for key, entry in value.items()]
        elif isinstance(value, dict):
            shown = ", ".join(f"{key} {entry}" for key, entry in value.items() if entry is not None)
            rows.append(Row(name, shown, str(origins.get(name) or "")))
        elif isinstance(value, list):
            rows.append(Row(name, "\n".join(str(entry) for entry in value), str(origins.get(name) or "")))
        elif name == "walltime" and isinstance(value, int):
            rows.append(Row(name, format_walltime(value), str(origins.get(name) or "")))
        else:
            shown = Path(str(value)).name if name in _PATHS else str(value)
            rows.append(Row(name, shown, str(origins.get(name) or "")))
    return rows


def _origin(origins: Mapping[str, Any], name: str, key: str) -> str:
    return str(origins.get(f"{name}.{key}") or origins.get(name) or "")


def _environment_rows(path: Path) -> list[Row]:
    """Return what the hosts ran with, each different value once; names are keys of the catalogue (`web.env_…`)."""
    hosts = [_mapping(read_json(path / "env" / name)) for name in _names(path / "env") if name.endswith(".json")]
    hosts = [host for host in hosts if host]
    rows = []

    def add(name: str, values: Iterable[str]) -> None:
        different = list(dict.fromkeys(value for value in values if value))
        if different:
            rows.append(Row(name, "\n".join(different)))

    add("python", (str(host.get("python") or "").split(" ")[0] for host in hosts))
    packages = [_mapping(host.get("packages")) for host in hosts]
    add("packages", (f"{name} {each[name]}" for name in PACKAGES for each in packages if name in each))
    add("mpi", (str(host.get("mpi") or "") for host in hosts))
    add("modules", (" ".join(map(str, host.get("modules") or ())) for host in hosts))
    add("gpus", (_counted(host.get("gpus")) for host in hosts))
    add("cores", (str(host.get("cores") or "") for host in hosts))
    add("kernel", (str(host.get("kernel") or "") for host in hosts))
    add("interfaces", (" ".join(map(str, host.get("interfaces") or ())) for host in hosts))
    return rows


def _counted(values: object) -> str:
    """Return `2 × P100` from a list of equal texts."""
    if not isinstance(values, list):
        return ""
    counts = {str(value): values.count(value) for value in values}
    return ", ".join(f"{count} × {value}" if count > 1 else value for value, count in counts.items())


def _commit(git: Mapping[str, Any]) -> str:
    """Return the git commit of the snapshot, `+` behind it when the files differed."""
    return f"{git['commit']}{'+' if git.get('dirty') else ''}" if git.get("commit") else ""


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:
        return None


def _names(folder: Path) -> list[str]:
    try:
        return sorted(path.name for path in folder.iterdir())
    except OSError:
        return []


def _bytes(path: Path) -> bytes:
    try:
        with path.open("rb") as stream:
            return stream.read(4 * LONGEST_TEXT)
    except OSError:
        return b""


def _text(path: Path) -> str:
    return _bytes(path).decode("utf-8", "replace")[:LONGEST_TEXT]
