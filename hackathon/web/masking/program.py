"""Mask a Python program so that it still runs: only its texts, comments and names change, never its grammar.

What looks for secrets takes `token: str` for one. A value that a program carries stands in a text or a number; so those
are masked with what stands before them on their line, and the rest word by word.
"""

import ast
import io
import keyword
import tokenize
from collections.abc import Callable, Iterator

REMOVED = "[removed]"
_TEXTS = frozenset({tokenize.STRING, tokenize.COMMENT, tokenize.NUMBER, tokenize.NAME})
_OPENING, _CLOSING = (
    frozenset(getattr(tokenize, f"{letter}STRING_{end}", -1) for letter in "FT") for end in ("START", "END")
)
"""From Python 3.12 on a formatted text comes in parts."""


def masked_program(text: str, mask: Callable[[str], str], names: Callable[[str], bool]) -> str:
    """Return a program masked token by token; as a whole text where it is no valid program, or would be none.

    `mask` masks a text; `names(text)` tells whether it still holds something other than what looks like a secret: then
    the whole masked text is taken too.
    """
    masked = mask(text)
    if masked == text or not _valid(text):
        return masked
    try:
        parts = _by_token(text, mask)
    except (tokenize.TokenError, SyntaxError, ValueError, IndexError):
        return masked
    return parts if _valid(parts) and not names(parts) else masked


def _valid(text: str) -> bool:
    try:
        ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _by_token(text: str, mask: Callable[[str], str]) -> str:
    lines = io.StringIO(text).readlines()
    for kind, start, end in reversed(list(_tokens(text))):
        first, last = start[0] - 1, end[0] - 1
        before, after = lines[first][: start[1]], lines[last][end[1] :]
        word = "".join(lines[first : last + 1])[start[1] :].removesuffix(after)
        lines[first : last + 1] = [before + _masked(kind, word, before, mask) + after]
    return "".join(lines)


def _tokens(text: str) -> Iterator[tuple[int, tuple[int, int], tuple[int, int]]]:
    """Yield (kind, start, end) of texts, comments, numbers and names; a formatted text is one, whatever is in it."""
    depth, start = 0, (0, 0)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in _OPENING:
            depth, start = depth + 1, start if depth else token.start
        elif token.type in _CLOSING:
            depth -= 1
            if not depth:
                yield tokenize.STRING, start, token.end
        elif not depth and token.type in _TEXTS and not keyword.iskeyword(token.string):
            yield token.type, token.start, token.end


def _masked(kind: int, word: str, before: str, mask: Callable[[str], str]) -> str:
    instead = mask(word)
    if kind not in (tokenize.STRING, tokenize.NUMBER) or REMOVED in instead:
        return instead
    # `password = "…"`: only the name before it tells that it is a secret
    more = mask(before + word).count(REMOVED) > mask(before).count(REMOVED)
    return instead if not more else "0" if kind == tokenize.NUMBER else repr(REMOVED)
