"""The rules about training programs, and the findings in one file."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hackathon.programs.scripts.findings import Edit, LintFinding, LintRule
from hackathon.text.messages import message
from hackathon.text.printable import printable

if TYPE_CHECKING:
    from hackathon.schedulers.scripts import Severity

RULES: dict[str, LintRule] = {
    # ---- the command
    "launcher-in-command": LintRule("error", "changed"),
    "file-missing": LintRule("error", "refused"),
    "not-executable": LintRule("error", "refused"),
    # ---- the program
    "unreadable": LintRule("warning", "ignored"),
    "no-process-group": LintRule("error", "changed"),
    "joins-nothing": LintRule("warning", "changed"),
    "joins-with-option": LintRule("warning", "changed"),
    "fixed-world": LintRule("error", "changed"),
    "not-averaged": LintRule("error", "changed"),
    "around-wrapper": LintRule("error", "changed"),
    "same-data": LintRule("error", "changed"),
    "same-stream": LintRule("error", "changed"),
    "divided-batch": LintRule("warning", "changed"),
    "starts-own-ranks": LintRule("error", "changed"),
    "swallowed-exception": LintRule("warning", "changed"),
    "own-address": LintRule("error", "changed"),
    "devices-in-program": LintRule("warning", "changed"),
    "one-gpu": LintRule("error", "changed"),
    "global-rank-as-gpu": LintRule("warning", "changed"),
    "no-sampler": LintRule("warning", "changed"),
    "no-set-epoch": LintRule("warning", "changed"),
    "save-on-every-rank": LintRule("warning", "changed"),
    # ---- the machine
    "path-not-visible": LintRule("warning", "changed"),
    "download-in-job": LintRule("warning", "changed"),
    "package-missing": LintRule("warning", "refused"),
    # ---- a shell script that the command starts
    "launcher-in-script": LintRule("error", "changed"),
    "address-in-script": LintRule("error", "changed"),
    "devices-in-script": LintRule("warning", "changed"),
    "folder-in-script": LintRule("warning", "changed"),
}
"""Id → rule; its text is the message `training.<id>` with `_` for `-`."""


MOST = 50
"""Reported findings of one rule in a file: further ones are of the same kind."""


@dataclass
class FileLook:
    """A file with its lines and the findings so far."""

    path: str
    dialect: str
    """`command`, `python` or `shell`."""
    lines: Sequence[str]
    findings: list[LintFinding] = field(default_factory=list)

    def add(
        self,
        rule: str,
        line: int,
        *edits: Edit,
        severity: "Severity | None" = None,
        **values: object,
    ) -> None:
        """Add a finding; `edits`: the changed lines, only for a safe change."""
        same = [finding.line for finding in self.findings if finding.rule == rule]
        if line in same or len(same) >= MOST:
            return
        fields = {name: printable(value)[:200] if isinstance(value, str) else value for name, value in values.items()}
        text = message(f"training.{rule.replace('-', '_')}", **fields)
        better = "\n".join(new for edit in edits for new in edit.lines) if edits else None
        kind = RULES[rule]
        self.findings.append(LintFinding(line, rule, severity or kind.severity, text, kind.effect, better, edits))
