"""What the checks of a file write their problems into."""

from collections.abc import Iterable, Mapping
from typing import Any

from hackathon.config.fields import KeyPath
from hackathon.config.problems import MOST_NAMED, Problem, listing, nearest, shown
from hackathon.config.yaml import Document


class Report:
    """Collects problems of one document."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.raw: Mapping[str, Any] = document.value if isinstance(document.value, dict) else {}
        self.problems: list[Problem] = []

    def add(self, identifier: str, path: KeyPath, **values: Any) -> None:
        """Note a problem at a key path."""
        self.problems.append(Problem(identifier, self.document.path, self.document.line(path), path, values))

    def raw_at(self, path: KeyPath) -> Mapping[str, Any]:
        """Return the mapping that the file has at a key path; an empty one where it has none."""
        value: Any = self.raw
        for key in path:
            try:
                value = value[key]
            except (LookupError, TypeError):
                return {}
        return value if isinstance(value, dict) else {}

    def unknown(self, path: KeyPath, word: str, words: Iterable[str], identifier: str) -> None:
        """Note that a word names nothing; `<identifier>_near` is used when a known word is near."""
        names = list(words)
        # looking for near words is slow, and of so many problems no more are shown
        near = nearest(word, names) if len(self.problems) < MOST_NAMED else None
        if near:
            self.add(f"{identifier}_near", path, name=shown(word), near=near)
        else:
            self.add(identifier, path, name=shown(word), known=listing(names) or "–")
