"""`hackathon shell`: an interactive job with the environment of the project's jobs."""

import subprocess
from typing import TYPE_CHECKING

import click

from hackathon.cli.options import job_options, named, option_trust
from hackathon.jobs.request import Options
from hackathon.text.messages import _

if TYPE_CHECKING:
    from hackathon.jobs.places import Foreign


@named(
    "shell",
    help=_(
        "Start an interactive job (`qsub -I`, `salloc`) with the header and the environment of the project's "
        "jobs.\n"
        "\n"
        "  hackathon shell --nodes 1 --walltime 30m\n"
        "  hackathon shell --jupyter           JupyterLab in the job, and how to reach it\n"
        "  hackathon shell --vscode            the ssh configuration for VS Code's Remote-SSH\n"
        "  hackathon shell --dry-run           only show the command"
    ),
)
@click.argument("target", required=False, metavar="[RECIPE|FOLDER]")
@job_options
@option_trust
@click.option("--jupyter", is_flag=True, help=_("Start JupyterLab in the job and print how to reach it."))
@click.option("--vscode", is_flag=True, help=_("Print the ssh configuration for VS Code when the job runs."))
@click.option("--dry-run", is_flag=True, help=_("Show what would be submitted, without submitting it."))
def command(
    target: str | None, options: Options, foreign: "Foreign", jupyter: bool, vscode: bool, dry_run: bool
) -> None:
    import shlex
    import signal
    from dataclasses import replace

    from hackathon.cli.budget import admit
    from hackathon.config.trust import writable_folder
    from hackathon.jobs.interactive import Interactive, interactive_values
    from hackathon.jobs.plan import plan_jobs
    from hackathon.jobs.render import render_shell
    from hackathon.jobs.sources import find_sources
    from hackathon.schedulers import registry
    from hackathon.text.errors import RequestError, UnavailableError
    from hackathon.text.files import write_whole

    if jupyter and vscode:
        raise RequestError("cli.shell_both", "--jupyter and --vscode: give one of them")
    sources = find_sources(target, options, foreign=foreign)
    planned = plan_jobs(sources, place=False, script=False)
    admit(planned)
    request = replace(planned.requests[0], requeue=None)  # nobody comes back to a shell that starts again
    kind: Interactive | None = "jupyter" if jupyter else "vscode" if vscode else None
    here = registry.known_dialect(sources.cluster).this_machine
    text, words = render_shell(
        request,
        sources.cluster,
        sources.template_folders,
        interactive=kind or "",
        texts=interactive_values(kind, this_machine=here) if kind is not None else "",
    )
    script = sources.runs / "shell.sh"
    shell = registry.load(request.scheduler, request.dialect).shell(words, script)
    if shell is None:
        raise RequestError(
            "cli.shell_none",
            "{scheduler} has no interactive jobs that the toolkit can start",
            scheduler=request.scheduler,
        )
    click.echo(shlex.join(shell.argv))
    if request.image is not None:
        click.echo(_("note: the shell runs on the node, not in the image {image}", image=request.image), err=True)
    if dry_run:
        return
    writable_folder(sources.runs)
    write_whole(script, text)
    if not shell.reads_rcfile:
        click.echo(_("when the shell starts: source {file}", file=script), err=True)
    # Ctrl-C is for the scheduler's command, which returns the job; unlike SIG_IGN, a handler is not inherited by it
    before = signal.signal(signal.SIGINT, lambda *__: None)
    try:
        raise click.exceptions.Exit(subprocess.call(shell.argv))
    except FileNotFoundError:
        raise UnavailableError(
            "cli.shell_missing", "{command} was not found on this machine", command=shell.argv[0]
        ) from None
    finally:
        signal.signal(signal.SIGINT, before)
