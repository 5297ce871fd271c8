"""A summary as tables: for the terminal, as Markdown and as CSV. Texts are in the current language."""

import csv
import io
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass

from hackathon.config.survey import Question
from hackathon.survey.records import Breakdown, FreeText, ItemSummary, Share, SurveySummary
from hackathon.survey.statistics import ends
from hackathon.text import markdown as markdown_text
from hackathon.text.columns import aligned, wrapped
from hackathon.text.csv_cells import harmless
from hackathon.text.messages import N_, NP_, _, localized, pgettext
from hackathon.text.printable import printable

_TAG_TEXTS = {
    "thanks": N_("thanks"),
    "request": N_("request"),
    "difficulty": N_("difficulty"),
}

COLUMNS = 80
"""Columns of a terminal that tables fit, unless a table has too many columns."""


@dataclass(frozen=True)
class Table:
    """One table with its title and its notes."""

    title: str
    heads: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    """The first cell is a name, all others are numbers."""
    notes: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()
    """Sentences, instead of rows."""


def tables(summary: SurveySummary) -> list[Table]:
    """Return a summary as tables; the first one has no rows: title, participation, suppressed results."""
    parts = [_heading(summary)]
    if not summary.enough:
        return parts
    parts += _of_items(summary.items, {breakdown.question.id for breakdown in summary.breakdowns if breakdown.groups})
    parts += [table for breakdown in summary.breakdowns for table in _broken_down(breakdown)]
    return parts + [_free(text, summary) for text in summary.texts if text.n or text.sentences]


def text(tables: Sequence[Table], columns: int = COLUMNS) -> str:
    """Return tables for a terminal, with lines of at most `columns` characters if the numbers fit."""
    blocks = []
    for table in tables:
        lines = wrapped(printable(table.title), columns)
        lines += aligned([table.heads, *table.rows], columns) if table.rows else []
        for paragraph in table.lines:
            lines += [
                f"{'- ' if number == 0 else '  '}{part}" for number, part in enumerate(wrapped(paragraph, columns - 2))
            ]
        for note in table.notes:
            lines += wrapped(note, columns)
        blocks.append("\n".join(line.rstrip() for line in lines))
    return "\n\n".join(blocks) + "\n"


def markdown(tables: Sequence[Table]) -> str:
    """Return tables as Markdown in which the respondents' texts have no markup."""
    blocks = []
    for number, table in enumerate(tables):
        blocks.append(f"{'##' if number == 0 else '###'} {escaped(table.title)}")
        if table.rows:
            marks = ["---", *["---:"] * (len(table.heads) - 1)]
            rows = [table.heads, *table.rows]
            cells = [f"| {' | '.join(map(escaped, row))} |" for row in rows]
            blocks.append("\n".join([cells[0], f"| {' | '.join(marks)} |", *cells[1:]]))
        if table.lines:
            blocks.append("\n".join(f"- {escaped(line)}" for line in table.lines))
        blocks += [escaped(note) for note in table.notes]
    return "\n\n".join(blocks) + "\n"


def escaped(words: str) -> str:
    """Return a text as one line of Markdown that renders as exactly these characters."""
    return markdown_text.escaped(printable(words))


def comma_separated(summary: SurveySummary) -> str:
    """Return one line per level or option (one for a number question, one for a sentence) with its question's numbers.

    RFC 4180 with LF. No text cell is a formula in a spreadsheet (OWASP, "CSV Injection"); numbers stay numbers.
    """
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(
        ["survey", "private", "breakdown", "group", "question", "text", "kind", "target", "level", "label", "count",
         "n", "missing", "median", "quartile_1", "quartile_3", "mean", "tags"]
    )  # fmt: skip
    first = [summary.name, "yes" if summary.private else ""]
    for item in summary.items:
        writer.writerows(_cells([*first, "", ""], item))
    for breakdown in summary.breakdowns:
        for group in breakdown.groups:
            for item in group.items:
                writer.writerows(_cells([*first, breakdown.question.id, group.value or _("no answer")], item))
    for summary_text in summary.texts:
        about = [summary_text.question.id, localized(summary_text.question.text), "text", "", ""]
        for sentence in summary_text.sentences:
            row = [*first, "", "", *about, sentence.text, "", summary_text.n or "", *[""] * 5, " ".join(sentence.tags)]
            writer.writerow([safe_cell(cell) for cell in row])
    return stream.getvalue()


def _cells(first: Sequence[str], item: ItemSummary) -> Iterable[list[object]]:
    if not item.shown:
        return
    question = item.question
    low, high = item.quartiles or ("", "")
    numbers = [item.n, item.missing, _blank(item.median), low, high, _blank(item.mean), ""]
    about = [*first, question.id, localized(question.text), question.kind, question.target or ""]
    if question.kind == "number":
        yield [safe_cell(cell) for cell in [*about, "", localized(question.unit), "", *numbers]]
    for level, label, count in _levels(item):
        yield [safe_cell(cell) for cell in [*about, level, label, count, *numbers]]


def _blank(value: float | None) -> object:
    return "" if value is None else value


def safe_cell(cell: object) -> object:
    """Return a cell that no spreadsheet reads as a formula; numbers stay numbers."""
    return harmless(printable(cell)) if isinstance(cell, str) else cell


def _levels(item: ItemSummary) -> list[tuple[object, str, int]]:
    """Return (level or option, its name, count)."""
    question = item.question
    if question.kind == "rating":
        names = {1: localized(question.low), question.levels: localized(question.high)}
        return [(level, names.get(level, ""), count) for level, count in enumerate(item.counts, 1)]
    labels = [(value, localized(label, value)) for value, label in question.options.items()]
    return [(value, label, count) for (value, label), count in zip(labels, item.counts, strict=True)]


def label(question: Question, value: str) -> str:
    """Return the label of an option, or of the group without an answer."""
    return localized(question.options.get(value, ""), value) if value else _("no answer")


def _heading(summary: SurveySummary) -> Table:
    rate = summary.response_rate
    if rate is not None:
        participation = _(
            "{n} of {invited} answered ({rate} %)", n=summary.n, invited=summary.invited, rate=f"{100 * rate:.0f}"
        )
    elif summary.crowded:
        participation = _(
            "{n} answers; invited according to the event: {invited}", n=summary.n, invited=summary.invited
        )
    else:
        participation = _("{n} answers", n=summary.n)
    notes = [participation]
    if summary.private:
        notes.append(_("NOT FOR PUBLICATION: includes small groups and sentences that were not reviewed."))
        if not summary.closed:
            notes.append(_("The survey is still open."))
    elif not summary.enough:
        notes.append(_("Fewer than {k} answers: not shown.", k=summary.survey.smallest_group))
    return Table(localized(summary.survey.title) or summary.name, notes=tuple(notes))


def _of_items(items: Sequence[ItemSummary], told_elsewhere: Container[str]) -> list[Table]:
    """Return the tables of questions: all ratings in two, then one for each other question."""
    ratings = [item for item in items if item.question.kind == "rating" and item.shown]
    parts = []
    if ratings:
        parts += [_rating_table(ratings), _share_table(ratings)]
    for item in items:
        if item.shown and item.question.kind in ("choice", "choices"):
            parts.append(_choice_table(item))
    numbers = [item for item in items if item.question.kind == "number" and item.shown]
    if numbers:
        parts.append(_number_table(numbers))
    hidden = [
        localized(item.question.text) for item in items if not item.shown and item.question.id not in told_elsewhere
    ]
    if hidden:
        parts.append(
            Table(
                _("Not shown"),
                notes=(_("Too few answers, or groups so small that people could be identified."),),
                lines=tuple(hidden),
            )
        )
    return parts


def _rating_table(items: Sequence[ItemSummary], names: Sequence[str] = (), title: str = "") -> Table:
    most = max(item.question.levels for item in items)
    heads = [
        (_("group") if names else _("question")),
        *(str(level) for level in range(1, most + 1)),
        *(
            _(key)
            for key in (
                N_("n"),
                NP_("survey_summary", "missing"),
                N_("median"),
                N_("quartiles"),
                N_("mean"),
            )
        ),
    ]
    rows = []
    for number, item in enumerate(items):
        counts = [str(count) for count in item.counts] + [""] * (most - item.question.levels)
        rows.append((names[number] if names else _with_ends(item.question), *counts, str(item.n), str(item.missing),
                     plain_number(item.median), quartile_text(item), mean_text(item)))  # fmt: skip
    notes = (
        ()
        if names
        else (
            _(
                "Quartiles: linear interpolation (type 7 of Hyndman and Fan). The mean assumes that levels are "
                "equally far apart; read the counts first. No mean is given over several questions."
            ),
        )
    )
    return Table(title or pgettext("survey_summary", "Ratings"), tuple(heads), tuple(rows), notes)


def _share_table(items: Sequence[ItemSummary]) -> Table:
    heads = (
        _("question"), pgettext("survey_summary", "on target"), _("below"),
        _("above"), _("bottom 2"), _("top 2"),
    )  # fmt: skip
    rows = []
    for item in items:
        # a share on target has no direction, so the levels on either side are counted
        between = item.question.target == "middle" and item.n
        rows.append(
            (localized(item.question.text), share_text(item.on_target), str(item.too_low) if between else "",
             str(item.too_high) if between else "", share_text(item.bottom), share_text(item.top))
        )  # fmt: skip
    notes = [
        _("In brackets: 95 % interval in % (Wilson 1927). For a question between two ends, the target is the middle.")
    ]
    if any(ends(item.question.levels) == 1 for item in items):
        notes.append(_("With fewer than four levels, top and bottom are one level each."))
    return Table(_("Shares"), heads, tuple(rows), tuple(notes))


def _choice_table(item: ItemSummary) -> Table:
    heads = tuple(_(key) for key in (NP_("survey_summary", "option"), N_("answers"), N_("share")))
    rows = tuple((name, str(count), _percent(count, item.n)) for _, name, count in _levels(item))
    notes = [_("n = {n}, missing {missing}", n=item.n, missing=item.missing)]
    if item.question.kind == "choices":
        notes.append(_("Several answers were possible: shares are of respondents and may add up to more than 100 %."))
    return Table(localized(item.question.text), heads, rows, tuple(notes))


def _number_table(items: Sequence[ItemSummary], names: Sequence[str] = (), title: str = "") -> Table:
    heads = (
        (_("group") if names else _("question")), _("n"),
        pgettext("survey_summary", "missing"), _("median"), _("quartiles"),
        _("mean"),
    )  # fmt: skip
    rows = []
    for number, item in enumerate(items):
        unit = localized(item.question.unit)
        name = names[number] if names else localized(item.question.text) + (f" [{unit}]" if unit else "")
        rows.append((name, str(item.n), str(item.missing), plain_number(item.median), quartile_text(item),
                     plain_number(item.mean)))  # fmt: skip
    return Table(title or _("Numbers"), heads, tuple(rows))


def _broken_down(breakdown: Breakdown) -> list[Table]:
    question = breakdown.question
    parts = [
        Table(
            _("By: {question}", question=localized(question.text)),
            (_("group"), _("n")) if breakdown.groups else (),
            tuple((label(question, group.value), str(group.n)) for group in breakdown.groups),
            (_("Some groups are not shown, to protect the identity of people."),) if breakdown.withheld else (),
        )
    ]
    items = zip(*(group.items for group in breakdown.groups), strict=True) if breakdown.groups else ()
    for some in items:
        labelled = [(label(question, group.value), item) for group, item in zip(breakdown.groups, some, strict=True)
                 if item.shown and item.n]  # fmt: skip
        if not labelled:
            continue
        names, summaries = [name for name, _ in labelled], [item for _, item in labelled]
        subject = summaries[0].question
        title = f"{localized(subject.text)} – {localized(question.text)}"
        if subject.kind == "rating":
            parts.append(_rating_table(summaries, names, title))
        elif subject.kind == "number":
            parts.append(_number_table(summaries, names, title))
        else:
            parts.append(_options_by_group(summaries, names, title))
    return parts


def _options_by_group(items: Sequence[ItemSummary], names: Sequence[str], title: str) -> Table:
    heads = (pgettext("survey_summary", "option"), *names)
    levels = [_levels(item) for item in items]
    rows = [(name, *(str(column[number][2]) for column in levels)) for number, (_, name, _) in enumerate(levels[0])]
    rows.append((_("n"), *(str(item.n) for item in items)))
    return Table(title, heads, tuple(rows))


def _free(free: FreeText, summary: SurveySummary) -> Table:
    lines = [
        sentence.text + (f" [{', '.join(tag_name(tag) for tag in sentence.tags)}]" if sentence.tags else "")
        for sentence in free.sentences
    ]
    notes = [_("{n} wrote text.", n=free.n)] if free.n else []
    if not summary.reviewed:
        notes.append(_("The sentences have not been reviewed yet: texts.yaml."))
    return Table(localized(free.question.text), notes=tuple(notes), lines=tuple(lines))


def tag_name(tag: str) -> str:
    """Return the label of a tag; the questionnaire's label for its own tags."""
    return _(_TAG_TEXTS[tag]) if tag in _TAG_TEXTS else tag


def _with_ends(question: Question) -> str:
    low, high = localized(question.low), localized(question.high)
    return localized(question.text) + (f"\n({low} – {high})" if low and high else "")


def mean_text(item: ItemSummary) -> str:
    """Return a rating's mean for publication, with one decimal."""
    return "–" if item.mean is None else f"{item.mean:.1f}"


def quartile_text(item: ItemSummary) -> str:
    """Return the first and the third quartile as `3 – 3.5`."""
    return "–" if item.quartiles is None else " – ".join(plain_number(value) for value in item.quartiles)


def share_text(share: Share | None) -> str:
    """Return `7: 64 % (35–85)`: count, share, 95 % interval."""
    if share is None or not share.of:
        return "–"
    return f"{share.count}: {100 * share.value:.0f} % ({100 * share.low:.0f}–{100 * share.high:.0f})"


def plain_number(value: float | None) -> str:
    """Return a number with up to four digits, integers without decimals."""
    return "–" if value is None else f"{value:,.0f}" if value == int(value) or abs(value) >= 1000 else f"{value:.4g}"


def _percent(count: int, of: int) -> str:
    return f"{100 * count / of:.0f} %" if of else "–"
