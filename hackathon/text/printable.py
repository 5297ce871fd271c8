"""Remove from foreign text (names, notes, log lines) what controls a terminal or hides in a page."""

import re

BLANKS = frozenset("\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000")
"""Spaces of other widths (Unicode's Zs): Japanese text uses U+3000, and Python treats none of them as printable."""
_GAPS = BLANKS | frozenset("\n\t\r")
# CSI sequences (colours, cursor), OSC sequences (window titles, links) and two-byte escapes: ECMA-48, section 5.3-5.4.
_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")


def without_escapes(text: str) -> str:
    """Return a text without the escape sequences of terminals (colours, cursor, titles)."""
    return _ANSI.sub("", text) if "\x1b" in text else text


def printable(text: str, *, kept: str = "") -> str:
    """Return a text with each control character, direction mark and lone surrogate replaced by `·`.

    Line ends, tabs and spaces of other widths become spaces; characters in `kept` stay.
    """
    if text.isprintable():
        return text
    return "".join(
        letter if letter.isprintable() or letter in kept else " " if letter in _GAPS else "·" for letter in text
    )
