"""`hackathon event check`: the problems of an event that are visible before it begins."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from hackathon.cli.json_output import echo_json
from hackathon.cli.options import named
from hackathon.text.errors import FAILED
from hackathon.text.messages import localized, message

if TYPE_CHECKING:
    from hackathon.event.check_report import Trouble
    from hackathon.readiness.collected import TeamReadiness

_LEVEL_TEXTS = {
    "error": "event_check.level_error",
    "warning": "event_check.level_warning",
    "remark": "event_check.level_remark",
}

PLACE = click.Path(file_okay=False, path_type=Path, resolve_path=True)
COLORS = {"error": "red", "warning": "yellow", "remark": "blue"}


@named("check", help=message("help.event_check_help"))
@click.argument("folder", required=False, type=PLACE, metavar="[DIR]")
@click.option("--live", is_flag=True, help=message("help.option_event_live"))
@click.option("--json", "as_json", is_flag=True, help=message("help.option_json"))
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
            message("event_check.looked_at", title=localized(event.title), file=path / "hackathon.yaml",
                    teams=len(event.teams), tutors=len(event.tutors))
        )
    )  # fmt: skip
    alike: dict[tuple[str, str], list[Trouble]] = {}
    for trouble in troubles:
        alike.setdefault((trouble.level, trouble.id), []).append(trouble)
    for group in alike.values():
        _echo_alike(group)
    if not troubles:
        click.echo(message("event_check.good"))
    else:
        values = {"errors": counts["error"], "warnings": counts["warning"], "remarks": counts["remark"]}
        click.echo(f"\n{message('event_check.sum', **values)}")
    if ready:
        _echo_ready(ready)
    return FAILED if counts["error"] else 0


def _echo_ready(ready: "dict[str, TeamReadiness]") -> None:
    """Print the checklists that teams posted with `hackathon ready`, and their open points."""
    from hackathon.cli.show import echo_table, encodes, printable
    from hackathon.readiness.collected import MARKS, lacking, legend, table

    words = not encodes("".join(MARKS.values()))
    click.echo(f"\n{click.style(message('event_check.ready'), bold=True)}")
    echo_table(*table(ready, words=words))
    if marks := legend(words=words):
        click.echo(marks)
    for team, sentence in lacking(ready):
        click.echo(printable(f"  {team}: {sentence}"))


def _echo_alike(troubles: "list[Trouble]") -> None:
    """Print troubles of one kind, and their remedy only once if it is the same."""
    click.echo()
    for number, trouble in enumerate(troubles):
        level = click.style(message(_LEVEL_TEXTS[trouble.level]), fg=COLORS[trouble.level])
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
