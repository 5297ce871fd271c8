"""The scripts of a job: what their files are called in a run directory, and how values are quoted in them."""

import re
import shlex
from collections.abc import Iterable

from hackathon.text.light_dataclass import dataclass

LIBRARY = "hackathon.sh"
"""The file beside `job.sh` with the functions that it calls."""
SCRIPTS = ("job.sh", LIBRARY, "rank.sh")


@dataclass(frozen=True)
class JobScript:
    """The scripts in the run directory, `job.sh` being the one that is submitted."""

    job: str
    """`job.sh`: for users to read and edit."""
    rank: str
    """`rank.sh`, the same for every request unless a template overrides it."""
    library: str = ""
    """`hackathon.sh`; empty if `job.sh` reads none: it is the user's own, or of an older version."""

    @property
    def files(self) -> dict[str, str]:
        """Its files by name, as in the run directory."""
        texts = dict(zip(SCRIPTS, (self.job, self.library, self.rank), strict=True))
        return {name: text for name, text in texts.items() if text or name != LIBRARY}


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
