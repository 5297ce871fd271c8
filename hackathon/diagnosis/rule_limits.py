"""Time that the expressions of rules may take: one that does not end costs its rule, and not the diagnosis."""

from collections.abc import Callable
from typing import TypeVar

from hackathon.config.rule import Rule
from hackathon.logs.patterns import has_endless_repeat
from hackathon.logs.search_limit import SearchLimit, TooLongError

EACH, ALL = 1.0, 6.0
"""Seconds of processor time for one rule's expressions in one scan, and for those of all rules that need a limit."""
_Found = TypeVar("_Found")


class RuleLimits:
    """What the rules of one scan have used. Expressions without an endless repeat are not watched."""

    def __init__(self) -> None:
        self._watched: dict[str, bool] = {}
        """Rule's id → whether it needs a limit; looked at when it is first met, for most never are."""
        self.renew()

    def renew(self) -> None:
        """Begin anew."""
        self._all = SearchLimit(ALL)
        self._each: dict[str, SearchLimit] = {}
        self.ended: dict[str, None] = {}
        """Ids of the rules that took too long and are not looked for any more."""

    def within(self, rule: Rule, search: Callable[[], _Found], otherwise: _Found) -> _Found:
        """Return what a search for a rule finds; `otherwise`, when the rule has no time left."""
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
