"""The parts of the step time as stacked bars: one for each process count of a study, or for each rank of a run."""

from collections.abc import Mapping, Sequence
from typing import Any

from hackathon.profiling.sentences import duration, part_name, percentage, point_sentence
from hackathon.profiling.shares import PARTS
from hackathon.scaling.plot import filled
from hackathon.scaling.show import label
from hackathon.scaling.table import series_of
from hackathon.text.messages import _, pgettext
from hackathon.text.paths import shipped
from hackathon.web.page.figures import Figure

COLOURS = {
    "data": "#b45309", "host": "#8a3ffc", "compute": "#0b5cad", "communication": "#00806a", "waiting": "#c0267d",
    "other": "#5b6675",
}  # fmt: skip
"""Part → its colour, distinguishable on white with colour blindness; white text is readable on each."""
NARROW, LETTERS = 306, 12
"""Width of the picture for a phone, and the size of its letters: on a screen of 390 pixels it is not made smaller."""
RANKS = 24
"""Ranks of a run that have a bar; the table has all."""


def study_shares(results: Mapping[str, Any]) -> list[Figure]:
    """Return the picture of a study's points; empty if no point has any known part."""
    series = series_of(results)
    bars = [
        (f"{label(entry)} · {size}" if len(series) > 1 else size, point["shares"])
        for entry in series
        for point in entry["points"]
        if point.get("shares")
        for size in [_("{processes} {processes:process|processes}", processes=point["processes"])]
    ]
    texts = [
        point_sentence(point["processes"], point["shares"])
        for entry in series
        for point in entry["points"]
        if point.get("shares")
    ]
    return _figures(_("Shares of a step by process count"), _("Processes"), bars, bars, texts)


def rank_shares(shares: Mapping[str, Any] | None, processes: int) -> list[Figure]:
    """Return the picture of a run's ranks; empty if no rank has any known part.

    `shares`: as in the results JSON of a run. Of more than RANKS ranks the first ones and the late one are drawn.
    """
    if not shares:
        return []
    late = shares["late_rank"]
    ranks = [(_("rank {rank}", rank=rank["rank"]), rank) for rank in shares["ranks"]]
    drawn = ranks[:RANKS]
    drawn += [entry for entry in ranks[RANKS:] if entry[1]["rank"] == late]
    texts = [point_sentence(processes, shares)]
    return _figures(_("Shares of a step by rank"), _("rank"), drawn, ranks, texts)


def _figures(
    title: str,
    head: str,
    drawn: Sequence[tuple[str, Mapping[str, Any]]],
    rows: Sequence[tuple[str, Mapping[str, Any]]],
    texts: Sequence[str],
) -> list[Figure]:
    if not any(shares[part] for _, shares in rows for part in PARTS if part != "other"):
        return []  # bars of unknown parts say less than the sentence with the reason
    parts = [part for part in PARTS if any(shares[part] is not None for _, shares in rows)]
    fills = {
        "names": [part_name(part) for part in parts], "colours": [COLOURS[part] for part in parts], "head": head,
    }  # fmt: skip
    spec = filled(shipped("templates", "plots", "shares.vl.json"), fills, {"parts": _segments(drawn)})
    columns = (head, pgettext("shares", "step"), *(part_name(part) for part in parts))
    table = tuple(
        (name, duration(shares["seconds"]), *(_cell(shares, part) for part in parts)) for name, shares in rows
    )
    narrow = Figure("shares-narrow", title, "", _narrow(spec))
    return [Figure("shares", title, " ".join(texts), spec, columns, table, narrow=narrow)]


def _narrow(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return the picture for a phone: the names above their bars, the parts' names in two columns."""
    bars, shown = spec["layer"]
    x = bars["encoding"]["x"]
    legend = {**bars["encoding"]["color"]["legend"], "columns": 2, "labelFontSize": LETTERS}
    bars = {
        "mark": bars["mark"],
        "encoding": {
            **{name: channel for name, channel in bars["encoding"].items() if name != "tooltip"},
            "x": {**x, "axis": {**x["axis"], "labelFontSize": LETTERS, "titleFontSize": LETTERS}},
            "color": {**bars["encoding"]["color"], "legend": legend},
        },
    }
    shown = {
        **shown,
        "transform": [{"filter": "datum.end - datum.begin >= 0.15"}],
        "mark": {**shown["mark"], "fontSize": LETTERS},
    }
    names = {
        "transform": [{"filter": "datum.begin == 0"}],
        "mark": {"type": "text", "align": "left", "baseline": "bottom", "dy": -12, "fontSize": LETTERS,
                 "color": "#5b6675", "limit": NARROW},
        "encoding": {"x": {"datum": 0}, "text": {"field": "label", "type": "nominal"}},
    }  # fmt: skip
    y = {**spec["encoding"]["y"], "axis": None}
    return {**spec, "width": NARROW, "height": {"step": 44}, "encoding": {"y": y}, "layer": [bars, shown, names]}


def _segments(bars: Sequence[tuple[str, Mapping[str, Any]]]) -> list[dict[str, Any]]:
    segments = []
    for name, shares in bars:
        begin = 0.0
        for part in PARTS:
            if not shares[part]:
                continue
            share = shares[part] / shares["seconds"]
            end = min(1.0, begin + share)
            segments.append(
                {
                    "label": name, "part": part_name(part), "begin": _rounded(begin), "end": _rounded(end),
                    "middle": _rounded((begin + end) / 2), "shown": percentage(share),
                    "told": f"{percentage(share)} · {duration(shares[part])}",
                }
            )  # fmt: skip
            begin = end
    return segments


def _cell(shares: Mapping[str, Any], part: str) -> str:
    return "–" if shares[part] is None else percentage(shares[part] / shares["seconds"])


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")
