"""`hackathon event init`: create an event's file and its directories, and list the administrator's commands."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hackathon.cli.json_output import echo_json
from hackathon.cli.options import named
from hackathon.cli.show import printable
from hackathon.text.errors import FAILED, RequestError
from hackathon.text.messages import N_, NP_, _

if TYPE_CHECKING:
    from hackathon.config.cluster import Cluster
    from hackathon.event.directories import DirectoriesMade, Made
    from hackathon.event.draft import Draft
    from hackathon.event.table import ParticipantTable

_ASK_TEXTS = {
    "begin": N_(
        "A few questions for hackathon.yaml. Press Enter to accept the value in brackets; you can edit everything "
        "later."
    ),
    "title": N_("Title"),
    "dates": N_("Days, for example 2019-01-24, 2019-01-25 (Enter: not decided yet)"),
    "place": N_("Place (Enter: not decided yet)"),
    "cluster": N_("Cluster, a name listed by `hackathon clusters` (Enter: not decided yet)"),
    "queue": N_("Queue"),
    "teams": N_("Number of teams"),
    "tutors": N_("Accounts of tutors (Enter: not decided yet)"),
    "write": N_("Write {file} and create the directories?"),
}

_STATE_TEXTS = {
    "made": N_("created"),
    "mended": N_("repaired"),
    "there": N_("exists"),
    "left": N_("unchanged"),
    "missing": N_("not created"),
}

FILE = click.Path(dir_okay=False, path_type=Path)
PLACE = click.Path(file_okay=False, path_type=Path, resolve_path=True)


@named(
    "init",
    help=_(
        "Set up an event: write a commented hackathon.yaml and create its directories: the board, a folder for "
        "each team (written by members, read by tutors), and a private folder for surveys. Without options, it "
        "asks questions in the terminal. Run it again after a change: it creates what is missing and repairs "
        "what is yours; it changes nothing that belongs to others.\n"
        "\n"
        "As root, it does everything. Any other account does what it can, and the commands for an "
        "administrator are printed.\n"
        "\n"
        "hackathon event init my-event\n"
        "hackathon event init my-event --from last-year.yaml --dry-run\n"
        "hackathon event init my-event --teams teams.csv --admin-script for-root.sh"
    ),
)
@click.argument("folder", required=False, default=".", type=PLACE, metavar="[DIR]")
@click.option("--from", "source", metavar="FILE", type=FILE, help=_("Use a complete hackathon.yaml from FILE."))
@click.option(
    "--teams",
    "table",
    metavar="CSV",
    type=FILE,
    help=_("Read teams from a CSV: team, user, kind, name, tutors, project, group."),
)
@click.option("--title", metavar="TEXT", help=_("Title of the event."))
@click.option("--date", "dates", metavar="DATE", multiple=True, help=_("Day, for example 2019-01-24; may be repeated."))
@click.option("--place", metavar="TEXT", help=_("Venue."))
@click.option("--cluster", metavar="NAME", help=_("Cluster of the event."))
@click.option("--queue", metavar="NAME", help=_("Queue of the event."))
@click.option("--tutor", "tutors", metavar="USER", multiple=True, help=_("Account of a tutor; may be repeated."))
@click.option("--dry-run", "dry", is_flag=True, help=_("Show everything without writing anything."))
@click.option(
    "--admin-script",
    "script",
    metavar="FILE",
    type=FILE,
    help=_("Write the administrator's commands to FILE as a script."),
)
@click.option("--json", "as_json", is_flag=True, help=_("Print JSON."))
def command(
    folder: Path,
    source: Path | None,
    table: Path | None,
    dry: bool,
    script: Path | None,
    as_json: bool,
    **values: Any,
) -> int:
    from hackathon.config.load import EVENT_FILE
    from hackathon.event import directories as making
    from hackathon.event.administrator import write_script
    from hackathon.event.draft import left_as_written
    from hackathon.event.files import added, copied, drafted, write_event

    folder = folder.absolute()
    path = folder / EVENT_FILE
    teams = _table(table, source or path) if table else None
    interactive = False
    if path.exists():
        if source or any(values.values()):
            raise RequestError(
                "event.exists",
                NP_("event", "{file} already exists"),
                hint="It is not overwritten: edit it, then run `hackathon event init` without --from and without "
                "other values; --teams adds new teams of a table.",
                file=path,
            )
        text, news = added(path, teams)
    elif source:
        if any(values.values()):
            raise RequestError(
                "event.from_alone",
                "--from uses the file as it is: --title, --date, --place, --cluster, --queue, and --tutor "
                "cannot be combined with it",
                hint="Edit the file first.",
            )
        text, news = copied(source, teams)
    else:
        interactive = not any(values.values()) and not as_json and sys.stdin.isatty() and sys.stderr.isatty()
        draft = _asked(folder, teams) if interactive else _draft(folder, values, teams)
        _say_queue(folder, draft)
        text, news = drafted(draft)
    if teams and (unchanged := left_as_written(text, source or path, teams.teams)):
        warning = _(
            "the table lists other members, tutors, or another group for teams that hackathon.yaml already "
            "contains; nothing of these teams was changed, edit them by hand: {names}",
            names=", ".join(printable(name) for name in unchanged),
        )
        click.echo(f"{_('warning')}: {warning}", err=True)
    _say_file(path, text, news, dry=dry, preview=interactive or (dry and not as_json))
    if (
        interactive
        and not dry
        and not click.confirm(_("Write {file} and create the directories?", file=path), default=True, err=True)
    ):
        return 0
    owner = making.owner_of(folder)
    if not dry and news:
        existed = path.exists()
        write_event(path, text, owner)
        if not as_json:
            names = ", ".join(printable(name) for name in news)
            click.echo(_("Teams added: {names}", names=names) if existed else _("created {file}", file=path))
    outcome = making.make_event(text, folder, owner, dry=dry)
    if script is not None and outcome.commands and not dry:
        write_script(script, outcome.commands)
    if as_json:
        _echo_json(path, news, outcome, dry)
    else:
        _say(folder, outcome, script, dry)
    return FAILED if outcome.failed else 0


def _table(path: Path, event_file: Path) -> "ParticipantTable":
    """Return the teams of a CSV; kinds of an existing event are accepted too."""
    from hackathon.event.draft import checked
    from hackathon.event.files import read_text
    from hackathon.event.table import read_table

    event = checked(read_text(event_file), event_file) if event_file.is_file() else None
    table = read_table(path, event)
    if table.ignored:
        names = ", ".join(printable(name) for name in table.ignored)
        click.echo(f"{_('warning')}: {_('these columns are not used: {names}', names=names)}", err=True)
    return table


def _draft(folder: Path, values: dict[str, Any], table: "ParticipantTable | None") -> "Draft":
    """Return a draft from the options, with defaults for missing ones."""
    from hackathon.event.draft import Draft
    from hackathon.schedulers.registry import load_cluster

    if values["cluster"]:
        load_cluster(values["cluster"], [folder])
    elif values["queue"]:
        raise RequestError("event.queue_alone", "--queue needs --cluster")
    return Draft(
        values["title"] or folder.name or _("Distributed deep-learning hackathon"),
        tuple(values["dates"]),
        values["place"] or "",
        values["cluster"] or "",
        values["queue"] or "",
        teams=table.teams if table else (),
        tutors=tuple(values["tutors"]),
    )


def _say_queue(folder: Path, draft: "Draft") -> None:
    """Warn of a queue that the cluster's profile lacks; the file is written all the same."""
    from hackathon.event.machines import queue_problem
    from hackathon.schedulers.registry import load_cluster

    if not draft.cluster:
        return
    problem = queue_problem(draft.cluster, draft.queue, load_cluster(draft.cluster, [folder]))
    if problem is not None:
        message, values = problem
        click.echo(f"{_('warning')}: {printable(_(message.text, **values))}", err=True)
        if message.hint:
            click.echo(f"  → {printable(_(message.hint, **values))}", err=True)


def _asked(folder: Path, table: "ParticipantTable | None") -> "Draft":
    """Ask for the basic values of a hackathon.yaml; every question has a default."""
    import re

    from hackathon.config.check_event import date_of
    from hackathon.config.event import Team
    from hackathon.config.problems import shown
    from hackathon.event.draft import Draft
    from hackathon.schedulers.registry import load_cluster

    def words(text: str) -> list[str]:
        return [word for word in re.split(r"[,、\s]+", text) if word]

    def dates(text: str) -> tuple[str, ...]:
        wrong = next((word for word in words(text) if date_of(word) is None), None)
        if wrong is not None:
            raise click.BadParameter(_("{value} is not a date; write it as 2019-01-24", value=shown(wrong)))
        return tuple(words(text))

    def cluster(text: str) -> str:
        if text.strip():
            try:
                load_cluster(text.strip(), [folder])
            except RequestError as error:
                raise click.BadParameter(error.message) from error
        return text.strip()

    def ask(key: str, default: Any = "", convert: Any = str) -> Any:
        text = _(_ASK_TEXTS[key])
        return click.prompt(text, default, show_default=default != "", value_proc=convert, err=True)

    click.echo(
        _(
            "A few questions for hackathon.yaml. Press Enter to accept the value in brackets; you can edit "
            "everything later."
        ),
        err=True,
    )
    title = ask("title", folder.name or _("Distributed deep-learning hackathon"))
    days = ask("dates", "", dates)
    venue = ask("place")
    name = ask("cluster", "", cluster)
    queue = ask("queue", _usual_queue(load_cluster(name, [folder]))) if name else ""
    teams = table.teams if table else ()
    if not table:
        count = ask("teams", 8, click.IntRange(0, 200))
        teams = tuple(Team(_("Team {number}", number=number + 1)) for number in range(count))
    tutors = tuple(words(ask("tutors")))
    return Draft(title, days, venue, name, queue, teams=teams, tutors=tutors)


def _usual_queue(cluster: "Cluster") -> str:
    """Return the first queue of a cluster's profile; empty if it has none."""
    return cluster.queue or next(iter(cluster.queues), "")


def _say_file(path: Path, text: str, news: list[str], *, dry: bool, preview: bool) -> None:
    if not news:
        return
    if preview:
        click.echo(_("{file}:", file=path), err=True)
        click.echo(printable(text, kept="\n"), nl=False, err=not dry)


def _say(folder: Path, outcome: "DirectoriesMade", script: Path | None, dry: bool) -> None:
    from hackathon.cli.show import echo_table

    heads = [
        _("folder"),
        _("mode"),
        _("owner"),
        _("state"),
    ]
    echo_table(heads, [_row(directory, folder) for directory in outcome.folders])
    for identifier, values in outcome.notes:
        text = _(identifier, **{name: printable(str(value)) for name, value in values.items()})
        click.echo(f"{_('warning')}: {text}", err=True)
    if outcome.commands:
        import shlex

        click.echo(
            _("An administrator must run these commands as root (review them first; --admin-script FILE saves them):"),
            err=True,
        )
        for command_words in outcome.commands:
            click.echo(f"  {printable(shlex.join(command_words))}")
        if script is not None and not dry:
            click.echo(_("Written to {file}.", file=script), err=True)
    elif script is not None:
        click.echo(_("Nothing to do for an administrator; {file} was not written.", file=script), err=True)
    click.echo(
        _("Nothing was written (--dry-run).")
        if dry
        else _("Next: fill in {folder}/hackathon.yaml, then `hackathon event check`.", folder=folder),
        err=True,
    )


def _row(directory: "Made", folder: Path) -> list[str]:
    import stat

    from hackathon.access.permissions import group_name, user_name

    plan, status = directory.wanted, directory.found
    path = plan.path.relative_to(folder) if plan.path.is_relative_to(folder) else plan.path
    state = _(_STATE_TEXTS[directory.state]) + (f": {directory.why}" if directory.why else "")
    if status is None:
        owner = user_name(plan.owner) + (f":{group_name(plan.group)}" if plan.group is not None else "")
        return [f"{path}/", stat.filemode(stat.S_IFDIR | plan.mode) + ("+" if plan.acl else ""), owner, state]
    mode = stat.filemode(status.st_mode) + ("+" if plan.acl else "")
    return [f"{path}/", mode, f"{user_name(status.st_uid)}:{group_name(status.st_gid)}", state]


def _echo_json(path: Path, news: list[str], outcome: "DirectoriesMade", dry: bool) -> None:
    import stat

    folders = [
        {
            "path": str(entry.wanted.path), "what": entry.wanted.what, "team": entry.wanted.team, "state": entry.state,
            "why": entry.why, "mode": f"{stat.S_IMODE(entry.found.st_mode if entry.found else entry.wanted.mode):o}",
        }
        for entry in outcome.folders
    ]  # fmt: skip
    notes = [
        {"id": identifier.partition(".")[2], "text": _(identifier, **values)} for identifier, values in outcome.notes
    ]
    value = {
        "file": str(path), "written": bool(news) and not dry, "teams_added": [name for name in news if name],
        "dry_run": dry, "folders": folders, "notes": notes, "commands": outcome.commands,
    }  # fmt: skip
    echo_json(value)
