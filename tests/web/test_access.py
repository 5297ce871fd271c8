"""What a dashboard answers to whom: token, Host, methods, headers, paths; its socket and its folder."""

import contextlib
import os
import socket
import stat
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hackathon.text.errors import HackathonError, RequestError
from hackathon.web.dashboard import endpoint as door
from hackathon.web.dashboard import peers
from hackathon.web.dashboard import uvicorn_server as patience
from hackathon.web.dashboard.access import Access
from hackathon.web.dashboard.endpoint import Endpoint, default_socket, own_folder, port_door, socket_door
from hackathon.web.dashboard.peers import peer_uid
from support.pages.dashboard import Served, plain_view, serving
from support.patience import until

HEADERS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "cross-origin-resource-policy": "same-origin",
}


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A short folder of this user's own, as $XDG_RUNTIME_DIR is."""
    with tempfile.TemporaryDirectory(prefix="hk-", dir="/tmp") as name:
        monkeypatch.setenv("XDG_RUNTIME_DIR", name)
        yield Path(name)


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, Served]]:
    """A dashboard on a port and one on a socket, for all tests that leave them as they are."""
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory(prefix="hk-", dir="/tmp") as name:
        patch.setenv("XDG_RUNTIME_DIR", name)
        patch.setattr("hackathon.web.dashboard.uvicorn_server.IDLE", 2)
        cache = tmp_path_factory.mktemp("cache")
        with (
            plain_view(patch),
            serving(port_door("127.0.0.1", 0), cache) as port,
            serving(socket_door(default_socket("what")), cache) as closed,
        ):
            yield port, closed


@pytest.fixture
def port(both: tuple[Served, Served]) -> Served:
    return replace(both[0])  # with a cookie of its own


@pytest.fixture
def closed(both: tuple[Served, Served]) -> Served:
    return both[1]


def test_a_port_opens_with_its_token_only(port: Served) -> None:
    file = port.door.token_file
    assert file is not None
    assert len(port.door.token) == 32
    assert file.read_text().strip() == port.door.token
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    old = "0" * 32
    wrong = [
        "/", "/en/now", "/style.css", "/stream?page=%2Fen%2Fnow", "/enter", "/enter?token=", f"/enter?token={old}",
        f"/enter?token={port.door.token[:-1]}", f"/enter?token={port.door.token}0", "/enter?token=%F0%9F%94%91",
        f"/enter?token={port.door.token}&token={port.door.token}", f"/en/now?token={port.door.token}",
    ]  # fmt: skip
    for path in wrong:
        answer = port.ask(path)
        assert (answer.status, answer.cookies) == (403, []), path
        assert "none" not in answer.body
    answer = port.ask(f"/enter?token={port.door.token}")
    assert (answer.status, answer.headers["location"], answer.body) == (303, "/", "")
    name, _, rest = answer.cookies[0].partition("=")
    assert name.startswith("hackathon-")
    assert rest.endswith("; Path=/; HttpOnly; SameSite=Lax")
    assert port.door.token not in answer.cookies[0]
    value = rest.partition(";")[0]
    bad = [
        f"{name}=", f"{name}={old}", f"{name}={port.door.token}", f"hackathon-00000000={value}", f"x{name}={value}",
        f"{name}={value}x", '"', "\x80=;=;",
    ]  # fmt: skip
    for cookie in bad:
        port.cookie = cookie
        assert port.ask("/en/now").status == 403, cookie
    # cookies of other programs on the same host name, in forms that are none of RFC 6265's
    for other in ('theme={"a":1}', "flag", "path=/x", "\x80", "", f"{name}=old"):
        port.cookie = f"{other}; {name}={value}"
        assert port.ask("/en/now").status == 200, other
    port.cookie = f"other=1; {name}={value}"
    answer = port.ask("/en/now")
    assert answer.status == 200
    assert "none" in answer.body
    assert port.door.token not in answer.body


def test_the_token_of_a_dashboard_before_opens_nothing(folder: Path, tmp_path: Path) -> None:
    with serving(port_door("127.0.0.1", 0), tmp_path) as before:
        before.enter()
        token, cookie, file = before.door.token, before.cookie, before.door.token_file
    assert file is not None
    assert not file.exists()
    with serving(port_door("127.0.0.1", 0), tmp_path) as after:
        assert after.door.token != token
        assert after.ask(f"/enter?token={token}").status == 403
        after.cookie = cookie
        assert after.ask("/en/teams").status == 403


def test_two_dashboards_have_cookies_of_different_names() -> None:
    gates = [Access(lambda *_: None, Endpoint(socket.socket(), port=1, token="0" * 32)) for _ in range(2)]  # type: ignore[arg-type, return-value]
    assert gates[0].cookie != gates[1].cookie
    for gate in gates:
        assert gate.session != gate.token


@pytest.mark.parametrize(
    "host", ["localhost", "localhost:8000", "LOCALHOST:1", "127.0.0.1:9999", "[::1]:8000", "[::1]"]
)
def test_this_machine_by_any_port_is_answered(closed: Served, host: str) -> None:
    assert closed.ask("/en/now", host=host).status == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example", "evil.example:8000", "localhost.evil.example", "127.0.0.1.evil.example", "127.0.0.2", "0.0.0.0",
        "localhost:80:80", "localhost:", "localhost@evil.example", "[::2]", "", "localhost,evil.example", "2130706433",
        "localhost/", "localhost.",
    ],
)  # fmt: skip
def test_a_foreign_host_is_refused(closed: Served, port: Served, host: str) -> None:
    """A name that somebody made lead to 127.0.0.1 (DNS rebinding) is not ours, even with the cookie."""
    port.enter()
    for served in (closed, port):
        answer = served.ask("/en/now", host=host)
        assert answer.status in (400, 421), host
        assert "none" not in answer.body
    assert port.ask(f"/enter?token={port.door.token}", host=host).cookies == []


def test_two_hosts_and_none_are_refused(closed: Served) -> None:
    assert closed.ask("/en/now", headers={"host": "localhost"}).status in (400, 421)
    assert closed.ask("/en/now", host=None).status in (400, 421)
    answer = closed.ask("/en/now", host="evil.example", headers={"X-Forwarded-Host": "localhost"})
    assert answer.status == 421


def test_an_address_in_numbers_will_do_where_all_addresses_are_served(folder: Path) -> None:
    listener = socket.socket()
    gate = Access(lambda *_: None, Endpoint(listener, address="0.0.0.0", port=1, token="x"))  # type: ignore[arg-type, return-value]
    known = {name: gate.known_host([name.encode()]) for name in ("10.1.2.3:80", "[fe80::1]", "evil.example", "10.1.2")}
    assert known == {"10.1.2.3:80": True, "[fe80::1]": True, "evil.example": False, "10.1.2": False}
    assert gate.known_host([os.uname().nodename.encode()])
    one = Access(lambda *_: None, Endpoint(listener, address="10.1.2.3", port=1, token="x"))  # type: ignore[arg-type, return-value]
    assert one.known_host([b"10.1.2.3:80"])
    assert not one.known_host([b"10.1.2.4:80"])
    listener.close()


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "FOO", "get"])
def test_other_methods_are_refused(closed: Served, method: str) -> None:
    for path in ("/en/now", "/stream?page=/en/now", "/style.css", "/enter"):
        answer = closed.ask(path, method=method)
        assert answer.status == 405, (method, path)
        assert answer.headers["allow"] == "GET, HEAD"


def test_head_gives_headers_only(closed: Served) -> None:
    for path in ("/en/now", "/live.js", "/stream?page=/en/now"):
        answer = closed.ask(path, method="HEAD")
        assert (answer.status, answer.body) == (200, "")


def test_every_answer_carries_the_headers(port: Served) -> None:
    answers = [port.ask("/en/now"), port.ask("/en/now", method="POST"), port.ask("/", host="evil.example")]
    answers.append(port.ask(f"/enter?token={port.door.token}"))
    port.enter()
    answers += [port.ask(path) for path in ("/", "/en/now", "/nothing", "/en/run?key=gone", "/favicon.ico")]
    assert [answer.status for answer in answers] == [403, 405, 421, 303, 303, 200, 404, 404, 204]
    for answer in answers:
        assert {name: answer.headers.get(name) for name in HEADERS} == HEADERS
        policy = answer.headers["content-security-policy"]
        assert "unsafe" not in policy
        for rule in ("default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "form-action 'self'"):
            assert rule in policy
        assert "access-control-allow-origin" not in answer.headers
        assert "uvicorn" not in answer.headers.get("server", "")
    file = port.ask("/style.css")
    assert {**HEADERS, "cache-control": "private, max-age=3600"}.items() <= file.headers.items()


@pytest.mark.parametrize(
    "path",
    [
        "/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "//etc/passwd", "/..%2f..%2fetc%2fpasswd",
        "/en/../../etc/passwd", "/vega.js/..",
        "/style.css/../now.html.j2", "/layout.html.j2", "/./style.css", "//style.css", "/%00", "/en/now%00", "/en/now/",
        "/en//now", "/fr/now", "/en/file", "/en/home", "/EN/now", "/en/now/x", "/en/run", "/en/run?key=",
        "/en/now?key=x", "/%c0%ae%c0%ae/etc/passwd", "/\\..\\..\\etc\\passwd", f"/en/run?key={'x' * 5000}",
        "/stream", "/stream?page=", "/stream?page=//evil.example/", "/stream?page=/style.css", "/stream?page=/../x",
    ],
)  # fmt: skip
def test_what_is_no_address_is_not_found(closed: Served, path: str) -> None:
    answer = closed.ask(path)
    assert answer.status in (400, 404), path
    assert "root:" not in answer.body
    assert "{%" not in answer.body
    assert "/tmp" not in answer.body


def test_the_socket_and_its_folder_are_the_user_s_alone(closed: Served) -> None:
    path = closed.door.path
    assert path is not None
    assert path.parent.name == "hackathon"
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE(path.lstat().st_mode) == 0o600
    assert len(os.fsencode(path)) <= door.LONGEST_PATH


def test_a_process_of_another_user_is_not_accepted(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even where file and folder let it in: the kernel tells whose it is."""
    ours, theirs = socket.socketpair(socket.AF_UNIX)
    assert peer_uid(ours) == os.geteuid()
    ours.close()
    theirs.close()
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
        connection = server.accept()[0]
        assert peer_uid(connection) == os.geteuid()
        client.close()
        assert peer_uid(connection) == peers.NOBODY
        connection.close()
    with plain_view(monkeypatch), serving(socket_door(folder / "closed" / "x.sock"), tmp_path) as served:
        assert served.ask("/en/now").status == 200
        monkeypatch.setattr(peers, "peer_uid", lambda connection: 12345)
        for _ in range(3):
            with pytest.raises((ConnectionError, OSError)):
                served.ask("/en/now")
        monkeypatch.setattr(peers, "peer_uid", lambda connection: os.geteuid())
        assert served.ask("/en/now").status == 200


def test_the_socket_is_gone_at_the_end_and_a_dead_one_is_replaced(folder: Path, tmp_path: Path) -> None:
    path = default_socket("what")
    dead = socket.socket(socket.AF_UNIX)
    dead.bind(str(path))
    dead.close()
    assert path.is_socket()
    with serving(socket_door(path), tmp_path) as served:
        assert served.ask("/nothing").status == 404
    assert not path.exists()


def test_a_second_dashboard_says_that_one_is_running(folder: Path, tmp_path: Path) -> None:
    path = default_socket("what")
    with serving(socket_door(path), tmp_path) as served:
        with pytest.raises(RequestError) as caught, socket_door(path):
            pass
        assert caught.value.id == "dashboard.running"
        assert str(path) in str(caught.value.hint)
        # also when its lock is not seen: a file system without locks
        with pytest.raises(RequestError) as caught:
            door._remove_stale(path)
        assert caught.value.id == "dashboard.running"
        assert served.ask("/nothing").status == 404


def test_what_is_no_socket_of_ours_is_left_alone(folder: Path) -> None:
    path = default_socket("what")
    path.write_text("precious")
    with pytest.raises(RequestError) as caught, socket_door(path):
        pass
    assert caught.value.id == "dashboard.no_socket_there"
    assert path.read_text() == "precious"
    path.unlink()
    target = folder / "target"
    target.write_text("precious")
    path.symlink_to(target)
    with pytest.raises(RequestError), socket_door(path):
        pass
    assert target.read_text() == "precious"


def test_an_open_or_foreign_folder_is_refused(folder: Path) -> None:
    mine = folder / "hackathon"
    mine.mkdir(mode=0o755)
    with pytest.raises(RequestError) as caught:
        own_folder()
    assert caught.value.id == "dashboard.folder_open"
    assert "chmod 700" in str(caught.value.hint)
    mine.rmdir()
    (folder / "elsewhere").mkdir(mode=0o700)
    mine.symlink_to(folder / "elsewhere")
    with pytest.raises(RequestError) as caught:
        own_folder()
    assert caught.value.id == "dashboard.folder_foreign"
    mine.unlink()
    mine.write_text("")
    with pytest.raises(RequestError):
        own_folder()


def test_a_long_path_is_refused_and_a_long_runtime_folder_passed_over(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(RequestError) as caught, socket_door(folder / ("x" * 100)):
        pass
    assert caught.value.id == "dashboard.path_long"
    deep = folder / ("y" * 90)
    deep.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(deep))
    monkeypatch.setattr("hackathon.access.private.TEMPORARY", folder)
    assert own_folder() == folder / f"hackathon-{os.geteuid()}"
    for value in ("", "relative", str(folder / "missing")):
        monkeypatch.setenv("XDG_RUNTIME_DIR", value)
        assert own_folder() == folder / f"hackathon-{os.geteuid()}"


def test_the_longest_path_that_the_kernel_takes_is_taken(folder: Path) -> None:
    inside = folder / "in"
    path = inside / ("z" * (door.LONGEST_PATH - len(os.fsencode(inside)) - 1))
    with socket_door(path) as opened:
        assert opened.path == path
        assert path.is_socket()


def test_a_taken_port_is_told(folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        number = taken.getsockname()[1]
        with pytest.raises(HackathonError) as caught, port_door("127.0.0.1", number):
            pass
    assert caught.value.id == "dashboard.no_port"
    assert str(number) in str(caught.value)
    with pytest.raises(HackathonError), port_door("192.0.2.1", 0):
        pass


def test_connections_that_ask_nothing_are_closed(port: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half-said ones only: who asks has time, however slow this machine is."""
    monkeypatch.setattr(patience, "HALF_SAID", 1e5)
    port.enter()
    begun = (b"", b"GET /en/now HTTP/1.1\r\nHost: local", b"GET /en/now HTTP/1.1\r\nHost: localhost\r\nX: ")
    whole = f"GET /en/now HTTP/1.1\r\nHost: localhost\r\nCookie: {port.cookie}\r\n\r\n".encode()
    come: list[patience.PatientProtocol] = []
    made = patience.PatientProtocol.connection_made

    def look(self: patience.PatientProtocol, transport: Any) -> None:
        made(self, transport)
        come.append(self)

    with port.stream("/en/now") as stream:
        stream.event()
        monkeypatch.setattr(patience.PatientProtocol, "connection_made", look)
        monkeypatch.setattr(patience, "HALF_SAID", 0.5)
        half = [port.connect() for _ in range(30)]
        until(lambda: len(come) == 30)
        monkeypatch.setattr(patience, "HALF_SAID", 1e5)
        for number, connection in enumerate(half):
            with contextlib.suppress(ConnectionError):  # closed already, before it said a word
                connection.sendall(begun[number % 3] if number % 5 else whole + begun[1])
        assert port.ask("/en/now").status == 200
        for connection in half:
            with contextlib.suppress(ConnectionError):  # closed before what it said was read
                while connection.recv(65536):  # a limit of its own ends the test where nobody ends the connection
                    pass
            connection.close()
        assert port.dashboard.pages.streams == 1, "a stream asked for something"


def test_a_stranger_s_connection_ends_with_the_answer(port: Served) -> None:
    for line in ("GET /en/now", "POST /en/now", "GET /enter?token=0"):
        with port.connect() as connection:
            connection.sendall(f"{line} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n".encode())
            answer = b""
            while more := connection.recv(65536):
                answer += more
            assert answer.startswith((b"HTTP/1.1 403", b"HTTP/1.1 405"))
