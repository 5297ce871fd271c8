"""Why runs failed, for `status`, `results` and `scale`: the cause first, then the final state."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hackathon.diagnosis.findings import Finding
    from hackathon.runs.directory import RunDirectory
    from hackathon.runs.status import RunStatus

DIAGNOSED, DEAR_ONES = 20, 3
"""Newest displayed failed runs that are diagnosed now if they have no cause yet; and how many of them may be slow.

Slow are those with large logs, and those whose cause cannot be stored, so that it is looked for again each time.
"""
MUCH = 16 << 20
"""Bytes of logs and metrics."""


def has_failed(state: "RunStatus") -> bool:
    """Return whether a run failed by itself, so that it has a cause."""
    return not state.open and state.state not in ("SUCCEEDED", "CREATED") and state.cause != "preflight_failed"


def causes(runs: "Sequence[RunDirectory]", states: "Sequence[RunStatus]") -> "dict[str, Finding]":
    """Return run id → the cause of its failure: a stored one, or for the newest runs a new diagnosis."""
    failed = [(run, state) for run, state in zip(runs, states, strict=True) if has_failed(state)]
    if not failed:
        return {}
    from hackathon.diagnosis.cache import kept, looked_at
    from hackathon.index.held_rules import HeldRules
    from hackathon.runs.states import ENDED

    findings = {}
    left, rules = DEAR_ONES, HeldRules()
    for number, (run, state) in enumerate(sorted(failed, key=lambda pair: pair[0].id, reverse=True)):
        finding = kept(run)
        may = number < DIAGNOSED and state.state in ENDED and state.cause != "refused"
        if left and may and not looked_at(run):  # a stored cause, if any, is in another language
            from hackathon.cli.run.diagnose import cause_of

            finding = cause_of(run, state, rules) or finding
            left -= not looked_at(run) or sum(run.files.sizes(("logs", "metrics"))) > MUCH
        if finding is not None:
            findings[run.id] = finding
    return findings


def cause_text(finding: "Finding | None", ended: str) -> str:
    """Return the cause with its part, followed by the final state `ended`; only the latter if no cause is known."""
    if finding is None:
        return ended
    from hackathon.diagnosis.show import cause_sentence

    return cause_sentence(finding.part, finding.rule, finding.message, ended, finding.program)
