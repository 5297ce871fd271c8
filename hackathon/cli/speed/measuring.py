"""Shared parts of the commands that measure a program in one job: wait, report a failure, write the best settings."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from hackathon.text.messages import N_, _

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hackathon.config.records import Scalar
    from hackathon.jobs.resolve import Sources
    from hackathon.runs.directory import RunDirectory
    from hackathon.tuning.measurement import SingleProcess, SpeedupMeasurement


def measured(
    measurement: "SpeedupMeasurement",
    again: bool,
    yes: bool,
    starts: int,
    parent: str | None = None,
    question: str = N_(
        "Submit a job that starts the program {starts} times (at most {minutes} min)? If several options win, a second "
        "job measures them together."
    ),
) -> "RunDirectory":
    """Return the ended run of a measurement: an equal one from today, or a new one.

    Exit code 1 with the cause if it failed.
    """
    from hackathon.cli.run.diagnose import show_cause
    from hackathon.cli.run.wait import wait
    from hackathon.cli.shown import confirm, show_outcomes, show_tail

    run = None if again else measurement.earlier()
    if run is not None:
        click.echo(
            _(
                "using run {run}, which measures the same program with the same options (--again measures anew)",
                run=run.id,
            ),
            err=True,
        )
    else:
        minutes = -(-measurement.plan.jobs[0].request.walltime // 60)
        confirm(measurement.plan, yes, _(question, starts=starts, minutes=minutes))
        outcomes = measurement.start(parent)
        show_outcomes(outcomes, 1)
        run = outcomes[0].run
        click.echo(
            _(
                "the job starts the program up to {starts} times; Ctrl-C stops waiting, the same command continues",
                starts=starts,
            ),
            err=True,
        )
    (state,) = wait([run])
    if state.state != "SUCCEEDED":
        show_tail(run.path)
        show_cause(run, state)
        raise click.exceptions.Exit(1)
    return run


def no_value(run: "RunDirectory", failed: str, metric: str) -> Exception:
    """Return the error for an unchanged program without a throughput, with the end of a failed one's log."""
    from hackathon.cli.show import printable
    from hackathon.logs.follow import tail
    from hackathon.text.errors import RequestError

    if not failed:
        return RequestError(
            "speedup.no_throughput",
            "the program recorded no {metric} as it is",
            hint="Raise --seconds, or describe the throughput line under `metrics:` in project.yaml; `hackathon "
            "try` shows what is recognised.",
            metric=metric,
        )
    log = Path(run.path / failed / "logs" / "rank-0.log")
    for line in tail(run.path / failed / "logs" / "rank-0.log", 12):
        click.echo(f"  {printable(line)}", err=True)
    return RequestError("speedup.program_failed", "the program failed as it is: {log}", log=log)


def apply_settings(program: "SingleProcess", settings: "Mapping[str, Scalar]", yes: bool) -> None:
    """Write settings into project.yaml, after showing and confirming the change."""
    if not settings:
        click.echo(_("nothing to write into project.yaml"), err=True)
        return
    apply_to_project(program.sources, settings, yes)


def apply_to_project(
    sources: "Sources", settings: "Mapping[str, Scalar]", yes: bool, files: "Mapping[Path, str] | None" = None
) -> None:
    """Write settings into project.yaml, and files beside it, after showing and confirming the change."""
    import difflib
    import sys

    from hackathon.cli.show import printable
    from hackathon.text.errors import RequestError
    from hackathon.text.files import write_whole
    from hackathon.tuning.project_changes import changed, write

    if sources.project is None:
        raise RequestError(
            "speedup.no_project",
            "there is no project.yaml in {folder} to write to",
            hint="Create one: hackathon init",
            folder=sources.runs.parent,
        )
    path, before, after = changed(sources.runs.parent, settings)
    for line in difflib.unified_diff(
        before.splitlines(), after.splitlines(), "project.yaml", "project.yaml", "", "", 1
    ):
        click.echo(printable(line.rstrip("\n")), err=True)
    if before == after and not files:
        click.echo(_("nothing to write into project.yaml"), err=True)
        return
    if not yes and not sys.stdin.isatty():
        raise RequestError(
            "speedup.apply_not_confirmed",
            "nobody is at a terminal to confirm the change of project.yaml",
            hint="Confirm with --yes.",
        )
    if not yes and not click.confirm(_("Write this into {path}?", path=path), err=True):
        raise click.Abort
    for file, text in (files or {}).items():
        write_whole(file, text)
        click.echo(_("created {path}", path=printable(str(file))), err=True)
    write(path, before, after)
    click.echo(_("wrote {path}", path=path), err=True)
