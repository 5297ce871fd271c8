"""The text of a job script by its bytes: a stranger's text, which is never run."""

import os
import sys
from dataclasses import dataclass
from pathlib import Path

from hackathon.text.errors import RequestError
from hackathon.text.files import open_regular
from hackathon.text.printable import printable

LARGEST = 300_000
"""Bytes of a job script that are read: the longest known ones have a tenth of that."""


@dataclass(frozen=True)
class ScriptText:
    """The lines of a script, without their ends."""

    name: str
    lines: tuple[str, ...]
    """Bytes that are not UTF-8 become lone surrogates (`surrogateescape`)."""
    returns: int | None = None
    """The first line, counted from 1, that ends with a carriage return and a line feed."""
    mark: bool = False
    """A byte order mark precedes the first line."""

    @property
    def undecodable(self) -> int | None:
        """The first line, counted from 1, that is not UTF-8."""
        return next((n for n, line in enumerate(self.lines, 1) if not _encodable(line)), None)

    def text(self) -> str:
        """Return the lines with their ends, without carriage returns and mark."""
        return "".join(f"{line}\n" for line in self.lines)


def _encodable(line: str) -> bool:
    return line.isascii() or not any("\udc80" <= letter <= "\udcff" for letter in line)


def script_text(raw: bytes, name: str) -> ScriptText:
    """Return a script from its bytes; raise RequestError for a binary file."""
    if b"\0" in raw:
        raise RequestError("lint.not_text", "{path} is a binary file, not a script", path=printable(name))
    text = raw.decode("utf-8", "surrogateescape")
    mark = text.startswith("\ufeff")
    lines = text.removeprefix("\ufeff").split("\n")
    if lines[-1] == "":
        lines.pop()
    returns = next((number for number, line in enumerate(lines, 1) if line.endswith("\r")), None)
    return ScriptText(name, tuple(line.rstrip("\r") for line in lines), returns, mark)


def script_lines(path: Path) -> tuple[str, ...]:
    """Return the lines of the script in a regular file; none when it is unreadable."""
    try:
        return read_script(path).lines
    except RequestError:
        return ()


def read_script(path: Path) -> ScriptText:
    """Return the script in a regular file, `-` for the standard input. Raises RequestError: unreadable, too long."""
    if str(path) == "-":
        raw, name = sys.stdin.buffer.read(LARGEST + 1), "-"
    else:
        name = str(path)
        try:
            with open_regular(path) as stream:
                raw = stream.read(LARGEST + 1)
        except OSError as error:
            reason = error.strerror or os.strerror(error.errno or 0)
            raise RequestError(
                "lint.unreadable", "cannot read {path}: {reason}", path=printable(name), reason=reason
            ) from None
    if len(raw) > LARGEST:
        raise RequestError("lint.too_long", "{path} is longer than {limit} bytes", path=printable(name), limit=LARGEST)
    return script_text(raw, name)
