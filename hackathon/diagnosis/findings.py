"""The result of a diagnosis: failures with their evidence, the root cause first."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

CERTAIN: Final = "certain"
"""The words of the message stand for one cause."""
LIKELY: Final = "likely"
"""The message is near the cause."""
UNKNOWN: Final = "unknown"
"""The message tells what happened first, and perhaps what it is about."""


@dataclass(frozen=True)
class Evidence:
    """One line in a log or in a run's records."""

    file: str
    """Path as the user gave it; for a run, relative to the run's directory."""
    line: int | None
    """Line number from 1; None for a binary file and for a fact without a line."""
    text: str
    """The line without escape sequences and the launcher's prefix, at most 500 characters."""
    rank: int | None = None
    """The rank that wrote it, when known."""
    host: str = ""
    """The rank's host, when known."""
    time: float | None = None
    """When it was written, in seconds since 1970, when known."""
    pid: int | None = None
    """Id of the process that wrote it, when known."""

    def to_json(self) -> dict[str, Any]:
        """Return the evidence as JSON values."""
        return {"file": self.file, "line": self.line, "text": self.text, "rank": self.rank, "host": self.host or None}


@dataclass(frozen=True)
class Finding:
    """One diagnosed failure. Texts are in the language that was current when it was created."""

    rule: str
    part: str
    level: str
    """`root` for at most one finding, the cause; `likely` for others that may be causes too."""
    message: str
    """The meaning in one line."""
    evidence: Evidence | None
    advice: str
    causes: tuple[tuple[str, str], ...] = ()
    """(possible cause, command to check it or ""), the most frequent first."""
    references: tuple[str, ...] = ()
    ranks: tuple[int, ...] = ()
    """All ranks concerned."""
    count: int = 1
    """Occurrences."""
    at_least: bool = False
    """There may be more occurrences."""
    certainty: str = CERTAIN
    """How surely the message is the cause, judged by the rule alone: CERTAIN, LIKELY or UNKNOWN."""
    program: str = ""
    """`train.py:12`: the innermost line of the user's code in the traceback; empty without a traceback."""
    said: Mapping[str, tuple[str, str]] = field(default_factory=dict, compare=False)
    """Language → (message, advice), stored for other readers; empty when no rule supplied the texts."""

    def to_json(self) -> dict[str, Any]:
        """Return the finding as JSON values."""
        return {
            "rule": self.rule,
            "part": self.part,
            "level": self.level,
            "message": self.message,
            "evidence": self.evidence.to_json() if self.evidence else None,
            "advice": self.advice,
            "causes": [{"text": text, "check": check or None} for text, check in self.causes],
            "references": list(self.references),
            "ranks": list(self.ranks),
            "count": self.count,
            "at_least": self.at_least,
            "certainty": self.certainty,
            "program": self.program or None,
        }
