"""The problems of a run for its page: from the index, from its owner's stored diagnosis, or from a new one."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from hackathon.access.guarded_folder import GuardedFolder
from hackathon.index.catalog import Catalog
from hackathon.index.held_rules import HeldRules
from hackathon.index.record import RunEntry
from hackathon.runs.directory import RunDirectory
from hackathon.runs.states import CREATED, OPEN, SUCCEEDED
from hackathon.text.errors import HackathonError
from hackathon.text.messages import language

if TYPE_CHECKING:
    from hackathon.diagnosis.examine import Diagnosis
    from hackathon.diagnosis.findings import Finding

MOST, MOST_FILES = 16 << 20, 500
"""Bytes and files of logs that are diagnosed while a page waits; the index diagnoses larger ones."""
KEPT = 200
"""Diagnoses that are cached."""
_IN_LOG = re.compile(r"logs/([a-z0-9-]+\.log):(\d{1,11})(?!\d)")
OTHERS = 6
"""Findings besides the cause that a page shows."""


@dataclass(frozen=True)
class Found:
    """One problem, or a likely one."""

    level: str
    """`root`: the cause; `likely`, `consequence`, `silent` …: as in a diagnosis."""
    part: str
    """The part's label; empty if it is unknown."""
    message: str
    place: str = ""
    """File and line, ranks, host."""
    evidence: str = ""
    """The line that shows it."""
    advice: str = ""
    causes: tuple[tuple[str, str], ...] = ()
    """(possible reason, the command that confirms it)."""
    references: tuple[str, ...] = ()

    @property
    def log(self) -> tuple[str, str] | None:
        """The name of the log with the line, and the line's number; None if it is in none."""
        match = _IN_LOG.match(self.place)
        return (match[1], match[2]) if match else None


@dataclass(frozen=True)
class Verdict:
    """The known problems of a run."""

    findings: tuple[Found, ...] = ()
    """The cause first."""
    unknown: tuple[tuple[str, str], ...] = ()
    """(position, line): informative lines of a failure without a rule."""


def verdict(source: Catalog, summary: RunEntry, inside: GuardedFolder) -> Verdict:
    """Return the problems of a run, in the current language.

    They come from the diagnosis that its owner's toolkit stored, else from the index. Only a failure without a cause in
    either is diagnosed here, if the page is live and the logs are small.
    """
    cause = (summary.told or {}).get(language())
    if summary.state not in (*OPEN, CREATED, SUCCEEDED):
        from hackathon.diagnosis.cache import kept

        run = RunDirectory(Path(summary.project) / "runs" / summary.id)
        finding = kept(run)
        if finding is not None:
            return Verdict((_found(finding),))
        if cause is None and source.live and _small(inside):
            diagnosis = _diagnosis(source, summary, run, inside)
            if diagnosis is not None:
                return _of(diagnosis)
    if cause is None:
        return Verdict()
    root = Found("root", _part(summary.part), cause.message, cause.place, cause.evidence, cause.advice, cause.causes)
    return Verdict((root,))


def without_lines(verdict: Verdict) -> Verdict:
    """Return a verdict without log lines, for pages that may not show any."""
    return Verdict(tuple(replace(finding, evidence="") for finding in verdict.findings))


def _small(inside: GuardedFolder) -> bool:
    sizes = inside.sizes(("logs", "metrics", "telemetry"), MOST_FILES + 1)
    return len(sizes) <= MOST_FILES and sum(sizes) <= MOST


def _diagnosis(source: Catalog, summary: RunEntry, run: RunDirectory, inside: GuardedFolder) -> "Diagnosis | None":
    """Return the diagnosis of an ended run, made once for each state of its logs; None if it cannot be made."""
    from hackathon.diagnosis.examine import diagnose_run
    from hackathon.runs.status import status

    key = (str(run.path), language(), summary.state, *inside.facts(("logs", "events", "final.json")))
    cached: Diagnosis | None = source.memory.recall("diagnoses", key)
    if cached is not None:
        return cached
    # without the project's own rules, because nothing can stop an endless search in this thread
    folders = [source.event_folder] if source.event_folder else []
    try:
        state = status([run], ask=False, write=False)[0]
        rules = source.memory.recall("rules", "") or HeldRules()
        source.memory.keep("rules", "", rules, 1)
        with rules.used(folders) as rule_set:
            diagnosis = diagnose_run(run, state, rules=rule_set, folders=folders)
    except (HackathonError, OSError, ValueError):
        return None
    source.memory.keep("diagnoses", key, diagnosis, KEPT)
    return diagnosis


def _of(diagnosis: "Diagnosis") -> Verdict:
    from hackathon.diagnosis.show import place

    unknown = () if diagnosis.root else tuple((place(evidence), evidence.text) for evidence in diagnosis.unknown)
    return Verdict(tuple(_found(finding) for finding in _first(diagnosis.findings)), unknown)


def _first(findings: "Sequence[Finding]") -> "Sequence[Finding]":
    return findings[: 1 + OTHERS]


def _found(finding: "Finding") -> Found:
    from hackathon.diagnosis.show import place_of

    evidence = finding.evidence
    return Found(
        finding.level,
        _part(finding.part),
        finding.message,
        place_of(finding),
        evidence.text if evidence else "",
        finding.advice,
        finding.causes,
        tuple(address for address in finding.references if address.startswith(("https://", "http://"))),
    )


def _part(part: str) -> str:
    from hackathon.diagnosis.show import part_name

    return part_name(part) if part else ""
