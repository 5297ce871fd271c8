"""Proof that a form comes from this server and this browser, and the stored outcomes of earlier forms.

Another site's page can make a browser send a form here, but cannot read the dashboard's forms: each contains a token
that only this process can create, for one browser and for some hours. The same form sent again (a double click, Back
and Forward, a recorded request) gets the first answer, and no action is repeated.
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
"""Seconds for which a form is valid after its page was served."""
REMEMBERED = 10_000
"""Forms whose answers are stored."""
_TOKEN = re.compile(r"([0-9a-f]{1,12})\.[0-9a-f]{32}\.[0-9a-f]{64}\Z", re.ASCII)
_Answer = TypeVar("_Answer")


class FormGuard:
    """Creates and checks the tokens of forms. Its methods are called in one thread."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)
        self._sent: OrderedDict[bytes, asyncio.Task[Any]] = OrderedDict()

    def token(self, session: str, now: float | None = None) -> str:
        """Return a new token for a browser."""
        plain = f"{int(time.time() if now is None else now):x}.{secrets.token_hex(16)}"
        return f"{plain}.{self._mac(session, plain)}"

    def knows(self, token: str, session: str, now: float | None = None) -> bool:
        """Return whether this process created a token, for this browser, and recently enough."""
        match = _TOKEN.match(token)
        plain, _, mac = token.rpartition(".")
        if match is None or not session or not hmac.compare_digest(mac, self._mac(session, plain)):
            return False
        age = (time.time() if now is None else now) - int(match[1], 16)
        return -1 <= age <= HOURS

    async def once(self, token: str, content: bytes, work: Callable[[], Awaitable[_Answer]]) -> _Answer:
        """Return the result of `work`; for the same token and content the earlier result. A failure is not stored."""
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
