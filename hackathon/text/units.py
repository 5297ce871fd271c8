"""Parse and format walltimes, sizes and moments."""

import re
import time

from hackathon.text.messages import N_, _

WEEKDAY_TEXTS = {
    0: N_("Mon"),
    1: N_("Tue"),
    2: N_("Wed"),
    3: N_("Thu"),
    4: N_("Fri"),
    5: N_("Sat"),
    6: N_("Sun"),
}

PER_PROCESS = ("/gpu", "/process", "/rank")
"""Endings of units of the rate of one process, in lower case."""
_CLOCK = re.compile(r"(?:(?P<days>\d{1,4})-)?(?P<hours>\d{1,6}):(?P<minutes>\d{1,2})(?::(?P<seconds>\d{1,2}))?\Z")
_SHORT = re.compile(r"(?=\d)(?:(\d{1,6})\s*d)?\s*(?:(\d{1,6})\s*h)?\s*(?:(\d{1,6})\s*m(?:in)?)?\s*(?:(\d{1,9})\s*s)?\Z")
# as long as the seconds of the longest of the other forms, and far below the limit of a float
_SECONDS = re.compile(r"\d{1,12}\Z", re.ASCII)
_AMBIGUOUS = re.compile(r"\d{1,12}\Z|\d{1,3}:[0-5]?\d\Z", re.ASCII)
_SIZE = re.compile(r"(\d{1,40}(?:\.\d{1,40})?)\s*([KMGTP]?)(i?)B?\Z", re.IGNORECASE)
_BARE = re.compile(r"\d{1,6}(?:\.\d+)?\Z", re.ASCII)


def parse_walltime(value: str | int) -> int:
    """Return seconds from `HH:MM:SS`, `HH:MM`, `D-HH:MM:SS`, `300` (seconds), `90m`, `2h`, `1d12h`.

    Raises ValueError for other texts and for zero. `HH:MM` is hours and minutes. It is never read as Slurm's `MM:SS`,
    because the same text must mean the same on every cluster.
    """
    if isinstance(value, bool):
        raise ValueError("not a walltime")
    text = str(value).strip()
    if _SECONDS.match(text):
        seconds = int(text)
    elif match := _CLOCK.match(text):
        minutes, remaining = int(match["minutes"]), int(match["seconds"] or 0)
        if minutes > 59 or remaining > 59:
            raise ValueError(f"minutes and seconds go to 59 in {text!r}")
        seconds = ((int(match["days"] or 0) * 24 + int(match["hours"])) * 60 + minutes) * 60 + remaining
    elif text.isascii() and (match := _SHORT.match(text.lower())):
        days, hours, minutes, remaining = (int(part or 0) for part in match.groups())
        seconds = ((days * 24 + hours) * 60 + minutes) * 60 + remaining
    else:
        raise ValueError(f"{text!r} is not a walltime such as 00:30:00, 90m or 2h")
    if seconds <= 0:
        raise ValueError("a walltime must be longer than zero")
    return seconds


def parse_walltime_setting(value: str | int) -> int:
    """Return seconds from the walltime that a person wrote. Raises ValueError, also where `clear_walltimes` has any."""
    if clear_walltimes(value):
        raise ValueError(f"{value!r} is ambiguous")
    return parse_walltime(value)


def clear_walltimes(value: object) -> tuple[str, str] | None:
    """Return the two clear forms of an ambiguous walltime, None for other values.

    `10` is minutes in Slurm and seconds in PBS: `10m`, `10s`. `10:00` is ten minutes in both, but looks like a time of
    day: `00:10:00`, `10:00:00`.
    """
    text = str(value).strip()
    if isinstance(value, bool) or not _AMBIGUOUS.match(text):
        return None
    if ":" in text:
        return f"00:{text.zfill(5)}", f"{text}:00"
    return f"{text}m", f"{text}s"


def format_walltime(seconds: int) -> str:
    """Return `HH:MM:SS` (hours may exceed 24), the form that PBS, Slurm and PJM all accept."""
    minutes, remaining = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours:02d}:{minutes:02d}:{remaining:02d}"


def parse_moment(value: str, now: float) -> float:
    """Return seconds since 1970 from `10m`, `2h` (before `now`), `14:30`, `14:30:05`, a date or ISO.

    A time of day means the last such time. A time without a zone is local. Raises ValueError for other texts.
    """
    from datetime import datetime, timedelta

    text = value.strip()
    if re.fullmatch(r"\d\d?:\d\d(?::\d\d)?", text, re.ASCII):
        hour, minute, second = (*(int(part) for part in text.split(":")), 0)[:3]
        moment = datetime.fromtimestamp(now).replace(hour=hour, minute=minute, second=second, microsecond=0)
        return (moment if moment.timestamp() <= now else moment - timedelta(days=1)).timestamp()
    if re.match(r"\d{4}-\d\d", text, re.ASCII):
        return datetime.fromisoformat(text).timestamp()
    return now - parse_walltime(text)


def parse_size(value: str | int) -> int:
    """Return bytes from `256 GB`, `16GiB`, `512M` or a plain number of bytes.

    One letter and `B` are decimal (`GB` = 10⁹), `iB` is binary, by IEC 80000-13. Raises ValueError.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    match = _SIZE.match(str(value).strip())
    if not match:
        raise ValueError(f"{value!r} is not a size such as 256 GB or 16 GiB")
    power = " KMGTP".index(match[2].upper() or " ")
    return int(float(match[1]) * (1024 if match[3] else 1000) ** power)


def with_unit(value: str | float) -> str | None:
    """Return the memory size that a plain number probably means: `64 GB`, `65536 MB`; None for other texts."""
    text = str(value).strip()
    if not _BARE.match(text) or float(text) == 0:
        return None
    return f"{text} {'GB' if float(text) < 4096 else 'MB'}"


def format_size(size: float) -> str:
    """Return a size in bytes as a short text with a decimal prefix, e.g. `1.5 GB`."""
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if size < 1000 or unit == "TB":
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    raise AssertionError("unreachable")


def format_moment(seconds: float, form: str) -> str:
    """Return seconds since 1970 in a form of `time.strftime`, in local time; – when out of range."""
    try:
        return time.strftime(form, time.localtime(seconds))
    except (OverflowError, ValueError, OSError):
        return "–"


def format_age(seconds: float) -> str:
    """Return a duration as one short number in the reader's language: `12 s`, `4 min`, `3.5 h`, `2.1 d`."""
    if seconds < 100:
        return _("{seconds} s", seconds=f"{seconds:.0f}")
    if seconds < 6000:
        return _("{minutes} min", minutes=f"{seconds / 60:.0f}")
    if seconds < 48 * 3600:
        return _("{hours} h", hours=f"{seconds / 3600:.1f}")
    return _("{days} d", days=f"{seconds / 86400:.1f}")


def format_duration(seconds: float) -> str:
    """Return a duration to the second in the reader's language: `40 s`, `8 min 40 s`, `2 h 5 min`, `3 d 4 h`."""
    minutes, remaining = divmod(max(0, round(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    if days:
        return _("{days} d {hours} h", days=days, hours=hours) if hours else _("{days} d", days=days)
    if hours:
        return _("{hours} h {minutes} min", hours=hours, minutes=minutes) if minutes else _("{hours} h", hours=hours)
    if minutes:
        text = _("{minutes} min {seconds} s", minutes=minutes, seconds=remaining)
        return text if remaining else _("{minutes} min", minutes=minutes)
    return _("{seconds} s", seconds=remaining)
