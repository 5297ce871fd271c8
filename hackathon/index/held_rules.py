"""Rules of diagnosis with their scanner, held for a while: making them takes far longer than using them on one run."""

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hackathon.diagnosis.scan import RuleSet

AGE = 60.0
"""Seconds for which rules are used again before their files are read anew."""
MOST = 50
"""Sets of rules, one a project, that are held."""
TURN = 2.0
"""Seconds that a thread waits for another one, which may wait for a file system, before it does without."""


class HeldRules:
    """Sets of rules by the folders that have some of their own."""

    def __init__(self) -> None:
        self._sets: dict[tuple[Path, ...], tuple[float, RuleSet]] = {}
        self._turn = threading.Lock()

    @contextmanager
    def used(self, folders: Sequence[Path]) -> "Iterator[RuleSet | None]":
        """Yield rules for one of several threads, for a scanner serves one; None when another one does not end."""
        if not self._turn.acquire(timeout=TURN):
            yield None
            return
        try:
            yield self.of(folders)
        finally:
            self._turn.release()

    def of(self, folders: Sequence[Path]) -> "RuleSet":
        """Return the shipped rules, the user's, and those of folders. Raises as `config.load.load_rules` does."""
        from hackathon.config.load import load_rules
        from hackathon.diagnosis.scan import RuleSet

        key, now = tuple(folders), time.monotonic()
        if key in self._sets and now - self._sets[key][0] <= AGE:
            return self._sets[key][1]
        fresh = RuleSet(load_rules(folders)[0])
        # most teams have no rules of their own: one and the same list spares making its scanner again
        same = next((rule_set for _, rule_set in self._sets.values() if rule_set == fresh), fresh)
        if len(self._sets) > MOST:
            self._sets.clear()
        self._sets[key] = now, same
        return same
