"""Find the matches of rules in logs: fast in files of any size, with bounds on memory and time.

A search for literals (matcher) finds candidates; the rule's own expression then verifies each candidate on cleaned
lines (window). A message with millions of occurrences is verified a few hundred times and then counted: the lines that
repeat it are left out of the search (repeats). A rule that needs more time than this allows is named in `limits.ended`.
"""

import functools
import io
import re
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Literal, Protocol, TypeVar

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

if TYPE_CHECKING:
    from hackathon.diagnosis.repeats import Repeats

RANKS = 64
"""Ranks of one log whose first match is recorded separately."""
LOOKED_AT = 200
"""Candidates of one literal that are verified per log."""
LOOKED_AT_MORE = 4
"""Candidates of it that are verified in each further block."""
LOOKED_AT_LONG = 40
"""Candidates of one literal that are verified per log in lines longer than LONG."""
LONG = 4096
"""Bytes of a line: each candidate in a longer one costs as much as a hundred lines."""
SEARCHED = 20_000
"""Candidates of one literal per log whose lines are searched for a rule that has not matched."""
COUNTED_FROM = 20
"""Candidates of a literal that all matched, from which its further occurrences are counted without verification."""
RULE_SECONDS, SCAN_SECONDS = 1.0, 6.0
"""Processor seconds per scan for one rule's expressions, and for those of all limited rules."""

_Result = TypeVar("_Result")


class _Places(Protocol):
    """The candidates of a literal in a block."""

    def __call__(self, *, start: int) -> Iterator[int]:
        """Yield the positions from a position on."""


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
    """Occurrences."""
    at_least: bool = False
    """There may be more occurrences."""


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
        searched = log.begin(block, self._needles)
        for key in sorted(matcher.present(searched)):
            needle = self._needles[key // 2]
            patterns = [pattern for pattern in needle.wanted if log.wants(pattern.rule)]
            if not patterns:
                continue
            find = needle.torn_places if key % 2 else needle.places
            places = functools.partial(find, searched.of(needle.folded), end=block.end)
            log.look(key, needle, places, patterns, searched)


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
    cut: bool = False
    """Candidates were left out that were not counted."""


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
        """Ids of the rules that took too long and were not applied to all lines."""

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
        self._left: dict[int, int] = {}
        """Key of a literal → candidates whose lines may still be searched."""
        self._repeats: Repeats | None = None
        """The repeated lines; None while no message is frequent."""

    def begin(self, block: Block, needles: Sequence[Needle]) -> Block:
        """Continue with the next block; return it as it is to be searched, without lines that were read before.

        The lines at the end of a log are always searched.
        """
        self._block = block
        self._windows = {}
        # a message may begin in a line before this block's own positions
        self._lines = {line for line in self._lines if line[1] >= block.base}
        if self._labelled is None:
            self._labelled = is_labelled(clean(line) for line in block.text[: 1 << 16].splitlines())
        if self._repeats is None or block.end == len(block.text):
            return block
        searched = self._repeats.blanked(block)
        if searched is not block:
            self._count(searched, needles)
        return searched

    def _count(self, searched: Block, needles: Sequence[Needle]) -> None:
        """Count the messages in the lines that are not searched."""
        for key, (spent, good) in self._spent.items():
            needle, span = needles[key // 2], (searched.done, searched.end)
            sure = spent == good and spent >= COUNTED_FROM and key % 2 == 0
            patterns = [
                pattern
                for pattern in needle.wanted
                if pattern.rule in self._found and (sure or not self._found[pattern.rule].cut)
            ]
            if patterns and (more := self._block.of(needle.folded).count(needle.body, *span)):
                more -= searched.of(needle.folded).count(needle.body, *span)
                self._add(key, more, patterns, sure=sure)

    def _add(self, key: int, more: int, patterns: Sequence[WantedPattern], *, sure: bool) -> None:
        """Count candidates of rules that have matched, if they are `sure` to match and the literal is not inexact."""
        for pattern in patterns:
            matches = self._found[pattern.rule]
            if sure and key % 2 == 0:
                matches.more[key] = matches.more.get(key, 0) + more
            elif more:
                matches.cut = True

    def wants(self, rule: int) -> bool:
        """Return whether a rule applies to this log."""
        kinds = self._rules[rule].where
        return not kinds or self._file.kind == "other" or self._file.kind in kinds

    def look(self, key: int, needle: Needle, places: "_Places", patterns: list[WantedPattern], searched: Block) -> None:
        """Verify the candidates of a literal in the current block.

        `places`: its candidates from a position on. `searched`: the block without repeated lines.
        """
        spent, good = self._spent.get(key, (0, 0))
        allowed = max(LOOKED_AT - spent, LOOKED_AT_MORE)
        for position in places(start=searched.done):
            if not allowed or (spent >= LOOKED_AT_LONG and self._is_long(position)):
                self._rest(key, needle, position, places, patterns, searched, sure=spent == good)
                break
            allowed -= 1
            spent += 1
            verified = [self._verify(pattern, self._window(position)) for pattern in patterns]
            good += any(verified)
        self._spent[key] = spent, good

    def _is_long(self, position: int) -> bool:
        """Return whether the line of a position is longer than LONG."""
        start = line_start(self._block.text, position)
        return line_end(self._block.text, position) - start > LONG

    def _rest(
        self,
        key: int,
        needle: Needle,
        position: int,
        places: "_Places",
        patterns: list[WantedPattern],
        searched: Block,
        *,
        sure: bool,
    ) -> None:
        """Count the candidates from a position on of rules that have matched, and check the others briefly."""
        if self._repeats is None:
            from hackathon.diagnosis.repeats import Repeats

            self._repeats = Repeats()
        missing = [pattern for pattern in patterns if pattern.rule not in self._found]
        text = searched.of(needle.folded)
        more = text.count(needle.body, position, self._block.end)
        self._add(key, more, [pattern for pattern in patterns if pattern not in missing], sure=sure)
        missing = [pattern for pattern in missing if not pattern.leading or self._stands_in(searched.decoded, pattern)]
        if not missing:
            return
        lines, complete = self._candidates(key, position, places)
        for pattern in missing:
            if not (self._search(pattern, lines) or complete):
                self._limits.ended[self._rules[pattern.rule].id] = None

    def _candidates(self, key: int, position: int, places: "_Places") -> tuple[dict[int, str], bool]:
        """Return (position → its line) of candidates from a position on, and whether these are all.

        Long lines are left out.
        """
        left = self._left.get(key, SEARCHED)
        text = self._block.text
        lines: dict[int, str] = {}
        complete, positions = True, places(start=position)
        while (at := next(positions, None)) is not None:
            start, end = line_start(text, at), line_end(text, at)
            if end - start > LONG:
                complete = False
                end = text.find(b"\n", end)  # of the whole line, of any length
                if end < 0:
                    break
                positions = places(start=end)
            elif len(lines) >= max(left, LOOKED_AT_MORE):
                complete = False
                break
            else:
                lines[at] = text[start:end].decode("utf-8", "replace")
        self._left[key] = left - len(lines)
        return lines, complete

    def _search(self, pattern: WantedPattern, lines: dict[int, str]) -> bool:
        """Return whether a pattern matches one of the lines."""
        search = pattern.expression.search
        rule = self._rules[pattern.rule]
        matches: list[int] = []
        standing = self._limits.within(
            rule, lambda: [position for position, line in lines.items() if search(line)], matches
        )
        return any(self._verify(pattern, self._window(position)) for position in standing)

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
            at_least = matches.cut or sum(count > 0 for count in matches.more.values()) > 1
            hits += [
                Hit(hit.rule, hit.evidence, hit.values, hit.order, counts[rank], at_least)
                for rank, hit in matches.places.items()
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
