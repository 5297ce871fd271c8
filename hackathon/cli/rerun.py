"""`hackathon rerun`: the recorded script and source once more, here or on another cluster, also from a crate."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hackathon.cli.options import job_options, named, runs_folder
from hackathon.jobs.options import Options
from hackathon.text.errors import RequestError
from hackathon.text.messages import message

if TYPE_CHECKING:
    from hackathon.jobs.changes import Change
    from hackathon.jobs.request import Request
    from hackathon.runs.crate import Crate
    from hackathon.runs.directory import RunDirectory
    from hackathon.runs.snapshot import Source


@named("rerun")
@click.argument("name", metavar="RUN|CRATE")
@job_options
@click.option("--note", default="", metavar="TEXT", help=message("help.option_note"))
@click.option("--tag", "tags", multiple=True, metavar="WORD", help=message("help.option_tag"))
@click.option("--dry-run", is_flag=True, help=message("help.option_rerun_dry"))
@click.option("--wait", "waiting", is_flag=True, help=message("help.option_wait"))
@click.option("--json", "as_json", is_flag=True, help=message("help.option_json"))
def command(
    name: str, options: Options, note: str, tags: tuple[str, ...], dry_run: bool, waiting: bool, as_json: bool
) -> None:
    from hackathon.cli.submit import finish
    from hackathon.runs.crate import is_crate, read_crate
    from hackathon.runs.directory import find_run
    from hackathon.runs.submit import submit_many
    from hackathon.schedulers import registry

    if is_crate(name):
        again = _from_crate(read_crate(name), options, note, tags, dry_run, as_json)
    else:
        run = find_run(name, runs_folder())
        # without a word about what shall change it is the very script and the very program
        plain = options == Options()
        again = _as_it_was(run, note, tags, dry_run) if plain else _moved(run, options, note, tags, dry_run, as_json)
    if again is not None:
        finish(submit_many([again], registry.load(again.request().scheduler)), waiting, as_json)


def _as_it_was(run: "RunDirectory", note: str, tags: Sequence[str], dry_run: bool) -> "RunDirectory | None":
    from hackathon.cli.budget import admit_again
    from hackathon.runs.rerun import differences, rerun

    different = differences(run)
    click.echo(message("cli.rerun_differs" if different else "cli.rerun_same", run=run.id), err=True)
    _echo_lines(different)
    admit_again(run.request(), runs_folder().parent)
    return None if dry_run else rerun(run, runs_folder=runs_folder(), note=note, tags=tags)


def _moved(
    run: "RunDirectory", options: Options, note: str, tags: Sequence[str], dry_run: bool, as_json: bool
) -> "RunDirectory | None":
    from hackathon.jobs.transfer import sources_here
    from hackathon.runs.provenance import differences
    from hackathon.runs.rerun import source_of

    old = run.request()
    here = sources_here(old, options, os.environ, Path.cwd(), stay=True)
    if old.in_place and here.cluster.name != old.cluster:
        raise RequestError("crate.in_place", run=run.id)
    source = source_of(run, here.runs)
    origin = {
        "kind": "run",
        "run": run.id,
        "path": str(run.path),
        "cluster": old.cluster,
        "source_digest": source.digest,
    }
    words = (note or run.note, tags or run.tags)
    return _submit(old, here, source, origin, words, differences(run), old.source, dry_run, as_json, foreign=False)


def _from_crate(
    crate: "Crate", options: Options, note: str, tags: Sequence[str], dry_run: bool, as_json: bool
) -> "RunDirectory | None":
    from hackathon.jobs.transfer import sources_here

    old = crate.request()
    here = sources_here(old, options, os.environ, Path.cwd())
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
    record = crate.record("request.json")
    words = (note or str(record.get("note") or ""), tags or [str(tag) for tag in record.get("tags") or ()])
    place = str(crate.path.absolute())
    return _submit(old, here, source, origin, words, _remarks(crate), place, dry_run, as_json, foreign=True)


def _submit(
    old: "Request", here: Any, source: "Source", origin: dict[str, Any], words: tuple[str, Sequence[str]],
    remarks: list[str], place: str, dry_run: bool, as_json: bool, *, foreign: bool,
) -> "RunDirectory | None":  # fmt: skip
    """Show what changes, then make the new run; None when it was only to be shown."""
    from hackathon.cli.budget import admit
    from hackathon.cli.show import echo_advice, request_line
    from hackathon.jobs.render import render
    from hackathon.jobs.resolve import PROJECT
    from hackathon.jobs.transfer import transfer
    from hackathon.runs.rerun import rerun_moved

    files = {name: entry.content for name, entry in source.files.items()}
    new, changes = transfer(old, here, run=origin["run"], files=files, source=place, foreign=foreign)
    script = render(new, here.cluster, here.template_folders)
    if foreign or new.cluster != old.cluster:
        kept = (line for number, line in enumerate(new.environment) if new.origins[f"environment.{number}"] == PROJECT)
        remarks += [message("crate.remark_kept", line=line) for line in kept]
    _echo_changes(new.cluster, changes, remarks)
    click.echo(request_line(new), err=True)
    admit([new], here.cluster, here.runs.parent, here.event)
    echo_advice([new])
    if dry_run:
        if as_json:
            import json
            from dataclasses import asdict

            told = {"changes": [asdict(each) for each in changes], "remarks": remarks, "request": new.to_json()}
            click.echo(json.dumps(told, ensure_ascii=False, indent=1))
        return None
    origin["changes"] = [{"name": each.name, "old": each.old, "new": each.new} for each in changes]
    note, tags = words
    return rerun_moved(
        new, script, source, runs_folder=here.runs, parent=origin["run"], origin=origin, note=note, tags=tags
    )


def _remarks(crate: "Crate") -> list[str]:
    """Return what makes the rerun another one than the run was, as far as the crate tells."""
    import hackathon

    about = crate.about_source
    found = [
        message(f"crate.remark_{kind}", files=", ".join(map(str, names)))
        for kind, names in (
            ("edited", crate.changed), ("masked", about.get("masked")), ("altered", about.get("altered"))
        )
        if names
    ]  # fmt: skip
    then = str(crate.record("request.json").get("toolkit_version") or "")
    if then and then != hackathon.__version__:
        found.append(message("crate.remark_toolkit", then=then, now=hackathon.__version__))
    software = _software(crate)
    if software:
        found.append(message("crate.remark_software", software=software))
    return found


def _software(crate: "Crate") -> str:
    """Return Python and framework with their versions on the first host."""
    name = next((name for name in sorted(crate.files) if name.startswith("env/")), None)
    environment = crate.record(name) if name else {}
    packages = environment.get("packages")
    packages = packages if isinstance(packages, dict) else {}
    framework = str(crate.record("request.json").get("framework") or "")
    python = str(environment.get("python") or "").split(" ")[0]
    parts = [f"Python {python}"] if python else []
    return ", ".join([*parts, *([f"{framework} {packages[framework]}"] if framework in packages else [])])


def _echo_changes(cluster: str, changes: "Sequence[Change]", remarks: Sequence[str]) -> None:
    from hackathon.cli.show import printable

    click.echo(message("crate.changes" if changes else "crate.same", cluster=cluster), err=True)
    for each in changes:
        click.echo(printable(f"  {each.name}: {each.old} → {each.new}  ({each.why})"), err=True)
    if remarks:
        click.echo(message("crate.remarks"), err=True)
        _echo_lines(remarks)


def _echo_lines(lines: Sequence[str]) -> None:
    from hackathon.cli.show import printable

    for line in lines:
        click.echo(f"  - {printable(line)}", err=True)
