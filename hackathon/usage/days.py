"""Days in this machine's time zone; TZ selects another one."""

import time
from collections.abc import Iterator

from hackathon.runs.lives import Life


def zone(now: float) -> str:
    """Return the name of the time zone, e.g. `JST (UTC+09:00)`."""
    local = time.localtime(now)
    sign, minutes = "-" if local.tm_gmtoff < 0 else "+", abs(local.tm_gmtoff) // 60
    offset = f"UTC{sign}{minutes // 60:02d}:{minutes % 60:02d}"
    if local.tm_zone == "UTC":
        return "UTC"
    return offset if local.tm_zone in ("", offset) else f"{local.tm_zone} ({offset})"


def day_of(moment: float) -> str:
    """Return the date of a moment, e.g. 2019-01-24."""
    local = time.localtime(moment)
    return f"{local.tm_year:04d}-{local.tm_mon:02d}-{local.tm_mday:02d}"


def next_midnight(moment: float) -> float:
    """Return the first moment of the next day; a day has 23 or 25 hours when daylight saving time begins or ends."""
    local = time.localtime(moment)
    return time.mktime((local.tm_year, local.tm_mon, local.tm_mday + 1, 0, 0, 0, 0, 0, -1))


def by_day(life: Life, since: float, until: float) -> Iterator[tuple[str, float]]:
    """Yield (day, seconds) of the part of a life that lies between two moments.

    A life shorter than the time from its start to its end was suspended; its seconds are spread evenly.
    """
    if life.end <= life.start:
        if since <= life.start < until:
            yield day_of(life.start), life.seconds
        return
    speed = life.seconds / (life.end - life.start)
    begin, end = max(life.start, since), min(life.end, until)
    while begin < end:
        following = min(end, next_midnight(begin))
        yield day_of(begin), (following - begin) * speed
        begin = following
