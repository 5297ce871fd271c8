"""Query a scheduler's nodes when the profile does not describe them; store the answer for a day.

A machine's shape changes rarely, and the scheduler of a login node should be queried rarely.
"""

import hashlib
import os
import time
from collections.abc import Callable
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from hackathon.config.cluster import Cluster
from hackathon.schedulers import registry, runner
from hackathon.schedulers.base import Scheduler, SchedulerError
from hackathon.schedulers.foreign import KEPT as SITE_VARIABLES
from hackathon.schedulers.reports import NodeGroup
from hackathon.text.files import read_json, write_json
from hackathon.text.paths import user_cache

KEPT = 24 * 3600.0
"""Seconds for which an answer is valid."""
PATIENCE = 10.0
"""Seconds that the scheduler may take."""
_FIELDS = {entry.name for entry in fields(NodeGroup)}


def known_nodes(
    cluster: Cluster, on_error: Callable[[SchedulerError], None] = lambda error: None
) -> tuple[NodeGroup, ...]:
    """Return the machine's nodes by its scheduler; none when the profile describes them itself.

    Also none when the scheduler does not report nodes, is not on this machine, or does not answer; `on_error` gets the
    error of that.
    """
    if cluster.node.cores != "auto" or registry.dialect_of(cluster).this_machine:
        return ()
    scheduler = registry.scheduler_of(cluster)
    argvs = scheduler.nodes_argv()
    if not argvs:
        return ()
    path = _place(cluster, argvs)
    cached = _read(path)
    if cached is not None:
        return cached
    return _asked(scheduler, path, on_error)


def _asked(
    scheduler: Scheduler, path: Path | None, on_error: Callable[[SchedulerError], None]
) -> tuple[NodeGroup, ...]:
    try:
        groups = tuple(runner.nodes(scheduler, timeout=PATIENCE, delays=()))
    except SchedulerError as error:
        on_error(error)
        return ()
    if path is not None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_json(path, {"t": time.time(), "nodes": [asdict(group) for group in groups]})
        except OSError:
            pass  # the next call asks again
    return groups


def _place(cluster: Cluster, argvs: list[list[str]]) -> Path | None:
    """Return the file of the answer, which names scheduler and machine, because several machines may share a home."""
    site = [os.uname().nodename, *(os.environ.get(name, "") for name in sorted(SITE_VARIABLES))]
    digest = hashlib.sha256(repr([cluster.scheduler, argvs, site]).encode()).hexdigest()[:16]
    try:
        return user_cache() / "nodes" / f"{digest}.json"
    except RuntimeError:
        return None


def _read(path: Path | None) -> tuple[NodeGroup, ...] | None:
    content: Any = read_json(path) if path is not None else None
    try:
        if not 0 <= time.time() - float(content["t"]) < KEPT:
            return None
        return tuple(_group(group) for group in content["nodes"])
    except (KeyError, TypeError, ValueError):
        return None


def _group(value: dict[str, Any]) -> NodeGroup:
    if set(value) != _FIELDS:  # written by another version of the toolkit
        raise ValueError("not a group of nodes")
    return NodeGroup(**{**value, "queues": tuple(value["queues"])})
