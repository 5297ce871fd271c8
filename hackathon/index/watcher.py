"""Follow all unfinished runs of an event: one thread for all viewers; nothing is written in any run."""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from hackathon.index.catalog import Catalog, doubles_of
from hackathon.index.cause import RunCause
from hackathon.index.diagnoser import Examiner
from hackathon.index.gather import rules_of
from hackathon.index.index import Index
from hackathon.index.projects import ProjectFolder, bounds_of, find_projects
from hackathon.index.record import RunEntry, key_of, parts_of
from hackathon.runs.states import CREATED, LOST, OPEN, RUNNING, SUCCEEDED, RunStatus
from hackathon.runs.status import status
from hackathon.text.errors import HackathonError
from hackathon.text.messages import _, ngettext

if TYPE_CHECKING:
    from hackathon.config.event import Event
    from hackathon.runs.directory import RunDirectory

ASK_EVERY = 30.0
"""The least seconds between two questions to schedulers."""
PLACES_EVERY, PLACES_LATEST = 4.0, 30.0
"""Least and greatest number of seconds between two searches for projects.

Usually the least, so that a team's first run appears soon; more if searches take long.
"""
TRIES, TRY_AGAIN = 3, 10.0
"""How often a diagnosis that failed on a busy machine is tried; seconds before the next try."""
PORTION = 500
"""New runs that are read before the others are displayed."""
LONG = 20.0
"""Seconds of diagnoses after which a project's runs wait for those of the others."""
STILL = 300.0
"""Seconds without progress after which an unfinished run is diagnosed, because it may hang."""
RESTING = 120.0
"""Seconds without a diagnosis after which its process is ended, because it keeps all rules in memory."""
SILENT_RUNS, SILENT_AGE = 100, 2 * 86400.0
"""Newest successful runs that are checked for silent errors; and for how long after their end."""


class Watcher:
    """A thread that refreshes an index, asks schedulers and requests diagnoses of failures."""

    def __init__(
        self,
        event_folder: Path | None,
        folders: Sequence[Path],
        *,
        team: str = "",
        ask: bool = True,
        interval: float = 2.0,
        path: Path | None = None,
    ) -> None:
        """Start to watch an event and further folders; `team`: only that team's. Version 0 is before the first refresh.

        `ask=False` asks no scheduler. `interval`: seconds between two refreshes. `path`: the index's file, by default
        this user's on the node's own disk.
        """
        self._event_folder, self._folders, self._team = event_folder, [folder.absolute() for folder in folders], team
        self._ask, self._interval, self._path = ask, interval, path
        self._source = Catalog(event_folder=event_folder, team=team, live=True)
        self._version = 0
        self._changed = threading.Condition()
        self._stopping, self._wake = threading.Event(), threading.Event()
        self._settled = threading.Event()
        self._event: Event | None = None
        self._event_mark: tuple[int, int] | None = None
        self._projects: list[ProjectFolder] = []
        self._searched = -1e9
        self._search_costs: tuple[float, float] = (0.0, 0.0)
        self._problems: dict[str, tuple[str, ...]] = {}
        self._asker: threading.Thread | None = None
        self._asked = -1e9
        self._answers: dict[str, RunStatus] | None = None
        self._examiner = Examiner()
        self._examining: threading.Thread | None = None
        self._found: tuple[str, str, RunCause | None] | None = None
        self._tries: dict[tuple[str, str], tuple[int, float]] = {}
        self._busy, self._urgent = 0.0, False
        self._spent: dict[str, float] = {}
        """Project's folder → seconds used by the diagnoses of its runs."""
        self._thread = threading.Thread(target=self._run, name="watch", daemon=True)
        self._thread.start()

    @property
    def version(self) -> int:
        """Grows with every change of `source()`; 0 before the first refresh."""
        return self._version

    def source(self) -> Catalog:
        """Return a snapshot of the present state."""
        return replace(self._source, now=time.time(), asks=self._ask)

    def wait(self, version: int, timeout: float) -> int:
        """Return the version as soon as it differs from `version`, at the latest after `timeout` seconds."""
        with self._changed:
            self._changed.wait_for(lambda: self._version != version or self._stopping.is_set(), timeout)
            return self._version

    def settle(self, timeout: float) -> bool:
        """Wait until all runs are read, schedulers were asked and failures diagnosed.

        Return False after `timeout` seconds.
        """
        return self._settled.wait(timeout)

    def stop(self) -> None:
        """End the thread and the running diagnosis; waiting threads get the last version."""
        self._stopping.set()
        self._wake.set()
        self._examiner.stop()
        with self._changed:
            self._changed.notify_all()
        if threading.current_thread() is not self._thread:
            self._thread.join(10.0)

    def _run(self) -> None:
        index: Index | None = None
        try:
            while not self._stopping.is_set():
                begin = time.monotonic()
                try:
                    if index is None:
                        index = Index([], self._path, most=PORTION)
                    self._look(index)
                    self._tell("watching")
                except Exception as error:  # a failed refresh is reported, and the next one may succeed
                    self._tell("watching", _("reading the runs failed; trying again: {what}", what=error))
                self._publish(index)
                if index is not None and index.pending and not self._stopping.is_set():
                    continue
                self._wait_for_next(begin, index)
        finally:
            if self._examining is not None:
                self._examining.join(5.0)
            self._examiner.rest()
            if index is not None:
                index.close()

    def _wait_for_next(self, begin: float, index: Index | None) -> None:
        """Sleep until the next refresh, and meanwhile store results of diagnoses."""
        while not self._stopping.is_set():
            left = self._interval - (time.monotonic() - begin)
            if left <= 0 or not self._wake.wait(left):
                return
            self._wake.clear()
            if index is not None and self._found is not None and self._take(index):
                self._publish(index)
            if index is not None:
                self._examine_next(index)
            if self._answers is not None:
                return

    def _look(self, index: Index) -> None:
        """Check everything once that may have changed."""
        self._find_places(index)
        answers, self._answers = self._answers, None
        index.refresh(answers)
        self._take(index)
        self._tell(
            "unreadable",
            *(
                ngettext(
                    "the user of this page cannot read {count} run of {path}",
                    "the user of this page cannot read {count} runs of {path}",
                    count,
                    path=path,
                    count=count,
                )
                for path, count in index.unreadable.items()
            ),
            *index.outside,
        )
        busy = self._examine_next(index)
        if time.monotonic() - self._busy > RESTING and not _any_open(index):
            self._examiner.rest()
        asking = self._ask_schedulers(index)
        if not (busy or asking or index.pending):
            self._settled.set()

    def _find_places(self, index: Index) -> None:
        """Search for projects at intervals, and read the event's file again."""
        now = time.monotonic()
        if now - self._searched < pause_between(self._search_costs):
            return
        self._load_event()
        projects, problems = find_projects(self._event_folder, self._event, self._folders, strays=[])
        if self._team:
            projects = [project for project in projects if project.team == self._team or not project.shown]
        self._tell("places", *problems)
        bounds = bounds_of(self._event_folder, self._event, self._folders)
        if projects != self._projects or self._searched < 0:
            index.use(projects, bounds)
            self._projects = projects
        self._searched = time.monotonic()
        self._search_costs = self._search_costs[1], self._searched - now

    def _load_event(self) -> None:
        if self._event_folder is None:
            return
        from hackathon.config.load import EVENT_FILE, load_event

        try:
            status = (self._event_folder / EVENT_FILE).stat()
            mark = (status.st_mtime_ns, status.st_size)
            if mark != self._event_mark:
                self._event = load_event(self._event_folder)
                self._event_mark = mark
            self._tell("event")
        except (HackathonError, OSError) as error:
            self._tell("event", _("cannot read the event's file; using its previous content: {what}", what=error))

    def _ask_schedulers(self, index: Index) -> bool:
        """Start a thread that asks every scheduler once about all open runs; return whether one is running.

        A scheduler that does not answer blocks nothing else.
        """
        if not self._ask:
            return False
        if self._asker is not None and self._asker.is_alive():
            return True
        if time.monotonic() - self._asked < ASK_EVERY:
            return self._answers is not None
        runs = index.asked_about()
        self._asked = time.monotonic()
        if not runs:
            return False
        self._asker = threading.Thread(target=self._answer, args=(index, runs), name="ask", daemon=True)
        self._asker.start()
        return True

    def _answer(self, index: Index, runs: "Sequence[tuple[str, RunDirectory]]") -> None:
        try:
            states = status([run for _, run in runs], ask=True, write=False, seen=index.seen)
            self._tell("schedulers", *(state.problem for state in states if state.problem))
            self._answers = {key: state for (key, _), state in zip(runs, states, strict=True)}
        except Exception as error:  # a run's files may contain anything: reported, and tried again
            self._tell("schedulers", str(error))
        self._wake.set()

    def _examine_next(self, index: Index) -> bool:
        """Start the diagnosis of the most urgent run, if none is running.

        Return whether a failed run is being diagnosed.
        """
        if (self._examining is not None and self._examining.is_alive()) or self._found is not None:
            self._busy = time.monotonic()
            return self._urgent
        key = self._most_urgent(index)
        state = index.state_of(key) if key else None
        if self._stopping.is_set():
            return False
        if key is None or state is None:
            if not self._examiner.ready and _any_open(index):
                self._begin(self._prepare)
                self._urgent = False
            return False
        self._busy, self._urgent = time.monotonic(), state.state != SUCCEEDED
        self._begin(self._examine, key, index.about(key), state)
        return self._urgent

    def _begin(self, work: Callable[..., None], *values: object) -> None:
        self._examining = threading.Thread(target=work, args=values, name="examine", daemon=True)
        self._examining.start()

    def _prepare(self) -> None:
        """Let the child read the rules while runs wait or continue, because a failure will need its cause soon."""
        self._examiner.prepare(self._rule_folders(self._projects[0].path) if self._projects else [])
        self._wake.set()  # a failure may wait for it

    def _rule_folders(self, project: Path) -> list[Path]:
        return [project, *rules_of(self._event_folder)]

    def _most_urgent(self, index: Index) -> str | None:
        """Return the key of the last failure, else of a run without progress, else of a recent success."""
        now = time.time()
        best: tuple[tuple[float, int, float], str] | None = None
        good = 0
        for summary in index.summaries:
            good += summary.state == SUCCEEDED
            urgency = _urgency(summary, now)
            if urgency is None or (urgency == 0 and good > SILENT_RUNS):
                continue
            # a project whose diagnoses took long must not delay the others
            waits = self._spent.get(summary.project, 0.0) // LONG
            order = (-waits, urgency, summary.ended or summary.created or 0.0)
            key = key_of(summary.project, summary.id)
            if (best is None or order > best[0]) and not index.examined(key) and not self._rests(key, index.about(key)):
                best = order, key
        return best[1] if best is not None else None

    def _rests(self, key: str, about: str) -> bool:
        """Return whether a run's diagnosis failed recently."""
        return self._tries.get((key, about), (0, 0.0))[1] > time.monotonic()

    def _examine(self, key: str, about: str, state: RunStatus) -> None:
        project, identifier = parts_of(key)
        failed, folders = state.state != SUCCEEDED, self._rule_folders(Path(project))
        begin = time.monotonic()
        cause = self._examiner.cause(Path(project) / "runs" / identifier, state, folders, failed=failed)
        self._spent[project] = self._spent.get(project, 0.0) + time.monotonic() - begin
        if self._stopping.is_set():
            return
        lost = (
            ()
            if cause is not None
            else (
                _(
                    "the diagnosis of {run} in {project} took too long or failed, so no cause is shown",
                    run=identifier,
                    project=project,
                ),
            )
        )
        self._tell("diagnosis", *lost)
        if slow := ", ".join(self._examiner.slow):
            self._tell(
                f"rules {project}",
                _(
                    "failure rules took too long on a run of {project} and were left out: {rules}",
                    project=project,
                    rules=slow,
                ),
            )
        self._found = key, about, cause
        self._wake.set()

    def _take(self, index: Index) -> bool:
        """Store the result of the diagnosis in the index; return whether it contained news."""
        diagnosis, self._found = self._found, None
        if diagnosis is None:
            return False
        key, about, cause = diagnosis
        if cause is None:
            tries = self._tries.get((key, about), (0, 0.0))[0] + 1
            self._tries[key, about] = tries, time.monotonic() + tries * TRY_AGAIN
            if tries < TRIES:
                return False
        self._tries.pop((key, about), None)
        cause = cause or RunCause()
        before = index.version
        index.attach(key, cause, about)
        return index.version != before

    def _tell(self, about: str, *problems: str) -> None:
        """Replace the problems of one topic."""
        with self._changed:
            self._problems[about] = tuple(dict.fromkeys(problems))

    def _publish(self, index: Index | None) -> None:
        """Publish a new snapshot after a change, and wake waiting threads."""
        with self._changed:
            problems = tuple(text for about in sorted(self._problems) for text in self._problems[about])
        summaries, unseen = (index.summaries, index.unseen) if index is not None else ((), ())
        projects = [project for project in self._projects if project.shown]
        before = self._source
        same = (
            summaries is before.summaries
            and unseen is before.unseen
            and problems == before.problems
            and projects == before.projects
            and self._event is before.event
        )
        if same and self._version:
            return
        with self._changed:
            self._source = replace(
                before, summaries=summaries, unseen=unseen, projects=projects, event=self._event, problems=problems,
                doubles=doubles_of((*summaries, *unseen)),
            )  # fmt: skip
            self._version += 1
            self._changed.notify_all()


def pause_between(costs: tuple[float, float]) -> float:
    """Return the seconds until the next search for projects, from the duration of the last two."""
    # the shorter one, because a search may be slow on a machine that is busy for a moment
    cost = min(costs)
    return max(PLACES_EVERY, cost, min(PLACES_LATEST, 20 * cost))


def _any_open(index: Index) -> bool:
    return any(summary.state in OPEN for summary in index.summaries)


def _urgency(summary: RunEntry, now: float) -> int | None:
    """Return 2 for a failure, 1 for a run without progress, 0 for a recent success; None if nothing is to be found."""
    if summary.state == SUCCEEDED:
        return 0 if summary.ended is not None and now - summary.ended < SILENT_AGE else None
    if summary.state == RUNNING:
        still = STILL if summary.interval is None else max(STILL, 4 * summary.interval)
        return 1 if summary.progress is not None and now - summary.progress > still else None
    if summary.state in OPEN or summary.state in (CREATED, LOST) or summary.cause == "preflight_failed":
        return None
    return 2
