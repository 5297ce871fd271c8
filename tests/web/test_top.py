"""`hackathon top`: the Now view in the terminal, once into a pipe, and fresh until Ctrl-C on a terminal."""

import contextlib
import functools
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from fcntl import ioctl
from pathlib import Path
from typing import Any

import pytest

from hackathon.board.board import open_board
from hackathon.board.directory import make_place
from hackathon.board.post import post
from hackathon.cli.main import run
from hackathon.cli.top import lines
from hackathon.index.diagnoser import Examiner
from hackathon.web.attention.now import NowView, Well
from hackathon.web.attention.records import NowItem
from support.pages.rendered import HOSTILE, NOT_SHOWN
from support.patience import PATIENCE, STRETCH
from support.samples.event import _unend
from support.samples.runs import Sample, write_run

LATEST = STRETCH * PATIENCE
"""Seconds in which something must be seen on the terminal; much more than it takes on a quiet machine."""


@pytest.fixture
def event(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An event of two teams: a failure and a request, and a run that goes on well; checked rules are kept.

    What is printed once waits for the diagnosis, as long as it takes.
    """
    monkeypatch.setattr("hackathon.cli.top.SETTLED", LATEST)
    monkeypatch.setattr(Examiner, "__init__", functools.partialmethod(Examiner.__init__, timeout=LATEST))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache-of-top"))
    folder, local = tmp_path / "event", tmp_path / "local"
    folder.mkdir()
    local.mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(local))
    make_place(folder / "shared", "sticky")
    teams = "".join(
        f"- name: {name}\n  members: [{{user: {user}}}]\n" for name, user in (("aurora", "u1"), ("雲", "u2"))
    )
    (folder / "hackathon.yaml").write_text(f"title: {{en: Hackathon, ja: ハッカソン}}\nshared: shared\nteams:\n{teams}")
    now = time.time()
    broken = write_run(
        folder / "aurora/train/runs", Sample(4, None, "FAILED", "exit code 1", exit_code=1), 1, team="aurora",
        start=now - 1200,
    )  # fmt: skip
    (broken / "logs/rank-1.log").write_text("ModuleNotFoundError: No module named 'horovod'\n")
    going = write_run(folder / "雲/train/runs", Sample(2, 2300.0), 2, team="雲", start=now - 900)
    _unend(going)
    post(open_board(folder / "shared", folder), "May somebody look?", kind="ask")
    monkeypatch.chdir(folder)
    return folder


def test_once_into_a_pipe(event: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = {path: path.stat().st_mtime_ns for path in event.rglob("*")}
    assert run(["top", "--no-ask"]) == 0, "what is no terminal gets it once"
    out = capsys.readouterr().out
    assert out.startswith("Hackathon") and "1 team asks · 1 failure · running 1 · waiting 0" in out
    assert "\x1b" not in out and "\r" not in out
    assert out.index("May somebody look?") < out.index("horovod is not installed") < out.index("Running normally")
    assert "aurora · tanaka07 · torch-ddp (4)" in out and "logs/rank-1.log:1" in out and "part: environment" in out
    assert re.search(r"雲 · tanaka07 · torch-ddp \(2\) +2,3\d\d samples/s", out)
    assert run(["top", "--no-ask", "--once", "--lang", "ja"]) == 0
    ja = capsys.readouterr().out
    assert ja.startswith("ハッカソン") and "質問 1 チーム · 失敗 1 件" in ja and "順調な実行" in ja
    assert {path: path.stat().st_mtime_ns for path in event.rglob("*")} == before, "it only reads"


def test_json_and_a_teams_view(event: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["top", "--no-ask", "--json", str(event)]) == 0
    view = json.loads(capsys.readouterr().out)
    assert [item["kind"] for item in view["items"]] == ["asked", "failed"]
    assert view["items"][1]["part"] == "env" and view["items"][1]["team"] == "aurora"
    assert [each["team"] for each in view["well"]] == ["雲"] and view["running"] == 1
    assert run(["top", "--no-ask", "--json", "--team", "雲"]) == 0
    own = json.loads(capsys.readouterr().out)
    assert (own["items"], own["team"], len(own["well"])) == ([], "雲", 1)
    assert run(["top", "--once", "--team", "nobody"]) == 2
    assert "nobody" in capsys.readouterr().err


@pytest.mark.slow
def test_the_matters_of_one_tutors_teams(event: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By account or by name; the same function decides for the pages."""
    written = (event / "hackathon.yaml").read_text()
    written = written.replace("- name: aurora\n", "- name: aurora\n  tutors: [t1]\n")
    written = written.replace("- name: 雲\n", "- name: 雲\n  tutors: [t2, t1]\n")
    people = "tutors:\n" + "".join(
        f"- {{user: {user}, name: {name}}}\n"
        for user, name in (("t1", "Ito"), ("t2", "Mori"), ("t3", "Abe"), ("t4", "Mori"))
    )
    (event / "hackathon.yaml").write_text(written + people)

    def told(*words: str) -> dict[str, Any]:
        assert run(["top", "--no-ask", "--json", *words]) == 0
        view: dict[str, Any] = json.loads(capsys.readouterr().out)
        return view

    one, other, named = told("--tutor", "t1"), told("--tutor", "t2"), told("--tutor", "mori")
    assert [each["team"] for each in one["well"]] == ["雲"] and "failed" in {each["kind"] for each in one["items"]}
    assert "failed" not in {each["kind"] for each in other["items"]} and [e["team"] for e in other["well"]] == ["雲"]
    assert (named["tutor"], len(named["items"]), len(named["well"])) == ("t2", len(other["items"]), 1)
    assert told("--tutor", "t2", "--team", "aurora")["well"] == []
    assert run(["top", "--no-ask", "--once", "--tutor", "Ito"]) == 0
    assert capsys.readouterr().out.startswith("Hackathon · Teams of Ito  ")
    assert run(["top", "--once", "--tutor", "t3"]) == 2, "a tutor of no team"
    assert "t1, t2" in capsys.readouterr().err
    (event / "hackathon.yaml").write_text((event / "hackathon.yaml").read_text().replace("[t2, t1]", "[t2, t4]"))
    assert run(["top", "--once", "--tutor", "Mori"]) == 2, "two of one name"
    assert "t1, t2, t4" in capsys.readouterr().err


def test_calm_without_an_event(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    (tmp_path / "project" / "runs").mkdir(parents=True)
    assert run(["top", "--once", "--no-ask", str(tmp_path / "project")]) == 0
    told = capsys.readouterr().out
    assert "Nothing needs attention" in told and "No runs were found." in told
    assert run(["top", "--once", "--tutor", "t1", str(tmp_path / "project")]) == 2
    assert "--tutor needs an event" in capsys.readouterr().err


def test_what_others_wrote_steers_no_terminal() -> None:
    texts: dict[str, Any] = dict.fromkeys(
        ("team", "person", "name", "message", "advice", "part", "evidence", "place", "run_id", "helper"), HOSTILE
    )
    item = NowItem("failed", since=1.0, age="1 s", state="FAILED", newer="RUNNING", more=2, **texts)
    well = Well(HOSTILE, HOSTILE, HOSTILE, 4, "RUNNING", 1.0, "1 s", "", HOSTILE, 5.0, HOSTILE)
    view = NowView((item,), 0, (well,), 0, 1, 0, 0, 0, 1.0, team=HOSTILE, problems=(HOSTILE,))
    text = "".join(part for parts in lines(view, HOSTILE) for part, _ in parts)
    assert text.count("<script>alert(1)</script>") > 10
    assert not [letter for letter in (*NOT_SHOWN, "\n", "\r") if letter in text]


class Terminal:
    """A program on a terminal of its own."""

    def __init__(self, *words: str) -> None:
        self.master, slave = pty.openpty()
        ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        environment = {**os.environ, "TERM": "xterm-256color", "HACKATHON_LANG": "en"}
        self.child = subprocess.Popen(
            [sys.executable, "-m", "hackathon", *words], stdin=slave, stdout=slave, stderr=slave, env=environment,
            start_new_session=True, preexec_fn=lambda: ioctl(0, termios.TIOCSCTTY, 0),
        )  # fmt: skip
        os.close(slave)
        self.seen = ""

    def wait_for(self, *words: str) -> None:
        """Read until all words were seen; fails when they do not come."""
        end = time.monotonic() + LATEST
        while not all(word in self.seen for word in words):
            assert time.monotonic() < end, f"{words} not seen in {self.seen[-3000:]!r}"
            self.read(0.5)

    def read(self, seconds: float) -> None:
        if select.select([self.master], [], [], seconds)[0]:
            with contextlib.suppress(OSError):  # the program has closed its side
                self.seen += os.read(self.master, 65536).decode("utf-8", "replace")

    def end(self) -> int:
        """Return the exit code, what was written last read."""
        end = time.monotonic() + LATEST
        while self.child.poll() is None and time.monotonic() < end:
            self.read(0.2)
        self.read(0.2)
        return self.child.wait(1)


@pytest.fixture
def terminal(event: Path) -> Iterator[Terminal]:
    made = Terminal("top", "--no-ask", "--interval", "0.5")
    try:
        yield made
    finally:
        if made.child.poll() is None:
            made.child.kill()
            made.child.wait()
        os.close(made.master)


@pytest.mark.slow
def test_a_terminal_stays_fresh_until_ctrl_c(event: Path, terminal: Terminal) -> None:
    terminal.wait_for("Running normally", "horovod is not installed", "Ctrl-C to quit")
    assert "\x1b[?1049h" in terminal.seen, "on a screen of its own"
    post(open_board(event / "shared", event), "A second question", kind="ask")
    terminal.wait_for("A second question")
    late = write_run(
        event / "雲/train/runs", Sample(8, None, "TIMEOUT", "", exit_code=143), 3, team="雲", name="late-one",
        start=time.time() - 300,
    )  # fmt: skip
    assert late.is_dir()
    terminal.wait_for("late-one", "2 failures")
    os.write(terminal.master, b"\x03")
    assert terminal.end() == 0
    assert "\x1b[?1049l" in terminal.seen and "\x1b[?25h" in terminal.seen, "the terminal is as it was"
    assert "Traceback" not in terminal.seen and "interrupted" not in terminal.seen


@pytest.mark.slow
def test_a_polite_end_from_outside_leaves_the_terminal_as_it_was(terminal: Terminal) -> None:
    terminal.wait_for("Ctrl-C to quit")
    terminal.child.send_signal(signal.SIGTERM)
    assert terminal.end() == 0
    assert "\x1b[?1049l" in terminal.seen and "\x1b[?25h" in terminal.seen and "Traceback" not in terminal.seen
