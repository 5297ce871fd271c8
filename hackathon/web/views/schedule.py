"""The page of the event's schedule: its days, and on the dashboard the present and the next items."""

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hackathon.config.event import Publish
from hackathon.event.schedule import Day, Slot, days, now
from hackathon.index.catalog import Catalog
from hackathon.text.messages import localized
from hackathon.web.page.dates import day_text, days_text
from hackathon.web.page.sanitize import line

if TYPE_CHECKING:
    from hackathon.config.event import Event

MINUTES = 90
"""The longest wait in minutes that is displayed in minutes."""


@dataclass(frozen=True)
class SlotView:
    """One item of the schedule."""

    time: str
    """`09:30–10:00`, `17:15–`; empty for an item without a time."""
    title: str
    state: str = ""
    """`on` or `next` while the event lasts, on the dashboard; else empty."""


@dataclass(frozen=True)
class DayView:
    date: str
    """2019-01-24."""
    title: str
    """With the day of the week."""
    slots: tuple[SlotView, ...]


@dataclass(frozen=True)
class ScheduleView:
    days: tuple[DayView, ...]
    when: str
    """The event's days."""
    place: str
    live: bool
    running: bool = False
    """Whether the event is on now."""
    on: tuple[SlotView, ...] = ()
    """The present items."""
    next: SlotView | None = None
    """The next item, today or on a later day."""
    next_day: str = ""
    """The day of `next`; empty if it is today."""
    wait: int | None = None
    """Minutes until the next item, if it is soon."""


def values(source: Catalog, key: str = "") -> dict[str, Any] | None:
    """Return the values of the schedule's page; None on a site whose event does not publish its schedule."""
    if key or (not source.live and not shown(source)):
        return None
    return {"view": schedule_view(source)}


def shown(source: Catalog) -> bool:
    """Return whether a site of this event shows a schedule."""
    rules = source.event.publish if source.event is not None else Publish()
    return rules.schedule and source.event is not None and bool(source.event.schedule)


def schedule_view(source: Catalog) -> ScheduleView:
    """Return the schedule for a page, every text cleaned; on the dashboard with the items at the catalog's time."""
    event = source.event
    if event is None:
        return ScheduleView((), "", "", source.live)
    when, location = days_text(event.dates), line(localized(event.place), 200)
    program = days(event)
    if not source.live:
        return ScheduleView(tuple(_day(day) for day in program), when, location, live=False)
    return _with_now(event, program, source.now, when, location)


def _with_now(event: "Event", program: list[Day], moment: float, when: str, location: str) -> ScheduleView:
    state = now(event, moment)
    states = {slot.index: "on" for slot in state.on}
    soon = state.wait is not None and state.wait <= MINUTES
    next_day = ""
    if state.next is not None:
        if state.running and soon:
            states[state.next.index] = "next"
        today = time.strftime("%Y-%m-%d", time.localtime(moment))  # an item of the night continues after midnight
        same = soon or state.next.day in {today, *(slot.day for slot in state.on)}
        next_day = "" if same else day_text(state.next.day)
    return ScheduleView(
        days=tuple(_day(day, states) for day in program),
        when=when,
        place=location,
        live=True,
        running=state.running,
        on=tuple(_slot(slot, "on") for slot in state.on),
        next=_slot(state.next) if state.next is not None else None,
        next_day=next_day,
        wait=state.wait if soon else None,
    )


def _day(day: Day, states: dict[int, str] | None = None) -> DayView:
    marks = states or {}
    return DayView(day.date, day_text(day.date), tuple(_slot(slot, marks.get(slot.index, "")) for slot in day.slots))


def _slot(slot: Slot, state: str = "") -> SlotView:
    span = f"{slot.start}–{slot.end}" if slot.start else ""
    return SlotView(span, line(slot.title, 300), state)
