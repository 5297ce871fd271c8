"""The chart of a survey's ratings: diverging stacked bars with counts, as Vega-Lite.

A bar's segments are the levels from low to high, as wide as their shares; the middle level is centred on the zero line.
A colour shows what a level means for the question's target, not how high it is: for an item between two bad ends the
middle is good and both ends are equally bad. Blue and orange are distinguishable with red-green colour blindness, and
in grey by their lightness.
"""

import unicodedata
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hackathon.config.survey import Question
from hackathon.scaling.fonts import has_japanese, needs_japanese
from hackathon.scaling.plot import filled, write_plot
from hackathon.survey.records import ItemSummary, SurveySummary
from hackathon.survey.statistics import middle
from hackathon.text.messages import N_, _, localized, ngettext, speaking
from hackathon.text.messages import language as current_language
from hackathon.text.paths import shipped
from hackathon.text.printable import printable

_MEANS_TEXTS = {
    "best": N_("on target"),
    "good": N_("good"),
    "between": N_("in between"),
    "off": N_("off"),
    "far": N_("far off"),
    "neutral": N_("no target"),
}

Chart = tuple[dict[str, Any], str, tuple[str, ...], tuple[tuple[str, ...], ...]]
"""Specification; description in words; heads and rows of a table with the same numbers."""

COLOURS = {
    "best": ("#0e4a86", "#ffffff"),
    "good": ("#9ccaf0", "#111111"),
    "between": ("#d9dde3", "#111111"),
    "off": ("#fcd7a8", "#111111"),
    "far": ("#d9722a", "#111111"),
    "neutral": ("#b9c0ca", "#111111"),
}
"""Meaning of a level → colour of its segment and of the count on it; each pair has a contrast of at least 4.5 : 1."""
WIDTH, ROW = 440, 62
"""Pixels: width of the chart, and height of a question in it."""
_LABEL = 0.05
"""The smallest share of a domain with room for a count."""
_ROOM = (48, 130)
"""Least and greatest number of pixels for the name of an end."""


def chart(summary: SurveySummary, language: str, *, titled: bool = False, latin: bool = False) -> Chart | None:
    """Return the chart of all published ratings in one language, None if there are none.

    titled: with the survey's title, for a separate file. latin: for a machine without a Japanese font; texts in
    Japanese only are left out, and questions have their ids.
    """
    items = [item for item in summary.items if item.question.kind == "rating" and item.shown and item.n]
    if not items:
        return None
    with speaking(language):
        words = [_words(item.question, latin) for item in items]
        spec = filled(shipped("templates", "plots", "survey.vl.json"), *_contents(items, words))
        if titled:
            spec["title"] = _title(summary, latin)
        heads, rows = _table(items, words)
        sentences = [_said(item, *its) for item, its in zip(items, words, strict=True)]
        alt = " ".join(
            [
                ngettext(
                    "Answers per level of {count} question.",
                    "Answers per level of {count} questions.",
                    len(items),
                    count=len(items),
                ),
                *sentences,
            ]
        )
    return spec, alt, heads, rows


def write_chart(summary: SurveySummary, path: Path) -> list[str]:
    """Write a chart of the ratings to a file, .svg or .png, in the current language, by rename; return warnings.

    Japanese text never becomes boxes. Raises RequestError for another suffix or without ratings, UnavailableError
    without the drawing library, HackathonError if the drawing fails.
    """
    from hackathon.text.errors import RequestError

    chosen, latin, warnings = current_language(), False, []
    if path.suffix.lower() == ".png" and not has_japanese():
        latin = True
        if chosen == "ja":
            warnings.append(
                _("no Japanese font was found, so the labels of the plot are in English")
                + " ("
                + _("put a font such as Noto Sans CJK into ~/.local/share/fonts, or use .svg")
                + ")"
            )
            chosen = "en"
    picture = chart(summary, chosen, titled=True, latin=latin)
    if picture is None:
        raise RequestError(
            "survey_summary.nothing_to_draw", "the survey {name} has no ratings to draw", name=summary.name
        )
    write_plot({"background": "white", **picture[0]}, path)
    return warnings


def meaning(question: Question, level: int) -> str:
    """Return what a level means for the question's target: a key of COLOURS."""
    if question.target == "middle":
        centre = middle(question.levels)
        distance = max(centre[0] - level, level - centre[-1], 0)
        if distance == 0:
            return "best"
        return "off" if 2 * distance <= centre[0] - 1 else "far"
    if question.target is None:
        return "neutral"
    if question.levels == 1:
        return "best"
    rank, highest = level - 1, question.levels - 1
    rank = highest - rank if question.target == "low" else rank
    if 2 * rank == highest:
        return "between"
    if 2 * rank > highest:
        return "best" if 5 * rank > 4 * highest else "good"
    return "far" if 5 * rank < highest else "off"


def _words(question: Question, latin: bool) -> tuple[str, str, str]:
    """Return a question and the names of its two ends in the current language, as they can be drawn."""
    texts = [printable(localized(text)) for text in (question.text, question.low, question.high)]
    if latin:
        texts = ["" if needs_japanese(text) else text for text in texts]
    return texts[0] or printable(question.id), texts[1], texts[2]


def _contents(
    items: Sequence[ItemSummary], words: Sequence[tuple[str, str, str]]
) -> tuple[dict[str, Any], dict[str, list[dict[str, Any]]]]:
    """Return the values and the data sets of the template."""
    segments: list[dict[str, Any]] = []
    counts: list[dict[str, Any]] = []
    rows: list[dict[str, Any]] = []
    for row, (item, (text, low, high)) in enumerate(zip(items, words, strict=True)):
        at = -_left(item)
        bar = {"row": row, "start": _short(at), "end": _short(at + 1), "centre": 0}
        rows.append({**bar, "question": text, "low": low, "high": high, "n": f"n = {item.n}"})
        for level, count in enumerate(item.counts, 1):
            if not count:
                continue
            means, width = meaning(item.question, level), count / item.n
            segments.append(
                {"row": row, "start": _short(at), "end": _short(at + width), "count": count, "question": text,
                 "meaning": _(_MEANS_TEXTS[means]), "level": _level(level, item.question, low, high)}
            )  # fmt: skip
            counts.append(
                {
                    "row": row,
                    "at": _short(at + width / 2),
                    "label": str(count),
                    "ink": COLOURS[means][1],
                    "width": width,
                }
            )
            at += width
    domain = [min(row["start"] for row in rows), max(row["end"] for row in rows)]
    used = {segment["meaning"] for segment in segments}
    names = {_(_MEANS_TEXTS[key]): colour for key, (colour, __) in COLOURS.items()}
    colours = {name: colour for name, colour in names.items() if name in used}
    low_room, high_room = (_room([texts[end] for texts in words]) for end in (1, 2))
    fills = {
        "width": WIDTH, "height": ROW * len(items), "domain": domain, "range": [low_room, WIDTH - high_room],
        "low_room": low_room - 8, "high_room": high_room - 8, "question_room": WIDTH - 70,
        "colours": {"domain": list(colours), "range": list(colours.values())},
        "legend_columns": len(colours) if len(colours) < 5 else 3,
    }  # fmt: skip
    labels = [
        {name: value for name, value in count.items() if name != "width"}
        for count in counts
        if count["width"] / (domain[1] - domain[0]) >= _LABEL
    ]
    return fills, {"segments": segments, "counts": labels, "rows": rows}


def _left(item: ItemSummary) -> float:
    """Return the share of answers left of the zero line: those below the middle, and half of those on it."""
    centre = middle(item.question.levels)
    below = sum(item.counts[: centre[0] - 1])
    on = sum(item.counts[centre[0] - 1 : centre[-1]]) / 2 if len(centre) == 1 else item.counts[centre[0] - 1]
    return (below + on) / item.n


def _room(names: Sequence[str]) -> int:
    """Return the pixels that the longest of some names needs, within the limits."""
    widest = max(sum(12.5 if unicodedata.east_asian_width(letter) in "WF" else 7 for letter in name) for name in names)
    return min(max(int(widest) + 16, _ROOM[0]), _ROOM[1])


def _short(value: float) -> float:
    return round(value, 5)


def _level(level: int, question: Question, low: str, high: str) -> str:
    end = low if level == 1 else high if level == question.levels else ""
    return f"{level} ({end})" if end else str(level)


def _title(summary: SurveySummary, latin: bool) -> Mapping[str, str]:
    title = printable(localized(summary.survey.title))
    subtitle = _("{n} answers", n=summary.n)
    if summary.private:
        subtitle = f"{_('NOT FOR PUBLICATION')} · {subtitle}"
    return {"text": "" if latin and needs_japanese(title) else title, "subtitle": subtitle}


def _table(
    items: Sequence[ItemSummary], words: Sequence[tuple[str, str, str]]
) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    most = max(item.question.levels for item in items)
    heads = (
        _("question"), "n", _("low end"),
        *(str(level) for level in range(1, most + 1)), _("high end"),
    )  # fmt: skip
    rows = []
    for item, (text, low, high) in zip(items, words, strict=True):
        counts = [str(count) for count in item.counts] + ["–"] * (most - item.question.levels)
        rows.append((text, str(item.n), low or "–", *counts, high or "–"))
    return heads, tuple(rows)


def _said(item: ItemSummary, text: str, low: str, high: str) -> str:
    """Return the description of a bar in words."""
    values = {"question": text, "n": item.n, "low": low or "1", "high": high or str(item.question.levels)}
    if item.question.target == "middle" and item.on_target:
        return _(
            "{question}: {on} of {n} in the middle, {too_low} towards {low}, {too_high} towards {high}.",
            on=item.on_target.count,
            too_low=item.too_low,
            too_high=item.too_high,
            **values,
        )
    top, bottom = (share.count if share else 0 for share in (item.top, item.bottom))
    return _("{question}: {top} of {n} towards {high}, {bottom} towards {low}.", top=top, bottom=bottom, **values)
