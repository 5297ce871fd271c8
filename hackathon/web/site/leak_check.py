"""Search the finished files for text that looks like a secret and that no rule of the mask matches."""

import hashlib
import json
import math
import re
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from typing import Any

from hackathon.web.crate.crate import shipped_hashes
from hackathon.web.masking.encoded import readable
from hackathon.web.masking.mask import Mask

OWN = frozenset({"style.css", "plots.js", "tables.js", "forms.js", "vega.js"})
"""Files that come with the toolkit."""
LONGEST = 4 << 20
"""Bytes of a file that are read."""
BITS = 4.2
"""Entropy per character in bits: random base64 has about 6, an English word about 4, a path or a run's name less."""

_TAG = re.compile(r"<[^>]*>")
_ATTRIBUTE = re.compile(r'=(?:"([^"]*)"|([^\s">]+))')
_RANDOM = re.compile(r"(?<![A-Za-z0-9_/+.-])[A-Za-z0-9_+/-]{24,256}={0,2}(?![A-Za-z0-9_/+-])")
_NAME = re.compile(r"\d{8}-\d{6}-|[0-9a-fA-F]+\Z|sha256-")
"""Ids of runs and studies, digests."""
_HEX = re.compile(r"(?<![A-Za-z0-9_+-])(?:sha256:)?([0-9a-fA-F]{32,128})(?![A-Za-z0-9_+-])")
"""A digest or a key; its text alone does not show which."""
_DIGEST_KEY = re.compile(r"(?i)digest|sha\d*\Z|sha256|commit|hash|checksum|files\Z|identifier\Z")
"""Keys of the toolkit's records with digests, or with a mapping of files to digests."""


@dataclass(frozen=True)
class Residue:
    """A text in a file of the site that looks like a secret, a name or an address."""

    file: str
    kind: str
    """A kind of the mask, or `random`."""
    sample: str
    """Its beginning."""


def residues(folder: Path, names: Sequence[str], mask: Mask) -> list[Residue]:
    """Return suspicious texts, each once per file; `mask` is the mask that was applied to the files."""
    matches: dict[Residue, None] = {}
    keys: dict[str, Residue] = {}
    digests: set[str] = set()
    for name in names:
        if name in OWN:
            continue
        for inside, text in _texts(folder / name, digests):
            for residue in _in_text(f"{name}{inside}", text, mask):
                matches[residue] = None
            for match in _HEX.finditer(text):
                keys.setdefault(match[1].lower(), Residue(f"{name}{inside}", "random", _sample(match[1])))
    # a digest is known by the record that contains it, which may be read later
    return [*matches, *(residue for key, residue in keys.items() if key not in digests and _is_key(key))]


def _is_key(word: str) -> bool:
    """Return whether hexadecimal digits are irregular, unlike zeros or a pattern."""
    return any(map(str.isdigit, word)) and any(map(str.isalpha, word)) and len(set(word)) >= 8


def _note_digests(value: Any, digests: set[str], under: bool = False) -> None:
    """Add the hexadecimal texts of a record whose key names a digest."""
    if isinstance(value, str):
        if under:
            digests.update(match[1].lower() for match in _HEX.finditer(value))
    elif isinstance(value, dict):
        for key, member in value.items():
            _note_digests(member, digests, under or _DIGEST_KEY.search(key) is not None)
    elif isinstance(value, list):
        for member in value:
            _note_digests(member, digests, under)


def _texts(path: Path, digests: set[str]) -> Iterator[tuple[str, str]]:
    """Yield (name inside the file, text) of a file; of a page its visible texts.

    Of a crate those of its members, without files of the toolkit's recipes. Digests that the toolkit wrote are added to
    `digests`.
    """
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            request = json.loads(archive.read("request.json"))
            own = shipped_hashes(str(request.get("recipe") or "")).values()
            for entry in archive.infolist():
                raw = archive.read(entry) if entry.file_size <= LONGEST else b""
                digests.add(hashlib.sha256(raw).hexdigest())
                if hashlib.sha256(raw).hexdigest() not in own:
                    text = (
                        readable(raw)
                        if b"\0" in raw
                        else _read(entry.filename, raw.decode("utf-8", "replace"), digests)
                    )
                    yield f":{entry.filename}", text
        return
    with path.open("rb") as stream:
        text = stream.read(LONGEST).decode("utf-8", "replace")
    yield "", _read(path.name, text, digests)


def _read(name: str, text: str, digests: set[str]) -> str:
    """Return the readable text of a file: the texts of a page and of its attributes, or of a JSON file's values."""
    if name.endswith(".html"):
        parts = [
            *_TAG.split(text),
            *(quoted or bare for tag in _TAG.findall(text) for quoted, bare in _ATTRIBUTE.findall(tag)),
        ]
        return "\n".join(unescape(part) for part in dict.fromkeys(parts))
    if name.endswith(".json"):
        try:
            value = json.loads(text)
            _note_digests(value, digests)
            return "\n".join(_words(value))
        except (ValueError, RecursionError):
            return text
    return text


def _words(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, entry in value.items():
            yield key
            yield from _words(entry)
    elif isinstance(value, list):
        for entry in value:
            yield from _words(entry)


def _in_text(name: str, text: str, mask: Mask) -> Iterator[Residue]:
    for line in dict.fromkeys(text.split("\n")):
        if len(line) < 4:
            continue
        for kind, original in mask.taken(line):
            yield Residue(name, kind, _sample(original))
        for match in _RANDOM.finditer(line) if len(line) >= 24 else ():
            if _is_random(match[0]):
                yield Residue(name, "random", _sample(match[0]))


def _is_random(word: str) -> bool:
    """Return whether a word has irregular characters of all kinds, as keys have and names have not."""
    kinds = (str.isupper, str.islower, str.isdigit)
    if _NAME.match(word) or not all(any(kind(letter) for letter in word) for kind in kinds):
        return False
    if any(len(part) < 16 for part in re.split(r"[/_-]", word)):  # words with separators
        return False
    bits = -sum(n / len(word) * math.log2(n / len(word)) for n in Counter(word).values())
    return bits > BITS


def _sample(text: str) -> str:
    """Return the beginning of a text, which is enough to find it and reveals no secret."""
    return text if len(text) <= 12 else f"{text[:8]}…"
