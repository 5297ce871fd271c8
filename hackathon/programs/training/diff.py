"""The changed lines of a finding as a unified diff."""

import difflib
from collections.abc import Iterable, Sequence

from hackathon.programs.scripts.findings import Edit


def edited(lines: Sequence[str], edits: Iterable[Edit]) -> list[str]:
    """Return the edited lines; each edit replaces one line, and of two for one line the first counts."""
    changes = {edit.line: edit.lines for edit in reversed(list(edits))}
    return [new for number, line in enumerate(lines, 1) for new in changes.get(number, (line,))]


def unified(path: str, lines: Sequence[str], edits: Iterable[Edit]) -> list[str]:
    """Return the unified diff of edits to a file, without context; empty without a change."""
    new = edited(lines, edits)
    return [line.rstrip("\n") for line in difflib.unified_diff(lines, new, path, path, n=0, lineterm="")]
