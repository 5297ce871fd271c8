"""Cache diagnosis rules with their scanner, because building them takes far longer than using them on one run."""

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hackathon.diagnosis.scan import RuleSet

AGE = 60.0
"""Seconds for which rules are reused before their files are read again."""
MOST = 50
"""The most sets of rules, one per project, that are cached."""
TURN = 2.0
"""Seconds that a thread waits for another one, which may wait for a file system, before it gives up."""


class HeldRules:
    """Sets of rules by the folders with further rules."""

    def __init__(self) -> None:
        self._sets: dict[tuple[Path, ...], tuple[float, RuleSet]] = {}
        self._turn = threading.Lock()

    @contextmanager
    def used(self, folders: Sequence[Path]) -> "Iterator[RuleSet | None]":
        """Yield rules for one thread, because a scanner serves one at a time.

        None if another thread does not finish.
        """
        if not self._turn.acquire(timeout=TURN):
            yield None
            return
        try:
            yield self.of(folders)
        finally:
            self._turn.release()

    def of(self, folders: Sequence[Path]) -> "RuleSet":
        """Return the shipped rules, the user's, and those in folders. Raises as `config.rule_files.load_rules` does."""
        from hackathon.config.rule_files import load_rules
        from hackathon.diagnosis.scan import RuleSet

        key, now = tuple(folders), time.monotonic()
        if key in self._sets and now - self._sets[key][0] <= AGE:
            return self._sets[key][1]
        fresh = RuleSet(load_rules(folders)[0])
        # most teams have no rules of their own, so sharing an equal set saves building its scanner again
        same = next((rule_set for _, rule_set in self._sets.values() if rule_set == fresh), fresh)
        if len(self._sets) > MOST:
            self._sets.clear()
        self._sets[key] = now, same
        return same
