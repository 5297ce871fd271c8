"""Decode characters that are encoded (in addresses, HTML, JSON, UTF-16), so that masking sees the text of a reader."""

import contextlib
import re
from urllib.parse import unquote

_ENCODED = re.compile(r"%[0-9A-Fa-f]{2}|&(?:#|[A-Za-z]{2,8};)|\\\\?(?:u[0-9A-Fa-f]{4}|x[0-9A-Fa-f]{2})|[\uff01-\uff5e]")
_ASCII, _JAPANESE = re.compile(rb"[\x20-\x7e]{6,}"), re.compile(r"[\u3040-\u30ff\u3400-\u9fff]{2,}")
_NUMBER = re.compile(r"&#(?:[xX]([0-9A-Fa-f]{1,6})|([0-9]{1,7}));?")
_NAMED = re.compile(r"&(commat|period|colon|sol|lowbar|hyphen|equals);")
_LETTERS = {"commat": "@", "period": ".", "colon": ":", "sol": "/", "lowbar": "_", "hyphen": "-", "equals": "="}
_ESCAPE = re.compile(r"(?:\\+(?:u[0-9A-Fa-f]{4}|x[0-9A-Fa-f]{2}))+")
_UNIT = re.compile(r"[ux]([0-9A-Fa-f]+)")
_PERCENT = re.compile(r"(?:%[0-9A-Fa-f]{2})+")
_WIDE = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}


def has_encoded(text: str) -> bool:
    """Return whether a text may contain encoded characters."""
    return _ENCODED.search(text) is not None


def decoded(text: str) -> str:
    """Return a line with its characters decoded; quotes, backslashes and control characters stay encoded.

    A string of JSON or of a program thus stays a string.
    """
    if "%" in text:
        text = _PERCENT.sub(_of_bytes, text)
    if "&" in text:
        text = _NUMBER.sub(_of_number, text)
        text = _NAMED.sub(lambda match: _LETTERS[match[1]], text)
    if "\\" in text:
        text = _ESCAPE.sub(_of_units, text)
    return text if text.isascii() else text.translate(_WIDE)


def readable(raw: bytes) -> str:
    """Return the readable text in a binary file, a line per piece, including two-byte characters."""
    ascii_ = [*_ASCII.findall(raw), *_ASCII.findall(raw.replace(b"\0", b""))]
    other = [raw.decode("utf-8", "ignore"), *(raw.decode(name, "ignore") for name in ("utf-16-le", "utf-16-be"))]
    pieces = [piece.decode() for piece in ascii_] + [piece for text in other for piece in _JAPANESE.findall(text)]
    return "\n".join(dict.fromkeys(pieces))


def _plain(letters: str, raw: str) -> str:
    """Return decoded characters if they only change how a text reads, else the original."""
    readable = letters.replace("\u3000", " ").replace("\xa0", " ")
    return readable if readable.isprintable() and not {*readable} & {*"\"'`\\"} else raw


def _of_bytes(match: re.Match[str]) -> str:
    try:
        return _plain(unquote(match[0], errors="strict"), match[0])
    except UnicodeDecodeError:
        return match[0]


def _of_number(match: re.Match[str]) -> str:
    code = int(match[1], 16) if match[1] else int(match[2])
    return _plain(chr(code), match[0]) if code < 0x110000 and not 0xD800 <= code < 0xE000 else match[0]


def _of_units(match: re.Match[str]) -> str:
    """Return the characters of a sequence of escapes: UTF-8 bytes, or code units, which may be surrogate pairs."""
    units = [int(digits, 16) for digits in _UNIT.findall(match[0])]
    for size, encoding in ((1, "utf-8"), (2, "utf-16-be")):
        with contextlib.suppress(OverflowError, UnicodeDecodeError):
            return _plain(b"".join(unit.to_bytes(size, "big") for unit in units).decode(encoding), match[0])
    return match[0]
