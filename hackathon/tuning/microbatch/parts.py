"""The program of a job of `hackathon microbatch`: the fewest micro-batches within a limit, and the speed of more.

    python hackathon_micro.py            in a folder with hackathon_speedup.py and its task; standard library

Each start is a slot, in a fresh process, as in `hackathon_speedup.py`, whose batch search it uses.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

try:
    import hackathon_speedup as driver  # type: ignore[import-not-found]
except ImportError:
    from hackathon.tuning import driver

PROGRAM = "hackathon_micro.py"
FIRST_PARTS = 8
"""Micro-batches of the first start."""
ROUNDS, CANDIDATES = 3, 4
"""Measurements of each split's speed, and number of splits: the fewest micro-batches, twice as many, …"""
VARIABLE, REPORT = "HACKATHON_MICRO_BATCHES", "micro_batches.json"
"""The variable that splits a program's batch, and the file for its report (`micro_batches.py`)."""


class PartProbe(NamedTuple):
    """The result of one start in micro-batches."""

    parts: int
    batch: int | None
    """Samples of a whole batch; None when the program reported no split."""
    size: int
    """Samples of the largest micro-batch."""
    fits: bool
    memory: int | None

    def probe(self) -> Any:
        """Return it as a start with a batch of its micro-batch's size."""
        return driver.Probe(self.size, self.fits, self.memory)


def search_parts(start: Callable[[int, int], PartProbe], limit: int | None) -> tuple[list[PartProbe], int | None]:
    """Return the probes, and the bytes that the line through two of them predicts for the last one (None: unknown).

    `start(parts, longer)` splits the batch. Two starts give the memory per sample, with further ones if the plan has
    parts of more than twice their size. The fewest parts whose memory stays below MARGIN of the limit are then tried in
    a longer start, and more parts if that does not fit.
    """
    first = start(FIRST_PARTS, 1)
    probes = [first]
    while not probes[-1].fits and probes[-1].batch is not None and probes[-1].parts < probes[-1].batch:
        probes.append(start(min(2 * probes[-1].parts, probes[-1].batch), 1))
    probe = probes[-1]
    if not probe.fits or probe.batch is None:
        return probes, None
    batch = probe.batch
    parts = min(probe.parts, batch)
    other = parts // 2 if len(probes) == 1 else min(2 * parts, batch)
    if other >= 1 and other != parts:
        probes.append(start(other, 1))
        if not probes[-1].fits and min(2 * parts, batch) != parts:
            probes.append(start(min(2 * parts, batch), 1))
    line, most = _forecast(probes, limit)
    while most is not None and min(most, batch) > 2 * max(probe.size for probe in probes if probe.fits):
        nearer = -(-batch // (2 * max(probe.size for probe in probes if probe.fits)))
        if any(probe.parts <= nearer for probe in probes):
            break
        probes.append(start(nearer, 1))  # extrapolating a line to four times its points is inaccurate
        line, most = _forecast(probes, limit)
    if line is None or most is None:  # memory is unknown: use the middle between parts that fit and parts that do not
        least = min(min(probe.parts, batch) for probe in probes if probe.fits)
        fails = max((probe.parts for probe in probes if not probe.fits), default=0)
        while least - fails > 1:
            probes.append(start((least + fails) // 2, 1))
            least, fails = (probes[-1].parts, fails) if probes[-1].fits else (least, probes[-1].parts)
        line, parts = driver.memory_line([probe.probe() for probe in probes]), least
    else:
        parts = -(-batch // max(1, min(most, batch)))
    tries = 0
    while tries < driver.TRIES:
        probes.append(start(parts, 3))
        if probes[-1].fits or parts >= batch:
            break
        parts, tries = min(batch, parts + 1 + parts // 8), tries + 1
    if line is None:
        return probes, None
    large, more, slope = line
    return probes, int(more + slope * (probes[-1].size - large))


def _forecast(probes: list[PartProbe], limit: int | None) -> tuple[tuple[int, int, float] | None, int | None]:
    """Return the memory line, and the samples for which it reaches MARGIN of the limit; None when unknown."""
    starts = [probe.probe() for probe in probes]
    return driver.memory_line(starts), driver.predicted(
        starts, int(limit * driver.MARGIN) if limit is not None else None
    )


def candidates(fewest: int, batch: int) -> list[int]:
    """Return the numbers of micro-batches to compare: smaller parts may fit into a cache."""
    return [fewest << doublings for doublings in range(CANDIDATES) if fewest << doublings <= batch]


def run_micro(run: Path, task: dict[str, Any]) -> None:
    """Find the fewest micro-batches within the memory limit, `micro.json`; then compare speeds.

    The splits take turns in rounds, so that a machine that becomes slower affects all alike.
    """
    done: list[float] = []
    limit = driver.limit_of(task)

    def start(parts: int, longer: int, kind: str = "search") -> PartProbe:
        driver.hold_to(task, done)
        slot = run / "slots" / f"{len(done):04d}"
        variables = dict(task.get("variables") or {}, **{VARIABLE: str(parts)})
        kind = "confirm" if longer > 1 else kind
        more = {"parts": parts, "kind": kind, "variables": variables, "longer": longer}
        outcome = driver.run_slot(slot, task, task["command"], more)
        done.append(outcome["seconds"])
        report = driver.read_object(slot / REPORT) or {}
        batch, sizes = report.get("batch"), report.get("sizes") or [0]
        print(f"{parts} micro-batches: {json.dumps(outcome)}", flush=True)
        return PartProbe(parts, batch, max(sizes), not outcome["failed"], outcome["memory"])

    probes, planned = search_parts(start, limit)
    driver.write_object(run / "slots" / "micro.json", {"limit": limit, "planned": planned, "starts": len(probes)})
    last = probes[-1]
    compared: list[int] = []
    if last.fits and last.batch is not None and not task.get("fewest"):
        compared = candidates(last.parts, last.batch)
    for turn in range(ROUNDS if len(compared) > 1 else 0):
        for parts in compared[turn % len(compared) :] + compared[: turn % len(compared)]:
            start(parts, 1, "speed")


if __name__ == "__main__":
    driver.main({"micro": run_micro})
