"""`check` says what a run gets of the project's files, and refuses what `submit` would refuse."""

import json
from pathlib import Path

import pytest

from hackathon.cli.main import run
from hackathon.runs.source import selection


@pytest.fixture
def team(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "project.yaml").write_text("name: own\ncommand: python train.py\ncluster: laptop\nprocesses: 1\n")
    (tmp_path / "train.py").write_text("print('500 samples/s')\n")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "train.bin").write_bytes(b"x" * 5000)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_files_and_bytes(team: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check"]) == 0
    assert "source: 3 files, 5.1 kB, copied into the run\n" in capsys.readouterr().out
    assert run(["check", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["source"]
    assert (told["files"], told["linked"]) == (3, []) and 5000 < told["bytes"] < 5200


@pytest.mark.parametrize("lang", ["en", "ja"])
def test_too_much_is_refused_and_the_line_to_write_is_shown(
    team: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], lang: str
) -> None:
    monkeypatch.setattr(selection, "SIZE_LIMIT", 1000)
    assert run(["--lang", lang, "check"]) == 2
    assert "exclude: [data]" in capsys.readouterr().err
    assert run(["check", "--json"]) == 2
    told = json.loads(capsys.readouterr().out)
    assert [each["id"] for each in told["violations"]] == ["runs.source_big"] and told["source"] is None
    with (team / "project.yaml").open("a") as project:
        project.write("exclude: [data]\n")
    assert run(["--lang", lang, "check"]) == 0
    assert "data" in capsys.readouterr().out


@pytest.mark.parametrize(("value", "word"), [("[/etc]", "/etc"), ("['../x']", "../x"), ("[dta]", "dta")])
def test_what_cannot_be_linked_is_told(team: Path, capsys: pytest.CaptureFixture[str], value: str, word: str) -> None:
    with (team / "project.yaml").open("a") as project:
        project.write(f"exclude: {value}\n")
    assert run(["check"]) == (0 if word == "dta" else 2)
    assert f"exclude: {word}" in capsys.readouterr().err
