"""`hackathon trust`: decide which events and projects of other accounts count."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hackathon.cli.json_output import echo_json
from hackathon.cli.options import named
from hackathon.text.errors import RequestError
from hackathon.text.messages import N_, _

if TYPE_CHECKING:
    from hackathon.access.ownership import Look
    from hackathon.access.trust_record import Decision

_TRUST_TEXTS = {
    "removed": N_("removed: {folder}"),
    "ignored": N_("ignored from now on: {folder}"),
    "trusted": N_("trusted: {folder}"),
    "not_needed": N_("{folder} needs no trust: only you or root can change it"),
}

_ANSWER_TEXTS = {
    "trust": N_("trusted"),
    "ignore": N_("ignored"),
}


@named(
    "trust",
    help=_(
        "An event applies to your jobs only if its hackathon.yaml belongs to you or root, or if you trust it. "
        "This command trusts the event in PATH (default: the one around this folder). It is needed once for "
        "each event. In a trusted event, projects of your own team count as yours. If the file gets another "
        "owner, you are asked again. A project of another account can be trusted, too; without that, its "
        "commands run only with --trust.\n"
        "\n"
        "hackathon trust /lustre/event\n"
        "hackathon trust --ignore /scratch    pass over the event of a stranger\n"
        "hackathon trust --list"
    ),
)
@click.argument("path", required=False, type=click.Path(path_type=Path), metavar="[PATH]")
@click.option("--list", "listing", is_flag=True, help=_("List your decisions."))
@click.option("--remove", is_flag=True, help=_("Remove the decision about PATH."))
@click.option("--ignore", is_flag=True, help=_("Ignore the event from now on, as if its file did not exist."))
@click.option("--json", "as_json", is_flag=True, help=_("Print JSON."))
def command(path: Path | None, listing: bool, remove: bool, ignore: bool, as_json: bool) -> None:
    from hackathon.access.trust_record import IGNORE, TRUST, entries, forget, remember

    if listing + remove + ignore > 1 or (listing and path is not None):
        raise RequestError("trust.one_of", "use only one of --list, --remove and --ignore; --list takes no path")
    if listing:
        _show(entries(), as_json)
        return
    if remove:
        folder = _folder(path or Path.cwd())
        if not forget(folder):
            raise RequestError(
                "trust.no_entry",
                "there is no decision about {folder}",
                hint="list all: hackathon trust --list",
                folder=folder,
            )
        _say("removed", folder, None, as_json)
        return
    look = _found(path)
    entry = None
    if _needs_it(look) or ignore:
        entry = remember(look, IGNORE if ignore else TRUST)
    _say("ignored" if ignore else "trusted" if entry else "not_needed", look.path.parent, look, as_json)


def ask(look: "Look") -> bool:
    """Show an event of another account, ask whether it counts and record the answer.

    Return False if standard input or standard error is not a terminal, so that no question is possible.
    """
    from hackathon.access.trust_record import IGNORE, TRUST, remember
    from hackathon.config.trust import about

    if not sys.stdin.isatty() or not sys.stderr.isatty():
        return False
    click.echo(about(look), err=True)
    click.echo(
        _(
            "If you trust it, its settings, templates and budget apply to your jobs, and your posts go to its "
            "board. If not, it is ignored. You are asked only once."
        ),
        err=True,
    )
    yes = click.confirm(_("Trust this event?"), default=None, err=True)
    remember(look, TRUST if yes else IGNORE)
    return True


def _folder(path: Path) -> Path:
    """Return the folder of a path, which may be a folder or a file in it."""
    return path.parent if path.name in ("hackathon.yaml", "project.yaml") else path


def _found(path: Path | None) -> "Look":
    """Return the event in a folder, else the project in it; without a folder the event around the current one.

    Raises RequestError if there is none.
    """
    from hackathon.access.ownership import look
    from hackathon.config.load import EVENT_FILE, PROJECT_FILE

    start = _folder(path or Path.cwd()).absolute()
    folders = [start] if path is not None else [start, *start.parents]
    for name in (EVENT_FILE, PROJECT_FILE):
        for folder in folders:
            try:
                return look(folder / name)
            except OSError:
                continue
    raise RequestError("trust.nothing", "{folder} has no hackathon.yaml and no project.yaml", folder=start)


def _needs_it(look: "Look") -> bool:
    from hackathon.access.ownership import own

    return bool(own().strangers(look.writers))


def _show(entries: "list[Decision]", as_json: bool) -> None:
    from hackathon.cli.show import echo_table

    if as_json:
        _echo_json({"entries": [vars(decision) for decision in entries]})
        return
    if not entries:
        click.echo(_("no decisions yet"), err=True)
        return
    heads = [_("decision"), _("owner"), _("folder")]
    echo_table(heads, [[_(_ANSWER_TEXTS[decision.answer]), decision.name, decision.path] for decision in entries])


def _say(state: str, folder: Path, look: "Look | None", as_json: bool) -> None:
    from hackathon.cli.show import printable
    from hackathon.config.load import EVENT_FILE
    from hackathon.config.trust import about, about_project

    if as_json:
        _echo_json({"folder": str(folder), "state": state, "owner": look.owner if look else None})
        return
    if look is not None:
        click.echo(about(look) if look.path.name == EVENT_FILE else about_project(look), err=True)
    click.echo(_(_TRUST_TEXTS[state], folder=printable(str(folder))))


def _echo_json(value: dict[str, Any]) -> None:
    echo_json({"schema_version": 1, **value})
