"""Many who connect to a dashboard and ask nothing do not keep those out who ask; streams leave room for pages."""

import contextlib
import os
import resource
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hackathon.web.dashboard import crowd, server, uvicorn_server
from hackathon.web.dashboard.endpoint import port_door
from hackathon.web.dashboard.peers import peer_uid
from support.pages.dashboard import PATIENCE, Served, plain_view, serving

FEW_FILES = """
import pathlib, resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
import pytest
from hackathon.web.dashboard.endpoint import port_door
from support.pages.dashboard import plain_view, serving
with plain_view(pytest.MonkeyPatch()), serving(port_door("127.0.0.1", 0), pathlib.Path(sys.argv[1])) as made:
    made.enter()
    print(made.door.port, made.cookie, flush=True)
    sys.stdin.read()
"""
HALF = b"GET /en/now HTTP/1.1\r\nHost: local"


@pytest.fixture
def port(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Served]:
    """A dashboard that holds sixty connections, of which twenty may have asked nothing, for as long as a test takes."""
    with tempfile.TemporaryDirectory(prefix="hk-", dir="/tmp") as name:
        monkeypatch.setenv("XDG_RUNTIME_DIR", name)
        monkeypatch.setattr(crowd, "CONNECTIONS", 60)
        monkeypatch.setattr(uvicorn_server, "HALF_SAID", 1e5)
        monkeypatch.setattr(uvicorn_server, "IDLE", 100_000)
        with plain_view(monkeypatch), serving(port_door("127.0.0.1", 0), tmp_path) as made:
            made.enter()
            yield made


def is_open(connection: socket.socket) -> bool:
    connection.setblocking(False)
    try:
        return connection.recv(1) != b""
    except BlockingIOError:
        return True
    except ConnectionError:
        return False


def half_said(served: Served, stack: contextlib.ExitStack, number: int) -> list[socket.socket]:
    made = [stack.enter_context(served.connect()) for _ in range(number)]
    for each in made:
        with contextlib.suppress(ConnectionError):  # closed already
            each.sendall(HALF)
    return made


def test_connections_that_ask_nothing_leave_room_for_the_holder_of_the_cookie(port: Served) -> None:
    with contextlib.ExitStack() as stack, port.stream("/en/now") as stream:
        stream.event()
        kept = [stack.enter_context(port.connect()) for _ in range(20)]
        whole = f"GET /style.css HTTP/1.1\r\nHost: localhost\r\nCookie: {port.cookie}\r\n\r\n".encode()
        for each in kept:  # a browser's connections, between two requests
            each.sendall(whole)
            assert each.recv(12) == b"HTTP/1.1 200"
        half: list[socket.socket] = []
        for _ in range(5):
            half += half_said(port, stack, 50)
            assert [port.ask("/en/now").status for _ in range(4)] == [200] * 4
        assert sum(map(is_open, half)) <= 20
        assert all(map(is_open, kept))
        assert port.dashboard.pages.streams == 1


def test_one_account_s_connections_do_not_close_another_s(port: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    mine: set[int] = set()
    monkeypatch.setattr(crowd, "peer_uid", lambda connection: 64001 if connection.getpeername()[1] in mine else 64002)
    monkeypatch.setattr(crowd, "LOOK_AGAIN", 0.0)
    monkeypatch.setattr(crowd, "SHARE", 0)
    with contextlib.ExitStack() as stack:
        slow = half_said(port, stack, 2)
        mine.update(each.getsockname()[1] for each in slow)
        others = half_said(port, stack, 100)
        assert port.ask("/en/now").status == 200
        assert all(map(is_open, slow)), "the oldest, but not of those who have too many"
        assert sum(map(is_open, others)) <= 20


def test_whose_a_connection_is(tmp_path: Path) -> None:
    """The kernel says it over IPv4, IPv6, and IPv4 that comes to a socket of IPv6."""
    for family, address, to in ((socket.AF_INET, "127.0.0.1", "127.0.0.1"), (socket.AF_INET6, "::", "127.0.0.1"),
                                (socket.AF_INET6, "::1", "::1")):  # fmt: skip
        with socket.socket(family) as listener:
            try:
                if family == socket.AF_INET6:
                    listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
                listener.bind((address, 0))
            except OSError:
                continue  # no IPv6 here
            listener.listen()
            client = socket.create_connection((to, listener.getsockname()[1]))
            with client, listener.accept()[0] as connection:
                assert peer_uid(connection) == os.geteuid(), address


def test_no_more_is_held_than_files_may_be_open(monkeypatch: pytest.MonkeyPatch) -> None:
    for soft, held in ((resource.RLIM_INFINITY, 1000), (65536, 1000), (1024, 256)):
        monkeypatch.setattr(resource, "getrlimit", lambda which, soft=soft: (soft, soft))
        assert crowd.room() == held


@pytest.mark.slow
def test_connections_are_accepted_where_few_files_may_be_open(tmp_path: Path) -> None:
    told = tmp_path / "errors"
    with (
        tempfile.TemporaryDirectory(prefix="hk-", dir="/tmp") as name,
        told.open("w") as errors,
        contextlib.ExitStack() as stack,
    ):
        process = subprocess.Popen(
            [sys.executable, "-c", FEW_FILES, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=errors, text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "XDG_RUNTIME_DIR": name},
        )  # fmt: skip
        try:
            assert process.stdout is not None
            number, cookie = process.stdout.readline().split()
            ask = f"GET /en/now HTTP/1.1\r\nHost: localhost\r\nCookie: {cookie}\r\n\r\n".encode()
            for _ in range(400):
                each = stack.enter_context(socket.create_connection(("127.0.0.1", int(number)), PATIENCE))
                with contextlib.suppress(ConnectionError):
                    each.sendall(HALF)
            with socket.create_connection(("127.0.0.1", int(number)), PATIENCE) as mine:
                mine.sendall(ask)
                assert mine.recv(12) == b"HTTP/1.1 200"
        finally:
            process.communicate(timeout=PATIENCE)
    assert (process.returncode, told.read_text()) == (0, ""), "asyncio tells when nobody could be let in"


def test_streams_leave_room_for_pages(port: Served) -> None:
    with contextlib.ExitStack() as stack:
        for number in range(20):
            if number % 5 == 0:
                port.enter()  # another browser
            stack.enter_context(port.stream("/en/now")).event()
        port.enter()
        with port.stream("/en/now") as stream:
            assert (stream.answer.status, stream.answer.getheader("retry-after")) == (503, "5")
        assert port.ask("/en/now").status == 200
    end = time.monotonic() + PATIENCE
    while port.dashboard.pages.streams:
        assert time.monotonic() < end
        time.sleep(0.02)
    with port.stream("/en/now") as stream:
        stream.event()


def test_one_browser_leaves_streams_to_the_others(port: Served) -> None:
    """Who holds a cookie opens more and more streams: the others' pages stay live."""
    with contextlib.ExitStack() as stack:
        statuses = []
        for _ in range(30):
            each = stack.enter_context(port.stream("/en/now"))
            statuses.append(each.answer.status)
            if each.answer.status == 200:
                each.event()
        assert statuses == [200] * server.PAGES + [429] * (30 - server.PAGES)
        refused = port.ask("/stream?page=%2Fja%2Fnow")
        assert (refused.status, refused.headers["retry-after"]) == (429, "5") and "ブラウザー" in refused.body
        assert port.ask("/en/now").status == 200
        mine = port.cookie
        port.enter()
        assert port.cookie != mine
        with port.stream("/en/now") as other:
            assert other.answer.status == 200
            other.event()
        port.cookie = mine
    end = time.monotonic() + PATIENCE
    while port.dashboard.pages.streams:
        assert time.monotonic() < end
        time.sleep(0.02)
    assert not port.dashboard._streams
    with port.stream("/en/now") as again:
        again.event()


def test_a_cookie_cannot_be_made_up(port: Served) -> None:
    name, _, value = port.cookie.partition("=")
    browser, _, signature = value.partition(".")
    for forged in (f"{browser}x.{signature}", f"{browser}.", f".{signature}", browser, f"{'0' * 16}.{signature}"):
        port.cookie = f"{name}={forged}"
        assert port.ask("/en/now").status == 403, forged
