"""Notifications against a real HTTP server: what is sent, when, how often, and what never leaves."""

import io
import itertools
import json
import os
import re
import stat
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hackathon.access.permissions import user_name
from hackathon.board.board import Board, find_post, open_board, reply
from hackathon.board.directory import make_place
from hackathon.board.people import People
from hackathon.board.post import finding_of, post
from hackathon.cli.main import run as command
from hackathon.config.event import Event, Member, Team
from hackathon.notify import webhook
from hackathon.notify.notify import APART, BACK_OFF, FEW, Relay, messages_of
from hackathon.notify.outbox import ABANDONED, FORGOTTEN, OLDEST, Sent, gather
from hackathon.notify.webhook import DEAD, LATER, LONGEST_TEXT, REFUSED, SENT
from hackathon.runs.directory import RunDirectory, new_run_id
from hackathon.text import uptime
from hackathon.text.errors import RequestError
from hackathon.text.messages import speaking

ME = user_name(os.geteuid())
RULE = """rules:
- id: whale
  part: nccl
  level: root
  title: {en: a whale ate the link, ja: クジラが回線を食べた}
  advice: {en: feed the whale, ja: クジラに餌をやる}
  patterns: [{text: link was eaten by a whale}]
"""


class Chat(ThreadingHTTPServer):
    """A chat server: remembers what it gets, and answers as it is told; without an order, 200."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.got: list[tuple[str, dict[str, str], Any]] = []
        self.orders: list[tuple[int, dict[str, str]]] = []
        self.silent = threading.Event()
        self.let_go = threading.Event()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/services/T000/B000/verysecret"

    @property
    def texts(self) -> list[str]:
        return [str(value["text"]) for _, _, value in self.got]


class _Handler(BaseHTTPRequestHandler):
    server: Chat

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers["Content-Length"]))
        if self.server.silent.is_set():
            self.server.let_go.wait(60)
            return
        self.server.got.append((self.path, dict(self.headers), json.loads(raw)))
        status, headers = self.server.orders.pop(0) if self.server.orders else (200, {})
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(b"ok")

    do_GET = do_POST

    def log_message(self, *words: object) -> None:
        """Say nothing."""


@pytest.fixture
def chat(monkeypatch: pytest.MonkeyPatch) -> Iterator[Chat]:
    """A chat server in a thread."""
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    server = Chat()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.let_go.set()
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def project(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a rule of its own, and a board; the checked shipped rules are kept from test to test."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache-of-notify"))
    folder = tmp_path / "project"
    (folder / "templates" / "rules").mkdir(parents=True)
    (folder / "templates" / "rules" / "own.yaml").write_text(RULE)
    (folder / "project.yaml").write_text("name: own\ncommand: python train.py\n")
    make_place(tmp_path / "event", "sticky")
    monkeypatch.setenv("HACKATHON_SHARED", str(tmp_path / "event"))
    monkeypatch.chdir(folder)
    return folder


@dataclass
class Clock:
    """A clock that only sleeping moves."""

    now: float = field(default_factory=time.time)
    slept: list[float] = field(default_factory=list)

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


def ended_run(
    project: Path, state: str = "SUCCEEDED", line: str = "link was eaten by a whale", ago: float = 5.0
) -> str:
    """Make the directory of a run that is over, and return its id."""
    path = project / "runs" / new_run_id("own", 2)
    (path / "logs").mkdir(parents=True)
    (path / "client").mkdir()
    (path / "request.json").write_text(json.dumps({"name": "own", "processes": 2, "scheduler": "local"}))
    (path / "logs" / "rank-1.log").write_text(f"epoch 1\n{line}\n" if state == "FAILED" else "epoch 1\n")
    final = {"state": state, "cause": "exit" if state == "FAILED" else "", "exit_code": 1 if state == "FAILED" else 0}
    (path / "final.json").write_text(json.dumps({**final, "t_ended": time.time() - ago, "job_id": "7", "attempt": 1}))
    return path.name


def relay(chat: Chat, project: Path, clock: Clock | None = None, **more: Any) -> Any:
    """Run one pass of a relay that was just started."""
    clock = clock or Clock()
    pages = more.pop("pages", "")
    sender = Relay(chat.address, Sent(webhook.folder()), clock=clock, sleep=clock.sleep, pages=pages)
    return sender.run_once(_runs(project), more.pop("board", None), since=more.pop("since", 0.0), **more)


def _runs(project: Path) -> list[RunDirectory]:
    return [RunDirectory(path) for path in sorted((project / "runs").glob("*"))]


# ---- what is sent


def test_a_failed_run_is_told_with_its_part(chat: Chat, project: Path) -> None:
    name = ended_run(project, "FAILED")
    assert relay(chat, project).sent == [f"run:{name}"]
    ((path, headers, value),) = chat.got
    assert path == "/services/T000/B000/verysecret"
    assert headers["Content-Type"].startswith("application/json")
    assert set(value) == {"text", "unfurl_links", "unfurl_media"}
    first, where, line, advice = value["text"].split("\n")
    assert first == f"✗ {ME}: run {name} failed (FAILED): [nccl] a whale ate the link"
    assert where.startswith("logs/rank-1.log:2 rank 1")
    assert line == "`link was eaten by a whale`"
    assert advice == "feed the whale"


def test_a_run_is_told_with_person_and_team(project: Path) -> None:
    name = ended_run(project)
    team = Team("Aurora <!here>", members=[Member(ME, name="Ada Lovelace")])
    ((_, text),) = messages_of(gather(Sent(project), _runs(project), None, since=0.0), People(Event("E", teams=[team])))
    assert text == f"✓ Ada Lovelace ({ME}), Aurora ‹!here›: run {name} has finished"


def test_an_ended_run_a_request_and_a_solution_are_told(chat: Chat, project: Path) -> None:
    name = ended_run(project)
    board = open_board()
    asked = post(board, "it hangs\nafter an epoch", kind="ask").entry.id
    solved = post(board, "NaN <!here>", part="numerics").entry.id
    reply(board, find_post(open_board(), solved), "solve", "smaller rate")
    passed = relay(chat, project, board=open_board())
    assert set(passed.sent) == {f"run:{name}", f"asked:{asked}", f"solved:{solved}"}
    ended, request, solution = chat.texts
    assert ended == f"✓ {ME}: run {name} has finished"
    assert "asks for help: it hangs" in request
    assert f"hackathon ask take {asked[-8:]}" in request
    assert "after an epoch" in request
    assert solution.startswith("✓ [numerics] NaN ‹!here›: marked as solved by ")
    assert "smaller rate" in solution
    with speaking("ja"):
        (_, text), *_ = messages_of(gather(Sent(project), _runs(project), None, since=0.0))
    assert text == f"✓ {ME}: 実行 {name} が終わりました"


def test_only_some_kinds_and_only_what_is_new(chat: Chat, project: Path) -> None:
    ended_run(project)
    failed = ended_run(project, "FAILED")
    ended_run(project, "FAILED", ago=OLDEST + 60)
    ended_run(project, "FAILED", ago=600)
    assert relay(chat, project, kinds=["run-failed"], since=time.time() - 300).sent == [f"run:{failed}"]
    assert len(chat.got) == 1


def test_a_run_that_goes_on_is_not_told(chat: Chat, project: Path) -> None:
    name = ended_run(project)
    (project / "runs" / name / "final.json").unlink()
    assert relay(chat, project).sent == []
    assert chat.got == []


# ---- once


def test_nothing_is_told_twice_also_after_a_restart(chat: Chat, project: Path) -> None:
    name = ended_run(project)
    assert relay(chat, project).sent == [f"run:{name}"]
    assert relay(chat, project).sent == []
    other = ended_run(project)
    assert relay(chat, project).sent == [f"run:{other}"]
    assert len(chat.got) == 2


def test_two_relays_at_once_tell_each_thing_once(chat: Chat, project: Path) -> None:
    names = {f"run:{ended_run(project)}" for _ in range(FEW)}
    found: list[list[str]] = []
    threads = [threading.Thread(target=lambda: found.append(relay(chat, project).sent)) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert sorted(key for keys in found for key in keys) == sorted(names)
    assert len(chat.got) == len(names)


def test_a_claim_that_a_dead_relay_left_is_taken_over(
    chat: Chat, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = ended_run(project)
    sent, now, up = Sent(webhook.folder()), time.time(), uptime.uptime()
    assert sent.claim(f"run:{name}", now)
    assert relay(chat, project).sent == []
    monkeypatch.setattr(uptime, "uptime", lambda: up + ABANDONED / 2)
    assert not sent.claim(f"run:{name}", now + ABANDONED / 2)
    monkeypatch.setattr(uptime, "uptime", lambda: up + ABANDONED + 60)
    assert relay(chat, project, Clock(now + ABANDONED + 60)).sent == [f"run:{name}"]
    assert not sent.claim(f"run:{name}", now + 10 * ABANDONED)


def test_old_records_go_away(project: Path) -> None:
    sent, now = Sent(webhook.folder()), time.time()
    assert sent.claim("a", now)
    sent.done("a")
    sent.forget(now + FORGOTTEN - 60)
    assert sent.has("a")
    sent.forget(now + FORGOTTEN + 60)
    assert not sent.has("a")


# ---- slowly


def test_messages_come_apart_and_many_come_as_one(chat: Chat, project: Path) -> None:
    for _ in range(FEW):
        ended_run(project)
    clock = Clock()
    relay(chat, project, clock)
    assert len(chat.got) == FEW
    assert clock.slept == pytest.approx([APART] * (FEW - 1))
    names = [ended_run(project) for _ in range(30)]
    assert len(relay(chat, project).sent) == 30
    assert len(chat.got) == FEW + 1
    lines = chat.texts[-1].splitlines()
    assert lines[0] == "30 events at once:"
    assert lines[-1] == "… and 10 more"
    assert len(lines) == 22
    assert all(any(name in line for name in names) for line in lines[1:-1])


@pytest.mark.parametrize("code", ["en", "ja"])
def test_a_long_list_says_how_many_it_leaves_out(chat: Chat, project: Path, code: str) -> None:
    for _ in range(FEW + 7):
        ended_run(project)
    with speaking(code):
        relay(chat, project, pages="http://localhost:8000/" + "p" * 250)
    (text,) = chat.texts
    first, *lines = text.splitlines()
    assert len(text) <= LONGEST_TEXT and not text.endswith("……") and str(FEW + 7) in first
    told, left = lines[:-1], re.search(r"\d+", lines[-1])
    assert left is not None and len(told) + int(left[0]) == FEW + 7 and len(told) > 5
    assert all("p" * 250 + "/run/" in line for line in told)


@pytest.mark.parametrize("status", [429, 500, 502, 503])
def test_a_busy_server_is_asked_again_later(chat: Chat, project: Path, status: int) -> None:
    names = [f"run:{ended_run(project, ago=ago)}" for ago in (9, 8, 7)]
    chat.orders = [(200, {}), (status, {})]
    clock = Clock()
    passed = relay(chat, project, clock)
    assert (passed.sent, passed.waiting, passed.what) == (names[:1], 2, f"HTTP {status}")
    assert BACK_OFF * 0.8 <= passed.until - clock.now <= BACK_OFF * 1.2
    assert relay(chat, project, clock).waiting == 2  # too early: also a new relay keeps still
    assert len(chat.got) == 2
    clock.now = passed.until + 0.1
    assert relay(chat, project, clock).sent == names[1:]
    assert len(chat.got) == 4


def test_each_failure_doubles_the_wait(chat: Chat, project: Path) -> None:
    ended_run(project)
    chat.orders = [(500, {})] * 12
    clock = Clock()
    waits = []
    for _ in range(12):
        passed = relay(chat, project, clock)
        waits.append(passed.until - clock.now)
        clock.now = passed.until + 0.1
    assert all(2 * 0.8 / 1.2 <= later / sooner <= 2 * 1.2 / 0.8 for sooner, later in itertools.pairwise(waits[:6]))
    assert max(waits) <= 600 * 1.2
    assert relay(chat, project, clock).waiting == 0
    assert Sent(webhook.folder()).paused(0.0) == (0.0, 0)


def test_retry_after_is_obeyed(chat: Chat, project: Path) -> None:
    ended_run(project)
    chat.orders = [(429, {"Retry-After": "120"})]
    clock = Clock()
    passed = relay(chat, project, clock)
    assert passed.until == pytest.approx(clock.now + 120)
    clock.now += 119
    assert relay(chat, project, clock).what == "the server asked to wait"
    assert len(chat.got) == 1
    clock.now += 2
    assert len(relay(chat, project, clock).sent) == 1


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("30", 30), ("0", 0), ("Thu, 01 Jan 1970 00:20:00 GMT", 200), ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
        ("999999999", 3600), ("-5", None), ("soon", None), ("", None), (None, None), ("1e9", None), ("٣", None),
    ],
)  # fmt: skip
def test_what_retry_after_says(header: str | None, seconds: float | None) -> None:
    assert webhook.seconds_of(header, lambda: 1000.0) == seconds


@given(st.text())
def test_no_retry_after_breaks_the_relay(header: str) -> None:
    wait = webhook.seconds_of(header)
    assert wait is None or 0 <= wait <= 3600


def test_a_server_that_does_not_answer(chat: Chat, project: Path) -> None:
    chat.silent.set()
    outcome = webhook.send(chat.address, webhook.payload("x"), timeout=0.3)
    assert (outcome.kind, outcome.what) == (LATER, "TimeoutError")
    chat.silent.clear()
    assert webhook.send(chat.address, webhook.payload("x")).kind == SENT


def test_no_network(project: Path) -> None:
    name = ended_run(project)
    server = Chat()
    address = server.address
    server.server_close()
    sender = Relay(address, Sent(webhook.folder()))
    passed = sender.run_once(_runs(project), None, since=0.0)
    assert (passed.sent, passed.waiting, passed.what) == ([], 1, "ConnectionRefusedError")
    assert not Sent(webhook.folder()).has(f"run:{name}")


# ---- never


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_no_redirect_is_followed(chat: Chat, project: Path, status: int) -> None:
    ended_run(project)
    other = Chat()
    threading.Thread(target=other.serve_forever, kwargs={"poll_interval": 0.01}).start()
    try:
        chat.orders = [(status, {"Location": other.address})]
        with pytest.raises(RequestError) as caught:
            relay(chat, project)
        assert caught.value.id == "notify.dead"
        assert other.got == []
        assert "verysecret" not in str(caught.value)
    finally:
        other.shutdown()
        other.server_close()


@pytest.mark.parametrize("status", [401, 403, 404, 410])
def test_a_webhook_that_is_gone_stops_the_relay_and_loses_nothing(chat: Chat, project: Path, status: int) -> None:
    ended_run(project)
    assert webhook.send(chat.address, {}).kind == SENT
    chat.orders = [(status, {})]
    assert webhook.send(chat.address, {}).kind == DEAD
    chat.orders = [(status, {})]
    with pytest.raises(RequestError) as caught:
        relay(chat, project)
    assert "verysecret" not in f"{caught.value} {caught.value.hint}"
    assert len(relay(chat, project).sent) == 1


def test_a_message_that_is_refused_is_not_sent_again(chat: Chat, project: Path) -> None:
    name = ended_run(project)
    chat.orders = [(400, {})]
    assert relay(chat, project).refused == [f"run:{name}"]
    assert relay(chat, project).waiting == 0
    assert len(chat.got) == 1
    chat.orders = [(413, {})]
    assert webhook.send(chat.address, {}).kind == REFUSED


def test_log_text_calls_nobody_and_keeps_no_secret(chat: Chat, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_SERVICE_TOKEN", "tok-1234567890abcdef")
    line = (
        "link was eaten by a whale <!channel> <!here|x> <@U012345> @all @channel @here [free](http://evil.example) `x` "
        "api_key=abcdef0123456789abcdef https://u:hunter22@h.example tok-1234567890abcdef /home/ada/data"
    )
    ended_run(project, "FAILED", line=line)
    board = open_board()
    post(board, "@channel <!everyone> @\u200bhere\npassword: hunter2 ＠all", kind="ask")
    relay(chat, project, board=open_board())
    assert len(chat.got) == 2
    everything = "\n".join(chat.texts)
    assert "eaten by a whale" in everything
    assert "free" in everything
    for word in (
        "<!",
        "<@",
        "@all",
        "@channel",
        "@here",
        "@everyone",
        "](",
        "hunter2",
        "abcdef0123456789",
        "tok-1234",
        "/home/ada",
    ):
        assert word not in everything, word
    text = next(text for text in chat.texts if "whale" in text)
    (quoted,) = [each for each in text.splitlines() if each.startswith("`")]
    assert quoted.count("`") == 2


@given(st.text(alphabet="<>!@&;#|`]( allchnerlt\u200b＠"))
def test_neutral_text_has_no_mention(text: str) -> None:
    made = webhook.neutral(text)
    assert not set("<>") & set(made)
    assert all(made[at + 1 : at + 2] == "\u200b" for at, letter in enumerate(made) if letter == "@")
    assert "](" not in made
    assert webhook.code(text).count("`") == 2


def test_a_long_text_is_cut() -> None:
    assert len(webhook.payload("x" * 10_000)["text"]) == 3000


# ---- the address


@pytest.mark.parametrize(
    "address",
    ["", "hello", "file:///etc/passwd", "ftp://h/x", "javascript:alert(1)", "https://", "http:///x", "https://h/a b",
     "https://h/\nX: y", "https://h:99999999/", "https://[::1", "https://日本.example/", "data:,x",
     "https://h/" + "x" * 3000],
)  # fmt: skip
def test_what_is_no_address(address: str, chat: Chat) -> None:
    with pytest.raises(RequestError):
        webhook.keep_address(address)
    with pytest.raises(RequestError):
        webhook.send(address, {})
    assert webhook.read_address() is None


def test_only_its_user_can_read_the_address(chat: Chat) -> None:
    before = os.umask(0)
    try:
        webhook.keep_address(f"  {chat.address}\n")
    finally:
        os.umask(before)
    path = webhook.address_file()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    found = webhook.read_address()
    assert found is not None
    assert found[0] == chat.address
    for mode in (0o640, 0o604, 0o660, 0o644):
        path.chmod(mode)
        with pytest.raises(RequestError) as caught:
            webhook.read_address()
        assert caught.value.id == "notify.open_to_others"
    path.unlink()
    path.symlink_to(path.with_name("elsewhere"))
    with pytest.raises(RequestError):
        webhook.read_address()


def typed(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))


def test_a_home_that_can_not_be_written_is_told(
    chat: Chat, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "file"))
    typed(monkeypatch, chat.address + "\n")
    assert command(["notify", "set"]) == 2
    assert f"{tmp_path}/file/hackathon/notify/url cannot be written" in capsys.readouterr().err


def test_from_off_to_on_and_off_again(
    chat: Chat, project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert command(["notify"]) == 0
    assert "off" in capsys.readouterr().out
    assert command(["notify", "relay", "--once"]) == 2
    assert command(["notify", "set", chat.address]) == 2  # never on the command line
    assert webhook.read_address() is None
    ended_run(project, ago=3600)
    typed(monkeypatch, chat.address + "\n")
    assert command(["notify", "set"]) == 0
    assert command(["notify"]) == 0
    assert command(["notify", "test"]) == 0
    name = ended_run(project, "FAILED", ago=-1)
    assert command(["notify", "relay", "--once"]) == 0
    assert "sent: 1, waiting: 0" in capsys.readouterr().out
    assert [text.split("\n")[0] for text in chat.texts] == [
        "hackathon: notifications work in this channel",
        f"✗ {ME}: run {name} failed (FAILED): [nccl] a whale ate the link",
    ]
    chat.orders = [(503, {})]
    ended_run(project, ago=-1)
    assert command(["notify", "relay", "--once", "--json"]) == 3
    answer = json.loads(capsys.readouterr().out)
    assert (answer["sent"], answer["waiting"], answer["what"]) == ([], 1, "HTTP 503")
    assert command(["notify", "off"]) == 0
    assert webhook.read_address() is None
    assert command(["notify", "--json"]) == 0
    captured = capsys.readouterr()
    assert "verysecret" not in captured.out + captured.err


def test_dry_run_prints_the_payload_and_sends_and_remembers_nothing(
    chat: Chat, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = ended_run(project)
    post(open_board(), "help", kind="ask")
    for _ in range(2):
        assert command(["notify", "relay", "--dry-run"]) == 0
        payloads = json.loads(capsys.readouterr().out)["payloads"]
        assert [name in payload["text"] for payload in payloads] == [True, False]
    assert chat.got == []
    assert not webhook.folder().exists()


def test_the_relay_goes_on_until_it_is_stopped(
    chat: Chat, project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each look sends what is new; a broken board or a busy server does not end it."""
    webhook.keep_address(chat.address)
    chat.orders = [(200, {}), (500, {})]
    names: list[str] = []
    shared = Path(os.environ["HACKATHON_SHARED"])

    def break_board() -> None:
        names.append(ended_run(project, ago=-1))
        (shared / "board.json").rename(shared / "gone")

    def stop() -> None:
        raise KeyboardInterrupt

    steps: list[Callable[[], None]] = [lambda: names.append(ended_run(project, ago=-1)), break_board, stop]
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        steps.pop(0)()

    monkeypatch.setattr("time.sleep", lambda seconds: sleep(seconds) if seconds >= 5 else None)
    assert command(["notify", "relay", "--every", "7"]) == 130
    assert len(slept) == 3
    assert slept[0] == 7
    captured = capsys.readouterr()
    assert "no board in" in captured.err
    assert "HTTP 500" in captured.err
    assert [names[0] in chat.texts[0], names[1] in chat.texts[1]] == [True, True]


def test_a_board_that_was_named_must_be_there(chat: Chat, project: Path) -> None:
    webhook.keep_address(chat.address)
    assert command(["notify", "relay", "--once", "--shared", "/nonexistent"]) == 2
    board: Board = open_board()
    assert board.posts == []


def test_in_an_events_folder_all_teams_are_watched(
    chat: Chat, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    event = tmp_path / "hackathon"
    for name in ("aurora", "borealis", "cirrus"):
        (event / name).mkdir(parents=True)
    (event / "hackathon.yaml").write_text(
        "title: H\nteams:\n" + "".join(f"- {{name: {name}}}\n" for name in ("aurora", "borealis", "cirrus"))
    )
    webhook.keep_address(chat.address)
    runs = [ended_run(event / name / "train", ago=-1) for name in ("aurora", "borealis")]
    runs.append(ended_run(event / "aurora" / "other", ago=-1))
    ended_run(tmp_path / "elsewhere", ago=-1)
    monkeypatch.chdir(event)
    assert command(["notify", "relay", "--once", "--no-board", "--pages", "http://login1:8080/"]) == 0
    assert "watching 3 projects of 2 teams (teams in the event: 3)" in capsys.readouterr().err
    assert len(chat.texts) == 3
    for run in runs:
        (text,) = [text for text in chat.texts if run in text]
        assert text.endswith(f"\nhttp://login1:8080/run/{run[-8:]}"), "a link to its page"
        assert str(tmp_path) not in text
    monkeypatch.chdir(project)
    assert command(["notify", "relay", "--once", "--no-board"]) == 0
    assert "watching" not in capsys.readouterr().err, "in a project it is that project's"


def test_a_new_project_is_watched_without_a_restart(
    chat: Chat, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    event = tmp_path / "hackathon"
    (event / "aurora").mkdir(parents=True)
    (event / "hackathon.yaml").write_text("title: H\nteams:\n- {name: aurora}\n")
    webhook.keep_address(chat.address)
    names: list[str] = []

    def stop() -> None:
        raise KeyboardInterrupt

    steps: list[Callable[[], None]] = [lambda: names.append(ended_run(event / "aurora" / "new", ago=-1)), stop]
    monkeypatch.setattr("time.sleep", lambda seconds: steps.pop(0)() if seconds >= 5 else None)
    monkeypatch.chdir(event)
    assert command(["notify", "relay", "--no-board"]) == 130
    said = capsys.readouterr().err
    assert "watching 0 projects of 0 teams" in said and "watching 1 project of 1 team " in said
    assert [names[0] in text for text in chat.texts] == [True]


def test_posts_are_told_with_a_link_and_in_the_relays_language(chat: Chat, project: Path) -> None:
    ended_run(project, "FAILED", ago=300)
    (run,) = _runs(project)
    with speaking("ja"):
        asked = post(open_board(), "止まります", kind="ask", run=run.id, finding=finding_of(run))
    board = open_board()
    with speaking("en"):
        relay(chat, project, board=board, kinds=("asked",), pages="https://pages.example.org")
    (text,) = chat.texts
    assert f"\nhttps://pages.example.org/en/board#post-{board.posts[0].short}" in text
    assert asked.entry.finding is not None and "a whale ate the link" in text and "クジラ" not in text


def test_a_failure_that_no_rule_knows_is_told_in_both_languages(project: Path) -> None:
    ended_run(project, "FAILED", line="Error: nobody has ever seen this", ago=300)
    (run,) = _runs(project)
    with speaking("ja"):
        found = finding_of(run)
    assert found is not None and set(found.said) == {"en", "ja"} and found.said["en"] != found.said["ja"]
    with speaking("en"):
        assert found.spoken().message == found.said["en"][0] and found.message == found.said["ja"][0]


@pytest.mark.parametrize("address", ["ftp://x", "javascript:alert(1)", "http://a b", "x"])
def test_pages_without_an_address_are_refused(project: Path, address: str) -> None:
    assert command(["notify", "relay", "--dry-run", "--pages", address]) == 2
