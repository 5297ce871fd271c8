"""`hackathon convert`: translate the header of a job script for another cluster's scheduler."""

from pathlib import Path

import click

from hackathon.cli.json_output import echo_json
from hackathon.cli.options import named
from hackathon.text.messages import _


@named(
    "convert",
    help=_(
        "Convert the header of a job script for another cluster's scheduler. The commands stay as they are; a "
        "directive without an equivalent becomes a comment, and the exit code is 1. Problems for the new "
        "scheduler are reported on standard error.\n"
        "\n"
        "  hackathon convert job.sh --to abci3\n"
        "  hackathon convert job.sh --to slurm -o job-slurm.sh\n"
        "  hackathon convert job.sh --to pjm"
    ),
)
@click.argument("script", metavar="SCRIPT", type=click.Path(path_type=Path, allow_dash=True))
@click.option(
    "--to",
    "target",
    required=True,
    metavar="CLUSTER",
    help=_("Cluster to convert for; or pbs, slurm, gridengine, pjm, nqsv."),
)
@click.option(
    "--from", "origin", metavar="CLUSTER", help=_("Cluster that the script is for; default: each that has its queue.")
)
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help=_("Write the script to a new file instead of standard output."),
)
@click.option("--json", "as_json", is_flag=True, help=_("Print JSON."))
def command(script: Path, target: str, origin: str | None, output: Path | None, as_json: bool) -> None:
    from hackathon.cli.options import runs_folder
    from hackathon.programs.scripts.conversion import convert, target_language
    from hackathon.programs.scripts.findings import SEVERITY_TEXTS
    from hackathon.programs.scripts.fixes import put
    from hackathon.programs.scripts.lint import lint
    from hackathon.programs.scripts.source import read_script
    from hackathon.schedulers import registry
    from hackathon.schedulers.registry import SCRIPTS
    from hackathon.text.printable import printable

    folders = [runs_folder().parent]
    # a scheduler's name is accepted if no profile has it, so that scripts can precede the profile
    clusters = registry.list_clusters(folders)[0]
    is_cluster = target not in SCRIPTS or any(profile.name == target for profile in clusters)
    cluster = registry.load_cluster(target, folders) if is_cluster else None
    language = target_language(target, cluster)
    origins = [registry.load_cluster(origin, folders)] if origin is not None else clusters
    converted = convert(read_script(script), cluster, language, origins)
    report = lint(converted.script, language.name if cluster is None else None, cluster)
    text = converted.script.text()
    if output is not None:
        put(output, text)
    if as_json:
        value = {
            "schema_version": 1,
            "from": converted.source,
            "to": converted.target,
            "script": text.encode("utf-8", "replace").decode("utf-8"),
            "lost": [{"line": line, "directive": printable(directive)} for line, directive in converted.lost],
            "findings": [finding.as_json() for finding in report.findings],
        }
        echo_json(value)
    else:
        if output is None:
            click.echo(text, nl=False)
        else:
            click.echo(_("created {path}", path=output), err=True)
        for line, directive in converted.lost:
            click.echo(
                _("line {line} has no equivalent and became a comment: {text}", line=line, text=printable(directive)),
                err=True,
            )
        for finding in report.findings:
            click.echo(f"{finding.line}: {_(SEVERITY_TEXTS[finding.severity])}: {finding.message}", err=True)
    raise click.exceptions.Exit(1 if converted.lost else 0)
