"""Where values are from, in the reader's language: records keep the English words."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from hackathon.cli.main import build, run
from hackathon.jobs import resolve
from hackathon.jobs.origins import origin_text
from hackathon.jobs.surroundings import CRATE
from hackathon.text.messages import set_language

WORDS = (resolve.COMMAND_LINE, resolve.ENVIRONMENT, resolve.USER, resolve.EVENT, CRATE, "study", "default",
         "this machine")  # fmt: skip
NAMES = (resolve.PROJECT, resolve.BUILT, resolve.DATA)


def test_english_is_what_the_record_says() -> None:
    for origin in (*WORDS, *NAMES, "cluster reedbush-h", "recipe torch-ddp", "command line × 4 ÷ 2", ""):
        assert origin_text(origin) == origin


def test_words_are_translated_and_names_are_not() -> None:
    set_language("ja")
    assert all(not origin_text(word).isascii() for word in WORDS)
    assert [origin_text(name) for name in NAMES] == list(NAMES)
    assert origin_text("cluster reedbush-h") == "クラスタ reedbush-h"
    assert origin_text("default × 4") == "既定値 × 4"
    assert origin_text("what another version wrote") == "what another version wrote"


@given(st.text())
def test_any_text_is_taken(text: str) -> None:
    assert isinstance(origin_text(text), str)


def test_explained_in_japanese(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    project = {"name": "own", "command": "python x.py {lr}", "cluster": "laptop", "parameters": {"lr": 0.1}}
    (tmp_path / "project.yaml").write_text(json.dumps(project))
    monkeypatch.chdir(tmp_path)
    words = ["render", "--explain", "--processes", "1", "--walltime", "60s"]
    assert run([*words, "--lang", "ja"]) == 0
    shown = capsys.readouterr().out
    assert "コマンドライン" in shown and "command line" not in shown and "クラスタ laptop" in shown
    done = CliRunner().invoke(build(), ["render", "--json", "--processes", "1", "--walltime", "60s"])
    assert json.loads(done.stdout)["request"]["origins"]["processes"] == "command line"
