"""`hackathon event show`: an event at a glance."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hackathon.cli.json_output import echo_json
from hackathon.cli.options import named
from hackathon.cli.show import printable
from hackathon.text.columns import width
from hackathon.text.errors import RequestError
from hackathon.text.messages import N_, _, localized, ngettext

if TYPE_CHECKING:
    from hackathon.config.event import Event, Tutor
    from hackathon.event.schedule import Day, Now, Slot

WIDTH = 80
"""Columns of a terminal of the default width."""
PLACE = click.Path(file_okay=False, path_type=Path, resolve_path=True)


@named(
    "show",
    help=_(
        "Show an event: title, days, place, hosts, schedule, teams with the kinds of their members, tutors and "
        "their topics, and during the event the current and the next item.\n"
        "\n"
        "hackathon event show\n"
        "hackathon event show --knows NCCL"
    ),
)
@click.argument("folder", required=False, type=PLACE, metavar="[DIR]")
@click.option("--knows", metavar="WORD", help=_("Only tutors listed for WORD."))
@click.option("--json", "as_json", is_flag=True, help=_("Print JSON."))
def command(folder: Path | None, knows: str | None, as_json: bool) -> int:
    from hackathon.config.load import load_event
    from hackathon.event.schedule import days, now

    event = load_event(event_folder(folder))
    if knows is not None:
        return _experts(event, knows, as_json)
    by_day, moment = days(event), now(event)
    if as_json:
        _echo_json(event, by_day, moment)
        return 0
    _title(event)
    if moment.running:
        _now(moment)
    elif moment.phase:
        _not_now(event, moment)
    _schedule(by_day)
    _participation(event)
    _teams(event)
    _tutors(event, event.tutors)
    return 0


def event_folder(folder: Path | None) -> Path:
    """Return the folder of an event: the argument, else the event around the current folder.

    Raises RequestError if there is none.
    """
    from hackathon.config.load import EVENT_FILE, find_event

    root = find_event(folder if folder is not None else Path.cwd())
    if root is None or (folder is not None and root != folder.absolute()):
        raise RequestError(
            "event.no_event",
            "there is no {file} in {folder}",
            hint="Go to the event's folder or name it; `hackathon event init DIR` creates one.",
            folder=folder or Path.cwd(),
            file=EVENT_FILE,
        )
    return root


def _title(event: "Event") -> None:
    from hackathon.event.schedule import date_text

    click.echo(click.style(printable(localized(event.title)), bold=True))
    for key, texts in (
        (N_("Days"), [date_text(date) for date in event.dates]),
        (N_("Place"), [localized(event.place)] if event.place else []),
        (N_("Hosts"), [localized(host) for host in event.hosts]),
    ):
        if texts:
            _list(_(key), texts)


def _list(head: str, texts: list[str]) -> None:
    """Print a list on one line, or one text per line if that is too wide for a terminal."""
    line = f"{head}: {printable(_(', ').join(texts))}"
    if width(line) <= WIDTH or len(texts) == 1:
        click.echo(line)
        return
    click.echo(f"{head}:")
    for text in texts:
        click.echo(f"  {printable(text)}")


def _now(moment: "Now") -> None:
    if moment.on or moment.next:
        click.echo()
    for slot in moment.on:
        click.echo(printable(_("Now: {title} ({time})", title=slot.title, time=slot.time)))
    if moment.next is not None and moment.wait is not None:
        values = {"title": moment.next.title, "time": _when(moment.next), "wait": _span(moment.wait)}
        click.echo(printable(_("Next: {title} at {time}, in {wait}", **values)))


def _not_now(event: "Event", moment: "Now") -> None:
    """Print when the event begins, or that it is over."""
    from hackathon.event.schedule import date_text

    click.echo()
    if moment.phase == "over":
        last = max((*event.dates, *(item.day for item in event.schedule)))
        click.echo(_("The event is over: its last day was {last}.", last=date_text(last)))
    elif moment.days == 1:
        click.echo(_("Starts tomorrow."))
    else:
        click.echo(ngettext("Starts in {days} day.", "Starts in {days} days.", moment.days, days=moment.days))


def _when(slot: "Slot") -> str:
    """Return when an item of another day or of today begins."""
    import time

    return slot.start if slot.day == time.strftime("%Y-%m-%d") else f"{slot.day} {slot.start}"


def _span(minutes: int) -> str:
    hours, minutes_left = divmod(minutes, 60)
    return (
        _("{hours} h {minutes} min", hours=hours, minutes=minutes_left)
        if hours
        else _("{minutes} min", minutes=minutes_left)
    )


def _schedule(by_day: "list[Day]") -> None:
    from hackathon.event.schedule import date_text

    for day in by_day:
        click.echo(f"\n{click.style(date_text(day.date), bold=True)}")
        column = max(width(slot.time) for slot in day.slots)
        for slot in day.slots:
            click.echo(f"  {slot.time}{' ' * (column - width(slot.time))}  {printable(slot.title)}")


def _participation(event: "Event") -> None:
    from hackathon.event.kinds import kind_label
    from hackathon.event.participation import participation

    counts = participation(event)
    parts = [_("teams applied: {count}", count=counts.applied)] if counts.applied is not None else []
    parts += [_("chosen: {count}", count=counts.chosen), _("took part: {count}", count=counts.took_part)]
    click.echo(f"\n{_(', ').join(parts)}")
    kinds = _(", ").join(
        _("{kind} {count}", kind=printable(kind_label(event, kind)), count=count) for kind, count in counts.kinds
    )
    click.echo(_("people: {count}{kinds}", count=counts.people, kinds=_(" ({kinds})", kinds=kinds) if kinds else ""))


def _teams(event: "Event") -> None:
    from hackathon.event.kinds import kind_label

    if not event.teams:
        return
    click.echo(f"\n{click.style(_('Teams'), bold=True)}")
    names = {tutor.user: tutor.name or tutor.user for tutor in event.tutors}
    for team in event.teams:
        absent = "" if team.took_part else f" {_('(did not take part)')}"
        project = f" – {team.project}" if team.project else ""
        click.echo(f"  {printable(team.name)}{absent}{printable(project)}")
        for member in team.members:
            person = member.name or member.user
            kind = _(" ({text})", text=kind_label(event, member.kind)) if member.kind else ""
            click.echo(f"    {printable(person)}{printable(kind)}")
        if team.tutors:
            tutors = _(", ").join(names.get(user, user) for user in team.tutors)
            click.echo(f"    {_('tutor: {names}', names=printable(tutors))}")


def _tutors(event: "Event", tutors: "list[Tutor]") -> None:
    from hackathon.cli.show import echo_table

    if not tutors:
        return
    click.echo()
    helped = {tutor.user: [team.name for team in event.teams if tutor.user in team.tutors] for tutor in tutors}
    rows = [
        [
            tutor.name or tutor.user,
            tutor.user,
            _(", ").join(tutor.knows),
            _(", ").join(helped[tutor.user]),
        ]
        for tutor in tutors
    ]
    echo_table(
        [
            _("tutor"),
            _("account"),
            _("ask about"),
            _("teams"),
        ],
        rows,
    )


def _experts(event: "Event", word: str, as_json: bool) -> int:
    """Print the experts for a topic; exit code 1 if there are none."""
    from hackathon.event.participation import who_knows

    tutors = who_knows(event, word)
    if as_json:
        from dataclasses import asdict

        echo_json({"tutors": [asdict(tutor) for tutor in tutors]})
    elif tutors:
        _tutors(event, tutors)
    else:
        topics = _(", ").join(dict.fromkeys(topic for tutor in event.tutors for topic in tutor.knows))
        key = (
            N_("nobody is listed for {word}; listed topics: {known}")
            if topics
            else N_("hackathon.yaml does not list what its tutors know about (`knows`)")
        )
        click.echo(printable(_(key, word=word, known=topics)), err=True)
    return 0 if tutors else 1


def _echo_json(event: "Event", by_day: "list[Day]", moment: "Now") -> None:
    from dataclasses import asdict

    from hackathon.event.kinds import kind_label
    from hackathon.event.participation import participation

    counts = participation(event)
    value: dict[str, Any] = {
        "title": localized(event.title), "dates": event.dates, "place": localized(event.place),
        "hosts": [localized(host) for host in event.hosts],
        "schedule": [asdict(day) for day in by_day],
        "now": {"running": moment.running, "phase": moment.phase, "on": [asdict(slot) for slot in moment.on],
                "next": asdict(moment.next) if moment.next else None, "minutes_until_next": moment.wait},
        "participation": {
            "applied": counts.applied, "chosen": counts.chosen, "took_part": counts.took_part, "people": counts.people,
            "kinds": [{"kind": kind, "label": kind_label(event, kind), "count": count} for kind, count in counts.kinds],
        },
        "teams": [
            {"name": team.name, "project": team.project, "group": team.group, "took_part": team.took_part,
             "members": [asdict(member) for member in team.members], "tutors": team.tutors}
            for team in event.teams
        ],
        "tutors": [asdict(tutor) for tutor in event.tutors],
    }  # fmt: skip
    echo_json(value)
