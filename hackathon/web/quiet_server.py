"""How our servers run in uvicorn: quiet, patient with nobody, ended by the one who started them."""

import contextlib
from collections.abc import Iterator, Sequence

import uvicorn

from hackathon.text.messages import LANGUAGES
from hackathon.web.access import Application, Scope
from hackathon.web.patience import PatientProtocol

CONNECTIONS = 1000


class QuietServer(uvicorn.Server):
    """uvicorn without its own signal handlers: they would raise the signal again before doors are closed."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def configuration(application: Application, grace: int = 1) -> uvicorn.Config:
    """Return how uvicorn runs: nothing is logged (addresses may hold a token), no header of a proxy is believed.

    `grace`: seconds in which requests may end when the server does.
    """
    return uvicorn.Config(
        application, loop="asyncio", http=PatientProtocol, ws="none", lifespan="off", log_config=None,
        log_level="critical", access_log=False, server_header=False, proxy_headers=False,
        limit_concurrency=CONNECTIONS, timeout_keep_alive=30, timeout_graceful_shutdown=grace,
    )  # fmt: skip


def preferred(scope: Scope, languages: Sequence[str] = LANGUAGES) -> str:
    """Return the language that a browser prefers among some, the first of them when it names none."""
    wanted: list[tuple[float, str]] = []
    for name, value in scope["headers"]:
        if name != b"accept-language":
            continue
        for entry in value.decode("latin-1").split(",")[:20]:
            code, _, weight = entry.strip().partition(";q=")
            with contextlib.suppress(ValueError):
                wanted.append((-float(weight or 1), code[:2].lower()))
    return next((code for _, code in sorted(wanted, key=lambda pair: pair[0]) if code in languages), languages[0])
