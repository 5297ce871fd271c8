"""`hackathon notify`: send notifications to a chat when runs end or fail, help is requested, or problems are solved."""

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hackathon.cli.board.board_io import DefaultGroup
from hackathon.cli.json_output import echo_json
from hackathon.cli.options import named, runs_folder
from hackathon.cli.show import printable
from hackathon.text.errors import UNAVAILABLE, HackathonError, RequestError
from hackathon.text.messages import message

if TYPE_CHECKING:
    from hackathon.board.board import Board
    from hackathon.notify.notify import Passed
    from hackathon.runs.directory import RunDirectory

KINDS = ("run-ended", "run-failed", "asked", "solved")
EVERY = 30


class NotifyGroup(DefaultGroup):
    """`hackathon notify` is `hackathon notify show`."""

    default = "show"


@named("notify", help=message("help.notify_help"), cls=NotifyGroup)
def command() -> None:
    pass


@named("show", help=message("help.notify_show_help"), short=message("help.notify_show_short"))
@click.option("--json", "as_json", is_flag=True, help=message("help.option_json"))
def show(as_json: bool) -> None:
    from hackathon.notify.webhook import address_file, host_of, read_address

    address = read_address()
    if as_json:
        echo_json({"on": address is not None, "host": host_of(address[0]) if address else None})
    elif address:
        click.echo(message("notify.is_on", host=host_of(address[0]), path=address_file()))
    else:
        click.echo(message("notify.is_off"))


@named("set", help=message("help.notify_set_help"), short=message("help.notify_set_short"))
def set_address() -> None:
    from hackathon.notify.webhook import host_of, keep_address, read_address

    if sys.stdin.isatty():
        text = str(click.prompt(message("notify.prompt"), hide_input=True, err=True))
    else:
        text = sys.stdin.readline(4000)
    keep_address(text)
    address = read_address()
    assert address is not None
    click.echo(message("notify.set", host=host_of(address[0])))


@named("off", help=message("help.notify_off_help"), short=message("help.notify_off_short"))
def off() -> None:
    from hackathon.notify.webhook import address_file

    address_file().unlink(missing_ok=True)
    click.echo(message("notify.is_off"))


@named("test", help=message("help.notify_test_help"), short=message("help.notify_test_short"))
@click.option("--dry-run", is_flag=True, help=message("help.option_notify_dry_run"))
def test(dry_run: bool) -> None:
    from hackathon.notify.webhook import SENT, payload, send

    value = payload(message("notify.test_text"))
    if dry_run:
        echo_json(value)
        return
    address, _ = _address()
    outcome = send(address, value)
    if outcome.kind != SENT:
        raise HackathonError("notify.not_taken", exit_code=UNAVAILABLE, what=outcome.what)
    click.echo(message("notify.taken"))


@named("relay", help=message("help.notify_relay_help"), short=message("help.notify_relay_short"))
@click.argument(
    "folders", nargs=-1, type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="[PROJECT]..."
)
@click.option("--once", is_flag=True, help=message("help.option_relay_once"))
@click.option(
    "--every", metavar="SECONDS", type=click.IntRange(min=5), default=EVERY, help=message("help.option_relay_every")
)
@click.option("--only", "kinds", type=click.Choice(KINDS), multiple=True, help=message("help.option_relay_only"))
@click.option("--no-board", is_flag=True, help=message("help.option_relay_no_board"))
@click.option("--dry-run", is_flag=True, help=message("help.option_notify_dry_run"))
@click.option("--shared", type=click.Path(file_okay=False, path_type=Path), help=message("help.option_shared"))
@click.option("--pages", metavar="URL", default="", help=message("help.option_relay_pages"))
@click.option("--json", "as_json", is_flag=True, help=message("help.option_json"))
def relay(
    folders: tuple[Path, ...], once: bool, every: int, kinds: tuple[str, ...], no_board: bool, dry_run: bool,
    shared: Path | None, pages: str, as_json: bool,
) -> int:  # fmt: skip
    from hackathon.notify.notify import Relay
    from hackathon.notify.outbox import Sent
    from hackathon.notify.webhook import checked_address, folder

    pages = checked_address(pages) if pages else ""
    watched = _Watched(folders)
    if dry_run:
        _show_payloads(watched.look(), None if no_board else _board(shared), kinds, pages)
        return 0
    address, since = _address()
    sender = Relay(address, Sent(folder()), pages=pages)
    previous = ""
    while True:
        board = None if no_board else _board(shared)
        passed = sender.run_once(_runs(watched.look()), board, since=since, kinds=kinds)
        if once:
            _say(passed, as_json)
            return UNAVAILABLE if passed.waiting else 0
        if passed.sent or passed.refused or passed.what != previous:
            _say(passed, as_json)
        previous = passed.what
        time.sleep(max(every, min(passed.until - time.time(), 600.0)))


for _sub_verb in (show, set_address, off, test, relay):
    command.add_command(_sub_verb)  # type: ignore[attr-defined]


def _address() -> tuple[str, float]:
    from hackathon.notify.webhook import read_address

    address = read_address()
    if address is None:
        raise RequestError("notify.off")
    return address


class _Watched:
    """The folders of runs that a relay watches: the named ones, this project's, or in an event's folder all teams'."""

    def __init__(self, folders: tuple[Path, ...]) -> None:
        from hackathon.config.load import find_project
        from hackathon.config.trust import trusted_event

        self._places = [runs_folder(folder) for folder in folders]
        self._event = None
        if not folders and find_project(Path.cwd()) is None:
            self._event = trusted_event(Path.cwd())
        if not self._places and self._event is None:
            self._places = [runs_folder()]
        self._told: tuple[int, int] | None = None

    def look(self) -> list[Path]:
        """Return the present folders; print their number in an event, and again after a change."""
        from hackathon.index.projects import find_projects

        if self._event is None:
            return self._places
        projects, problems = find_projects(self._event.folder, self._event.record, ())
        count = len(projects), len({project.team for project in projects if project.team})
        if count != self._told:
            self._told = count
            teams = len(self._event.record.teams)
            summary = message("notify.watching", projects=count[0], teams=count[1], all=teams)
            for line in (summary, *(f"{message('cli.warning')}: {problem}" for problem in problems)):
                click.echo(printable(line), err=True)
        return [project.path / "runs" for project in projects]


def _runs(folders: list[Path]) -> "list[RunDirectory]":
    from hackathon.runs.directory import find_runs

    return [run for folder in folders for run in find_runs(folder)]


def _board(shared: Path | None) -> "Board | None":
    """Return the event's board; None if there is none, or if it cannot be read now and was not named."""
    from hackathon.board.board import open_board

    try:
        return open_board(shared)
    except HackathonError as error:
        if shared is not None:
            raise
        if error.id != "board.no_shared":
            click.echo(f"{message('cli.warning')}: {error.message}", err=True)
        return None


def _show_payloads(folders: list[Path], board: "Board | None", kinds: tuple[str, ...], pages: str) -> None:
    """Print the messages that would be sent now, without sending or recording any."""
    from hackathon.notify.notify import messages_of
    from hackathon.notify.outbox import Sent, gather
    from hackathon.notify.webhook import folder, payload, read_address

    address = read_address()
    since = address[1] if address else 0.0
    notices = [
        notice
        for notice in gather(Sent(folder()), _runs(folders), board, since=since)
        if not kinds or notice.kind in kinds
    ]
    texts = messages_of(notices, board.people if board else None, pages)
    echo_json({"payloads": [payload(text) for _, text in texts]})


def _say(passed: "Passed", as_json: bool) -> None:
    """Print the outcome of one pass."""
    if as_json:
        echo_json(passed.to_json())
        return
    click.echo(message("notify.passed", sent=len(passed.sent), waiting=passed.waiting))
    if passed.refused:
        click.echo(message("notify.refused", count=len(passed.refused)), err=True)
    if passed.what:
        click.echo(f"{message('cli.warning')}: {message('notify.waits', what=passed.what)}", err=True)
