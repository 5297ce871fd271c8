"""`hackathon trust`: which events and projects of other accounts count."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hackathon.cli.json_output import echo_json
from hackathon.cli.options import named
from hackathon.text.errors import RequestError
from hackathon.text.messages import message

if TYPE_CHECKING:
    from hackathon.access.ownership import Look
    from hackathon.access.trust_record import Decision


@named("trust")
@click.argument("place", required=False, type=click.Path(path_type=Path), metavar="[PATH]")
@click.option("--list", "listing", is_flag=True, help=message("trust.option_list"))
@click.option("--remove", is_flag=True, help=message("trust.option_remove"))
@click.option("--ignore", is_flag=True, help=message("trust.option_ignore"))
@click.option("--json", "as_json", is_flag=True, help=message("help.option_json"))
def command(place: Path | None, listing: bool, remove: bool, ignore: bool, as_json: bool) -> None:
    from hackathon.access.trust_record import IGNORE, TRUST, entries, forget, remember

    if listing + remove + ignore > 1 or (listing and place is not None):
        raise RequestError("trust.one_of")
    if listing:
        _show(entries(), as_json)
        return
    if remove:
        folder = _folder(place or Path.cwd())
        if not forget(folder):
            raise RequestError("trust.no_entry", folder=folder)
        _say("removed", folder, None, as_json)
        return
    found = _found(place)
    entry = None
    if _needs_it(found) or ignore:
        entry = remember(found, IGNORE if ignore else TRUST)
    _say("ignored" if ignore else "trusted" if entry else "not_needed", found.path.parent, found, as_json)


def ask(found: "Look") -> bool:
    """Show an event of another account, ask whether it counts and write the answer down.

    Return False where nobody can be asked: standard input or standard error is no terminal.
    """
    from hackathon.access.trust_record import IGNORE, TRUST, remember
    from hackathon.config.trust import about

    if not sys.stdin.isatty() or not sys.stderr.isatty():
        return False
    click.echo(about(found), err=True)
    click.echo(message("trust.means"), err=True)
    yes = click.confirm(message("trust.ask"), default=None, err=True)
    remember(found, TRUST if yes else IGNORE)
    return True


def _folder(place: Path) -> Path:
    """Return the folder that is meant by a folder or by a file in it."""
    return place.parent if place.name in ("hackathon.yaml", "project.yaml") else place


def _found(place: Path | None) -> "Look":
    """Return the event in a folder, else the project in it; without a folder the event around the current one.

    Raises RequestError when there is none.
    """
    from hackathon.access.ownership import look
    from hackathon.config.load import EVENT_FILE, PROJECT_FILE

    here = _folder(place or Path.cwd()).absolute()
    folders = [here] if place is not None else [here, *here.parents]
    for name in (EVENT_FILE, PROJECT_FILE):
        for folder in folders:
            try:
                return look(folder / name)
            except OSError:
                continue
    raise RequestError("trust.nothing", folder=here)


def _needs_it(found: "Look") -> bool:
    from hackathon.access.ownership import own

    return bool(own().strangers(found.writers))


def _show(entries: "list[Decision]", as_json: bool) -> None:
    from hackathon.cli.show import echo_table

    if as_json:
        _echo_json({"entries": [vars(each) for each in entries]})
        return
    if not entries:
        click.echo(message("trust.none"), err=True)
        return
    heads = [message(f"trust.head_{each}") for each in ("answer", "owner", "folder")]
    echo_table(heads, [[message(f"trust.answer_{each.answer}"), each.name, each.path] for each in entries])


def _say(state: str, folder: Path, found: "Look | None", as_json: bool) -> None:
    from hackathon.cli.show import printable
    from hackathon.config.load import EVENT_FILE
    from hackathon.config.trust import about, about_project

    if as_json:
        _echo_json({"folder": str(folder), "state": state, "owner": found.owner if found else None})
        return
    if found is not None:
        click.echo(about(found) if found.path.name == EVENT_FILE else about_project(found), err=True)
    click.echo(message(f"trust.{state}", folder=printable(str(folder))))


def _echo_json(value: dict[str, Any]) -> None:
    echo_json({"schema_version": 1, **value})
