"""Text that a shell must take literally."""

import re


def in_double_quotes(text: str) -> str:
    r"""Return text that stands for itself between a shell's double quotes: `\`, `"`, `$` and `` ` `` are escaped."""
    return re.sub(r'([\\"$`])', r"\\\1", text)
