"""Close idle connections, because anybody on a login node can open a thousand and leave their requests incomplete."""

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from hackathon.web.dashboard.crowd import Crowd

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
