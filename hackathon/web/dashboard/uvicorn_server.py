"""Run the toolkit's servers in uvicorn: without logs, with short time limits, ended only by their caller."""

import contextlib
import functools
import socket
from collections.abc import Iterator, Sequence

import uvicorn

from hackathon.text.messages import LANGUAGES
from hackathon.web.dashboard.access import Application, Scope
from hackathon.web.dashboard.crowd import WAITING, Crowd, room
from hackathon.web.dashboard.timeouts import PatientProtocol

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
