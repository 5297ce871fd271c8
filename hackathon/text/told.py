"""Messages that are kept as ids with their values, and said when somebody reads them.

Apart from `messages`, which the small command of the local scheduler loads and which has to start quickly.
"""

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from hackathon.text.light_dataclass import dataclass
from hackathon.text.messages import Message, _


class Sayable:
    """What has a message id and values: its texts are made when they are read, in the language of that moment."""

    id: str
    values: Mapping[str, Any]

    @property
    def text(self) -> str:
        """The text in the current language. Raises KeyError for an id of another version, which has no text here."""
        message = known(self.id)
        if message is None:
            raise KeyError(f"no message {self.id!r}")
        return _(message, **self.values)

    @property
    def remedy(self) -> str:
        """What to do about it; empty where the message has no hint."""
        message = known(self.id)
        return _(message.hint, **self.values) if message and message.hint else ""

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Told(Sayable):
    """One message with its values, as it is kept until somebody reads it."""

    id: str
    values: Mapping[str, Any] = field(default_factory=dict)


class Worded(str):
    """A message as text, which `reworded` says again in the language of another reader."""

    message: object
    """What `str` says in the current language: an error, or something `Sayable`."""

    @classmethod
    def of(cls, message: object) -> "Worded":
        """Return a message's text in the current language."""
        text = cls(str(message))
        text.message = message
        return text

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        """Copy as plain text: an error need not be copyable."""
        return str, (str(self),)


def reworded(text: str) -> str:
    """Return a text in the current language, if it is known from what message it is; else the text itself."""
    return str(text.message) if isinstance(text, Worded) else text


def tell(identifier: str, **values: object) -> Told:
    """Return a message that is kept until somebody reads it; `stored.STORED` has its text."""
    return Told(identifier, values)


def known(identifier: str) -> Message | None:
    """Return the message that an id stands for: itself where it carries its text, else that of `stored.STORED`."""
    if isinstance(identifier, Message):
        return identifier
    from hackathon.text.stored import STORED

    return STORED.get(identifier)
