"""The diagnoses of several runs, and their common JSON."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hackathon.config.rule import Rule
    from hackathon.diagnosis.examine import Diagnosis
    from hackathon.runs.directory import RunDirectory

MOST_RUNS = 10
"""The most failed runs of a study that are diagnosed, newest first."""


def diagnose_runs(
    runs: Sequence["RunDirectory"], rules: Sequence["Rule"], *, most: int | None = MOST_RUNS
) -> "tuple[list[Diagnosis], int]":
    """Return the diagnoses of runs and how many failed runs were left out, because there are more than `most`.

    Of several runs: those that failed, and those that succeeded with silent errors.
    """
    if not runs:
        return [], 0
    from hackathon.diagnosis.cache import keep
    from hackathon.diagnosis.examine import diagnose_run
    from hackathon.runs.status import status

    pairs = list(zip(runs, status(runs), strict=True))
    selected, good = pairs, []
    if len(pairs) > 1:
        good = sorted((pair for pair in pairs if pair[1].state == "SUCCEEDED"), key=lambda pair: pair[0].id)[
            -MOST_RUNS:
        ]
        selected = [
            (run, state) for run, state in pairs if state.state not in ("SUCCEEDED", "CREATED") and not state.open
        ]
    newest = selected if most is None else sorted(selected, key=lambda pair: pair[0].id, reverse=True)[:most]
    diagnoses = []
    for run, state in good + newest:
        diagnosis = diagnose_run(run, state, rules=rules)
        if diagnosis.root is not None or state.state != "SUCCEEDED" or len(pairs) == 1:
            keep(run, diagnosis)
            diagnoses.append(diagnosis)
    return diagnoses, len(selected) - len(newest)


def to_json(diagnoses: Sequence["Diagnosis"]) -> dict[str, Any]:
    """Return all findings, the cause of each run first; `run` and `state` are those of the only run, else null.

    `left_out`: ids of rules that were not applied to all lines.
    """
    findings = [
        {**finding.to_json(), **({"run": diagnosis.run} if len(diagnoses) > 1 else {})}
        for diagnosis in diagnoses
        for finding in diagnosis.findings
    ]
    only = diagnoses[0] if len(diagnoses) == 1 else None
    value: dict[str, Any] = {
        "run": (only.run or None) if only else None,
        "state": (only.state or None) if only else None,
        "findings": findings,
        "harmless": [finding.to_json() for diagnosis in diagnoses for finding in diagnosis.harmless],
        "unknown": [evidence.to_json() for diagnosis in diagnoses for evidence in diagnosis.unknown],
        "left_out": sorted({rule for diagnosis in diagnoses for rule in diagnosis.slow}),
    }
    if only is None:
        value["runs"] = [{"run": diagnosis.run or None, "state": diagnosis.state or None} for diagnosis in diagnoses]
    return value
