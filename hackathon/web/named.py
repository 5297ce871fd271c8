"""Whom and what run directories name – users, hosts, groups – and whether anything in them has changed."""

import hashlib
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from hackathon.text.files import read_json

MOST = 1 << 20
"""Bytes at the beginning of a file of events that are looked at."""
_HOST = re.compile(rb'"host": ?"([^"\\]{1,255})"')
_TEXT = re.compile(rb'"(user|host|group)": ?"([^"\\]{1,255})"')
_WATCHED = (
    "request.json", "final.json", "source.json", "events", "events/job.jsonl", "logs", "logs/job.log", "metrics",
    "metrics/rank-0.jsonl", "telemetry", "env", "client", "client/diagnosis.json",
)  # fmt: skip
"""What changes when a run goes on, ends, is diagnosed or gets a file."""
_WATCHED_SEALED = ("request.json", "final.json", "client", "client/diagnosis.json")
"""What may change of a run that is sealed."""


@dataclass(frozen=True)
class Named:
    """What one run directory names."""

    users: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()


def stamp(run: str, *, sealed: bool) -> str:
    """Return a short text that changes when a run's files do: from sizes and times, nothing is read."""
    found = ["sealed" if sealed else "open"]
    for name in _WATCHED_SEALED if sealed else _WATCHED:
        try:
            status = os.stat(f"{run}/{name}")  # noqa: PTH116 — this runs for every file of every run
        except OSError:
            continue
        found.append(f"{name} {status.st_size} {status.st_mtime_ns} {status.st_ino}")
    return hashlib.sha256("\n".join(found).encode()).hexdigest()[:20]


def named(run: Path) -> Named:
    """Return what a run directory names: its owner, hosts of clients, jobs and records, the job's server, its group."""
    users: set[str] = set()
    hosts: set[str] = set()
    groups: set[str] = set()
    for path in (run / folder / name for folder in ("client", "env") for name in _names(run / folder)):
        for kind, value in _TEXT.findall(_head(path)):
            {b"user": users, b"host": hosts, b"group": groups}[kind].add(value.decode("utf-8", "replace"))
    request = read_json(run / "request.json")  # only its own group: where the group came from is called "group" too
    if isinstance(request, dict) and isinstance(request.get("group"), str):
        groups.add(request["group"])
    job = read_json(run / "client" / "submitted.json")
    for text in (str(job.get("job_id") or "") if isinstance(job, dict) else "", _claim(run)):
        server = text.partition(".")[2]
        if server and not server.isdigit():
            hosts.add(server)
    for folder, suffix in (("env", ".json"), ("telemetry", ".csv")):
        hosts.update(name.removesuffix(suffix) for name in _names(run / folder) if name.endswith(suffix))
    for name in _names(run / "events"):
        hosts.update(host.decode("utf-8", "replace") for host in _HOST.findall(_head(run / "events" / name)))
    return Named(*(tuple(sorted(found - {""})) for found in (users, hosts, groups)))


def together(each: Iterable[Named]) -> Named:
    """Return what several run directories name."""
    users: set[str] = set()
    hosts: set[str] = set()
    groups: set[str] = set()
    for one in each:
        users.update(one.users)
        hosts.update(one.hosts)
        groups.update(one.groups)
    return Named(tuple(sorted(users)), tuple(sorted(hosts)), tuple(sorted(groups)))


def _claim(run: Path) -> str:
    return _head(run / "claim" / "job_id").decode("utf-8", "replace").strip()[:255]


def _names(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)  # noqa: PTH208 — names, not paths
    except OSError:
        return []


def _head(path: Path) -> bytes:
    """Return the beginning of a regular file; a FIFO is not waited for."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return b""
    with os.fdopen(descriptor, "rb") as stream:
        try:
            return stream.read(MOST)
        except (OSError, TypeError):
            return b""
