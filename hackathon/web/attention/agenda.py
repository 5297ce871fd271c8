"""The present and the next item of the event's schedule, for pages that people keep open."""

from dataclasses import dataclass

from hackathon.index.catalog import Catalog
from hackathon.web.views.schedule import schedule_view

SOON = 10
"""Minutes before an item in which it is marked."""


@dataclass(frozen=True)
class Agenda:
    """What is on, and what comes next."""

    on: tuple[str, ...]
    """Titles of the present items."""
    title: str = ""
    """The next item; empty after the last one."""
    time: str = ""
    """`15:50–16:30`."""
    day: str = ""
    """The day of the next item; empty if it is today."""
    wait: int | None = None
    """Minutes until it begins, if it is soon."""

    @property
    def soon(self) -> bool:
        """Whether the next item begins within SOON minutes."""
        return self.wait is not None and self.wait <= SOON


def agenda(source: Catalog) -> Agenda | None:
    """Return the items at the catalog's time; None without a schedule, and after the event."""
    if source.event is None or not source.event.schedule:
        return None
    view = schedule_view(source)
    titles = tuple(slot.title for slot in view.on)
    if view.next is None:
        return Agenda(titles) if titles else None
    return Agenda(titles, view.next.title, view.next.time, view.next_day, view.wait)
