"""What the facts mean: each check looks at what all ranks told and says ok, warning or failed. Pure, no I/O."""

from __future__ import annotations

from collections import Counter
from typing import Any

from report import Report

GIB = float(1 << 30)
SHM_WANTED, SHM_LEAST, TMP_WANTED = 1.0, 0.0625, 1.0
"""GiB: NCCL and the data loaders of several processes; containers give 0.0625 when nobody says more."""
SKEW_NOTED = 1.0
"""Seconds between two clocks from which on it is worth a warning."""
FILES = 1024
"""Open files a process should be allowed."""


def odd(values: dict[int, Any]) -> tuple[Any, dict[Any, list[int]]]:
    """Return (what most ranks have, {other value: its ranks}); of two equally common ones that of the lower rank."""
    common = Counter(values.values()).most_common(1)[0][0] if values else None
    others: dict[Any, list[int]] = {}
    for rank, value in sorted(values.items()):
        if value != common:
            others.setdefault(value, []).append(rank)
    return common, others


def versions(report: Report, ranks: dict[int, dict[str, Any]], nodes: dict[int, dict[str, Any]]) -> None:
    names = sorted({name for fact in ranks.values() for name in fact["packages"]})
    what = {name: {r: fact["packages"].get(name, "–") for r, fact in ranks.items()} for name in names}
    for key in ("python", "machine", "libc", "executable"):
        what[key] = {rank: fact[key] for rank, fact in ranks.items()}
    what["GPU driver"] = {rank: fact["gpus"]["driver"] or "–" for rank, fact in nodes.items()}
    what["kernel"] = {rank: fact["kernel"] for rank, fact in nodes.items()}
    soft = ("libc", "executable", "GPU driver", "kernel")
    alike = True
    for name, values in what.items():
        common, others = odd(values)
        for value, who in others.items():
            alike = False
            state = "warning" if name in soft else "failed"
            report.add("versions", state, "versions_differ", who, name=name, value=value, common=common)
    if alike:
        first = ranks[min(ranks)]
        shown = ", ".join("{} {}".format(name, first["packages"][name]) for name in sorted(first["packages"]))
        report.add("versions", "ok", "versions_ok", python=first["python"], packages=shown or "–")


def gpus(report: Report, nodes: dict[int, dict[str, Any]], wanted: int | None, processes: dict[int, int]) -> None:
    sick = [rank for rank, fact in nodes.items() if fact["gpus"].get("problem")]
    for rank in sick:
        report.add("gpus", "failed", "gpus_sick", [rank], problem=nodes[rank]["gpus"]["problem"])
    names = {rank: tuple(fact["gpus"]["names"]) for rank, fact in nodes.items() if rank not in sick}
    common, others = odd(names)
    for value, who in others.items():
        told = {"names": _counted(value), "common": _counted(common)}
        report.add("gpus", "failed", "gpus_differ", who, **told)
    least = wanted or 0
    few = [rank for rank, found in names.items() if len(found) < least]
    if few:
        report.add("gpus", "failed", "gpus_few", few, count=min(len(names[rank]) for rank in few), wanted=least)
    shared = [rank for rank, found in names.items() if 0 < len(found) < processes[rank] and rank not in few]
    if shared:
        report.add("gpus", "warning", "gpus_shared", shared, count=len(names[shared[0]]), wanted=processes[shared[0]])
    if not (sick or others or few or shared):
        report.add("gpus", "ok", "gpus_ok" if common else "gpus_none", names=_counted(common or ()))


def _counted(names: tuple[str, ...]) -> str:
    return ", ".join(f"{count} × {name}" for name, count in Counter(names).items()) or "0"


def room(report: Report, check: str, places: dict[int, dict[str, Any]], wanted: float, least: float) -> None:
    """Judge /dev/shm by its size and the place for temporary files by what is free, both in GiB."""
    key = "size" if check == "shm" else "free"
    bad = {rank: place for rank, place in places.items() if place.get("problem")}
    for rank, place in sorted(bad.items()):
        report.add(check, "failed", check + "_bad", [rank], path=place["path"], problem=place["problem"])
    amounts = {rank: place[key] / GIB for rank, place in places.items() if rank not in bad}
    low = [rank for rank, gib in amounts.items() if gib < wanted]
    if low:
        worst = min(amounts[rank] for rank in low)
        state = "failed" if min(places[rank]["free"] / GIB for rank in low) < least else "warning"
        report.add(check, state, check + "_small", low, path=places[low[0]]["path"], gib=f"{worst:.2f}", wanted=wanted)
    if not bad and not low:
        report.add(check, "ok", check + "_ok", gib=f"{min(amounts.values()):.1f}")


def limits(report: Report, ranks: dict[int, dict[str, Any]]) -> None:
    few = [rank for rank, fact in ranks.items() if 0 <= fact["open_files"] < FILES]
    if few:
        report.add("limits", "warning", "limits_files", few, count=min(ranks[rank]["open_files"] for rank in few))
    odd_locale = [rank for rank, fact in ranks.items() if fact["locale"]]
    if odd_locale:
        report.add("limits", "warning", "limits_locale", odd_locale, name=ranks[odd_locale[0]]["locale"])
    if not few and not odd_locale:
        report.add("limits", "ok", "limits_ok", count=min(fact["open_files"] for fact in ranks.values()))


def clocks(report: Report, offsets: dict[int, tuple[float, float]], most: float) -> None:
    """Judge how far clocks are apart: the largest difference between two ranks, less what may be the error."""
    if len(offsets) < 2:
        report.add("clock", "ok", "alone")
        return
    ahead, behind = max(offsets, key=lambda r: offsets[r][0]), min(offsets, key=lambda r: offsets[r][0])
    apart, error = offsets[ahead][0] - offsets[behind][0], offsets[ahead][1] + offsets[behind][1]
    told = {"apart": f"{apart:.3f}", "error": f"{error:.3f}", "most": f"{most:g}"}
    surely = apart - error
    if surely <= SKEW_NOTED and surely <= most:
        report.add("clock", "ok", "clock_ok", **told)
        return
    told.update(ahead=report.who([ahead]), behind=report.who([behind]))
    report.add("clock", "failed" if surely > most else "warning", "clock_apart", **told)
