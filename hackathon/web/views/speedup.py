"""The page of a run of `hackathon speedup`: its table of options, or its search for the largest batch that fits."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hackathon.index.catalog import Catalog
from hackathon.index.record import RunEntry
from hackathon.index.studies import by_team, run_key
from hackathon.jobs.settings import settings_text
from hackathon.runs.directory import RunDirectory, files_of
from hackathon.runs.record import SPEEDUP_TAG
from hackathon.text.messages import _, pgettext
from hackathon.text.units import format_size
from hackathon.tuning import batches, result
from hackathon.tuning.batches import LargestBatch
from hackathon.tuning.result import SpeedupResult
from hackathon.tuning.sentences import (
    baseline_sentences,
    largest_sentences,
    option_cells,
    option_heads,
    probe_cells,
    probe_heads,
    result_sentences,
    untried,
)
from hackathon.web.page import sanitize as clean

SHOWN = 20
"""Runs of `hackathon speedup` in a list, the newest ones."""
LOOKED_AT = 200
"""Newest runs of `hackathon speedup` that are read for that list."""


@dataclass(frozen=True)
class TableRow:
    cells: tuple[str, ...]
    good: bool = False
    """Whether it is faster, or the recommended batch."""
    bad: bool = False
    """Whether it is slower, failed, or does not fit."""
    whole: bool = False
    """Whether it is the row of the best options together, or of the confirmation."""


@dataclass(frozen=True)
class SpeedupTable:
    """A table with its headers."""

    heads: tuple[str, ...]
    rows: tuple[TableRow, ...]


@dataclass(frozen=True)
class Tile:
    """A highlighted number."""

    name: str
    value: str
    unit: str = ""
    note: str = ""


@dataclass(frozen=True)
class SpeedupView:
    """A run of `hackathon speedup` for its page."""

    run: str
    """Key of the run."""
    id: str
    name: str
    team: str
    """The key of its team's page."""
    shown_team: str
    cluster: str
    created: float | None
    kind: str
    """`options` or `batches`."""
    tiles: tuple[Tile, ...]
    lead: tuple[str, ...]
    table: SpeedupTable
    after: tuple[str, ...]
    """Explanations below the table."""
    use: str
    """The recommended settings, as they are written; empty without any."""
    untried: tuple[str, ...] = ()
    needed: tuple[tuple[str, str], ...] = ()
    """(untried option, the lines that it needs)."""


@dataclass(frozen=True)
class SpeedupRow:
    """A run of `hackathon speedup` in a list."""

    key: str
    id: str
    name: str
    cluster: str
    created: float | None
    kind: str
    told: str
    """Its result in one line."""


def values(source: Catalog, key: str) -> dict[str, Any] | None:
    """Return the values of the page; None for a run without a result of `hackathon speedup`."""
    summary = source.find(key)
    if summary is None or not has_speedup(summary):
        return None
    result, largest = _kept(summary)
    names = {path: team.name for team in by_team(source) for path in team.projects}
    team = summary.team or names.get(Path(summary.project), Path(summary.project).name)
    if result is not None:
        view = _options(summary, team, result)
    elif largest is not None:
        view = _batches(summary, team, largest)
    else:
        return None
    return {"view": clean.value(view)}


def has_speedup(run: RunEntry) -> bool:
    """Return whether a run contains a result of `hackathon speedup`."""
    if SPEEDUP_TAG not in run.tags:
        return False
    inside = files_of(Path(run.project) / "runs" / run.id)
    return any(inside.is_file(f"client/{fact}.json") for fact in (result.FACT, batches.FACT))


def speedup_rows(runs: Sequence[RunEntry]) -> tuple[SpeedupRow, ...]:
    """Return the results of runs of `hackathon speedup`, newest first."""
    rows: list[SpeedupRow] = []
    tagged = sorted((run for run in runs if SPEEDUP_TAG in run.tags), key=lambda run: run.id, reverse=True)
    for run in tagged[:LOOKED_AT]:
        if len(rows) >= SHOWN:
            break
        if not has_speedup(run):
            continue
        result, largest = _kept(run)
        if result is not None:
            kind, text = "options", _outcome(result)
        elif largest is not None:
            kind, text = "batches", _batch_outcome(largest)
        else:
            continue
        name, cluster = clean.line(run.name or run.id, 100), clean.line(run.cluster, 60)
        rows.append(SpeedupRow(run_key(run), run.id, name, cluster, run.created, kind, clean.line(text, 300)))
    return tuple(rows)


def _kept(run: RunEntry) -> tuple[SpeedupResult | None, LargestBatch | None]:
    directory = RunDirectory(Path(run.project) / "runs" / run.id)
    return (
        SpeedupResult.from_json(directory.client(result.FACT)),
        LargestBatch.from_json(directory.client(batches.FACT)),
    )


def _outcome(result: SpeedupResult) -> str:
    """Return the result of a comparison in one line."""
    if not result.applied:
        return _("no option is faster outside the noise with an unchanged loss")
    best = _best(result)
    return _("{ratio} × with {settings}", settings=settings_text(result.applied), ratio=best)


def _best(result: SpeedupResult) -> str:
    """Return the speed-up of the recommended settings: `1.42`; empty without any."""
    for row in (*([result.together] if result.together else []), *result.compared.rows):
        if row.settings == result.applied and row.ratio is not None:
            return f"{row.ratio.middle:.3g}"
    return ""


def _batch_outcome(batch: LargestBatch) -> str:
    if batch.largest is None:
        return _("the largest batch is not known")
    return _(
        "largest batch {largest}, recommended {recommended}",
        largest=batch.largest,
        recommended=batch.recommended or "–",
    )


def _about(summary: RunEntry, team: str) -> dict[str, Any]:
    return {
        "run": run_key(summary), "id": summary.id, "name": summary.name or summary.id, "team": team,
        "shown_team": clean.line(team, 100), "cluster": summary.cluster, "created": summary.created,
    }  # fmt: skip


def _options(summary: RunEntry, team: str, result: SpeedupResult) -> SpeedupView:
    compared, together = result.compared, result.together
    tiles = []
    if result.applied:
        tiles.append(Tile(_("Fastest settings"), _best(result), "×", settings_text(result.applied)))
    tiles.append(Tile(_("Options to use"), str(sum(row.wins for row in compared.rows)),
                      f"/ {len(compared.rows)}", _("faster, and the loss stays the same")))  # fmt: skip
    largest = max(compared.shares.items(), key=lambda entry: entry[1], default=None)
    if largest is not None:
        name = _("Largest part of a step")
        tiles.append(Tile(name, f"{100 * largest[1]:.0f}", "%", _part(largest[0])))
    rows = [TableRow(tuple(option_cells(row)), row.wins, row.verdict in ("slower", "failed") or row.loss == "worse")
            for row in compared.rows]  # fmt: skip
    if together is not None:
        rows.append(TableRow(tuple(option_cells(together)), together.wins, together.verdict == "slower", True))
    options, needed = untried(result)
    return SpeedupView(
        **_about(summary, team),
        kind="options",
        tiles=tuple(tiles),
        lead=tuple(baseline_sentences(result)),
        table=SpeedupTable(tuple(option_heads()), tuple(rows)),
        after=tuple(result_sentences(result)),
        use=settings_text(result.applied) if result.applied else "",
        untried=tuple(options),
        needed=tuple(needed),
    )


def _part(name: str) -> str:
    from hackathon.profiling.shares import PART_TEXTS

    return _(PART_TEXTS[name]) if name in PART_TEXTS else name


def _batches(summary: RunEntry, team: str, batch: LargestBatch) -> SpeedupView:
    tiles = [Tile(_("Batch as it is"), str(batch.first), "", batch.parameter)]
    if batch.largest is not None:
        tiles.insert(0, Tile(_("Largest batch"), str(batch.largest)))
    if batch.recommended is not None:
        words = _("confirmed by a longer start") if batch.confirmed else _("not confirmed")
        tiles.insert(1, Tile(_("Recommended batch"), str(batch.recommended), "", words))
    if batch.limit is not None:
        of = _("address space of a process") if batch.virtual else _("memory of the GPU")
        tiles.append(Tile(_("Limit of memory"), format_size(batch.limit), "", of))
    if batch.noise is not None:
        bound = "" if batch.noise.samples is not None else "≥ "
        name, unit = _("Gradient noise scale"), pgettext("speedup_page", "samples")
        tiles.append(Tile(name, f"{bound}{batch.noise.bound:.3g}", "", unit))
    rows = [
        TableRow(
            tuple(probe_cells(probe)), probe.fits and probe.kind == "confirm", not probe.fits, probe.kind == "confirm"
        )
        for probe in batch.probes
    ]
    return SpeedupView(
        **_about(summary, team),
        kind="batches",
        tiles=tuple(tiles),
        lead=(_("Each start is a fresh process with another value of {parameter}.", parameter=batch.parameter),),
        table=SpeedupTable(tuple(probe_heads()), tuple(rows)),
        after=tuple(largest_sentences(batch, summary.id)),
        use="",
    )
