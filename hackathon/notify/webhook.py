"""Send one message to a chat's incoming webhook (Slack, Mattermost and services that accept the same JSON).

The address is a secret: it is in a file that only its user can read, and no message of this program shows it. Slack:
one message a second, 429 with Retry-After beyond that (https://docs.slack.dev/apis/web-api/rate-limits). Mattermost
turns @name and <!channel> of a webhook into mentions
(https://developers.mattermost.com/integrate/slash-commands/slack).
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hackathon.access.private import NotPrivateError, open_private
from hackathon.text.errors import RequestError
from hackathon.text.files import write_whole
from hackathon.text.paths import user_config

SENT, LATER, REFUSED, DEAD = "sent", "later", "refused", "dead"
"""The server accepted the message; may accept it later; never will; accepts no message at this address."""
TIMEOUT = 10.0
"""Seconds allowed for the connection, and for each wait for an answer."""
LONGEST_WAIT = 3600.0
"""The longest Retry-After, in seconds, that is obeyed."""
LONGEST_TEXT = 3000
"""Characters of one message; both services accept more, but few people read more."""
_GONE = frozenset({401, 403, 404, 410})
_PASSING = frozenset({408, 425, 429})


@dataclass(frozen=True)
class Delivery:
    """The outcome of sending one message."""

    kind: str
    """SENT, LATER, REFUSED or DEAD."""
    what: str = ""
    """The server's status, or the reason why there is none; never the address."""
    wait: float | None = None
    """Seconds that the server asks to wait."""


def folder() -> Path:
    """Return the folder of the user's notifications."""
    return user_config() / "notify"


def address_file() -> Path:
    """Return the file with the webhook's address."""
    return folder() / "url"


def checked_address(text: str) -> str:
    """Return an address without surrounding white space. Raises RequestError unless it is an http(s) URL."""
    from urllib.parse import urlsplit

    address = text.strip()
    try:
        parts = urlsplit(address)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        good = False
    if not good or len(address) > 2000 or not all("!" <= character <= "~" for character in address):
        raise RequestError(
            "notify.bad_address",
            "not a webhook URL",
            hint="it must start with https:// (or http://) and contain no spaces",
        )
    return address


def keep_address(text: str) -> None:
    """Write the address to a file that only this user can read.

    Raises RequestError when the address is invalid or the file cannot be written.
    """
    address = checked_address(text)
    try:
        folder().mkdir(parents=True, exist_ok=True, mode=0o700)
        write_whole(address_file(), address + "\n", mode=0o600)
    except OSError as error:
        raise RequestError(
            "notify.not_written",
            "{path} cannot be written: {what}",
            hint="set XDG_CONFIG_HOME to a folder of your own",
            path=address_file(),
            what=error.strerror,
        ) from error


def read_address() -> tuple[str, float] | None:
    """Return the address and the time when it was written (seconds since 1970); None when notifications are off.

    Raises RequestError when others can read the file, or another user owns it.
    """
    path = address_file()
    try:
        stream, written = open_private(path)
    except FileNotFoundError:
        return None
    except NotPrivateError:
        raise RequestError(
            "notify.open_to_others",
            "others can read the webhook URL in {path}, or the file is not yours",
            hint="chmod 600 {path!q}; if others may have seen it, create a new webhook",
            path=path,
        ) from None
    except OSError as error:
        raise RequestError(
            "notify.unreadable", "{path} cannot be read: {what}", path=path, what=error.strerror
        ) from error
    with stream:
        return checked_address(stream.read(4000).decode("utf-8", "replace")), written


def host_of(address: str) -> str:
    """Return the host of an address, the part that is not secret."""
    from urllib.parse import urlsplit

    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.hostname}" + (f":{parts.port}" if parts.port else "") + "/…"


def payload(text: str) -> dict[str, Any]:
    """Return the JSON value of a message; the service does not expand its links."""
    content = text if len(text) <= LONGEST_TEXT else text[: LONGEST_TEXT - 1] + "…"
    return {"text": content, "unfurl_links": False, "unfurl_media": False}


def neutral(text: str) -> str:
    """Return a text that mentions nobody and whose links show where they lead.

    `<!here>` and `<@U1>` lose their angle brackets; a zero-width space follows each `@` and splits `](`.
    """
    text = text.replace("<", "‹").replace(">", "›").replace("&lt;", "‹").replace("&gt;", "›")
    return text.replace("@\u200b", "@").replace("@", "@\u200b").replace("＠", "@\u200b").replace("](", "]\u200b(")


def code(text: str) -> str:
    """Return a line of a log, unchanged, in a monospaced font."""
    return f"`{neutral(text).replace('`', chr(39))}`"


def send(address: str, value: dict[str, Any], timeout: float = TIMEOUT) -> Delivery:
    """Post a JSON value and return the outcome; never raises for a failure of the network or the server.

    Redirects are not followed: the address of a webhook does not move, and a message must not go elsewhere.
    """
    import json
    import urllib.request
    from http.client import HTTPException

    opener = urllib.request.OpenerDirector()  # only these handlers: no file, ftp or data address, no redirect
    handlers = (urllib.request.ProxyHandler, urllib.request.HTTPHandler, urllib.request.HTTPSHandler)
    for handler in handlers:
        opener.add_handler(handler())
    request = urllib.request.Request(
        checked_address(address),
        data=json.dumps(value).encode(),
        headers={"Content-Type": "application/json; charset=utf-8", "User-Agent": "hackathon"},
        method="POST",
    )
    try:
        with opener.open(request, timeout=timeout) as answer:
            status, wait = int(answer.status), answer.headers.get("Retry-After")
            answer.read(1000)
    except (OSError, HTTPException, ValueError) as error:
        reason = getattr(error, "reason", None)
        return Delivery(LATER, type(reason if isinstance(reason, BaseException) else error).__name__)
    outcome = f"HTTP {status}"
    if 200 <= status < 300:
        return Delivery(SENT, outcome)
    if status in _PASSING or status >= 500:
        return Delivery(LATER, outcome, seconds_of(wait))
    return Delivery(DEAD if status in _GONE or status < 400 else REFUSED, outcome)


def seconds_of(retry_after: str | None, now: Callable[[], float] = time.time) -> float | None:
    """Return the seconds of a Retry-After header, a number or a date (RFC 9110, 10.2.3); None if it is invalid."""
    from email.utils import parsedate_to_datetime

    if not retry_after:
        return None
    text = retry_after.strip()
    try:
        wait = float(text) if text.isascii() and text.isdigit() else parsedate_to_datetime(text).timestamp() - now()
    except (ValueError, OverflowError, TypeError):
        return None
    return min(max(wait, 0.0), LONGEST_WAIT)
