"""All runs of some projects, kept in memory and on node-local disk, and updated with few file accesses."""

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from pathlib import Path

from hackathon.index.cause import RunCause, with_cause
from hackathon.index.definitions import Definitions
from hackathon.index.entry import (
    IndexEntry,
    about_of,
    differs,
    form,
    fresh,
    is_closed,
    keep_times,
    loaded,
    may_change_unseen,
)
from hackathon.index.listing import FACTS, Listing, mark, signature_of
from hackathon.index.load import load_of
from hackathon.index.projects import Bounds, ProjectFolder
from hackathon.index.record import RunEntry, key_of, parts_of
from hackathon.index.store import RunStore, UseRow, default_path
from hackathon.index.uses import FORM, row_of, use_in
from hackathon.runs.directory import REMOVED, RunDirectory
from hackathon.runs.job_times import use_by, with_account_of
from hackathon.runs.lives import RunUse
from hackathon.runs.states import LOST, OPEN, RunStatus
from hackathon.runs.status import Seen, status
from hackathon.text.errors import HackathonError
from hackathon.text.messages import _
from hackathon.text.told import tell

CLOSED_AT_ONCE = 250
"""Closed runs that one refresh checks, in turn."""
AGAIN, AGAIN_AT_ONCE, AGAIN_SECONDS = 10.0, 20, 0.2
"""Seconds between two reads of an unfinished run without a sign of change; most runs and seconds per refresh.

Telemetry of such a run, or of one that has just ended, grows at this interval, and some runs have long logs.
"""
SURELY = 4.0
"""Seconds between two checks of open runs that bypass the cache of network file systems."""
PORTION_SECONDS = 2.0
"""Seconds after which a batch of new runs is interrupted, because logs without a Meter's numbers may be long."""
EVENTS = 64 << 20
"""Bytes of a run's events above which they are not read; no job writes so many."""
LINKS = 3
"""Links of one project that are reported."""
WATCHED = 60.0
"""Seconds between two checks within which a change is certainly new, whatever the file server's clock says."""

# A job id is an argument of a scheduler's command, where a file's text that begins with a dash would be an option.
_JOB_ID = re.compile(r"[A-Za-z0-9][\w.:,@%+\[\]-]{0,250}\Z", re.ASCII)


class Index:
    """Summaries of all runs of some projects. One thread refreshes; nothing is written into a run's folder."""

    def __init__(
        self,
        projects: Sequence[ProjectFolder],
        path: Path | None = None,
        bounds: Bounds | None = None,
        *,
        most: int = 0,
    ) -> None:
        """Open the index in the file `path` (by default in this user's folder on the node's own disk).

        `bounds`: where links may lead, by default the projects' folders. `most`: new runs that one refresh reads, 0:
        all.
        """
        self.version = 0
        """Grows with every change."""
        self.seen: Seen = {}
        """Answers of schedulers, for `runs.status.status`."""
        self.pending = 0
        """New runs that the last refresh left to the next one."""
        self._most = most
        self._entries: dict[str, IndexEntry] = {}
        self._listings: dict[str, Listing] = {}
        self._turn: list[str] = []
        self._refreshed = -1e9
        self._sure, self._surely = -1e9, True
        self._cost = 0.01  # seconds to read one run, by the latest measurements
        self._others = True
        self._sorted: tuple[tuple[RunEntry, ...], tuple[RunEntry, ...]] | None = ((), ())
        self._gone_uses: list[tuple[str, str]] = []
        self._form = form()
        self._definitions = Definitions()
        self._stored = RunStore(path if path is not None else default_path())
        self._projects: dict[str, ProjectFolder] = {}
        self._bounds = Bounds([])
        self.use(projects, bounds)

    def use(self, projects: Sequence[ProjectFolder], bounds: Bounds | None = None) -> None:
        """Replace the projects; runs of others leave with the next refresh."""
        self._others = True
        self._bounds = bounds or Bounds([(project.path, project.team) for project in projects])
        before, self._projects = self._projects, {str(project.path): project for project in projects}
        for key, entry in self._entries.items():
            project = self._projects.get(entry.summary.project)
            if project is not None and project != entry.project:
                entry.project, entry.read = project, 0.0
                self._turn.append(key)
        fresh = [name for name in self._projects if name not in before]
        uses: dict[str, dict[str, RunUse]] = {name: {} for name in fresh}
        for name, subfolder, __, text in self._stored.load_uses(fresh, FORM):
            if (use := use_in(subfolder, text)) is not None:
                uses[name][subfolder] = use
        for name, identifier, text in self._stored.load(fresh, self._form):
            stored = loaded(self._projects[name], identifier, text, uses[name])
            if stored is not None:
                self._entries[key_of(name, identifier)] = stored
        self._sorted = None

    @property
    def summaries(self) -> tuple[RunEntry, ...]:
        """The displayed runs, newest first."""
        return self._parted[0]

    @property
    def unseen(self) -> tuple[RunEntry, ...]:
        """The runs that are not displayed and count as used time: cleaned up, or in no team's folder."""
        return self._parted[1]

    @property
    def _parted(self) -> tuple[tuple[RunEntry, ...], tuple[RunEntry, ...]]:
        if self._sorted is None:
            order = sorted(self._entries.values(), key=attrgetter("order"), reverse=True)
            visible = tuple(entry.summary for entry in order if entry.project.shown and not entry.summary.removed)
            unseen = tuple(entry.summary for entry in order if not (entry.project.shown and not entry.summary.removed))
            self._sorted = visible, unseen
        return self._sorted

    @property
    def stored(self) -> bool:
        """Whether the index is stored on disk; if not, the next start builds it again."""
        return self._stored.usable

    @property
    def unreadable(self) -> dict[str, int]:
        """Project's folder → number of its runs that this user may not read."""
        return {name: len(listing.unreadable) for name, listing in self._listings.items() if listing.unreadable}

    @property
    def outside(self) -> list[str]:
        """Reasons why links among the runs are not followed; the first ones of each project."""
        return [text for listing in self._listings.values() for text in listing.outside[:LINKS]]

    def asked_about(self) -> list[tuple[str, RunDirectory]]:
        """Return (key, run) of the runs whose schedulers may have news."""
        return [
            (key, entry.run)
            for key, entry in self._entries.items()
            if not entry.closed and not entry.summary.sealed and _JOB_ID.match(entry.summary.job_id)
        ]

    def state_of(self, key: str) -> RunStatus | None:
        """Return a run's state; None if the run does not exist."""
        entry = self._entries.get(key)
        if entry is not None and entry.status is None:
            return self._state(entry.run)
        return None if entry is None else entry.status

    def about(self, key: str) -> str:
        """Return the facts for which a cause would be attached now; empty if the run does not exist."""
        entry = self._entries.get(key)
        return "" if entry is None else about_of(entry.summary, entry.written)

    def examined(self, key: str) -> bool:
        """Return whether a run has a diagnosis, with or without a cause, for its present state."""
        entry = self._entries.get(key)
        if entry is None or (entry.cause is None and entry.summary.told is None):
            return False
        return entry.cause is None or entry.about == about_of(entry.summary, entry.written, entry.cause)

    def refresh(self, statuses: Mapping[str, RunStatus] | None = None) -> list[str]:
        """Update the summaries and return the keys `<project folder>//<id>` of changed and deleted runs.

        `statuses` (by key): runs whose schedulers were just asked; the answers are in `seen`.
        """
        now, clock = time.time(), time.monotonic()
        self._surely = clock - self._sure >= SURELY
        if self._surely:
            self._sure = clock
        due, gone = self._listed(clock)
        due += self._definitions.outdated(self._projects, self._entries)
        again: list[tuple[float, str]] = []
        for key in self._to_look_at():
            entry = self._entries[key]
            entry.closed = entry.closed or is_closed(entry, now)
            if self._differs(entry):
                due.append(key)
            elif may_change_unseen(entry, now) and clock - entry.read >= AGAIN:
                again.append((entry.read, key))
        few = min(AGAIN_AT_ONCE, 1 + int(AGAIN_SECONDS / max(self._cost, 1e-4)))
        due += [key for _, key in sorted(again)[:few]]
        due += [
            key
            # only selects runs to read again: a scheduler may have taken long to answer, so the run's files count as
            # well
            for key, status in (statuses or {}).items()
            if (indexed := self._entries.get(key)) is not None and differs(status, indexed.status)
        ]
        due = list(dict.fromkeys(due))
        try:
            changed = self._read(due, now, clock)
        except BaseException:  # after any error, the changed runs are checked again and displayed with what was read
            self._others, self._sorted = True, None
            self.version += 1
            raise
        if due:
            self._cost = 0.7 * self._cost + 0.3 * (time.monotonic() - clock) / len(due)
        uses = [row for key in changed if (row := self._use_row(key)) is not None]
        self._stored.write([self._row(key) for key in changed], [parts_of(key) for key in gone], uses, self._gone_uses)
        self._gone_uses = []
        self._refreshed = clock
        changed += gone
        if changed:
            self.version += 1
            self._sorted = None
        return changed

    def attach(self, key: str, cause: RunCause, about: str) -> bool:
        """Store the result of a run's diagnosis.

        Return False if the run is gone or its facts (`about`) have changed.
        """
        entry = self._entries.get(key)
        if entry is None or about != about_of(entry.summary, entry.written):
            return False
        entry.cause, entry.about = cause, about_of(entry.summary, entry.written, cause)
        before = entry.summary
        bare = replace(before, part="", rule="", told=None)
        entry.summary = with_cause(bare, cause)
        self._stored.write([self._row(key)])
        if entry.summary != before:
            self.version += 1
            self._sorted = None
        return True

    def close(self) -> None:
        """Close the file."""
        self._stored.close()

    def _listed(self, clock: float) -> tuple[list[str], list[str]]:
        """Return the keys of new runs, newest first, and of runs that are gone, which are dropped."""
        fresh: list[str] = []
        entries = self._entries
        news = lost = self._others
        news = news or self.pending > 0
        for name, project in self._projects.items():
            listing = self._listings.get(name) or self._listings.setdefault(name, Listing(f"{name}/runs"))
            if listing.look(self._bounds.of(project.team), clock):
                news = True
                lost = lost or listing.lost
        if not news:
            return [], []
        self._others = False
        for name in self._projects:
            listing = self._listings[name]
            fresh += [
                key
                for identifier, subfolder in listing.names.items()
                if (entry := entries.get(key := key_of(name, identifier))) is None
                or entry.summary.removed != subfolder.startswith(REMOVED)
            ]
        gone = [
            key
            for key, entry in (entries.items() if lost else ())
            if (listed := self._listings.get(entry.summary.project)) is None
            or entry.summary.project not in self._projects
            or entry.summary.id not in listed.names
        ]
        for key in gone:
            self._forget(key)
            del entries[key]
        for key in fresh:
            if key in entries:  # cleaned up meanwhile
                self._forget(key)
        for name in [name for name in self._listings if name not in self._projects]:
            del self._listings[name]
        fresh.sort(key=lambda key: parts_of(key)[1], reverse=True)
        self.pending = max(0, len(fresh) - self._most) if self._most else 0
        return fresh[: self._most] if self._most else fresh, gone

    def _forget(self, key: str) -> None:
        """Drop the data stored under a path that is no longer a run's."""
        entry = self._entries[key]
        self.seen.pop(Path(entry.place), None)
        self._gone_uses.append((entry.summary.project, entry.place.removeprefix(f"{entry.summary.project}/runs/")))

    def _to_look_at(self) -> list[str]:
        """Return the keys of all runs that may change, and of some closed ones, in turn."""
        if len(self._turn) < CLOSED_AT_ONCE:
            self._turn += [key for key, entry in self._entries.items() if entry.closed]
        turn, self._turn = self._turn[:CLOSED_AT_ONCE], self._turn[CLOSED_AT_ONCE:]
        some = [key for key in dict.fromkeys(turn) if key in self._entries]
        return [*(key for key, entry in self._entries.items() if not entry.closed), *some]

    def _differs(self, entry: IndexEntry) -> bool:
        """Return whether a run's files have changed since they were read."""
        if entry.read == 0.0:
            return True
        base = entry.place
        if entry.closed:
            return mark(base + FACTS[0]) != entry.signature[0]
        return signature_of(base, surely=self._surely and entry.summary.state in OPEN) != entry.signature

    def _read(self, keys: list[str], now: float, clock: float) -> list[str]:
        """Read runs and return the keys of those with new or changed summaries."""
        changed = []
        for key in keys:
            before = self._entries.get(key)
            if self._most and before is None and time.monotonic() - clock > PORTION_SECONDS:
                self.pending += 1  # the runs read so far are displayed first
                continue
            project, run = self._directory(key)
            measured = self._definitions.of(str(project.path))
            with run.held():
                # before reading, so that a change meanwhile is noticed the next time
                signature = signature_of(str(run.path))
                status, summary = self._read_one(project, run, before)
            entry = IndexEntry(project, summary, signature, status, written=summary.progress, read=clock)
            entry.measured = measured
            if before is not None and before.about == about_of(summary, entry.written, before.cause):
                entry.cause, entry.about = before.cause, before.about
                entry.summary = with_cause(summary, before.cause)
            keep_times(entry, before, now, clock - self._refreshed < WATCHED)
            entry.closed = is_closed(entry, now)
            entry.status = None if entry.closed else status
            self._entries[key] = entry
            if before is None or before.summary != entry.summary or before.measured != measured:
                changed.append(key)
        return changed

    def _read_one(
        self, project: ProjectFolder, run: RunDirectory, before: IndexEntry | None
    ) -> tuple[RunStatus, RunEntry]:
        """Return a run's state and summary; bad content of its files does not affect other runs."""
        # imported here because an index without changes does not need the code that judges runs
        from hackathon.index.reader import folder_of, summarise

        if folder_of(run.files, "events").size > EVENTS:
            return RunStatus(run.id, LOST, reason=_("cannot read the files of this run")), _broken(project, run)
        state = self._state(run)
        status = fresh(state)
        if run.known().newer:
            return status, _broken(project, run)
        try:
            return status, summarise(project, run, status, self._use(run, state, before))
        except (OSError, ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
            return status, _broken(project, run)

    def _directory(self, key: str) -> tuple[ProjectFolder, RunDirectory]:
        name, identifier = parts_of(key)
        listing = self._listings.get(name)
        subfolder = listing.names.get(identifier, identifier) if listing is not None else identifier
        return self._projects[name], RunDirectory(Path(f"{name}/runs/{subfolder}"))

    def _use(self, run: RunDirectory, state: RunStatus, before: IndexEntry | None) -> RunUse | None:
        """Return a run's use, with the scheduler's accounting if it was ever asked; None for a broken record."""
        try:
            use = use_by(run, state, self.seen.get(run.path))
        except HackathonError:
            return None
        use_before = before.summary.use if before is not None else None
        use = replace(use, load=load_of(run, use, use_before))
        return use if use_before is None else with_account_of(use, use_before)

    def _state(self, run: RunDirectory) -> RunStatus:
        try:
            return status([run], ask=False, write=False, seen=self.seen)[0]
        except Exception:  # a file may contain anything
            return RunStatus(run.id, LOST, reason=_("cannot read the files of this run"))

    def _row(self, key: str) -> tuple[str, str, str, str]:
        entry = self._entries[key]
        return entry.summary.project, entry.summary.id, self._form, entry.to_text()

    def _use_row(self, key: str) -> UseRow | None:
        entry = self._entries[key]
        if entry.summary.use is None:
            return None
        project, subfolder = entry.summary.project, entry.place.removeprefix(f"{entry.summary.project}/runs/")
        return row_of(project, subfolder, entry.signature[FACTS.index("/events/job.jsonl")], entry.summary.use)


def _broken(project: ProjectFolder, run: RunDirectory) -> RunEntry:
    removed = run.path.parent.name == REMOVED
    record = run.known()
    newer = tell("runs.newer_record", run=run.id, version=record.newer, toolkit=record.toolkit_version)
    reason = newer if record.newer else tell("watch.broken")
    return RunEntry(run.id, str(project.path), project.team, state=LOST, reasons=(reason,), removed=removed)
