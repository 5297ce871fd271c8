"""Messages that are stored as ids with their values, and rendered when they are read.

Separate from `messages`, which the helper command of the local scheduler loads and which has to start quickly.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hackathon.text.messages import lookup, message


class Sayable:
    """An object with a message id and values: its texts are rendered on access, in the current language."""

    id: str
    values: Mapping[str, Any]

    @property
    def text(self) -> str:
        """The text in the current language."""
        return message(self.id, **self.values)

    @property
    def remedy(self) -> str:
        """The remedy, message `<id>_hint`; empty when the catalogue has none."""
        return message(f"{self.id}_hint", **self.values) if lookup(f"{self.id}_hint") else ""

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Told(Sayable):
    """A stored message with its values."""

    id: str
    values: Mapping[str, Any] = field(default_factory=dict)


def tell(identifier: str, **values: object) -> Told:
    """Return a message that is rendered later."""
    return Told(identifier, values)
