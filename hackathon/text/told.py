"""Messages that are kept as ids with their values, and said when somebody reads them.

Apart from `messages`, which the small command of the local scheduler loads and which has to start quickly.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hackathon.text.messages import lookup, message


class Sayable:
    """What has a message id and values: its texts are made when they are read, in the language of that moment."""

    id: str
    values: Mapping[str, Any]

    @property
    def text(self) -> str:
        """What it says, in the current language."""
        return message(self.id, **self.values)

    @property
    def remedy(self) -> str:
        """What to do about it, the message `<id>_hint`; empty where the catalogue has none."""
        return message(f"{self.id}_hint", **self.values) if lookup(f"{self.id}_hint") else ""

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Told(Sayable):
    """One message with its values, as it is kept until somebody reads it."""

    id: str
    values: Mapping[str, Any] = field(default_factory=dict)


def tell(identifier: str, **values: object) -> Told:
    """Return a message that is kept until somebody reads it."""
    return Told(identifier, values)
