"""`hackathon lint`: check how a scheduler reads a hand-written job script."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from hackathon.cli.json_output import echo_json
from hackathon.cli.options import completing, named
from hackathon.schedulers.registry import SCRIPTS
from hackathon.text.messages import N_, _, ngettext

if TYPE_CHECKING:
    from hackathon.config.cluster import Cluster
    from hackathon.programs.scripts.findings import LintReport
    from hackathon.programs.scripts.source import ScriptText

COLORS = {"error": "red", "warning": "yellow"}


@named(
    "lint",
    help=_(
        "Find mistakes in hand-written job scripts for PBS, Slurm, Grid Engine, PJM or NQSV: directives that "
        "the scheduler silently ignores, refuses or reads as something else, numbers that do not fit, commands "
        "that fail in a job. Each finding shows the line, what the scheduler does, and the corrected line. "
        "With --cluster, the limits of its queues are checked too. Scripts are read, never run; `-` is "
        "standard input.\n"
        "\n"
        "  hackathon lint job.sh\n"
        "  hackathon lint job.sh --cluster reedbush-h\n"
        "  hackathon lint *.sh --json\n"
        "  hackathon lint job.sh --fix               creates job.fixed.sh\n"
        "  hackathon lint --rules"
    ),
)
@click.argument("scripts", nargs=-1, metavar="SCRIPT…", type=click.Path(path_type=Path, allow_dash=True))
@click.option(
    "--cluster",
    metavar="NAME",
    shell_complete=completing("cluster"),
    help=_("Cluster profile (`hackathon clusters` lists them)."),
)
@click.option(
    "--dialect",
    type=click.Choice(list(SCRIPTS)),
    help=_("Scheduler whose directives the script has; by default, the script tells."),
)
@click.option(
    "--fix", is_flag=True, help=_("Write NAME.fixed.EXT beside the script, with the corrections that are safe.")
)
@click.option("--rules", is_flag=True, help=_("List all rules."))
@click.option("--json", "as_json", is_flag=True, help=_("Print JSON."))
def command(
    scripts: tuple[Path, ...], cluster: str | None, dialect: str | None, fix: bool, rules: bool, as_json: bool
) -> None:
    from hackathon.cli.main import show_error
    from hackathon.programs.scripts.fixes import fixed, write_fixed
    from hackathon.programs.scripts.lint import lint
    from hackathon.programs.scripts.source import read_script
    from hackathon.text.errors import RequestError

    if rules:
        _rules(as_json)
        return
    if not scripts:
        raise RequestError("lint.no_scripts", "no script given")
    if cluster and dialect:
        raise RequestError(
            "lint.dialect_and_cluster",
            "give --dialect or --cluster, not both: the cluster's profile names its scheduler",
        )
    if fix and any(str(path) == "-" for path in scripts):
        raise RequestError("lint.fix_needs_file", "--fix needs a file, not standard input")
    profile = _profile(cluster)
    reports: list[LintReport] = []
    unreadable = False
    for path in scripts:
        try:
            source = read_script(path)
            report = lint(source, dialect, profile, None if str(path) == "-" else path.parent)
            if not as_json:
                _show(report, _other(source) if report.dialect is None else "")
            reports.append(report)
            if fix:
                better, count = fixed(source, dialect, profile)
                text = _("{path}: nothing to correct automatically", path=path)
                if count:
                    text = ngettext(
                        "created {path} with {count} correction",
                        "created {path} with {count} corrections",
                        count,
                        path=write_fixed(path, better.text()),
                        count=count,
                    )
                click.echo(text, err=True)
        except RequestError as error:
            show_error(error)
            unreadable = True
    if as_json:
        value = {"schema_version": 1, "files": [report.as_json() for report in reports]}
        echo_json(value)
    unreadable |= any(report.unread for report in reports)
    code = 2 if unreadable else 1 if any(report.has_errors for report in reports) else 0
    raise click.exceptions.Exit(code)


def _profile(name: str | None) -> "Cluster | None":
    """Return a cluster's profile, None without a name. Raises RequestError as profiles do."""
    from hackathon.cli.options import runs_folder
    from hackathon.programs.scripts.conversion import target_language
    from hackathon.schedulers import registry

    if name is None:
        return None
    profile = registry.load_cluster(name, [runs_folder().parent])
    target_language(name, profile)
    return profile


def _other(source: "ScriptText") -> str:
    """Return the message about a file that is not a job script; empty for a script."""
    first = source.lines[0] if source.lines else ""
    if source.name.endswith(".py") or (first.startswith("#!") and "python" in first):
        return N_("{path}: a Python program, not a job script; `hackathon check` checks programs")
    manifest = any(line.startswith(("apiVersion:", "kind:")) for line in source.lines)  # Kubernetes reads jobs in YAML
    return (
        N_("{path}: a YAML file, not a job script; `hackathon check` checks a project")
        if source.name.endswith((".yaml", ".yml")) and not manifest
        else ""
    )


def _show(report: "LintReport", other: str) -> None:
    from hackathon.programs.scripts.findings import SEVERITY_TEXTS
    from hackathon.schedulers.registry import script_language
    from hackathon.text.printable import printable

    language = script_language(report.dialect) if report.dialect else None
    title = language.title if language else _("no directives; only the body was checked")
    if not report.findings:
        if other:
            click.echo(_(other, path=printable(report.path)))
            return
        if report.unread:
            click.echo(
                _("{path}: not checked: scripts for {scheduler} are not read", path=printable(report.path),
                  scheduler=report.unread)
            )  # fmt: skip
            return
        if language is None:
            click.echo(_("{path}: OK (no directives; only the body was checked)", path=printable(report.path)))
            return
        click.echo(_("{path}: OK ({dialect})", path=printable(report.path), dialect=title))
        return
    click.echo(_("{path} ({dialect})", path=printable(report.path), dialect=title))
    for finding in report.findings:
        severity = click.style(_(SEVERITY_TEXTS[finding.severity]), fg=COLORS[finding.severity])
        click.echo(f"  {finding.line}: {severity}: {finding.message} [{finding.rule}]")
        for line in (finding.replacement or "").split("\n") if finding.replacement is not None else ():
            click.echo(f"      → {printable(line)}")
    click.echo("  " + _("{errors} {errors:error|errors}, {warnings} {warnings:warning|warnings}", **report.counts))


def _rules(as_json: bool) -> None:
    """Print every rule with its severity, its effect and its text."""
    import re

    from hackathon.programs.scripts.findings import RULES, SEVERITY_TEXTS

    rows = []
    for name, rule in RULES.items():
        text = re.sub(r"\{[a-z]+(?::[^{}]*)?\}", "…", _(rule.text))
        rows.append({"rule": name, "severity": rule.severity, "effect": rule.effect, "message": text})
    if as_json:
        echo_json({"schema_version": 1, "rules": rows})
        return
    for row in rows:
        severity = _(SEVERITY_TEXTS[row["severity"]])
        click.echo(f"{row['rule']} ({severity}, {row['effect']})\n    {row['message']}")
