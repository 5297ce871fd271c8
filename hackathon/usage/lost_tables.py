"""Lost hours as people and programs read them: a table, JSON, a sentence."""

from collections.abc import Sequence
from typing import Any

from hackathon.text.messages import N_, NP_, _, pgettext
from hackathon.usage.lost import CLASSES, HANG, IDLE, Hours

CLASS_TEXTS = {
    "success": NP_("hours", "success"),
    "idle": N_("unused GPUs"),
    "failure": NP_("hours", "failure"),
    "hang": N_("no progress"),
    "cancelled": NP_("hours", "cancelled"),
    "running": NP_("hours", "running"),
    "unknown": N_("end not known"),
}
PART_TEXTS = {
    "success": N_("runs that succeeded"),
    "failure": N_("failures"),
    "hang": N_("time without progress"),
    "idle": N_("GPUs that never worked"),
}
ALWAYS = ("success", "failure", "hang", "idle")
"""Classes with a column even where they have no hours."""


def columns_of(hours: Sequence[Hours]) -> list[str]:
    """Return the classes that have hours, or always a column."""
    return [name for name in CLASSES if name in ALWAYS or any(entry.node_hours.get(name) for entry in hours)]


def cell(hours: float | None) -> str:
    """Return node-hours or kWh as text; an unknown amount is called so, never zero."""
    return _("not known") if hours is None else f"{hours:.3f}"


def energy_text(entry: Hours) -> str:
    """Return the energy, with the number of runs whose power was recorded if these are not all."""
    if entry.energy is None:
        return _("not known")
    text = f"{entry.energy:.3f}"
    if entry.metered < entry.runs:
        text = _("{kwh} ({count} of {runs} runs)", kwh=text, count=entry.metered, runs=entry.runs)
    return text


def _least(entry: Hours, name: str) -> str:
    """Return ≥ for hours of a class to which those of runs without such records may be added."""
    return "≥ " if entry.unjudged.get(name) and entry.of(name) is not None else ""


def lost_table(hours: Sequence[Hours]) -> tuple[list[str], list[list[str]]]:
    """Return (head, rows): team or account, cluster, hours by class, energy, and the time in the queue."""
    names = columns_of(hours)
    teams = any(entry.team is not None for entry in hours)
    head = [_("team")] if teams else []
    head += [_("cluster"), *(_(CLASS_TEXTS[name]) for name in names), _("in all"), _("kWh of GPUs")]
    rows = []
    for entry in hours:
        first = [entry.team or _("({user}, of no team)", user=entry.user or "?")] if teams else []
        cells = [_least(entry, name) + cell(entry.of(name)) for name in names]
        last = [cell(entry.total), energy_text(entry), cell(entry.queue)]
        rows.append([*first, entry.cluster or "–", *cells, *last])
    return [*head, pgettext("hours", "queue")], rows


def lost_notes(hours: Sequence[Hours]) -> list[str]:
    """Return the notes below the table: the meaning of the words, and the numbers of runs without records."""
    if not hours:
        return []
    texts = [
        _(
            "no progress: time without a new number before the end of a run that did not succeed, if longer than 5 min "
            "and 20 of its intervals. unused GPUs: the share of GPUs that never worked in runs that succeeded. "
            "queue: nodes × waiting time, which used nothing."
        )
    ]
    for name, text in (
        (HANG, N_("no progress is not known of {count} {count:run|runs}: no times of numbers are recorded")),
        (IDLE, N_("unused GPUs are not known of {count} {count:run|runs}: the use of some GPUs is not recorded")),
    ):
        count = sum(entry.unjudged.get(name, 0) for entry in hours)
        texts += [_(text, count=count)] if count else []
    return texts


def lost_json(hours: Sequence[Hours]) -> list[dict[str, Any]]:
    """Return JSON values; null is not known."""

    def rounded(value: float | None) -> float | None:
        return None if value is None else round(value, 6)

    return [
        {
            "team": entry.team,
            "user": entry.user or None,
            "cluster": entry.cluster or None,
            "runs": entry.runs,
            "node_hours": {name: rounded(entry.of(name)) for name in CLASSES},
            "total": rounded(entry.total),
            "unjudged": {name: entry.unjudged.get(name, 0) for name in (HANG, IDLE)},
            "kwh": {name: rounded(value) for name, value in entry.kwh.items()} if entry.metered else None,
            "metered": entry.metered,
            "queue_node_hours": rounded(entry.queue),
        }
        for entry in hours
    ]


def lost_sentence(hours: Sequence[Hours]) -> str:
    """Return sentences about lost hours, of the cluster with the most; empty if nothing was used.

    `hours`: by cluster alone.
    """
    entry = max(hours, key=lambda part: part.total, default=None)
    if entry is None or not entry.total:
        return ""

    shares = [
        f"{_(PART_TEXTS[name])} {_least(entry, name)}{100 * value / entry.total:.1f} %"
        for name in ALWAYS
        if (value := entry.of(name)) is not None
    ]
    text = _(
        "What became of {total} node-hours on {cluster}: {parts}.",
        total=f"{entry.total:.1f}", cluster=entry.cluster or "–", parts=_(", ").join(shares),
    )  # fmt: skip
    missing = [_(PART_TEXTS[name]) for name in ALWAYS if entry.of(name) is None]
    if missing:
        text += " " + _("Not known: {parts}.", parts=_(", ").join(missing))
    if entry.energy is None:
        return text
    energy = _(
        "The GPUs of {count} of {runs} runs, whose power was recorded, took {kwh} kWh.",
        count=entry.metered, runs=entry.runs, kwh=f"{entry.energy:.1f}",
    )  # fmt: skip
    return f"{text} {energy}"
