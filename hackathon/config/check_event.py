"""Values of `hackathon.yaml` that must agree."""

import re
import unicodedata
from typing import TYPE_CHECKING

from hackathon.config.event import Event, Item
from hackathon.config.problems import shown
from hackathon.config.records import KeyPath
from hackathon.text.messages import Message

if TYPE_CHECKING:
    from hackathon.config.report import Report

KINDS = ("undergraduate", "master", "doctoral", "staff", "company")
"""Kinds of participants that every event knows, in the order of tables."""
LAST_HOUR = 47
"""Hours of a schedule continue after midnight, up to the end of the next day."""
_DATE = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")
_TIME = re.compile(r"([0-9]{1,2}):([0-9]{2})")
_USER = re.compile(r"[^\s/:,]+")
_ADDRESS = re.compile(r"https?://[A-Za-z0-9][!-~]*")


def date_of(text: str) -> tuple[int, int, int] | None:
    """Return (year, month, day) of a date such as 2019-01-24; None for an invalid date."""
    import calendar

    match = _DATE.fullmatch(text)
    if match is None:
        return None
    year, month, day = int(match[1]), int(match[2]), int(match[3])
    if not (year >= 1 and 1 <= month <= 12 and 1 <= day <= calendar.monthrange(year, month)[1]):
        return None
    return year, month, day


def minutes_of(text: str) -> int | None:
    """Return the minutes since the start of a day for 09:30 or, after midnight, 26:00; None for other text."""
    match = _TIME.fullmatch(text)
    if match is None or int(match[1]) > LAST_HOUR or int(match[2]) > 59:
        return None
    return int(match[1]) * 60 + int(match[2])


def time_text(minutes: int) -> str:
    """Return minutes since the start of a day as a time: 09:30, after midnight 26:00."""
    return f"{minutes // 60:02d}:{minutes % 60:02d}"


def check_event(event: Event, report: "Report") -> None:
    """Report the contradictions between the values of an event."""
    _teams(event, report)
    _people(event, report)
    _dates(event, report)
    for index, item in enumerate(event.schedule):
        _item(item, event, ("schedule", index), report)
    _participation(event, report)
    _addresses(event, report)


def _teams(event: Event, report: "Report") -> None:
    tutors = [tutor.user for tutor in event.tutors]
    names: set[str] = set()
    for index, team in enumerate(event.teams):
        path: KeyPath = ("teams", index, "name")
        if not team.name.strip():
            report.add(Message("config.name_empty", "the name is empty"), path)
        # two names that look the same are one name, whatever their Unicode composition
        name = unicodedata.normalize("NFC", team.name)
        if name in names:
            report.add(
                Message("config.team_twice", "another team is already called {name}"), path, name=shown(team.name)
            )
        names.add(name)
        for number, user in enumerate(team.tutors):
            if user not in tutors:
                report.unknown(
                    ("teams", index, "tutors", number),
                    user,
                    tutors,
                    Message("config.no_tutor", "there is no tutor {name}; known: {known}"),
                    Message("config.no_tutor_near", "there is no tutor {name}; did you mean `{near}`?"),
                )


def _people(event: Event, report: "Report") -> None:
    kinds = [*KINDS, *(kind for kind in event.kinds if kind not in KINDS)]
    teams: dict[str, str] = {}
    for index, team in enumerate(event.teams):
        for number, member in enumerate(team.members):
            path: KeyPath = ("teams", index, "members", number)
            if not member.user and member.name.strip():
                pass  # planned before the accounts are assigned
            elif not _USER.fullmatch(member.user):
                report.add(
                    Message(
                        "config.user_name", "{name} is not an account name; it must not contain spaces, `/`, `:` or `,`"
                    ),
                    (*path, "user"),
                    name=shown(member.user),
                )
            elif member.user in teams:
                other = teams[member.user]
                twice = (
                    Message("config.member_twice", "{name} appears twice in this team")
                    if other == team.name
                    else Message("config.member_elsewhere", "{name} is already in team {team}; delete one of the two")
                )
                report.add(twice, (*path, "user"), name=shown(member.user), team=shown(other))
            if member.user:
                teams.setdefault(member.user, team.name)
            if member.kind and member.kind not in kinds:
                report.unknown(
                    (*path, "kind"),
                    member.kind,
                    kinds,
                    Message("config.no_kind", "there is no kind {name}; known: {known}; add more under `kinds`"),
                    Message("config.no_kind_near", "there is no kind {name}; did you mean `{near}`?"),
                )
    users: set[str] = set()
    for index, tutor in enumerate(event.tutors):
        path = ("tutors", index, "user")
        if not _USER.fullmatch(tutor.user):
            report.add(
                Message(
                    "config.user_name", "{name} is not an account name; it must not contain spaces, `/`, `:` or `,`"
                ),
                path,
                name=shown(tutor.user),
            )
        elif tutor.user in users:
            report.add(
                Message("config.tutor_twice", "{name} appears twice among the tutors"), path, name=shown(tutor.user)
            )
        users.add(tutor.user)


def _dates(event: Event, report: "Report") -> None:
    dates: set[str] = set()
    for index, date in enumerate(event.dates):
        if date_of(date) is None:
            report.add(
                Message("config.bad_date", "{value} is not a date; write it as 2019-01-24"),
                ("dates", index),
                value=shown(date),
            )
        elif date in dates:
            report.add(
                Message("config.date_twice", "{value} appears twice in the dates"), ("dates", index), value=shown(date)
            )
        dates.add(date)


def _item(item: Item, event: Event, path: KeyPath, report: "Report") -> None:
    if date_of(item.day) is None:
        report.add(
            Message("config.bad_date", "{value} is not a date; write it as 2019-01-24"),
            (*path, "day"),
            value=shown(item.day),
        )
    elif event.dates and item.day not in event.dates:
        report.add(
            Message("config.day_outside", "{day} is not one of the event's dates: {dates}"),
            (*path, "day"),
            day=item.day,
            dates=", ".join(event.dates),
        )
    times = {}
    for name in ("start", "end"):
        text = getattr(item, name)
        if text is not None:
            times[name] = minutes_of(text)
            if times[name] is None:
                report.add(
                    Message("config.bad_time", "{value} is not a time; write it as 09:30, after midnight as 26:00"),
                    (*path, name),
                    value=shown(text),
                )
    start, end = times.get("start"), times.get("end")
    if "end" in times and "start" not in times:
        report.add(Message("config.end_alone", "`end` without `start`; add `start`"), (*path, "end"))
    if start is None or end is None or end > start:
        return
    if end == start:
        report.add(
            Message("config.end_at_start", "the end is the same as the start, {time}; delete `end` if it is open"),
            (*path, "end"),
            time=item.end,
        )
    elif end + 24 * 60 <= LAST_HOUR * 60 + 59:
        after = time_text(end + 24 * 60)
        report.add(
            Message(
                "config.end_before_start", "the end {end} is before the start {start}; after midnight write {after}"
            ),
            (*path, "end"),
            start=item.start,
            end=item.end,
            after=after,
        )
    else:
        report.add(
            Message("config.end_earlier", "the end {end} is before the start {start}"),
            (*path, "end"),
            start=item.start,
            end=item.end,
        )


def _participation(event: Event, report: "Report") -> None:
    came = sum(1 for team in event.teams if team.took_part)
    if event.chosen is not None and event.chosen < came:
        report.add(
            Message(
                "config.chosen_few",
                "{chosen} teams were selected, but {came} took part; add `took_part: false` to teams that did not "
                "take part",
            ),
            ("chosen",),
            chosen=event.chosen,
            came=came,
        )
    chosen = len(event.teams) if event.chosen is None else event.chosen
    if event.applied is not None and event.applied < chosen:
        report.add(
            Message("config.applied_few", "{applied} teams applied, but {chosen} were selected"),
            ("applied",),
            applied=event.applied,
            chosen=chosen,
        )


def _addresses(event: Event, report: "Report") -> None:
    addresses = {
        ("report_page",): event.report_page, ("lecture_page",): event.lecture_page,
        ("publish", "address"): event.publish.address,
    }  # fmt: skip
    for path, address in addresses.items():
        if address and not _ADDRESS.fullmatch(address):
            report.add(
                Message(
                    "config.bad_address",
                    "{value} is not a web address; it must start with https:// and contain no spaces",
                ),
                path,
                value=shown(address),
            )
