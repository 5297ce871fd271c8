"""Explain why a run failed. The rules are data; this package applies them."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hackathon.config.rule import Rule
    from hackathon.diagnosis.examine import Diagnosis
    from hackathon.diagnosis.findings import Finding
    from hackathon.runs.directory import RunDirectory
    from hackathon.runs.states import RunStatus

__all__ = ["diagnose", "diagnose_run"]


def diagnose(
    paths: "Sequence[Path | str]", *, rules: "Sequence[Rule] | None" = None, folders: "Sequence[Path]" = ()
) -> "list[Finding]":
    """Return the findings, the cause first; an empty list when no rule matches.

    `paths`: run directories, study directories, log files or folders of logs. Plain files count as the logs of one job;
    each run gets a cause of its own. `rules`: used instead of the rules on the search path. `folders`: searched for
    rules first (those of a project and an event). Texts are in the current language.
    """
    from hackathon.config.rule_files import load_rules
    from hackathon.diagnosis.examine import diagnose_files
    from hackathon.diagnosis.sources import runs_among

    rules = load_rules(folders)[0] if rules is None else rules
    runs, files = runs_among([Path(path) for path in paths])
    findings: list[Finding] = []
    for run in runs:
        findings += diagnose_run(run, rules=rules).findings
    if files:
        findings += diagnose_files(files, rules=rules).findings
    return findings


def diagnose_run(
    run: "RunDirectory",
    status: "RunStatus | None" = None,
    *,
    rules: "Sequence[Rule] | None" = None,
    folders: "Sequence[Path]" = (),
) -> "Diagnosis":
    """Return the diagnosis of a run. Without `status`, the run's state is read from its directory."""
    from hackathon.diagnosis.examine import diagnose_run as examine

    return examine(run, status, rules=rules, folders=folders)
