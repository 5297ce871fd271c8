"""`hackathon dashboard`: all runs of an event, live in a tutor's browser."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from hackathon.cli.options import named
from hackathon.text.errors import RequestError
from hackathon.text.messages import N_, _

if TYPE_CHECKING:
    from hackathon.config.event import Event
    from hackathon.web.dashboard.endpoint import Endpoint

LOCAL_PORT = 8000
"""The port on the tutor's own computer that leads to the socket."""


@named(
    "dashboard",
    help=_(
        "Show all runs of an event live in a browser: what needs attention, all teams, each run with its logs, "
        "scaling results. FOLDER: an event, or folders with runs (default: the event that contains this "
        "folder, otherwise this folder). From its pages you can also answer requests, post, and cancel or "
        "rerun your own runs; --read-only turns this off. It listens on a socket that only you can open, so "
        "other users of this machine cannot connect, and prints the ssh command for your own computer.\n"
        "\n"
        "  hackathon dashboard\n"
        "  hackathon dashboard --team Aurora                 a participant's view\n"
        "  hackathon dashboard --port 8765                   a port with a key, if ssh cannot forward sockets"
    ),
)
@click.argument(
    "folders", nargs=-1, metavar="[FOLDER]...", type=click.Path(exists=True, file_okay=False, path_type=Path)
)
@click.option(
    "--socket",
    "path",
    metavar="PATH",
    type=click.Path(path_type=Path),
    help=_("Path of the Unix socket, in a folder that only you can enter."),
)
@click.option(
    "--port",
    metavar="N",
    type=click.IntRange(0, 65535),
    help=_("Use a port on the loopback address, with a key, instead of a socket; 0: any free port."),
)
@click.option(
    "--bind", metavar="ADDRESS", help=_("Address for the port instead of 127.0.0.1; connections are not encrypted.")
)
@click.option("--team", metavar="NAME", default="", help=_("Only this team's runs."))
@click.option("--title", metavar="TEXT", default="", help=_("Title of the pages."))
@click.option("--no-ask", is_flag=True, help=_("Do not query the scheduler."))
@click.option(
    "--write/--read-only",
    "writes",
    default=None,
    help=_(
        "Let the pages answer, take, and close requests, post, and cancel or rerun runs, in the name of your "
        "account. Default: with a socket; a port with --write is for one browser."
    ),
)
def command(
    folders: tuple[Path, ...], path: Path | None, port: int | None, bind: str | None, team: str, title: str,
    no_ask: bool, writes: bool | None,
) -> None:  # fmt: skip
    import gc

    if path is not None and (port is not None or bind is not None):
        raise RequestError("dashboard.two_doors", "--socket and --port cannot be combined")
    if writes and bind not in (None, "127.0.0.1", "localhost", "::1"):
        raise RequestError(
            "dashboard.write_not_local",
            "--write cannot be combined with --bind {address}: the connection is not encrypted",
            hint="use a socket (omit --bind and --port), and open it with ssh -L",
            address=bind,
        )
    try:
        from hackathon.web.dashboard.server import Dashboard, serve
    except ImportError as error:
        raise RequestError(
            "dashboard.no_web",
            "the dashboard needs packages that are not installed: {what}",
            hint="pip install starlette uvicorn",
            what=error.name or error,
        ) from None
    from hackathon.index.watcher import Watcher
    from hackathon.text.messages import localized
    from hackathon.web.dashboard.endpoint import default_socket, own_folder, port_door, socket_door

    event_folder, projects = event_and_folders(folders)
    first = check_team(event_folder, team)
    gc.enable()  # it was turned off for short commands

    def name() -> str:
        event = watch.source().event or first  # the watcher reads the event again after a change
        return title or (localized(event.title) if event else "") or (event_folder or projects[0]).name

    if port is None and bind is None:
        identity = "\n".join([str(event_folder), *map(str, projects), team])
        opening = socket_door(path or default_socket(identity), writes=writes is not False)
    else:
        opening = port_door(bind or "127.0.0.1", port or 0, writes=bool(writes))
    with opening as door:
        watch = Watcher(event_folder, projects, team=team, ask=not no_ask)
        try:
            dashboard = Dashboard(watch, name, own_folder(), writes=door.writes)

            def ready() -> None:
                _tell(door, name())
                dashboard.warm()

            serve(door, dashboard, ready)
        finally:
            watch.stop()
    click.echo(_("The dashboard has stopped."), err=True)


def event_and_folders(folders: tuple[Path, ...]) -> tuple[Path | None, list[Path]]:
    """Return the event's folder (or None) and the other requested folders with runs, absolute.

    Without arguments: the event around this folder, else this folder's project, else this folder. Raises RequestError
    for two events.
    """
    from hackathon.config.load import find_event, find_project

    if not folders:
        current = Path.cwd()
        event = find_event(current)
        return (event, []) if event is not None else (None, [find_project(current) or current])
    absolute = list(dict.fromkeys(folder.resolve() for folder in folders))
    events = [folder for folder in absolute if find_event(folder) == folder]
    if len(events) > 1:
        raise RequestError(
            "dashboard.two_events",
            "{first} and {second} are different events; a dashboard shows one event",
            first=events[0],
            second=events[1],
        )
    return (events[0] if events else None), [folder for folder in absolute if folder not in events]


def check_team(folder: Path | None, team: str) -> "Event | None":
    """Check that the event has the requested team, and return the event; None without an event.

    Raises RequestError.
    """
    from hackathon.config.load import load_event

    if folder is None:
        if team:
            raise RequestError("dashboard.team_without_event", "--team needs an event: there is no hackathon.yaml here")
        return None
    event = load_event(folder)
    names = [member.name for member in event.teams]
    if team and team not in names:
        raise RequestError(
            "dashboard.no_team",
            "there is no team {team} in this event",
            hint="its teams: {teams}",
            team=team,
            teams=", ".join(names) or "–",
        )
    return event


def _tell(door: "Endpoint", title: str) -> None:
    """Print how to open the dashboard from the user's own computer."""
    import shlex
    from ipaddress import ip_address

    from hackathon.cli.show import printable
    from hackathon.web.dashboard.endpoint import host_name

    host, title = host_name(), printable(title)
    if door.path is not None:
        forward, address = f"{LOCAL_PORT}:{door.path}", f"http://localhost:{LOCAL_PORT}/"
    else:
        inside = f"[{door.address}]" if ":" in door.address else door.address
        forward = f"{door.port}:{inside}:{door.port}"
        address = f"http://{door.name or 'localhost'}:{door.port}/enter?token={door.token}"
    if door.path is not None or ip_address(door.address).is_loopback:
        click.echo(_("The dashboard of {title} is running. On your own computer, run", title=title))
        click.echo(f"  ssh -L {shlex.quote(forward)} {_user()}@{host}")
        click.echo(_("and open in your browser"))
    else:
        reached = host if door.address in ("0.0.0.0", "::") else door.address
        reached = f"[{reached}]" if ":" in reached else reached
        address = f"http://{reached}:{door.port}/enter?token={door.token}"
        warning = _(
            "{address} can be reached from other machines, and the connection is not encrypted",
            address=f"{reached}:{door.port}",
        )
        click.echo(f"{_('warning')}: {warning}", err=True)
        click.echo(_("The dashboard of {title} is running. Open in your browser", title=title))
    click.echo(f"  {address}")
    if door.name:
        click.echo(
            _(
                "Browsers know that {name} is this computer; for one that does not, write localhost in its place.",
                name=door.name,
            )
        )
    if door.token_file is not None:
        click.echo(_("The address contains the key: do not share it. It is also in {path}.", path=door.token_file))
    if door.writes:
        click.echo(
            _(
                N_(
                    "The pages write on the board, and cancel or rerun your runs, in the name of {account} "
                    "(--read-only turns this off)."
                )
                if door.path is not None
                else N_(
                    "The pages write on the board, and cancel or rerun your runs, in the name of {account}. "
                    "The address works in one browser, once."
                ),
                account=_user(),
            )
        )
    click.echo(_("Press Ctrl-C to stop."))


def _user() -> str:
    import os
    import pwd

    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:  # a uid without an account, as in containers
        return str(os.geteuid())
