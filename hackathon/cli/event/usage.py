"""`hackathon event usage`: node-hours, GPU-hours and tokens by team and day, against the budget."""

from pathlib import Path

import click

from hackathon.cli.json_output import echo_json
from hackathon.cli.options import named
from hackathon.text.errors import RequestError
from hackathon.text.messages import NP_, _


@named(
    "usage",
    help=_(
        "Show how much the teams of an event used its clusters, compared with the budgets of hackathon.yaml: "
        "node-hours, GPU-hours, and the site's tokens. All runs count, including adopted, cancelled, and lost "
        "ones, and every life of a requeued job. Jobs that ran over midnight are split by day. The scheduler's "
        "accounting is queried in one call where possible (sacct, qstat); otherwise, the runs' own records are "
        "used, as shown in the column `basis`.\n"
        "\n"
        "DIR: the event's folder (default: the event that contains the current folder). Days are in the time "
        "zone of this machine; to change it, put for example TZ=Asia/Tokyo before the command.\n"
        "\n"
        "hackathon event usage\n"
        "hackathon event usage --by team,day --csv usage.csv\n"
        "hackathon event usage --since 2019-01-24 --until 2019-01-25 --json"
    ),
)
@click.argument(
    "folder", required=False, metavar="[DIR]", type=click.Path(exists=True, file_okay=False, path_type=Path)
)
@click.option("--by", type=click.Choice(["team", "day", "team,day", "user", "cluster"]), default="team",
              show_default=True, help=_("How to group usage, in addition to clusters."))  # fmt: skip
@click.option("--since", metavar="TIME", help=_("Count only from this date or time on."))
@click.option("--until", metavar="TIME", help=_("Count only until this date (inclusive) or time."))
@click.option(
    "--csv",
    "target",
    metavar="FILE|-",
    help=_("Write CSV (UTF-8; files start with a byte order mark for spreadsheets)."),
)
@click.option(
    "--ask/--no-ask", "ask", default=True, help=_("Use the scheduler's accounting, or only the runs' own records.")
)
@click.option("--json", "as_json", is_flag=True, help=_("Print JSON."))
def command(
    folder: Path | None, by: str, since: str | None, until: str | None, target: str | None, ask: bool, as_json: bool
) -> None:
    from hackathon.cli.show import echo_table, printable
    from hackathon.config.load import find_event, load_event
    from hackathon.usage.lost import by_cluster, hours_of
    from hackathon.usage.lost_tables import lost_json, lost_notes, lost_table
    from hackathon.usage.tables import csv_text, notes, table, to_json
    from hackathon.usage.usage import usage

    if as_json and target == "-":
        raise RequestError(
            "usage.csv_and_json", "--csv - and --json both write to standard output", hint="Use a file name with --csv."
        )
    start = (folder or Path.cwd()).resolve()
    event_folder = find_event(start)
    if event_folder is None:
        raise RequestError(
            "usage.no_event",
            "No hackathon.yaml in {folder} or above it",
            hint="Name the event's folder: hackathon event usage DIR; `hackathon event init` creates one.",
            folder=start,
        )
    begin, end = _moment("since", since), _moment("until", until)
    totals = usage(load_event(event_folder), event_folder, ask=ask, since=begin, until=end)
    for text in totals.problems:
        click.echo(f"{_('warning')}: {printable(text)}", err=True)
    if target is not None:
        _write(target, csv_text(totals, by))
    if as_json:
        hours = hours_of(totals)
        lost = {"lost": lost_json(hours), "lost_by_cluster": lost_json(by_cluster(hours))}
        echo_json({**to_json(totals, by), **lost})
    elif target is None:
        echo_table(*table(totals, by))
        hours = hours_of(totals) if by in ("team", "cluster") else []
        hours = by_cluster(hours) if by == "cluster" else hours
        if hours:
            click.echo()
            echo_table(*lost_table(hours))
        for text in (*notes(totals), *lost_notes(hours)):
            click.echo(printable(text), err=True)


def _write(target: str, text: str) -> None:
    """Write CSV to stdout, or to a file with a byte order mark, by which spreadsheets detect UTF-8."""
    if target == "-":
        click.echo(text.encode("utf-8", "replace"), nl=False)
        return
    from hackathon.text.files import write_whole

    try:
        write_whole(Path(target), text.encode("utf-8-sig", "replace"))
    except OSError as error:
        raise RequestError(
            "usage.not_written",
            NP_("usage", "{path} cannot be written: {what}"),
            hint="Choose another file.",
            path=target,
            what=error.strerror or error,
        ) from error
    click.echo(_("written: {path}", path=target), err=True)


def _moment(option: str, text: str | None) -> float | None:
    """Return a moment in this machine's time zone; a date alone is its beginning, for `until` its end."""
    if text is None:
        return None
    import time

    from hackathon.text.units import parse_moment
    from hackathon.usage.days import next_midnight

    try:
        moment = parse_moment(text, time.time())
    except (ValueError, OverflowError) as error:
        raise RequestError(
            "usage.bad_moment",
            "--{option} {text!r} is neither a date nor a time",
            hint="Write 2019-01-24 or 2019-01-24T09:30; --until with only a date includes that day.",
            option=option,
            text=text,
        ) from error
    return next_midnight(moment) if option == "until" and len(text.strip()) == 10 else moment
