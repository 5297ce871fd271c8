"""A dashboard in a thread over runs that a test sets, asked through real sockets with requests of any shape."""

import asyncio
import contextlib
import http.client
import re
import socket
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import urlencode

import pytest

from hackathon.index.catalog import Catalog
from hackathon.index.record import RunEntry
from hackathon.web.dashboard.endpoint import Endpoint
from hackathon.web.dashboard.server import Dashboard, serve
from hackathon.web.routing import registry as views
from support.patience import STRETCH

PATIENCE = STRETCH * 60.0
"""Seconds after which a test gives up waiting for what takes a moment."""


class Told:
    """A watcher whose runs the test sets."""

    def __init__(self, source: Catalog | None = None) -> None:
        self.version, self._source, self._news = 1, source or Catalog(live=True), threading.Condition()
        self.stopped = False

    def source(self) -> Catalog:
        return self._source

    def tell(self, *summaries: RunEntry) -> None:
        """Show these runs from now on."""
        with self._news:
            self._source = replace(self._source, summaries=summaries)
            self.version += 1
            self._news.notify_all()

    def wait(self, version: int, timeout: float) -> int:
        with self._news:
            self._news.wait_for(lambda: self.version != version, timeout)
            return self.version

    def stop(self) -> None:
        self.stopped = True


@dataclass
class Answer:
    """What came back."""

    status: int
    headers: dict[str, str]
    body: str
    cookies: list[str] = field(default_factory=list)


@dataclass
class Served:
    """A running dashboard and a way to ask it."""

    door: Endpoint
    watch: Told
    dashboard: Dashboard
    loop: asyncio.AbstractEventLoop | None = None
    cookie: str = ""

    def connect(self) -> socket.socket:
        if self.door.path is None:
            return socket.create_connection(("127.0.0.1", self.door.port), PATIENCE)
        made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        made.settimeout(PATIENCE)
        made.connect(str(self.door.path))
        return made

    def ask(
        self,
        path: str,
        *,
        method: str = "GET",
        headers: Mapping[str, str] | None = None,
        host: str | None = "localhost",
        body: bytes = b"",
    ) -> Answer:
        """Send a request as it stands (no library tidies the path up) and return the answer."""
        lines = [f"{method} {path} HTTP/1.1", "Connection: close"]
        lines += [f"Host: {host}"] if host is not None else []
        lines += [f"Cookie: {self.cookie}"] if self.cookie else []
        lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
        lines += [f"Content-Length: {len(body)}"] if body else []
        with self.connect() as connection:
            connection.sendall("\r\n".join([*lines, "", ""]).encode("latin-1") + body)
            answer = http.client.HTTPResponse(connection, method=method)
            answer.begin()
            body = answer.read().decode("utf-8")
            cookies = answer.headers.get_all("set-cookie") or []
            return Answer(answer.status, {name.lower(): text for name, text in answer.getheaders()}, body, cookies)

    def enter(self) -> None:
        """Exchange the token for the cookie."""
        answer = self.ask(f"/enter?token={self.door.token}")
        assert answer.status == 303, answer
        self.cookie = answer.cookies[0].partition(";")[0]

    def page_with_forms(self, path: str = "/en/board") -> str:
        """Open a page as a browser does that keeps cookies, and return it."""
        answer = self.ask(path)
        assert answer.status == 200, answer
        if answer.cookies:
            self.cookie = answer.cookies[0].partition(";")[0]
        return answer.body

    def token(self, path: str = "/en/board") -> str:
        """Return the token of a page's forms."""
        found = re.search(r'name="token" value="([^"]*)"', self.page_with_forms(path))
        assert found
        return found[1]

    def send(
        self, fields: Mapping[str, str] | Sequence[tuple[str, str]], headers: Mapping[str, str] | None = None,
        host: str = "localhost",
    ) -> Answer:  # fmt: skip
        """Send a form as a browser does from one of our own pages, but for what `headers` say."""
        usual = {
            "Origin": f"http://{host}", "Sec-Fetch-Site": "same-origin",
            "Content-Type": "application/x-www-form-urlencoded",
        }  # fmt: skip
        kept = {name: text for name, text in {**usual, **(headers or {})}.items() if text}
        return self.ask("/act", method="POST", headers=kept, host=host, body=urlencode(fields).encode())

    @contextmanager
    def stream(self, page: str, seen: str = "", last: str = "") -> Iterator["Stream"]:
        """Open a page's stream."""
        from urllib.parse import quote

        connection = self.connect()
        lines = [f"GET /stream?page={quote(page, safe='')}&seen={seen} HTTP/1.1", "Host: localhost"]
        lines += [f"Cookie: {self.cookie}"] if self.cookie else []
        lines += [f"Last-Event-ID: {last}"] if last else []
        connection.sendall("\r\n".join([*lines, "", ""]).encode())
        answer = http.client.HTTPResponse(connection)
        answer.begin()
        try:
            yield Stream(answer)
        finally:
            answer.close()
            connection.close()

    def close(self) -> None:
        """End the server; nothing when it has ended."""
        assert self.loop is not None
        with contextlib.suppress(RuntimeError):
            self.loop.call_soon_threadsafe(self.dashboard.pages.close)


@dataclass
class Stream:
    """An open stream of events."""

    answer: http.client.HTTPResponse

    def lines(self, until: str) -> list[str]:
        """Return the lines up to the first that begins with `until`, or all when the stream ends before."""
        found: list[str] = []
        while raw := self.answer.readline():
            found.append(raw.decode().rstrip("\n"))
            if found[-1].startswith(until):
                break
        return found

    def event(self) -> str:
        """Return the id of the next event."""
        lines = self.lines("data:")
        return next(line[4:] for line in reversed(lines) if line.startswith("id: "))


@contextmanager
def serving(opening: AbstractContextManager[Endpoint], cache: Path, watch: Told | None = None) -> Iterator[Served]:
    """Run a dashboard at a door in a thread until the block ends."""
    watch = watch or Told()
    with opening as door:
        served = Served(door, watch, Dashboard(watch, lambda: "Event", cache, writes=door.writes))
        ready = threading.Event()

        def begin() -> None:
            served.loop = asyncio.get_running_loop()
            ready.set()

        thread = threading.Thread(target=serve, args=(door, served.dashboard, begin, ()), daemon=True)
        thread.start()
        assert ready.wait(PATIENCE)
        try:
            yield served
        finally:
            served.close()
            thread.join(PATIENCE)
            assert not thread.is_alive()


@dataclass
class View:
    """A page that a test makes: how it is made can be slow or fail."""

    made: int = 0
    pause: float = 0.0
    error: Exception | None = None
    more: str = ""
    """What the page shows besides its runs."""
    running: int = 0
    most: int = 0
    lock: Any = field(default_factory=threading.Lock)

    def values(self, source: Catalog, key: str) -> dict[str, Any] | None:
        with self.lock:
            self.made, self.running = self.made + 1, self.running + 1
            self.most = max(self.most, self.running)
        try:
            time.sleep(self.pause)
            if self.error is not None:
                raise self.error
            if key == "gone":
                return None
            return {
                "heading": f"Runs {key}",
                "words": " ".join([*(f"run-{each.id}" for each in source.summaries), self.more]).strip() or "none",
            }
        finally:
            with self.lock:
                self.running -= 1


@contextmanager
def plain_view(monkeypatch: pytest.MonkeyPatch) -> Iterator[View]:
    """Put a page of the test in the place of Now and of a run's page."""
    view, module = View(), ModuleType("plain_view")
    module.values = view.values  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "plain_view", module)
    for kind in ("now", "run"):
        monkeypatch.setitem(views.VIEWS, kind, ("trouble.html.j2", "plain_view"))
    yield view
