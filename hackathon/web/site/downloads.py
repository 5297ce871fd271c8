"""The numbers of a site as CSV and JSON, masked, and without formulas for spreadsheets."""

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hackathon.index.studies import StudyRuns
from hackathon.jobs.settings import settings_text
from hackathon.scaling import show
from hackathon.scaling.table import series_of
from hackathon.text.csv_cells import harmless
from hackathon.web.masking.mask import Mask

COLUMNS = (
    "team", "study", "name", "cluster", "mode", "metric", "unit", "processes", "nodes", "value", "stdev", "repeats",
    "speedup", "efficiency", "status", "doubts", "settings", "main", "compared",
)  # fmt: skip
"""Columns of the table of all results."""


def safe_cell(cell: object) -> object:
    """Return a cell that no spreadsheet evaluates: `'` precedes a text that looks like a formula, numbers stay."""
    if not isinstance(cell, str):
        return cell
    try:
        float(cell)
    except ValueError:
        return harmless(cell)
    return cell


def study_csv(results: Mapping[str, Any], mask: Mask) -> str:
    """Return a study's results as CSV."""
    return show.render(mask.value(dict(results)), "csv")


def study_json(results: Mapping[str, Any], mask: Mask) -> str:
    """Return a study's results as JSON, without data that a site contains twice.

    A single series without settings is only at the top level (`scaling.table.series_of` reads that). The parts of the
    step time are included for points; for single runs they are in the crates.
    """
    value = mask.value(_told_once(results))
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")) + "\n"


def _told_once(results: Mapping[str, Any]) -> dict[str, Any]:
    copy = {**results, "points": [_of_a_site(point) for point in results.get("points", [])]}
    series = results.get("series") or []
    if len(series) > 1 or any(entry["settings"] for entry in series):
        copy["series"] = [{**entry, "points": [_of_a_site(point) for point in entry["points"]]} for entry in series]
    else:
        copy.pop("series", None)
    if "points" not in results:
        del copy["points"]
    return copy


def _of_a_site(point: Mapping[str, Any]) -> dict[str, Any]:
    runs = [{name: value for name, value in run.items() if name != "shares"} for run in point["runs"]]
    return {**point, "runs": runs}


def rows(
    team: str,
    study: StudyRuns,
    results: Mapping[str, Any],
    mask: Mask,
    *,
    main: Mapping[str, Any] | None = None,
    compared: bool = True,
) -> list[list[object]]:
    """Return a study's points as rows of the table of all results, masked.

    `main`: the settings of the series that is the team's main study; None if another study is. `compared`: whether it
    ran on a machine of the event.
    """
    clusters = " ".join(sorted({run.cluster for run in study.runs if run.cluster}))
    head = [team, study.id, study.name, clusters, results["mode"], results["metric"], results["unit"]]
    return [
        [
            *(mask.text(str(text)) for text in head),
            point["processes"], point["nodes"], point["value"], point["spread"]["stdev"], point["spread"]["n"],
            point["speedup"], point["efficiency"], point["status"], show.doubt_ids(point["doubts"]),
            mask.text(settings_text(entry["settings"], " ")),
            "yes" if main is not None and dict(main) == dict(entry["settings"]) else "no", "yes" if compared else "no",
        ]
        for entry in series_of(results)
        for point in entry["points"]
    ]  # fmt: skip


def all_csv(lines: Iterable[Sequence[object]]) -> str:
    """Return the table of all results as CSV."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows([safe_cell(cell) for cell in line] for line in lines)
    return stream.getvalue()


def all_json(event: Mapping[str, Any], lines: Iterable[Sequence[object]]) -> str:
    """Return the table of all results as JSON: `{"schema_version", "event", "points": [{column: value}]}`."""
    points = [dict(zip(COLUMNS, line, strict=True)) for line in lines]
    value = {"schema_version": 1, "event": event, "points": points}
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")) + "\n"
