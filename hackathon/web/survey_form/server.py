"""Serve the form of a survey on a port until a signal ends it."""

import asyncio
import re
import signal
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from hackathon.text.errors import RequestError
from hackathon.web.dashboard.crowd import raise_open_files
from hackathon.web.dashboard.uvicorn_server import QuietServer, configuration
from hackathon.web.survey_form.app import SurveyApp

GRACE = 20
"""Seconds that running requests may take after the server's end."""
_HOST = re.compile(r"[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]")
_PATH = re.compile(r"[A-Za-z0-9._~/-]*")


@dataclass(frozen=True)
class PublicAddress:
    """The participants' address of the form."""

    url: str
    """With a trailing slash."""
    host: str
    path: str

    @property
    def paths(self) -> frozenset[str]:
        """Paths of the form, with and without a prefix that a reverse proxy may strip."""
        return frozenset({"/", self.path, self.path.rstrip("/") or "/"})


def public_address(url: str) -> PublicAddress:
    """Return the address that links begin with. Raises RequestError for an invalid one."""
    try:
        parts = urlsplit(url)
        port, host = parts.port, parts.hostname or ""
    except ValueError:
        raise RequestError(
            "survey_form.bad_url",
            "{url} cannot be used as the start of links",
            hint="use for example https://survey.example.org/ or http://login1:8017/, without ? and #",
            url=url,
        ) from None
    host = f"[{host}]" if ":" in host else host
    plain = not (parts.username or parts.password or parts.query or parts.fragment or "?" in url or "#" in url)
    if parts.scheme not in ("http", "https") or not _HOST.fullmatch(host) or not _PATH.fullmatch(parts.path):
        raise RequestError(
            "survey_form.bad_url",
            "{url} cannot be used as the start of links",
            hint="use for example https://survey.example.org/ or http://login1:8017/, without ? and #",
            url=url,
        )
    if not plain or port == 0:
        raise RequestError(
            "survey_form.bad_url",
            "{url} cannot be used as the start of links",
            hint="use for example https://survey.example.org/ or http://login1:8017/, without ? and #",
            url=url,
        )
    path = "/" + parts.path.strip("/") + ("/" if parts.path.strip("/") else "")
    return PublicAddress(f"{parts.scheme}://{host}{f':{port}' if port else ''}{path}", host.lower(), path)


def serve(
    listener: socket.socket,
    app: SurveyApp,
    ready: Callable[[], None] = lambda: None,
    signals: Sequence[signal.Signals] = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP),
) -> None:
    """Serve until one of the signals; `ready` is called when requests are answered."""
    raise_open_files()
    asyncio.run(_serve(listener, app, ready, signals))


async def _serve(
    listener: socket.socket, app: SurveyApp, ready: Callable[[], None], signals: Sequence[signal.Signals]
) -> None:
    server = QuietServer(configuration(app, GRACE))

    def end() -> None:
        server.should_exit = True

    for number in signals:
        asyncio.get_running_loop().add_signal_handler(number, end)
    ready()
    await server.serve(sockets=[listener])
    app.close()
