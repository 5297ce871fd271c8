"""Expected failures that a user can fix. They are displayed as text, without a traceback."""

from hackathon.text.messages import lookup, message

DONE, FAILED, WRONG_REQUEST, UNAVAILABLE = 0, 1, 2, 3
"""Exit codes: done; the work failed; the request was wrong; scheduler or environment unavailable (try again)."""


class HackathonError(Exception):
    """An expected failure: a message id, its values, an optional hint (`<id>_hint`) and an exit code."""

    exit_code = FAILED

    def __init__(self, identifier: str, *, exit_code: int | None = None, **values: object) -> None:
        super().__init__(identifier)
        self.id = identifier
        self.values = values
        if exit_code is not None:
            self.exit_code = exit_code

    @property
    def message(self) -> str:
        """The message in the current language."""
        return message(self.id, **self.values)

    @property
    def hint(self) -> str | None:
        """The remedy in the current language, or None."""
        if not lookup(f"{self.id}_hint"):
            return None
        text = message(f"{self.id}_hint", **self.values)
        return text if self.values else text.format()  # doubled braces stand for braces

    def __str__(self) -> str:
        return self.message


class RequestError(HackathonError):
    """The request is impossible: exit code 2."""

    exit_code = WRONG_REQUEST


class UnavailableError(HackathonError):
    """A scheduler or the environment is unavailable; trying again may help: exit code 3."""

    exit_code = UNAVAILABLE
