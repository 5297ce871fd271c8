"""The commands of a survey, from `new` to `close`, as people type them."""

import contextlib
import json
import os
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from hackathon.cli.main import build
from hackathon.survey.collection import Collection, find_collection
from support.paths import ROOT
from support.patience import STRETCH
from support.survey.event import EVENT, make_event


@pytest.fixture
def event(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache"))
    monkeypatch.setenv("HACKATHON_LANG", "en")
    monkeypatch.setattr("hackathon.board.people.People.account", lambda self, uid: "bob")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shared").mkdir()
    (tmp_path / "hackathon.yaml").write_text(EVENT, encoding="utf-8")
    return tmp_path


def survey(*words: str, typed: str = "") -> Result:
    """Run `hackathon survey …`."""
    return CliRunner().invoke(build(), ["survey", *words], input=typed)


def terminal(folder: Path, typed: str, *words: str) -> tuple[int, str]:
    """Run `hackathon survey …` on a terminal where somebody types; return the exit code and all that is shown."""
    ours, theirs = os.openpty()
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "NO_COLOR": "1"}
    command = [sys.executable, "-m", "hackathon", "survey", *words]
    process = subprocess.Popen(command, cwd=folder, stdin=theirs, stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    os.write(ours, typed.encode())
    shown, end = b"", time.monotonic() + 60
    with contextlib.suppress(OSError):  # EIO: whoever had the terminal has ended
        while select.select([ours], [], [], max(0.0, end - time.monotonic()))[0] and (part := os.read(ours, 65536)):
            shown += part
    os.close(ours)
    return process.wait(60 * STRETCH), shown.decode().replace("\r\n", "\n")


def test_from_new_to_close(event: Path) -> None:
    made = survey("new", "after")
    assert made.exit_code == 0 and "survey.yaml: edit it" in made.stderr
    assert "after: not open yet, 5 questions" in survey("check").stdout
    opened = survey("open", "--tokens", "3")
    tokens = opened.stdout.split()
    assert opened.exit_code == 0 and len(tokens) == 3 and "not stored" in opened.stderr
    assert len(json.loads(survey("open", "after", "--tokens", "2", "--json").stdout)["tokens"]) == 2
    Collection(event / "surveys" / "after").accept({"length": 3}, tokens[0])
    answered = survey("answer", "--set", "length=４", "--set", "comments=よかった", "--token", typed=tokens[1])
    assert answered.exit_code == 0 and "saved" in answered.stderr
    found = json.loads(survey("check", "--json").stdout)
    assert (found["answered"], found["tokens"], found["spent"], found["ok"]) == (2, 5, 2, True)
    closed = survey("close")
    assert closed.exit_code == 0 and "answers: 2, not counted: 0, unreadable files: 0" in closed.stderr
    assert survey("close").exit_code == 0
    assert "after: closed" in survey("check").stdout
    for words in (("open",), ("answer", "after", "--set", "length=1")):
        late = survey(*words)
        assert late.exit_code != 0 and "closed" in str(late.exception)


def test_answers_that_are_refused_name_every_question(event: Path) -> None:
    make_event(event / "inner")
    os.chdir(event / "inner")
    survey("open")
    refused = survey("answer", "--set", "level=9", "--set", "team=Nobody\x1b[2J", "--set", "wrong=1")
    text = str(refused.exception)
    assert all(word in text for word in ("level: 9", "team: ", "wrong: ", "オーロラ")) and "\x1b" not in text
    assert find_collection(None, event / "inner").answers() == []


def test_check_refuses_a_changed_survey_with_the_remedy(event: Path) -> None:
    survey("new", "after")
    survey("open")
    survey("answer", "--set", "length=3")
    file = event / "surveys" / "after" / "survey.yaml"
    file.write_text(file.read_text().replace("short", "brief"))
    found = survey("check")
    assert found.exit_code == 2
    assert "changed after answers had arrived" in found.stderr and "cp " in found.stderr


def test_a_wrong_questionnaire_and_a_wrong_template(event: Path) -> None:
    survey("new", "after")
    file = event / "surveys" / "after" / "survey.yaml"
    file.write_text(file.read_text().replace("target: high", "target: hihg"))
    found = survey("check")
    assert "did you mean `high`" in str(found.exception)
    near = survey("new", "other", "--template", "tutor").exception
    assert getattr(near, "hint", "").startswith("--template tutors")
    assert survey("new", "other", "--template", "tutors", "--from", str(file)).exit_code != 0


def test_answering_on_a_terminal(event: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = make_event(event / "inner")
    made.open(0)
    monkeypatch.setenv("HACKATHON_LANG", "ja")
    # a level that is none, then by its label; options by number, by several numbers, and one left out
    typed = "9\n４ (難)\n2\n\n1, 3\n12 GB\nよかった。\n<b>次も</b>\n\ny\n"
    code, shown = terminal(made.event_folder, typed, "answer")
    assert code == 0, shown
    for words in (
        "匿名",
        "難しさ",
        "1 = 易",
        "9 は段階ではありません",
        "2  Boreas",
        "PyTorch, その他",
        "この内容で送りますか",
    ):
        assert words in shown, words
    (answer,) = made.answers()
    assert answer.values == {
        "level": 4, "team": "Boreas", "used": ("torch", "other"), "size": 12, "words": "よかった。\n<b>次も</b>",
    }  # fmt: skip
    # a second thought: no, once more, and only one answer is changed
    typed = "5\n1\n1\n2\n1\nx\n\nn\ny\n3\n\n\n\n\n\ny\n"
    code, shown = terminal(made.event_folder, typed, "answer", "after", "--lang", "en")
    assert code == 0, shown
    (answer,) = made.answers()
    assert answer.values == {
        "level": 3, "team": "オーロラ", "kind": "master", "used": ("tf",), "size": 1, "words": "x",
    }  # fmt: skip


def test_leaving_without_an_answer(event: Path) -> None:
    made = make_event(event / "inner")
    made.open(0)
    code, shown = terminal(made.event_folder, "3\n\x04", "answer")
    assert code != 0 and "Traceback" not in shown
    code, shown = terminal(made.event_folder, "\n\n\n\n\n\n", "answer")
    assert code == 2 and "no question has an answer" in shown
    assert made.answers() == []


def test_without_a_terminal_answers_have_to_be_given(event: Path) -> None:
    make_event(event / "inner").open(0)
    os.chdir(event / "inner")
    assert "no terminal" in str(survey("answer").exception)
    assert "no survey is open" in str(survey("answer", "another", "--set", "level=1").exception)


def test_closing_on_a_terminal_asks(event: Path) -> None:
    made = make_event(event / "inner")
    made.open(0)
    code, shown = terminal(made.event_folder, "n\n", "close")
    assert code == 0 and "Close after" in shown and made.state == "open"
    code, shown = terminal(made.event_folder, "", "close", "--yes")
    assert code == 0 and made.state == "closed"
