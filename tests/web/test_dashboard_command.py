"""`hackathon dashboard` as a process of its own over real run directories: what it prints, shows, says at its end."""

import contextlib
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from hackathon.cli.dashboard import _tell, event_and_folders
from hackathon.cli.main import run
from hackathon.text.errors import RequestError
from hackathon.web.dashboard.endpoint import Endpoint
from support.patience import STRETCH
from support.samples.event import write_event

PATIENCE = STRETCH * 120.0
USING_UVICORN = [f"hackathon.web.dashboard.{name}" for name in ("server", "uvicorn_server", "timeouts")]
"""What `dashboard` loads that needs uvicorn: other tests of this process may have loaded it before."""


@dataclass
class Running:
    """A dashboard's process and what it printed."""

    process: "subprocess.Popen[str]"
    lines: list[str]

    @property
    def path(self) -> str:
        return next(found[1] for line in self.lines if (found := re.search(r"ssh -L 8000:(\S+) ", line)))

    def connect(self) -> socket.socket:
        made = socket.socket(socket.AF_UNIX)
        made.settimeout(PATIENCE)
        made.connect(self.path)
        return made

    def ask(self, address: str) -> str:
        with self.connect() as connection:
            connection.sendall(f"GET {address} HTTP/1.1\r\nHost: localhost:8000\r\nConnection: close\r\n\r\n".encode())
            answer = http.client.HTTPResponse(connection)
            answer.begin()
            body = answer.read().decode()
            assert answer.status == 200, (address, body)
            return body

    def end(self, how: signal.Signals = signal.SIGINT) -> tuple[int, str]:
        """End it and return its exit code and what it wrote to stderr."""
        self.process.send_signal(how)
        _, error = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, error


@pytest.fixture
def settings(warm_cache: Path) -> Iterator[dict[str, str]]:
    with tempfile.TemporaryDirectory(prefix="hk-", dir="/tmp") as runtime:
        cache = {"XDG_CACHE_HOME": str(warm_cache)}
        yield {**os.environ, **cache, "XDG_RUNTIME_DIR": runtime, "HACKATHON_LANG": "en"}


@contextlib.contextmanager
def dashboard(settings: dict[str, str], *words: str, cwd: Path | None = None) -> Iterator[Running]:
    command = [sys.executable, "-m", "hackathon", "dashboard", "--no-ask", *words]
    with subprocess.Popen(
        command, env=settings, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
        text=True, start_new_session=True,
    ) as process:  # fmt: skip
        lines: list[str] = []
        try:
            assert process.stdout is not None
            assert process.stderr is not None
            for line in process.stdout:
                lines.append(line.rstrip("\n"))
                if "Ctrl-C" in line:
                    break
            assert lines, process.stderr.read()
            yield Running(process, lines)
        finally:
            process.kill()


@pytest.fixture(scope="module")
def event(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_event(tmp_path_factory.mktemp("event") / "e", teams=2)


def test_it_says_how_to_reach_it_and_shows_the_event(event: Path, settings: dict[str, str]) -> None:
    (event / "aurora" / "below").mkdir(exist_ok=True)
    with dashboard(settings, cwd=event / "aurora" / "below") as running:  # the event is found from inside
        assert running.lines[0] == "The dashboard of Deep-learning hackathon 2026 is running. On your own computer, run"
        host = os.uname().nodename
        assert re.fullmatch(rf"  ssh -L 8000:\S+\.sock \S+@{re.escape(host)}\S*", running.lines[1])
        assert running.lines[3] == "  http://localhost:8000/"
        page = running.ask("/en/now")
        for team in ("aurora", "ブリザード"):
            assert team in page
            assert team in running.ask("/ja/teams")
        assert ends_at_once_with_streams_open(running, signal.SIGINT)
        assert not Path(running.path).exists()


@pytest.mark.slow
def test_a_run_that_fails_comes_up_by_itself(tmp_path: Path, settings: dict[str, str]) -> None:
    """Done when 3, without a scheduler: the stream tells, and the page names the failure's part."""
    event = write_event(tmp_path / "e", teams=1)
    runs = event / "aurora" / "train" / "runs"
    going = next(each for each in sorted(runs.glob("*-single-8p-*")) if not (each / "final.json").exists())
    with dashboard(settings, str(event)) as running, running.connect() as connection:
        seen = running.ask("/en/now").partition("live.js?seen=")[2].partition('"')[0]
        assert going.name not in help_part(running.ask("/en/now"))
        connection.sendall(f"GET /stream?page=/en/now&seen={seen} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        answer = http.client.HTTPResponse(connection)
        answer.begin()
        before = sorted(str(each) for each in going.rglob("*"))
        (going / "logs" / "rank-1.log").write_text("ModuleNotFoundError: No module named 'horovod'\n")
        ended = {"t": time.time(), "event": "ended", "attempt": 1, "host": "a017", "exit_code": 1, "signal": None}
        with (going / "events" / "job.jsonl").open("a") as stream:
            stream.write(json.dumps(ended) + "\n")
        end = time.monotonic() + PATIENCE
        while "horovod" not in help_part(running.ask("/en/now")) or going.name not in help_part(running.ask("/en/now")):
            assert time.monotonic() < end
            while not answer.readline().startswith(b"event: changed"):  # waits until the server tells
                pass
        assert sorted(str(each) for each in going.rglob("*")) == before  # nothing was written there
        answer.close()
        assert running.end()[0] == 0


def help_part(page: str) -> str:
    """Return the part of Now that names who needs help, without the runs that are well or that can be attached."""
    found = re.search(r'<ol class="help">.*?</ol>', page, re.DOTALL)
    return re.sub(r"<select.*?</select>", "", found[0], flags=re.DOTALL) if found else ""


def ends_at_once_with_streams_open(running: Running, how: signal.Signals) -> bool:
    with contextlib.ExitStack() as stack:
        for _ in range(10):
            connection = stack.enter_context(running.connect())
            connection.sendall(b"GET /stream?page=/en/now HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert connection.recv(1000).startswith(b"HTTP/1.1 200")
        return running.end(how) == (0, "The dashboard has stopped.\n")


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGHUP])
def test_it_ends_at_once_by_any_signal(event: Path, settings: dict[str, str], how: signal.Signals) -> None:
    with dashboard(settings, str(event)) as running:
        running.ask("/en/now")
        assert ends_at_once_with_streams_open(running, how)


@pytest.mark.slow
def test_a_second_one_says_where_the_first_is_until_that_is_killed(event: Path, settings: dict[str, str]) -> None:
    with dashboard(settings, str(event)) as running:
        command = [sys.executable, "-m", "hackathon", "dashboard", str(event)]
        second = subprocess.run(command, env=settings, capture_output=True, text=True, timeout=PATIENCE, check=False)
        assert (second.returncode, second.stdout) == (2, "")
        assert f"a dashboard is already running at {running.path}\n" in second.stderr
        assert f"ssh -L 8000:{running.path}" in second.stderr
        with dashboard(settings, str(event), "--team", "aurora") as other:  # another view is another dashboard
            assert other.path != running.path
            page = other.ask("/en/teams")
            assert "aurora" in page
            assert "ブリザード" not in page
        running.ask("/en/now")
        running.process.kill()
        running.process.wait(PATIENCE)
        assert Path(running.path).exists()
        with dashboard(settings, str(event)) as again:
            assert again.path == running.path
            again.ask("/en/now")


@pytest.mark.slow
def test_it_ends_when_its_socket_is_gone(event: Path, settings: dict[str, str]) -> None:
    """The folder of a session goes when the user logs out, though the process may go on in a terminal multiplexer."""
    with dashboard(settings, str(event)) as running:
        Path(running.path).unlink()
        _, error = running.process.communicate(timeout=PATIENCE)
        assert running.process.returncode == 1
        assert f"{running.path} was deleted" in error
        assert "--socket" in error
        assert "Traceback" not in error


@pytest.mark.slow
def test_a_port_comes_with_its_key(event: Path, settings: dict[str, str]) -> None:
    settings["HACKATHON_LANG"] = "ja"
    with dashboard(settings, str(event), "--port", "0", "--title", "看板\x1b[2J") as running:
        text = "\n".join(running.lines)
        assert text.startswith("看板")
        assert "\x1b" not in text
        found = re.search(
            r"ssh -L (\d+):127\.0\.0\.1:\1 \S+\n.*\n  http://hackathon-\w+\.localhost:\1/enter\?token=([0-9a-f]{32})\n",
            text,
        )
        assert found, text
        words = Path(f"/proc/{running.process.pid}/cmdline").read_bytes()
        assert found[2].encode() not in words
        with socket.create_connection(("127.0.0.1", int(found[1])), PATIENCE) as connection:
            connection.sendall(b"GET /ja/now HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert connection.recv(100).startswith(b"HTTP/1.1 403")
        code, error = running.end()
        assert (code, error) == (0, "ダッシュボードを終了しました。\n")


@pytest.mark.slow
def test_an_address_that_others_reach_needs_a_flag_and_warns(event: Path, settings: dict[str, str]) -> None:
    with dashboard(settings, str(event), "--bind", "0.0.0.0") as running:
        assert re.search(rf"http://{re.escape(os.uname().nodename)}\S*:\d+/enter\?token=", "\n".join(running.lines))
        _, error = running.end()
    assert "can be reached from other machines" in error
    assert "not encrypted" in error


@pytest.mark.parametrize(
    ("address", "forward"),
    [
        ("::1", r"8123:\[::1\]:8123"),
        ("127.0.0.1", r"8123:127\.0\.0\.1:8123"),
        ("127.0.0.2", r"8123:127\.0\.0\.2:8123"),
        ("::", None),
        ("10.1.2.3", None),
        ("2001:db8::7", None),
    ],
)
def test_only_addresses_that_others_reach_are_warned_of(
    address: str, forward: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.socket() as listener:
        name = "hackathon-0a1b.localhost" if forward else ""
        _tell(Endpoint(listener, address=address, port=8123, token="0" * 32, name=name), "Event")
    told = capsys.readouterr()
    words = re.search(r"ssh -L (\S+) ", told.out)
    if forward is None:
        assert words is None and "can be reached from other machines" in told.err
    else:
        assert words and re.fullmatch(forward, words[1].strip("'")) and told.err == ""
        assert "  http://hackathon-0a1b.localhost:8123/enter?token=" in told.out and "write localhost" in told.out


def test_what_is_shown(event: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(event)
    assert event_and_folders(()) == (event, [])
    monkeypatch.chdir(tmp_path)
    assert event_and_folders(()) == (None, [tmp_path])
    (tmp_path / "project.yaml").write_text("name: p\n")
    (tmp_path / "inside").mkdir()
    monkeypatch.chdir(tmp_path / "inside")
    assert event_and_folders(()) == (None, [tmp_path])
    assert event_and_folders((event, tmp_path, event)) == (event, [tmp_path])
    assert event_and_folders((event / "aurora",)) == (None, [event / "aurora"])
    (tmp_path / "hackathon.yaml").write_text("title: x\n")
    with pytest.raises(RequestError) as caught:
        event_and_folders((event, tmp_path))
    assert caught.value.id == "dashboard.two_events"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--team", "nobody"], "there is no team nobody in this event"),
        (["--socket", "/tmp/x/y", "--port", "1"], "cannot be combined"),
        (["--port", "70000"], "70000"),
        (["/does/not/exist"], "/does/not/exist"),
    ],
)
def test_requests_that_can_not_be(
    event: Path, words: list[str], said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(event)
    assert run(["dashboard", *words]) == 2
    assert said in capsys.readouterr().err


def test_a_team_needs_an_event(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["dashboard", "--team", "aurora"]) == 2
    assert "--team needs an event" in capsys.readouterr().err


def test_without_the_packages_it_says_how_to_get_them(
    event: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "uvicorn" or name in USING_UVICORN]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert run(["dashboard", str(event)]) == 2
    error = capsys.readouterr().err
    assert "packages that are not installed: uvicorn" in error
    assert "pip install starlette uvicorn" in error


def test_its_help_names_every_option(settings: dict[str, str]) -> None:
    from hackathon.cli.dashboard import command

    for language in ("en", "ja"):
        environment: dict[str, Any] = {**settings, "HACKATHON_LANG": language}
        words = [sys.executable, "-m", "hackathon", "dashboard", "--help"]
        out = subprocess.run(words, env=environment, capture_output=True, text=True, check=True).stdout
        for parameter in command.params:
            for option in parameter.opts:
                assert option in out or not option.startswith("-"), option
    assert CliRunner().invoke(command, ["--nonsense"]).exit_code == 2


def test_forms_on_a_port_are_asked_for_and_stay_on_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for address in ("0.0.0.0", "10.1.2.3", "::"):
        assert run(["dashboard", "--write", "--port", "0", "--bind", address]) == 2
        assert "--write cannot be combined with --bind" in capsys.readouterr().err
