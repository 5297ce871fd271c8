"""The expert that looks at a failure: rules are data, this applies them."""

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
    """Return what is wrong, the cause first; an empty list when no rule holds.

    `paths`: run directories, study directories, files and folders of logs. Files together are the logs of one job; of
    several runs each has a cause of its own. `rules`: instead of those on the search path, which begins with `folders`
    (a project's and an event's). Texts are in the current language.
    """
    from hackathon.config.load import load_rules
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
    """Return the diagnosis of a run; `status` None: as its directory alone tells it."""
    from hackathon.diagnosis.examine import diagnose_run as examine

    return examine(run, status, rules=rules, folders=folders)
