"""One-time tokens: each token allows one answer. Only digests are stored, separately from answers.

tokens/issued.json   the digests of all issued tokens
tokens/spent/        an empty file for each used token, named by its digest
"""

import hashlib
import unicodedata
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

from hackathon.survey.durable import names, put, replace_with
from hackathon.text.errors import RequestError
from hackathon.text.files import known_json

TOKEN_LETTERS = 16
"""Characters of a token, with five bits each: 80 bits."""
MOST_TOKENS = 100_000
TokenState = Literal["unknown", "unused", "spent"]


class TokenError(RequestError):
    """A token that does not count: unknown, or already used."""


def plain_token(text: str) -> str:
    """Return a token in its issued form, for any capitals, full-width letters, dashes and spaces."""
    word = unicodedata.normalize("NFKC", text[:200]).lower()
    return "".join(letter for letter in word if letter.isascii() and letter.isalnum())


def digest(token: str) -> str:
    """Return the digest of a token, 64 hexadecimal digits. A token has 80 random bits, so it needs no salt."""
    return hashlib.sha256(b"hackathon survey token\0" + plain_token(token).encode()).hexdigest()


class Tokens:
    """The tokens of one survey."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.spent_folder = folder / "spent"

    def make(self) -> None:
        """Create the folders."""
        self.spent_folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def issued(self) -> set[str]:
        """Return the digests of all issued tokens. Raises OSError if they cannot be read."""
        record: Any = known_json(self.folder / "issued.json")
        tokens = record.get("tokens") if isinstance(record, dict) else None
        return {token for token in tokens if isinstance(token, str)} if isinstance(tokens, list) else set()

    def issue(self, count: int) -> list[str]:
        """Return new tokens once their digests are stored. The caller has exclusive access to the survey."""
        from hackathon.board.entry import letters

        issued = self.issued()
        if not 0 <= count <= MOST_TOKENS - len(issued):
            raise RequestError(
                "survey.tokens_many",
                "cannot create {count} tokens: choose from 0 to {limit}",
                count=count,
                limit=MOST_TOKENS - len(issued),
            )
        new_tokens = [letters(TOKEN_LETTERS) for _ in range(count)]
        if new_tokens or not (self.folder / "issued.json").exists():
            # sorted by digest, which does not show the order in which they were issued
            tokens = sorted({*issued, *map(digest, new_tokens)})
            replace_with(self.folder / "issued.json", {"schema_version": 1, "tokens": tokens})
        return new_tokens

    def spent(self) -> set[str]:
        """Return the digests of the used tokens."""
        return set(names(self.spent_folder))

    def state(self, token: str) -> TokenState:
        """Return whether a token was issued, and whether it was used."""
        token_digest = digest(token)
        if token_digest not in self.issued():
            return "unknown"
        return "spent" if (self.spent_folder / token_digest).exists() else "unused"

    def spend(self, digests: Iterable[str]) -> None:
        """Record that tokens were used; on return that is on the disk."""
        for digest in digests:
            try:
                put(self.spent_folder, digest, b"")
            except FileExistsError:
                continue
