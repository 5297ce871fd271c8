"""`hackathon top`: the Now view in the terminal, once into a pipe, and fresh until Ctrl-C on a terminal."""

import functools
import json
import os
import pwd
import re
import signal
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hackathon.board.board import open_board
from hackathon.board.directory import make_place
from hackathon.board.post import post
from hackathon.cli.main import run
from hackathon.cli.screen.keys import BACK, DOWN, ENTER, FIRST, LAST, PAGE_DOWN, QUIT, TAKE, UP, keys_in
from hackathon.cli.screen.rows import QUIET
from hackathon.cli.screen.screen import Screen
from hackathon.cli.top import lines
from hackathon.index.diagnoser import Examiner
from hackathon.text.columns import width
from hackathon.text.messages import speaking
from hackathon.web.attention.now import NowView, Well
from hackathon.web.attention.records import NowItem
from support.pages.rendered import HOSTILE, NOT_SHOWN
from support.samples.event import _unend
from support.samples.runs import Sample, write_run
from support.terminal import LATEST, Terminal


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


def _many(count: int) -> NowView:
    """A view of so many requests, each with its run's trouble, in wide and narrow letters."""
    items = tuple(
        NowItem(
            "asked", team=f"チーム{number}", person="千賀", name="srgan", since=1.0, age=f"{number} min",
            message=f"8 プロセスで固まります {number}" + "。なぜでしょう" * 9, advice="Halve the batch. " * 9,
            id=f"m{number}", post=f"post{number}", post_id=f"id{number}", helper="Ito" if number == 1 else "",
        )
        for number in range(count)
    )  # fmt: skip
    return NowView(items, 0, (), 0, 1, 0, 0, 0, 1.0)


def _text(screen: Screen, columns: int = 80, height: int = 24) -> list[str]:
    return ["".join(part for part, _ in line) for line in screen.lines("Hackathon", columns, height)]


@pytest.mark.parametrize("language", ["en", "ja"])
@pytest.mark.parametrize(("columns", "height"), [(80, 24), (20, 5), (200, 60)])
def test_one_line_for_a_matter_and_no_more_lines_than_the_terminal_has(
    language: str, columns: int, height: int
) -> None:
    with speaking(language):
        screen = Screen(_many(29))
        for key in ("", *[DOWN] * 30, ENTER, *[DOWN] * 30, BACK, FIRST, PAGE_DOWN, LAST, UP):
            if key:
                screen.press(key)
            lines = _text(screen, columns, height)
            assert len(lines) == height and max(map(width, lines)) <= columns
        if (columns, height) == (80, 24):
            assert sum("千賀" in line for line in lines) == 20


def test_what_is_above_and_below_is_counted() -> None:
    screen = Screen(_many(29))
    assert _text(screen)[-2] == "↓ 9 more" and _text(screen)[2].startswith("> ")
    for _key in range(20):
        screen.press(DOWN)
    lines = _text(screen)
    assert lines[-2] == "↑ 1 more   ↓ 8 more" and lines[-3].startswith("> asks for help  20 min")
    screen.press(LAST)
    assert _text(screen)[-2] == "↑ 9 more"
    assert Screen(_many(20)).lines("", 80, 24)[-2] == [("", QUIET)]


def test_what_a_matter_costs_is_a_column_where_it_fits() -> None:
    """With the words of the Now page; a narrow screen and matters that cost nothing keep their columns."""
    hung = NowItem("stands", "雲", "u2", "x", "no output", 1.0, id="h", lost_per_hour=8)
    view = replace(_many(2), items=(hung, *_many(2).items))
    wide, narrow = _text(Screen(view), 100), _text(Screen(view), 99)
    assert "8 node-h/h lost" in wide[2] and wide[2].index("8 node-h/h lost") < wide[2].index("no output")
    assert width(wide[2].partition("no output")[0]) == width(wide[3].partition("8 プロセス")[0]), "one column"
    assert "node-h/h" not in "\n".join(narrow) and "node-h/h" not in "\n".join(_text(Screen(_many(2)), 200))
    screen = Screen(view)
    screen.press(ENTER)
    assert "8 node-h/h lost" in "\n".join(_text(screen))
    once = ["".join(part for part, _ in parts) for parts in lines(view, "E")]
    assert [line for line in once if "node-h/h" in line] == [line for line in once if "雲" in line]


def test_the_selected_matter_stays_selected() -> None:
    """Whatever comes above it; one that is settled while it is open leads back to the list."""
    screen = Screen(_many(3))
    screen.press(DOWN)
    screen.press(DOWN)
    screen.press(ENTER)
    assert "8 プロセスで固まります 2" in "\n".join(_text(screen))
    view = _many(3)
    screen.update(replace(view, items=(*_many(5).items[3:], *view.items)))
    assert screen.opened and screen.row is not None and screen.row.id == "m2"
    screen.update(replace(view, items=view.items[:2]))
    assert not screen.opened and "settled" in _text(screen)[-1]
    screen.update(replace(view, items=()))
    assert screen.row is None and screen.press(ENTER) is None and screen.press(TAKE) is None


def test_only_an_open_request_is_taken() -> None:
    screen = Screen(_many(2))
    item = screen.press(TAKE)
    assert item is not None and item.post_id == "id0"
    screen.press(DOWN)
    assert screen.press(TAKE) is None and "already taken by Ito" in _text(screen)[-1]
    failed = NowItem("failed", "aurora", "u1", "x", "broken", 1.0, id="f")
    other = Screen(replace(_many(1), items=(failed,)))
    assert other.press(TAKE) is None and "Only a request" in _text(other)[-1]
    assert "q: quit" in _text(Screen(_many(1)))[-1] and "Ctrl-C" in _text(Screen(_many(1), keys=False))[-1]


def test_keys_as_terminals_send_them() -> None:
    assert list(keys_in(b"jk\x1b[A\x1bOB\x1b[6~\r\x1b[15~q")) == [DOWN, UP, UP, DOWN, PAGE_DOWN, ENTER, QUIT]
    assert list(keys_in("ｊt".encode())) == [DOWN, TAKE], "with the input method on"
    assert list(keys_in(b"\x1b")) == [BACK] and list(keys_in(b"\x1b[1;5C\xffx\x1b[")) == []


def test_what_others_wrote_steers_no_terminal() -> None:
    texts: dict[str, Any] = dict.fromkeys(
        ("team", "person", "name", "message", "advice", "part", "evidence", "place", "run_id", "helper"), HOSTILE
    )
    item = NowItem("failed", since=1.0, age="1 s", state="FAILED", newer="RUNNING", more=2, **texts)
    well = Well(HOSTILE, HOSTILE, HOSTILE, 4, "RUNNING", 1.0, "1 s", "", HOSTILE, 5.0, HOSTILE)
    view = NowView((item,), 0, (well,), 0, 1, 0, 0, 0, 1.0, team=HOSTILE, problems=(HOSTILE,))
    text = "".join(part for parts in lines(view, HOSTILE) for part, _ in parts)
    screen = Screen(replace(view, items=(replace(item, kind="asked", text=HOSTILE, seat=HOSTILE, tutors=(HOSTILE,)),)))
    text += "".join(_text(screen, 500, 100))
    screen.press(ENTER)
    text += "".join(_text(screen, 500, 100))
    assert text.count("<script>alert(1)</script>") > 10
    assert not [letter for letter in (*NOT_SHOWN, "\n", "\r") if letter in text]


@pytest.fixture
def terminal(event: Path) -> Iterator[Terminal]:
    made = Terminal("top", "--no-ask", "--interval", "0.5")
    try:
        yield made
    finally:
        made.close()


@pytest.mark.slow
def test_a_terminal_stays_fresh_until_ctrl_c(event: Path, terminal: Terminal) -> None:
    terminal.wait_for("2,3", "horovod is not installed", "q: quit")
    assert "\x1b[?1049h" in terminal.seen, "on a screen of its own"
    post(open_board(event / "shared", event), "A second question", kind="ask")
    terminal.wait_for("A second question")
    late = write_run(
        event / "雲/train/runs", Sample(8, None, "TIMEOUT", "", exit_code=143), 3, team="雲", name="late-one",
        start=time.time() - 300,
    )  # fmt: skip
    assert late.is_dir()
    terminal.wait_for("2 failures")
    os.write(terminal.master, b"\x03")
    assert terminal.end() == 0
    assert "\x1b[?1049l" in terminal.seen and "\x1b[?25h" in terminal.seen, "the terminal is as it was"
    assert "Traceback" not in terminal.seen and "interrupted" not in terminal.seen


@pytest.mark.slow
@pytest.mark.parametrize("language", ["en", "ja"])
def test_a_tutor_takes_a_request_with_a_key(event: Path, language: str) -> None:
    """On 80 × 24: twelve matters and more in one line each, what is below counted, one opened and taken."""
    tutor = f"tutors: [{{user: {pwd.getpwuid(os.geteuid()).pw_name}, name: Ito}}]\n"
    (event / "hackathon.yaml").write_text((event / "hackathon.yaml").read_text() + tutor)
    board = open_board(event / "shared", event)
    for number in range(22):
        post(board, f"質問 {number:02d}: 8 プロセスで固まります" + "。なぜでしょう" * 9, kind="ask")
    more, took, taken = {
        "en": ("more", "you took the request", "[taken by Ito]"),
        "ja": ("ほかに", "引き受けました", "[Ito さんが対応中]"),
    }[language]
    terminal = Terminal("top", "--no-ask", "--interval", "0.5", columns=80, height=24, language=language)
    try:
        lines = terminal.screen_with("質問 13", "↓", more)
        assert len(lines) == 24 and max(map(width, lines)) <= 80
        assert sum("プロセスで固まります" in line for line in lines) >= 12
        terminal.press("j\r")
        terminal.screen_with("なぜでしょう。なぜでしょう", without="質問 13")
        terminal.press("t")
        terminal.screen_with(took)
        terminal.press("\x1b")
        terminal.screen_with(taken)
        [request] = [post for post in open_board(event / "shared", event).of("ask") if post.taken]
        assert request.taken is not None and request.taken.uid == os.geteuid()
        terminal.press("q")
        assert terminal.end() == 0
        assert "\x1b[?1049l" in terminal.seen and "\x1b[?25h" in terminal.seen and "Traceback" not in terminal.seen
    finally:
        terminal.close()


@pytest.mark.slow
def test_a_polite_end_from_outside_leaves_the_terminal_as_it_was(terminal: Terminal) -> None:
    terminal.wait_for("q: quit")
    terminal.child.send_signal(signal.SIGTERM)
    assert terminal.end() == 0
    assert "\x1b[?1049l" in terminal.seen and "\x1b[?25h" in terminal.seen and "Traceback" not in terminal.seen
