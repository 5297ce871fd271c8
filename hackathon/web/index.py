"""All runs of some projects, kept in memory and on node-local disk, and brought up to date with few looks at files."""

import hashlib
import json
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from hackathon import __version__
from hackathon.runs.directory import RunDirectory
from hackathon.runs.states import ENDED, ENDING, LOST, OPEN, RUNNING, RunStatus
from hackathon.runs.status import Seen, status
from hackathon.text.messages import language, message
from hackathon.web.causes import Cause, with_cause
from hackathon.web.listing import FACTS, Listing, Signature, mark, signature_of
from hackathon.web.places import Bounds
from hackathon.web.records import Project, Summary
from hackathon.web.stored import Stored, default_path
from hackathon.web.summary import files_of, summarise

CLOSED = 900.0
"""Seconds without any change after which a run that is over is looked at as rarely as a sealed one."""
CLOSED_AT_ONCE = 250
"""Closed runs that one refresh looks at, in turn."""
AGAIN, AGAIN_AT_ONCE = 10.0, 50
"""Seconds after which a run that goes on, or has just ended, is read again without a change: so often its telemetry
grows; and how many of these at once."""
JUST_ENDED = 120.0
FRESH = 90.0
"""Seconds for which the scheduler's word counts as fresh: it is asked every 30."""
STEP = 30.0
"""Seconds by which the age of a state grows: a page need not be made anew for every second of it."""
EVENTS = 64 << 20
"""Bytes of a run's events beyond which they are not read: no job writes so many."""
WATCHED = 60.0
"""Seconds between two looks within which a change is known to be new, whatever the file server's clock says."""

# It stands in a scheduler's command: what a file calls a job and begins with a dash would be an option there.
_JOB_ID = re.compile(r"[A-Za-z0-9][\w.:,@%+\[\]-]{0,250}\Z", re.ASCII)


@dataclass
class _Entry:
    """One run as the index has it."""

    project: Project
    run: RunDirectory
    summary: Summary
    signature: Signature
    status: RunStatus | None = None
    """None after a start from the file, until the run is read again."""
    cause: Cause | None = None
    about: str = ""
    """What the cause was found for: the run's state then."""
    written: float | None = None
    """The newest metric's or log's time by the file server's clock."""
    changed: float = 0.0
    """When a change was seen last, seconds since 1970 of this host."""
    read: float = 0.0
    """When the files were read, in seconds of the monotonic clock."""
    closed: bool = False


class Index:
    """Summaries of all runs of some projects. One thread refreshes; nothing is ever written into a run's folder."""

    def __init__(
        self, projects: Sequence[Project], path: Path | None = None, bounds: Bounds | None = None, *, most: int = 0
    ) -> None:
        """Open the index in the file `path` (default: in this user's folder on the node's own disk).

        `bounds`: where links may lead, default the projects' folders. `most`: new runs that one refresh reads, 0: all.
        """
        self.version = 0
        """Grows with every change."""
        self.seen: Seen = {}
        """What schedulers said, for `runs.status.status`."""
        self.pending = 0
        """New runs that the last refresh left for the next one."""
        self._most = most
        self._entries: dict[str, _Entry] = {}
        self._listings: dict[str, Listing] = {}
        self._turn: list[str] = []
        self._refreshed = -1e9
        self._sorted: tuple[Summary, ...] | None = ()
        self._form = _form()
        self._stored = Stored(path if path is not None else default_path())
        self._stored.forget_missing()
        self._projects: dict[str, Project] = {}
        self._bounds = Bounds([])
        self.use(projects, bounds)

    def use(self, projects: Sequence[Project], bounds: Bounds | None = None) -> None:
        """Take these projects from now on; runs of others leave with the next refresh."""
        self._bounds = bounds or Bounds([project.path for project in projects])
        before, self._projects = self._projects, {str(project.path): project for project in projects}
        for key, entry in self._entries.items():
            project = self._projects.get(entry.summary.project)
            if project is not None and project != entry.project:
                entry.project, entry.read = project, 0.0
                self._turn.append(key)
        fresh = [each for each in self._projects if each not in before]
        for name, identifier, text in self._stored.load(fresh, self._form):
            loaded = self._loaded(self._projects[name], identifier, text)
            if loaded is not None:
                self._entries[f"{name}//{identifier}"] = loaded
        self._sorted = None

    @property
    def summaries(self) -> tuple[Summary, ...]:
        """All runs, newest first."""
        if self._sorted is None:
            now = time.time()
            order = sorted(
                self._entries.values(),
                key=lambda entry: (min(entry.summary.created or 0.0, now), entry.summary.id, entry.summary.project),
                reverse=True,
            )
            self._sorted = tuple(entry.summary for entry in order)
        return self._sorted

    @property
    def stored(self) -> bool:
        """Whether it is kept on disk; else it is made anew at the next start."""
        return self._stored.usable

    @property
    def unreadable(self) -> dict[str, int]:
        """Project's folder → how many of its runs this user may not read."""
        return {name: listing.unreadable for name, listing in self._listings.items() if listing.unreadable}

    def asked_about(self) -> list[tuple[str, RunDirectory]]:
        """Return (key, run) of the runs whose schedulers may have something to say."""
        return [
            (key, entry.run)
            for key, entry in self._entries.items()
            if not entry.closed and not entry.summary.sealed and _JOB_ID.match(entry.summary.job_id)
        ]

    def state_of(self, key: str) -> RunStatus | None:
        """Return a run's state; None when the run is not there."""
        entry = self._entries.get(key)
        if entry is not None and entry.status is None:
            entry.status = self._state(entry.run)
        return None if entry is None else entry.status

    def about(self, key: str) -> str:
        """Return what a cause is to be attached for now; empty when the run is not there."""
        entry = self._entries.get(key)
        return "" if entry is None else _about(entry.summary, entry.written)

    def examined(self, key: str) -> bool:
        """Return whether a run has a cause, or was found to have none, in the state that it is in."""
        entry = self._entries.get(key)
        if entry is None or (entry.cause is None and entry.summary.told is None):
            return False
        return entry.cause is None or entry.about == _about(entry.summary, entry.written)

    def refresh(self, statuses: Mapping[str, RunStatus] | None = None) -> list[str]:
        """Bring the summaries up to date and return the keys `<project folder>//<id>` of what changed, or is gone.

        `statuses` (by key): what a scheduler was just asked about. Others are found by the runs' folders and by what
        schedulers said before.
        """
        now, clock = time.time(), time.monotonic()
        wanted, gone = self._listed(clock)
        told = {key: each for key, each in (statuses or {}).items() if key in self._entries}
        again: list[tuple[float, str]] = []
        for key in self._to_look_at():
            entry = self._entries[key]
            entry.closed = entry.closed or _is_closed(entry, now)
            if self._differs(entry):
                wanted.append(key)
            elif _may_change_unseen(entry, now) and clock - entry.read >= AGAIN:
                again.append((entry.read, key))
        wanted += [key for _, key in sorted(again)[:AGAIN_AT_ONCE]]
        wanted += [key for key, each in told.items() if each != self._entries[key].status]
        changed = self._read(list(dict.fromkeys(wanted)), told, now, clock)
        self._stored.write(
            [self._row(key) for key in changed], [(project, identifier) for project, _, identifier in map(_parts, gone)]
        )
        self._refreshed = clock
        changed += gone
        if changed:
            self.version += 1
            self._sorted = None
        return changed

    def attach(self, key: str, cause: Cause, about: str) -> bool:
        """Keep what a diagnosis told about a run; False when the run is gone, or is no more what it was (`about`)."""
        entry = self._entries.get(key)
        if entry is None or about != _about(entry.summary, entry.written):
            return False
        entry.cause, entry.about = cause, about
        before = entry.summary
        bare = replace(before, part="", rule="", told=None)
        entry.summary = with_cause(bare, cause, language())
        self._stored.write([self._row(key)])
        if entry.summary != before:
            self.version += 1
            self._sorted = None
        return True

    def close(self) -> None:
        """Close the file."""
        self._stored.close()

    def _listed(self, clock: float) -> tuple[list[str], list[str]]:
        """Return the keys of new runs, newest first, and of those that are gone; those are dropped."""
        fresh: list[str] = []
        known = self._entries
        for name in self._projects:
            listing = self._listings.get(name) or self._listings.setdefault(name, Listing(f"{name}/runs"))
            listing.look(self._bounds, clock)
            fresh += [key for identifier in listing.names if (key := f"{name}//{identifier}") not in known]
        gone = [
            key
            for key, entry in known.items()
            if (listed := self._listings.get(entry.summary.project)) is None
            or entry.summary.project not in self._projects
            or entry.summary.id not in listed.names
        ]
        for key in gone:
            del known[key]
        for name in [name for name in self._listings if name not in self._projects]:
            del self._listings[name]
        fresh.sort(key=lambda key: key.rpartition("//")[2], reverse=True)
        self.pending = max(0, len(fresh) - self._most) if self._most else 0
        return fresh[: self._most] if self._most else fresh, gone

    def _to_look_at(self) -> list[str]:
        """Return the keys of all runs that may change, and of some closed ones, in turn."""
        if len(self._turn) < CLOSED_AT_ONCE:
            self._turn += [key for key, entry in self._entries.items() if entry.closed]
        turn, self._turn = self._turn[:CLOSED_AT_ONCE], self._turn[CLOSED_AT_ONCE:]
        some = [key for key in dict.fromkeys(turn) if key in self._entries]
        return [*(key for key, entry in self._entries.items() if not entry.closed), *some]

    def _differs(self, entry: _Entry) -> bool:
        """Return whether a run's files have changed since they were read."""
        base = str(entry.run.path)
        if entry.closed:
            return entry.read == 0.0 or mark(base + FACTS[0]) != entry.signature[0]
        return signature_of(base) != entry.signature

    def _read(self, keys: list[str], told: Mapping[str, RunStatus], now: float, clock: float) -> list[str]:
        """Read runs and return the keys of those whose summaries are new or other than before."""
        jobs = []
        told = dict(told)
        for key in keys:
            project, run = self._directory(key)
            if files_of(f"{run.path}/events").size > EVENTS:
                told[key] = RunStatus(run.id, LOST, reason=message("watch.broken"))
            jobs.append(
                (key, project, run, signature_of(str(run.path)))
            )  # before reading: later changes are seen later
        states = self._states([(key, run) for key, _, run, _ in jobs if key not in told])
        changed = []
        for key, project, run, signature in jobs:
            found = _fresh(told.get(key) or states[key])
            before = self._entries.get(key)
            try:
                summary = summarise(project, run, found)
            except (OSError, ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
                summary = _broken(project, run)
            entry = _Entry(project, run, summary, signature, found, written=summary.progress, read=clock)
            if before is not None and before.about == _about(summary, entry.written):
                entry.cause, entry.about = before.cause, before.about
                entry.summary = with_cause(summary, before.cause, language())
            _keep_times(entry, before, now, clock - self._refreshed < WATCHED)
            entry.closed = _is_closed(entry, now)
            self._entries[key] = entry
            if before is None or before.summary != entry.summary:
                changed.append(key)
        return changed

    def _directory(self, key: str) -> tuple[Project, RunDirectory]:
        name, _, identifier = key.rpartition("//")
        return self._projects[name], RunDirectory(Path(f"{name}/runs/{identifier}"))

    def _states(self, runs: Sequence[tuple[str, RunDirectory]]) -> dict[str, RunStatus]:
        try:
            found = status([run for _, run in runs], ask=False, write=False, seen=self.seen)
            return {key: state for (key, _), state in zip(runs, found, strict=True)}
        except Exception:  # one run's files are not what they should be: the others do not suffer for it
            return {key: self._state(run) for key, run in runs}

    def _state(self, run: RunDirectory) -> RunStatus:
        try:
            return status([run], ask=False, write=False, seen=self.seen)[0]
        except Exception:  # whatever a file has in it that nobody thought of
            return RunStatus(run.id, LOST, reason=message("watch.broken"))

    def _row(self, key: str) -> tuple[str, str, str, str]:
        entry = self._entries[key]
        value = {
            "summary": entry.summary.to_json(),
            "signature": entry.signature,
            "cause": entry.cause.to_json() if entry.cause is not None else None,
            "about": entry.about,
            "written": entry.written,
            "changed": entry.changed,
        }
        return entry.summary.project, entry.summary.id, self._form, json.dumps(value)

    def _loaded(self, project: Project, identifier: str, text: str) -> _Entry | None:
        """Return a run as the file has it, None when the row is not whole."""
        try:
            value: dict[str, Any] = json.loads(text)
            summary = replace(Summary.from_json(value["summary"]), project=str(project.path), id=identifier)
            entry = _Entry(
                project,
                RunDirectory(project.path / "runs" / identifier),
                summary if summary.team == project.team or not project.team else replace(summary, team=project.team),
                tuple(int(each) for each in value["signature"]),
                None,
                Cause.from_json(value["cause"]) if value["cause"] is not None else None,
                str(value["about"]),
                value["written"],
                float(value["changed"]),
                read=time.monotonic(),
            )
        except (KeyError, TypeError, ValueError, AttributeError):
            return None
        entry.closed = _is_closed(entry, time.time())
        return entry if len(entry.signature) == len(FACTS) else None


def _about(summary: Summary, written: float | None) -> str:
    """Return what of a run a diagnosis depends on: another state, or news of a run that stood still, make it void."""
    still = f" {written}" if summary.state in OPEN else ""
    return f"{summary.state} {summary.cause} {summary.attempt}{still}"


def _form() -> str:
    """Return the mark of rows that this version can use, in the language that the reasons are in."""
    names = ",".join([entry.name for entry in fields(Summary)] + list(FACTS))
    return f"{__version__}-{language()}-{hashlib.sha256(names.encode()).hexdigest()[:12]}"


def _parts(key: str) -> tuple[str, str, str]:
    return key.rpartition("//")


def _fresh(state: RunStatus) -> RunStatus:
    """Return a state without its age while that only says that the scheduler is not asked every second."""
    if state.stale_seconds is None:
        return state
    age = state.stale_seconds // STEP * STEP
    return replace(state, stale_seconds=age if age >= FRESH else None)


def _may_change_unseen(entry: _Entry, now: float) -> bool:
    """Return whether telemetry still comes, or a rank's last word about its end."""
    state = entry.summary.state
    return state in (RUNNING, ENDING) or (state in ENDED and now - entry.changed < JUST_ENDED)


def _keep_times(entry: _Entry, before: _Entry | None, now: float, watched: bool) -> None:
    """Set when the run last changed and made progress: by this host's clock wherever the change was watched."""
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


def _is_closed(entry: _Entry, now: float) -> bool:
    summary = entry.summary
    return summary.sealed or (summary.state not in OPEN and now - entry.changed > CLOSED)


def _broken(project: Project, run: RunDirectory) -> Summary:
    return Summary(run.id, str(project.path), project.team, state=LOST, reason=message("watch.broken"))
