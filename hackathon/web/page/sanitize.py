"""What others wrote, as a page may show it: no escape sequences, no control characters, no direction marks, no end."""

from dataclasses import fields, is_dataclass, replace
from typing import Any

from hackathon.access.guarded_folder import GuardedFolder
from hackathon.logs.lines import Splitter
from hackathon.text.messages import message
from hackathon.text.printable import printable, without_escapes

LINE, BLOCK = 2000, 200_000
"""Letters of one line, and of a text of many lines, that a page shows."""
TAIL_LINES = 200
"""Lines at the end of a log that a page shows."""
TAIL_BYTES = 512 << 10
"""Bytes at the end of a log in which they are looked for."""
_JOINERS = "\u200c\u200d"
"""They hold emoji and some scripts together, and are no control characters to a reader."""


def line(text: str, most: int = LINE) -> str:
    """Return a text as one line; what is longer than `most` letters is cut, and a remark says so."""
    shown = printable(without_escapes(text[: 4 * most + LINE]), kept=_JOINERS)
    return _cut(shown, most, len(text))


def block(text: str, most: int = BLOCK) -> str:
    """Return a text with its lines and tabs; each is cut as by `line`, the whole after `most` letters."""
    cut = text[:most]
    if "\r" in cut:
        cut = cut.replace("\r\n", "\n").replace("\r", "\n")
    if cut.isascii() and cut.replace("\n", "").replace("\t", "").isprintable():
        shown = cut
    else:
        shown = printable(without_escapes(cut), kept=f"\n\t{_JOINERS}")
    shown = "\n".join(_cut(each, LINE, len(each)) for each in shown.split("\n")) if len(shown) > LINE else shown
    return f"{shown}\n{_remark(len(text) - most)}" if len(text) > most else shown


def value(record: Any) -> Any:
    """Return a view record or a JSON value with every text in it cleaned as by `block`, keys too."""
    if isinstance(record, str):
        return block(record)
    if isinstance(record, dict):
        return {value(key): value(entry) for key, entry in record.items()}
    if isinstance(record, (list, tuple)):
        return type(record)(value(entry) for entry in record)
    if is_dataclass(record) and not isinstance(record, type):
        return replace(record, **{each.name: value(getattr(record, each.name)) for each in fields(record)})
    return record


def tail(inside: GuardedFolder, name: str, most: int = TAIL_LINES) -> tuple[list[str], int, int] | None:
    """Return the last lines of a log, cleaned, how much before them is left out (bytes and lines), and its
    size; None: no such log.

    Of a progress bar the last state is left. Binary content is shown with the sign for what is no text.
    """
    found = inside.end(name, TAIL_BYTES)
    if found is None:
        return None
    raw, size = found
    before = size - len(raw)
    if before and b"\n" in raw[:-1]:
        raw = raw[raw.index(b"\n") + 1 :]  # the rest of a line whose beginning is not there
    splitter = Splitter(states=False)
    lines = [*splitter.feed(raw)]
    rest = splitter.rest()
    lines += [rest] if rest else []
    return [line(each) for each in lines[-most:]], before + max(0, len(lines) - most), size


def _cut(shown: str, most: int, length: int) -> str:
    return f"{shown[:most]} {_remark(length - most)}" if len(shown) > most else shown


def _remark(count: int) -> str:
    return message("run_page.cut", count=max(1, count))
