"""`hackathon slides`: create a team's slides from its records, for editing."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hackathon.cli.options import named
from hackathon.text.errors import HackathonError, RequestError
from hackathon.text.messages import message

if TYPE_CHECKING:
    from hackathon.config.event import Event


@named("slides", help=message("help.slides_help"))
@click.argument("team", required=False, metavar="[TEAM]")
@click.option("--to", "file", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path),
              help=message("help.option_slides_to"))  # fmt: skip
@click.option("--force", is_flag=True, help=message("help.option_slides_force"))
@click.option("--no-ask", is_flag=True, help=message("help.option_no_ask"))
def command(team: str | None, file: Path | None, force: bool, no_ask: bool) -> None:
    from dataclasses import replace

    from hackathon.cli.show import printable
    from hackathon.config.load import load_event
    from hackathon.index.gather import gather
    from hackathon.web.report.signed_files import write_together
    from hackathon.web.report.slide_files import SUFFIXES, default_name, slide_files
    from hackathon.web.report.slides import own_folder

    folder = _event_folder(Path.cwd())
    event = load_event(folder)
    name = _team(event, team)
    target = (file or Path(default_name(name))).absolute()
    if target.suffix.lower() not in SUFFIXES:
        raise RequestError("slides.suffix", file=target.name)
    if not target.parent.is_dir():
        raise RequestError("slides.no_folder", folder=target.parent)
    # a team's account may read no other team's runs, and needs none
    alone = replace(event, teams=[candidate for candidate in event.teams if candidate.name == name])
    source = gather(folder, alone, own_folder(Path.cwd()), ask=not no_ask)
    slides = slide_files(replace(source, event=event), name, target.name)
    assert slides is not None
    files, trouble = slides
    write_together(target.parent, files, force=force)
    for problem in [*source.problems, *([trouble] if trouble else [])]:
        click.echo(f"{message('cli.warning')}: {printable(problem)}", err=True)
    for file_name in files:
        click.echo(message("report.written", file=target.parent / file_name))
    how = "slides.how_page" if target.suffix.lower() == ".html" else "slides.how"
    click.echo(message(how, file=target.name), err=True)


def _event_folder(start: Path) -> Path:
    """Return the folder of the event around a folder, else of the event of the board in HACKATHON_SHARED."""
    from hackathon.board.directory import find_people, find_shared, open_place
    from hackathon.config.load import find_event

    folder = find_event(start)
    if folder is not None:
        return folder
    try:
        board = open_place(find_shared(None, os.environ, start))
        event = find_event(board.path) if find_people(board, start) is not None else None
    except (HackathonError, OSError):
        event = None
    if event is None:
        raise RequestError("slides.no_event", folder=start)
    return event


def _team(event: "Event", name: str | None) -> str:
    """Return the named team, else the current account's."""
    from hackathon.web.report.slides import team_named

    names = ", ".join(candidate.name for candidate in event.teams) or "–"
    if name is not None:
        team = team_named(event, name)
        if team is None:
            raise RequestError("slides.no_team", team=name, teams=names)
        return team
    own = [candidate.name for candidate in event.teams if _account() in candidate.accounts]
    if len(own) != 1:
        raise RequestError("slides.which_team", teams=names)
    return own[0]


def _account() -> str:
    import pwd

    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return ""
