"""The translations of `hackathon/locale`, as gettext reads them.

A wheel holds only `hackathon.mo`. A checkout holds `hackathon.po`; what is compiled of it is kept beside it like a
`.pyc`, and counts only as long as it has the time of its source: it cannot be out of date.
"""

import contextlib
import os
import re
import struct
from gettext import GNUTranslations
from io import BytesIO
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "locale"
_QUOTED = re.compile(r'^(?:(msgctxt|msgid|msgid_plural|msgstr(?:\[\d+\])?)\s+)?"(.*)"$')
_ESCAPE = re.compile(r"\\(.)")
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r"}


def catalogue(language: str, folder: Path = FOLDER) -> GNUTranslations:
    """Return the translations into a language."""
    source = folder / language / "LC_MESSAGES" / "hackathon.po"
    compiled = source.with_suffix(".mo")
    try:
        time = source.stat().st_mtime_ns
    except FileNotFoundError:  # installed
        return GNUTranslations(BytesIO(compiled.read_bytes()))
    with contextlib.suppress(OSError):
        if compiled.stat().st_mtime_ns == time:
            return GNUTranslations(BytesIO(compiled.read_bytes()))
    content = mo(source.read_text(encoding="utf-8"))
    with contextlib.suppress(OSError):  # a checkout of somebody else
        temporary = compiled.with_name(f".hackathon.{os.getpid()}.mo")
        with temporary.open("xb") as stream:
            stream.write(content)
        os.utime(temporary, ns=(time, time))
        temporary.replace(compiled)
    return GNUTranslations(BytesIO(content))


def mo(text: str) -> bytes:
    """Return a .po file as a .mo file, without entries that are fuzzy or not translated."""
    texts = {}
    for entry in read(text):
        if entry["msgid"] and (entry["fuzzy"] or not entry["msgstr"]):
            continue
        key = f"{entry['msgctxt']}\x04{entry['msgid']}" if entry["msgctxt"] else entry["msgid"]
        texts["\0".join(filter(None, (key, entry["msgid_plural"]))).encode()] = entry["msgstr"].encode()
    keys = sorted(texts)
    head = struct.Struct("<7I")
    table = struct.Struct("<2I")
    place = head.size + 2 * table.size * len(keys)
    tables: list[bytes] = []
    content = b""
    for part in (keys, [texts[key] for key in keys]):
        for word in part:
            tables.append(table.pack(len(word), place + len(content)))
            content += word + b"\0"
    first, second = head.size, head.size + table.size * len(keys)
    return head.pack(0x950412DE, 0, len(keys), first, second, 0, place) + b"".join(tables) + content


def read(text: str) -> list[dict[str, str]]:
    """Return the entries of a .po file: msgctxt, msgid, msgid_plural, msgstr (its forms separated by NUL), fuzzy."""
    entries: list[dict[str, str]] = []
    field = "msgstr"
    entry: dict[str, str] = {}
    fuzzy = ""
    for line in text.splitlines():
        if line.startswith("#,") and "fuzzy" in line:
            fuzzy = "fuzzy"
        match = _QUOTED.match(line)
        if match is None:
            continue
        if match[1] in ("msgctxt", "msgid") and field.startswith("msgstr"):
            entry = {"msgctxt": "", "msgid": "", "msgid_plural": "", "msgstr": "", "fuzzy": fuzzy}
            entries.append(entry)
            fuzzy = ""
        if match[1]:
            field = match[1]
            if field.startswith("msgstr[") and field != "msgstr[0]":
                entry["msgstr"] += "\0"
        entry[field.partition("[")[0]] += _ESCAPE.sub(lambda letter: _ESCAPED.get(letter[1], letter[1]), match[2])
    return entries
