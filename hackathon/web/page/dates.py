"""Format days for a report, and lists of words for a sentence."""

import time
from collections.abc import Sequence
from itertools import pairwise

from hackathon.text.messages import _, language
from hackathon.text.units import WEEKDAY_TEXTS
from hackathon.web.page.sanitize import line

_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip

Date = tuple[int, int, int, int]
"""Year, month, day, weekday (Monday is 0)."""


def parsed(day: str) -> Date | None:
    """Return the parts of a day such as 2019-01-24; None for anything else."""
    try:
        date = time.strptime(day.strip(), "%Y-%m-%d")
    except ValueError:
        return None
    return date.tm_year, date.tm_mon, date.tm_mday, date.tm_wday


def day_text(day: str) -> str:
    """Return one day: `Thu, 24 January 2019`, `2019年1月24日（木）`; an invalid date stays unchanged."""
    date = parsed(day)
    if date is None:
        return line(day, 60)
    year, month, number, weekday = date
    if language() == "ja":
        return f"{year}年{month}月{number}日（{_weekday(weekday)}）"
    return f"{_weekday(weekday)}, {number} {_MONTHS[month - 1]} {year}"


def days_text(days: Sequence[str]) -> str:
    """Return the days of an event: `24–25 January 2019 (Thu–Fri)`, `2019年1月24日（木）–25日（金）`.

    Days that are not consecutive are listed one by one.
    """
    dates = [parsed(day) for day in dict.fromkeys(days)]
    if len(dates) < 2 or None in dates:
        return listed([day_text(day) for day in dict.fromkeys(days)])
    ordered = sorted(date for date in dates if date is not None)
    seconds = [time.mktime((*date[:3], 12, 0, 0, 0, 0, -1)) for date in ordered]
    if any(round((later - earlier) / 86400) != 1 for earlier, later in pairwise(seconds)):
        return listed([day_text(f"{date[0]}-{date[1]}-{date[2]}") for date in ordered])
    return _span(ordered[0], ordered[-1])


def _span(first: Date, last: Date) -> str:
    same_year, same_month = first[0] == last[0], first[:2] == last[:2]
    if language() == "ja":
        end = f"{last[2]}日（{_weekday(last[3])}）"
        end = end if same_month else f"{last[1]}月{end}" if same_year else f"{last[0]}年{last[1]}月{end}"
        return f"{first[0]}年{first[1]}月{first[2]}日（{_weekday(first[3])}）–{end}"
    days = f"({_weekday(first[3])}–{_weekday(last[3])})"
    begin = (
        f"{first[2]}" if same_month else f"{first[2]} {_MONTHS[first[1] - 1]}" + ("" if same_year else f" {first[0]}")
    )
    dash = "–" if same_month else " – "
    return f"{begin}{dash}{last[2]} {_MONTHS[last[1] - 1]} {last[0]} {days}"


def _weekday(number: int) -> str:
    return _(WEEKDAY_TEXTS[number])


def listed(words: Sequence[str]) -> str:
    """Return words as a list in a sentence: `a, b and c`, `a、b、c`."""
    if language() == "ja" or len(words) < 2:
        return "、".join(words)
    return f"{', '.join(words[:-1])} {_('and')} {words[-1]}"


def joined(*sentences: str) -> str:
    """Return sentences as a paragraph, without empty ones. Japanese has no space between them."""
    return ("" if language() == "ja" else " ").join(sentence for sentence in sentences if sentence)
