"""Compare two summaries, e.g. of this year's and last year's event.

Shares on target are compared, because their interval is valid for a handful of answers. Means are printed without an
interval, because no interval is meaningful for a few answers on levels. Only published numbers are used, so a
comparison reveals nothing beyond the two summaries.
"""

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from hackathon.config.survey import Question
from hackathon.survey.records import ItemSummary, Share, SurveySummary
from hackathon.survey.tables import Table, mean_text, plain_number, safe_cell
from hackathon.text.messages import N_, NP_, _, localized, pgettext

_WHY_TEXTS = {
    "only_old": N_("only in the old one"),
    "only_new": N_("only in the new one"),
    "kind": N_("another kind of question"),
    "levels": N_("another number of levels"),
    "target": N_("another target"),
    "unit": N_("another unit"),
    "untold": N_("not shown in one of them"),
}


@dataclass(frozen=True)
class ShareDifference:
    """New share − old share with its 95 % interval; −1…1."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Pair:
    """One question in two summaries, by its id."""

    question: Question
    """The question of the newer survey, or else of the older one."""
    old: ItemSummary | None
    new: ItemSummary | None
    why: str = ""
    """Why it is not compared: only_old, only_new, kind, levels, target, unit, untold; empty if it is."""
    reworded: bool = False
    """Whether the text of the question or of its ends differs."""
    difference: ShareDifference | None = None
    """rating: the difference of the shares on target."""


def difference(old: Share, new: Share) -> ShareDifference:
    """Return the difference of two independent shares with its 95 % interval, from the two Wilson intervals.

    Source: R. G. Newcombe, "Interval estimation for the difference between independent proportions: comparison of
    eleven methods", Statistics in Medicine 17 (1998), 873-890, method 10.
    """
    value = new.value - old.value
    below = math.hypot(new.value - new.low, old.high - old.value)
    above = math.hypot(new.high - new.value, old.value - old.low)
    return ShareDifference(value, value - below, value + above)


def compare(old: SurveySummary, new: SurveySummary) -> list[Pair]:
    """Return the questions of both summaries, in the order of the new one, then those only in the old one."""
    before = {item.question.id: item for item in old.items}
    after = {item.question.id: item for item in new.items}
    pairs = [
        _pair(before[identifier], item) if identifier in before else Pair(item.question, None, item, "only_new")
        for identifier, item in after.items()
    ]
    return pairs + [
        Pair(item.question, item, None, "only_old") for identifier, item in before.items() if identifier not in after
    ]


def _pair(old: ItemSummary, new: ItemSummary) -> Pair:
    why = _obstacle(old, new)
    change = difference(old.on_target, new.on_target) if not why and old.on_target and new.on_target else None
    texts = [(side.question.text, side.question.low, side.question.high) for side in (old, new)]
    return Pair(new.question, old, new, why, texts[0] != texts[1], change)


def _obstacle(old: ItemSummary, new: ItemSummary) -> str:
    before, after = old.question, new.question
    if before.kind != after.kind:
        return "kind"
    if before.kind == "rating" and before.levels != after.levels:
        return "levels"
    if before.kind == "rating" and before.target != after.target:
        return "target"
    if before.kind == "number" and before.unit != after.unit:
        return "unit"
    return "" if old.shown and new.shown and old.n and new.n else "untold"


def to_json(old: SurveySummary, new: SurveySummary, pairs: Sequence[Pair]) -> dict[str, Any]:
    """Return a comparison as JSON values."""
    sides = {
        name: {
            "survey": summary.name,
            "title": summary.survey.title,
            "n": summary.n,
            "publishable": not summary.private,
        }
        for name, summary in (("old", old), ("new", new))
    }
    rows = [
        {
            "question": pair.question.id,
            "compared": not pair.why,
            "why_not": pair.why or None,
            "reworded": pair.reworded,
            "old": _side(pair.old),
            "new": _side(pair.new),
            "difference_on_target": asdict(pair.difference) if pair.difference else None,
        }
        for pair in pairs
    ]
    return {"schema_version": 1, **sides, "intervals": "95 %, Newcombe 1998 (method 10)", "questions": rows}


def _side(item: ItemSummary | None) -> dict[str, Any] | None:
    if item is None or not item.shown:
        return None
    share = item.on_target.value if item.on_target else None
    return {"n": item.n, "counts": list(item.counts), "median": item.median, "mean": item.mean, "on_target": share}


def comparison_tables(old: SurveySummary, new: SurveySummary, pairs: Sequence[Pair]) -> list[Table]:
    """Return a comparison as tables; the first one names the two surveys."""
    names = [localized(summary.survey.title) or summary.name for summary in (old, new)]
    notes = [f"{_(side)}: {name} (n = {summary.n})"
             for side, name, summary in zip(
                 (NP_("survey_summary", "old"), NP_("survey_summary", "new")), names, (old, new), strict=True
             )]  # fmt: skip
    if old.private or new.private:
        notes.append(_("NOT FOR PUBLICATION: includes small groups and sentences that were not reviewed."))
    tables = [Table(_("Comparison"), notes=tuple(notes))]
    pairings = [(pair, pair.old, pair.new) for pair in pairs if not pair.why and pair.old and pair.new]
    ratings = [pairing for pairing in pairings if pairing[0].question.kind == "rating"]
    if ratings:
        tables.append(_ratings(ratings))
    numbers = [pairing for pairing in pairings if pairing[0].question.kind == "number"]
    if numbers:
        heads = (
            _("question"), _("n"), _("median"),
            _("mean"),
        )  # fmt: skip
        rows = [
            (
                _name(pair),
                f"{before.n} → {after.n}",
                f"{plain_number(before.median)} → {plain_number(after.median)}",
                f"{plain_number(before.mean)} → {plain_number(after.mean)}",
            )
            for pair, before, after in numbers
        ]
        tables.append(Table(_("Numbers"), heads, tuple(rows)))
    tables += [_options(*pairing) for pairing in pairings if pairing[0].question.kind in ("choice", "choices")]
    if any(pair.reworded for pair, _, _ in pairings):
        tables[-1] = replace(tables[-1], notes=(*tables[-1].notes, _("* worded differently in the two surveys")))
    lacking = tuple(f"{localized(pair.question.text)} – {_(_WHY_TEXTS[pair.why])}" for pair in pairs if pair.why)
    if lacking:
        tables.append(Table(_("Not compared"), lines=lacking))
    return tables


def _ratings(ratings: Sequence[tuple[Pair, ItemSummary, ItemSummary]]) -> Table:
    rows = []
    for pair, before, after in ratings:
        shares = [f"{100 * share.value:.0f}" if share else "–" for share in (before.on_target, after.on_target)]
        change = pair.difference
        rows.append(
            (
                _name(pair),
                f"{before.n} → {after.n}",
                f"{plain_number(before.median)} → {plain_number(after.median)}",
                f"{mean_text(before)} → {mean_text(after)}",
                f"{shares[0]} → {shares[1]} %",
                f"{100 * change.value:+.0f} ({100 * change.low:+.0f} … {100 * change.high:+.0f})" if change else "–",
            )
        )
    heads = (
        _("question"), _("n"), _("median"),
        _("mean"), pgettext("survey_summary", "on target"), _("difference"),
    )  # fmt: skip
    notes = (
        _(
            "Difference of the shares on target in percentage points, with its 95 % interval (Newcombe 1998). "
            "If the interval contains 0, no difference between the events was shown."
        ),
        _(
            "Different people answered, so a difference may have other causes than the event. With many "
            "questions, about one interval in twenty misses by chance. Means of so few answers get no interval."
        ),
    )
    return Table(pgettext("survey_summary", "Ratings"), heads, tuple(rows), notes)


def _options(pair: Pair, old: ItemSummary, new: ItemSummary) -> Table:
    """Return the shares of options; `–` for an option that one side lacks."""
    sides = [dict(zip(side.question.options, side.counts, strict=True)) for side in (old, new)]
    labels = {**old.question.options, **new.question.options}
    rows = []
    for value in dict.fromkeys([*sides[1], *sides[0]]):
        shares = [
            f"{side[value]} ({100 * side[value] / summary.n:.0f} %)" if value in side else "–"
            for side, summary in zip(sides, (old, new), strict=True)
        ]
        rows.append((localized(labels[value], value), *shares))
    heads = (
        pgettext("survey_summary", "option"),
        *(
            f"{_(side)} (n = {summary.n})"
            for side, summary in ((NP_("survey_summary", "old"), old), (NP_("survey_summary", "new"), new))
        ),
    )
    return Table(_name(pair), heads, tuple(rows))


def _name(pair: Pair) -> str:
    return localized(pair.question.text) + (" *" if pair.reworded else "")


def comma_separated(pairs: Sequence[Pair]) -> str:
    """Return one line per question (RFC 4180 with LF); no text cell is a formula in a spreadsheet."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    numbers = [f"{side}_{name}" for side in ("old", "new") for name in ("n", "median", "mean", "on_target")]
    writer.writerow(["question", "text", "compared", "why_not", *numbers, "difference", "low", "high"])
    for pair in pairs:
        row: list[object] = [pair.question.id, localized(pair.question.text), "" if pair.why else "yes", pair.why]
        for side in (_side(pair.old), _side(pair.new)):
            row += [(side or {}).get(name) for name in ("n", "median", "mean", "on_target")]
        change = pair.difference
        row += [change.value, change.low, change.high] if change else [None] * 3
        writer.writerow([safe_cell("" if cell is None else cell) for cell in row])
    return stream.getvalue()
