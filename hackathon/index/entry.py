"""One run in the index: its data besides the summary, its stored form, and when it is checked again."""

import hashlib
import json
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from hackathon import __version__
from hackathon.index.cause import RunCause
from hackathon.index.listing import FACTS, Signature
from hackathon.index.projects import ProjectFolder
from hackathon.index.record import RunEntry
from hackathon.runs.directory import REMOVED, RunDirectory
from hackathon.runs.lives import RunUse
from hackathon.runs.states import ENDED, ENDING, OPEN, RUNNING, SUCCEEDED, RunStatus

CLOSED = 900.0
"""Seconds without a change after which an ended run is checked as rarely as a sealed one."""
JUST_ENDED = 120.0
"""Seconds after a run's end in which a rank's last event may still arrive."""
FRESH = 90.0
"""Seconds for which a scheduler's answer counts as fresh; schedulers are asked every 30."""
STEP = 30.0
"""Steps, in seconds, in which the age of a state grows, so that a page is not rendered again every second."""
_FIELDS = fields(RunEntry)


@dataclass(slots=True)
class IndexEntry:
    """One run in the index."""

    project: ProjectFolder
    summary: RunEntry
    signature: Signature
    status: RunStatus | None = None
    """None for a closed run, and after a start from the file until the run is read again."""
    cause: RunCause | None = None
    about: str = ""
    """The run's state for which the cause was found."""
    written: float | None = None
    """The time of the newest metric or log line by the file server's clock."""
    changed: float = 0.0
    """The time of the last observed change, in seconds since 1970 by this host's clock."""
    measured: str = ""
    """The digest of its project's metrics when it was read."""
    read: float = 0.0
    """The time when the files were read, in seconds of the monotonic clock."""
    closed: bool = False
    order: tuple[float, str, str] = (0.0, "", "")
    """Larger for newer runs; a clock that is ahead makes no run newer than now."""

    def __post_init__(self) -> None:
        created = min(self.summary.created or 0.0, time.time())
        self.order = (created, self.summary.id, self.summary.project)

    @property
    def place(self) -> str:
        """The run's folder."""
        below = f"{REMOVED}/" if self.summary.removed else ""
        return f"{self.summary.project}/runs/{below}{self.summary.id}"

    @property
    def run(self) -> RunDirectory:
        # a new object each time, because it keeps its full request once that is read
        return RunDirectory(Path(self.place))

    def to_text(self) -> str:
        """Return the data that a later start needs, as JSON."""
        value = {
            "summary": _changed_fields(self.summary),
            "counted": self.summary.use is not None,
            "signature": self.signature,
            "cause": self.cause.to_json() if self.cause is not None else None,
            "about": self.about,
            "written": self.written,
            "changed": self.changed,
            "measured": self.measured,
        }
        return json.dumps(value, default=asdict)


def loaded(project: ProjectFolder, identifier: str, text: str, uses: Mapping[str, RunUse]) -> IndexEntry | None:
    """Return a run from the file; None if the row is incomplete; `uses`: by the run's path in `runs`."""
    try:
        value: dict[str, Any] = json.loads(text)
        subfolder = f"{REMOVED}/{identifier}" if value["summary"].get("removed") else identifier
        use = uses[subfolder] if value["counted"] else None
        values = _interned(value["summary"]) | {"project": str(project.path), "id": identifier, "use": use}
        if project.team:
            values["team"] = project.team
        entry = IndexEntry(
            project,
            RunEntry.from_json(values),
            tuple(int(number) for number in value["signature"]),
            None,
            RunCause.from_json(value["cause"]) if value["cause"] is not None else None,
            str(value["about"]),
            value["written"],
            float(value["changed"]),
            str(value["measured"]),
            read=time.monotonic(),
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        return None
    entry.closed = is_closed(entry, time.time())
    return entry if len(entry.signature) == len(FACTS) else None


def about_of(summary: RunEntry, written: float | None, cause: RunCause | None = None) -> str:
    """Return the facts on which a run's diagnosis depends; a new state, or progress of a hanging run, changes them.

    If the `cause` of a failure was not found, later log lines, as on slow file systems, change them too.
    """
    unknown = cause is not None and summary.state != SUCCEEDED and not cause.told
    still = f" {written}" if summary.state in OPEN or unknown else ""
    return f"{summary.state} {summary.cause} {summary.attempt}{still}"


def form() -> str:
    """Return the format mark of rows that this version can read."""
    names = ",".join([entry.name for entry in fields(RunEntry)] + list(FACTS))
    return f"{__version__}-{hashlib.sha256(names.encode()).hexdigest()[:12]}"


def fresh(state: RunStatus) -> RunStatus:
    """Return a state without its age while the age only reflects the interval between questions to the scheduler."""
    if state.stale_seconds is None:
        return state
    age = state.stale_seconds // STEP * STEP
    return replace(state, stale_seconds=age if age >= FRESH else None)


def differs(status: RunStatus, before: RunStatus | None) -> bool:
    """Return whether a scheduler's answer contains news; its age and its problem are not news about the run."""
    if before is None:
        return True
    return replace(status, stale_seconds=None, problem="") != replace(before, stale_seconds=None, problem="")


def may_change_unseen(entry: IndexEntry, now: float) -> bool:
    """Return whether telemetry, or a rank's last event, may still arrive."""
    if entry.closed:
        return False
    state = entry.summary.state
    return state in (RUNNING, ENDING) or (state in ENDED and now - entry.changed < JUST_ENDED)


def keep_times(entry: IndexEntry, before: IndexEntry | None, now: float, watched: bool) -> None:
    """Set the times of the run's last change and last progress, by this host's clock if the change was observed."""
    written = entry.written
    newest = max(entry.signature, default=0) / 1e9
    if before is None:
        progress = None if written is None else min(written, now)
        entry.changed = min(newest, now)
    else:
        if written is None or written == before.written:
            progress = before.summary.progress if written is not None else None
        else:
            progress = now if watched else min(written, now)
        entry.changed = now if entry.signature != before.signature else before.changed
    entry.summary = replace(entry.summary, progress=progress)


def _interned(value: dict[str, Any]) -> dict[str, Any]:
    """Return a JSON object whose short texts are shared in memory, because thousands of runs repeat them."""
    return {
        name: sys.intern(entry) if isinstance(entry, str) and len(entry) <= 32 else entry
        for name, entry in value.items()
    }


def _changed_fields(summary: RunEntry) -> dict[str, Any]:
    """Return a summary as JSON values, without fields that have their default."""
    return {
        entry.name: value
        for entry in _FIELDS
        if entry.name != "use" and (value := getattr(summary, entry.name)) != entry.default
    }


def is_closed(entry: IndexEntry, now: float) -> bool:
    """Return whether a run is complete: sealed, or ended and without a change for CLOSED seconds."""
    summary = entry.summary
    return summary.sealed or (summary.state not in OPEN and now - entry.changed > CLOSED)
