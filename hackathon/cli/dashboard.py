"""`hackathon dashboard`: all runs of an event, live in a tutor's browser."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from hackathon.cli.options import named
from hackathon.text.errors import RequestError
from hackathon.text.messages import message

if TYPE_CHECKING:
    from hackathon.config.event import Event
    from hackathon.web.dashboard.endpoint import Endpoint

LOCAL_PORT = 8000
"""The port on the tutor's own computer that leads to the socket."""


@named("dashboard", help=message("help.dashboard_help"))
@click.argument(
    "folders", nargs=-1, metavar="[FOLDER]...", type=click.Path(exists=True, file_okay=False, path_type=Path)
)
@click.option("--socket", "path", metavar="PATH", type=click.Path(path_type=Path), help=message("help.option_socket"))
@click.option("--port", metavar="N", type=click.IntRange(0, 65535), help=message("help.option_port"))
@click.option("--bind", metavar="ADDRESS", help=message("help.option_bind"))
@click.option("--team", metavar="NAME", default="", help=message("help.option_only_team"))
@click.option("--title", metavar="TEXT", default="", help=message("help.option_page_title"))
@click.option("--no-ask", is_flag=True, help=message("help.option_no_ask"))
@click.option("--write/--read-only", "writes", default=None, help=message("help.option_dashboard_write"))
def command(
    folders: tuple[Path, ...], path: Path | None, port: int | None, bind: str | None, team: str, title: str,
    no_ask: bool, writes: bool | None,
) -> None:  # fmt: skip
    import gc

    if path is not None and (port is not None or bind is not None):
        raise RequestError("dashboard.two_doors")
    if writes and bind not in (None, "127.0.0.1", "localhost", "::1"):
        raise RequestError("dashboard.write_not_local", address=bind)
    try:
        from hackathon.web.dashboard.server import Dashboard, serve
    except ImportError as error:
        raise RequestError("dashboard.no_web", what=error.name or error) from None
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
    click.echo(message("dashboard.ended"), err=True)


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
        raise RequestError("dashboard.two_events", first=events[0], second=events[1])
    return (events[0] if events else None), [folder for folder in absolute if folder not in events]


def check_team(folder: Path | None, team: str) -> "Event | None":
    """Check that the event has the requested team, and return the event; None without an event.

    Raises RequestError.
    """
    from hackathon.config.load import load_event

    if folder is None:
        if team:
            raise RequestError("dashboard.team_without_event")
        return None
    event = load_event(folder)
    names = [member.name for member in event.teams]
    if team and team not in names:
        raise RequestError("dashboard.no_team", team=team, teams=", ".join(names) or "–")
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
        click.echo(message("dashboard.open", title=title))
        click.echo(f"  ssh -L {shlex.quote(forward)} {_user()}@{host}")
        click.echo(message("dashboard.then"))
    else:
        reached = host if door.address in ("0.0.0.0", "::") else door.address
        reached = f"[{reached}]" if ":" in reached else reached
        address = f"http://{reached}:{door.port}/enter?token={door.token}"
        warning = message("dashboard.not_local", address=f"{reached}:{door.port}")
        click.echo(f"{message('cli.warning')}: {warning}", err=True)
        click.echo(message("dashboard.direct", title=title))
    click.echo(f"  {address}")
    if door.name:
        click.echo(message("dashboard.own_name", name=door.name))
    if door.token_file is not None:
        click.echo(message("dashboard.token_file", path=door.token_file))
    if door.writes:
        click.echo(message("dashboard.writes" if door.path is not None else "dashboard.writes_one", account=_user()))
    click.echo(message("dashboard.until"))


def _user() -> str:
    import os
    import pwd

    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:  # a uid without an account, as in containers
        return str(os.geteuid())
