"""The exchange of the catalogue with .po files: nothing is lost, edits come back, stale translations are marked."""

import importlib.util
import shutil
from pathlib import Path
from types import ModuleType

import pytest

from support.paths import ROOT

pytest.importorskip("babel")

SOURCE = '''"""Texts."""

MESSAGES: dict[str, tuple[str, str]] = {
    # ---- greetings
    "hello": ("Hello, {name}", "こんにちは、{name}"),
    "long": (
        "A text that goes over two lines because it says a lot about the very little that there is to be said "
        "in it.\\n\\n\\b\\n  hackathon status",
        "長い文です。\\n\\n\\b\\n  hackathon status",  # its example stays
    ),
    "quoted": ('say "no" to `{{braces}}` and \\\\', "「いいえ」と `{{braces}}` と \\\\"),
}
'''


@pytest.fixture
def po() -> ModuleType:
    spec = importlib.util.spec_from_file_location("po_messages", ROOT / "po" / "messages.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def catalogue(tmp_path: Path) -> Path:
    folder = tmp_path / "catalogue" / "greetings"
    folder.mkdir(parents=True)
    (folder / "greetings.py").write_text(SOURCE)
    (tmp_path / "po").mkdir()
    return tmp_path / "catalogue"


def source(catalogue: Path) -> str:
    return (catalogue / "greetings" / "greetings.py").read_text()


def edit(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert text.count(old) == 1
    file.write_text(text.replace(old, new))


def fuzzy(lines: list[str]) -> list[str]:
    return [line.removeprefix("fuzzy: ") for line in lines if line.startswith("fuzzy: ")]


def test_writing_and_reading_change_nothing(po: ModuleType, catalogue: Path, tmp_path: Path) -> None:
    for _ in range(2):
        assert po.exchange(tmp_path / "po", catalogue) == []
        assert source(catalogue) == SOURCE


def test_the_whole_catalogue_goes_round(po: ModuleType, tmp_path: Path) -> None:
    copy = tmp_path / "catalogue"
    shutil.copytree(po.CATALOGUE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "po").mkdir()
    for _ in range(2):
        assert po.exchange(tmp_path / "po", copy) == []
    for path in sorted(copy.glob("*/*.py")):
        assert path.read_bytes() == (po.CATALOGUE / path.relative_to(copy)).read_bytes()


def test_a_translation_is_fuzzy_when_its_english_has_changed_since(
    po: ModuleType, catalogue: Path, tmp_path: Path
) -> None:
    po.exchange(tmp_path / "po", catalogue)
    edit(catalogue / "greetings" / "greetings.py", '"Hello, {name}"', '"Welcome, {name}"')
    for _ in range(2):  # it stays marked until somebody has looked at it
        assert fuzzy(po.exchange(tmp_path / "po", catalogue)) == ["greetings.hello"]
    assert '#, fuzzy, python-brace-format\nmsgctxt "greetings.hello"' in (tmp_path / "po" / "ja.po").read_text()
    edit(tmp_path / "po" / "ja.po", "#, fuzzy, python-brace-format", "#, python-brace-format")
    assert fuzzy(po.exchange(tmp_path / "po", catalogue)) == []


def test_english_and_japanese_that_change_together_are_not_fuzzy(
    po: ModuleType, catalogue: Path, tmp_path: Path
) -> None:
    po.exchange(tmp_path / "po", catalogue)
    edit(catalogue / "greetings" / "greetings.py", '"Hello, {name}"', '"Welcome, {name}"')
    edit(catalogue / "greetings" / "greetings.py", "こんにちは、{name}", "ようこそ、{name}")
    assert fuzzy(po.exchange(tmp_path / "po", catalogue)) == []


def test_an_edit_comes_back_and_leaves_order_and_comments_alone(
    po: ModuleType, catalogue: Path, tmp_path: Path
) -> None:
    po.exchange(tmp_path / "po", catalogue)
    edit(tmp_path / "po" / "ja.po", "こんにちは、{name}", "ようこそ、{name}さん")
    assert po.exchange(tmp_path / "po", catalogue) == ["changed: greetings/greetings.py"]
    assert source(catalogue) == SOURCE.replace("こんにちは、{name}", "ようこそ、{name}さん")


def test_an_edit_of_a_long_text_keeps_its_paragraphs(po: ModuleType, catalogue: Path, tmp_path: Path) -> None:
    po.exchange(tmp_path / "po", catalogue)
    edit(tmp_path / "po" / "ja.po", "長い文です。", "とても長い文です。")
    po.exchange(tmp_path / "po", catalogue)
    pairs = {identifier: pair for identifier, pair, _ in po.entries(catalogue)}
    assert pairs["greetings.long"].japanese == "とても長い文です。\n\n\b\n  hackathon status"
    assert "# its example stays" in source(catalogue)


def test_an_edit_of_the_english_text_marks_its_translation(po: ModuleType, catalogue: Path, tmp_path: Path) -> None:
    po.exchange(tmp_path / "po", catalogue)
    edit(tmp_path / "po" / "en.po", 'msgstr "Hello, {name}"', 'msgstr "Good morning, {name}"')
    assert fuzzy(po.exchange(tmp_path / "po", catalogue)) == ["greetings.hello"]
    assert '"Good morning, {name}"' in source(catalogue)


def test_an_edit_that_loses_a_placeholder_is_refused(po: ModuleType, catalogue: Path, tmp_path: Path) -> None:
    po.exchange(tmp_path / "po", catalogue)
    edit(tmp_path / "po" / "ja.po", "こんにちは、{name}", "こんにちは")
    assert [line for line in po.exchange(tmp_path / "po", catalogue) if "placeholders differ: ['name']" in line]
    assert source(catalogue) == SOURCE


def test_an_edit_does_not_undo_a_later_one(po: ModuleType, catalogue: Path, tmp_path: Path) -> None:
    po.exchange(tmp_path / "po", catalogue)
    edit(catalogue / "greetings" / "greetings.py", "こんにちは、{name}", "ようこそ、{name}")
    edit(tmp_path / "po" / "ja.po", "こんにちは、{name}", "やあ、{name}")
    assert [
        line for line in po.exchange(tmp_path / "po", catalogue) if "has changed since this file was written" in line
    ]
    assert "ようこそ、{name}" in source(catalogue)
