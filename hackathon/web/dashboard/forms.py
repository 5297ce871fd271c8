"""Read a form completely within limits of size and time, or refuse it with a status."""

import asyncio
from urllib.parse import parse_qsl

from hackathon.web.dashboard.access import Message, Receive, Scope

SPARE = 2 << 20
"""Bytes beyond the limit that are still read, because a browser displays the error only if it could send everything."""
FORM = "application/x-www-form-urlencoded"


class FormRefused(Exception):
    """A request that no dashboard form sends: its status and a word for the reason."""

    def __init__(self, status: int, problem: str) -> None:
        super().__init__(problem)
        self.status, self.what = status, problem


async def read_body(receive: Receive, limit: int, seconds: float) -> bytes | None:
    """Return the body; None if the sender disconnected. Raises FormRefused if it is too large or too slow."""
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(seconds):
            while True:
                part: Message = await receive()
                if part["type"] == "http.disconnect":
                    return None
                parts.append(part.get("body", b""))
                size += len(parts[-1])
                if size > limit:
                    parts.clear()
                    if size > limit + SPARE:
                        raise FormRefused(413, "large")
                if not part.get("more_body"):
                    break
    except TimeoutError:
        raise FormRefused(408, "slow") from None
    if size > limit:
        raise FormRefused(413, "large")
    return b"".join(parts)


def check_type(scope: Scope) -> None:
    """Raise FormRefused for a content type that no dashboard form has."""
    kinds = [value.decode("latin-1").lower() for name, value in scope["headers"] if name == b"content-type"]
    if len(kinds) != 1 or any(name == b"content-encoding" for name, _ in scope["headers"]):
        raise FormRefused(415, "broken")
    kind, _, parameters = kinds[0].partition(";")
    charset = parameters.strip().removeprefix("charset=").strip('"')
    if kind.strip() != FORM or charset not in ("", "utf-8", "utf8"):
        raise FormRefused(415, "broken")


def pairs_of(body: bytes, most: int) -> list[tuple[str, str]]:
    """Return the names and values of a form's fields, at most `most`. Raises FormRefused."""
    try:
        return parse_qsl(
            body.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=most, separator="&"
        )
    except ValueError:  # not UTF-8, or too many fields
        raise FormRefused(400, "broken") from None
