"""`hackathon logs`: what the ranks of a run printed."""

import gc
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hackathon.cli.options import named, runs_folder
from hackathon.text.messages import message

if TYPE_CHECKING:
    from hackathon.runs.directory import RunDirectory


@named("logs")
@click.argument("name", required=False, metavar="[RUN]")
@click.option("-f", "--follow", "following", is_flag=True, help=message("help.option_follow"))
@click.option("--rank", "ranks", metavar="N", type=int, multiple=True, help=message("help.option_rank"))
@click.option(
    "-n",
    "--lines",
    metavar="N",
    type=click.IntRange(min=0),
    default=50,
    show_default=True,
    help=message("help.option_lines"),
)
@click.option("--path", "only_path", is_flag=True, help=message("help.option_path"))
def command(name: str | None, following: bool, ranks: tuple[int, ...], lines: int, only_path: bool) -> None:
    from hackathon.cli.show import printable
    from hackathon.logs.follow import follow, tail
    from hackathon.logs.metrics import rank_files

    run = one_run(name)
    folder = run.path / "logs"
    wanted = [path for path in rank_files(folder, ".log") if not ranks or int(path.stem.removeprefix("rank-")) in ranks]
    if not ranks:
        wanted = [path for path in (folder / "scheduler.log", folder / "job.log") if path.is_file()] + wanted
    if only_path:
        for path in wanted:
            click.echo(path)
        return
    click.echo(message("cli.logs_of", run=run.id, folder=folder), err=True)
    if following:
        gc.enable()
        for name_of_log, line in follow(run.path, ranks=ranks or None, lines=lines, stop=lambda: _over(run)):
            click.echo(f"{Path(name_of_log).stem}: {printable(line)}")
        return
    if not wanted:
        click.echo(message("cli.no_logs"), err=True)
    for path in wanted:
        shown = tail(path, lines)
        if shown:
            click.echo(click.style(f"--- {path.name}", bold=True))
        for line in shown:
            click.echo(printable(line))


def one_run(name: str | None) -> "RunDirectory":
    """Return the run that a name means; without one the newest, or of its chain the segment that runs or ran last."""
    from hackathon.runs.chain import speaking
    from hackathon.runs.directory import find_run, find_runs
    from hackathon.text.errors import RequestError

    folder = runs_folder()
    if name is not None:
        return find_run(name, folder)
    runs = find_runs(folder)
    if not runs:
        raise RequestError("cli.no_runs", folder=folder)
    return speaking(runs[0])


def _over(run: "RunDirectory") -> bool:
    from hackathon.cli.wait import is_final
    from hackathon.runs.status import status

    return is_final(status([run])[0])
