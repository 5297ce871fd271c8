"""What is wrong with a run, as its page tells it: from the index, from what its owner's toolkit kept, or looked at."""

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
"""Bytes and files of logs that are looked at while a page waits; more than these the index looks at."""
KEPT = 200
"""Diagnoses that are held."""
_IN_LOG = re.compile(r"logs/([a-z0-9-]+\.log):(\d{1,11})(?!\d)")
OTHERS = 6
"""Findings beside the cause that a page shows."""


@dataclass(frozen=True)
class Found:
    """One thing that is wrong, or looks so."""

    level: str
    """`root`: the cause; `likely`, `consequence`, `silent` …: as a diagnosis names it."""
    part: str
    """What the part is called; empty when it is not known."""
    message: str
    place: str = ""
    """File and line, ranks, host."""
    evidence: str = ""
    """The line that shows it."""
    advice: str = ""
    causes: tuple[tuple[str, str], ...] = ()
    """(what may be behind it, the command that shows whether it is so)."""
    references: tuple[str, ...] = ()

    @property
    def log(self) -> tuple[str, str] | None:
        """The name of the log that the line stands in, and its number; None where it stands in none."""
        match = _IN_LOG.match(self.place)
        return (match[1], match[2]) if match else None


@dataclass(frozen=True)
class Verdict:
    """What is known about what is wrong."""

    findings: tuple[Found, ...] = ()
    """The cause first."""
    unknown: tuple[tuple[str, str], ...] = ()
    """(place, line): worth reading, of a failure that no rule knows."""


def verdict(source: Catalog, summary: RunEntry, inside: GuardedFolder) -> Verdict:
    """Return what is wrong with a run, in the current language.

    What its owner's toolkit kept, else what the index has; only a failure of which neither knows a cause is looked at
    here, where the page is live and the logs are small.
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
    """Return a verdict without lines of logs, for pages that may not show any."""
    return Verdict(tuple(replace(finding, evidence="") for finding in verdict.findings))


def _small(inside: GuardedFolder) -> bool:
    sizes = inside.sizes(("logs", "metrics", "telemetry"), MOST_FILES + 1)
    return len(sizes) <= MOST_FILES and sum(sizes) <= MOST


def _diagnosis(source: Catalog, summary: RunEntry, run: RunDirectory, inside: GuardedFolder) -> "Diagnosis | None":
    """Return the diagnosis of a run that is over, made once for each state of its logs; None when it cannot be."""
    from hackathon.diagnosis.examine import diagnose_run
    from hackathon.runs.status import status

    key = (str(run.path), language(), summary.state, *inside.facts(("logs", "events", "final.json")))
    cached: Diagnosis | None = source.memory.recall("diagnoses", key)
    if cached is not None:
        return cached
    # not the project's own rules: nothing can end a search that does not end in this thread
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
    from hackathon.diagnosis.show import place

    evidence = finding.evidence
    return Found(
        finding.level,
        _part(finding.part),
        finding.message,
        place(evidence, finding.ranks, finding.count) if evidence else "",
        evidence.text if evidence else "",
        finding.advice,
        finding.causes,
        tuple(address for address in finding.references if address.startswith(("https://", "http://"))),
    )


def _part(part: str) -> str:
    from hackathon.diagnosis.show import part_name

    return part_name(part) if part else ""
