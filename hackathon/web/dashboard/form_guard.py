"""What shows that a form was made by this server for the browser that sends it, and what became of it before.

A page of somebody else can make a browser send a form to us, but cannot read one of ours: each of our forms holds a
token of its own, which only this process can make, for one browser and for some hours. The same form sent again (a
double click, Back and Forward, a recorded request) gets the answer that it got, and nothing is done twice.
"""

import asyncio
import hashlib
import hmac
import re
import secrets
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

HOURS = 12 * 3600.0
"""Seconds in which a form may be sent after its page was given out."""
REMEMBERED = 10_000
"""Forms whose answers are remembered."""
_TOKEN = re.compile(r"([0-9a-f]{1,12})\.[0-9a-f]{32}\.[0-9a-f]{64}\Z", re.ASCII)
_Answer = TypeVar("_Answer")


class FormGuard:
    """Makes the tokens of forms and knows them again. Its methods are called in one thread."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)
        self._sent: OrderedDict[bytes, asyncio.Task[Any]] = OrderedDict()

    def token(self, session: str, now: float | None = None) -> str:
        """Return a new token for a browser."""
        plain = f"{int(time.time() if now is None else now):x}.{secrets.token_hex(16)}"
        return f"{plain}.{self._mac(session, plain)}"

    def knows(self, token: str, session: str, now: float | None = None) -> bool:
        """Return whether a token was made here, for this browser, and not too long ago."""
        match = _TOKEN.match(token)
        plain, _, mac = token.rpartition(".")
        if match is None or not session or not hmac.compare_digest(mac, self._mac(session, plain)):
            return False
        age = (time.time() if now is None else now) - int(match[1], 16)
        return -1 <= age <= HOURS

    async def once(self, token: str, content: bytes, work: Callable[[], Awaitable[_Answer]]) -> _Answer:
        """Return what `work` returns; for the same token and content again what it returned. A failure is forgotten."""
        key = hashlib.sha256(token.encode() + b"\0" + content).digest()
        task = self._sent.get(key)
        if task is None:
            task = self._sent[key] = asyncio.ensure_future(_run(work))
            while len(self._sent) > REMEMBERED:
                self._sent.popitem(last=False)
        try:
            answer: _Answer = await asyncio.shield(task)
        except Exception:
            if self._sent.get(key) is task:
                del self._sent[key]
            raise
        return answer

    def _mac(self, session: str, plain: str) -> str:
        return hmac.digest(self._key, f"{session}|{plain}".encode("utf-8", "replace"), "sha256").hex()


async def _run(work: Callable[[], Awaitable[Any]]) -> Any:
    return await work()
