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
    text: str
    """Its message."""


SEVERITY_TEXTS = {"error": "lint.error", "warning": "lint.warning"}

RULES: dict[str, LintRule] = {
    # ---- format of the file
    "carriage-return": LintRule("error", "refused", "lint.carriage_return"),
    "byte-order-mark": LintRule("warning", "changed", "lint.byte_order_mark"),
    "not-utf8": LintRule("warning", "changed", "lint.not_utf8"),
    "no-shebang": LintRule("error", "refused", "lint.no_shebang"),
    # ---- position and form of a directive
    "after-command": LintRule("error", "ignored", "lint.after_command"),
    "indented": LintRule("error", "ignored", "lint.indented"),
    "commented": LintRule("warning", "ignored", "lint.commented"),
    "full-width": LintRule("error", "refused", "lint.full_width"),
    "in-document": LintRule("warning", "changed", "lint.in_document"),
    "two-dialects": LintRule("error", "changed", "lint.two_dialects"),
    "partly-obeyed": LintRule("warning", "changed", "lint.partly_obeyed"),
    "foreign-directive": LintRule("error", "ignored", "lint.foreign_directive"),
    "trailing-comment": LintRule("error", "refused", "lint.trailing_comment"),
    "spaced-equals": LintRule("error", "refused", "lint.spaced_equals"),
    "loose-word": LintRule("error", "refused", "lint.loose_word"),
    "open-quote": LintRule("error", "refused", "lint.open_quote"),
    "list-option-missing": LintRule("error", "refused", "lint.list_option_missing"),
    "unknown-option": LintRule("error", "refused", "lint.unknown_option"),
    "other-version": LintRule("warning", "refused", "lint.other_version"),
    "value-missing": LintRule("error", "refused", "lint.value_missing"),
    "repeated": LintRule("warning", "ignored", "lint.repeated"),
    "variable-literal": LintRule("warning", "changed", "lint.variable_literal"),
    # ---- values
    "bad-value": LintRule("error", "refused", "lint.bad_value"),
    "short-time": LintRule("warning", "changed", "lint.short_time"),
    "bare-minutes": LintRule("warning", "changed", "lint.bare_minutes"),
    "bare-seconds": LintRule("warning", "changed", "lint.bare_seconds"),
    "read-as": LintRule("error", "changed", "lint.read_as"),
    "queue-as-qos": LintRule("warning", "changed", "lint.queue_as_qos"),
    "unknown-resource": LintRule("error", "refused", "lint.unknown_resource"),
    "resource-beside-select": LintRule("error", "refused", "lint.resource_beside_select"),
    "array-not-rerunnable": LintRule("error", "refused", "lint.array_not_rerunnable"),
    "variables-replaced": LintRule("warning", "ignored", "lint.variables_replaced"),
    "node-and-gpu": LintRule("warning", "changed", "lint.node_and_gpu"),
    "total-processes": LintRule("warning", "changed", "lint.total_processes"),
    # ---- the machine
    "site-limit": LintRule("error", "refused", "lint.site_limit"),
    "walltime-needed": LintRule("error", "refused", "lint.walltime_needed"),
    "over-limit": LintRule("error", "refused", "lint.over_limit"),
    "queue-unknown": LintRule("warning", "refused", "lint.queue_unknown"),
    "queue-internal": LintRule("warning", "refused", "lint.queue_internal"),
    "other-group-option": LintRule("error", "refused", "lint.other_group_option"),
    "group-missing": LintRule("warning", "refused", "lint.group_missing"),
    "no-group-option": LintRule("warning", "refused", "lint.no_group_option"),
    "gpus-given": LintRule("warning", "refused", "lint.gpus_given"),
    "gpus-over": LintRule("error", "refused", "lint.gpus_over"),
    "environment-not-passed": LintRule("warning", "ignored", "lint.environment_not_passed"),
    "container-flag": LintRule("warning", "changed", "lint.container_flag"),
    "ssh-flag": LintRule("warning", "changed", "lint.ssh_flag"),
    # ---- the commands
    "ranks-differ": LintRule("warning", "changed", "lint.ranks_differ"),
    "ranks-idle": LintRule("warning", "changed", "lint.ranks_idle"),
    "threads-over": LintRule("warning", "changed", "lint.threads_over"),
    "not-in-folder": LintRule("warning", "changed", "lint.not_in_folder"),
    "folder-too-late": LintRule("warning", "changed", "lint.folder_too_late"),
    "environment-passed": LintRule("warning", "changed", "lint.environment_passed"),
    "modules-unknown": LintRule("warning", "changed", "lint.modules_unknown"),
    "mpi-options-missing": LintRule("warning", "changed", "lint.mpi_options_missing"),
    "hosts-given": LintRule("warning", "changed", "lint.hosts_given"),
    "not-waited": LintRule("error", "changed", "lint.not_waited"),
    "exit-code": LintRule("error", "changed", "lint.exit_code"),
    "strict-environment": LintRule("warning", "changed", "lint.strict_environment"),
    "id-with-colon": LintRule("warning", "changed", "lint.id_with_colon"),
    "devices-set": LintRule("warning", "changed", "lint.devices_set"),
    "tmp-forbidden": LintRule("warning", "changed", "lint.tmp_forbidden"),
    "no-internet": LintRule("warning", "changed", "lint.no_internet"),
    "submits-in-job": LintRule("warning", "refused", "lint.submits_in_job"),
    "not-in-sh": LintRule("warning", "changed", "lint.not_in_sh"),
    "activate-without-hook": LintRule("warning", "changed", "lint.activate_without_hook"),
    "no-such-launcher": LintRule("warning", "changed", "lint.no_such_launcher"),
    "hides-failures": LintRule("warning", "changed", "lint.hides_failures"),
    "foreign-variable": LintRule("warning", "changed", "lint.foreign_variable"),
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
    return message(RULES[rule].text, **fields)
