"""Run the toolkit's servers in uvicorn: without logs, with short time limits, ended only by their caller."""

import asyncio
import contextlib
import functools
import socket
from collections.abc import Iterator, Sequence
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from hackathon.text.messages import LANGUAGES
from hackathon.web.dashboard.access import Application, Scope
from hackathon.web.dashboard.crowd import WAITING, Crowd, room

AT_ONCE = 8
"""At most 1/AT_ONCE of all connections are accepted at a time; superfluous ones are closed before the next."""
QUEUE = 1024
"""Connections that wait in the kernel, so that a burst does not make it refuse later ones."""
IDLE = 30
"""Seconds after an answer in which a connection's next request must be complete."""


class QuietServer(uvicorn.Server):
    """uvicorn without its own signal handlers, which would raise the signal again before endpoints are closed."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to listen, with a longer queue than the number accepted at a time (asyncio has one number for both)."""
        await super().startup(sockets)
        for listener in sockets or ():
            listener.listen(QUEUE)


def configuration(application: Application, grace: int = 1) -> uvicorn.Config:
    """Return uvicorn's configuration: no logs (addresses may contain a token), no trust in a proxy's headers.

    `grace`: seconds that requests may take after the server's end.
    """
    most = room()
    protocol = functools.partial(PatientProtocol, crowd=Crowd(most // WAITING))
    return uvicorn.Config(
        application, loop="asyncio", ws="none", lifespan="off", log_config=None,
        http=protocol,  # type: ignore[arg-type]  # it is only called, as a class would be
        log_level="critical", access_log=False, server_header=False, proxy_headers=False,
        limit_concurrency=most, backlog=max(1, most // AT_ONCE),
        timeout_keep_alive=IDLE, timeout_graceful_shutdown=grace,
    )  # fmt: skip


def preferred(scope: Scope, languages: Sequence[str] = LANGUAGES) -> str:
    """Return the language among some that a browser prefers; the first one by default."""
    preferences: list[tuple[float, str]] = []
    for name, value in scope["headers"]:
        if name != b"accept-language":
            continue
        for entry in value.decode("latin-1").split(",")[:20]:
            code, _, weight = entry.strip().partition(";q=")
            with contextlib.suppress(ValueError):
                preferences.append((-float(weight or 1), code[:2].lower()))
    return next((code for _, code in sorted(preferences, key=lambda pair: pair[0]) if code in languages), languages[0])


# ---- idle connections: anybody on a login node can open a thousand and leave their requests incomplete

HALF_SAID = 10.0
"""Seconds in which a request's head must be complete."""


class PatientProtocol(H11Protocol):
    """uvicorn's HTTP protocol with a time limit for a request's head, for which uvicorn waits for ever."""

    _limit: asyncio.TimerHandle | None = None

    def __init__(self, *words: Any, crowd: Crowd, **values: Any) -> None:
        """Create it; `crowd`: the server's connections without a request so far."""
        super().__init__(*words, **values)
        self.crowd = crowd

    def connection_made(self, transport: Any) -> None:
        """Start to wait for the first request."""
        super().connection_made(transport)
        self._look()
        self.crowd.came(transport)

    def data_received(self, data: bytes) -> None:
        """Read data, and check whether it completes a request."""
        super().data_received(data)
        if self.cycle is not None:  # a refused request is answered, and the connection ends with that
            self.crowd.left(self.transport)
        self._look()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._forget()
        self.crowd.left(self.transport)
        super().connection_lost(exc)

    def _look(self) -> None:
        if self.cycle is not None and not self.cycle.response_complete:
            self._forget()
        elif self._limit is None:
            self._limit = self.loop.call_later(HALF_SAID, self._end)

    def _forget(self) -> None:
        if self._limit is not None:
            self._limit.cancel()
            self._limit = None

    def _end(self) -> None:
        self._limit = None
        if (self.cycle is None or self.cycle.response_complete) and not self.transport.is_closing():
            self.transport.close()
