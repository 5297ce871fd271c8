"""Findings in a script, and the linter's rules."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from hackathon.text.messages import N_, _
from hackathon.text.printable import printable

if TYPE_CHECKING:  # `submit` reads a command before it is known whether there is a script
    from hackathon.schedulers.scripts import Effect, Severity


class LintRule(NamedTuple):
    """A rule's default severity, and how the scheduler reacts."""

    severity: "Severity"
    effect: "Effect"
    text: str
    """Its message."""


SEVERITY_TEXTS = {"error": N_("error"), "warning": N_("warning")}

RULES: dict[str, LintRule] = {
    # ---- format of the file
    "carriage-return": LintRule(
        "error",
        "refused",
        N_(
            "the lines end in CR LF (Windows): {scheduler} refuses the script, or the job fails because its shell "
            "is not found. Convert the line ends, for example with `dos2unix`."
        ),
    ),
    "byte-order-mark": LintRule(
        "warning",
        "changed",
        N_(
            "a byte order mark (BOM) stands before the first line, so `#!` is not at the beginning. Save the file "
            "as UTF-8 without BOM."
        ),
    ),
    "not-utf8": LintRule(
        "warning", "changed", N_("this line is not UTF-8. Programs on the compute nodes may not read it as you do.")
    ),
    "no-shebang": LintRule(
        "error", "refused", N_("{scheduler} refuses a script whose first line does not begin with `#!`.")
    ),
    # ---- position and form of a directive
    "after-command": LintRule(
        "error",
        "ignored",
        N_(
            "{scheduler} ignores this directive, because it stands behind the first command (line {first}: "
            "{command}). Move it up."
        ),
    ),
    "indented": LintRule("error", "ignored", N_("{scheduler} ignores this directive, because it is indented.")),
    "commented": LintRule(
        "warning",
        "ignored",
        N_(
            "this looks like a directive, but {scheduler} takes it for a comment. If it is meant, write it without "
            "the blank and in capital letters."
        ),
    ),
    "full-width": LintRule(
        "error",
        "refused",
        N_(
            "a full-width or typographic character (often copied from slides) stands in place of `-`, `=` or `#`: "
            "{scheduler} does not understand it."
        ),
    ),
    "in-document": LintRule(
        "warning",
        "changed",
        N_(
            "{scheduler} reads the whole script: it obeys this directive though it stands in a here-document or "
            "between quotation marks."
        ),
    ),
    "two-dialects": LintRule(
        "error",
        "changed",
        N_(
            "{scheduler} obeys the directives of {other} too: where both say something, the later line wins, and "
            "what it does not know (such as the group) is dropped. Keep one kind."
        ),
    ),
    "partly-obeyed": LintRule(
        "warning",
        "changed",
        N_(
            "{scheduler} obeys directives of {other} only in part: the group to charge is dropped silently. "
            "Convert the header with `hackathon convert`."
        ),
    ),
    "foreign-directive": LintRule(
        "error",
        "ignored",
        N_(
            "{scheduler} ignores directives of {other} ({count} {count:line|lines}): it reads lines that begin "
            "with {prefix}."
        ),
    ),
    "trailing-comment": LintRule(
        "error",
        "refused",
        N_("{scheduler} refuses a directive with a comment behind it. Put the comment on a line of its own."),
    ),
    "spaced-equals": LintRule(
        "error", "refused", N_("{scheduler} does not take blanks around `=`: they split the option and its value.")
    ),
    "loose-word": LintRule(
        "error",
        "refused",
        N_("{scheduler} refuses this directive: `{word}` is neither an option nor the value of one."),
    ),
    "open-quote": LintRule(
        "error", "refused", N_("{scheduler} refuses this directive: a quotation mark is not closed.")
    ),
    "list-option-missing": LintRule(
        "error", "refused", N_("{scheduler} takes `{word}` for the name of a file: {option} is missing.")
    ),
    "unknown-option": LintRule("error", "refused", N_("{scheduler} refuses the option `{option}`.")),
    "other-version": LintRule(
        "warning",
        "refused",
        N_(
            "`{option}` is an option of another version of {scheduler} (such as Torque); OpenPBS and PBS "
            "Professional refuse it."
        ),
    ),
    "value-missing": LintRule(
        "error", "refused", N_("{scheduler} refuses this directive: `{option}` lacks its value.")
    ),
    "repeated": LintRule(
        "warning",
        "ignored",
        N_("`{option}` is given more than once: {scheduler} takes `{winner}` (line {other}) and ignores `{value}`."),
    ),
    "variable-literal": LintRule(
        "warning",
        "changed",
        N_("{scheduler} does not expand variables in directives: `{option}` gets the text `{value}` as it stands."),
    ),
    # ---- values
    "bad-value": LintRule("error", "refused", N_("{scheduler} refuses `{value}` as the value of `{option}`.")),
    "short-time": LintRule(
        "warning", "changed", N_("`{value}` is {minutes} min {seconds} s, not hours and minutes. Did you mean {hours}?")
    ),
    "bare-minutes": LintRule(
        "warning",
        "changed",
        N_("{scheduler} takes a bare number for minutes: {value} is {hours} hours. Did you mean seconds?"),
    ),
    "bare-seconds": LintRule(
        "warning", "changed", N_("{scheduler} takes a bare number for seconds: `{value}` ends the job after {value} s.")
    ),
    "read-as": LintRule("error", "changed", N_("{scheduler} takes `{value}` and reads it as {seconds} s.")),
    "queue-as-qos": LintRule(
        "warning",
        "changed",
        N_(
            "`-q` is the QOS in {scheduler}, not the queue: without accounting, `{value}` is ignored, and the job "
            "goes to the default partition. The partition is `-p`."
        ),
    ),
    "unknown-resource": LintRule(
        "error", "refused", N_("{scheduler} refuses the resource `{name}`: it belongs to another scheduler.")
    ),
    "resource-beside-select": LintRule(
        "error", "refused", N_("{scheduler} refuses `{option}` beside `-l select`: write it inside the select.")
    ),
    "array-not-rerunnable": LintRule(
        "error", "refused", N_("{scheduler} refuses an array of jobs that must not be rerun (`-r n`).")
    ),
    "variables-replaced": LintRule(
        "warning",
        "ignored",
        N_(
            "the variables of this line are lost: {scheduler} takes only the last `-v` (line {other}). Join them "
            "with commas."
        ),
    ),
    "node-and-gpu": LintRule(
        "warning", "changed", N_("give nodes or GPUs, not both: `node=1` takes all GPUs of the node.")
    ),
    "total-processes": LintRule(
        "warning",
        "changed",
        N_(
            "the number of processes is that of the whole job: {processes} for {nodes} nodes leaves nodes without "
            "a process."
        ),
    ),
    # ---- the machine
    "site-limit": LintRule("error", "refused", N_("{what} is over the limit of {site}: {limit}.")),
    "walltime-needed": LintRule(
        "error", "refused", N_("{site} refuses a job without a time limit: h_rt must be specified.")
    ),
    "over-limit": LintRule("error", "refused", N_("{text}")),
    "queue-unknown": LintRule("warning", "refused", N_("the profile of {cluster} has no queue {queue}, but: {known}.")),
    "queue-internal": LintRule(
        "warning", "refused", N_("jobs cannot be submitted to {queue} on {site}: it only receives jobs from {better}.")
    ),
    "other-group-option": LintRule(
        "error", "refused", N_("{cluster} wants the group to charge as `{better}`, not with `{option}`.")
    ),
    "group-missing": LintRule(
        "warning",
        "refused",
        N_("{cluster} wants to know the group to charge: add `{option}`, or give it on the command line."),
    ),
    "no-group-option": LintRule("warning", "refused", N_("{site} has no option for a group.")),
    "gpus-given": LintRule(
        "warning",
        "refused",
        N_("the queues of {site} give the GPUs of a node by themselves, and may refuse a request for them."),
    ),
    "gpus-over": LintRule("error", "refused", N_("{gpus} GPUs for each node, but a node of {cluster} has {there}.")),
    "environment-not-passed": LintRule(
        "warning",
        "ignored",
        N_(
            "{site} does not pass the environment of the submission: `{option}` has no use there. Set variables in "
            "the script."
        ),
    ),
    "container-flag": LintRule(
        "warning",
        "changed",
        N_('containers fail on {site} without `-L jobenv=singularity` ("Failed to create mount namespace").'),
    ),
    "ssh-flag": LintRule("warning", "changed", N_("ssh between the nodes of a job needs `{option}` here.")),
    # ---- the commands
    "ranks-differ": LintRule(
        "warning", "changed", N_("{ranks} ranks are started, but the header asks for {processes}.")
    ),
    "ranks-idle": LintRule(
        "warning",
        "changed",
        N_(
            "{ranks} ranks are started, but the header asks for {processes}: {idle} {idle:node has|nodes have} "
            "nothing to do."
        ),
    ),
    "threads-over": LintRule(
        "warning",
        "changed",
        N_("{processes} processes of {threads} threads for each node are more than its {cores} cores."),
    ),
    "not-in-folder": LintRule(
        "warning",
        "changed",
        N_(
            "{scheduler} starts the job in your home folder, and this command names a file by a relative path. Put "
            "`{better}` before it."
        ),
    ),
    "folder-too-late": LintRule(
        "warning",
        "changed",
        N_(
            "{scheduler} opens the output file before the script runs: `mkdir {folder}` in the script comes too "
            "late. Create the folder before you submit."
        ),
    ),
    "environment-passed": LintRule(
        "warning",
        "changed",
        N_(
            "`{option}` passes your whole login environment to the job, and modules are loaded on top of it: the "
            "job depends on what was loaded when you submitted. Remove it, or begin with `module purge`."
        ),
    ),
    "modules-unknown": LintRule(
        "warning", "changed", N_("the shell of a job does not know `module` here. Put `{better}` before it.")
    ),
    "mpi-options-missing": LintRule(
        "warning", "changed", N_("mpirun does not know the nodes of the job here: give it `{better}`.")
    ),
    "hosts-given": LintRule(
        "warning",
        "changed",
        N_(
            "mpirun knows the nodes of a {scheduler} job by itself; the host file of {scheduler} has a format of "
            "its own."
        ),
    ),
    "not-waited": LintRule(
        "error",
        "changed",
        N_(
            "this command runs in the background, and the script does not wait for it: the job ends at once and "
            "stops it. Put `wait` at the end."
        ),
    ),
    "exit-code": LintRule("error", "changed", N_("`exit {code}`: {what}.")),
    "strict-environment": LintRule(
        "warning",
        "changed",
        N_(
            "`{command}` stands before `module load`: module scripts often fail under it, and the job ends. Put it "
            "behind the modules."
        ),
    ),
    "id-with-colon": LintRule(
        "warning",
        "changed",
        N_(
            "`{variable}` has a colon in {scheduler} (`0:1.nqsv`), which breaks many programs in a path. Write "
            "`${{{variable}#*:}}`."
        ),
    ),
    "devices-set": LintRule(
        "warning",
        "changed",
        N_(
            "CUDA_VISIBLE_DEVICES is set to `{value}`, but the job has {gpus} {gpus:GPU|GPUs}. Leave the variable "
            "as {scheduler} sets it."
        ),
    ),
    "tmp-forbidden": LintRule("warning", "changed", N_("/tmp must not be used on {site}: write to `{scratch}`.")),
    "no-internet": LintRule(
        "warning",
        "changed",
        N_("`{command}` needs the Internet, which the compute nodes of {site} do not reach. Do it on the login node."),
    ),
    "submits-in-job": LintRule(
        "warning",
        "refused",
        N_("a compute node of {scheduler} is normally not a submit host: `{command}` fails inside a job."),
    ),
    "not-in-sh": LintRule(
        "warning", "changed", N_("the first line says sh, but `{what}` belongs to bash. Write `#!/bin/bash`.")
    ),
    "activate-without-hook": LintRule(
        "warning",
        "changed",
        N_(
            "`source activate` works only where conda is set up in the shell. Run `source "
            "PATH_OF_CONDA/etc/profile.d/conda.sh` and `conda activate NAME`."
        ),
    ),
    "no-such-launcher": LintRule(
        "warning",
        "changed",
        N_("`{command}` belongs to Slurm and is not available in a job of {scheduler}. Use mpirun."),
    ),
    "hides-failures": LintRule(
        "warning", "changed", N_("`{command}` always ends with 0: a program that fails on a node goes unnoticed.")
    ),
    "foreign-variable": LintRule(
        "warning", "changed", N_("`{variable}` is set by {other}; in a job of {scheduler} it is empty.")
    ),
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
    return _(RULES[rule].text, **fields)
