"""`hackathon shell`: an interactive job with the environment of the project's jobs."""

import os
import subprocess
from pathlib import Path

import click

from hackathon.cli.options import job_options, named
from hackathon.jobs.options import Options
from hackathon.text.messages import message

_NOT_INTERACTIVE = frozenset({"-j", "oe", "--open-mode=append"})


@named("shell")
@click.argument("target", required=False, metavar="[RECIPE|FOLDER]")
@job_options
@click.option("--dry-run", is_flag=True, help=message("help.option_dry_run"))
def command(target: str | None, options: Options, dry_run: bool) -> None:
    import shlex

    from hackathon.cli.budget import admit
    from hackathon.jobs.check import check
    from hackathon.jobs.gather import gather
    from hackathon.jobs.render import render_shell
    from hackathon.jobs.resolve import resolve
    from hackathon.schedulers import registry
    from hackathon.text.errors import UnavailableError
    from hackathon.text.files import write_whole

    sources = gather(target, options, os.environ, Path.cwd())
    request = resolve(sources)
    check(request, sources.cluster, sources.recipe)
    admit([request], sources.cluster, sources.runs.parent, sources.event)
    text, words = render_shell(request, sources.cluster, sources.template_folders)
    script = sources.runs / "shell.sh"
    local = request.scheduler == "local"
    header = [word for word in words if word not in _NOT_INTERACTIVE]
    argv = registry.load(request.scheduler).shell_argv([] if local else header)
    if local:
        argv = ["bash", "--rcfile", str(script), "-i"]
    elif request.scheduler == "slurm":
        argv += ["srun", "--pty", "bash", "--rcfile", str(script), "-i"]
    click.echo(shlex.join(argv))
    if dry_run:
        return
    sources.runs.mkdir(parents=True, exist_ok=True)
    write_whole(script, text)
    if request.scheduler == "pbs":
        click.echo(message("cli.shell_source", file=script), err=True)
    try:
        raise click.exceptions.Exit(subprocess.call(argv))
    except FileNotFoundError:
        raise UnavailableError("cli.shell_missing", command=argv[0]) from None
