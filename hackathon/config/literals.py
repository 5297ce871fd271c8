"""Find the literals that every match of a rule's pattern contains, for a fast first search.

Works on the standard library's own parse of the expression (`re._parser`), so that both agree on its meaning.
"""

import re
import warnings
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from hackathon.config.problems import shown

# no type stubs, and `sre_parse`, its public name, raises a warning
from re import _constants as words  # type: ignore[attr-defined]  # isort: skip
from re import _parser as parser  # type: ignore[attr-defined]  # isort: skip
from hackathon.text.messages import Message

SHORTEST = 5
"""Letters and digits that the literals of a pattern need together; a Japanese one counts twice."""
LEADING = 3
"""Literal characters at the start of an expression that make Python's search fast."""
_NARROW = (words.CATEGORY_DIGIT, words.CATEGORY_WORD, words.CATEGORY_SPACE, words.CATEGORY_NOT_SPACE)
"""Character classes without line ends, or of white space only."""
MOST_BRANCHES = 40
"""Alternatives of one pattern that are searched for individually."""


class PatternError(ValueError):
    """A pattern that cannot be used; `id` is the message's, `values` are its placeholders."""

    def __init__(self, identifier: str, **values: str) -> None:
        super().__init__(identifier)
        self.id = identifier
        self.values = values


def expression(text: str, regex: str) -> str:
    """Return the regular expression of a pattern: `regex` itself, or `text` with white space for each space."""
    return regex or r"\s+".join(re.escape(word) for word in text.split())


@lru_cache(maxsize=2048)
def compiled(text: str, regex: str, ignore_case: bool) -> re.Pattern[str]:
    """Return the compiled expression. Raises PatternError when it is invalid."""
    try:
        with warnings.catch_warnings():
            # re warns of patterns whose meaning may change; they still work
            warnings.simplefilter("ignore")
            return re.compile(expression(text, regex), re.IGNORECASE if ignore_case else 0)
    except (re.error, RecursionError, OverflowError) as error:
        raise PatternError(
            Message("rules.regex_wrong", "{pattern} is not a regular expression: {reason}"),
            pattern=shown(regex or text),
            reason=str(error),
        ) from None


@dataclass(frozen=True)
class Analysis:
    """Properties of a pattern that need no log."""

    literals: tuple[tuple[str, bool], ...]
    """(literal, whether case is ignored): every match contains at least one of them.

    Single spaces stand for white space.
    """
    wide: bool
    r"""Whether it can match arbitrary characters (`.`, `[^…]`, `\S`): a match across lines then needs more evidence."""
    leading: bool
    """Whether it begins with literal characters and crosses line ends only by white space.

    Many lines are then searched at once as fast as their bytes are read, and a match in one of them is valid there.
    """


@lru_cache(maxsize=4096)
def analysed(text: str, regex: str, ignore_case: bool) -> Analysis:
    """Return the literals and properties of a pattern, which is parsed but not compiled, as that is slow.

    Raises PatternError: an invalid expression, a refused construct, or no literal that is long enough.
    """
    if not regex:
        literal = " ".join(text.split())
        if _letters(literal) < SHORTEST:
            raise PatternError(
                Message(
                    "rules.pattern_short",
                    "{pattern} needs at least {least} consecutive characters that occur in every match; write out "
                    "more of the message",
                ),
                pattern=shown(text),
                least=str(SHORTEST),
            )
        leading = not ignore_case and len(literal.split()[0]) >= LEADING
        return Analysis(((literal, ignore_case),), wide=False, leading=leading)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = parser.parse(regex, re.IGNORECASE if ignore_case else 0)
    except (re.error, RecursionError, OverflowError) as error:
        raise PatternError(
            Message("rules.regex_wrong", "{pattern} is not a regular expression: {reason}"),
            pattern=shown(regex),
            reason=str(error),
        ) from None
    construct = _refused(tree)
    if construct:
        raise PatternError(
            Message(
                "rules.regex_construct",
                "{pattern} uses {construct}, which is not allowed; put text that must not appear under `unless`, "
                "and omit anchors, because launchers add text before and after a line",
            ),
            pattern=shown(regex),
            construct=construct,
        )
    literals = _best(tree, bool(tree.state.flags & re.IGNORECASE))
    if not literals or min(_letters(literal) for literal, _ in literals) < SHORTEST:
        raise PatternError(
            Message(
                "rules.pattern_short",
                "{pattern} needs at least {least} consecutive characters that occur in every match; write out more "
                "of the message",
            ),
            pattern=shown(regex),
            least=str(SHORTEST),
        )
    return Analysis(tuple(dict.fromkeys(literals)), _wide(tree), leading=_leads(tree) and _stays(tree))


def _letters(literal: str) -> int:
    # a Japanese character carries as much information as a syllable, and has three bytes
    return sum(2 if letter >= "\u3040" else 1 for letter in literal if letter.isalnum())


def _refused(tree: Any) -> str:
    """Return a refused construct of an expression, as written; "" without one."""
    for kind, value in tree:
        if kind in (words.ASSERT, words.ASSERT_NOT):
            return "(?=…) (?!…) (?<=…) (?<!…)"
        if kind in (words.GROUPREF, words.GROUPREF_EXISTS):
            return r"\1 (?P=…) (?(…)…)"
        # a word boundary (\b) is allowed: it does not depend on lines
        if kind is words.AT and value not in (words.AT_BOUNDARY, words.AT_NON_BOUNDARY):
            return r"^ $ \A \Z"
        for inner in _inside(kind, value):
            if construct := _refused(inner):
                return construct
    return ""


def _inside(kind: Any, value: Any) -> list[Any]:
    """Return the parts of an item of the parse; empty without parts."""
    if kind is words.SUBPATTERN:
        return [value[3]]
    if kind is words.BRANCH:
        return list(value[1])
    if kind in (words.MAX_REPEAT, words.MIN_REPEAT, words.POSSESSIVE_REPEAT):
        return [value[2]]
    return [value] if kind is words.ATOMIC_GROUP else []


def _wide(tree: Any) -> bool:
    for kind, value in tree:
        if kind in (words.ANY, words.NOT_LITERAL):
            return True
        if kind is words.IN and any(
            element in ((words.NEGATE, None), (words.CATEGORY, words.CATEGORY_NOT_SPACE)) for element in value
        ):
            return True
        if any(_wide(inner) for inner in _inside(kind, value)):
            return True
    return False


def _leads(tree: Any) -> bool:
    """Return whether an expression begins with literal characters."""
    first = list(tree)[:LEADING]
    return not tree.state.flags & re.IGNORECASE and len(first) == LEADING and all(map(_letter_as_it_is, first))


def _letter_as_it_is(item: tuple[Any, Any]) -> bool:
    kind, value = item
    return kind is words.LITERAL and not chr(value).isspace()


def _stays(tree: Any) -> bool:
    """Return whether only white space of an expression can match the end of a line."""
    if tree.state.flags & re.DOTALL:
        return False
    for kind, value in tree:
        if kind in (words.NOT_LITERAL, words.ATOMIC_GROUP, words.POSSESSIVE_REPEAT):
            return False
        if kind is words.IN and not all(_within_line(element) for element in value):
            return False
        if kind is words.SUBPATTERN and value[1] & re.DOTALL:
            return False
        if not all(_stays(inner) for inner in _inside(kind, value)):
            return False
    return True


def _within_line(item: tuple[Any, Any]) -> bool:
    kind, value = item
    if kind is words.RANGE:
        return bool(value[0] > ord("\r"))
    return kind is words.LITERAL or (kind is words.CATEGORY and value in _NARROW)


_Literals = list[tuple[str, bool]]


def _best(tree: Any, ignore_case: bool) -> _Literals:
    """Return alternatives of which every match contains one: the set whose shortest literal is longest."""
    candidates: list[_Literals] = []
    run, run_folded = "", ignore_case
    for kind, value, folded in _flat(tree, ignore_case):
        letter = _letter(kind, value)
        # without case only ASCII is searched for: other letters have special case foldings
        if letter and folded and not letter.isascii():
            letter = ""
        if letter and folded == run_folded:
            # white space next to white space counts once
            run += "" if letter == " " == run[-1:] else letter
            continue
        candidates.append([(run.strip(), run_folded)])
        run, run_folded = letter, folded
        if letter:
            continue
        if kind is words.BRANCH:
            branches = [_best(branch, folded) for branch in value[1]]
            if all(branches):
                candidates.append([literal for branch in branches for literal in branch])
        elif kind in (words.MAX_REPEAT, words.MIN_REPEAT, words.POSSESSIVE_REPEAT) and value[0] >= 1:
            candidates.append(_best(value[2], folded))
        elif kind is words.ATOMIC_GROUP:
            candidates.append(_best(value, folded))
    candidates.append([(run.strip(), run_folded)])
    fitting = [candidate for candidate in candidates if candidate and len(candidate) <= MOST_BRANCHES]
    return max(fitting, key=lambda candidate: min(_letters(literal) for literal, _ in candidate), default=[])


def _letter(kind: Any, value: Any) -> str:
    """Return the only character that an item matches, a space for white space, "" when it matches several."""
    if kind is words.LITERAL:
        return " " if chr(value).isspace() else chr(value)
    return ""


def _flat(tree: Any, ignore_case: bool) -> list[tuple[Any, Any, bool]]:
    r"""Return (kind, value, whether case is ignored) with plain groups flattened.

    `\s+` and ` +` become one space, which is how the search for literals treats white space.
    """
    parts: list[tuple[Any, Any, bool]] = []
    for kind, value in tree:
        if kind is words.SUBPATTERN:
            _, add, remove, inner = value
            folded = (ignore_case or bool(add & re.IGNORECASE)) and not remove & re.IGNORECASE
            parts += _flat(inner, folded)
        elif kind is words.MAX_REPEAT and value[0] >= 1 and _is_space(value[2]):
            parts.append((words.LITERAL, ord(" "), ignore_case))
        else:
            parts.append((kind, value, ignore_case))
    return parts


def _is_space(tree: Any) -> bool:
    if len(tree) != 1:
        return False
    kind, value = tree[0]
    if kind is words.LITERAL:
        return chr(value).isspace()
    return bool(kind is words.IN and value == [(words.CATEGORY, words.CATEGORY_SPACE)])
