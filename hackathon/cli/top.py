"""`hackathon top`: what needs attention, in the terminal."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hackathon.cli.dashboard import check_team, event_and_folders
from hackathon.cli.json_output import echo_json
from hackathon.cli.options import named
from hackathon.text.errors import RequestError
from hackathon.text.messages import N_, NP_, _, ngettext, pgettext

if TYPE_CHECKING:
    from rich.console import Group

    from hackathon.config.event import Event
    from hackathon.index.watcher import Watcher
    from hackathon.web.attention.now import NowView, Well
    from hackathon.web.attention.records import NowItem

_KIND_TEXTS = {
    "asked": N_("asks for help"),
    "failed": N_("failed"),
    "waits": N_("waiting"),
    "stands": N_("no progress"),
    "idle": N_("low use"),
    "budget": NP_("now", "budget"),
    "memory": N_("memory"),
    "warned": N_("warning"),
    "lost": NP_("now", "unknown"),
}

SETTLED, FIRST = 30.0, 10.0
"""Seconds to wait for schedulers and diagnoses before a single view; and for the first data of a live view."""
SOON = 0.2
"""Seconds between two checks while a view that is printed once waits, and while a live view ends."""
ENDS = (2, 15)
"""Ctrl-C and a termination from outside: SIGINT, SIGTERM."""
BAD, ASKED, DOUBTFUL, GOOD, QUIET, BOLD = "red", "cyan", "yellow", "green", "dim", "bold"
TONES = {"asked": ASKED, "failed": BAD, "lost": BAD}
MARGIN = 24
"""Columns of kind and age before an item's text."""

Part = tuple[str, str]
"""A text and its style."""


@named(
    "top",
    help=_(
        "Show what needs attention, in the terminal: requests, failures with their cause, runs that wait too "
        "long, make no progress, or use their GPUs little; then runs without problems. FOLDER: an event, or "
        "folders with runs (default: the event that contains this folder, otherwise this folder's project). It "
        "only reads, and updates until Ctrl-C; into a pipe, it prints once.\n"
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
    """Show the view on the full terminal and update it until Ctrl-C or SIGTERM."""
    import signal
    import time

    from rich.console import Console
    from rich.live import Live

    from hackathon.web.attention.now import now_view

    # A handler that raises could interrupt the taking of a lock, which then stays taken; so it only sets a flag.
    ended: list[int] = []
    before = {code: signal.signal(code, lambda number, __: ended.append(number)) for code in ENDS}
    version = 0
    console = Console(highlight=False, markup=False, emoji=False)
    try:
        with Live(console=console, screen=True, auto_refresh=False, vertical_overflow="ellipsis") as live:
            while not ended:
                title = f"{_title(watch, event_folder, projects)} · {_('Ctrl-C to quit')}"
                live.update(_drawn(now_view(watch.source(), tutor), title), refresh=True)
                due, drawn = time.monotonic() + interval, version
                while not ended and version == drawn and time.monotonic() < due:
                    version = watch.wait(drawn, SOON)
    finally:
        for code, handler in before.items():
            signal.signal(code, handler)


def _drawn(view: "NowView", title: str) -> "Group":
    from rich.console import Group
    from rich.text import Text

    return Group(*(Text.assemble(*parts, no_wrap=True, overflow="ellipsis") for parts in lines(view, title)))


def _title(watch: "Watcher", event_folder: Path | None, projects: list[Path]) -> str:
    from hackathon.text.messages import localized

    event = watch.source().event
    return (localized(event.title) if event else "") or (event_folder or projects[0]).name


def lines(view: "NowView", title: str) -> Iterator[list[Part]]:
    """Yield the view as lines of styled texts, in which other people's texts contain no control characters."""
    import time

    from hackathon.cli.show import printable

    whose = _("Teams of {name}", name=dict(view.tutors).get(view.tutor, view.tutor)) if view.tutor else ""
    heading = " · ".join(part for part in (title, view.team, whose) if part)
    yield [(printable(heading), BOLD), (time.strftime("  %H:%M:%S", time.localtime(view.now)), QUIET)]
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
    from hackathon.diagnosis.show import part_name
    from hackathon.scaling.show import state

    kind = _padded(_(_KIND_TEXTS[item.kind]), MARGIN - 10)
    label = " · ".join(part for part in (item.team, item.person) if part) or _("somebody")
    run = f" · {item.name or item.run_id}" + (f" ({item.processes})" if item.processes else "") if item.run_id else ""
    if item.items:
        met = ", ".join(entry.team or entry.person for entry in item.items)
        label, run = f"{_('{count} teams', count=len(item.items))}: {met}", ""
    yield [(kind, TONES.get(item.kind, DOUBTFUL)), (_padded(item.age, 10), QUIET), (printable(label + run), BOLD)]
    yield _under(f"{item.message} – {item.finding}" if item.finding else item.message)
    if item.evidence:
        yield _under(item.evidence, f"  {item.place}" if item.place else "")
    if item.helper:
        yield _under(pgettext("now", "taken by {name}", name=item.helper))
    elif item.advice:
        yield _under(f"→ {item.advice.splitlines()[0]}")
    about = [_("part: {part}", part=part_name(item.part))] if item.part else []
    if item.more:
        about.append(
            ngettext(
                "{count} more run with the same cause",
                "{count} more runs with the same cause",
                item.more,
                count=item.more,
            )
        )
    about += [_("newer run: {state}", state=state(item.newer))] if item.newer else []
    if about:
        yield _under("", " · ".join(about))


def _under(text: str, quiet: str = "") -> list[Part]:
    from hackathon.cli.show import printable

    return [(" " * MARGIN + printable(text), ""), (printable(quiet), QUIET)]


def _well(run: "Well") -> list[Part]:
    from hackathon.cli.show import printable
    from hackathon.scaling.show import number

    label = " · ".join(part for part in (run.team, run.person, run.name or run.run_id) if part)
    parts = [f"{number(run.value)} {run.unit}".strip()] if run.value is not None else []
    parts += [_("GPU {percent} %", percent=f"{run.gpu_percent:.0f}")] if run.gpu_percent is not None else []
    return [
        (" " * (MARGIN - 10), ""),
        (_padded(run.age, 10), QUIET),
        (printable(f"{label} ({run.processes})"), ""),
        (printable(f"  {'  '.join(parts)}"), QUIET),
    ]


def _padded(text: str, columns: int) -> str:
    from hackathon.text.columns import width

    return text + " " * max(1, columns - width(text))
