"""Return the sources of each value of a cluster's profile, from the file's own text."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from hackathon.config.check import find_key
from hackathon.config.records import KeyPath

ABOUT_THE_FILE = frozenset({"name", "title", "unverified", "sources", "evidence"})
"""Keys that say nothing about the machine."""


@dataclass(frozen=True)
class CitedValue:
    """A value of a profile with its sources."""

    path: KeyPath
    value: Any
    """As written; a list is one value, and so is an empty mapping."""
    sources: tuple[str, ...]
    """Ids of its sources: those of the nearest key path in `evidence` that contains it."""
    unverified: bool
    """Whether it, or a block that contains it, is listed under `unverified`."""

    @property
    def key(self) -> str:
        """The key path as in `evidence` and `unverified`."""
        return ".".join(map(str, self.path))


def cited_values(profile: Mapping[str, Any]) -> list[CitedValue]:
    """Return the values of a profile in the order of the file; `profile`: valid plain values."""
    cited = {path: ids for key, ids in (profile.get("evidence") or {}).items() if (path := find_key(profile, key))}
    guessed = {path for key in profile.get("unverified") or () if (path := find_key(profile, key))}
    values = []
    for key in profile:
        if key in ABOUT_THE_FILE:
            continue
        for path, value in _leaves((key,), profile[key]):
            blocks = [path[:length] for length in range(len(path), 0, -1)]
            ids = next((cited[block] for block in blocks if block in cited), ())
            sources = (ids,) if isinstance(ids, str) else tuple(ids)
            values.append(CitedValue(path, value, sources, any(block in guessed for block in blocks)))
    return values


def unconfirmed(profile: Mapping[str, Any]) -> list[CitedValue]:
    """Return the values without a confirmed source that are not marked as unverified."""
    sources = profile.get("sources") or {}
    sure = {name for name, source in sources.items() if source.get("confirmed", True)}
    return [value for value in cited_values(profile) if not value.unverified and sure.isdisjoint(value.sources)]


def _leaves(path: KeyPath, value: Any) -> Iterator[tuple[KeyPath, Any]]:
    if isinstance(value, dict) and value and set(value) - {"en", "ja"}:
        for key, below in value.items():
            yield from _leaves((*path, key), below)
    else:
        yield path, value
