"""The history of a run in order of time: the toolkit's records, and events of the job and of its ranks."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hackathon.access.guarded_folder import GuardedFolder
from hackathon.logs.collapse import ranks_text
from hackathon.logs.values import number
from hackathon.text.messages import N_, _
from hackathon.text.numbers import finite
from hackathon.text.units import format_moment

_EVENT_TEXTS = {
    "created": N_("Run created"),
    "after": N_("Waiting for another run"),
    "submitted": N_("Submitted"),
    "refused": N_("Refused by the scheduler"),
    "recovered": N_("Job found again"),
    "adopted": N_("Adopted"),
    "cancelled": N_("Cancelled by its owner"),
    "job_started": N_("Job started"),
    "job_ended": N_("Job ended"),
    "rank_started": N_("Started"),
    "rank_ended": N_("Ended"),
    "ranks_started": N_("All ranks running"),
    "checkpoint": N_("Checkpoint"),
    "warned": N_("Warning"),
    "skipped": N_("Nothing left to do"),
    "told": N_("Asked to stop"),
}

RANKS = 256
"""Ranks whose events are read."""
BYTES = 1 << 20
"""Bytes at the end of one file of events that are read."""
SHOWN = 120
"""Entries that are displayed: the first and the last half of them."""
NEAR = 60.0
"""Seconds within which equal events of several ranks are one entry."""
SKEW = 5.0
"""Seconds by which an event may precede its cause; a larger difference means a wrong clock."""
_FACTS = ("created", "after", "submitted", "refused", "recovered", "adopted", "cancelled")


@dataclass(frozen=True)
class TimelineEvent:
    """One event, perhaps of several ranks."""

    time: float
    kind: str
    """The event's name in its file."""
    words: str
    """Its label."""
    text: str = ""
    """Its details: an exit code, a path, a warning."""
    who: str = ""
    """`rank 3`, `ranks 0-7`; empty for the job."""
    host: str = ""
    """Its host, if there is only one."""
    bad: bool = False
    """Whether it reports a problem."""

    @property
    def day(self) -> str:
        """The day, as `03-01`, by this machine's time."""
        return format_moment(self.time, "%m-%d")

    @property
    def clock(self) -> str:
        """The time of day, as `10:15:30`."""
        return format_moment(self.time, "%H:%M:%S")


@dataclass(frozen=True)
class Timeline:
    """The history of a run."""

    moments: tuple[TimelineEvent, ...]
    left: int = 0
    """Entries in the middle that are not displayed."""
    skewed: bool = False
    """Whether clocks of its hosts differ, because an event is dated before its cause."""


def timeline(inside: GuardedFolder) -> Timeline:
    """Return the history of a run; files that are missing or incomplete leave gaps."""
    events = [*_facts(inside), *_job(inside)]
    ranks = _ranks(inside)
    skewed = _is_skewed(events, ranks)
    events += ranks
    events.sort(key=lambda event: event.time)
    if len(events) <= SHOWN:
        return Timeline(tuple(events), 0, skewed)
    half = SHOWN // 2
    return Timeline((*events[:half], *events[-half:]), len(events) - 2 * half, skewed)


def _facts(inside: GuardedFolder) -> Iterator[TimelineEvent]:
    for name in _FACTS:
        fact = inside.json(f"client/{name}.json", BYTES)
        moment = _time(fact)
        if moment is not None:
            text = {
                "created": "",
                "after": f"{fact.get('about') or ''} {fact.get('run') or ''}".strip(),
                "refused": str(fact.get("message") or ""),
                "cancelled": "",
            }.get(name, str(fact.get("job_id") or ""))
            yield TimelineEvent(moment, name, _words(name), text, bad=name in ("refused", "cancelled"))


def _job(inside: GuardedFolder) -> Iterator[TimelineEvent]:
    for event in inside.lines("events/job.jsonl", BYTES):
        moment = _time(event)
        if moment is not None:
            yield _moment(event, moment, "job_")


def _ranks(inside: GuardedFolder) -> list[TimelineEvent]:
    """Return the entries of ranks; equal events of several within NEAR seconds are one."""
    numbered = sorted(
        (int(digits), name)
        for name in inside.names("events")
        if name.startswith("rank-")
        and name.endswith(".jsonl")
        and (digits := name[5:-6]).isascii()
        and digits.isdigit()
        and len(digits) < 10
    )
    groups: dict[tuple[str, str, int], list[tuple[TimelineEvent, list[int], set[str]]]] = {}
    for rank, name in numbered[:RANKS]:
        for event in inside.lines(f"events/{name}", BYTES // 4):
            time = _time(event)
            if time is None:
                continue
            moment = _moment(event, time, "rank_")
            same = groups.setdefault((moment.kind, moment.text, _attempt(event)), [])
            for __, ranks, hosts in (group for group in same if abs(group[0].time - time) <= NEAR):
                ranks.append(rank)
                hosts.add(moment.host)
                break
            else:
                same.append((moment, [rank], {moment.host}))
    return [
        TimelineEvent(
            first.time,
            first.kind,
            first.words,
            first.text,
            _(N_("rank {ranks}") if len(set(ranks)) == 1 else N_("ranks {ranks}"), ranks=ranks_text(ranks)),
            hosts.pop() if len(hosts) == 1 else _("{count} hosts", count=len(hosts)),
            first.bad,
        )
        for same in groups.values()
        for first, ranks, hosts in same
    ]


def _moment(event: Mapping[str, Any], time: float, prefix: str) -> TimelineEvent:
    kind = str(event.get("event") or "?")[:40]
    attempt = _attempt(event)
    text, bad = "", False
    if kind == "ended":
        code, signal = event.get("exit_code"), event.get("signal")
        bad = bool(code) or bool(signal)
        text = _("exit code {code}", code=code)
        if signal:
            text = _("signal {signal}", signal=signal)
    elif kind == "started":
        text = _("attempt {attempt}", attempt=attempt) if attempt > 1 else ""
    elif kind == "ranks_started":
        seconds = number(event.get("seconds"))
        text = _("after {seconds} s", seconds=f"{seconds:.1f}") if seconds is not None else ""
    else:
        bad = kind in ("warned", "told")
        text = str(event.get("text") or event.get("path") or event.get("about") or "")
    return TimelineEvent(time, kind, _words(prefix + kind, kind), text, host=str(event.get("host") or ""), bad=bad)


def _words(key: str, plain: str = "") -> str:
    text = _EVENT_TEXTS.get(key) or _EVENT_TEXTS.get(plain)
    return _(text) if text else plain or key


def _is_skewed(first: Sequence[TimelineEvent], ranks: Sequence[TimelineEvent]) -> bool:
    """Return whether ranks started before their job, or the job before it was submitted."""
    begun = {event.kind: event.time for event in reversed(first)}
    submitted = begun.get("submitted", -math.inf)
    started = begun.get("started", -math.inf)
    began = min((event.time for event in ranks if event.kind == "started"), default=math.inf)
    return began < started - SKEW or (started > -math.inf and started < submitted - SKEW)


def _attempt(event: Mapping[str, Any]) -> int:
    value = event.get("attempt", 1)
    return value if isinstance(value, int) else 1


def _time(value: Mapping[str, Any]) -> float | None:
    return finite(value.get("t"))
