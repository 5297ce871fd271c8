"""Take people and machines out of what is published: user names, home folders, host names."""

import re
from collections.abc import Iterable
from dataclasses import fields, is_dataclass, replace
from typing import Any

_HOME = re.compile(r"/(?:home|users?|Users|export/home)/[^\s/'\":;,()<>]+|/root(?![\w-])")
_WORDLESS = frozenset({"root", "user"})
"""User names that name nobody; they stay as words, only their home folders go."""
_LOCAL = frozenset({"localhost", "localhost.localdomain", ""})


class Mask:
    """Replaces the named users by `user`, their folders by `~`, hosts by `host-1`, `host-2`, … in a fixed order."""

    def __init__(self, users: Iterable[str], hosts: Iterable[str]) -> None:
        names = sorted({user for user in users if user}, key=lambda name: (-len(name), name))
        self._folders = [re.compile(rf"(?:/[^\s/'\":;,()<>=]+)*/{re.escape(name)}(?![\w.-])") for name in names]
        self._users = [_word(name) for name in names if name not in _WORDLESS]
        short = sorted({host.split(".")[0] for host in hosts} - _LOCAL, key=_natural)
        numbers = {host: f"host-{i}" for i, host in enumerate(short, 1)}
        by_length = sorted(numbers, key=lambda name: (-len(name), name))
        self._hosts = [(_word(host, rest=r"(?:\.[A-Za-z][\w-]*)*"), numbers[host]) for host in by_length]

    def text(self, text: str) -> str:
        """Return a text without the users' and hosts' names, and without bytes that are not UTF-8."""
        text = text.encode("utf-8", "replace").decode()
        for folder in self._folders:
            text = folder.sub("~", text)
        text = _HOME.sub("~", text)
        for host, number in self._hosts:
            text = host.sub(number, text)
        for user in self._users:
            text = user.sub("user", text)
        return text

    def value(self, value: Any) -> Any:
        """Return a JSON value or a record with every text in it masked, keys too."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {self.value(key): self.value(entry) for key, entry in value.items()}
        if isinstance(value, (list, tuple)):
            return type(value)(self.value(entry) for entry in value)
        if is_dataclass(value) and not isinstance(value, type):
            return replace(value, **{each.name: self.value(getattr(value, each.name)) for each in fields(value)})
        return value


def _word(name: str, rest: str = "") -> re.Pattern[str]:
    # `_` and digits belong to a name, `-` and `.` do not: `alice-digits` and `node1.cluster` are found.
    return re.compile(rf"(?<![A-Za-z0-9_]){re.escape(name)}{rest}(?![A-Za-z0-9_])", re.IGNORECASE)


def _natural(name: str) -> list[tuple[int, int, str]]:
    parts = re.split(r"(\d{1,9})", name)
    return [(0, int(part), "") if part.isascii() and part.isdigit() else (1, 0, part) for part in parts]
