"""The schedule by days: the items, which of them are on now, and which overlap."""

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hackathon.config.check_event import date_of, minutes_of, time_text
from hackathon.text.messages import _, localized
from hackathon.text.units import WEEKDAY_TEXTS

if TYPE_CHECKING:
    from hackathon.config.event import Event, Item

DAY = 24 * 60
"""Minutes of a day."""


@dataclass(frozen=True)
class Slot:
    """One item of the schedule."""

    title: str
    """In the current language."""
    start: str
    """09:30; empty for an item without a time. Hours continue after midnight: 25:30."""
    end: str
    """10:00; empty for an item without an end."""
    index: int
    """Its index in `schedule` of hackathon.yaml, from 0."""
    day: str
    """2019-01-24."""

    @property
    def begins(self) -> int | None:
        """Minutes after the beginning of its day; None without a time."""
        return minutes_of(self.start)

    @property
    def ends(self) -> int | None:
        """Minutes after the beginning of its day; None without an end."""
        return minutes_of(self.end)

    @property
    def time(self) -> str:
        """Its time in the style of the 2019 table: `09:30–10:00`, `17:15–`, `(no time)`."""
        return f"{self.start}–{self.end}" if self.start else _("(no time)")


@dataclass(frozen=True)
class Day:
    """One day of the schedule."""

    date: str
    """2019-01-24."""
    weekday: str
    """Thu, in Japanese 木."""
    slots: tuple[Slot, ...]
    """By time; an item without a time stays after the one that precedes it in the file."""


def days(event: "Event") -> list[Day]:
    """Return the days on which the schedule has items, in order, with texts in the current language."""
    by_day: dict[str, list[Slot]] = {}
    for index, item in enumerate(event.schedule):
        by_day.setdefault(item.day, []).append(_slot(item, index))
    return [Day(date, weekday(date), tuple(_ordered(by_day[date]))) for date in sorted(by_day)]


def weekday(date: str) -> str:
    """Return a date's abbreviated day of the week in the current language."""
    import calendar

    day = date_of(date)
    return _(WEEKDAY_TEXTS[calendar.weekday(*day)]) if day else ""


def date_text(date: str) -> str:
    """Return a date with its day of the week: `2019-01-24 (Thu)`, in Japanese `2019-01-24（木）`."""
    return _("{date} ({weekday})", date=date, weekday=weekday(date))


def overlaps(event: "Event") -> list[tuple[Slot, Slot]]:
    """Return pairs of items at the same time; the first one begins no later than the second.

    An item without an end has no length: it overlaps only an item during which it begins.
    """
    timed: list[tuple[int, int, Slot]] = []
    for day in days(event):
        offset = _ordinal(day.date) * DAY
        for slot in day.slots:
            if slot.begins is not None:
                ends = slot.begins if slot.ends is None else slot.ends
                timed.append((offset + slot.begins, offset + ends, slot))
    timed.sort(key=lambda entry: (entry[0], entry[1], entry[2].index))
    pairs = []
    for number, (begins, ends, slot) in enumerate(timed):
        for other_begins, other_ends, other in timed[number + 1 :]:
            if other_begins >= ends and other_begins != begins:
                break
            together = begins < other_ends and other_begins < ends
            inside = begins < other_begins < ends
            if together or inside:
                pairs.append((slot, other))
    return pairs


@dataclass(frozen=True)
class Now:
    """The part of the schedule at a moment."""

    on: tuple[Slot, ...]
    """Items that are on."""
    next: Slot | None
    """The item that begins next; None after the last one."""
    wait: int | None
    """Minutes until it begins."""
    phase: str
    """`before`, `running` or `over`; empty for an event without any day.

    An event lasts from the beginning of its first day until midnight after its last, or until its last item has ended.
    """
    days: int
    """Days from today until the first one; 0 from then on."""

    @property
    def running(self) -> bool:
        """Whether the event is on."""
        return self.phase == "running"


def now(event: "Event", moment: float | None = None) -> Now:
    """Return the items at a moment (seconds since 1970, default now), by this machine's clock and time zone.

    An item without an end is on until the next one begins, at the longest until midnight.
    """
    at = time.localtime(moment)
    minute = _ordinal(f"{at.tm_year:04d}-{at.tm_mon:02d}-{at.tm_mday:02d}") * DAY + at.tm_hour * 60 + at.tm_min
    timed = [(_ordinal(day.date) * DAY, slot) for day in days(event) for slot in day.slots if slot.begins is not None]
    timed.sort(key=lambda entry: (entry[0] + (entry[1].begins or 0), entry[1].index))
    starts = [offset + (slot.begins or 0) for offset, slot in timed]
    on = []
    last = 0
    for number, (offset, slot) in enumerate(timed):
        later = [start for start in starts[number + 1 :] if start > starts[number]]
        until = (starts[number] // DAY + 1) * DAY
        ends = offset + slot.ends if slot.ends is not None else min([until, *later[:1]])
        last = max(last, ends)
        if starts[number] <= minute < ends:
            on.append(slot)
    following = next((number for number, start in enumerate(starts) if start > minute), None)
    dates = [_ordinal(date) for date in (*event.dates, *(item.day for item in event.schedule))]
    phase = ""
    if dates:
        over = minute >= max(last, (max(dates) + 1) * DAY)
        phase = "before" if minute < min(dates) * DAY else "over" if over else "running"
    return Now(
        tuple(on),
        None if following is None else timed[following][1],
        None if following is None else starts[following] - minute,
        phase,
        max(0, min(dates, default=0) - minute // DAY),
    )


def _slot(item: "Item", index: int) -> Slot:
    start, end = (minutes_of(text or "") for text in (item.start, item.end))
    return Slot(
        localized(item.title),
        "" if start is None else time_text(start),
        "" if end is None or start is None else time_text(end),
        index,
        item.day,
    )


def _ordered(slots: list[Slot]) -> list[Slot]:
    """Return items by their beginning; one without a time stays with the timed one before it."""
    keys: list[int] = []
    for slot in slots:
        keys.append(slot.begins if slot.begins is not None else keys[-1] if keys else -1)
    return [slots[at] for at in sorted(range(len(slots)), key=lambda at: (keys[at], at))]


def _ordinal(date: str) -> int:
    """Return a date as a count of days; 0 for an invalid date."""
    import datetime

    day = date_of(date)
    return datetime.date(*day).toordinal() if day else 0
