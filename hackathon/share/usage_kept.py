"""What ended runs used, kept on this machine: a run that is sealed never changes, so that it is read once.

One small file for each folder of runs below the user's cache; it may be deleted at any time. A run that ended and is
not sealed counts as read while the file of its job's events is the same: a requeue writes in it.
"""

import hashlib
import json
import os
from pathlib import Path
from typing import Any

from hackathon.share.usage_run import Life, RunUse
from hackathon.text.files import open_regular, write_whole
from hackathon.text.paths import user_cache

FORM = 1

Kept = dict[str, tuple[int, bool, RunUse]]
"""Run's id → (mark of its events, 0 of a sealed run; whether the scheduler's account is in it; what it used)."""


def place_of(runs: str) -> Path:
    """Return the file about a folder of runs."""
    return user_cache() / "usage" / f"{hashlib.sha256(os.path.realpath(runs).encode()).hexdigest()[:24]}.json"


def events_mark(run: str) -> int:
    """Return a number that changes with the run's events; 0 without any."""
    try:
        found = os.stat(f"{run}/events/job.jsonl")  # noqa: PTH116 — plain strings: done for thousands of runs
    except OSError:
        return 0
    return found.st_mtime_ns + found.st_size


def read_kept(runs: str) -> Kept:
    """Return what is kept about a folder of runs; nothing when there is no file, or one of another form."""
    try:
        with open_regular(place_of(runs)) as stream:
            value = json.loads(stream.read())
        if value["form"] != FORM or value["folder"] != os.path.realpath(runs):
            return {}
        return {name: _entry(name, entry) for name, entry in value["runs"].items()}
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RuntimeError):  # no home; nested too deeply
        return {}


def write_kept(runs: str, kept: Kept) -> None:
    """Keep it; a folder that can not be written is passed over: the next time everything is read again."""
    value = {
        "form": FORM,
        "folder": os.path.realpath(runs),
        "runs": {name: _row(mark, asked, use) for name, (mark, asked, use) in kept.items()},
    }
    try:
        path = place_of(runs)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, json.dumps(value, separators=(",", ":")), 0o600)
    except (OSError, ValueError, RuntimeError):
        pass


def _row(mark: int, asked: bool, use: RunUse) -> list[Any]:
    lives = [[life.start, life.end, life.seconds, life.nodes, life.gpus, life.basis] for life in use.lives]
    return [
        mark, asked, use.cluster, use.scheduler, use.job_id, use.team, use.user, use.nodes, use.gpus_per_node,
        use.processes_per_node, use.walltime, use.created, use.adopted, use.state, use.odd, lives,
    ]  # fmt: skip


def _entry(name: str, row: list[Any]) -> tuple[int, bool, RunUse]:
    (
        mark, asked, cluster, scheduler, job_id, team, user, nodes, gpus_per_node, processes_per_node, walltime,
        created, adopted, state, odd, lives,
    ) = row  # fmt: skip
    made = tuple([Life(*life) for life in lives])
    use = RunUse(
        name, cluster, scheduler, job_id, team, user, nodes, gpus_per_node, processes_per_node, walltime, created,
        adopted, made, state, False, True, odd,
    )  # fmt: skip
    return mark, asked, use
