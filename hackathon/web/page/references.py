"""Published scaling results, read from `templates/plots/references.yaml`."""

import contextlib
import functools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hackathon.scaling.show import number, percent
from hackathon.scaling.table import TARGET
from hackathon.text.messages import language, localized
from hackathon.text.paths import shipped

_PLACE = ("templates", "plots", "references.yaml")


@dataclass(frozen=True)
class Reference:
    """One published result."""

    name: str
    title: str
    date: str
    processes: int
    low: float
    """Parallel efficiency; `low` and `high` are equal if one number is published."""
    high: float
    source: str
    address: str
    label: str = ""
    """The text beside it in a picture."""

    @property
    def efficiency(self) -> float:
        """The middle of its efficiency range."""
        return (self.low + self.high) / 2

    @property
    def speedup(self) -> float:
        """The middle of its range of speed-ups over one process."""
        return self.efficiency * self.processes

    @property
    def share(self) -> str:
        """Its efficiency as text."""
        return percent(self.low) if self.low == self.high else f"{100 * self.low:.0f}–{100 * self.high:.0f} %"

    @property
    def speedups(self) -> str:
        """Its speed-up as text."""
        ends = [number(share * self.processes, 3) for share in (self.low, self.high)]
        return ends[0] if self.low == self.high else "–".join(ends)


@dataclass(frozen=True)
class References:
    """Published results for comparison with those of the teams."""

    target: float
    """The parallel efficiency that is the teams' target."""
    target_name: str
    target_title: str
    points: tuple[Reference, ...]


def read_references(event_folder: Path | None) -> References:
    """Return the event's own references, or the shipped ones, with texts in the current language.

    Raises ConfigError for invalid YAML; malformed entries are left out.
    """
    path = _file(event_folder)
    return _read(path, language(), path.stat().st_mtime_ns)


def mark(event_folder: Path | None) -> str:
    """Return a text that changes with the file of the references."""
    path = _file(event_folder)
    with contextlib.suppress(OSError):
        status = path.stat()
        return f"{path} {status.st_size} {status.st_mtime_ns}"
    return str(path)


def _file(event_folder: Path | None) -> Path:
    own = event_folder.joinpath(*_PLACE) if event_folder else None
    return own if own is not None and own.is_file() else shipped(*_PLACE)


@functools.lru_cache(8)
def _read(path: Path, language: str, changed: int) -> References:
    from hackathon.config.yaml import read_yaml

    content = read_yaml(path).value
    fields: Mapping[str, Any] = content if isinstance(content, dict) else {}
    target = _mapping(fields.get("target"))
    share = _share(target.get("efficiency")) or (TARGET, TARGET)
    entries = fields.get("references")
    points = [_reference(_mapping(entry)) for entry in (entries if isinstance(entries, list) else ())]
    return References(
        target=share[0],
        target_name=localized(target.get("name"), f"{100 * share[0]:g} %"),
        target_title=localized(target.get("title")),
        points=tuple(point for point in points if point is not None),
    )


def _reference(entry: Mapping[str, Any]) -> Reference | None:
    processes = entry.get("processes")
    if not isinstance(processes, int) or not 1 <= processes < 1 << 30:
        return None
    speedup = _share(entry.get("speedup"), float(1 << 30))
    share = _share(entry.get("efficiency")) if speedup is None else (speedup[0] / processes, speedup[1] / processes)
    if share is None:
        return None
    return Reference(
        name=localized(entry.get("name")),
        title=localized(entry.get("title")),
        date=str(entry.get("date") or ""),
        processes=processes,
        low=share[0],
        high=share[1],
        source=localized(entry.get("source")),
        address=str(entry.get("address") or ""),
        label=localized(entry.get("label")),
    )


def _share(value: object, most: float = 10.0) -> tuple[float, float] | None:
    """Return a number or a pair of numbers as (low, high); None for anything else."""
    ends = value if isinstance(value, list) and len(value) == 2 else [value, value]
    if not all(isinstance(end, (int, float)) and not isinstance(end, bool) and 0 < end <= most for end in ends):
        return None
    return min(ends), max(ends)


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
