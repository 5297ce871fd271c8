"""`hackathon event check`: the problems of an event that are visible before it begins."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from hackathon.cli.json_output import echo_json
from hackathon.cli.options import named
from hackathon.text.errors import FAILED
from hackathon.text.messages import N_, _, localized

if TYPE_CHECKING:
    from hackathon.event.check_report import Trouble
    from hackathon.readiness.collected import TeamReadiness

_LEVEL_TEXTS = {
    "error": N_("error"),
    "warning": N_("warning"),
    "remark": N_("note"),
}

PLACE = click.Path(file_okay=False, path_type=Path, resolve_path=True)
COLORS = {"error": "red", "warning": "yellow", "remark": "blue"}


@named(
    "check",
    help=_(
        "Check everything that this account can see: schedule, clusters and queues, accounts and groups, teams "
        "without a tutor, directories that tutors cannot read or others can write, the board, budgets, and how "
        "far each team is with `hackathon ready`. Each problem is shown with its place and how to fix it.\n"
        "\n"
        "Run it on a login node of the cluster, "
        "where the accounts exist.\n"
        "\n"
        "hackathon event check\n"
        "hackathon event check my-event --live"
    ),
)
@click.argument("folder", required=False, type=PLACE, metavar="[DIR]")
@click.option("--live", is_flag=True, help=_("Also ask the scheduler about queues."))
@click.option("--json", "as_json", is_flag=True, help=_("Print JSON."))
def command(folder: Path | None, live: bool, as_json: bool) -> int:
    from hackathon.cli.event.show import event_folder
    from hackathon.cli.show import printable
    from hackathon.event.check_report import LEVELS
    from hackathon.event.checks import look
    from hackathon.readiness.collected import event_readiness

    path = event_folder(folder)
    event, troubles = look(path, live=live)
    counts = {level: sum(1 for trouble in troubles if trouble.level == level) for level in LEVELS}
    ready = event_readiness(event, path)
    if as_json:
        _echo_json(path, troubles, counts, ready)
        return FAILED if counts["error"] else 0
    click.echo(
        printable(
            _(
                "{title}: {file}; teams: {teams}, tutors: {tutors}",
                title=localized(event.title),
                file=path / "hackathon.yaml",
                teams=len(event.teams),
                tutors=len(event.tutors),
            )
        )
    )
    alike: dict[tuple[str, str], list[Trouble]] = {}
    for trouble in troubles:
        alike.setdefault((trouble.level, trouble.id), []).append(trouble)
    for group in alike.values():
        _echo_alike(group)
    if not troubles:
        click.echo(_("No problems found, as far as this account can see."))
    else:
        values = {"errors": counts["error"], "warnings": counts["warning"], "remarks": counts["remark"]}
        click.echo("\n" + _("errors: {errors}, warnings: {warnings}, notes: {remarks}", **values))
    if ready:
        _echo_ready(ready)
    return FAILED if counts["error"] else 0


def _echo_ready(ready: "dict[str, TeamReadiness]") -> None:
    """Print the checklists that teams posted with `hackathon ready`, and their open points."""
    from hackathon.cli.show import echo_table, encodes, printable
    from hackathon.readiness.collected import MARKS, lacking, legend, table

    words = not encodes("".join(MARKS.values()))
    click.echo(f"\n{click.style(_('Readiness (`hackathon ready`)'), bold=True)}")
    echo_table(*table(ready, words=words))
    if marks := legend(words=words):
        click.echo(marks)
    for team, sentence in lacking(ready):
        click.echo(printable(f"  {team}: {sentence}"))


def _echo_alike(troubles: "list[Trouble]") -> None:
    """Print troubles of one kind, and their remedy only once if it is the same."""
    click.echo()
    for number, trouble in enumerate(troubles):
        level = click.style(_(_LEVEL_TEXTS[trouble.level]), fg=COLORS[trouble.level])
        prefix = f"{trouble.where}: " if trouble.where else ""
        click.echo(f"{level}: {prefix}{trouble.what}")
        following = troubles[number + 1].remedy if number + 1 < len(troubles) else ""
        if trouble.remedy and trouble.remedy != following:
            click.echo(f"  → {trouble.remedy}")


def _echo_json(
    path: Path, troubles: "list[Trouble]", counts: dict[str, int], ready: "dict[str, TeamReadiness]"
) -> None:
    value = {
        "event": str(path),
        "counts": counts,
        "troubles": [
            {"level": trouble.level, "id": trouble.id, "team": trouble.team, "what": trouble.what,
             "where": trouble.where, "remedy": trouble.remedy}
            for trouble in troubles
        ],
        "ready": [readiness.to_json() for readiness in ready.values()],
    }  # fmt: skip
    echo_json(value)
