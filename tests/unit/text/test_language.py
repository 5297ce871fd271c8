"""Which language the command line speaks."""

from pathlib import Path

import pytest

from hackathon.cli.main import run

ENGLISH, JAPANESE = "Data-parallel training", "データ並列学習"


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's config.yaml, in a folder of its own, which asks for Japanese."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    monkeypatch.delenv("HACKATHON_LANG", raising=False)
    file = tmp_path / "hackathon" / "config.yaml"
    file.parent.mkdir()
    file.write_text("lang: ja\n")
    return file


def test_user_chooses_the_language(told: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["recipes"]) == 0
    assert JAPANESE in capsys.readouterr().out


def test_environment_goes_before_the_user(
    told: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HACKATHON_LANG", "en")
    assert run(["recipes"]) == 0
    assert ENGLISH in capsys.readouterr().out


def test_option_goes_before_all(told: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["recipes", "--lang", "en"]) == 0
    assert ENGLISH in capsys.readouterr().out


def test_broken_file_does_not_keep_anybody_from_help(told: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told.write_text("lang: [\n")
    assert run(["--help"]) == 0
    assert "hackathon" in capsys.readouterr().out
