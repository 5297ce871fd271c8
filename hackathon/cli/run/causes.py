"""Why runs failed, as `status`, `results` and `scale` say it: the cause first, how the run ended behind it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hackathon.diagnosis.findings import Finding
    from hackathon.runs.directory import RunDirectory
    from hackathon.runs.status import RunStatus

DIAGNOSED, LARGE_ONES = 20, 3
"""Failed runs, the newest ones of those shown, whose cause is looked for when nobody has done so yet, and how many of
them at a time may have written much."""
MUCH = 16 << 20
"""Bytes of logs and metrics."""


def has_failed(state: "RunStatus") -> bool:
    """Return whether a run failed by itself, so that there is a cause to look for."""
    return not state.open and state.state not in ("SUCCEEDED", "CREATED") and state.cause != "preflight_failed"


def causes(runs: "Sequence[RunDirectory]", states: "Sequence[RunStatus]") -> "dict[str, Finding]":
    """Return run id → the cause of its failure, as it was found before; of the newest ones found now."""
    failed = [(run, state) for run, state in zip(runs, states, strict=True) if has_failed(state)]
    if not failed:
        return {}
    from hackathon.diagnosis.cache import kept, looked_at
    from hackathon.index.held_rules import HeldRules

    found = {}
    left, rules = LARGE_ONES, HeldRules()
    for number, (run, state) in enumerate(sorted(failed, key=lambda each: each[0].id, reverse=True)):
        finding = kept(run)
        may = number < DIAGNOSED and run.owned()
        if may and not looked_at(run):  # what is kept, if anything, is in another language
            from hackathon.cli.run.diagnose import cause_of

            large = sum(size for _, size, _ in run.files.facts(("logs", "metrics"))) > MUCH
            left -= large
            if left >= 0 or not large:
                finding = cause_of(run, state, rules) or finding
        if finding is not None:
            found[run.id] = finding
    return found


def cause_text(finding: "Finding | None", ended: str) -> str:
    """Return the cause with its part in front of how a run `ended`; only that where no cause is known."""
    if finding is None:
        return ended
    from hackathon.diagnosis.show import cause_sentence

    return cause_sentence(finding.part, finding.rule, finding.message, ended, finding.program)
