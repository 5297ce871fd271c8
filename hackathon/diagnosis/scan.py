"""Find the matches of rules in logs: fast in files of any size, with bounds on memory and time.

A search for literals (matcher) finds candidates; the rule's own expression then verifies each candidate on cleaned
lines (window). A message with millions of occurrences is verified a few hundred times and then counted.
"""

import functools
import io
import itertools
import re
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Literal, TypeVar

from hackathon.config.literals import PatternError
from hackathon.config.rule import Pattern, Rule
from hackathon.diagnosis.blocks import SIZE, Block, read_blocks
from hackathon.diagnosis.findings import Evidence
from hackathon.diagnosis.matcher import Matcher, make_matcher
from hackathon.diagnosis.needles import Needle, WantedPattern, expression_of, needles_of
from hackathon.diagnosis.window import Match, Window, line_end, line_start
from hackathon.logs.lines import clean
from hackathon.logs.patterns import has_endless_repeat
from hackathon.logs.prefixes import is_labelled
from hackathon.logs.search_limit import SearchLimit, TooLongError
from hackathon.text.files import open_regular

RANKS = 64
"""Ranks of one log whose first match is recorded separately."""
LOOKED_AT = 200
"""Candidates of one literal that are verified per log."""
LOOKED_AT_MORE = 4
"""Candidates of it that are verified in each further block."""
RULE_SECONDS, SCAN_SECONDS = 1.0, 6.0
"""Processor seconds per scan for one rule's expressions, and for those of all limited rules."""

_Result = TypeVar("_Result")


@dataclass(frozen=True)
class LogFile:
    """A log to search."""

    path: Path
    """The file; `-` is standard input."""
    name: str
    """Its name in evidence."""
    kind: Literal["rank", "job", "scheduler", "other"] = "other"
    """Its writer. A rule with `where` applies to these kinds and to `other`."""
    rank: int | None = None
    """Its only rank, if one rank writes it."""
    host: str = ""
    """Its only host, if one host writes it."""


@dataclass(frozen=True)
class Hit:
    """A match of a rule in a log, or in one rank's lines of a merged log."""

    rule: Rule
    evidence: Evidence
    """The first occurrence."""
    values: dict[str, str]
    """Named groups of the pattern at the first occurrence."""
    order: tuple[int, int]
    """(index of the file, offset of the line)"""
    count: int = 1
    """Occurrences, at least."""


class Scanner:
    """Rules prepared for searching many logs."""

    def __init__(self, rules: Sequence[Rule], engine: str | None = None) -> None:
        """`engine`: one of matcher.ENGINES; None: the fastest available. Raises ImportError."""
        self._rules = list(rules)
        self._unless = [_compiled(rule.unless) for rule in rules]
        self._needles = needles_of(rules)
        self.limits = RuleLimits()
        """Rules that took too long in the last scan."""
        self._named = engine
        self._matcher: Matcher | None = make_matcher(self._needles, engine) if engine else None

    @property
    def engine(self) -> str:
        """Name of the last search engine; "" before the first scan unless one was chosen."""
        return self._matcher.name if self._matcher else ""

    def scan(self, files: Sequence[LogFile], *, now: float | None = None, size: int = SIZE) -> list[Hit]:
        """Return the matches in the order of files and offsets; an unreadable file has none.

        `now`: reference for time stamps without a year. `size`: bytes per read.
        """
        hits: list[Hit] = []
        self.limits.renew()
        matcher = self._prepared(sum(_bytes(file.path) for file in files))
        for number, file in enumerate(files):
            log = _Log(self._rules, self._unless, self.limits, file, number, now)
            try:
                with _opened(file.path) as stream:
                    self._read(stream, log, matcher, size)
            except OSError:
                pass  # earlier matches remain valid
            hits += log.hits()
        return sorted(hits, key=lambda hit: hit.order)

    def scan_text(self, text: str) -> list[Hit]:
        """Return the matches in a text."""
        self.limits.renew()
        log = _Log(self._rules, self._unless, self.limits, LogFile(Path(), ""), 0, None)
        self._read(io.BytesIO(text.encode("utf-8", "surrogateescape")), log, self._prepared(len(text)), SIZE)
        return sorted(log.hits(), key=lambda hit: hit.order)

    def _prepared(self, size: int) -> Matcher:
        """Return a search for so many bytes; replace a slower one if there is much to read."""
        if self._matcher is None or (size >= self._matcher.enough and not self._named):
            self._matcher = make_matcher(self._needles, self._named, size=size)
        return self._matcher

    def _read(self, stream: BinaryIO, log: "_Log", matcher: Matcher, size: int) -> None:
        for block in read_blocks(stream, size):
            self._block(block, log, matcher)

    def _block(self, block: Block, log: "_Log", matcher: Matcher) -> None:
        log.begin(block)
        for key in sorted(matcher.present(block)):
            needle = self._needles[key // 2]
            patterns = [pattern for pattern in needle.wanted if log.wants(pattern.rule)]
            if not patterns:
                continue
            text = block.lowered if needle.folded else block.text
            find = needle.torn_places if key % 2 else needle.places
            log.look(key, needle, find(text, block.done, block.end), patterns, text)


class RuleSet(tuple[Rule, ...]):
    """Rules that are used repeatedly: preparing their scanner takes far longer than scanning a small log."""

    @functools.cached_property
    def scanner(self) -> Scanner:
        """The scanner of the rules with patterns, created on first use."""
        return Scanner([rule for rule in self if rule.patterns])


_LAST = threading.local()


def rule_set(rules: Sequence[Rule]) -> RuleSet:
    """Return the set of these rules; reuse this thread's last set, with its scanner, if its rules are equal.

    A notebook, a site or a study that diagnoses many runs would otherwise prepare the same scanner each time. A scanner
    is not thread-safe, so each thread has its own.
    """
    if isinstance(rules, RuleSet):  # the caller ensures that one thread uses it
        return rules
    last: RuleSet | None = getattr(_LAST, "rules", None)
    if last is None or last != tuple(rules):
        last = _LAST.rules = RuleSet(rules)
    return last


def scan(files: Sequence[LogFile], rules: Sequence[Rule], *, now: float | None = None) -> list[Hit]:
    """Return the matches of rules: the first one and a count for each rule and log (and rank of a merged log)."""
    return Scanner(rules).scan(files, now=now)


@dataclass
class _Found:
    """The matches of a rule in one log."""

    places: dict[int | None, Hit] = field(default_factory=dict)
    counts: dict[int | None, int] = field(default_factory=dict)
    more: dict[int, int] = field(default_factory=dict)
    """Key of a literal → candidates that were counted without verification."""


class RuleLimits:
    """The time that rules have used in one scan. Expressions without an unbounded repeat are not limited."""

    def __init__(self) -> None:
        self._watched: dict[str, bool] = {}
        """Rule's id → whether it needs a limit. Filled on first use, because most rules never match."""
        self.renew()

    def renew(self) -> None:
        """Reset the times for a new scan."""
        self._scan = SearchLimit(SCAN_SECONDS)
        self._by_rule: dict[str, SearchLimit] = {}
        self.ended: dict[str, None] = {}
        """Ids of the rules that took too long and are no longer applied."""

    def within(self, rule: Rule, search: Callable[[], _Result], otherwise: _Result) -> _Result:
        """Return the result of a rule's search, or `otherwise` when the rule has used its time."""
        watched = self._watched.get(rule.id)
        if watched is None:
            watched = self._watched[rule.id] = _needs_limit(rule)
        if not watched:
            return search()
        if rule.id in self.ended:
            return otherwise
        limit = self._by_rule.setdefault(rule.id, SearchLimit(RULE_SECONDS, self._scan))
        try:
            with limit:
                return search()
        except TooLongError:
            self.ended[rule.id] = None
            return otherwise


def _needs_limit(rule: Rule) -> bool:
    return any(pattern.regex and has_endless_repeat(pattern.regex) for pattern in (*rule.patterns, *rule.unless))


class _Log:
    """The matches in one log so far."""

    def __init__(
        self,
        rules: Sequence[Rule],
        unless: Sequence[list[re.Pattern[str]]],
        limits: RuleLimits,
        file: LogFile,
        number: int,
        now: float | None,
    ) -> None:
        self._rules, self._unless, self._limits = rules, unless, limits
        self._file, self._number, self._now = file, number, now
        self._found: dict[int, _Found] = {}
        self._spent: dict[int, tuple[int, int]] = {}
        """Key of a literal → (candidates that were verified, those that matched)."""
        self._labelled: bool | None = None
        self._windows: dict[int, Window] = {}
        self._lines: set[tuple[int, int]] = set()

    def begin(self, block: Block) -> None:
        """Continue with the next block."""
        self._block = block
        self._windows = {}
        # a message may begin in a line before this block's own positions
        self._lines = {line for line in self._lines if line[1] >= block.base}
        if self._labelled is None:
            self._labelled = is_labelled(clean(line) for line in block.text[: 1 << 16].splitlines())

    def wants(self, rule: int) -> bool:
        """Return whether a rule applies to this log."""
        kinds = self._rules[rule].where
        return not kinds or self._file.kind == "other" or self._file.kind in kinds

    def look(
        self, key: int, needle: Needle, positions: Iterator[int], patterns: list[WantedPattern], text: bytes
    ) -> None:
        """Verify the candidates of a literal in the current block."""
        spent, good = self._spent.get(key, (0, 0))
        allowed = max(LOOKED_AT - spent, LOOKED_AT_MORE)
        for position in positions:
            if not allowed:
                self._rest(key, needle, itertools.chain([position], positions), patterns, text, sure=spent == good)
                break
            allowed -= 1
            spent += 1
            verified = [self._verify(pattern, self._window(position)) for pattern in patterns]
            good += any(verified)
        self._spent[key] = spent, good

    def _rest(
        self,
        key: int,
        needle: Needle,
        positions: Iterator[int],
        patterns: list[WantedPattern],
        text: bytes,
        *,
        sure: bool,
    ) -> None:
        """Handle the remaining candidates: count those of rules that have matched, check the others briefly."""
        missing = [pattern for pattern in patterns if pattern.rule not in self._found]
        position = next(positions)
        if sure and key % 2 == 0:
            more = text.count(needle.body, position, self._block.end)
            for pattern in patterns:
                if pattern not in missing:
                    counts = self._found[pattern.rule].more
                    counts[key] = counts.get(key, 0) + more
        missing = [
            pattern for pattern in missing if not pattern.leading or self._stands_in(self._block.decoded, pattern)
        ]
        if not missing:
            return
        for start in itertools.chain([position], positions):
            line = self._block.text[line_start(text, start) : line_end(text, start)].decode("utf-8", "replace")
            for pattern in [pattern for pattern in missing if self._stands_in(line, pattern)]:
                if self._verify(pattern, self._window(start)):
                    missing.remove(pattern)
            if not missing:
                return

    def _stands_in(self, text: str, pattern: WantedPattern) -> bool:
        rule = self._rules[pattern.rule]
        return self._limits.within(rule, lambda: pattern.expression.search(text) is not None, False)

    def _verify(self, pattern: WantedPattern, window: Window) -> bool:
        """Record a match of a pattern at a candidate; return whether there is one."""
        rule = self._rules[pattern.rule]
        match = self._limits.within(
            rule,
            lambda: window.search(pattern.expression) or window.search_torn(pattern.expression, wide=pattern.wide),
            None,
        )
        if match is None:
            return False
        start = (pattern.rule, self._block.base + match.start)
        if start in self._lines:
            return True
        if self._limits.within(rule, lambda: window.has(self._unless[pattern.rule]), True):
            return False
        self._lines.add(start)
        self._note(pattern.rule, match, window)
        return True

    def _note(self, rule: int, match: Match, window: Window) -> None:
        matches = self._found.setdefault(rule, _Found())
        rank = self._file.rank if self._file.rank is not None else match.prefixed.rank
        offset = self._block.base + match.start
        hit = matches.places.get(rank)
        if hit is None and len(matches.places) >= RANKS:
            rank = next(iter(matches.places))
            hit = matches.places[rank]
        matches.counts[rank] = matches.counts.get(rank, 0) + 1
        if hit is not None and hit.order[1] <= offset:
            return
        evidence = Evidence(
            file=self._file.name,
            line=self._block.line(match.start),
            text=match.text,
            rank=rank,
            host=match.prefixed.host or self._file.host,
            time=match.prefixed.time if match.prefixed.time is not None else window.time,
            pid=match.prefixed.pid,
        )
        matches.places[rank] = Hit(self._rules[rule], evidence, match.values, (self._number, offset))

    def hits(self) -> list[Hit]:
        """Return the matches."""
        hits = []
        for matches in self._found.values():
            counts = dict(matches.counts)
            first = min(matches.places, key=lambda rank: matches.places[rank].order)
            # two literals of a rule may be in the same lines, so only the higher count is certain
            counts[first] += max(matches.more.values(), default=0)
            hits += [
                Hit(hit.rule, hit.evidence, hit.values, hit.order, counts[rank]) for rank, hit in matches.places.items()
            ]
        return hits

    def _window(self, position: int) -> Window:
        start = line_start(self._block.text, position)
        window = self._windows.get(start)
        if window is None:
            window = self._windows[start] = Window(self._block, position, self._now, bool(self._labelled))
        return window


def _compiled(patterns: Sequence[Pattern]) -> list[re.Pattern[str]]:
    """Return the compiled expressions; an unchecked wrong expression matches nothing."""
    expressions = []
    for pattern in patterns:
        try:
            expressions.append(expression_of(pattern))
        except PatternError:
            continue
    return expressions


def _bytes(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    if str(path) == "-":
        yield sys.stdin.buffer
        return
    with open_regular(path) as stream:
        yield stream
