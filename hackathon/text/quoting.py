"""Quote text for a shell."""

import re
import shlex
from collections.abc import Iterable

_ESCAPED = str.maketrans({"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r"})


def in_double_quotes(text: str) -> str:
    r"""Return text for use between a shell's double quotes: `\`, `"`, `$` and `` ` `` are escaped."""
    return re.sub(r'([\\"$`])', r"\\\1", text)


def shell_word(text: str) -> str:
    r"""Return text as one bash word on one line: with line breaks it is `$'first\nsecond'`.

    A script has a second reader: a scheduler reads lines that begin with `#` as options, whatever they mean in bash.
    Grid Engine does so even after the first command.
    """
    if "\n" in text or "\r" in text:
        return f"$'{text.translate(_ESCAPED)}'"
    return shlex.quote(text)


def shell_words(words: Iterable[str]) -> str:
    """Return words as a bash command on one line."""
    return " ".join(map(shell_word, words))


def on_one_line(text: str) -> str:
    r"""Return text for use between a shell's double quotes with its line breaks as `"$'\n'"`."""
    return text.replace("\n", "\"$'\\n'\"").replace("\r", "\"$'\\r'\"")
