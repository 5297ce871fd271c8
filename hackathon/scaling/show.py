"""Format a study's results as a terminal table, CSV, Markdown or JSON."""

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hackathon.jobs.settings import settings_text, value_text
from hackathon.profiling.sentences import hints, points_sentences
from hackathon.scaling.doubts import is_false
from hackathon.scaling.table import SUCCEEDED, TARGET, grows_with_processes, per_process, points_of, series_of
from hackathon.text.csv_cells import harmless
from hackathon.text.messages import N_, NP_, _

MODE_NAMES = {
    "weak": N_("weak scaling"),
    "strong": N_("strong scaling"),
}

_LAW_TEXTS = {
    "amdahl": N_("Amdahl's law, {formula}"),
    "gustafson": N_("Gustafson's law, {formula}"),
}

_STATE_TEXTS = {
    "created": N_("CREATED"),
    "queued": N_("QUEUED"),
    "held": N_("HELD"),
    "running": N_("RUNNING"),
    "ending": N_("ENDING"),
    "succeeded": N_("SUCCEEDED"),
    "partial": N_("PARTIAL"),
    "failed": N_("FAILED"),
    "timeout": N_("TIMEOUT"),
    "out_of_memory": N_("OUT_OF_MEMORY"),
    "cancelled": N_("CANCELLED"),
    "node_failed": N_("NODE_FAILED"),
    "lost": N_("LOST"),
    "uncertain": N_("UNCERTAIN"),
}

MODE_TEXTS = {
    "weak": N_("weak scaling (fixed batch per process)"),
    "strong": N_("strong scaling (fixed global batch)"),
}

_COLUMN_TEXTS = {
    "processes": N_("processes"),
    "nodes": N_("nodes"),
    "speedup": N_("speed-up"),
    "efficiency": NP_("scaling", "efficiency"),
    "status": N_("status"),
    "runs": N_("runs"),
}

FORMATS = ("table", "csv", "json", "md")
BELOW = "▼"
"""Marks a point below the 75 % line."""
DOUBTED = "⚠"
"""Marks a doubted result."""

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def render(
    results: Mapping[str, Any], how: str = "table", *, terminal: bool = False, color: bool = True, width: int = 100
) -> str:
    """Return the results as text in one of FORMATS, ending with a line end.

    `terminal`: the table may use box characters and is fitted to `width` columns; `color` False (NO_COLOR) omits the
    colours. Otherwise the table is plain and as wide as necessary.
    """
    if how == "json":
        return json.dumps(results, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    if how == "csv":
        return _csv(results)
    if how == "md":
        return _markdown(results)
    return _table(results, terminal, color, width)


def number(value: float | None, digits: int = 4) -> str:
    """Return a number with so many significant digits, in decimal notation; – for None."""
    if value is None:
        return "–"
    if value and not 1e-4 <= abs(value) < 1e9:
        return f"{value:.{digits - 1}e}"
    text = f"{value:.{digits}g}"
    if "e" in text or abs(value) >= 10 ** (digits - 1):
        return f"{value:,.0f}"
    return text


def percent(value: float | None) -> str:
    """Return a share as `85.2 %`; – for None."""
    return "–" if value is None else f"{100 * value:.1f} %"


def spread(point: Mapping[str, Any]) -> str:
    """Return `812 ± 9` (standard deviation over repeats), or only the value without repeats."""
    deviation = point["spread"]["stdev"]
    text = number(point["value"])
    return f"{text} ± {number(deviation, 2)}" if deviation is not None else text


def state(status: str) -> str:
    """Return a state in the reader's language; an unknown one is unchanged."""
    try:
        return _(_STATE_TEXTS[status.lower()])
    except KeyError:
        return plain(status)


def full_state(status: str) -> str:
    """Return a state's own name, with the reader's word if it differs: `TIMEOUT（時間切れ）`."""
    word = state(status)
    return word if word == status else f"{status}（{word}）"


def doubt_mark(doubts: Sequence[Mapping[str, Any]]) -> str:
    """Return the marker for doubts about a result, `⚠ not believable` or `to be checked`; empty without any."""
    if not doubts:
        return ""
    return f"{DOUBTED} {_('not believable')}" if is_false(doubts) else _("to be checked")


def doubt_ids(doubts: Sequence[Mapping[str, Any]]) -> str:
    """Return the ids of doubts for a cell of a table: `no-group;noise`."""
    return ";".join(doubt["id"] for doubt in doubts)


def doubt_text(doubt: Mapping[str, Any]) -> str:
    """Return the text of a doubt, with its location."""
    evidence = plain(doubt["evidence"])
    return plain(doubt["message"]) + (_(" ({place})", place=evidence) if evidence else "")


def point_state(point: Mapping[str, Any]) -> str:
    """Return the state of a point as text, with the marker of its doubts."""
    return " ".join(filter(None, (state(point["status"]), doubt_mark(point["doubts"]))))


def below_target(point: Mapping[str, Any]) -> bool:
    """Return True when a point's efficiency is below three out of four."""
    return point["efficiency"] is not None and point["efficiency"] < TARGET


def remarks(results: Mapping[str, Any], *, shares: bool = True) -> list[str]:
    """Return the sentences under the table: base, 75 % line, check, fit, failures, notes and tags.

    `shares`: with the split of the steps, which a page with its chart leaves out. With several series, a sentence
    about one of them begins with its settings.
    """
    series = series_of(results)
    lines = basis(results)
    lines += (
        []
        if len(series) == 1
        else [
            _(
                "{count} combinations of settings; speed-up and efficiency compare runs with equal settings only",
                count=len(series),
            )
        ]
    )
    parts = [_summary(entry) for entry in series]
    for number, part in enumerate(parts):
        for line in part:
            if len(parts) == 1:
                lines.append(line)
            elif not all(line in other for other in parts):
                lines.append(f"{label(series[number])}: {line}")
            elif number == 0:
                lines.append(f"{_('each combination')}: {line}")
    for single in series:
        own = [*(_shares(single) if shares else ()), *_doubts(single), *_failures(single)]
        lines += [line if len(series) == 1 else f"{label(single)}: {line}" for line in own]
    lines += [
        _(
            "run {run} ({status}): its request.json does not say how many processes it had, so it has no point",
            run=plain(run["id"]),
            status=full_state(run["status"]),
        )
        for run in results.get("unreadable", ())
    ]
    for point in points_of(results):
        for run in point["runs"]:
            about = [plain(run["note"])] if run.get("note") else []
            about += [f"#{plain(tag)}" for tag in run.get("tags", ())]
            if about:
                lines.append(_("run {run}: {text}", run=plain(run["id"]), text=" ".join(about)))
    return lines


def basis(results: Mapping[str, Any]) -> list[str]:
    """Return sentences on the source of the values, on the study's mode, and on how the speed-up follows from them.

    Empty where the values and the mode are as requested and the speed-up is their ratio.
    """
    lines = []
    if results.get("source") == "tracker":
        lines.append(
            _(
                "{metric} was read from the files of an experiment tracker: the output has no such number",
                metric=plain(results["metric"]),
            )
        )
    if results.get("source") == "recorded":
        lines.append(
            _(
                "{metric} was recorded from outside the program, which prints no number that all runs share",
                metric=plain(results["metric"]),
            )
        )
    if results.get("mode_asked"):
        asked, measured = (_(MODE_TEXTS[results[name]]) for name in ("mode_asked", "mode"))
        lines.append(
            _(
                "the study was started as {asked}, but the samples of a step show {measured}; the table "
                "follows the samples",
                asked=asked,
                measured=measured,
            )
        )
    unit = str(results.get("unit") or "")
    if len({point["processes"] for point in points_of(results) if point.get("speedup") is not None}) > 1:
        if per_process(unit):
            lines.append(
                _(
                    "{metric} is that of one process; the speed-up counts all processes together",
                    metric=plain(results["metric"]),
                )
            )
        elif results["mode"] == "weak" and grows_with_processes(unit):
            lines.append(
                _(
                    "with a fixed batch per process, a step of N processes does the work of N steps of one process; "
                    "the speed-up counts that"
                )
            )
    return lines


def label(series: Mapping[str, Any]) -> str:
    """Return the settings that distinguish a series: `lr=0.1, launcher=mpirun`; empty when nothing varies."""
    return plain(settings_text(series["settings"]))


def _summary(results: Mapping[str, Any]) -> list[str]:
    """Return the sentences on one series."""
    lines = []
    base = results["base_processes"]
    if results.get("baseline"):
        lines.append(_("base: run {run}, processes = {processes}", run=plain(results["baseline"]), processes=base))
    elif base is None:
        lines.append(_("no results yet: cannot compute the speed-up"))
    else:
        lines.append(_("base: the smallest successful point, processes = {processes}", processes=base))
    if any(below_target(point) for point in results["points"]):
        lines.append(_('{mark} below 75 % parallel efficiency ("three out of four")', mark=BELOW))
    checks = results["checks"]
    if checks and checks["passed"] is not None:
        good = sum(1 for entry in checks["runs"] if entry["passed"])
        key = (
            N_("check {rule}: passed by all {total} successful runs")
            if checks["passed"]
            else N_("check {rule}: passed by only {good} of {total} successful runs")
        )
        lines.append(_(key, rule=check_rule(checks), good=good, total=len(checks["runs"])))
    elif checks and checks["runs"]:
        silent = sum(1 for entry in checks["runs"] if entry["passed"] is None)
        lines.append(
            _(
                "check {rule}: not judged; {silent} of {total} successful runs did not record the value",
                rule=check_rule(checks),
                silent=silent,
                total=len(checks["runs"]),
            )
        )
    return lines + fit_sentences(results)


def _doubts(results: Mapping[str, Any]) -> list[str]:
    """Return a sentence for each doubt about a point of one series."""
    return [
        _(
            "{processes} {processes:process|processes}, {mark}: {text}",
            mark=doubt_mark([doubt]),
            processes=point["processes"],
            text=doubt_text(doubt),
        )
        for point in results["points"]
        for doubt in point["doubts"]
    ]


def share_hints(results: Mapping[str, Any]) -> list[str]:
    """Return the advice of the split of the points' steps, each text once, as a page has it below the chart."""
    return list(
        dict.fromkeys(
            text
            for point in points_of(results)
            if point["value"] is not None and point["shares"]
            for text in hints(point["processes"], point["shares"])
        )
    )


def _shares(results: Mapping[str, Any]) -> list[str]:
    """Return sentences on the split of the points' steps; a single one when none is recorded."""
    good = [point for point in results["points"] if point["value"] is not None]
    sentences = points_sentences([(point["processes"], point["shares"]) for point in good])
    return sentences or (
        [
            _(
                "where the time of a step goes is not known: the program records no step times, and no steps "
                "of torch's optimizers were seen from outside (hackathon docs why-is-it-not-faster)"
            )
        ]
        if good
        else []
    )


def _failures(results: Mapping[str, Any]) -> list[str]:
    """Return a sentence for each run of one series that failed or has no value."""
    lines = []
    for point in results["points"]:
        for run in point["runs"]:
            if run["status"] != SUCCEEDED:
                why = plain(run.get("reason", "")) or _("cause unknown")
                lines.append(
                    _(
                        "{processes} {processes:process|processes}, run {run}: {status} – {reason}",
                        processes=point["processes"],
                        run=plain(run["id"]),
                        status=full_state(run["status"]),
                        reason=why,
                    )
                )
            elif run["value"] is None:
                lines.append(
                    _(
                        "run {run} succeeded, but no {metric} was found in its output",
                        run=plain(run["id"]),
                        metric=plain(results["metric"]),
                    )
                )
    return lines


def check_rule(checks: Mapping[str, Any]) -> str:
    """Return the condition of a check: `accuracy ≥ 0.97`."""
    parts = []
    if checks["at_least"] is not None:
        parts.append(f"{plain(checks['metric'])} ≥ {number(checks['at_least'])}")
    if checks["at_most"] is not None:
        parts.append(f"{plain(checks['metric'])} ≤ {number(checks['at_most'])}")
    return ", ".join(parts) or plain(checks["metric"])


def fit_sentences(results: Mapping[str, Any]) -> list[str]:
    """Return sentences on the fit: law, serial fraction, predicted efficiency at larger sizes; none without a fit."""
    fit = results["fit"]
    if not fit:
        return []
    return [_law_sentence(fit)] + [
        _(
            N_("predicted at {processes} processes: efficiency {efficiency} ({low} to {high} with 90 % probability)")
            if entry["level"] is not None
            else N_(
                "predicted at {processes} processes: efficiency {efficiency} ({low} to {high}; hackathon predict "
                "says why this is a range and not a 90 % interval)"
            ),
            processes=entry["processes"],
            efficiency=percent(entry["efficiency"]),
            low=percent(entry["low"]),
            high=percent(entry["high"]),
        )
        for entry in fit.get("predicted", ())
    ]


def _law_sentence(fit: Mapping[str, Any]) -> str:
    law = _(_LAW_TEXTS[fit["model"]], formula=fit["formula"])
    if fit["serial_fraction"] is None:
        return _(
            "{law} does not fit these points (faster than linear, slower than the base, or too far from any "
            "such curve)",
            law=law,
        )
    fraction = percent(fit["serial_fraction"])
    if fit["standard_error"] is None:
        return _(
            "{law}: serial fraction f = {fraction}; repeat the points (--repeat 3) to get its error",
            law=law,
            fraction=fraction,
        )
    return _(
        "{law}: serial fraction f = {fraction} (standard error {error})",
        law=law,
        fraction=fraction,
        error=percent(fit["standard_error"]),
    )


def plain(text: object) -> str:
    """Return text on one line without control characters and direction marks: a log must not control a terminal."""
    return _CONTROL.sub(" ", str(text))


def varied(results: Mapping[str, Any]) -> list[str]:
    """Return the names of what the study varies besides the process count."""
    return list(dict.fromkeys(name for entry in series_of(results) for name in entry["settings"]))


def headings(results: Mapping[str, Any]) -> list[str]:
    """Return the headings of the table, those of varied settings first."""
    value = plain(results["metric"]) + (f" [{plain(results['unit'])}]" if results["unit"] else "")
    keys = ("processes", "nodes", "", "speedup", "efficiency", "status", "runs")
    return [*map(plain, varied(results)), *(_(_COLUMN_TEXTS[key]) if key else value for key in keys)]


def text_rows(results: Mapping[str, Any]) -> list[tuple[Mapping[str, Any], list[str]]]:
    """Return each point with its row as text, series after series; at the end a row for each unreadable run."""
    names = varied(results)
    lost = {"efficiency": None, "value": None, "doubts": (), "status": ""}
    return [
        (
            point,
            [
                *(plain(value_text(entry["settings"].get(name, "–"))) for name in names),
                str(point["processes"]),
                str(point["nodes"]),
                spread(point),
                number(point["speedup"], 3),
                percent(point["efficiency"]) + (f" {BELOW}" if below_target(point) else ""),
                point_state(point),
                f"{sum(1 for run in point['runs'] if run['status'] == SUCCEEDED)}/{len(point['runs'])}",
            ],
        )
        for entry in series_of(results)
        for point in entry["points"]
    ] + [(lost, ["–"] * (len(names) + 5) + [_("run cannot be read"), "0/1"]) for __ in results.get("unreadable", ())]


def _table(results: Mapping[str, Any], terminal: bool, color: bool, width: int) -> str:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    stream = io.StringIO()
    console = Console(
        file=stream,
        force_terminal=terminal and color,
        color_system="standard" if terminal and color else None,
        no_color=not (terminal and color),
        width=width if terminal else 400,
        highlight=False,
        markup=False,
        emoji=False,
    )
    mode = _(MODE_TEXTS[results["mode"]]) if results["mode"] in ("weak", "strong") else ""
    console.print(Text(plain(results["study"]) + (f" · {mode}" if mode else ""), style="bold"))
    table = Table(box=box.ROUNDED if terminal else None, pad_edge=terminal, header_style="bold")
    first = len(varied(results))
    for i, heading in enumerate(headings(results), -first):
        table.add_column(heading, justify="left" if i == 5 or i < 0 else "right", no_wrap=i != 2, overflow="fold")
    for point, row in text_rows(results):
        cells = [Text(cell) for cell in row]
        if below_target(point):
            cells[first + 4].stylize("yellow")
        cells[first + 5].stylize(
            "red"
            if is_false(point["doubts"])
            else "green"
            if point["status"] == SUCCEEDED
            else "yellow"
            if point["value"] is not None
            else "red"
        )
        table.add_row(*cells)
    console.print(table)
    for line in remarks(results):
        console.print(Text(line), soft_wrap=not terminal)
    return "".join(line.rstrip() + "\n" for line in stream.getvalue().splitlines())


def _safe_cell(value: object) -> object:
    """Return a cell that no spreadsheet evaluates as a formula; numbers stay numbers."""
    if not isinstance(value, str):
        return "" if value is None else value
    return harmless(plain(value))


def run_columns(results: Mapping[str, Any]) -> list[str]:
    """Return the names of the columns of `run_rows`."""
    return [
        "study", "mode", "metric", "unit", *_POINT_COLUMNS, "run", "job_id", "run_status", "run_value", "reason",
        "note", "tags", *(f"settings.{name}" for name in varied(results)),
    ]  # fmt: skip


def run_rows(results: Mapping[str, Any]) -> Iterator[list[Any]]:
    """Yield one row per run with its point's numbers, so that a spreadsheet can regroup them; unreadable runs first.

    The settings that the study varies are in the last columns, one each: `settings.lr`.
    """
    names = varied(results)
    head = [results["study"], results["mode"], results["metric"], results["unit"]]
    for run in results.get("unreadable", ()):
        yield [
            *head,
            *[None] * 9,
            "UNREADABLE",
            "",
            run["id"],
            None,
            run["status"],
            None,
            "",
            "",
            "",
            *[None] * len(names),
        ]
    for entry in series_of(results):
        for point in entry["points"]:
            for run in point["runs"]:
                yield [
                    *head, *_point_cells(point), run["id"], run["job_id"], run["status"], run["value"],
                    run.get("reason", ""), run.get("note", ""), " ".join(run.get("tags", ())),
                    *(entry["settings"].get(name) for name in names),
                ]  # fmt: skip


def point_columns(results: Mapping[str, Any]) -> list[str]:
    """Return the names of the columns of `point_rows`."""
    return [*_POINT_COLUMNS, *(f"settings.{name}" for name in varied(results))]


def point_rows(results: Mapping[str, Any]) -> Iterator[list[Any]]:
    """Yield one row per point."""
    names = varied(results)
    for entry in series_of(results):
        for point in entry["points"]:
            yield [*_point_cells(point), *(entry["settings"].get(name) for name in names)]


_POINT_COLUMNS = (
    "processes", "nodes", "value", "min", "max", "stdev", "n", "speedup", "efficiency", "status", "doubts",
)  # fmt: skip


def _point_cells(point: Mapping[str, Any]) -> list[Any]:
    spread = point["spread"]
    return [
        point["processes"], point["nodes"], point["value"], spread["min"], spread["max"], spread["stdev"], spread["n"],
        point["speedup"], point["efficiency"], point["status"], doubt_ids(point["doubts"]),
    ]  # fmt: skip


def _csv(results: Mapping[str, Any]) -> str:
    """Return the rows of `run_rows` (RFC 4180 with LF)."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    for row in (run_columns(results), *run_rows(results)):
        writer.writerow([_safe_cell(cell) for cell in row])
    return stream.getvalue()


def _markdown(results: Mapping[str, Any]) -> str:
    def row(cells: list[str]) -> str:
        return "| " + " | ".join(_markdown_cell(cell) for cell in cells) + " |"

    first = len(varied(results))
    alignment = [":---"] * first + ["---:" if i != 5 else ":---" for i in range(7)]
    rows = [row(cells) for _, cells in text_rows(results)]
    lines = [row(headings(results)), "| " + " | ".join(alignment) + " |", *rows, ""]
    lines += [f"- {_markdown_cell(line)}" for line in remarks(results)]
    return "\n".join(lines) + "\n"


def _markdown_cell(text: str) -> str:
    return re.sub(r"([\\|<>`*_\[\]])", r"\\\1", text)
