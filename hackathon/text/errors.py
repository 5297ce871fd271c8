"""Failures that a user can do something about. They are shown as text, never as a traceback."""

from hackathon.text.messages import Message, _

DONE, FAILED, WRONG_REQUEST, UNAVAILABLE = 0, 1, 2, 3
"""Exit codes: done; the work failed; the request was wrong; scheduler or environment unavailable (try again)."""


class HackathonError(Exception):
    """An expected failure: an id, an English text, the values in it, an optional hint and an exit code.

    Text and hint are translated when they are shown. Without a text the id is a `Message` that has one, or an id of
    `stored.STORED`.
    """

    exit_code = FAILED

    def __init__(
        self, identifier: str, text: str = "", /, *, hint: str = "", exit_code: int | None = None, **values: object
    ) -> None:
        super().__init__(identifier)
        assert text or " " not in identifier, f"a text without an id: {identifier}"
        self.id = Message(identifier, text, hint=hint) if text else identifier
        self.values = values
        if exit_code is not None:
            self.exit_code = exit_code

    @property
    def message(self) -> str:
        """The message in the current language."""
        message = self._known()
        return _(message, **self.values) if message else self.id

    @property
    def hint(self) -> str | None:
        """What to do about it in the current language, or None."""
        message = self._known()
        if message is None or not message.hint:
            return None
        text = _(message.hint, **self.values)
        return text if self.values else text.format()  # doubled braces, which stand for braces

    def _known(self) -> Message | None:
        if isinstance(self.id, Message):
            return self.id
        from hackathon.text.told import known

        return known(self.id)

    def __str__(self) -> str:
        return self.message


class RequestError(HackathonError):
    """The user asked for something that cannot be: exit code 2."""

    exit_code = WRONG_REQUEST


class UnavailableError(HackathonError):
    """A scheduler or the environment does not answer now; trying again may help: exit code 3."""

    exit_code = UNAVAILABLE
