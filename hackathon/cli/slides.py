"""`hackathon slides`: create a team's slides from its records, for editing."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hackathon.cli.options import named
from hackathon.text.errors import HackathonError, RequestError
from hackathon.text.messages import N_, _

if TYPE_CHECKING:
    from hackathon.config.event import Event


@named(
    "slides",
    help=_(
        "Create slides for a team from its records: starting point, changes, speed-up with its plot, "
        "difficulties. Parts that only the team knows are marked blanks. The slides are one HTML page: fill "
        "in the blanks in a browser, save it, and print it as PDF. With --to NAME.md they are Markdown for "
        "Marp. Edited slides are not overwritten without --force.\n"
        "\n"
        "TEAM: the team's name (default: the team of this account).\n"
        "\n"
        "hackathon slides\n"
        "hackathon slides aurora --to talk.html --lang ja"
    ),
)
@click.argument("team", required=False, metavar="[TEAM]")
@click.option("--to", "file", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path),
              help=_("Output file, .html or .md (default: slides-TEAM.html here)."))  # fmt: skip
@click.option("--force", is_flag=True, help=_("Overwrite slides that were edited."))
@click.option("--no-ask", is_flag=True, help=_("Do not query the scheduler."))
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
        raise RequestError(
            "slides.suffix", "{file} is not a name for slides; it must end with .html or .md", file=target.name
        )
    if not target.parent.is_dir():
        raise RequestError("slides.no_folder", "folder {folder} does not exist", folder=target.parent)
    # a team's account may read no other team's runs, and needs none
    alone = replace(event, teams=[candidate for candidate in event.teams if candidate.name == name])
    source = gather(folder, alone, own_folder(Path.cwd()), ask=not no_ask)
    slides = slide_files(replace(source, event=event), name, target.name)
    assert slides is not None
    files, trouble = slides
    write_together(target.parent, files, force=force)
    for problem in [*source.problems, *([trouble] if trouble else [])]:
        click.echo(f"{_('warning')}: {printable(problem)}", err=True)
    for file_name in files:
        click.echo(_("written: {file}", file=target.parent / file_name))
    how = (
        N_("Open {file} in a browser, fill in the marked blanks, save the page, and print it as PDF if you need one.")
        if target.suffix.lower() == ".html"
        else N_(
            "Edit it, then show it with Marp (VS Code extension “Marp for VS Code”, or marp --pdf "
            "--allow-local-files {file})."
        )
    )
    click.echo(_(how, file=target.name), err=True)


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
        raise RequestError(
            "slides.no_event",
            "hackathon.yaml was not found in {folder}, above it, or beside the event's board",
            hint="go to the event's folder, or set HACKATHON_SHARED to the event's shared directory",
            folder=start,
        )
    return event


def _team(event: "Event", name: str | None) -> str:
    """Return the named team, else the current account's."""
    from hackathon.web.report.slides import team_named

    names = ", ".join(candidate.name for candidate in event.teams) or "–"
    if name is not None:
        team = team_named(event, name)
        if team is None:
            raise RequestError(
                "slides.no_team",
                "there is no team {team} in this event",
                hint="its teams: {teams}",
                team=name,
                teams=names,
            )
        return team
    own = [candidate.name for candidate in event.teams if _account() in candidate.accounts]
    if len(own) != 1:
        raise RequestError(
            "slides.which_team",
            "no team given, and this account is in none or in several",
            hint="hackathon slides TEAM; teams: {teams}",
            teams=names,
        )
    return own[0]


def _account() -> str:
    import pwd

    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return ""
