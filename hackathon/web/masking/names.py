"""The users, hosts and groups that run directories name, and whether those directories have changed."""

import contextlib
import hashlib
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hackathon.access.guarded_folder import GuardedFolder
from hackathon.diagnosis.scrub import holds_secret, learnable, values_of_secrets, words_of_secrets
from hackathon.runs.directory import files_of

MOST = 1 << 20
"""Bytes from the beginning of a file that are read."""
LOGS = ("logs/job.log", "logs/rank-0.log", "logs/scheduler.log")
TEXTS = 1 << 17
"""Bytes from the beginning of a log or a source that are searched for secrets."""
SOURCES = 40
"""Files of a program that are searched."""
_PROGRAMS = (".py", ".sh", ".yaml", ".yml", ".toml", ".ini", ".cfg", ".json", ".env")
_HOST = re.compile(rb'"host": ?"([^"\\]{1,255})"')
_TEXT = re.compile(rb'"(user|host|job_id)": ?"([^"\\]{1,255})"')
_WATCHED = (
    "request.json", "final.json", "source.json", "events", "events/job.jsonl", "logs", "logs/job.log", "metrics",
    "metrics/rank-0.jsonl", "telemetry", "env", "client", "client/diagnosis.json",
)  # fmt: skip
"""Files that change while a run continues, ends, is diagnosed or gets a file."""
_WATCHED_SEALED = ("request.json", "final.json", "client", "client/diagnosis.json")
"""Files of a sealed run that may change."""


@dataclass(frozen=True)
class Named:
    """The names in one run directory."""

    users: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    """Values after a secret's name in its request, its log or its program."""


def stamp(run: str, *, sealed: bool) -> str:
    """Return a short text that changes with a run's files; computed from sizes and times, without reading them."""
    parts = ["sealed" if sealed else "open"]
    for name in _WATCHED_SEALED if sealed else _WATCHED:
        try:
            status = os.stat(f"{run}/{name}")  # noqa: PTH116 — this runs for every file of every run
        except OSError:
            continue
        parts.append(f"{name} {status.st_size} {status.st_mtime_ns} {status.st_ino}")
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:20]


def named(run: Path) -> Named:
    """Return the names in a run directory: owner, group, job server, hosts of clients, jobs and records."""
    with contextlib.suppress(OSError), files_of(run).held() as files:
        return _named(files)
    return Named()


def _named(run: GuardedFolder) -> Named:
    users: set[str] = set()
    hosts: set[str] = set()
    groups: set[str] = set()
    jobs = {run.text("claim/job_id", MOST).strip()[:255]}
    names = {folder: run.names(folder) for folder in ("client", "env", "events", "telemetry")}
    by_kind = {b"user": users, b"host": hosts, b"job_id": jobs}
    for folder in ("client", "env"):
        for name in names[folder]:
            for kind, value in _TEXT.findall(run.read(f"{folder}/{name}", MOST) or b""):
                by_kind[kind].add(value.decode("utf-8", "replace"))
    request = run.json("request.json", MOST)  # the run's own group only: the origin of a value has the same key
    if isinstance(request.get("group"), str):
        groups.add(request["group"])
    for job in jobs:
        server = job.partition(".")[2]
        if server and not server.isdigit():
            hosts.add(server)
    for folder, suffix in (("env", ".json"), ("telemetry", ".csv")):
        hosts.update(name.removesuffix(suffix) for name in names[folder] if name.endswith(suffix))
    for name in names["events"]:
        hosts.update(host.decode("utf-8", "replace") for host in _HOST.findall(run.read(f"events/{name}", MOST) or b""))
    secrets = _secrets(run, request)
    return Named(*(tuple(sorted(texts - {""})) for texts in (users, hosts, groups, secrets)))


def _secrets(run: GuardedFolder, request: Mapping[str, Any]) -> set[str]:
    """Return the secrets of a request, by names of variables, parameters and options, and those of log and program."""
    secrets: set[str] = set()
    values: list[tuple[str, object]] = list(request.items())
    while values:
        name, value = values.pop()
        if isinstance(value, dict):
            values += [(str(key), member) for key, member in value.items()]
        elif isinstance(value, list):
            secrets |= words_of_secrets(value)
            values += [("", member) for member in value]
        elif isinstance(value, str):
            secrets |= {value} if holds_secret(name, value) else values_of_secrets(value)
    for name in LOGS:
        secrets |= values_of_secrets((run.read(name, TEXTS) or b"").decode("utf-8", "replace"))
    sources = run.json("source.json", MOST).get("files")
    for name in list(sources)[:SOURCES] if isinstance(sources, dict) else ():
        if name.endswith(_PROGRAMS):
            secrets |= values_of_secrets((run.read(f"source/{name}", TEXTS) or b"").decode("utf-8", "replace"))
    return learnable(secrets)


def together(runs: Iterable[Named]) -> Named:
    """Return the union of the names in several run directories."""
    users: set[str] = set()
    hosts: set[str] = set()
    groups: set[str] = set()
    secrets: set[str] = set()
    for named in runs:
        users.update(named.users)
        hosts.update(named.hosts)
        groups.update(named.groups)
        secrets.update(named.secrets)
    return Named(*(tuple(sorted(texts)) for texts in (users, hosts, groups, secrets)))
