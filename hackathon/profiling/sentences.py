"""Describe the split of a step's time in words: for results, pages, questions and reports."""

from collections.abc import Mapping, Sequence
from typing import Any

from hackathon.profiling.shares import MEASURED, NOTICED, PART_TEXTS, PARTS, SAMPLED
from hackathon.text.messages import N_, _, ngettext, pgettext

_WHY_TEXTS = {
    "unmarked": N_("not marked by the program"),
    "in-compute": N_("contained in compute"),
    "old-runtime": N_("recorded by an older hackathon_runtime.py"),
    "missing-ranks": N_("not all ranks wrote their times"),
    "unmatched": N_("the collectives of the ranks do not match"),
    "unseen": N_("not visible from outside the program"),
    "on-device": N_("the GPU works beside the program: hackathon profile measures it"),
    "few-samples": N_("too few samples: the run was short"),
}

CHANGED = 3
"""Percentage points from which a part's share counts as changed: the accuracy of its measurement."""
SHOWN = 0.005
"""Share of a step from which a part is named."""


def sentences(processes: int, shares: Mapping[str, Any] | None) -> list[str]:
    """Return sentences on a point's shares: the split of the time, and advice; none without shares.

    `shares`: as in the results JSON.
    """
    return [point_sentence(processes, shares), *hints(processes, shares)] if shares else []


def hints(processes: int, shares: Mapping[str, Any]) -> list[str]:
    """Return the advice of a point's shares as sentences."""
    return [
        ngettext(
            "{processes} process, to try: {text}",
            "{processes} processes, to try: {text}",
            processes,
            processes=processes,
            text=f"{hint['message']}{pgettext('shares', '; ')}{hint['confirm']}",
        )
        for hint in shares["advice"]
    ]


def points_sentences(points: Sequence[tuple[int, Mapping[str, Any] | None]]) -> list[str]:
    """Return sentences on the shares of several points, (processes, shares): those of `sentences` for each.

    One sentence for all if only the length of the steps is known.
    """
    pairs = [(processes, shares) for processes, shares in points if shares]
    if len(pairs) < 2 or any(shares["advice"] or not _undivided(shares) for _, shares in pairs):
        return [line for processes, shares in pairs for line in sentences(processes, shares)]
    times = [
        ngettext(
            "{step} with {processes} process",
            "{step} with {processes} processes",
            processes,
            processes=processes,
            step=duration(shares["seconds"]),
        )
        for processes, shares in pairs
    ]
    return [_("Time of a step: {times}. Not known: {parts}", times=_(", ").join(times), parts=unknown(pairs[-1][1]))]


def _undivided(shares: Mapping[str, Any]) -> bool:
    """Return whether only the time of a step is known."""
    divided = any(shares[part] for part in PARTS if part != "other")
    return bool(shares["unknown"]) and not divided and shares.get("basis", MEASURED) == MEASURED


def point_sentence(processes: int, shares: Mapping[str, Any]) -> str:
    """Return a point's shares as one sentence, the largest part first; `shares`: as in the results JSON.

    Communication includes the waiting, as a program measures it.
    """
    seconds = shares["seconds"]
    spent = {part: shares[part] for part in PARTS if shares[part] is not None}
    waiting = spent.pop("waiting", None)
    if waiting is not None:
        spent["communication"] += waiting
    order = sorted(spent, key=lambda part: -spent[part])
    parts = [
        _part(part, spent[part], seconds, waiting, shares["late_rank"])
        for part in order
        if spent[part] >= SHOWN * seconds
    ]
    text = ngettext(
        "{processes} process, {step} per step: {parts}",
        "{processes} processes, {step} per step: {parts}",
        processes,
        processes=processes,
        step=duration(seconds),
        parts=_(", ").join(parts),
    )
    if shares.get("basis", MEASURED) != MEASURED:
        text = _(
            N_("{text} (seen from outside, host and compute by samples)")
            if shares["basis"] == SAMPLED
            else N_("{text} (seen from outside)"),
            text=text,
        )
    missing = unknown(shares)
    return _("{text}; not known: {parts}", text=text, parts=missing) if missing else text


def change_sentences(processes: int, old: Mapping[str, Any] | None, new: Mapping[str, Any] | None) -> list[str]:
    """Return the shares of a step that changed from one measurement to another.

    `old`, `new`: shares of a point as in the results JSON; none when one of them is missing.
    """
    if not old or not new:
        return []

    def percent(shares: Mapping[str, Any], part: str) -> float:
        return round(100 * float(shares[part]) / float(shares["seconds"]))

    both = [part for part in PARTS if old[part] is not None and new[part] is not None]
    changes = {part: (percent(old, part), percent(new, part)) for part in both}
    moved = [
        _("{part} {old} % → {new} %", part=part_name(part), old=f"{before:.0f}", new=f"{after:.0f}")
        for part, (before, after) in changes.items()
        if abs(before - after) >= CHANGED
    ]
    sentence = ngettext(
        "{processes} process, shares of a step: {parts}",
        "{processes} processes, shares of a step: {parts}",
        processes,
        processes=processes,
        parts=_(", ").join(moved),
    )
    return [sentence] if moved else []


def unknown(shares: Mapping[str, Any]) -> str:
    """Return the unknown parts, each with the reason; empty when all are known."""
    reasons: Mapping[str, str] = shares["unknown"]
    # unknown communication implies unknown waiting, for the same reason
    by_reason: dict[str, list[str]] = {}
    for part in PARTS:
        if part in reasons and not (part == "waiting" and "communication" in reasons):
            by_reason.setdefault(reasons[part], []).append(part_name(part))
    between = _(", ")
    return between.join(
        _("{names} ({why})", names=between.join(names), why=_(_WHY_TEXTS[reason]))
        for reason, names in by_reason.items()
    )


def part_name(part: str) -> str:
    """Return the display name of one of PARTS."""
    return _(PART_TEXTS[part])


def duration(seconds: float) -> str:
    """Return a step's time with three digits: `1.25 s`, `120 ms`, `85 µs`."""
    for size, unit in ((1.0, "s"), (1e-3, "ms")):
        if seconds >= size:
            return f"{_three(seconds / size)} {unit}"
    return f"{_three(seconds * 1e6)} µs"


def percentage(share: float) -> str:
    """Return a share of 1 in whole percent."""
    return f"{100 * share:.0f} %"


def _three(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def _part(part: str, spent: float, seconds: float, waiting: float | None, late: int | None) -> str:
    text = f"{part_name(part)} {percentage(spent / seconds)}"
    if part != "communication" or not waiting or waiting < NOTICED * seconds:
        return text
    key = (
        N_("{part} (of that {waiting} waiting, for different ranks in turn)")
        if late is None
        else N_("{part} (of that {waiting} waiting for rank {rank})")
    )
    return _(key, part=text, waiting=percentage(waiting / spent), rank=late)
