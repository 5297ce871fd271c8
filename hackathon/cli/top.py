"""`hackathon top`: what needs attention, in the terminal."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hackathon.cli.dashboard import check_team, event_and_folders
from hackathon.cli.json_output import echo_json
from hackathon.cli.options import named
from hackathon.cli.screen.rows import (
    BAD,
    BOLD,
    DOUBTFUL,
    GOOD,
    QUIET,
    TONES,
    Part,
    about,
    cost_text,
    kind_text,
    numbers_of,
    who,
)
from hackathon.text.errors import HackathonError, RequestError
from hackathon.text.messages import _, ngettext, pgettext

if TYPE_CHECKING:
    from rich.console import Group

    from hackathon.config.event import Event
    from hackathon.index.watcher import Watcher
    from hackathon.web.attention.now import NowView, Well
    from hackathon.web.attention.records import NowItem

SETTLED, FIRST = 30.0, 10.0
"""Seconds to wait for schedulers and diagnoses before a single view; and for the first data of a live view."""
SOON = 0.2
"""Seconds between two checks while a view that is printed once waits, and while a live view ends."""
ENDS = (2, 15)
"""Ctrl-C and a termination from outside: SIGINT, SIGTERM."""
MARGIN = 24
"""Columns of kind and age before an item's text."""


@named(
    "top",
    help=_(
        "Show what needs attention, in the terminal: requests, failures with their cause, runs that wait too "
        "long, make no progress, or use their GPUs little; then runs without problems. FOLDER: an event, or "
        "folders with runs (default: the event that contains this folder, otherwise this folder's project). It "
        "updates until you press q; j and k select a line, Enter opens it, t takes a request for help (for tutors). "
        "Into a pipe, it prints once.\n"
        "\n"
        "  hackathon top\n"
        "  hackathon top --team Aurora\n"
        "  hackathon top --tutor t05           the teams of one tutor\n"
        "  hackathon top --once --json"
    ),
)
@click.argument(
    "folders", nargs=-1, metavar="[FOLDER]...", type=click.Path(exists=True, file_okay=False, path_type=Path)
)
@click.option("--team", metavar="NAME", default="", help=_("Only this team's runs."))
@click.option("--tutor", metavar="NAME", default="", help=_("Only the teams of this tutor (account or name)."))
@click.option("--once", is_flag=True, help=_("Print once and exit."))
@click.option(
    "--interval", metavar="SECONDS", type=click.FloatRange(0.5, 3600), default=2.0, help=_("Seconds between updates.")
)
@click.option("--no-ask", is_flag=True, help=_("Do not query the scheduler."))
@click.option("--json", "as_json", is_flag=True, help=_("Print JSON."))
def command(
    folders: tuple[Path, ...], team: str, tutor: str, once: bool, interval: float, no_ask: bool, as_json: bool
) -> None:
    import gc
    import os
    import sys

    event_folder, projects = event_and_folders(folders)
    account = _account(check_team(event_folder, team), tutor)
    gc.enable()  # it was turned off for short commands
    from hackathon.index.watcher import Watcher
    from hackathon.web.attention.now import now_view

    live = not as_json and not once and sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"
    watch = Watcher(event_folder, projects, team=team, ask=not no_ask, interval=interval if live else SOON)
    try:
        if live:
            watch.wait(0, FIRST)
            _watch(watch, interval, event_folder, projects, account)
            return
        watch.settle(SETTLED)
        if as_json:
            echo_json(now_view(watch.source(), account).to_json())
        else:
            view = now_view(watch.source(), account)
            for parts in lines(view, _title(watch, event_folder, projects)):
                click.echo("".join(text for text, _ in parts).rstrip())
    finally:
        watch.stop()


def _account(event: "Event | None", tutor: str) -> str:
    """Return the account of the tutor with this account or name; empty without one.

    Raises RequestError if no team has this tutor, or several have tutors of this name.
    """
    if not tutor:
        return ""
    if event is None:
        raise RequestError("dashboard.tutor_without_event", "--tutor needs an event: there is no hackathon.yaml here")
    from hackathon.web.attention.now import tutors_of

    accounts = tutors_of(event)
    if tutor in accounts:
        return tutor
    named = [
        candidate.user
        for candidate in event.tutors
        if candidate.user in accounts and candidate.name.casefold() == tutor.casefold()
    ]
    if len(named) != 1:
        raise RequestError(
            "dashboard.no_tutor",
            "{tutor} is not the tutor of any team in this event",
            hint="tutors of teams: {tutors}",
            tutor=tutor,
            tutors=", ".join(accounts) or "–",
        )
    return named[0]


def _watch(watch: "Watcher", interval: float, event_folder: Path | None, projects: list[Path], tutor: str) -> None:
    """Show the view on the full terminal and update it until `q`, Ctrl-C or SIGTERM."""
    import signal
    import time

    from rich.console import Console
    from rich.live import Live

    from hackathon.cli.screen.keys import pressed
    from hackathon.cli.screen.screen import Screen
    from hackathon.web.attention.now import now_view

    # A handler that raises could interrupt the taking of a lock, which then stays taken; so it only sets a flag.
    ended: list[int] = []
    before = {code: signal.signal(code, lambda number, __: ended.append(number)) for code in ENDS}
    console = Console(highlight=False, markup=False, emoji=False)
    version, due = 0, time.monotonic() + interval
    try:
        with pressed() as keys, Live(console=console, screen=True, auto_refresh=False) as live:
            screen = Screen(now_view(watch.source(), tutor), keys=keys.open)
            while not ended and not screen.ended:
                title = _heading(screen.view, _title(watch, event_folder, projects))
                size, names, drawn = console.size, list[str](), version
                live.update(_drawn(screen.lines(title, size.width, size.height)), refresh=True)
                while not (ended or names or version != drawn or time.monotonic() >= due or console.size != size):
                    names = keys.read(SOON)
                    version = watch.wait(drawn, 0.0 if keys.open else SOON)
                for name in names:
                    request = screen.press(name)
                    if request is not None:
                        screen.said, due = _take(watch, request), 0.0
                if version != drawn or time.monotonic() >= due:
                    screen.update(now_view(watch.source(), tutor))
                    due = time.monotonic() + interval
    finally:
        for code, handler in before.items():
            signal.signal(code, handler)


def _take(watch: "Watcher", item: "NowItem") -> str:
    """Take a request as `hackathon ask take` does; return what to tell the user."""
    from hackathon.board.board import reply
    from hackathon.web.views.board import read

    board, problem = read(watch.source())
    post = next((post for post in board.posts if post.id == item.post_id), None) if board is not None else None
    if board is None or post is None:
        return problem or _("This matter is settled.")
    if post.taken:
        return _("already taken by {name}", name=board.people.shown(post.taken.user))
    try:
        written = reply(board, post, "take").entry.id
    except (HackathonError, OSError) as error:
        return error.message if isinstance(error, HackathonError) else str(error.strerror or error)
    return _("you took the request: #{name}", name=post.short if post.short else written)


def _drawn(lines: list[list[Part]]) -> "Group":
    from rich.console import Group
    from rich.text import Text

    return Group(*(Text.assemble(*parts, no_wrap=True, overflow="crop") for parts in lines))


def _title(watch: "Watcher", event_folder: Path | None, projects: list[Path]) -> str:
    from hackathon.text.messages import localized

    event = watch.source().event
    return (localized(event.title) if event else "") or (event_folder or projects[0]).name


def _heading(view: "NowView", title: str) -> str:
    """Return the title with the team or the tutor to which the view is limited."""
    whose = _("Teams of {name}", name=dict(view.tutors).get(view.tutor, view.tutor)) if view.tutor else ""
    return " · ".join(part for part in (title, view.team, whose) if part)


def lines(view: "NowView", title: str) -> Iterator[list[Part]]:
    """Yield the view as lines of styled texts, in which other people's texts contain no control characters."""
    import time

    from hackathon.cli.show import printable

    yield [(printable(_heading(view, title)), BOLD), (time.strftime("  %H:%M:%S", time.localtime(view.now)), QUIET)]
    need = (view.headline, BOLD if view.count else GOOD)
    yield [
        need,
        (
            " · "
            + _(
                "running {running} · waiting {queued} · finished today {ended}, {succeeded} succeeded", **_totals(view)
            ),
            "",
        ),
    ]
    if view.empty:
        yield [(_("No runs were found."), DOUBTFUL)]
    for problem in view.problems:
        yield [(f"{_('warning')}: ", DOUBTFUL), (printable(problem), "")]
    for item in view.items:
        yield []
        yield from _item(item)
    if view.left:
        yield [(_("{count} more are not shown.", count=view.left), QUIET)]
    if view.old:
        yield []
        yield [
            (
                ngettext(
                    "{count} matter older than an hour",
                    "{count} matters older than an hour",
                    len(view.old),
                    count=len(view.old),
                ),
                BOLD,
            )
        ]
        for item in view.old:
            yield from islice(_item(item), 2)
    if view.well:
        yield []
        yield [(_("Running normally"), BOLD)]
        for run in view.well:
            yield _well(run)
        if view.well_left:
            yield [(_("{count} more are running normally.", count=view.well_left), QUIET)]


def _totals(view: "NowView") -> dict[str, int]:
    return {"running": view.running, "queued": view.queued, "ended": view.ended, "succeeded": view.succeeded}


def _item(item: "NowItem") -> Iterator[list[Part]]:
    from hackathon.cli.show import printable

    kind = _padded(kind_text(item), MARGIN - 10)
    run = f" · {item.name or item.run_id}" + (f" ({item.processes})" if item.processes else "") if item.run_id else ""
    label = who(item) + ("" if item.items else run)
    cost = f"  {cost_text(item)}" if item.lost_per_hour else ""
    yield [
        (kind, TONES.get(item.kind, DOUBTFUL)), (_padded(item.age, 10), QUIET), (printable(label), BOLD), (cost, BAD)
    ]  # fmt: skip
    yield _under(f"{item.message} – {item.finding}" if item.finding else item.message)
    if item.evidence:
        yield _under(item.evidence, f"  {item.place}" if item.place else "")
    if item.helper:
        yield _under(pgettext("now", "taken by {name}", name=item.helper))
    elif item.advice:
        yield _under(f"→ {item.advice.splitlines()[0]}")
    if texts := about(item):
        yield _under("", " · ".join(texts))


def _under(text: str, quiet: str = "") -> list[Part]:
    from hackathon.cli.show import printable

    return [(" " * MARGIN + printable(text), ""), (printable(quiet), QUIET)]


def _well(run: "Well") -> list[Part]:
    from hackathon.cli.show import printable

    label = " · ".join(part for part in (run.team, run.person, run.name or run.run_id) if part)
    return [
        (" " * (MARGIN - 10), ""),
        (_padded(run.age, 10), QUIET),
        (printable(f"{label} ({run.processes})"), ""),
        (printable(f"  {numbers_of(run)}"), QUIET),
    ]


def _padded(text: str, columns: int) -> str:
    from hackathon.text.columns import width

    return text + " " * max(1, columns - width(text))
