"""Turn rules into byte strings for a fast search: where a string occurs, its rule may match.

A line end, a carriage return or a colour code may tear a message, even inside a word, and launchers put their prefix
between the parts. So each literal is searched for in two forms: its body (all but the first characters, in which a tear
does no harm), and its head, of any length, followed by a tear.
"""

import json
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from hackathon.config.literals import Analysis, PatternError, analysed, compiled
from hackathon.config.load import cache_key, keep, recall
from hackathon.config.rule import Pattern, Rule

SHORTEST_HEAD, LONGEST_HEAD = 4, 8
"""Lengths in bytes of a literal's head: a tear is searched for after it. Long heads are rarer in a log."""
SHORTEST_BODY = 8
"""Shortest body in bytes: shorter ones are too frequent in a log."""
LONGEST = 24
"""Longest literal in bytes: the last bytes of it are more specific than a module's name at its start."""
TORN_FROM = SHORTEST_HEAD - 1 + SHORTEST_BODY
"""Length in bytes from which a literal is searched for without its first characters."""
NEAR = 2048
"""Bytes before or after a tear in which the other part must be."""
REFUSED = 50
"""Bodies without the characters before them after which a long line is searched for the whole literal."""
NEXT = 6
"""Characters of the other part that are compared."""
WORTH_STORING = 200
"""Patterns from which their analyses are stored in the user's cache."""
_TEARS = (b"\n", b"\r", b"\x1b")
_TEARS_AND_BLANKS = (*_TEARS, b" \n", b" \r", b" \x1b")
_OTHER_SPACE = (b"\t", b"  ", b" \t")
_OTHER_SPACE_EXPRESSION = rb"(?:\t|\ [\ \t])"


@dataclass
class WantedPattern:
    """A pattern of a rule that verifies a match."""

    rule: int
    """Index of its rule."""
    pattern: Pattern
    wide: bool
    """Whether it can match across anything: then only a long line counts as wrapped."""
    leading: bool = False
    """Whether many lines can be searched for it at once."""

    @cached_property
    def expression(self) -> re.Pattern[str]:
        """The compiled expression. It is compiled on first use, because most rules never match."""
        return expression_of(self.pattern)


@dataclass
class Needle:
    """A literal to search for."""

    literal: bytes
    """Single spaces stand for any white space; lower case when `folded`."""
    folded: bool
    """Whether case is ignored."""
    wanted: list[WantedPattern] = field(default_factory=list)
    """The patterns whose matches contain it."""

    @cached_property
    def head(self) -> bytes:
        """Its first characters."""
        most = len(self.literal) - SHORTEST_BODY + 1
        return self.literal[: max(SHORTEST_HEAD, min(LONGEST_HEAD, most))]

    @cached_property
    def body(self) -> bytes:
        """The part that is in one piece unless the message is torn after its head."""
        if len(self.literal) < TORN_FROM:
            return self.literal
        # a space where the head ends may be the tear itself
        return self.literal[len(self.head) - 1 :].lstrip(b" ")

    @cached_property
    def _before(self) -> bytes:
        """The characters before the body, without a space at their end."""
        return self.literal[: len(self.literal) - len(self.body)].rstrip()

    @cached_property
    def _whole(self) -> re.Pattern[bytes]:
        """The literal in one piece; its body is the group."""
        return re.compile(re.escape(self._before) + rb"[ \t]*(" + re.escape(self.body) + rb")")

    @cached_property
    def early_spaces(self) -> list[bytes]:
        """Beginnings of the literal up to a space within its head: the log may have other white space there."""
        return [
            self.literal[:length]
            for length in range(SHORTEST_HEAD, min(len(self.head), len(self.literal) - 1))
            if self.literal[length : length + 1] == b" "
        ]

    def tails(self) -> Iterator[bytes]:
        """Yield the beginnings of the literal, each followed by a tear or by white space other than one space."""
        for start in self.early_spaces:
            yield from (start + space for space in _OTHER_SPACE)
        for length in range(len(self.head), len(self.literal)):
            start = self.literal[:length]
            yield from (start + tear for tear in _TEARS)
            if self.literal[length : length + 1] == b" ":
                yield from (start + space for space in _OTHER_SPACE)

    @cached_property
    def torn(self) -> bytes:
        """A regular expression for all `tails`; "" when the literal is too short to have any."""
        early = [escaped(start) + _OTHER_SPACE_EXPRESSION for start in self.early_spaces]
        return b"|".join([*early, *([escaped(self.head) + self._behind_head] if self._behind_head else [])])

    @cached_property
    def _behind_head(self) -> bytes:
        pattern = b""
        for length in range(len(self.literal) - 1, len(self.head) - 1, -1):
            letter = self.literal[length : length + 1]
            other = [_OTHER_SPACE_EXPRESSION] if letter == b" " else []
            further = [escaped(letter) + pattern] if pattern else []
            pattern = b"(?:" + b"|".join([rb"[\n\r\x1b]", *other, *further]) + b")"
        return pattern

    @cached_property
    def _torn_after(self) -> list[tuple[bytes, re.Pattern[bytes]]]:
        """(beginning, what follows it) of the torn forms."""
        torn = [(start, re.compile(_OTHER_SPACE_EXPRESSION)) for start in self.early_spaces]
        return torn + ([(self.head, re.compile(self._behind_head))] if self._behind_head else [])

    def places(self, text: bytes, start: int, end: int) -> Iterator[int]:
        """Yield the offsets of the body from `start` to before `end` where the characters before it match too."""
        before = self._before
        most = end + len(self.body) - 1
        at, refused = text.find(self.body, start, most), 0
        while at >= 0:
            if not before or _stands_before(before, text, at):
                yield at
            else:
                refused += 1
                if refused >= REFUSED and not _has_tear(text, max(0, at - NEAR), at):
                    # a very long line: nothing is torn up to its end
                    stop = min((tear for tear in _next_tears(text, at, most) if tear >= 0), default=most)
                    for match in self._whole.finditer(text, at, stop):
                        yield match.start(1)
                    at, refused = max(at, stop - 1), 0
            at = text.find(self.body, at + 1, most)

    def torn_places(self, text: bytes, start: int, end: int) -> Iterator[int]:
        """Yield the offsets of a torn literal from `start` to before `end` where the rest of it follows."""
        for beginning, behind in self._torn_after:
            for at in _finds(beginning, text, start, end):
                match = behind.match(text, at + len(beginning))
                if match:
                    # the last one or two bytes are the tear
                    torn = text[at : match.end()].rstrip(b" \t\r\n\x1b")
                    remaining = self.literal[len(torn) :].strip()[:NEXT]
                    if match[0][-1:] not in _TEARS:
                        # white space that is not a single space here may not be one further on either
                        remaining = remaining.split(b" ")[0]
                    if text.find(remaining, match.end() - 1, match.end() + NEAR) >= 0:
                        yield at


def _stands_before(before: bytes, text: bytes, at: int) -> bool:
    """Return whether the first characters of a literal, perhaps torn, are before the rest of it."""
    position = at
    while position and text[position - 1] in b" \t":
        position -= 1
    same = 0
    while same < len(before) and position - same > 0 and before[-1 - same] == text[position - 1 - same]:
        same += 1
    if same == len(before):
        return True
    last = text[position - same - 1 : position - same]
    if last.isalnum() and last != b"m":
        # neither a line start nor the end of a launcher's prefix or a colour (`\x1b[0m`)
        return False
    least = max(0, position - NEAR)
    if not _has_tear(text, least, position):
        return False
    start = before[: len(before) - same].rstrip()
    region = text[least:position]
    return any(start + tear in region for tear in _TEARS_AND_BLANKS)


def _has_tear(text: bytes, start: int, end: int) -> bool:
    return any(text.rfind(tear, start, end) >= 0 for tear in _TEARS)


def _next_tears(text: bytes, start: int, end: int) -> Iterator[int]:
    return (text.find(tear, start, end) for tear in _TEARS)


def _finds(literal: bytes, text: bytes, start: int, end: int) -> Iterator[int]:
    """Yield the offsets of a literal from `start` to before `end`."""
    most = end + len(literal) - 1
    at = text.find(literal, start, most)
    while at >= 0:
        yield at
        at = text.find(literal, at + 1, most)


def escaped(literal: bytes) -> bytes:
    """Return a regular expression for exactly these bytes, valid in Python and Hyperscan."""
    return b"".join(bytes([code]) if chr(code).isalnum() and code < 128 else b"\\x%02x" % code for code in literal)


def needles_of(rules: Sequence[Rule]) -> list[Needle]:
    """Return the literals of all patterns, each once."""
    needles: dict[tuple[bytes, bool], Needle] = {}
    patterns = [(index, pattern) for index, rule in enumerate(rules) if not rule.fact for pattern in rule.patterns]
    for (index, pattern), analysis in zip(patterns, _analyses([pattern for _, pattern in patterns]), strict=True):
        if analysis is None:
            continue
        use = WantedPattern(index, pattern, analysis.wide, analysis.leading)
        for literal, folded in analysis.literals:
            raw = _shortened((literal.lower() if folded else literal).encode())
            needles.setdefault((raw, folded), Needle(raw, folded)).wanted.append(use)
    return list(needles.values())


def _analyses(patterns: Sequence[Pattern]) -> list[Analysis | None]:
    """Return the analysis of each pattern; None for a wrong expression of an unchecked rule, which matches nothing.

    Those of many patterns are stored in the user's cache: to parse the shipped ones takes longer than to read a log.
    """
    if len(patterns) < WORTH_STORING:
        return [_analysis(pattern) for pattern in patterns]
    texts = [(pattern.text, pattern.regex, pattern.ignore_case) for pattern in patterns]
    key = cache_key("patterns", sys.version, json.dumps(texts).encode())
    try:
        stored = [_stored(entry) for entry in recall(key) or []]
    except (TypeError, ValueError, IndexError):
        stored = []
    if len(stored) == len(patterns):
        return stored
    analyses = [_analysis(pattern) for pattern in patterns]
    keep(key, [[entry.literals, entry.wide, entry.leading] if entry else None for entry in analyses])
    return analyses


def _stored(entry: Any) -> Analysis | None:
    if entry is None:
        return None
    literals, wide, leading = entry
    return Analysis(tuple((str(literal), bool(folded)) for literal, folded in literals), bool(wide), bool(leading))


def _analysis(pattern: Pattern) -> Analysis | None:
    try:
        return analysed(pattern.text, pattern.regex, pattern.ignore_case)
    except PatternError:
        return None


def _shortened(literal: bytes) -> bytes:
    """Return the last words of a literal; part of a word when its last word is too long."""
    if len(literal) <= LONGEST:
        return literal
    last = literal[-LONGEST:]
    space = last.find(b" ", 0, LONGEST // 3)
    return last[space + 1 :]


def expression_of(pattern: Pattern) -> re.Pattern[str]:
    """Return the compiled expression of a pattern. Raises PatternError when it is invalid."""
    return compiled(pattern.text, pattern.regex, pattern.ignore_case)
