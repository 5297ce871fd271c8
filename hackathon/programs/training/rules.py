"""The rules about training programs, and the findings in one file."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hackathon.programs.scripts.findings import Edit, LintFinding, LintRule
from hackathon.text.messages import N_, _
from hackathon.text.printable import printable

if TYPE_CHECKING:
    from hackathon.schedulers.scripts import Severity

RULES: dict[str, LintRule] = {
    # ---- the command
    "launcher-in-command": LintRule(
        "error",
        "changed",
        N_(
            "the command starts `{launcher}`. The toolkit starts the ranks itself, so each rank would start "
            "`{launcher}` again. Remove it and its options; to choose how the ranks start, write `launcher: {key}`."
        ),
    ),
    "file-missing": LintRule("error", "refused", N_("the command names {file}, which does not exist in {folder}")),
    "not-executable": LintRule(
        "error",
        "refused",
        N_("{file} is not executable. Run `chmod +x` on it, or write `{program} {file}` in the command."),
    ),
    "notebook": LintRule(
        "error",
        "refused",
        N_(
            "{file} is a notebook, and Python cannot run it. Convert it with `jupyter nbconvert --to script {file!q}` "
            "and write the new file in the command; remove lines that begin with `%` or `!`."
        ),
    ),
    # ---- the program
    "unreadable": LintRule(
        "warning", "ignored", N_("the rest of the file was not checked: it cannot be parsed as Python 3 ({reason})")
    ),
    "no-process-group": LintRule(
        "error",
        "changed",
        N_(
            "the program never joins a process group (read: {files}). With several processes, each one trains the "
            "same model on all data by itself, and the scaling result would be false. "
            "{advice}{port}"
        ),
    ),
    "joins-nothing": LintRule(
        "warning",
        "changed",
        N_(
            "not known whether the processes work together: nothing in the program's own files joins a process "
            "group. Unless `{unknown}` does it, each one trains the same model by itself. `hackathon try` shows "
            "it.{port}"
        ),
    ),
    "joins-with-option": LintRule(
        "warning",
        "changed",
        N_(
            "the process group is joined only with an option ({options}) that the command does not have. Without "
            "it, each process trains by itself. Add it to `command:`; `hackathon try` shows whether the processes "
            "work together."
        ),
    ),
    "fixed-world": LintRule(
        "error",
        "changed",
        N_(
            "`world_size=1` makes each rank a group of its own: with several processes, each one trains by itself, "
            "and the scaling result would be false. Leave `rank` and `world_size` out: the launcher sets them."
        ),
    ),
    "not-averaged": LintRule(
        "error",
        "changed",
        N_(
            "the ranks join a process group, and nothing in the program exchanges gradients or weights: each one "
            "trains by itself, and the scaling result would be false. Wrap the model in DistributedDataParallel."
        ),
    ),
    "around-wrapper": LintRule(
        "error",
        "changed",
        N_(
            "`{name}.module(…)` goes around DistributedDataParallel, which averages gradients only after its own "
            "forward: each rank trains by itself, and the scaling result would be false. Call `{name}(…)`."
        ),
    ),
    "same-data": LintRule(
        "error",
        "changed",
        N_(
            "this DataLoader has no sampler and the seed is the same on every rank, so all ranks train with the "
            "same batches: more processes do the same work again. Divide the data with DistributedSampler."
        ),
    ),
    "same-stream": LintRule(
        "error",
        "changed",
        N_(
            "`{name}` yields the same samples on every rank: an IterableDataset is not divided by a sampler, and "
            "more processes do the same work again. Let each rank take its own share, for example every "
            "`world_size`-th sample from `rank` on."
        ),
    ),
    "divided-batch": LintRule(
        "warning",
        "changed",
        N_(
            "`{text}`: the program divides the batch by the number of processes itself, so the total stays the "
            "same. That is strong scaling: put `scaling: {{strong: {{by_program: true}}}}` into project.yaml and "
            "use --mode strong."
        ),
    ),
    "starts-own-ranks": LintRule(
        "error",
        "changed",
        N_(
            "`{function}` starts ranks of its own, but the toolkit has already started one process for each rank. "
            "Call the function directly, and take the rank from RANK, the number of ranks from WORLD_SIZE and the "
            "GPU from LOCAL_RANK."
        ),
    ),
    "swallowed-exception": LintRule(
        "warning",
        "changed",
        N_(
            "An exception during training is caught here, and the program goes on. When only one rank fails, all "
            "other ranks wait for it without end. Let the exception end the program (`raise`), or have all ranks "
            "skip the same step."
        ),
    ),
    "one-rank-collective": LintRule(
        "warning",
        "changed",
        N_(
            "`{name}` is called only where `{test}` holds. Every rank must call it, or the one that does waits without "
            "end. Move it out of the `if`."
        ),
    ),
    "own-address": LintRule(
        "error",
        "changed",
        N_(
            "{name} is always set to `{value}`. This replaces the value that the launcher gave to this rank, so "
            "the ranks cannot find each other, or another job uses the same port."
        ),
    ),
    "devices-in-program": LintRule(
        "warning",
        "changed",
        N_(
            "CUDA_VISIBLE_DEVICES is always set to `{value}`. Ranks outside this list have no GPU or share one. "
            "Remove the line, and choose the GPU by LOCAL_RANK."
        ),
    ),
    "one-gpu": LintRule(
        "error",
        "changed",
        N_(
            "every rank of a node uses GPU 0 (`{text}`), and nothing in the program reads LOCAL_RANK. Choose the "
            "GPU by LOCAL_RANK."
        ),
    ),
    "global-rank-as-gpu": LintRule(
        "warning",
        "changed",
        N_(
            "`{text}` is the rank in the whole job, not on its node: from the second node on there is no such GPU. "
            "Use LOCAL_RANK."
        ),
    ),
    "no-sampler": LintRule(
        "warning",
        "changed",
        N_(
            "this DataLoader has no sampler, so every rank reads all data: an epoch does not become shorter with "
            "more processes. Divide the data with DistributedSampler."
        ),
    ),
    "no-set-epoch": LintRule(
        "warning",
        "changed",
        N_(
            "DistributedSampler shuffles in the same order in every epoch unless `{sampler}.set_epoch({epoch})` is "
            "called at the beginning of each"
        ),
    ),
    "save-on-every-rank": LintRule(
        "warning",
        "changed",
        N_("every rank writes this file at the same time, which can damage it. Save on rank 0 only."),
    ),
    # ---- a job has no terminal
    "needs-terminal": LintRule(
        "warning",
        "changed",
        N_(
            "`{text}` asks a terminal for its size, and a job has none: the program ends here. Write "
            "`shutil.get_terminal_size().columns`, which has a default."
        ),
    ),
    "needs-keyboard": LintRule(
        "warning",
        "changed",
        N_(
            "`{text}` waits for the keyboard, and a job has none: the program ends with EOFError. Take the value "
            "from the command line."
        ),
    ),
    "needs-screen": LintRule(
        "warning",
        "changed",
        N_(
            "`{text}` opens a window, and a node has no screen: nothing is shown, or the program ends. Write the "
            "picture into a file (`plt.savefig`)."
        ),
    ),
    # ---- the copy in which a run works
    "not-in-copy": LintRule(
        "warning",
        "changed",
        N_(
            "{path} is in the project, and not in the copy in which a run works (git ignores it, or it is a folder of "
            "caches or checkpoints). Write `exclude: [{exclude}]` in project.yaml: then each run gets a link to it."
        ),
    ),
    "above-project": LintRule(
        "warning",
        "changed",
        N_(
            "`{path}` leads out of the project, and a run works in a copy of it in another folder: there is no such "
            "path. Write the absolute path ({absolute}), or list the data under `data:`."
        ),
    ),
    # ---- the machine
    "path-not-visible": LintRule(
        "warning", "changed", N_("the nodes of {cluster} do not see {path}; they see {visible}")
    ),
    "download-in-job": LintRule(
        "warning",
        "changed",
        N_(
            "`{what}` downloads inside the job unless the data are already there, and the nodes of {cluster} have "
            "no Internet access. List the data under `data:` and run `hackathon data fetch` on the login node."
        ),
    ),
    "package-missing": LintRule(
        "warning",
        "refused",
        N_(
            "`{name}` is not installed in {environment}, the Python environment that the job will use. Install it "
            "there before you submit ({pip}), or choose another environment."
        ),
    ),
    # ---- a shell script that the command starts
    "launcher-in-script": LintRule(
        "error",
        "changed",
        N_(
            "the script starts `{launcher}`, but it already runs once for each rank. Remove `{launcher}` and its "
            "options; to choose how the ranks start, write `launcher: {key}` in project.yaml."
        ),
    ),
    "address-in-script": LintRule(
        "error",
        "changed",
        N_("{name} is always set to `{value}`. This replaces the value that the launcher gave to this rank."),
    ),
    "devices-in-script": LintRule(
        "warning",
        "changed",
        N_(
            "CUDA_VISIBLE_DEVICES is always set to `{value}`. Ranks outside this list have no GPU or share one. "
            "Remove the line."
        ),
    ),
    "folder-in-script": LintRule(
        "warning",
        "changed",
        N_(
            "`cd {folder!q}` leaves the copy of the source that the run was made with: later changes there change "
            "the run. Use paths relative to the script."
        ),
    ),
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
        replacement: str | None = None,
        **values: object,
    ) -> None:
        """Add a finding; `edits`: the changed lines, only for a safe change; `replacement`: what to write elsewhere."""
        same = [finding.line for finding in self.findings if finding.rule == rule]
        if line in same or len(same) >= MOST:
            return
        fields = {name: printable(value)[:200] if isinstance(value, str) else value for name, value in values.items()}
        text = _(RULES[rule].text, **fields)
        better = "\n".join(new for edit in edits for new in edit.lines) if edits else replacement
        kind = RULES[rule]
        self.findings.append(LintFinding(line, rule, severity or kind.severity, text, kind.effect, better, edits))
