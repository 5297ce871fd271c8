"""Mask the content of a crate: files whose format must survive, and values of any JSON file."""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from hackathon.diagnosis.scrub import REMOVED
from hackathon.web.masking.encoded import readable
from hackathon.web.masking.own_keys import own_keys
from hackathon.web.masking.program import masked_program

if TYPE_CHECKING:
    from hackathon.web.masking.mask import Mask

_UNSAFE = re.compile(r"[/\\\n\r\0]")
"""Characters that are not allowed in names in a crate."""
_CACHED = 64_000
"""Bytes of a text whose masked form is cached, because many runs have the same program."""
_PRIVATE = 0xF8000
"""Characters of Unicode's private planes, which replace characters that masking would drop."""
_KEPT = {code: _PRIVATE + code for code in (*range(32), *range(127, 160)) if code not in (9, 10)}
_KEPT_BYTES = {code: _PRIVATE + code for code in range(256) if code in _KEPT or code > 127}
_BACK = {instead: code for code, instead in _KEPT_BYTES.items()}


@dataclass(frozen=True)
class Cleaner:
    """The event's mask, extended by the run's own group, which all its scripts contain."""

    mask: "Mask"
    group: str

    def text(self, text: str) -> str:
        """Return the masked text."""
        text = self.mask.text(text)
        return (
            re.sub(rf"(?<![A-Za-z0-9_]){re.escape(self.group)}(?![A-Za-z0-9_])", "group", text) if self.group else text
        )

    def value(self, value: Any) -> Any:
        """Return a JSON value with every text masked, including keys that are not this toolkit's words."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {
                key if key in own_keys() else self.text(str(key)): self.entry(str(key), entry)
                for key, entry in value.items()
            }
        if isinstance(value, (list, tuple)):
            return [self.word(before, entry) for before, entry in zip(("", *value), value, strict=False)]
        return value

    def entry(self, name: str, value: Any) -> Any:
        """Return a masked value; all of it is replaced if its name indicates a secret."""
        masked = self.mask.entry(name, value) if isinstance(value, str) else None
        return masked if masked == REMOVED else self.value(value)

    def word(self, before: object, value: Any) -> Any:
        """Return a masked word of a command; all of it is replaced after an option such as `--password`."""
        masked = self.mask.word(before, value) if isinstance(value, str) else None
        return masked if masked == REMOVED else self.value(value)

    def content(self, raw: bytes) -> bytes:
        """Return a file's masked bytes; a binary file's (with a NUL) unchanged."""
        if b"\0" in raw:
            return raw
        # a text in another encoding is masked byte by byte: names of people and machines are ASCII
        return _cleaned(self, raw) if len(raw) <= _CACHED else self.without_cache(raw)

    def without_cache(self, raw: bytes) -> bytes:
        """Return a text file's masked bytes; unlike on a page, control characters stay in a program."""
        try:
            return self.whole(raw.decode()).encode()
        except UnicodeDecodeError:
            return self.text(raw.decode("latin-1").translate(_KEPT_BYTES)).translate(_BACK).encode("latin-1", "replace")

    def whole(self, text: str) -> str:
        """Return a masked text with its control characters."""
        return self.text(text.translate(_KEPT)).translate(_BACK)

    def program(self, name: str, raw: bytes) -> bytes:
        """Return a masked file of the program; Python stays valid Python."""
        masked = self.content(raw)
        if masked == raw or not name.endswith(".py"):
            return masked
        try:
            return masked_program(raw.decode(), self.whole, self.names).encode()
        except UnicodeDecodeError:
            return masked

    def finds(self, raw: bytes) -> bool:
        """Return whether readable text in a binary file, which cannot be masked, contains something to mask."""
        return bool(self.mask.taken(text := readable(raw))) or self.text(text) != text

    def names(self, text: str) -> bool:
        """Return whether a text contains a name, apart from text that looks like a secret."""
        return self.text(text) != text and any(kind != "secret" for kind, _ in self.mask.taken(text))

    def name(self, name: str) -> str:
        """Return a path below the source, masked part by part."""
        return "/".join(_UNSAFE.sub("-", self.text(part)) or "-" for part in name.split("/"))


@lru_cache(256)
def _cleaned(cleaner: Cleaner, raw: bytes) -> bytes:
    return cleaner.without_cache(raw)
