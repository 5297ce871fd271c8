"""Mask a Python program so that it still runs: only strings, comments and names change, never the syntax.

A search for secrets would match `token: str`. A secret in a program is in a string or a number, so only those are
masked with the text before them on their line, and the rest word by word.
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
"""From Python 3.12 on an f-string consists of several tokens."""


def masked_program(text: str, mask: Callable[[str], str], names: Callable[[str], bool]) -> str:
    """Return a program masked token by token; as plain text if it is not valid Python, or would become invalid.

    `mask` masks a text; `names(text)` returns whether the result still contains a name, apart from secrets: then the
    text masked as plain text is returned.
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
    """Yield (kind, start, end) of strings, comments, numbers and names; an f-string is one token."""
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
    # `password = "…"`: only the name before it indicates a secret
    more = mask(before + word).count(REMOVED) > mask(before).count(REMOVED)
    return instead if not more else "0" if kind == tokenize.NUMBER else repr(REMOVED)
