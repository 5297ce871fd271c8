"""Measure how long a run had written nothing before it was stopped, and after which step."""

import os
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from hackathon.diagnosis.facts import RunFacts
from hackathon.diagnosis.hangs.hang import QUIET, QUIET_LINES
from hackathon.diagnosis.log_tails import alike
from hackathon.logs.metrics import rank_files, rank_of
from hackathon.logs.values import number
from hackathon.text.files import open_regular
from hackathon.text.json_fields import moment_of
from hackathon.text.messages import _
from hackathon.text.units import format_duration

TAIL = 1 << 20
"""Bytes at the end of a log from which its number of lines is estimated."""


@dataclass(frozen=True)
class Pause:
    """The time at the end of a run without output of any rank."""

    seconds: float
    step: int | None
    """The highest step in the Meters' files; None without one."""


def still(facts: RunFacts) -> dict[str, str]:
    """Return the placeholder `stood_still` for a run that reached its walltime; empty when it ran until the end."""
    pause = pause_of(facts)
    if pause is None:
        return {"stood_still": ""}
    span = format_duration(pause.seconds)
    if pause.step is None:
        return {"stood_still": _("; it stood still for {span} before that", span=span)}
    return {"stood_still": _("; it stood still since step {step} for {span} before that", span=span, step=pause.step)}


def pause_of(facts: RunFacts) -> Pause | None:
    """Return how long a run had no progress before it was stopped; None without a pause or without data.

    No progress: no line of a Meter or a log for QUIET seconds and for QUIET_LINES times the longest earlier pause.
    """
    ended = facts.first_told
    if ended is None and facts.status is not None:
        ended = facts.status.t_ended
    if ended is None:
        return None
    times, step, longest = [], None, 0.0
    for lines in facts.metrics.values():
        own = [line for line in lines if not line.get("final")]
        moments = [moment for line in own if (moment := moment_of(line.get("t"))) is not None and moment <= ended]
        steps = [count for line in own if (count := number(line.get("step"))) is not None]
        times += moments[-1:]
        longest = max([longest, *(later - former for former, later in pairwise(moments))])
        step = max([*([step] if step is not None else []), *map(int, filter(_is_count, steps))], default=None)
    for path in rank_files(facts.path / "logs", ".log"):
        printed = _printed(facts, path)
        if printed is None:
            continue
        if printed > ended + 1:  # the file was copied or changed later, so its time shows nothing
            return None
        times.append(printed)
        if not longest and (began := facts.stepping_since(printed)) is not None:
            longest = max(longest, (printed - began) / max(1, _lines(path)))
    if not times or not longest:
        return None
    seconds = ended - max(times)
    return Pause(seconds, step) if seconds >= max(QUIET, QUIET_LINES * longest) else None


def _printed(facts: RunFacts, path: Path) -> float | None:
    """Return when a rank last printed before it was asked to stop; None when it printed nothing."""
    ending = next((event for event in facts.rank_events.get(rank_of(path), ()) if event.get("event") == "told"), {})
    try:
        stat = path.stat()
    except OSError:
        return None
    if not stat.st_size:
        return None
    return moment_of(ending.get("printed")) or stat.st_mtime


def _lines(path: Path) -> int:
    """Estimate, from a log's end, how many lines are like its last one."""
    try:
        with open_regular(path) as stream:
            size = stream.seek(0, os.SEEK_END)
            stream.seek(max(0, size - TAIL))
            end = stream.read(TAIL)
    except OSError:
        return 0
    return round(alike(end.decode("utf-8", "replace").splitlines()) * max(1.0, size / max(1, len(end))))


def _is_count(value: float) -> bool:
    return 0 <= value < 1e15
