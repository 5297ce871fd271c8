"""Usage as people and programs read it: a table, CSV, JSON."""

from typing import Any

from hackathon.jobs.cost import KINDS
from hackathon.text.csv_cells import harmless
from hackathon.text.messages import N_, NP_, _
from hackathon.text.printable import printable
from hackathon.usage.usage import Amount, Sum, Usage

BUDGET_KINDS = {
    "node_hours": N_("node-hours"),
    "gpu_hours": N_("GPU-hours"),
    "tokens": N_("tokens"),
}

_NOTE_TEXTS = {
    "running": NP_("usage", "{count} running"),
    "no_end": N_("{count} with unknown end"),
    "unclear": N_("{count} unclear"),
}

_BASIS_TEXTS = {
    "scheduler": N_("scheduler"),
    "markers": N_("markers"),
    "limit": N_("limit"),
    "mixed": N_("mixed"),
}

_HEAD_TEXTS = {
    "team": N_("team"),
    "day": N_("day"),
    "user": N_("account"),
    "cluster": N_("cluster"),
    "jobs": N_("jobs"),
    "what": N_("what"),
    "used": N_("used"),
    "budget": N_("budget"),
    "share": N_("%"),
    "left": N_("left"),
    "basis": N_("basis"),
    "note": NP_("usage", "note"),
    "kind_node_hours": N_("node-hours"),
    "kind_gpu_hours": N_("GPU-hours"),
    "kind_tokens": N_("tokens"),
}

SCHEMA_VERSION = 1
KEYS: dict[str, tuple[str, ...]] = {
    "team": ("team",),
    "day": ("day",),
    "team,day": ("team", "day"),
    "user": ("team", "user"),
    "cluster": (),
}
"""Values of `--by` → what the rows separate; clusters are always separate."""
COLUMNS = (
    "team", "in_event", "day", "user", "cluster", "jobs", "running", "end_not_seen", "unclear", *KINDS,
    *(f"budget_{kind}" for kind in KINDS), *(f"left_{kind}" for kind in KINDS), "basis", "zone",
)  # fmt: skip
"""The same for every `--by`, so that files can be concatenated."""


def team_name(total: Sum) -> str:
    """Return a team's display name; for runs without a team, their owner's."""
    if total.team:
        return total.team if total.known else _("{team} (not in hackathon.yaml)", team=total.team)
    return _("({user}, of no team)", user=total.user or "?")


def table(usage: Usage, by: str) -> tuple[list[str], list[list[str]]]:
    """Return (head, rows) of texts; by team and by cluster with budgets, one row for each quantity."""
    keys = KEYS[by]
    sums = usage.sums(*keys)
    noted = any(_note(total) for total in sums)
    budgeted = keys in ((), ("team",))
    last = ["basis", *(["note"] if noted else [])]
    middle = ["what", "used", "budget", "share", "left"] if budgeted else [f"kind_{kind}" for kind in _kinds(sums)]
    head = [*keys, "cluster", "jobs", *middle, *last]
    rows: list[list[str]] = []
    for total in sums:
        first = [_key(total, key) for key in keys] + [total.cluster or "–", str(total.jobs)]
        end = [_(_BASIS_TEXTS[total.basis]) if total.basis else "–", *([_note(total)] if noted else [])]
        if budgeted:
            rows += [[*first, *_budgeted(amount), *end] for amount in total.amounts]
        else:
            cells = [f"{total.spent.of(kind):.3f}" for kind in _kinds(sums)]
            rows.append([*first, *cells, *end])
    names = [_(_HEAD_TEXTS[name]) for name in head]
    return names, rows


def csv_text(usage: Usage, by: str) -> str:
    """Return CSV: COLUMNS, hours as plain numbers; a ' precedes a text that a spreadsheet would read as a formula."""
    import csv
    import io

    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    for value in _values(usage, by):
        cells = [value["team"], value["in_event"], value["day"], value["user"], value["cluster"]]
        cells += [value["jobs"], value["running"], value["end_not_seen"], value["unclear"]]
        cells += [value[kind] for kind in KINDS]
        cells += [value["budget"].get(kind) for kind in KINDS] + [value["left"].get(kind) for kind in KINDS]
        writer.writerow([_cell(cell) for cell in [*cells, value["basis"], usage.zone]])
    return stream.getvalue()


def to_json(usage: Usage, by: str) -> dict[str, Any]:
    """Return usage as JSON values; times are seconds since 1970, unknown values are null."""
    from hackathon.text.messages import localized

    return {
        "schema_version": SCHEMA_VERSION,
        "event": localized(usage.event.title) if usage.event else None,
        "now": usage.now,
        "since": usage.since,
        "until": usage.until,
        "zone": usage.zone,
        "by": by,
        "asked": usage.asked,
        "folders": usage.folders,
        "unread": usage.unread,
        "rows": _values(usage, by),
        "problems": list(usage.problems),
    }


def notes(usage: Usage) -> list[str]:
    """Return the notes below a table."""
    sums = usage.sums()
    texts = [_("Days in {zone}. Running jobs count until now.", zone=usage.zone)]
    if any(total.basis in ("limit", "mixed") for total in sums) and any("limit" in row.bases for row in usage.rows):
        texts.append(
            _("limit: the end of a job is not known; it counts until the latest possible time (at most its walltime).")
        )
    if any(total.unclear for total in sums):
        texts.append(_("unclear: unknown whether a job was submitted; not counted (`hackathon status`)."))
    if not usage.asked and usage.rows:
        texts.append(_("Counted from the runs' own records; without --no-ask, the scheduler's accounting is used."))
    if usage.unread:
        texts.append(_("counted: {read} of {all} run folders", read=usage.folders - usage.unread, all=usage.folders))
    return texts


def _kinds(sums: list[Sum]) -> list[str]:
    """Return the quantities that some sum contains; node-hours always."""
    return [kind for kind in KINDS if kind == "node_hours" or any(total.spent.of(kind) > 0 for total in sums)]


def _key(total: Sum, key: str) -> str:
    if key == "team":
        return team_name(total)
    return str(getattr(total, key) or "–")


def _budgeted(amount: Amount) -> list[str]:
    def number(value: float | None) -> str:
        return "–" if value is None else f"{value:.3f}"

    share = "–" if amount.share is None else f"{100 * amount.share:.1f} %"
    kind = _(BUDGET_KINDS[amount.kind])
    return [kind, number(amount.used), number(amount.budget), share, number(amount.left)]


def _note(total: Sum) -> str:
    parts = (("running", total.running), ("no_end", total.no_end), ("unclear", total.unclear))
    return ", ".join(_(_NOTE_TEXTS[name], count=count) for name, count in parts if count)


def _values(usage: Usage, by: str) -> list[dict[str, Any]]:
    return [_value(total) for total in usage.sums(*KEYS[by])]


def _value(total: Sum) -> dict[str, Any]:
    return {
        "team": total.team,
        "in_event": total.known if total.team is not None else None,
        "day": total.day,
        "user": total.user,
        "cluster": total.cluster or None,
        "jobs": total.jobs,
        "running": total.running,
        "end_not_seen": total.no_end,
        "unclear": total.unclear,
        "node_hours": round(total.spent.node_hours, 6),
        "gpu_hours": round(total.spent.gpu_hours, 6),
        "tokens": None if total.spent.tokens is None else round(total.spent.tokens, 6),
        "budget": {amount.kind: amount.budget for amount in total.amounts if amount.budget is not None},
        "left": {amount.kind: round(amount.left, 6) for amount in total.amounts if amount.left is not None},
        "basis": total.basis or None,
    }


def _cell(value: object) -> str:
    """Return a cell: numbers stay numbers, a ' precedes a text that begins like a formula."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (int, float)):
        return f"{value:.6f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
    return harmless(printable(str(value)))
