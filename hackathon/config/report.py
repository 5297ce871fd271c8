"""Collect the problems that the checks of a file find."""

from collections.abc import Iterable, Mapping
from typing import Any

from hackathon.config.problems import MOST_NAMED, Problem, listing, nearest, shown
from hackathon.config.records import KeyPath
from hackathon.config.yaml import Document


class Report:
    """The problems of one document."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.raw: Mapping[str, Any] = document.value if isinstance(document.value, dict) else {}
        self.problems: list[Problem] = []

    def add(self, identifier: str, path: KeyPath, **values: Any) -> None:
        """Add a problem at a key path."""
        self.problems.append(Problem(identifier, self.document.path, self.document.line(path), path, values))

    def raw_at(self, path: KeyPath) -> Mapping[str, Any]:
        """Return the mapping at a key path of the file; an empty one without it."""
        value: Any = self.raw
        for key in path:
            try:
                value = value[key]
            except (LookupError, TypeError):
                return {}
        return value if isinstance(value, dict) else {}

    def unknown(self, path: KeyPath, word: str, words: Iterable[str], identifier: str, with_near: str) -> None:
        """Add the problem that a word is unknown, with message `with_near` if a similar word is known."""
        names = list(words)
        # the search for similar words is slow, and further problems are not displayed
        near = nearest(word, names) if len(self.problems) < MOST_NAMED else None
        if near:
            self.add(with_near, path, name=shown(word), near=near)
        else:
            self.add(identifier, path, name=shown(word), known=listing(names) or "–")
