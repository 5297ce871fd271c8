"""`hackathon convert`: translate the header of a job script for another cluster's scheduler."""

from pathlib import Path

import click

from hackathon.cli.json_output import echo_json
from hackathon.cli.options import named
from hackathon.text.messages import _


@named(
    "convert",
    help=_(
        "Convert a job script for another cluster's scheduler: its header, and the scheduler's variables in its "
        "commands. Parts without an equivalent are listed on standard error; a directive becomes a "
        "comment. If the cluster's limits refuse the new script, it is not printed.\n"
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
    from hackathon.programs.scripts.conversion import convert, refused, target_language
    from hackathon.programs.scripts.findings import SEVERITY_TEXTS
    from hackathon.programs.scripts.fixes import put
    from hackathon.programs.scripts.lint import lint
    from hackathon.programs.scripts.source import read_script
    from hackathon.schedulers import registry
    from hackathon.schedulers.registry import SCRIPTS
    from hackathon.text.errors import RequestError
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
    refusal = refused(report)
    text = converted.script.text()
    if output is not None and refusal is None:
        put(output, text)
    # variables of the old scheduler are listed already
    findings = [finding for finding in report.findings if finding.rule != "foreign-variable"]
    if as_json:
        value = {
            "schema_version": 1,
            "from": converted.source,
            "to": converted.target,
            "script": None if refusal else text.encode("utf-8", "replace").decode("utf-8"),
            "refused": refusal.message if refusal else None,
            "not_translated": [
                {"line": loss.line, "text": printable(loss.text), "why": loss.why} for loss in converted.not_translated
            ],
            "changed": [
                {"field": change.field, "from": printable(change.before), "to": printable(change.after),
                 "why": change.why}
                for change in converted.changed
            ],
            "findings": [finding.as_json() for finding in findings],
        }  # fmt: skip
        echo_json(value)
    elif refusal is None:
        if output is None:
            click.echo(text, nl=False)
        else:
            click.echo(_("created {path}", path=output), err=True)
        for change in converted.changed:
            before, after = printable(change.before) or "-", printable(change.after) or "-"
            click.echo(
                _("changed: {field}: {before} → {after} ({why})",
                  field=change.field, before=before, after=after, why=change.why),
                err=True,
            )  # fmt: skip
        for loss in converted.not_translated:
            click.echo(
                _("line {line} is not translated: {text} ({why})",
                  line=loss.line, text=printable(loss.text), why=loss.why),
                err=True,
            )  # fmt: skip
        for finding in findings:
            click.echo(f"{finding.line}: {_(SEVERITY_TEXTS[finding.severity])}: {finding.message}", err=True)
    if refusal is not None and cluster is not None:
        raise RequestError(
            "convert.refused",
            "{cluster} refuses the converted script: {reason}",
            hint="name a queue of {cluster} that allows it in the script, or ask for less: {queues}",
            cluster=cluster.name,
            reason=refusal.message,
            queues=", ".join(cluster.queues),
        )
    raise click.exceptions.Exit(1 if converted.not_translated else 0)
