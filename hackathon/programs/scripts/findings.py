"""Findings in a script, and the linter's rules."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from hackathon.text.messages import message
from hackathon.text.printable import printable

if TYPE_CHECKING:  # `submit` reads a command before it is known whether there is a script
    from hackathon.schedulers.scripts import Effect, Severity


class LintRule(NamedTuple):
    """A rule's default severity, and how the scheduler reacts."""

    severity: "Severity"
    effect: "Effect"


RULES: dict[str, LintRule] = {
    # ---- format of the file
    "carriage-return": LintRule("error", "refused"),
    "byte-order-mark": LintRule("warning", "changed"),
    "not-utf8": LintRule("warning", "changed"),
    "no-shebang": LintRule("error", "refused"),
    # ---- position and form of a directive
    "after-command": LintRule("error", "ignored"),
    "indented": LintRule("error", "ignored"),
    "commented": LintRule("warning", "ignored"),
    "full-width": LintRule("error", "refused"),
    "in-document": LintRule("warning", "changed"),
    "two-dialects": LintRule("error", "changed"),
    "partly-obeyed": LintRule("warning", "changed"),
    "foreign-directive": LintRule("error", "ignored"),
    "trailing-comment": LintRule("error", "refused"),
    "spaced-equals": LintRule("error", "refused"),
    "loose-word": LintRule("error", "refused"),
    "open-quote": LintRule("error", "refused"),
    "list-option-missing": LintRule("error", "refused"),
    "unknown-option": LintRule("error", "refused"),
    "other-version": LintRule("warning", "refused"),
    "value-missing": LintRule("error", "refused"),
    "repeated": LintRule("warning", "ignored"),
    "variable-literal": LintRule("warning", "changed"),
    # ---- values
    "bad-value": LintRule("error", "refused"),
    "short-time": LintRule("warning", "changed"),
    "bare-minutes": LintRule("warning", "changed"),
    "bare-seconds": LintRule("warning", "changed"),
    "read-as": LintRule("error", "changed"),
    "queue-as-qos": LintRule("warning", "changed"),
    "unknown-resource": LintRule("error", "refused"),
    "resource-beside-select": LintRule("error", "refused"),
    "array-not-rerunnable": LintRule("error", "refused"),
    "variables-replaced": LintRule("warning", "ignored"),
    "node-and-gpu": LintRule("warning", "changed"),
    "total-processes": LintRule("warning", "changed"),
    # ---- the machine
    "site-limit": LintRule("error", "refused"),
    "walltime-needed": LintRule("error", "refused"),
    "over-limit": LintRule("error", "refused"),
    "queue-unknown": LintRule("warning", "refused"),
    "queue-internal": LintRule("warning", "refused"),
    "other-group-option": LintRule("error", "refused"),
    "group-missing": LintRule("warning", "refused"),
    "no-group-option": LintRule("warning", "refused"),
    "gpus-given": LintRule("warning", "refused"),
    "gpus-over": LintRule("error", "refused"),
    "environment-not-passed": LintRule("warning", "ignored"),
    "container-flag": LintRule("warning", "changed"),
    "ssh-flag": LintRule("warning", "changed"),
    # ---- the commands
    "ranks-differ": LintRule("warning", "changed"),
    "ranks-idle": LintRule("warning", "changed"),
    "threads-over": LintRule("warning", "changed"),
    "not-in-folder": LintRule("warning", "changed"),
    "folder-too-late": LintRule("warning", "changed"),
    "environment-passed": LintRule("warning", "changed"),
    "modules-unknown": LintRule("warning", "changed"),
    "mpi-options-missing": LintRule("warning", "changed"),
    "hosts-given": LintRule("warning", "changed"),
    "not-waited": LintRule("error", "changed"),
    "exit-code": LintRule("error", "changed"),
    "strict-environment": LintRule("warning", "changed"),
    "id-with-colon": LintRule("warning", "changed"),
    "devices-set": LintRule("warning", "changed"),
    "tmp-forbidden": LintRule("warning", "changed"),
    "no-internet": LintRule("warning", "changed"),
    "submits-in-job": LintRule("warning", "refused"),
    "not-in-sh": LintRule("warning", "changed"),
    "activate-without-hook": LintRule("warning", "changed"),
    "no-such-launcher": LintRule("warning", "changed"),
    "hides-failures": LintRule("warning", "changed"),
    "foreign-variable": LintRule("warning", "changed"),
}
"""Id → rule; its text is the message `lint.<id>` with `_` for `-`."""


class Edit(NamedTuple):
    """A change of one line."""

    line: int
    """Counted from 1."""
    lines: tuple[str, ...]
    """The new lines; empty: the line is deleted."""


@dataclass(frozen=True)
class LintFinding:
    """One mistake in a script."""

    line: int
    """Counted from 1; 0: the whole script."""
    rule: str
    severity: "Severity"
    message: str
    effect: "Effect"
    replacement: str | None = None
    """The corrected line or lines."""
    edits: tuple[Edit, ...] = ()
    """Changes by `--fix`; empty when a person has to decide."""

    def as_json(self) -> dict[str, object]:
        """Return it in the common format of checks and linters."""
        names = ("line", "rule", "severity", "message", "effect", "replacement")
        return {name: _text(getattr(self, name)) for name in names}


def _text(value: object) -> object:
    return value.encode("utf-8", "replace").decode("utf-8") if isinstance(value, str) else value


class LintReport(NamedTuple):
    """The findings in one script."""

    path: str
    dialect: str | None
    """The scheduler of its directives; None without any."""
    findings: tuple[LintFinding, ...]

    @property
    def has_errors(self) -> bool:
        """Whether a finding is more than a warning."""
        return any(finding.severity == "error" for finding in self.findings)

    @property
    def counts(self) -> dict[str, int]:
        """The numbers of `errors` and `warnings`."""
        errors = sum(finding.severity == "error" for finding in self.findings)
        return {"errors": errors, "warnings": len(self.findings) - errors}

    def as_json(self) -> dict[str, object]:
        """Return it in the common format of checks and linters."""
        return {
            "path": self.path,
            "dialect": self.dialect,
            "findings": [finding.as_json() for finding in self.findings],
        }


def text_of(rule: str, **values: object) -> str:
    """Return a rule's text; values from other people's scripts are freed of terminal control characters."""
    fields = {name: printable(value)[:200] if isinstance(value, str) else value for name, value in values.items()}
    return message(f"lint.{rule.replace('-', '_')}", **fields)
