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
    "launcher-in-command": LintRule("error", "changed", "training.launcher_in_command"),
    "file-missing": LintRule("error", "refused", "training.file_missing"),
    "not-executable": LintRule("error", "refused", "training.not_executable"),
    # ---- the program
    "unreadable": LintRule("warning", "ignored", "training.unreadable"),
    "no-process-group": LintRule("error", "changed", "training.no_process_group"),
    "joins-nothing": LintRule("warning", "changed", "training.joins_nothing"),
    "joins-with-option": LintRule("warning", "changed", "training.joins_with_option"),
    "fixed-world": LintRule("error", "changed", "training.fixed_world"),
    "not-averaged": LintRule("error", "changed", "training.not_averaged"),
    "around-wrapper": LintRule("error", "changed", "training.around_wrapper"),
    "same-data": LintRule("error", "changed", "training.same_data"),
    "same-stream": LintRule("error", "changed", "training.same_stream"),
    "divided-batch": LintRule("warning", "changed", "training.divided_batch"),
    "starts-own-ranks": LintRule("error", "changed", "training.starts_own_ranks"),
    "swallowed-exception": LintRule("warning", "changed", "training.swallowed_exception"),
    "own-address": LintRule("error", "changed", "training.own_address"),
    "devices-in-program": LintRule("warning", "changed", "training.devices_in_program"),
    "one-gpu": LintRule("error", "changed", "training.one_gpu"),
    "global-rank-as-gpu": LintRule("warning", "changed", "training.global_rank_as_gpu"),
    "no-sampler": LintRule("warning", "changed", "training.no_sampler"),
    "no-set-epoch": LintRule("warning", "changed", "training.no_set_epoch"),
    "save-on-every-rank": LintRule("warning", "changed", "training.save_on_every_rank"),
    # ---- the machine
    "path-not-visible": LintRule("warning", "changed", "training.path_not_visible"),
    "download-in-job": LintRule("warning", "changed", "training.download_in_job"),
    "package-missing": LintRule("warning", "refused", "training.package_missing"),
    # ---- a shell script that the command starts
    "launcher-in-script": LintRule("error", "changed", "training.launcher_in_script"),
    "address-in-script": LintRule("error", "changed", "training.address_in_script"),
    "devices-in-script": LintRule("warning", "changed", "training.devices_in_script"),
    "folder-in-script": LintRule("warning", "changed", "training.folder_in_script"),
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
        text = message(RULES[rule].text, **fields)
        better = "\n".join(new for edit in edits for new in edit.lines) if edits else None
        kind = RULES[rule]
        self.findings.append(LintFinding(line, rule, severity or kind.severity, text, kind.effect, better, edits))
