"""Lint a job script: what its scheduler ignores, refuses or misreads, and what fails in the job."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from hackathon.programs.scripts import body_rules, header_rules, launch_rules, machine_rules
from hackathon.programs.scripts.findings import LintReport
from hackathon.programs.scripts.look import ScriptLook, detect, look_at
from hackathon.programs.scripts.source import ScriptText, read_script
from hackathon.schedulers import registry
from hackathon.schedulers.scripts import ScriptLanguage, ScriptRequest
from hackathon.text.errors import RequestError

if TYPE_CHECKING:
    from hackathon.config.cluster import Cluster

MOST = 50
"""Scripts of a folder that are checked."""


CHECKS = (
    header_rules.check_file,
    header_rules.check_places,
    header_rules.check_dialects,
    header_rules.check_placeholders,
    header_rules.check_words,
    machine_rules.check_values,
    header_rules.check_repeats,
    machine_rules.check_numbers,
    machine_rules.check_machine,
    body_rules.check_body,
    body_rules.check_output,
    launch_rules.check_launches,
)
"""In this order: a later check may skip a line with an earlier finding."""


PLAIN = ScriptLanguage("", "", "#\n", {}, lambda __: ScriptRequest(), lambda *__: ([], []), lambda __: ())
"""The language of a script without directives."""
BODY_CHECKS = (body_rules.check_shell, launch_rules.check_launches)


def language_of(
    source: ScriptText, dialect: str | None = None, cluster: "Cluster | None" = None
) -> ScriptLanguage | None:
    """Return the language of a script: the requested one, else the cluster's scheduler, else by its directives."""
    if dialect or cluster:
        return registry.script_language(dialect or (cluster.scheduler if cluster else ""))
    return detect(source.lines, registry.script_languages())


def lint(
    source: ScriptText, dialect: str | None = None, cluster: "Cluster | None" = None, folder: Path | None = None
) -> LintReport:
    """Return the findings in a script, by line. The script is not run.

    `folder`: that of the script, from which it is submitted; its own folders are then looked for.
    Without directives only the commands are checked, as far as they are wrong with every scheduler.
    """
    look = looked_at(source, dialect, cluster)
    if look is None and (unread := unread_scheduler(source.lines)):
        return LintReport(source.name, None, (), unread)
    checks = CHECKS if look else BODY_CHECKS
    look = look or look_at(source, PLAIN, registry.script_languages())
    look.folder = folder
    for check in checks:
        check(look)
    once = {(finding.line, finding.rule, finding.message): finding for finding in look.findings}
    findings = sorted(once.values(), key=lambda finding: (finding.line, finding.severity))
    return LintReport(source.name, look.language.name or None, tuple(findings))


def unread_scheduler(lines: tuple[str, ...]) -> str:
    """Return the scheduler of a script's directives, if it is one whose scripts are not read; "" otherwise."""
    for line in lines:
        word = re.match(r"#\s*[A-Za-z@]+:?", line)
        title = registry.UNREAD.get(re.sub(r"\s", "", word[0]).upper()) if word else None
        if title and re.match(r"#\s*[A-Za-z@]+:?\s*-|#\s*@\s*\w+\s*=", line):
            return title
    return ""


def scripts_in(folder: Path, endings: tuple[str, ...], cluster: "Cluster | None" = None) -> Iterator[LintReport]:
    """Yield a report of each script in a folder with directives and findings; unreadable ones are skipped."""
    names = sorted(path for path in folder.iterdir() if path.suffix in endings) if folder.is_dir() else []
    for path in names[:MOST]:
        report = lint_directed(path, cluster)
        if report is not None and report.findings:
            yield report


def lint_directed(path: Path, cluster: "Cluster | None" = None) -> LintReport | None:
    """Return the findings in a script as a cluster reads it; None for an unreadable file or without directives."""
    try:
        source = read_script(path)
    except RequestError:
        return None
    if detect(source.lines, registry.script_languages()) is None:
        return None
    is_known = cluster is not None and registry.script_language(cluster.scheduler) is not None
    return lint(source, cluster=cluster if is_known else None)


def looked_at(source: ScriptText, dialect: str | None = None, cluster: "Cluster | None" = None) -> ScriptLook | None:
    """Return the parsed script without findings, None without a known scheduler that reads it."""
    language = language_of(source, dialect, cluster)
    return look_at(source, language, registry.script_languages(), cluster) if language else None
