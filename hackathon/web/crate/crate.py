"""Write the crate of a run: an RO-Crate (Process Run Crate) with all that is needed to understand and rerun it.

Profile: https://w3id.org/ro/wfrun/process/0.5, on RO-Crate 1.1. `hackathon.json` in it is this toolkit's own list,
which `hackathon.runs.crate.archive` reads.
"""

import hashlib
import io
import json
import math
import time
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import hackathon
from hackathon.access.guarded_folder import GuardedFolder
from hackathon.config.cluster import ALL_LAUNCHERS, Starter
from hackathon.config.load import SHARED
from hackathon.jobs.script import SCRIPTS
from hackathon.logs.final import Numbers, final_numbers, metric_unit
from hackathon.logs.metrics import final_texts
from hackathon.runs.crate.archive import LIST, METADATA, RESULT, SCHEMA_VERSION, read_inside
from hackathon.runs.directory import RunDirectory
from hackathon.runs.markers import read_final, read_markers
from hackathon.runs.record import RunRecord
from hackathon.runs.source import snapshot
from hackathon.runs.states import OPEN, RunStatus, decide
from hackathon.schedulers.registry import BUILT_IN
from hackathon.text.errors import RequestError
from hackathon.text.files import write_whole
from hackathon.text.numbers import finite
from hackathon.text.paths import runtime_file, shipped
from hackathon.web.crate.mask import Cleaner
from hackathon.web.crate.metadata import metadata

if TYPE_CHECKING:
    from hackathon.config.event import Publish
    from hackathon.web.masking.mask import Mask

LOG_LIMIT = 1_000_000
"""Bytes from the end of a log that are published; of all logs five times as many."""
_EPOCH = (1980, 1, 1, 0, 0, 0)
_FROM_CLUSTER = frozenset({"group", "reservation", "qos"})
_TERMS = frozenset({"framework", "scheduler", "launcher", "starter", "mpi", "mode", "signal"})
"""Fields of a request whose values are words of this toolkit, unless the user wrote another one."""
_WORDS = frozenset(
    {"torch", "tensorflow", "chainer", "none", *BUILT_IN, *ALL_LAUNCHERS, *get_args(Starter),
     "openmpi", "mpich", "auto", "weak", "strong", "TERM", "USR1", "USR2"}
)  # fmt: skip


@dataclass
class Content:
    """The content of a crate, before it is packed."""

    files: dict[str, bytes] = field(default_factory=dict)
    executable: set[str] = field(default_factory=set)
    masked: list[str] = field(default_factory=list)
    """Files of the program that masking changed."""
    left_out: list[str] = field(default_factory=list)
    """Files of the program that may not be published, are missing, or are binary and contain a name."""
    altered: list[str] = field(default_factory=list)
    """Files of the program that the job changed after its start."""


def write_crate(run: Path, target: Path, *, mask: "Mask", publish: "Publish") -> None:
    """Write a run's crate as a zip file, by rename; equal runs give equal bytes.

    All text is masked; binary files are included unchanged if they contain no name. The team's program is included if
    `publish.source` allows it; files of this toolkit's recipes always are. Raises RequestError if the run has no
    request, OSError if the file cannot be written.
    """
    write_whole(target, pack(collect(run, mask=mask, publish=publish)))


def collect(path: Path, *, mask: "Mask", publish: "Publish") -> Content:
    """Return the content of a run's crate, masked. Raises RequestError if the run has no request."""
    run = RunDirectory(path)
    record = run.record()
    group = "" if publish.groups else record.group
    cleaner = Cleaner(mask, group)
    content = Content()
    for name in SCRIPTS:
        script = _read(run.files, name)
        if script is not None:
            content.files[name] = cleaner.content(script[0].replace(b"\0", b"?"))
            content.executable.add(name)
    request = _request(record, cleaner, publish)
    content.files["request.json"] = _dump(request)
    source = _source(run, record, cleaner, publish, content)
    for number, host in enumerate(_environments(run.files), 1):
        content.files[f"env/host-{number}.json"] = _dump(cleaner.value(host), indent=None)
    result = cleaner.value(_result(run, record))
    content.files[RESULT] = _dump(result)
    if publish.logs:
        _logs(run.files, cleaner, content)
    about = {
        "schema_version": SCHEMA_VERSION,
        "toolkit_version": hackathon.__version__,
        "run": cleaner.text(run.id),
        "source": source,
        "executable": sorted(name for name in content.executable if name in content.files),
        "files": {name: hashlib.sha256(raw).hexdigest() for name, raw in sorted(content.files.items())},
    }
    environments = [json.loads(content.files[name]) for name in content.files if name.startswith("env/")]
    facts = {"team": request.get("team"), "created": run.created, "environments": environments}
    content.files[METADATA] = metadata(about, request, result, content.files, facts)
    content.files[LIST] = _dump(about)
    return content


def pack(content: Content) -> bytes:
    """Return the zip file: the metadata first, then by name, without times and owners of this machine."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(content.files, key=lambda name: (name != METADATA, name)):
            entry = zipfile.ZipInfo(name, _EPOCH)
            entry.create_system = 3  # Unix, so that the mode is used
            entry.external_attr = (0o100755 if name in content.executable else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content.files[name])
    return stream.getvalue()


def _request(record: RunRecord, cleaner: Cleaner, publish: "Publish") -> dict[str, Any]:
    """Return `request.json` for others: masked, folders only by name, no group unless groups may be published."""
    request = record.raw
    fields = {name: value for name, value in request.items() if name != "shared"}  # folders of this machine
    fields["source"] = Path(record.source).name
    if not publish.groups:
        fields |= dict.fromkeys(_FROM_CLUSTER)
    if not publish.teams:
        fields["team"] = None
    built = fields.get("python_environment")
    if isinstance(built, dict):
        fields["python_environment"] = {**built, "path": Path(str(built.get("path") or "")).name}
    cleaned: dict[str, Any] = cleaner.value(fields)
    hashes = shipped_hashes(record.recipe)
    names = _TERMS
    if "recipe.yaml" in hashes:  # words of this toolkit identify nobody, even if a user has such a name
        names |= {"recipe", *(["name"] if record.name == record.recipe else [])}
        cleaned["parameters"] = {name: cleaner.entry(name, value) for name, value in record.parameters.items()}
        words = request.get("command")
        if isinstance(words, list):
            options = {f"--{name.replace('_', '-')}" for name in cleaned["parameters"]}
            kept_words = {"python", *hashes, *options}
            cleaned["command"] = [
                word if isinstance(word, str) and word in kept_words else cleaner.word(before, word)
                for before, word in zip(("", *words), words, strict=False)
            ]
    for name in names:
        word = request.get(name)
        if name not in _TERMS or word is None or (isinstance(word, str) and word in _WORDS):
            cleaned[name] = word
    return cleaned


def _source(
    run: RunDirectory, record: RunRecord, cleaner: Cleaner, publish: "Publish", content: Content
) -> dict[str, Any]:
    """Add the program's files and their record to a crate; return their entry for its list."""
    file = _read(run.files, "source.json")
    manifest = _object(file[0]) if file else {}
    names = {**_mapping(manifest.get("files")), **_mapping(manifest.get("added"))}
    recorded = bool(manifest) and not record.in_place
    own: dict[str, str] = {}
    sources: dict[str, snapshot.SnapshotFile] = {}
    public = shipped_hashes(record.recipe)
    for name, then in names.items() if recorded else ():
        entry = _read(run.files, f"source/{name}") if _plain(name) else None
        if entry is None:
            content.left_out.append(cleaner.name(name))
            continue
        raw, executable = entry
        now = hashlib.sha256(raw).hexdigest()
        if now not in public.values() and (not publish.source or (b"\0" in raw and cleaner.finds(raw))):
            content.left_out.append(cleaner.name(name))
            continue
        path = name if now == public.get(name) else _free(cleaner.name(name), own)
        own[path] = name
        data = raw if now in public.values() else cleaner.program(name, raw)
        if now != then:
            content.altered.append(path)
        if data != raw or path != name:
            content.masked.append(path)
        content.files[f"source/{path}"] = data
        if executable:
            content.executable.add(f"source/{path}")
        if name in _mapping(manifest.get("files")):
            sources[path] = snapshot.SnapshotFile(data, hashlib.sha256(data).hexdigest(), executable)
    links = {
        cleaner.name(name): cleaner.text(str(target))
        for name, target in (_mapping(manifest.get("links")) if publish.source and recorded else {}).items()
    }
    if not publish.source and recorded:
        content.left_out += [cleaner.name(name) for name in _mapping(manifest.get("links"))]
    source = snapshot.Source(run.path, sources, links)
    content.files["source.json"] = _dump(
        {
            "folder": cleaner.text(Path(str(manifest.get("folder") or "")).name),
            "in_place": record.in_place,
            "digest": manifest.get("digest"),
            "files": {path: then for path, name in own.items() if (then := _mapping(manifest.get("files")).get(name))},
            "links": links,
            "added": {path: then for path, name in own.items() if (then := _mapping(manifest.get("added")).get(name))},
            "git": cleaner.value(manifest.get("git")),
        }
    )
    return {
        "complete": recorded and not content.left_out,
        "digest_as_run": manifest.get("digest"),
        "digest": source.digest if sources else None,
        "masked": sorted(content.masked),
        "altered": sorted(content.altered),
        "left_out": sorted(content.left_out),
        "outside": sorted(cleaner.name(name) for name in _mapping(manifest.get("outside"))),
    }


@lru_cache(32)
def shipped_hashes(recipe: str) -> dict[str, str]:
    """Return name → hash of the files of a shipped recipe, its runtime and shared files, which are public anyway."""
    folder = shipped("recipes", recipe)
    paths = {snapshot.RUNTIME: runtime_file()}
    paths |= {path.name: path for path in shipped("recipes", SHARED).iterdir() if path.is_file()}
    if recipe and "/" not in recipe and not recipe.startswith(".") and (folder / "recipe.yaml").is_file():
        files = (path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
        paths |= {str(path.relative_to(folder)): path for path in files}
    return {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in paths.items()}


def _result(run: RunDirectory, record: RunRecord) -> dict[str, Any]:
    """Return state, times and final numbers of a run; numbers that JSON cannot represent become texts."""
    markers = read_markers(run)
    final = read_final(run)
    status = RunStatus.from_final(run.id, final) if final else decide(markers, None, run_id=run.id)
    try:
        numbers = final_numbers(run.path, record, over=status.state not in OPEN)
    except RequestError:
        numbers = Numbers(whole=False, metric=record.metric, unit=metric_unit(record.metrics, record.metric))
    started = finite(status.t_started) or markers.started
    ended = finite(status.t_ended) or markers.ended
    return {
        "run": run.id,
        "state": status.state,
        "open": status.state in OPEN,
        "reason": status.explanation,
        "started": _moment(started),
        "ended": _moment(ended),
        "seconds": round(ended - started, 3) if started and ended and ended >= started else None,
        "processes": record.processes or None,
        "nodes": record.nodes or None,
        "metric": numbers.metric,
        "unit": numbers.unit,
        "check": record.check.to_json() if record.check else None,
        "metrics": {
            key: value if math.isfinite(value) else str(value) for key, value in sorted(numbers.values.items())
        },
        "texts": dict(sorted(final_texts(run.path).items())),
    }


def _environments(run: GuardedFolder) -> list[dict[str, Any]]:
    """Return the environments of the hosts, each different one once."""
    hosts: dict[str, dict[str, Any]] = {}
    for name in [name for name in run.names("env") if name.endswith(".json")]:
        entry = _read(run, f"env/{name}")
        value = _object(entry[0]) if entry else {}
        own = {key: fact for key, fact in value.items() if key not in ("host", "kernel", "interfaces")}
        if value:
            hosts.setdefault(json.dumps(own, sort_keys=True), value)
    return list(hosts.values())


def _logs(run: GuardedFolder, cleaner: Cleaner, content: Content) -> None:
    left = 5 * LOG_LIMIT
    for name in [name for name in run.names("logs") if name.endswith(".log")]:
        entry = _read(run, f"logs/{name}")
        if entry is not None and left > 0:
            raw = cleaner.content(entry[0][-min(LOG_LIMIT, left) :].replace(b"\0", b"?"))
            content.files[f"logs/{_free(cleaner.name(name), content.files)}"] = raw
            left -= len(raw)


def _read(run: GuardedFolder, name: str) -> tuple[bytes, bool] | None:
    """Return (content, executable) of a file of the run.

    None if it is missing, not a regular file, or far too large.
    """
    try:
        return read_inside(run, name)
    except (OSError, ValueError):
        return None


def _plain(name: str) -> bool:
    return bool(name) and {"", ".", ".."}.isdisjoint(name.split("/")) and "\0" not in name


def _free(name: str, taken: Iterable[str]) -> str:
    """Return a name that no other file has, because masking may have made two of them equal."""
    number, free = 2, name
    while free in taken:
        free, number = f"{name}-{number}", number + 1
    return free


def _dump(value: Any, indent: int | None = 1) -> bytes:
    return (json.dumps(value, indent=indent, ensure_ascii=False, allow_nan=False) + "\n").encode("utf-8", "replace")


def _object(raw: bytes) -> dict[str, Any]:
    try:
        return _mapping(json.loads(raw.decode("utf-8", "surrogateescape")))
    except (ValueError, RecursionError):
        return {}


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _moment(seconds: float | None) -> str | None:
    """Return a time as ISO 8601 in UTC, which does not reveal where the machine is."""
    if seconds is None:
        return None
    try:
        return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))
    except (OverflowError, ValueError, OSError):
        return None
