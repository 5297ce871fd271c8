"""Problems of a file that somebody wrote, each with file, line, key path and message."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

from hackathon.config.records import KeyPath
from hackathon.text.errors import RequestError
from hackathon.text.files import open_regular
from hackathon.text.light_dataclass import dataclass
from hackathon.text.messages import Message, _
from hackathon.text.told import Sayable

MAXIMUM_BYTES = 1 << 20
"""Size of the largest file that is read."""
MOST_NAMED = 100
"""Problems of one file that are listed; of the others only the number is given."""


@dataclass(frozen=True)
class Problem(Sayable):
    """One problem; its text is rendered on display, in the current language."""

    id: str
    """Message id."""
    file: Path
    line: int | None = None
    """From 1; None for a problem without a line (a missing file)."""
    path: KeyPath = ()
    values: dict[str, Any] = field(default_factory=dict)
    """Placeholders of the message."""

    @property
    def key(self) -> str:
        """The key path as written: `queues.h-debug.nodes`, `tutors[2]`."""
        return dotted(self.path)

    @property
    def where(self) -> str:
        """`file:line`, the file relative to the current folder when it is below it."""
        try:
            name = str(self.file.relative_to(Path.cwd()))
        except (ValueError, OSError):
            name = str(self.file)
        return f"{name}:{self.line}" if self.line else name

    def __str__(self) -> str:
        return ": ".join(part for part in (self.where, self.key, self.text) if part)


class ConfigError(RequestError):
    """A file that somebody wrote is unusable; `problems` lists its problems by line. Exit code 2.

    Beyond MOST_NAMED, the last one gives the number of others; `more`: problems in addition to `problems`.
    """

    def __init__(self, problems: Sequence[Problem], more: int = 0) -> None:
        ordered = sorted(problems, key=lambda problem: problem.line or 0)
        count = len(ordered) + more
        super().__init__(
            "config.wrong_file", "{file} has {count} {count:problem|problems}:", file=str(ordered[0].file), count=count
        )
        named = ordered[:MOST_NAMED]
        if count > len(named):
            named.append(
                Problem(
                    Message(
                        "config.more_problems",
                        "{count} more {count:problem is|problems are} not listed; fix these first",
                    ),
                    named[0].file,
                    values={"count": count - len(named)},
                )
            )
        self.problems: tuple[Problem, ...] = tuple(named)

    @property
    def message(self) -> str:
        """One line for a single problem; a headline and one line each for several."""
        if len(self.problems) == 1:
            return str(self.problems[0])
        return "\n".join([_(self.id, **self.values), *(f"  {problem}" for problem in self.problems)])


def read_bounded(path: Path) -> bytes:
    """Return a file's bytes. Raises ConfigError: missing, unreadable, not a regular file, larger than MAXIMUM_BYTES."""
    try:
        with open_regular(path) as stream:
            raw = stream.read(MAXIMUM_BYTES + 1)
    except FileNotFoundError:
        raise ConfigError([Problem(Message("config.file_missing", "the file does not exist"), path)]) from None
    except OSError as error:
        values = {"reason": error.strerror or str(error)}
        raise ConfigError(
            [Problem(Message("config.file_unreadable", "the file cannot be read: {reason}"), path, values=values)]
        ) from None
    if len(raw) > MAXIMUM_BYTES:
        raise ConfigError(
            [
                Problem(
                    Message("config.file_too_large", "the file is larger than {limit}"),
                    path,
                    values={"limit": f"{MAXIMUM_BYTES >> 20} MiB"},
                )
            ]
        )
    return raw


def dotted(path: KeyPath) -> str:
    """Return a key path as one word; keys with dots or spaces are quoted."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part + 1}]"
        else:
            plain = part and not any(letter in part for letter in ".[] \"'\n\t:")
            text += ("." if text else "") + (part if plain else json.dumps(part, ensure_ascii=False))
    return text


def shown(value: Any, limit: int = 60) -> str:
    """Return a value as short text on one line, for messages; control characters are escaped."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    text = "".join(letter if letter.isprintable() else f"\\u{ord(letter):04x}" for letter in text)
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def nearest(word: str, words: Iterable[str]) -> str | None:
    """Return the known word most similar to `word`, or None when none is similar."""
    import difflib

    lowered = {name.lower(): name for name in words}
    matches = difflib.get_close_matches(word.lower(), list(lowered), n=1, cutoff=0.6)
    return lowered[matches[0]] if matches else None


def listing(words: Iterable[str]) -> str:
    """Return words as one text, in the order given."""
    return ", ".join(words)
