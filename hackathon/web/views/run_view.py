"""The record of one run for a page: its request, scripts, source, environment, and end. Nothing is masked here."""

import math
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hackathon.access.guarded_folder import GuardedFolder
from hackathon.index.memory import Memory
from hackathon.jobs.origins import origin_text
from hackathon.logs.final import MOST_LOGS, Numbers, final_numbers
from hackathon.logs.metrics import rank_of
from hackathon.logs.values import number
from hackathon.runs.record import RunRecord, read_record
from hackathon.text.errors import RequestError
from hackathon.text.messages import N_, _
from hackathon.text.units import format_walltime

_ROW_TEXTS = {
    "parameters": N_("parameter {name}"),
    "variables": N_("variable {name}"),
}

LAST = 64 << 10
"""Bytes at the end of a Meter's file that are searched for its final line."""
KEPT = 500
"""Runs whose final numbers are cached."""
HOSTS = 256
"""Hosts whose environment is read."""
LONGEST_TEXT = 200_000
"""Characters of a script that a page shows."""
PACKAGES = (
    "torch", "tensorflow", "chainer", "horovod", "mpi4py", "cupy", "jax", "numpy",
    "nvidia-nccl-cu13", "nvidia-nccl-cu12", "nvidia-nccl-cu11",
)  # fmt: skip
"""Packages that determine a result; the complete list stays in the run directory."""
_PATHS = frozenset({"source"})


@dataclass(frozen=True)
class RunFact:
    """One row of a table: a name, a value, and its origin."""

    name: str
    value: str
    origin: str = ""


@dataclass(frozen=True)
class RunView:
    """One run for its page."""

    id: str
    job_id: str
    """Without the server's name."""
    command: str
    """The training command as a user would type it."""
    rerun: str
    """The toolkit's command that submits it again."""
    note: str = ""
    tags: tuple[str, ...] = ()
    cluster: str = ""
    scheduler: str = ""
    queue: str = ""
    request: tuple[RunFact, ...] = ()
    """The resolved request with origins, empty fields left out."""
    script: str = ""
    library: str = ""
    rank_script: str = ""
    commit: str = ""
    """git commit of the source, with `+` if files differed from it; empty outside git."""
    digest: str = ""
    """SHA-256 over the source's names, contents and modes; empty if it was not recorded."""
    environment: tuple[RunFact, ...] = ()
    metrics: tuple[tuple[str, float | None], ...] = ()
    """Final numbers by name; None: not finite."""
    whole: bool = True
    """Whether all sources of the numbers were read."""
    attempts: int = 0


def run_view(path: Path, inside: GuardedFolder, memory: Memory) -> RunView:
    """Return a run for a page; files that are missing, half-written or malformed leave gaps."""
    record = read_record(path, inside.json)
    source = inside.json("source.json")
    numbers = end_metrics(path, inside, record, memory)
    metrics = sorted(numbers.values.items())
    return RunView(
        id=path.name,
        # some schedulers append the server's name to the number
        job_id=_job_of(inside).partition(".")[0],
        command=shlex.join(record.command),
        rerun=f"hackathon rerun {shlex.quote(path.name)}",
        note=record.note,
        tags=record.tags,
        cluster=record.cluster,
        scheduler=record.scheduler,
        queue=record.queue,
        request=tuple(request_rows(record)),
        script=inside.text("job.sh", LONGEST_TEXT),
        library=inside.text("hackathon.sh", LONGEST_TEXT),
        rank_script=inside.text("rank.sh", LONGEST_TEXT),
        commit=_commit(mapping(source.get("git"))),
        digest=str(source.get("digest") or ""),
        environment=tuple(_environment_rows(inside)),
        metrics=tuple((name, value if math.isfinite(value) else None) for name, value in metrics),
        whole=numbers.whole,
        attempts=sum(event.get("event") == "started" for event in inside.lines("events/job.jsonl")),
    )


def _job_of(inside: GuardedFolder) -> str:
    """Return the job's id as RunDirectory.job_id does; empty if there is none."""
    facts = (inside.json(f"client/{name}.json").get("job_id") for name in ("submitted", "recovered", "adopted"))
    claim = inside.text("claim/job_id", 1000).strip()
    return claim or next((str(job) for job in facts if job), "")


def end_metrics(path: Path, inside: GuardedFolder, record: RunRecord, memory: Memory) -> Numbers:
    """Return a run's final numbers, or its numbers so far; marked as incomplete if one of its files is refused.

    They are read again only after a change of a file.
    """
    over = bool(inside.json("final.json")) or any(
        event.get("event") == "ended" for event in inside.lines("events/job.jsonl")
    )
    key = (str(path), over, record.metric, repr(record.metrics), *inside.facts(("metrics", "logs")))
    cached: Numbers | None = memory.recall("end metrics", key)
    if cached is None:
        try:
            numbers = final_numbers(path, record, over=over, most_bytes=MOST_LOGS)
        except RequestError:
            return Numbers(whole=False)
        cached = replace(numbers, whole=numbers.whole and not inside.refused(("metrics", "logs", "request.json")))
        memory.keep("end metrics", key, cached, KEPT)
    return cached


def end_texts(inside: GuardedFolder) -> list[tuple[str, str]]:
    """Return the texts that the run reported at its end, such as the digest of its weights: (name, text), by name."""
    files = [(rank_of(Path(name)), name) for name in inside.names("metrics") if name.endswith(".jsonl")]
    first = min((file for file in files if file[0] >= 0), default=None)
    finals = [line for line in inside.lines(f"metrics/{first[1]}", LAST) if line.get("final")] if first else []
    return sorted((name, value) for name, value in (finals[-1] if finals else {}).items() if _is_word(value))


def _is_word(value: object) -> bool:
    return isinstance(value, str) and number(value) is None


def request_rows(record: RunRecord) -> list[RunFact]:
    """Return the non-empty fields of a request; parameters and variables have a row each."""
    origins = record.origins
    rows = []
    hidden = {"origins", "schema_version", "note", "tags", "parent", "study", "command", "metrics"}
    for name, value in record.raw.items():
        if name in hidden or value in (None, "", [], {}):
            continue
        if name in ("parameters", "variables") and isinstance(value, dict):
            rows += [
                RunFact(_(_ROW_TEXTS[name], name=key), str(entry), _origin(origins, name, key))
                for key, entry in value.items()
            ]
        elif isinstance(value, dict):
            text = ", ".join(f"{key} {entry}" for key, entry in value.items() if entry is not None)
            rows.append(RunFact(name, text, _origin(origins, name)))
        elif isinstance(value, list):
            rows.append(RunFact(name, "\n".join(str(entry) for entry in value), _origin(origins, name)))
        elif name == "walltime" and isinstance(value, int):
            rows.append(RunFact(name, format_walltime(value), _origin(origins, name)))
        else:
            text = Path(str(value)).name if name in _PATHS else str(value)
            rows.append(RunFact(name, text, _origin(origins, name)))
    return rows


def _origin(origins: Mapping[str, Any], name: str, key: str = "") -> str:
    return origin_text(str(origins.get(f"{name}.{key}") or origins.get(name) or ""))


def _environment_rows(inside: GuardedFolder) -> list[RunFact]:
    """Return the environment of the hosts, each different value once; names are ids of messages (`web.env_…`)."""
    names = [name for name in inside.names("env") if name.endswith(".json")][:HOSTS]
    hosts = [host for name in names if (host := inside.json(f"env/{name}"))]
    rows = []

    def add(name: str, values: Iterable[str]) -> None:
        different = list(dict.fromkeys(value for value in values if value))
        if different:
            rows.append(RunFact(name, "\n".join(different)))

    add("python", (str(host.get("python") or "").split(" ")[0] for host in hosts))
    packages = [mapping(host.get("packages")) for host in hosts]
    add("packages", (f"{name} {versions[name]}" for name in PACKAGES for versions in packages if name in versions))
    add("mpi", (str(host.get("mpi") or "") for host in hosts))
    add("modules", (" ".join(_listed(host.get("modules"))) for host in hosts))
    add("gpus", (counted(host.get("gpus")) for host in hosts))
    add("cores", (str(host.get("cores") or "") for host in hosts))
    add("kernel", (str(host.get("kernel") or "") for host in hosts))
    add("interfaces", (" ".join(_listed(host.get("interfaces"))) for host in hosts))
    return rows


def counted(values: object) -> str:
    """Return `2 × P100` from a list of equal texts."""
    counts = Counter(_listed(values))
    return ", ".join(f"{count} × {value}" if count > 1 else value for value, count in counts.items())


def _listed(values: object) -> list[str]:
    """Return a JSON list's texts; empty for anything else."""
    return [str(value) for value in values] if isinstance(values, list) else []


def _commit(git: Mapping[str, Any]) -> str:
    """Return the git commit of the snapshot, followed by `+` if files differed."""
    return f"{git['commit']}{'+' if git.get('dirty') else ''}" if git.get("commit") else ""


def mapping(value: object) -> dict[str, Any]:
    """Return a JSON object; empty for anything else."""
    return value if isinstance(value, dict) else {}
