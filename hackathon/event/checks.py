"""Check an event as far as one account can: the file, its schedule, clusters, people, directories."""

import stat
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hackathon.access.ownership import Trusted
from hackathon.access.permissions import WRITE, others, others_replace
from hackathon.event import accounts, folders, machines
from hackathon.event.check_report import LEVELS, Checker, Trouble
from hackathon.text.messages import Message

if TYPE_CHECKING:
    from hackathon.config.event import Event


def look(folder: Path, *, live: bool = False) -> tuple["Event", list[Trouble]]:
    """Return an event and its troubles, errors first, then in the order of the file. Nothing is changed.

    With `live`, schedulers are asked about their queues. Raises ConfigError if hackathon.yaml itself is invalid.
    """
    from hackathon.config.load import EVENT_FILE, load_event
    from hackathon.config.yaml import read_yaml

    event = load_event(folder)
    checker = Checker(event, folder.absolute(), read_yaml(folder / EVENT_FILE))
    _file(checker)
    _dates(checker)
    _schedule(checker)
    machines.look(checker, live=live)
    register = accounts.look(checker)
    folders.look(checker, register)
    return event, sorted(checker.found, key=lambda trouble: LEVELS.index(trouble.level))


def _file(checker: Checker) -> None:
    """Check hackathon.yaml itself: whoever can write it decides who is a tutor and what is published."""
    path = checker.document.path
    for entry, name in ((path, path.name), (path.parent, "")):
        status = entry.stat()
        protected = entry is not path and not others_replace(status)
        if not protected and Trusted(frozenset({status.st_uid})).strangers(others(entry.resolve(), status, WRITE)):
            values = {"mode": stat.filemode(status.st_mode), "command": f"chmod go-w {_quoted(entry)}"}
            checker.add(
                "error",
                Message(
                    "event_check.file_open",
                    "other users can change this file: {mode}",
                    hint="Whoever can write this file decides who is a tutor: {command}",
                )
                if name
                else Message(
                    "event_check.folder_open", "other users can replace hackathon.yaml here: {mode}", hint="{command}"
                ),
                entry,
                **values,
            )


def _dates(checker: Checker) -> None:
    event = checker.event
    if not event.dates:
        checker.add(
            "warning",
            Message(
                "event_check.no_dates",
                "the event has no dates",
                hint="Add for example `dates: [2019-01-24, 2019-01-25]`.",
            ),
            checker.line("dates"),
        )
        return
    today = time.strftime("%Y-%m-%d")
    if max(event.dates) < today:
        checker.add(
            "warning",
            Message(
                "event_check.past",
                "the event is over: its last day was {last}",
                hint="This is OK for a report; otherwise, correct the dates.",
            ),
            checker.line("dates"),
            last=max(event.dates),
        )


def _schedule(checker: Checker) -> None:
    from hackathon.event.schedule import overlaps

    event = checker.event
    if not event.schedule:
        checker.add(
            "warning",
            Message(
                "event_check.no_schedule",
                "there is no schedule",
                hint='Add `schedule:` with items such as `- {{day: 2019-01-24, start: "09:30", title: Reception}}`.',
            ),
            checker.line("schedule"),
        )
        return
    for earlier, other in overlaps(event):
        values = {"title": other.title, "time": _time(other), "other": earlier.title, "other_time": _time(earlier)}
        other_line = checker.line("schedule", earlier.index).rpartition(":")[2]
        checker.add(
            "error",
            Message(
                "event_check.overlap",
                "“{title}” ({time}) overlaps “{other}” ({other_time}, line {line})",
                hint="Correct the times; write parallel sessions as one item.",
            ),
            checker.line("schedule", other.index),
            line=other_line,
            **values,
        )
    empty = [date for date in event.dates if date not in {item.day for item in event.schedule}]
    if empty:
        checker.add(
            "remark",
            Message("event_check.day_empty", "no schedule items on {days}"),
            checker.line("schedule"),
            days=", ".join(empty),
        )


def _time(slot: Any) -> str:
    return f"{slot.day} {slot.time}"


def _quoted(path: Path) -> str:
    import shlex

    return shlex.quote(str(path))
