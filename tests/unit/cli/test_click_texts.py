"""What click says by itself is said in the reader's language, and is click's own text in English."""

import ast
from pathlib import Path

import click
import pytest

from hackathon.cli.click_texts import MODULES, TEXTS
from hackathon.cli.main import run


def _asked_of_gettext() -> set[str]:
    """Return the texts that click's modules give to `_` and `ngettext`."""
    found = set()
    for name in MODULES:
        tree = ast.parse((Path(click.__file__).parent / f"{name}.py").read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.add(node.value)
    return found


def test_each_english_text_is_one_of_clicks() -> None:
    assert {text.partition("\x04")[2] for text in TEXTS} - _asked_of_gettext() == set()


@pytest.mark.parametrize(
    ("words", "japanese", "english"),
    [
        (["scale", "--bad"], "オプション '--bad' はありません。", "No such option '--bad'."),
        (["adopt"], "引数を指定してください", "Missing argument"),
        (["scale", "--mode", "xx"], "'--mode' の値が正しくありません", "Invalid value for '--mode'"),
        (["scale", "--processes"], "値が必要です", "requires an argument"),
        (["status", "a", "--limit", "x"], "エラー: ", "Error: "),
    ],
)
def test_wrong_usage_in_both_languages(
    words: list[str], japanese: str, english: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["--lang", "ja", *words]) == 2
    told = capsys.readouterr().err
    assert japanese in told and english not in told
    assert run(["--lang", "en", *words]) == 2
    told = capsys.readouterr().err
    assert english in told and japanese not in told


def test_help_is_japanese_throughout(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--lang", "ja", "scale", "--help"]) == 0
    told = capsys.readouterr().out
    assert "使い方: hackathon scale" in told and "オプション:" in told and "Options:" not in told
