"""`hackathon lint`: check how a scheduler reads a hand-written job script."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from hackathon.cli.json_output import echo_json
from hackathon.cli.options import named
from hackathon.schedulers.registry import SCRIPTS
from hackathon.text.messages import message

if TYPE_CHECKING:
    from hackathon.config.cluster import Cluster
    from hackathon.programs.scripts.findings import LintReport
    from hackathon.programs.scripts.source import ScriptText

COLORS = {"error": "red", "warning": "yellow"}


@named("lint", help=message("help.lint_help"))
@click.argument("scripts", nargs=-1, metavar="SCRIPT…", type=click.Path(path_type=Path, allow_dash=True))
@click.option("--cluster", metavar="NAME", help=message("help.option_cluster"))
@click.option("--dialect", type=click.Choice(list(SCRIPTS)), help=message("help.option_dialect"))
@click.option("--fix", is_flag=True, help=message("help.option_fix"))
@click.option("--rules", is_flag=True, help=message("help.option_lint_rules"))
@click.option("--json", "as_json", is_flag=True, help=message("help.option_json"))
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
        raise RequestError("lint.no_scripts")
    if cluster and dialect:
        raise RequestError("lint.dialect_and_cluster")
    if fix and any(str(path) == "-" for path in scripts):
        raise RequestError("lint.fix_needs_file")
    profile = _profile(cluster)
    reports: list[LintReport] = []
    unreadable = False
    for path in scripts:
        try:
            source = read_script(path)
            report = lint(source, dialect, profile)
            if not as_json:
                _show(report, _other(source) if report.dialect is None else "")
            reports.append(report)
            if fix:
                better, count = fixed(source, dialect, profile)
                text = message("lint.nothing_fixed", path=path)
                if count:
                    text = message("lint.fixed", path=write_fixed(path, better.text()), count=count)
                click.echo(text, err=True)
        except RequestError as error:
            show_error(error)
            unreadable = True
    if as_json:
        value = {"schema_version": 1, "files": [report.as_json() for report in reports]}
        echo_json(value)
    code = 2 if unreadable else 1 if any(report.has_errors for report in reports) else 0
    raise click.exceptions.Exit(code)


def _profile(name: str | None) -> "Cluster | None":
    """Return a cluster's profile, None without a name. Raises RequestError as profiles do."""
    from hackathon.cli.options import runs_folder
    from hackathon.programs.scripts.conversion import target_language
    from hackathon.schedulers import profiles

    if name is None:
        return None
    profile = profiles.load_cluster(name, [runs_folder().parent])
    target_language(name, profile)
    return profile


def _other(source: "ScriptText") -> str:
    """Return the message about a file that is not a job script; empty for a script."""
    first = source.lines[0] if source.lines else ""
    if source.name.endswith(".py") or (first.startswith("#!") and "python" in first):
        return "lint.is_python"
    manifest = any(line.startswith(("apiVersion:", "kind:")) for line in source.lines)  # Kubernetes reads jobs in YAML
    return "lint.is_yaml" if source.name.endswith((".yaml", ".yml")) and not manifest else ""


def _show(report: "LintReport", other: str) -> None:
    from hackathon.programs.scripts.findings import SEVERITY_TEXTS
    from hackathon.schedulers.registry import script_language
    from hackathon.text.printable import printable

    language = script_language(report.dialect) if report.dialect else None
    title = language.title if language else message("lint.no_dialect")
    if not report.findings:
        if other:
            click.echo(message(other, path=printable(report.path)))
            return
        click.echo(message("lint.clean", path=printable(report.path), dialect=title))
        return
    click.echo(message("lint.in_file", path=printable(report.path), dialect=title))
    for finding in report.findings:
        severity = click.style(message(SEVERITY_TEXTS[finding.severity]), fg=COLORS[finding.severity])
        click.echo(f"  {finding.line}: {severity}: {finding.message} [{finding.rule}]")
        for line in (finding.replacement or "").split("\n") if finding.replacement is not None else ():
            click.echo(f"      → {printable(line)}")
    click.echo(f"  {message('lint.summary', **report.counts)}")


def _rules(as_json: bool) -> None:
    """Print every rule with its severity, its effect and its text."""
    import re

    from hackathon.programs.scripts.findings import RULES, SEVERITY_TEXTS

    rows = []
    for name, rule in RULES.items():
        text = re.sub(r"\{[a-z]+(?::[^{}]*)?\}", "…", message(rule.text))
        rows.append({"rule": name, "severity": rule.severity, "effect": rule.effect, "message": text})
    if as_json:
        echo_json({"schema_version": 1, "rules": rows})
        return
    for row in rows:
        severity = message(SEVERITY_TEXTS[row["severity"]])
        click.echo(f"{row['rule']} ({severity}, {row['effect']})\n    {row['message']}")
