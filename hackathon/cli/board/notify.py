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
from hackathon.text.messages import _

if TYPE_CHECKING:
    from hackathon.board.board import Board
    from hackathon.notify.notify import Passed
    from hackathon.runs.directory import RunDirectory

KINDS = ("run-ended", "run-failed", "asked", "solved")
EVERY = 30


class NotifyGroup(DefaultGroup):
    """`hackathon notify` is `hackathon notify show`."""

    default = "show"


@named(
    "notify",
    help=_(
        "Notify a Slack or Mattermost channel when runs finish or fail (and which part failed), when somebody "
        "asks for help, and when a problem is solved. Off until you set the URL of an incoming webhook. "
        "Compute nodes need no Internet access: a relay on the login node reads run directories and the board.\n"
        "\n"
        "  hackathon notify set                      asks for the URL\n"
        "  hackathon notify relay --dry-run          what would be sent\n"
        "  hackathon notify relay                    until Ctrl-C, for example in tmux\n"
        "  hackathon notify relay --once             for example from cron\n"
        "  hackathon notify off"
    ),
    cls=NotifyGroup,
)
def command() -> None:
    pass


@named(
    "show",
    help=_("Show whether notifications are on. The URL itself is never shown.\n\n  hackathon notify show"),
    short=_("Show whether notifications are on (the default)."),
)
@click.option("--json", "as_json", is_flag=True, help=_("Print JSON."))
def show(as_json: bool) -> None:
    from hackathon.notify.webhook import address_file, host_of, read_address

    address = read_address()
    if as_json:
        echo_json({"on": address is not None, "host": host_of(address[0]) if address else None})
    elif address:
        click.echo(_("on: {host} (URL in {path})", host=host_of(address[0]), path=address_file()))
    else:
        click.echo(_("off; `hackathon notify set` turns it on"))


@named(
    "set",
    help=_(
        "Read the URL of an incoming webhook from the terminal or from standard input, never from the command "
        "line, which others can see. Earlier events are not sent.\n"
        "\n"
        "  hackathon notify set\n"
        "  hackathon notify set < address.txt"
    ),
    short=_("Set the webhook URL and turn notifications on."),
)
def set_address() -> None:
    from hackathon.notify.webhook import host_of, keep_address, read_address

    if sys.stdin.isatty():
        text = str(click.prompt(_("URL of the incoming webhook (input is hidden)"), hide_input=True, err=True))
    else:
        text = sys.stdin.readline(4000)
    keep_address(text)
    address = read_address()
    assert address is not None
    click.echo(_("notifications are sent to {host}", host=host_of(address[0])))


@named(
    "off",
    help=_("Turn notifications off and delete the URL.\n\n  hackathon notify off"),
    short=_("Delete the URL and turn notifications off."),
)
def off() -> None:
    from hackathon.notify.webhook import address_file

    address_file().unlink(missing_ok=True)
    click.echo(_("off; `hackathon notify set` turns it on"))


@named(
    "test",
    help=_("Send a message to check that it arrives.\n\n  hackathon notify test"),
    short=_("Send a test message."),
)
@click.option("--dry-run", is_flag=True, help=_("Print the payload without sending it."))
def test(dry_run: bool) -> None:
    from hackathon.notify.webhook import SENT, payload, send

    value = payload(_("hackathon: notifications work in this channel"))
    if dry_run:
        echo_json(value)
        return
    address, __ = _address()
    outcome = send(address, value)
    if outcome.kind != SENT:
        raise HackathonError(
            "notify.not_taken", "the message was not accepted: {what}", exit_code=UNAVAILABLE, what=outcome.what
        )
    click.echo(_("sent"))


@named(
    "relay",
    help=_(
        "Send what happened in projects (default: this one; in an event's folder those of all teams) and on "
        "the event's board since the URL was set. Each event is sent once, also after a restart. If the server "
        "is busy or does not answer, the relay waits and tries again, without --once.\n"
        "\n"
        "  hackathon notify relay\n"
        "  hackathon notify relay /lustre/gz00/*/project --only run-failed --only asked\n"
        "  hackathon notify relay --once"
    ),
    short=_("Send events that were not sent yet."),
)
@click.argument(
    "folders", nargs=-1, type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="[PROJECT]..."
)
@click.option("--once", is_flag=True, help=_("Check once instead of until Ctrl-C."))
@click.option(
    "--every", metavar="SECONDS", type=click.IntRange(min=5), default=EVERY, help=_("Seconds between checks.")
)
@click.option("--only", "kinds", type=click.Choice(KINDS), multiple=True, help=_("Send only these; may be repeated."))
@click.option("--no-board", is_flag=True, help=_("Ignore the board."))
@click.option("--dry-run", is_flag=True, help=_("Print the payload without sending it."))
@click.option(
    "--shared",
    type=click.Path(file_okay=False, path_type=Path),
    help=_("The event's shared directory, instead of the one in hackathon.yaml."),
)
@click.option("--pages", metavar="URL", default="", help=_("Address of the dashboard, for a link in each message."))
@click.option("--json", "as_json", is_flag=True, help=_("Print JSON."))
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
        raise RequestError(
            "notify.off",
            "notifications are off",
            hint="set a webhook URL with `hackathon notify set`; --dry-run shows what would be sent",
        )
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
            summary = _(
                "watching {projects} {projects:project|projects} of {teams} {teams:team|teams} (teams in the "
                "event: {all})",
                projects=count[0],
                teams=count[1],
                all=teams,
            )
            for line in (summary, *(f"{_('warning')}: {problem}" for problem in problems)):
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
            click.echo(f"{_('warning')}: {error.message}", err=True)
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
    click.echo(_("sent: {sent}, waiting: {waiting}", sent=len(passed.sent), waiting=passed.waiting))
    if passed.refused:
        click.echo(_("refused by the server: {count}", count=len(passed.refused)), err=True)
    if passed.what:
        click.echo(f"{_('warning')}: {_('the rest is sent later: {what}', what=passed.what)}", err=True)
