"""`hackathon data`: a program's input data: fetch them on a login node, check them, copy them to node-local disks."""

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hackathon.cli.options import LocalizedGroup, named, option_trust
from hackathon.jobs.options import Options
from hackathon.text.errors import HackathonError, RequestError
from hackathon.text.messages import message
from hackathon.text.units import format_size

if TYPE_CHECKING:
    from hackathon.config.recipe import Data
    from hackathon.jobs.places import Foreign


@named("data", help=message("help.data_help"), cls=LocalizedGroup)
def command() -> None:
    pass


@named("fetch", help=message("help.data_fetch_help"), short=message("help.data_fetch_short"))
@click.argument("target", required=False, metavar="[RECIPE|FOLDER]")
@option_trust
@click.option("--again", is_flag=True, help=message("help.option_fetch_again"))
def fetch(target: str | None, foreign: "Foreign", again: bool) -> None:
    from hackathon.jobs.data import record_of
    from hackathon.runs import data

    entries, folder = _wanted(target, foreign)
    for entry in entries:
        if not data.fetch(entry, folder, _Progress(entry.name), again=again):
            click.echo(message("data.there", name=entry.name))
            continue
        click.echo(message("data.fetched", name=entry.name, size=format_size(data.size(entry, folder))))
        if entry.sha256 is None:
            checksum = (record_of(folder, entry.name) or {}).get("found_sha256")
            click.echo(message("data.no_sum", name=entry.name, found=checksum), err=True)


@named("check", help=message("help.data_check_help"), short=message("help.data_check_short"))
@click.argument("target", required=False, metavar="[RECIPE|FOLDER]")
@option_trust
def check(target: str | None, foreign: "Foreign") -> None:
    from hackathon.runs import data

    entries, folder = _wanted(target, foreign)
    count = 0
    for entry in entries:
        problems = data.problems(entry, folder)
        count += len(problems)
        for key, name in problems:
            click.echo(message(key, name=name))
        if not problems:
            click.echo(message("data.good", name=entry.name, size=format_size(data.size(entry, folder))))
    if count:
        raise HackathonError("data.bad", count=count)


@named("stage", help=message("help.data_stage_help"), short=message("help.data_stage_short"))
@click.argument("target", required=False, metavar="[RECIPE|FOLDER]")
@option_trust
@click.option(
    "--to", "directory", type=click.Path(file_okay=False, path_type=Path), help=message("help.option_stage_to")
)
def stage(target: str | None, foreign: "Foreign", directory: Path | None) -> None:
    from dataclasses import asdict

    from hackathon.jobs.data import missing
    from hackathon.runs import data

    entries, folder = _wanted(target, foreign)
    absent = missing(folder, [asdict(entry) for entry in entries])
    if absent:
        raise HackathonError("data.bad", count=len(absent))
    if directory is not None:
        chosen = [entry for entry in entries if entry.stage] or entries
        data.stage(
            chosen, folder, directory, lambda name: click.echo(message("data.staged", name=name, folder=directory))
        )
        return
    for entry in entries:
        key = "data.stage_plan" if entry.stage else "data.stage_shared"
        click.echo(message(key, name=entry.name, size=format_size(data.size(entry, folder))))


command.add_command(fetch)  # type: ignore[attr-defined]
command.add_command(check)  # type: ignore[attr-defined]
command.add_command(stage)  # type: ignore[attr-defined]


def _wanted(target: str | None, foreign: "Foreign") -> "tuple[list[Data], Path]":
    """Return the data of a project or recipe, and their folder."""
    from hackathon.jobs.data import FOLDER
    from hackathon.jobs.resolve import wanted_data
    from hackathon.jobs.sources import gather

    sources = gather(target, Options(), os.environ, Path.cwd(), foreign=foreign)
    entries = wanted_data(sources.recipe, sources.project)
    if not entries:
        raise RequestError("data.none")
    return entries, sources.runs.parent / FOLDER


class _Progress:
    """Writes the progress of a download to stderr, twice a second on a terminal and every ten seconds elsewhere."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._terminal = sys.stderr.isatty()
        self._next = time.monotonic() + (0.5 if self._terminal else 10)

    def __call__(self, done: int, total: int | None) -> None:
        now = time.monotonic()
        if now < self._next and done != total:
            return
        self._next = now + (0.5 if self._terminal else 10)
        size = format_size(total) if total is not None else "?"
        text = message("data.progress", name=self._name, done=format_size(done), total=size)
        if self._terminal:
            click.echo(f"\r\033[K{text}", err=True, nl=done == total)
        else:
            click.echo(text, err=True)
