"""The rows of the live view: one line for each matter, and the lines that open below it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hackathon.text.columns import cut, width, wrapped
from hackathon.text.messages import N_, NP_, _, ngettext, pgettext
from hackathon.text.printable import printable

if TYPE_CHECKING:
    from hackathon.web.attention.now import NowView, Well
    from hackathon.web.attention.records import NowItem

KIND_TEXTS = {
    "asked": N_("asks for help"),
    "failed": N_("failed"),
    "waits": N_("waiting"),
    "stands": N_("no progress"),
    "idle": N_("low use"),
    "budget": NP_("now", "budget"),
    "memory": N_("memory"),
    "warned": N_("warning"),
    "lost": NP_("now", "unknown"),
}
BAD, ASKED, DOUBTFUL, GOOD, QUIET, BOLD = "red", "cyan", "yellow", "green", "dim", "bold"
TONES = {"asked": ASKED, "failed": BAD, "lost": BAD}
WHO = 4
"""The part of the columns that a team and its member take at most: 1/WHO."""
ROOMY = 100
"""Columns from which on the table has what a matter costs; a narrower one has it in the details only."""
INDENT = "  "

Part = tuple[str, str]
"""A text and its style."""


@dataclass(frozen=True)
class ScreenRow:
    """One matter, or one run without trouble."""

    id: str
    kind: str
    tone: str
    age: str
    who: str
    text: str
    cost: str = ""
    """The node-hours that it loses per hour; empty if it loses none."""
    item: "NowItem | None" = None
    well: "Well | None" = None
    old: bool = False


def rows_of(view: "NowView") -> list[ScreenRow]:
    """Return the rows of a view: matters, matters older than an hour, then runs without trouble."""
    return [
        *(_matter(item) for item in view.items),
        *(_matter(item, old=True) for item in view.old),
        *(_run(run) for run in view.well),
    ]


def _matter(item: "NowItem", *, old: bool = False) -> ScreenRow:
    message = f"{item.message} – {item.finding}" if item.finding else item.message
    taken = f"[{pgettext('now', 'taken by {name}', name=item.helper)}] " if item.helper else ""
    more = f" (+{item.more})" if item.more else ""
    tone = QUIET if old or item.helper else TONES.get(item.kind, DOUBTFUL)
    return ScreenRow(
        item.id, kind_text(item), tone, item.age, printable(who(item)), printable(f"{taken}{message}{more}"),
        cost_text(item), item, old=old,
    )  # fmt: skip


def _run(run: "Well") -> ScreenRow:
    from hackathon.scaling.show import state

    name = f"{run.name or run.run_id} ({run.processes})"
    label = " · ".join(part for part in (run.team, run.person) if part)
    numbers = numbers_of(run)
    text = printable(f"{name}  {numbers}" if numbers else name)
    return ScreenRow(run.run, state(run.state), GOOD, run.age, printable(label), text, well=run)


def kind_text(item: "NowItem") -> str:
    """Return the kind of a matter in one or two words."""
    return _(KIND_TEXTS[item.kind])


def cost_text(item: "NowItem") -> str:
    """Return the node-hours that a matter loses per hour, as the Now page words them; empty if it loses none."""
    return _("{count} node-h/h lost", count=item.lost_per_hour) if item.lost_per_hour else ""


def who(item: "NowItem") -> str:
    """Return the team and the person of a matter, or the teams that share it."""
    if item.items:
        met = ", ".join(entry.team or entry.person for entry in item.items)
        return f"{_('{count} teams', count=len(item.items))}: {met}"
    return " · ".join(part for part in (item.team, item.person) if part) or _("somebody")


def numbers_of(run: "Well") -> str:
    """Return the latest throughput and GPU utilisation of a run."""
    from hackathon.scaling.show import number

    parts = [f"{number(run.value)} {run.unit}".strip()] if run.value is not None else []
    parts += [_("GPU {percent} %", percent=f"{run.gpu_percent:.0f}")] if run.gpu_percent is not None else []
    return "  ".join(parts)


def table(rows: list[ScreenRow], columns: int) -> list[list[Part]]:
    """Return each row as the parts of one line of at most `columns`."""
    kinds, ages, costs = (
        max((width(value) for value in values), default=0)
        for values in ([row.kind for row in rows], [row.age for row in rows], [row.cost for row in rows])
    )
    costs = costs if columns + len(INDENT) >= ROOMY else 0
    most = min(max((width(row.who) for row in rows), default=0), max(8, columns // WHO))
    lines: list[list[Part]] = []
    for row in rows:
        name = cut(row.who, most)
        lines.append(clipped([
            (row.kind + " " * (kinds - width(row.kind)) + INDENT, row.tone),
            (" " * (ages - width(row.age)) + row.age + INDENT, QUIET),
            (name + " " * (most - width(name)) + INDENT, QUIET if row.old else BOLD),
            *([(" " * (costs - width(row.cost)) + row.cost + INDENT, BAD)] if costs else []),
            (row.text, QUIET if row.old else ""),
        ], columns))  # fmt: skip
    return lines


def clipped(parts: list[Part], columns: int) -> list[Part]:
    """Return the parts of a line that takes at most `columns`."""
    line = []
    for text, style in parts:
        line.append((cut(text, columns), style))
        columns = max(0, columns - width(text))
    return line


def details(row: ScreenRow, columns: int) -> list[list[Part]]:
    """Return all that is known of a row, in lines of at most `columns`."""
    parts = _matter_details(row.item) if row.item is not None else _run_details(row)
    lines: list[list[Part]] = []
    for text, style, indent in parts:
        margin = INDENT * indent
        cells = wrapped(printable(text, kept="\n"), max(1, columns - len(margin))) if text else [""]
        lines += [[(margin + cell, style)] for cell in cells]
    return lines


def _run_details(row: ScreenRow) -> Iterator[tuple[str, str, int]]:
    run = row.well
    if run is not None:
        yield f"{row.kind} · {run.age} · {row.who}", BOLD, 0
        yield f"{run.run_id or run.name} ({run.processes})", "", 0
        yield numbers_of(run), "", 0


def _matter_details(item: "NowItem") -> Iterator[tuple[str, str, int]]:
    """Yield (text, style, indentation) of a matter's lines."""
    yield f"{kind_text(item)} · {item.age} · {who(item)}", BOLD, 0
    if item.lost_per_hour:
        yield cost_text(item), BAD, 0
    if item.seat:
        yield _("seat: {seat}", seat=item.seat), "", 0
    if item.tutors:
        yield _("tutors: {names}", names=", ".join(item.tutors)), "", 0
    yield "", "", 0
    yield item.message, "", 0
    if item.text:
        yield item.text, "", 1
    if item.finding:
        yield item.finding, "", 0
    if item.evidence:
        yield f"{item.evidence}  {item.place}".rstrip(), QUIET, 1
    if item.helper:
        yield pgettext("now", "taken by {name}", name=item.helper), ASKED, 0
    if item.advice:
        yield f"→ {item.advice}", "", 0
    yield from ((text, QUIET, 0) for text in about(item))
    if item.note:
        yield f"{item.note.person} ({item.note.age}): {item.note.text}", "", 0
    for other in item.items:
        yield "", "", 0
        yield f"{who(other)} · {other.age}", BOLD, 0
        yield other.message, "", 1
        yield from _runs(other)
    if not item.items:
        yield "", "", 0
        yield from _runs(item)


def _runs(item: "NowItem") -> Iterator[tuple[str, str, int]]:
    from hackathon.scaling.show import state

    for run in item.runs:
        yield f"{run.run_id} ({run.processes})  {state(run.state)}  {run.age}  {run.person}".rstrip(), QUIET, 1
    if item.runs:
        path = f"{item.runs[0].project}/runs/{item.runs[0].run_id}"
        yield _("Full diagnosis: hackathon diagnose {run!q}", run=path), QUIET, 1


def about(item: "NowItem") -> list[str]:
    """Return the part of a failure, further runs with its cause, and a newer run of the same name."""
    from hackathon.diagnosis.show import part_name
    from hackathon.scaling.show import state

    texts = [_("part: {part}", part=part_name(item.part))] if item.part else []
    if item.more:
        texts.append(
            ngettext(
                "{count} more run with the same cause",
                "{count} more runs with the same cause",
                item.more,
                count=item.more,
            )
        )
    return texts + ([_("newer run: {state}", state=state(item.newer))] if item.newer else [])
