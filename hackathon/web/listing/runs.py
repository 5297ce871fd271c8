"""The table of all runs: filtered by words, team and state, sorted, with the parameters that differ."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hackathon.index.catalog import Catalog
from hackathon.index.memory import Memory
from hackathon.index.record import RunEntry, key_of
from hackathon.runs.directory import RunDirectory
from hackathon.runs.states import CANCELLED, OPEN, SUCCEEDED
from hackathon.scaling.show import number
from hackathon.scaling.show import state as state_word
from hackathon.text.numbers import digits
from hackathon.web.page import tables
from hackathon.web.page.addresses import Options, option
from hackathon.web.page.sanitize import line
from hackathon.web.page.tables import PER_PAGE
from hackathon.web.views.study import RunRow, run_row

COLUMNS = 4
"""Parameters with a column of their own: those with the most different values on the page."""
KEPT = 2000
"""Runs whose parameters are cached."""
GROUPS: dict[str, Callable[[RunEntry], bool]] = {
    "open": lambda run: run.state in OPEN,
    "good": lambda run: run.state == SUCCEEDED,
    "bad": lambda run: run.state not in (*OPEN, SUCCEEDED, CANCELLED, "CREATED"),
}
"""Value of option `state` → the runs that it selects."""
SORTS: dict[str, Callable[[RunEntry], float | str | None]] = {
    "created": lambda run: run.created,
    "name": lambda run: run.name.casefold(),
    "team": lambda run: run.team.casefold(),
    "processes": lambda run: run.processes,
    "value": lambda run: run.value,
    "took": lambda run: run.seconds,
    "state": lambda run: state_word(run.state),
}
"""Value of option `sort` → sort key; a leading `-` means largest first."""
FIRST = "-created"


@dataclass(frozen=True)
class ListedRun:
    """One run of the list."""

    row: RunRow
    team: str
    user: str
    short: str
    """Its short address and the value of its checkbox: a part of its id that no other run has."""
    values: tuple[str, ...]
    """Its parameters, in the order of the columns."""


@dataclass(frozen=True)
class RunsPage:
    """The page of the list."""

    runs: tuple[ListedRun, ...]
    count: int
    """Number of matching runs, on all pages."""
    all: int
    """Number of all runs."""
    columns: tuple[str, ...]
    """Parameters that differ between the runs of this page."""
    teams: tuple[str, ...]
    """Teams for the filter."""
    find: str
    team: str
    state: str
    study: str
    study_name: str
    sort: str
    page: int
    """Counted from 1."""
    pages: int

    def asked(self, **changed: str) -> tuple[tuple[str, str], ...]:
        """Return the options of the same list with some changed; on the first page unless a page is named."""
        now = {"find": self.find, "team": self.team, "state": self.state, "study": self.study,
               "sort": self.sort if self.sort != FIRST else "", "page": ""}  # fmt: skip
        return tuple({**now, **changed}.items())

    def by(self, name: str) -> str:
        """Return the order after a click on a column's header: largest first, then smallest first."""
        return name if self.sort == f"-{name}" else f"-{name}"

    def direction(self, name: str) -> str:
        """Return a column's order as a value of `aria-sort`; empty without one."""
        return {name: "ascending", f"-{name}": "descending"}.get(self.sort, "") if self.sort.endswith(name) else ""


def values(source: Catalog, key: str = "", options: Options = ()) -> dict[str, Any] | None:
    """Return the template's values."""
    return {"view": runs_page(source, options)}


def runs_page(source: Catalog, options: Options = ()) -> RunsPage:
    """Return one page of the runs that the options select. Only those on it are read from the disk."""
    query = {name: option(options, name).strip() for name in ("find", "team", "state", "study", "sort", "page")}
    sort = query["sort"] if query["sort"].removeprefix("-") in SORTS else FIRST
    state = query["state"] if query["state"] in GROUPS else ""
    matches = [run for run in source.summaries if _fits(run, query["find"], query["team"], query["study"], state)]
    matches = ordered(matches, sort)
    pages = max(1, math.ceil(len(matches) / PER_PAGE))
    page = min(pages, digits(query["page"], 4000) or 1)
    listed = matches[(page - 1) * PER_PAGE : page * PER_PAGE]
    parameters = [parameters_of(run, source.memory) for run in listed]
    columns = differing(parameters)[:COLUMNS]
    shorts = short_names(source, listed)
    return RunsPage(
        runs=tuple(
            ListedRun(
                run_row(run), line(run.team, 100), line(run.user, 60), short,
                tuple(line(settings.get(name, "–"), 60) for name in columns),
            )
            for run, short, settings in zip(listed, shorts, parameters, strict=True)
        ),
        count=len(matches),
        all=len(source.summaries),
        columns=tuple(columns),
        teams=tuple(sorted({line(run.team, 100) for run in source.summaries if run.team})),
        find=query["find"],
        team=query["team"],
        state=state,
        study=query["study"],
        study_name=next((line(run.study, 100) for run in matches if query["study"]), ""),
        sort=sort,
        page=page,
        pages=pages,
    )  # fmt: skip


def _fits(run: RunEntry, find: str, team: str, study: str, state: str) -> bool:
    if (team and run.team != team) or (study and key_of(run.project, run.study) != study):
        return False
    if state and not GROUPS[state](run):
        return False
    words = find.casefold().split()
    if not words:
        return True
    diagnosis = run.told_in("en")
    texts = (run.id, run.name, run.note, *run.tags, run.user, run.team, run.cluster, run.queue, run.job_id, run.part,
             state_word(run.state), run.reason, diagnosis.message if diagnosis else "")  # fmt: skip
    everything = "\n".join(texts).casefold()
    return all(word in everything for word in words)


def ordered(runs: Iterable[RunEntry], sort: str) -> list[RunEntry]:
    """Return runs in an order of SORTS; those without that value are last, in either direction."""
    of = SORTS[sort.removeprefix("-")]

    def value(run: RunEntry) -> float | str | None:
        key = of(run)
        return None if key == "" or key != key else key

    return tables.ordered(runs, value, descending=sort.startswith("-"))


def parameters_of(run: RunEntry, memory: Memory) -> dict[str, str]:
    """Return a run's parameters, and its study's settings, as text."""
    key = key_of(run.project, run.id)
    parameters: dict[str, str] | None = memory.recall("parameters", key)
    if parameters is None:
        record = RunDirectory(Path(run.project) / "runs" / run.id).known()
        parameters = {str(name): _text(value) for name, value in {**record.parameters, **run.settings}.items()}
        # a request never changes
        if record.readable:
            memory.keep("parameters", key, parameters, KEPT)
    return parameters


def _text(value: object) -> str:
    return number(value) if isinstance(value, float) else str(value)


def differing(parameters: Sequence[Mapping[str, str]]) -> list[str]:
    """Return the names with different values, those with the most values first."""
    names = Counter(name for settings in parameters for name in settings)
    kinds = {name: len({settings.get(name) for settings in parameters}) for name in names}
    return sorted((name for name, count in kinds.items() if count > 1), key=lambda name: (-kinds[name], name))


def short_names(source: Catalog, runs: Iterable[RunEntry]) -> list[str]:
    """Return for each run the last word of its id if no other run has it, else the complete id."""
    counts = Counter(run.id.rpartition("-")[2] for run in source.summaries)
    return [last if counts[last := run.id.rpartition("-")[2]] == 1 and len(last) > 3 else run.id for run in runs]
