"""Clean other people's texts for a page: no escape sequences, control characters or direction marks."""

from dataclasses import fields, is_dataclass, replace
from typing import Any

from hackathon.access.guarded_folder import GuardedFolder
from hackathon.logs.lines import Splitter
from hackathon.text.messages import _
from hackathon.text.printable import printable, without_escapes

LINE, BLOCK = 2000, 200_000
"""Characters of one line, and of a text of many lines, that a page shows."""
TAIL_LINES = 200
"""Lines at the end of a log that a page shows."""
TAIL_BYTES = 512 << 10
"""Bytes at the end of a log that are read for them."""
_JOINERS = "\u200c\u200d"
"""Joiners inside emoji and some scripts, which are visible to a reader."""


def line(text: str, most: int = LINE) -> str:
    """Return a text as one line; a text of more than `most` characters is truncated, with a note."""
    plain = printable(without_escapes(text[: 4 * most + LINE]), kept=_JOINERS)
    return _cut(plain, most, len(text))


def block(text: str, most: int = BLOCK) -> str:
    """Return a text with its lines and tabs; each line is truncated as by `line`, the text after `most` characters."""
    cut = text[:most]
    if "\r" in cut:
        cut = cut.replace("\r\n", "\n").replace("\r", "\n")
    if cut.isascii() and cut.replace("\n", "").replace("\t", "").isprintable():
        plain = cut
    else:
        plain = printable(without_escapes(cut), kept=f"\n\t{_JOINERS}")
    plain = "\n".join(_cut(part, LINE, len(part)) for part in plain.split("\n")) if len(plain) > LINE else plain
    return f"{plain}\n{_remark(len(text) - most)}" if len(text) > most else plain


def value(record: Any) -> Any:
    """Return a view record or a JSON value with every text cleaned as by `block`, including keys."""
    if isinstance(record, str):
        return block(record)
    if isinstance(record, dict):
        return {value(key): value(entry) for key, entry in record.items()}
    if isinstance(record, (list, tuple)):
        return type(record)(value(entry) for entry in record)
    if is_dataclass(record) and not isinstance(record, type):
        return replace(record, **{field.name: value(getattr(record, field.name)) for field in fields(record)})
    return record


def tail(inside: GuardedFolder, name: str) -> tuple[list[str], int, int] | None:
    """Return the last lines of a log, cleaned, the bytes and lines before them, and its size.

    None if it does not exist. Of a progress bar the last state is left. Invalid bytes are shown as replacement
    characters.
    """
    ending = inside.end(name, TAIL_BYTES)
    if ending is None:
        return None
    raw, size = ending
    before = size - len(raw)
    if before and b"\n" in raw[:-1]:
        raw = raw[raw.index(b"\n") + 1 :]  # the end of a line whose beginning was not read
    splitter = Splitter(states=False)
    lines = [*splitter.feed(raw)]
    partial = splitter.rest()
    lines += [partial] if partial else []
    return [line(text) for text in lines[-TAIL_LINES:]], before + max(0, len(lines) - TAIL_LINES), size


def _cut(text: str, most: int, length: int) -> str:
    return f"{text[:most]} {_remark(length - most)}" if len(text) > most else text


def _remark(count: int) -> str:
    return _("[… {count} more characters are not shown]", count=max(1, count))
