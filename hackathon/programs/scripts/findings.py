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
    "mark-hides-directives": LintRule(
        "error",
        "ignored",
        N_(
            "a byte order mark (BOM) stands before the first line: {scheduler} takes that line for a command and "
            "ignores all directives. Save the file as UTF-8 without BOM."
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
    "placeholder": LintRule("warning", "changed", N_("fill this in: `{value}` stands for a value of yours.")),
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
    "unknown-attribute": LintRule("error", "refused", N_("{scheduler} has no attribute `{name}` for `-W`.")),
    "read-only-resource": LintRule(
        "error", "refused", N_("{scheduler} computes `{name}` itself and refuses it in a request.")
    ),
    "needs-other": LintRule("error", "refused", N_("{scheduler} refuses `{option}` without `{other}`.")),
    "place-without-select": LintRule("error", "refused", N_("{scheduler} refuses `-l place` without `-l select`.")),
    "interactive-option": LintRule(
        "error", "refused", N_("`{option}` asks for an interactive job: {scheduler} does not run a script with it.")
    ),
    "bare-bytes": LintRule(
        "warning",
        "changed",
        N_("{scheduler} takes a size without unit for bytes: with `{value}` the job is killed when it begins."),
    ),
    "small-memory": LintRule(
        "warning", "changed", N_("{scheduler} takes `{value}` for {megabytes} MB. Did you mean {gigabytes} GB?")
    ),
    "output-tilde": LintRule(
        "error",
        "changed",
        N_("{scheduler} does not expand `~`: the output `{path}` is not written to your home folder, and is lost."),
    ),
    "output-folder": LintRule(
        "error", "changed", N_("`{path}` is a folder, not a file: {scheduler} ends the job, without any output.")
    ),
    "output-folder-name": LintRule(
        "warning",
        "changed",
        N_("if `{path}` is a folder, {scheduler} ends the job, without any output. Name a file in it."),
    ),
    "output-folder-missing": LintRule(
        "warning",
        "changed",
        N_("there is no folder `{path}` here: {scheduler} does not create it and ends the job, without any output."),
    ),
    "placeholder-literal": LintRule(
        "warning", "changed", N_("{scheduler} has no placeholder `{value}`: it becomes part of the file's name.")
    ),
    "gpus-by-share": LintRule("error", "refused", N_("{queue} on {site} gives GPUs of a node: ask with `{better}`.")),
    "nodes-not-gpus": LintRule("error", "refused", N_("{queue} on {site} gives nodes: ask with `{better}`.")),
    "slots-beside-type": LintRule(
        "error", "refused", N_("a resource type of {site} has its own slots: leave `-pe` out.")
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
    "queue-unknown": LintRule(
        "warning", "refused", N_("the profile of {cluster} does not know the queue {queue}. It knows: {known}.")
    ),
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
    # ---- how processes are started
    "launches-multiplied": LintRule(
        "warning",
        "changed",
        N_(
            "{starter} starts `{launcher}` {count} times on each node, and each one starts all processes of the node. "
            "Start it once for each node."
        ),
    ),
    "starter-in-starter": LintRule(
        "warning",
        "changed",
        N_("{outer} starts {inner} {count} times, and each one starts all ranks. Start {inner} alone."),
    ),
    "rank-once": LintRule(
        "warning",
        "changed",
        N_(
            "the batch script expands `{variable}` once, before {starter} starts anything: all get the same value. "
            "Let the shell of each process expand it."
        ),
    ),
    "rank-missing": LintRule(
        "warning",
        "changed",
        N_(
            "without `{option}`, each of the {nodes} nodes takes itself for the first one, and they wait for each "
            "other."
        ),
    ),
    "meets-nobody": LintRule(
        "warning",
        "changed",
        N_(
            "`{what}`: each of the {nodes} nodes waits for itself, so they train apart or never begin. Name the first "
            "node."
        ),
    ),
    "address-list": LintRule(
        "warning",
        "changed",
        N_("`hostname -I` prints all addresses of a node, and `{name}` becomes no address. Take the first one."),
    ),
    "address-of-step": LintRule(
        "warning",
        "changed",
        N_("`{variable}` belongs to processes of srun; in the batch script it is not the address of the first node."),
    ),
    "address-unset": LintRule(
        "warning", "changed", N_("this script sets `{variable}` nowhere. Set it to the name of the first node.")
    ),
    "address-of-all": LintRule(
        "warning",
        "changed",
        N_("`{variable}` gets the names of all {nodes} nodes, not one address. Take the first one."),
    ),
    "port-unset": LintRule(
        "warning", "changed", N_("this script sets `{variable}` nowhere. Choose a port, the same for all nodes.")
    ),
    "drawn-apart": LintRule(
        "warning",
        "changed",
        N_("each of the {nodes} nodes draws its own value for `{option}`, so they do not meet. Give all the same."),
    ),
    "rank-same": LintRule(
        "warning",
        "changed",
        N_("`{what}`: all that {starter} starts get this number, but each needs its own."),
    ),
    "staged-once": LintRule(
        "warning",
        "changed",
        N_(
            "`{command}` runs on the first node alone: the processes on the others of the {nodes} nodes do not find "
            "these files. Run it once on each node."
        ),
    ),
    "never-goes-on": LintRule(
        "error",
        "changed",
        N_("`{command}` does not end, and the commands behind it never run. Put `&` behind it."),
    ),
    "programs-file": LintRule(
        "warning",
        "changed",
        N_("`srun --multi-prog` reads `{word}` as a file that lists programs. Leave the option out."),
    ),
    "variable-of-option": LintRule(
        "warning",
        "changed",
        N_("{scheduler} sets `{variable}` only with `{option}`, which is not in the header: here it is empty."),
    ),
    "nodes-differ": LintRule(
        "warning",
        "changed",
        N_("{launcher} waits for {launched} nodes, but it is started on {nodes} {nodes:node|nodes}."),
    ),
    "processes-over-gpus": LintRule(
        "warning",
        "changed",
        N_(
            "{launcher} starts {processes} processes on each node, which has {gpus} {gpus:GPU|GPUs}: the others fail "
            "with `invalid device ordinal`."
        ),
    ),
    "processes-of-all-nodes": LintRule(
        "warning",
        "changed",
        N_("`--num_processes` counts the processes of all {nodes} nodes: {processes} leave GPUs without a process."),
    ),
    "one-node-only": LintRule(
        "warning",
        "changed",
        N_("`{launcher}` runs on the first of {nodes} nodes only; this script starts nothing on the others."),
    ),
    "loop-waits": LintRule(
        "warning",
        "changed",
        N_(
            "the loop waits for this command, which waits for {nodes} nodes: the others are never started. Put `&` "
            "behind it and `wait` behind the loop."
        ),
    ),
    "world-differs": LintRule(
        "warning",
        "changed",
        N_(
            "WORLD_SIZE is {value}, but {processes} {processes:process is|processes are} started: they wait for the "
            "others."
        ),
    ),
    "gpus-not-requested": LintRule(
        "warning",
        "changed",
        N_("{processes} processes are started on each node, and the header asks for no GPU."),
    ),
    "own-gpu-only": LintRule(
        "warning",
        "changed",
        N_(
            "each process sees its own GPU only, as number 0: a program that takes the GPU with the number of its "
            "local rank fails. Ask for the GPUs of the node."
        ),
    ),
    "devices-override": LintRule(
        "warning",
        "changed",
        N_("CUDA_VISIBLE_DEVICES of this line takes the place of what `{option}` chooses for each process."),
    ),
    "ssh-without-environment": LintRule(
        "warning",
        "changed",
        N_("ssh starts a new shell on the other node, without `{command}` of this script. Repeat it there."),
    ),
    "conda-without-hook": LintRule(
        "warning",
        "changed",
        N_("the shell of a job does not know the function `conda`: `conda activate` fails. Define it first."),
    ),
    "array-output": LintRule("warning", "changed", N_("all jobs of the array write the same file `{path}`.")),
    "array-port": LintRule(
        "warning",
        "changed",
        N_("jobs of the array that share a node take the same port {port}, and the second one fails."),
    ),
    "slots-missing": LintRule(
        "warning",
        "changed",
        N_(
            "{scheduler} gives mpirun one slot for each of the {nodes} chunks without `mpiprocs`, and {ranks} ranks "
            "are started."
        ),
    ),
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
            "{scheduler} starts a job in your home folder unless the site changes that, and this command names a "
            "file by a relative path. Put `{better}` before it."
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
    "not-sourced": LintRule(
        "warning",
        "changed",
        N_(
            "`{command}` runs the file in a process of its own, and its settings are lost. A blank behind the dot is "
            "missing."
        ),
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
    "continuation-broken": LintRule(
        "error",
        "changed",
        N_(
            "the command ends here, and the shell takes `{word}` of a later line for a command of its own. A "
            "backslash must be the last character of a line, and no comment or empty line may follow it."
        ),
    ),
    "not-waited": LintRule(
        "error",
        "changed",
        N_(
            "this command runs in the background, and the script does not wait for it: the job ends at once and "
            "stops it. Put `wait` at the end, behind all loops."
        ),
    ),
    "exit-code": LintRule("error", "changed", N_("`exit {code}`: {what}.")),
    "strict-environment": LintRule(
        "warning",
        "changed",
        N_(
            "`{command}` runs scripts of others under `set -u`. Some of them use variables that are not set, and the "
            "job then ends here. Put `set +u` before it, and `set -u` behind it."
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
    unread: str = ""
    """The scheduler of directives that cannot be checked; empty if the script was checked."""

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
            "checked": not self.unread,
            "findings": [finding.as_json() for finding in self.findings],
        }


def text_of(rule: str, **values: object) -> str:
    """Return a rule's text; values from other people's scripts are freed of terminal control characters."""
    fields = {name: printable(value)[:200] if isinstance(value, str) else value for name, value in values.items()}
    return _(RULES[rule].text, **fields)
