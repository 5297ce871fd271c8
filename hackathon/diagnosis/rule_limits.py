"""Limit the time of rules' expressions: a slow expression costs its rule, not the diagnosis."""

from collections.abc import Callable
from typing import TypeVar

from hackathon.config.rule import Rule
from hackathon.logs.patterns import has_endless_repeat
from hackathon.logs.search_limit import SearchLimit, TooLongError

EACH, ALL = 1.0, 6.0
"""Processor seconds per scan for one rule's expressions, and for those of all limited rules."""
_Found = TypeVar("_Found")


class RuleLimits:
    """The time that rules have used in one scan. Expressions without an unbounded repeat are not limited."""

    def __init__(self) -> None:
        self._watched: dict[str, bool] = {}
        """Rule's id → whether it needs a limit. Filled on first use, because most rules never match."""
        self.renew()

    def renew(self) -> None:
        """Reset the times for a new scan."""
        self._all = SearchLimit(ALL)
        self._each: dict[str, SearchLimit] = {}
        self.ended: dict[str, None] = {}
        """Ids of the rules that took too long and are no longer applied."""

    def within(self, rule: Rule, search: Callable[[], _Found], otherwise: _Found) -> _Found:
        """Return the result of a rule's search, or `otherwise` when the rule has used its time."""
        watched = self._watched.get(rule.id)
        if watched is None:
            watched = self._watched[rule.id] = _needs_limit(rule)
        if not watched:
            return search()
        if rule.id in self.ended:
            return otherwise
        limit = self._each.setdefault(rule.id, SearchLimit(EACH, self._all))
        try:
            with limit:
                return search()
        except TooLongError:
            self.ended[rule.id] = None
            return otherwise


def _needs_limit(rule: Rule) -> bool:
    return any(pattern.regex and has_endless_repeat(pattern.regex) for pattern in (*rule.patterns, *rule.unless))
