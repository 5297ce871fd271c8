"""What a diagnosis finds: failures with their evidence, the root cause first."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Evidence:
    """One place in a log, or in a run's records."""

    file: str
    """Path as it was given or, for a run, relative to the run's directory."""
    line: int | None
    """Line number from 1; None for a file that is no text, or a fact without a line."""
    text: str
    """The line without escape sequences and launcher's prefix, at most 500 letters."""
    rank: int | None = None
    """The rank that wrote it, where known."""
    host: str = ""
    """Its host, where known."""
    time: float | None = None
    """When it was written, seconds since 1970, where known."""

    def to_json(self) -> dict[str, Any]:
        """Return the evidence as JSON values."""
        return {"file": self.file, "line": self.line, "text": self.text, "rank": self.rank, "host": self.host or None}


@dataclass(frozen=True)
class Finding:
    """One diagnosed failure. Texts are in the language that was chosen when it was made."""

    rule: str
    part: str
    level: str
    """`root` for at most one finding: the cause. Others that may be causes too are `likely`."""
    message: str
    """What it means, in one line."""
    evidence: Evidence | None
    advice: str
    causes: tuple[tuple[str, str], ...] = ()
    """(what may be wrong, command to see whether it is so or ""), the most frequent first."""
    references: tuple[str, ...] = ()
    ranks: tuple[int, ...] = ()
    """All ranks that show it."""
    count: int = 1
    """Places that show it, at least."""
    program: str = ""
    """`train.py:12`: the innermost line of the user's own code in the traceback that shows it; empty without one."""
    said: Mapping[str, tuple[str, str]] = field(default_factory=dict, compare=False)
    """Language → (message, advice), for what is kept and read by others; empty where no rule gave the texts."""

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
            "program": self.program or None,
        }
