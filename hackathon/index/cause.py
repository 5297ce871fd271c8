"""The diagnosis of a run in every language: stored in the run's own folder, or made now."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from hackathon.index.record import CauseText, RunEntry
from hackathon.text.messages import LANGUAGES

if TYPE_CHECKING:
    from hackathon.diagnosis.examine import Diagnosis
    from hackathon.runs.directory import RunDirectory

LONGEST = 2000
"""Characters of a text that are stored."""


@dataclass(frozen=True)
class RunCause:
    """Why a run failed, or the silent errors of a successful one."""

    part: str = ""
    """Empty if no cause was found."""
    rule: str = ""
    rank: int | None = None
    host: str = ""
    told: tuple[tuple[str, CauseText], ...] = ()
    """(language, the cause); empty without a cause."""
    silent: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """(language, messages of the findings of a run that did not fail)."""

    def to_json(self) -> dict[str, Any]:
        """Return the cause as JSON values."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "RunCause":
        """Return the cause from its JSON values. Raises TypeError, KeyError or ValueError for invalid values."""
        causes = tuple((str(code), CauseText.from_json(text)) for code, text in value["told"])
        silent = tuple((str(code), tuple(map(str, texts))) for code, texts in value["silent"])
        rank = value["rank"]
        return cls(
            str(value["part"]),
            str(value["rule"]),
            None if rank is None else int(rank),
            str(value["host"]),
            causes,
            silent,
        )


def cause_kept(run: "RunDirectory") -> RunCause | None:
    """Return the cause from a run's `client/diagnosis.json`; None if it lacks a language or has another form.

    In another account's run the finding must be one that a rule could produce.
    """
    value = run.client("diagnosis")
    if not all(isinstance(value.get(code), dict) for code in LANGUAGES):
        return None
    # the advice looks like this toolkit's, so nobody else may write it
    if any(value[code] for code in LANGUAGES) and not run.owned():
        from hackathon.diagnosis.believed import is_believed

        if not all(is_believed(value[code]) for code in LANGUAGES):
            return None
    findings = {code: value[code] for code in LANGUAGES if value[code]}
    try:
        return _cause(
            {code: _told(finding, finding.get("evidence") or {}) for code, finding in findings.items()}, findings
        )
    except (AttributeError, TypeError, ValueError):
        return None


def cause_found(diagnoses: "Mapping[str, Diagnosis]", failed: bool) -> RunCause:
    """Return the cause from one diagnosis for each language; for a run that did not fail, its silent errors."""
    roots = {code: diagnosis.root.to_json() for code, diagnosis in diagnoses.items() if diagnosis.root is not None}
    texts = {code: _told(root, root["evidence"] or {}) for code, root in roots.items()}
    if failed:
        return _cause(texts, roots)
    silent = tuple(
        (code, tuple(finding.message[:LONGEST] for finding in diagnosis.findings))
        for code, diagnosis in diagnoses.items()
    )
    return RunCause(silent=silent)


def with_cause(summary: RunEntry, cause: RunCause | None) -> RunEntry:
    """Return a summary with its cause; None: it was not diagnosed."""
    if cause is None:
        return summary
    if cause.silent:  # it did not fail
        return replace(summary, silent=dict(cause.silent))
    return replace(
        summary,
        part=cause.part,
        rule=cause.rule,
        rank=cause.rank if cause.rank is not None else summary.rank,
        host=cause.host or summary.host,
        told=dict(cause.told),
    )


def _told(finding: Mapping[str, Any], evidence: Mapping[str, Any]) -> CauseText:
    file, line = str(evidence.get("file") or ""), evidence.get("line")
    location = f"{file}:{line}" if file and line else file
    return CauseText(
        str(finding.get("message") or "")[:LONGEST],
        str(finding.get("advice") or "")[:LONGEST],
        str(evidence.get("text") or "")[:LONGEST],
        location,
        # a truncated command is another command, so one that is too long is left out
        tuple((_cut(cause.get("text")), _whole(cause.get("check"))) for cause in finding.get("causes") or ()),
    )


def _cut(text: object) -> str:
    return str(text or "")[:LONGEST]


def _whole(text: object) -> str:
    return "" if len(str(text or "")) > LONGEST else str(text or "")


def _cause(texts: Mapping[str, CauseText], findings: Mapping[str, Mapping[str, Any]]) -> RunCause:
    first = next(iter(findings.values()), None)
    if first is None:
        return RunCause()
    evidence = first.get("evidence") or {}
    rank = evidence.get("rank")
    return RunCause(
        part=str(first.get("part") or ""),
        rule=str(first.get("rule") or ""),
        rank=rank if isinstance(rank, int) else None,
        host=str(evidence.get("host") or ""),
        told=tuple(texts.items()),
    )
