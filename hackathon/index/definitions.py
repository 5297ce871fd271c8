"""Detect runs in the index that were read with an earlier version of their project's metrics."""

from collections.abc import Iterable, Mapping

from hackathon.index.entry import IndexEntry
from hackathon.jobs.measured import declared_digest, mark_of


class Definitions:
    """The digest of each project's metrics, computed again when its project.yaml changes."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[tuple[int, ...], str]] = {}

    def of(self, project: str) -> str:
        """Return the digest of the metrics that a folder's project declares; empty if it declares none."""
        mark, cached = mark_of(project), self._known.get(project)
        if cached is None or cached[0] != mark:
            cached = self._known[project] = mark, declared_digest(project)
        return cached[1]

    def outdated(self, projects: Iterable[str], entries: Mapping[str, IndexEntry]) -> list[str]:
        """Return the keys of entries that were read with other metrics than their project declares now."""
        now = {project: self.of(project) for project in projects}
        return [
            key for key, entry in entries.items() if entry.measured != now.get(entry.summary.project, entry.measured)
        ]
