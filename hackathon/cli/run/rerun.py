"""`hackathon rerun`: submit the recorded script and source again, here or on another cluster, also from a crate."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hackathon.cli.json_output import echo_json
from hackathon.cli.options import completing, job_options, named, option_trust, runs_folder
from hackathon.jobs.request import Options
from hackathon.text.errors import RequestError
from hackathon.text.messages import N_, _, ngettext

if TYPE_CHECKING:
    from hackathon.jobs.changes import RequestChange
    from hackathon.jobs.places import Foreign
    from hackathon.jobs.request import Request
    from hackathon.runs.crate.archive import Crate
    from hackathon.runs.directory import RunDirectory
    from hackathon.runs.source.snapshot import Source
    from hackathon.runs.submit import Outcomes

_TO_RUN_TEXTS = {
    "command": N_("command"),
    "line": N_("environment line"),
    "variable": N_("variable (literal, nothing is expanded)"),
}


@named(
    "rerun",
    help=_(
        "Submit the recorded script and source of a run again, after showing what has changed since. With "
        "--cluster, or from an RO-Crate (the zip file of a published run, or its folder), the request is "
        "adapted to the cluster: queue, group, nodes, starter, modules. Parameters and the number of processes "
        "stay the same unless you set -p or --processes.\n"
        "\n"
        "  hackathon rerun k3x9 --wait\n"
        "  hackathon rerun k3x9 --dry-run                   only show what has changed\n"
        "  hackathon rerun k3x9 --cluster slurm --queue gpu\n"
        "  hackathon rerun ~/Downloads/run-k3x9.zip --cluster laptop --wait"
    ),
)
@click.argument("name", metavar="RUN|CRATE", shell_complete=completing("run"))
@job_options
@click.option("--note", default="", metavar="TEXT", help=_("Note shown in results and on pages."))
@click.option("--tag", "tags", multiple=True, metavar="WORD", help=_("A tag; may be repeated."))
@click.option("--dry-run", is_flag=True, help=_("Only show what has changed, and what an RO-Crate would run."))
@click.option("-y", "--yes", is_flag=True, help=_("Run the program of an RO-Crate without asking."))
@click.option("--wait", "waiting", is_flag=True, help=_("Wait until all jobs have finished."))
@option_trust
@click.option("--json", "as_json", is_flag=True, help=_("Print JSON."))
def command(
    name: str,
    options: Options,
    note: str,
    tags: tuple[str, ...],
    dry_run: bool,
    yes: bool,
    waiting: bool,
    foreign: "Foreign",
    as_json: bool,
) -> None:
    from hackathon.cli.shown import finish
    from hackathon.jobs.places import admit_again
    from hackathon.runs.crate.archive import is_crate, read_crate

    if is_crate(name):
        outcomes = _from_crate(read_crate(name), options, note, tags, dry_run, as_json, foreign, yes)
    else:
        run = _find(name)
        admit_again(run.path, runs_folder().parent, foreign)
        # without changes on the command line, exactly the recorded script and program run
        plain = options == Options()
        if plain:
            outcomes = _as_it_was(run, note, tags, dry_run)
        else:
            outcomes = _moved(run, options, note, tags, dry_run, as_json, foreign)
    if outcomes is not None:
        finish(outcomes, waiting, as_json)


def _find(name: str) -> "RunDirectory":
    """Return a run of this project, else one of its event's from the index. Raises RequestError."""
    from hackathon.runs.directory import RunDirectory, find_run

    try:
        return find_run(name, runs_folder())
    except RequestError as error:
        if error.id not in ("runs.run_unknown", "runs.run_unknown_near"):
            raise
        from hackathon.index.gather import find_entry

        entry = find_entry(name, runs_folder().parent)
        if entry is None:
            raise
        if entry.removed:
            raise RequestError(
                "runs.rerun_removed",
                "run {run} was cleaned up: only its record is left, so it cannot be run again",
                run=entry.id,
            ) from None
        return RunDirectory(Path(entry.project) / "runs" / entry.id)


def _as_it_was(run: "RunDirectory", note: str, tags: Sequence[str], dry_run: bool) -> "Outcomes | None":
    from hackathon.cli.budget import admit_again
    from hackathon.runs.campaign import repeat_run
    from hackathon.runs.rerun import differences

    different = differences(run)
    click.echo(
        _(N_("changed since run {run}:") if different else N_("nothing has changed since run {run}"), run=run.id),
        err=True,
    )
    _echo_lines(different)
    admit_again(run, runs_folder().parent)
    return None if dry_run else repeat_run(run, runs_folder=runs_folder(), note=note, tags=tags)


def _moved(
    run: "RunDirectory",
    options: Options,
    note: str,
    tags: Sequence[str],
    dry_run: bool,
    as_json: bool,
    trust: "Foreign",
) -> "Outcomes | None":
    from hackathon.jobs.transfer import sources_here
    from hackathon.runs.rerun import source_of
    from hackathon.runs.source.provenance import differences

    old = run.request()
    sources = sources_here(old, options, os.environ, Path.cwd(), stay=True, foreign=trust)
    if old.in_place and sources.cluster.name != old.cluster:
        raise RequestError(
            "crate.in_place",
            "run {run} used its folder directly and kept no copy of the program, so it can only be rerun on "
            "its own cluster",
            run=run.id,
        )
    source = source_of(run, sources.runs)
    origin = {
        "kind": "run",
        "run": run.id,
        "path": str(run.path),
        "cluster": old.cluster,
        "source_digest": source.digest,
    }
    words = (note or run.note, tags or run.tags)
    return _submit(old, sources, source, origin, words, differences(run), old.source, dry_run, as_json, foreign=False)


def _from_crate(
    crate: "Crate",
    options: Options,
    note: str,
    tags: Sequence[str],
    dry_run: bool,
    as_json: bool,
    trust: "Foreign",
    yes: bool,
) -> "Outcomes | None":
    from hackathon.jobs.transfer import sources_here

    old = crate.request()
    sources = sources_here(old, options, os.environ, Path.cwd(), foreign=trust)
    source = crate.source()
    about = crate.about_source
    origin = {
        "kind": "crate",
        "crate": crate.path.name,
        "digest": crate.digest,
        "run": crate.run,
        "cluster": old.cluster,
        "team": old.team,
        "source_digest": source.digest,
        "source_digest_as_run": about.get("digest_as_run"),
        "masked": list(about.get("masked") or ()),
        "edited": list(crate.changed),
    }
    words = (note or crate.recorded.note, tags or crate.recorded.tags)
    path = str(crate.path.absolute())
    return _submit(old, sources, source, origin, words, _remarks(crate), path, dry_run, as_json, foreign=True, yes=yes)


def _submit(
    old: "Request", sources: Any, source: "Source", origin: dict[str, Any], words: tuple[str, Sequence[str]],
    remarks: list[str], path: str, dry_run: bool, as_json: bool, *, foreign: bool, yes: bool = False,
) -> "Outcomes | None":  # fmt: skip
    """Show the changes, ask about content by other accounts, then submit the new run; None if it was not submitted."""
    from hackathon.cli.shown import show_plan
    from hackathon.jobs.plan import Plan
    from hackathon.jobs.resolve import PROJECT
    from hackathon.jobs.transfer import transfer
    from hackathon.runs.campaign import plan, start

    files = {name: entry.content for name, entry in source.files.items()}
    new, changes = transfer(old, sources, run=origin["run"], files=files, source=path, foreign=foreign)
    if not foreign and new.cluster != old.cluster:
        lines = (line for number, line in enumerate(new.environment) if new.origins[f"environment.{number}"] == PROJECT)
        remarks += [
            _("the job also runs this line of the project; check that it works here: {line}", line=line)
            for line in lines
        ]

    def show(planned: Plan) -> None:
        if changes or not foreign:
            _echo_changes(new.cluster, changes)
        if remarks:
            click.echo(_("before you compare:"), err=True)
            _echo_lines(remarks)
        show_plan(planned)
        if foreign:
            _echo_brought(new, len(source.files) + len(source.links))

    planned = plan(sources, [new], admit=show)
    if dry_run:
        if as_json:
            from dataclasses import asdict

            answer = {"changes": [asdict(change) for change in changes], "remarks": remarks, "request": new.to_json()}
            if foreign:
                answer["from_crate"] = _brought(new)
            echo_json(answer)
        return None
    if foreign and not yes:
        import sys

        if not sys.stdin.isatty():
            raise RequestError(
                "crate.not_asked",
                "a program of somebody else runs only after you confirmed it; nothing was submitted",
                hint="read the lines above and `source/` in the RO-Crate, then add --yes",
            )
        if not click.confirm(_("Run this program of somebody else?"), err=True):
            click.echo(_("nothing was submitted"), err=True)
            return None
    origin["changes"] = [{"name": change.name, "old": change.old, "new": change.new} for change in changes]
    note, tags = words
    return start(planned, note=note, tags=tags, source=source, parent=origin["run"], facts={"origin": origin})


def _remarks(crate: "Crate") -> list[str]:
    """Return the differences between the rerun and the run, as far as the crate records them."""
    import hackathon

    about = crate.about_source
    remarks = [
        _(kind, files=", ".join(map(str, names)))
        for kind, names in (
            (N_("the RO-Crate was edited after it was published: {files}"), crate.changed),
            (N_("names were replaced in files of the program, which may affect it: {files}"), about.get("masked")),
            (N_("the job changed files of its program: {files}"), about.get("altered")),
            (
                N_("the run read these through links (`exclude:`), and they are not in the RO-Crate: {files}"),
                about.get("outside"),
            ),
        )
        if names
    ]
    then = crate.recorded.toolkit_version
    if then and then != hackathon.__version__:
        remarks.append(_("it ran with toolkit {then}; this is {now}", then=then, now=hackathon.__version__))
    software = _software(crate)
    if software:
        remarks.append(_("it ran with {software}", software=software))
    return remarks


def _software(crate: "Crate") -> str:
    """Return Python and framework with their versions on the first host."""
    name = next((name for name in sorted(crate.files) if name.startswith("env/")), None)
    environment = crate.record(name) if name else {}
    packages = environment.get("packages")
    packages = packages if isinstance(packages, dict) else {}
    framework = crate.recorded.framework
    python = str(environment.get("python") or "").split(" ")[0]
    parts = [f"Python {python}"] if python else []
    return ", ".join([*parts, *([f"{framework} {packages[framework]}"] if framework in packages else [])])


def _brought(new: "Request") -> dict[str, Any]:
    """Return the parts of a request that come from the crate and are executed: command, shell lines, variables."""
    from hackathon.jobs.foreign_variables import plain_value
    from hackathon.jobs.surroundings import CRATE

    return {
        "command": list(new.command),
        "environment": [
            line for at, line in enumerate(new.environment) if new.origins.get(f"environment.{at}") == CRATE
        ],
        "variables": {
            name: plain_value(value)
            for name, value in new.variables.items()
            if new.origins.get(f"variables.{name}") == CRATE
        },
    }


def _echo_brought(new: "Request", files: int) -> None:
    import shlex

    from hackathon.cli.show import printable

    brought = _brought(new)
    click.echo(
        ngettext(
            "from the RO-Crate, to be run as your account on {cluster} ({files} file of the program):",
            "from the RO-Crate, to be run as your account on {cluster} ({files} files of the program):",
            files,
            cluster=new.cluster,
            files=files,
        ),
        err=True,
    )
    lines = [
        ("command", shlex.join(brought["command"])),
        *(("line", line) for line in brought["environment"]),
        *(("variable", f"{name}={value}") for name, value in brought["variables"].items()),
    ]
    for kind, text in lines:
        click.echo(f"  {_(_TO_RUN_TEXTS[kind])}: {printable(text)}", err=True)


def _echo_changes(cluster: str, changes: "Sequence[RequestChange]") -> None:
    from hackathon.cli.show import printable

    click.echo(_("changes for cluster {cluster}:", cluster=cluster) if changes else _("nothing changes"), err=True)
    for change in changes:
        click.echo(printable(f"  {change.name}: {change.old} → {change.new}  ({change.why})"), err=True)


def _echo_lines(lines: Sequence[str]) -> None:
    from hackathon.cli.show import printable

    for line in lines:
        click.echo(f"  - {printable(line)}", err=True)
