"""Cache the answers of status queries: one small file per user and cluster, read and written completely.

With it (`runner.status_cached`), many commands in a row query the scheduler once.
"""

import os
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any
from urllib.parse import quote

from hackathon.schedulers.base import JobState
from hackathon.text.files import read_json, write_json
from hackathon.text.paths import user_cache

_FIELDS = {entry.name for entry in fields(JobState)}

Entries = dict[str, tuple[float, JobState | None]]
"""Job id → (time of the query in seconds since 1970; the state, None for a job that the scheduler does not know)."""


def cache_file(scheduler_name: str, cluster_name: str) -> Path:
    """Return the file with the answers about one cluster; it may be deleted at any time."""
    try:
        folder = user_cache()
    except RuntimeError:
        folder = Path(os.devnull)  # do not cache
    return folder / "status" / f"{quote(scheduler_name, safe='')}-{quote(cluster_name, safe='')}.json"


def read(path: Path, now: float, max_age: float) -> Entries:
    """Return the entries younger than `max_age` seconds; invalid entries are ignored."""
    fresh: Entries = {}
    content = read_json(path)
    entries = content.get("jobs") if isinstance(content, dict) else None
    for job_id, entry in entries.items() if isinstance(entries, dict) else ():
        try:
            answered, state = float(entry["t"]), entry["job"]
            if 0 <= now - answered < max_age:
                fresh[job_id] = (answered, None if state is None else _state(state))
        except (KeyError, TypeError, ValueError):
            continue
    return fresh


def write(path: Path, entries: Entries) -> None:
    """Store the entries. An unwritable folder is ignored, because the cache is optional."""
    jobs = {job_id: {"t": answered, "job": state and asdict(state)} for job_id, (answered, state) in entries.items()}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_json(path, {"jobs": jobs})
    except OSError:
        pass


def _state(value: dict[str, Any]) -> JobState:
    if set(value) != _FIELDS:  # written by another version of the toolkit
        raise ValueError("not a job state")
    return JobState(**{**value, "hosts": tuple(value["hosts"])})
