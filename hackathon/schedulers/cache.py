"""Where the answers of status questions are kept: one small file per user and cluster, read and written whole.

`runner.status_cached` uses it, so that many commands in a row ask the scheduler once.
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
"""Job id → (when it was asked, in seconds since 1970; the state, None for a job that the scheduler does not know)."""


def cache_file(scheduler_name: str, cluster_name: str) -> Path:
    """Return where the answers about one cluster lie; the file may be deleted at any time."""
    try:
        folder = user_cache()
    except RuntimeError:
        folder = Path(os.devnull)  # nothing is kept
    return folder / "status" / f"{quote(scheduler_name, safe='')}-{quote(cluster_name, safe='')}.json"


def read(path: Path, now: float, max_age: float) -> Entries:
    """Return the entries younger than `max_age` seconds; anything of another shape counts as no entry."""
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
    """Keep the entries; a folder that cannot be written is passed over: the cache is a courtesy, not a need."""
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
