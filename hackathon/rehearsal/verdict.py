"""What must be mended before a study, from what the program's text and the rehearsal's runs show."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hackathon.programs.scripts.findings import LintReport
from hackathon.rehearsal.understood import ToldMetric, Understood, same_work
from hackathon.scaling.doubts import FALSE, SEVERITIES, Doubt
from hackathon.text.messages import message
from hackathon.text.units import format_size

_PLACE = re.compile(r"(.+):(\d+)\Z")


@dataclass(frozen=True)
class RehearsalFinding:
    """One thing that a run of a rehearsal showed, in the shape of the findings of checks."""

    path: str
    """The file that shows it, relative to the project; empty where none does."""
    line: int
    """From 1; 0 where no line shows it."""
    rule: str
    severity: str
    """`error` or `warning`."""
    message: str
    advice: str = ""
    processes: int = 0
    """Of the run that showed it."""

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "line": self.line, "rule": self.rule, "severity": self.severity, "message": self.message,
            "effect": "changed", "replacement": self.advice or None, "processes": self.processes,
        }  # fmt: skip


def findings(seen: Sequence[Understood]) -> list[RehearsalFinding]:
    """Return what the runs show that a study would suffer from, failures first, each rule once."""
    found: list[RehearsalFinding] = []
    for each in seen:
        found += _of_run(each)
    found += [_of_doubt(each, doubt) for each, doubt in same_work(seen)]
    once: dict[tuple[str, str, int], RehearsalFinding] = {}
    for finding in found:
        once.setdefault((finding.rule, finding.path.rpartition("/runs/")[0], 0), finding)
    return sorted(once.values(), key=lambda finding: finding.severity != "error")


def is_ready(reports: Sequence[LintReport], found: Sequence[RehearsalFinding], seen: Sequence[Understood]) -> bool:
    """Return whether a study can follow: every run showed enough, and nothing is wrong."""
    if any(report.has_errors for report in reports) or any(each.severity == "error" for each in found):
        return False
    return bool(seen) and all(each.good for each in seen)


def _of_run(seen: Understood) -> list[RehearsalFinding]:
    if not seen.good and seen.ended != "silent":
        return [_failure(seen)]
    made = [_of_doubt(seen, doubt) for doubt in seen.doubts if doubt.id != "unsure-metric"]  # told below, with its line
    if seen.trouble:
        made.append(RehearsalFinding("project.yaml", 0, "bad-pattern", "error", seen.trouble, processes=seen.processes))
    elif seen.ended == "silent" and not seen.metrics:
        made.append(_finding(seen, "silent", "error"))
    elif seen.throughput is None:
        made.append(_finding(seen, "no-throughput", "error", metric=seen.metric))
    elif seen.throughput.sure == "unsure" and seen.processes > 1:
        made.append(_unsure(seen, seen.throughput))
    if seen.beside_program:
        names = [f"{name} ({format_size(size)})" for name, size in seen.beside_program[:3]]
        more = ["…"] if seen.beside_program[3:] else []
        made.append(_finding(seen, "written-inside", "warning", files=", ".join([*names, *more])))
    return made


def _failure(seen: Understood) -> RehearsalFinding:
    cause, run = seen.cause, f"runs/{seen.run.id}"
    if cause is None:
        return RehearsalFinding(
            f"{run}/logs/rank-0.log", 0, "failed", "error",
            message("rehearsal.failed", processes=seen.processes, why=seen.state.explanation or seen.state.state),
            message("rehearsal.failed_advice", run=seen.run.id[-8:]), seen.processes,
        )  # fmt: skip
    place = _PLACE.match(cause.program)
    path = place[1] if place else f"{run}/{cause.evidence.file}" if cause.evidence else ""
    line = int(place[2]) if place else (cause.evidence.line or 0) if cause.evidence else 0
    return RehearsalFinding(path, line, cause.rule, "error", cause.message, cause.advice, seen.processes)


def _of_doubt(seen: Understood, doubt: Doubt) -> RehearsalFinding:
    place = _PLACE.match(doubt.evidence)
    path = place[1] if place else doubt.evidence
    if path.startswith("source/"):
        path = path.removeprefix("source/")
    elif path:
        path = f"runs/{seen.run.id}/{path}"
    severity = "error" if SEVERITIES[doubt.id] == FALSE else "warning"
    return RehearsalFinding(
        path, int(place[2]) if place else 0, doubt.id, severity, doubt.message, processes=seen.processes
    )


def _unsure(seen: Understood, metric: ToldMetric) -> RehearsalFinding:
    made = _finding(seen, "unsure-metric", "warning", metric=metric.name)
    if metric.place is None:
        return made
    path = f"runs/{seen.run.id}/{metric.place.file}"
    return RehearsalFinding(
        path, metric.place.line, made.rule, made.severity, made.message, made.advice, seen.processes
    )


def _finding(seen: Understood, rule: str, severity: str, **values: object) -> RehearsalFinding:
    key = rule.replace("-", "_")
    return RehearsalFinding(
        f"runs/{seen.run.id}/logs/rank-0.log" if rule in ("silent", "no-throughput") else "",
        0, rule, severity,
        message(f"rehearsal.{key}", processes=seen.processes, **values),
        message(f"rehearsal.{key}_advice", run=seen.run.id[-8:], **values),
        seen.processes,
    )  # fmt: skip
