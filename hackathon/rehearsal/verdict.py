"""Problems to solve before a study, from the program's text and the rehearsal's runs."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from hackathon.diagnosis.hangs.stacks import stacks_of
from hackathon.programs.scripts.findings import LintReport
from hackathon.rehearsal.understood import ToldMetric, Understood, work_doubts
from hackathon.runs.events import job_events
from hackathon.scaling.doubts import FALSE, SEVERITIES, Doubt
from hackathon.text.messages import N_, _, ngettext
from hackathon.text.units import format_size

_TEXTS = {
    "silent": (
        N_("on {processes} {processes:process|processes} the program ran and printed no value of any metric"),
        N_(
            "Does it hang, or does it need longer for its first step? See its output with `hackathon logs "
            "{run!q}`; give it longer with --seconds."
        ),
    ),
    "builds-extension": (
        N_(
            "on {processes} {processes:process|processes} the program printed no value of any metric: it waited for an "
            "extension of PyTorch that is built at the first start"
        ),
        N_(
            "Start the program once for a moment, outside of a job, so that it is built. Where nothing builds it, a "
            "process that was ended has left its file `lock` below ~/.cache/torch_extensions (or "
            "$TORCH_EXTENSIONS_DIR): delete that."
        ),
    ),
    "no-throughput": (
        N_("no {metric} was found in the output, so a study would have no values"),
        N_(
            'Print it once a step, for example `print(f"throughput: {{rate:.1f}} samples/s")`, or describe your '
            "line under `metrics:` in project.yaml. If it comes more rarely, raise --seconds."
        ),
    ),
    "few-for-throughput": (
        N_(
            "on {processes} {processes:process|processes} the program made too few steps in this time to measure a "
            "throughput"
        ),
        N_("Give it longer with --seconds."),
    ),
    "unsure-metric": (
        N_("the unit of {metric} does not say whether it counts one process or all; it is taken for all"),
        N_("Print the rate of all processes, or declare it under `metrics:` with `ranks: sum`."),
    ),
    "unrecorded-no-optimizer": (
        N_(
            "nothing was recorded on {processes} processes: the recorder saw no step of an optimizer of PyTorch, "
            "Keras, Horovod or Chainer. Whether the processes train together, and how much they do in a step, is not "
            "known"
        ),
        N_(
            "Look at it yourself: the loss of two processes, and the steps of an epoch, must show that they share the "
            "work."
        ),
    ),
    "unrecorded-few": (
        N_(
            "nothing was recorded on {processes} processes: they made too few steps. Whether they train together, and "
            "how much they do in a step, is not known"
        ),
        N_("Give it longer with --seconds."),
    ),
    "image-mpi": (
        N_("MPI on the nodes and in the image do not fit: {text}"),
        N_("Install the node's MPI in the image, or use --launcher torchrun or srun."),
    ),
    "written-inside": (
        N_("the program wrote files into this run's own copy of the program: {files}"),
        N_(
            "They stay there, and later runs do not see them. `hackathon fetch {run!q}` copies them to the current "
            "folder."
        ),
    ),
}
"""Rule → what is wrong, what to do."""

_OF_LOG = frozenset({"silent", "builds-extension", "no-throughput", "few-for-throughput"})
"""Rules about what the log of the first rank lacks."""
_PLACE = re.compile(r"(.+):(\d+)\Z")


@dataclass(frozen=True)
class RehearsalFinding:
    """One fact that a run of a rehearsal showed, in the form of the findings of checks."""

    path: str
    """The file that shows it, relative to the project; empty if none does."""
    line: int
    """Counted from 1; 0 if no line shows it."""
    rule: str
    severity: str
    """`error` or `warning`."""
    message: str
    advice: str = ""
    processes: int = 0
    """Process count of the run that showed it."""

    def as_json(self) -> dict[str, Any]:
        """Return the finding as JSON values."""
        return {
            "line": self.line, "rule": self.rule, "severity": self.severity, "message": self.message,
            "effect": "changed", "replacement": self.advice or None, "processes": self.processes,
        }  # fmt: skip


def findings(rehearsals: Sequence[Understood]) -> list[RehearsalFinding]:
    """Return the problems that the runs show and a study would meet, failures first, each rule once."""
    problems: list[RehearsalFinding] = []
    for rehearsal in rehearsals:
        problems += _of_run(rehearsal)
    problems += [_of_doubt(rehearsal, doubt) for rehearsal, doubt in work_doubts(rehearsals)]
    once: dict[tuple[str, str, int], RehearsalFinding] = {}
    for finding in problems:
        once.setdefault((finding.rule, finding.path.rpartition("/runs/")[0], 0), finding)
    return sorted(once.values(), key=lambda finding: finding.severity != "error")


def is_ready(
    reports: Sequence[LintReport], problems: Sequence[RehearsalFinding], rehearsals: Sequence[Understood]
) -> bool:
    """Return whether a study can start: every run showed enough, and no check found an error."""
    if any(report.has_errors for report in reports) or any(problem.severity == "error" for problem in problems):
        return False
    return bool(rehearsals) and all(rehearsal.good for rehearsal in rehearsals)


def _of_run(rehearsal: Understood) -> list[RehearsalFinding]:
    wordless = rehearsal.ended in ("silent", "seconds") and not rehearsal.metrics
    if not rehearsal.good and not wordless:
        return [_failure(rehearsal)]
    problems = [
        _of_doubt(rehearsal, doubt) for doubt in rehearsal.doubts if doubt.id != "unsure-metric"
    ]  # reported below, with its line
    about_mpi = [
        str(event.get("text")) for event in job_events(rehearsal.run.path) if event.get("about") == "image-mpi"
    ]
    problems += [_finding(rehearsal, "image-mpi", "error", text=text) for text in about_mpi[:1]]
    if rehearsal.trouble:
        problems.append(
            RehearsalFinding(
                "project.yaml", 0, "bad-pattern", "error", rehearsal.trouble, processes=rehearsal.processes
            )
        )
    elif wordless:
        problems.append(_silent(rehearsal))
    elif rehearsal.throughput is None:
        rule = "few-for-throughput" if rehearsal.ended and rehearsal.unrecorded == "few" else "no-throughput"
        problems.append(_finding(rehearsal, rule, "error", metric=rehearsal.metric))
    elif rehearsal.throughput.sure == "unsure" and rehearsal.processes > 1:
        problems.append(_unsure(rehearsal, rehearsal.throughput))
    told = any(problem.rule == "few-for-throughput" for problem in problems)
    if rehearsal.unrecorded and rehearsal.metrics and rehearsal.processes > 1 and not told:
        problems.append(_finding(rehearsal, f"unrecorded-{rehearsal.unrecorded}", "warning"))
    if rehearsal.beside_program:
        names = [f"{name} ({format_size(size)})" for name, size in rehearsal.beside_program[:3]]
        more = ["…"] if rehearsal.beside_program[3:] else []
        problems.append(_finding(rehearsal, "written-inside", "warning", files=", ".join([*names, *more])))
    return problems


def _failure(rehearsal: Understood) -> RehearsalFinding:
    cause, run = rehearsal.cause, f"runs/{rehearsal.run.id}"
    if cause is None:
        return RehearsalFinding(
            f"{run}/logs/rank-0.log",
            0,
            "failed",
            "error",
            ngettext(
                "the run on {processes} process failed: {why}",
                "the run on {processes} processes failed: {why}",
                rehearsal.processes,
                processes=rehearsal.processes,
                why=rehearsal.state.explanation or rehearsal.state.state,
            ),
            _("Read on: hackathon diagnose {run!q}", run=rehearsal.run.id[-8:]),
            rehearsal.processes,
        )
    match = _PLACE.match(cause.program)
    path = match[1] if match else f"{run}/{cause.evidence.file}" if cause.evidence else ""
    line = int(match[2]) if match else (cause.evidence.line or 0) if cause.evidence else 0
    return RehearsalFinding(path, line, cause.rule, "error", cause.message, cause.advice, rehearsal.processes)


def _of_doubt(rehearsal: Understood, doubt: Doubt) -> RehearsalFinding:
    match = _PLACE.match(doubt.evidence)
    path = match[1] if match else doubt.evidence
    if path.startswith("source/"):
        path = path.removeprefix("source/")
    elif path:
        path = f"runs/{rehearsal.run.id}/{path}"
    severity = "error" if SEVERITIES[doubt.id] == FALSE else "warning"
    return RehearsalFinding(
        path, int(match[2]) if match else 0, doubt.id, severity, doubt.message, processes=rehearsal.processes
    )


def _silent(rehearsal: Understood) -> RehearsalFinding:
    """Return the finding about a run without values, at the program's line where its first rank was when it ended."""
    stack = next(iter(stacks_of(rehearsal.run.path)), None)
    builds = stack is not None and any(frame.path.endswith("/torch/utils/cpp_extension.py") for frame in stack.frames)
    finding = _finding(rehearsal, "builds-extension" if builds else "silent", "error")
    if stack is None or stack.own is None:
        return finding
    path = stack.own.path.partition(f"/{rehearsal.run.id}/source/")[2] or stack.own.path
    return replace(finding, path=path, line=stack.own.line)


def _unsure(rehearsal: Understood, metric: ToldMetric) -> RehearsalFinding:
    finding = _finding(rehearsal, "unsure-metric", "warning", metric=metric.name)
    if metric.place is None:
        return finding
    path = f"runs/{rehearsal.run.id}/{metric.place.file}"
    return RehearsalFinding(
        path, metric.place.line, finding.rule, finding.severity, finding.message, finding.advice, rehearsal.processes
    )


def _finding(rehearsal: Understood, rule: str, severity: str, **values: object) -> RehearsalFinding:
    text, advice = _TEXTS[rule]
    return RehearsalFinding(
        f"runs/{rehearsal.run.id}/logs/rank-0.log" if rule in _OF_LOG else "",
        0, rule, severity,
        _(text, processes=rehearsal.processes, **values),
        _(advice, run=rehearsal.run.id[-8:], **values),
        rehearsal.processes,
    )  # fmt: skip
