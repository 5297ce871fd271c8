"""`hackathon data`: a program's input data: fetch them on a login node, check them, copy them to node-local disks."""

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hackathon.cli.options import LocalizedGroup, named, option_trust
from hackathon.jobs.request import Options
from hackathon.text.errors import HackathonError, RequestError
from hackathon.text.messages import N_, _
from hackathon.text.units import format_size

if TYPE_CHECKING:
    from hackathon.config.recipe import Data
    from hackathon.jobs.places import Foreign


@named(
    "data",
    help=_(
        "Data of a project or recipe, as `data:` in its file names them: fetched on a machine with the "
        "Internet into the project's folder `data`, where every node sees them. Jobs find them below $HK_DATA.\n"
        "\n"
        "  hackathon data fetch\n"
        "  hackathon data check\n"
        "  hackathon data stage"
    ),
    cls=LocalizedGroup,
)
def command() -> None:
    pass


@named(
    "fetch",
    help=_(
        "Download data that is not there yet, verify its checksum, and unpack it. An interrupted transfer "
        "resumes where it stopped. Proxies come from http_proxy and https_proxy.\n"
        "\n"
        "  hackathon data fetch\n"
        "  hackathon data fetch --again     also data that already exists"
    ),
    short=_("Download data that is not there yet."),
)
@click.argument("target", required=False, metavar="[RECIPE|FOLDER]")
@option_trust
@click.option("--again", is_flag=True, help=_("Also fetch what is already there."))
def fetch(target: str | None, foreign: "Foreign", again: bool) -> None:
    from hackathon.jobs.data import record_of
    from hackathon.runs import data

    entries, folder = _wanted(target, foreign)
    for entry in entries:
        if not data.fetch(entry, folder, _Progress(entry.name), again=again):
            click.echo(_("{name}: already there", name=entry.name))
            continue
        click.echo(_("{name}: fetched, {size}", name=entry.name, size=format_size(data.size(entry, folder))))
        if entry.sha256 is None:
            checksum = (record_of(folder, entry.name) or {}).get("found_sha256")
            click.echo(
                _(
                    "{name} has no checksum; the checksum of the downloaded file is sha256: {found}",
                    name=entry.name,
                    found=checksum,
                ),
                err=True,
            )


@named(
    "check",
    help=_("Read every file again and compare it with what was fetched.\n\n  hackathon data check"),
    short=_("Verify the checksums of all data."),
)
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
            click.echo(_(key, name=name))
        if not problems:
            click.echo(_("{name}: OK, {size}", name=entry.name, size=format_size(data.size(entry, folder))))
    if count:
        raise HackathonError(
            "data.bad",
            "{count} {count:problem|problems} found in the data",
            hint="hackathon data fetch --again",
            count=count,
        )


@named(
    "stage",
    help=_(
        "Show which data each job copies to the disks of its nodes before the program starts (`stage: true`), "
        "or copy it now, in an interactive job.\n"
        "\n"
        "  hackathon data stage\n"
        "  hackathon data stage --to /tmp/mine"
    ),
    short=_("Show which data jobs copy to their nodes, or copy it now."),
)
@click.argument("target", required=False, metavar="[RECIPE|FOLDER]")
@option_trust
@click.option("--to", "directory", type=click.Path(file_okay=False, path_type=Path), help=_("Copy to this folder now."))
def stage(target: str | None, foreign: "Foreign", directory: Path | None) -> None:
    from dataclasses import asdict

    from hackathon.jobs.data import missing
    from hackathon.runs import data

    entries, folder = _wanted(target, foreign)
    absent = missing(folder, [asdict(entry) for entry in entries])
    if absent:
        raise HackathonError(
            "data.bad",
            "{count} {count:problem|problems} found in the data",
            hint="hackathon data fetch --again",
            count=len(absent),
        )
    if directory is not None:
        chosen = [entry for entry in entries if entry.stage] or entries
        data.stage(
            chosen,
            folder,
            directory,
            lambda name: click.echo(_("{name}: copied to {folder}", name=name, folder=directory)),
        )
        return
    for entry in entries:
        key = (
            N_("{name}: {size}, copied by each job to the disks of its nodes; the program finds it below $HK_DATA")
            if entry.stage
            else N_("{name}: {size}, read from the shared file system below $HK_DATA (`stage: true` would copy it)")
        )
        click.echo(_(key, name=entry.name, size=format_size(data.size(entry, folder))))


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
        raise RequestError(
            "data.none",
            "no data is declared",
            hint="add to `data:` in project.yaml: - {{name: …, url: https://…, sha256: …}}",
        )
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
        text = _("{name}: {done} of {total}", name=self._name, done=format_size(done), total=size)
        if self._terminal:
            click.echo(f"\r\033[K{text}", err=True, nl=done == total)
        else:
            click.echo(text, err=True)
