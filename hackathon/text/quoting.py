"""Text that a shell must take literally."""

import re
import shlex
from collections.abc import Iterable

_ESCAPED = str.maketrans({"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r"})


def in_double_quotes(text: str) -> str:
    r"""Return text that stands for itself between a shell's double quotes: `\`, `"`, `$` and `` ` `` are escaped."""
    return re.sub(r'([\\"$`])', r"\\\1", text)


def shell_word(text: str) -> str:
    r"""Return text as one word of bash that takes one line: with line breaks it is `$'first\nsecond'`.

    A script has a second reader: a scheduler takes lines that begin with `#` for its options, whatever bash makes of
    them. Grid Engine also does so behind the first command.
    """
    if "\n" in text or "\r" in text:
        return f"$'{text.translate(_ESCAPED)}'"
    return shlex.quote(text)


def shell_words(words: Iterable[str]) -> str:
    """Return words as a command of bash that takes one line."""
    return " ".join(map(shell_word, words))


def on_one_line(text: str) -> str:
    r"""Return text that stands between a shell's double quotes with its line breaks as `"$'\n'"`."""
    return text.replace("\n", "\"$'\\n'\"").replace("\r", "\"$'\\r'\"")
