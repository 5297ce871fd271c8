"""Whom and what run directories name – users, hosts, groups – and whether anything in them has changed."""

import hashlib
import json
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MOST = 1 << 20
"""Bytes at the beginning of a file that are looked at."""
PORTION = 1 << 15
"""Bytes that are read at once: most files are smaller."""
_HOST = re.compile(rb'"host": ?"([^"\\]{1,255})"')
_TEXT = re.compile(rb'"(user|host|job_id)": ?"([^"\\]{1,255})"')
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
    jobs = {_head(f"{run}/claim/job_id").decode("utf-8", "replace").strip()[:255]}
    names = {folder: _names(f"{run}/{folder}") for folder in ("client", "env", "events", "telemetry")}
    kept = {b"user": users, b"host": hosts, b"job_id": jobs}
    for folder in ("client", "env"):
        for name in names[folder]:
            for kind, value in _TEXT.findall(_head(f"{run}/{folder}/{name}")):
                kept[kind].add(value.decode("utf-8", "replace"))
    request = _json(_head(f"{run}/request.json"))  # only its own group: where the group came from is called so too
    if isinstance(request.get("group"), str):
        groups.add(request["group"])
    for job in jobs:
        server = job.partition(".")[2]
        if server and not server.isdigit():
            hosts.add(server)
    for folder, suffix in (("env", ".json"), ("telemetry", ".csv")):
        hosts.update(name.removesuffix(suffix) for name in names[folder] if name.endswith(suffix))
    for name in names["events"]:
        hosts.update(host.decode("utf-8", "replace") for host in _HOST.findall(_head(f"{run}/events/{name}")))
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


def _json(raw: bytes) -> dict[str, Any]:
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)  # noqa: PTH208 — names, not paths
    except OSError:
        return []


def _head(path: str) -> bytes:
    """Return the beginning of a regular file; a FIFO is not waited for."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return b""
    found = b""
    try:
        while len(found) < MOST:
            more = os.read(descriptor, PORTION)
            found += more
            if len(more) < PORTION:
                break
    except OSError:  # a folder, or a FIFO that nobody writes into yet
        pass
    finally:
        os.close(descriptor)
    return found
