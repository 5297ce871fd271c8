"""Translations are compiled of the .po file that lies there, whatever was compiled before."""

import os
from pathlib import Path

import pytest

from hackathon.text.locale import catalogue, mo, read

HEAD = 'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=utf-8\\n"\n"Plural-Forms: nplurals=1; plural=0;\\n"\n\n'


@pytest.fixture
def po(tmp_path: Path) -> Path:
    file = tmp_path / "ja" / "LC_MESSAGES" / "hackathon.po"
    file.parent.mkdir(parents=True)
    file.write_text(HEAD + 'msgid "run"\nmsgstr "実行"\n')
    return file


def test_what_is_compiled_is_kept(po: Path, tmp_path: Path) -> None:
    assert catalogue("ja", tmp_path).gettext("run") == "実行"
    compiled = po.with_suffix(".mo")
    before = compiled.stat()
    assert catalogue("ja", tmp_path).gettext("run") == "実行"
    assert compiled.stat().st_ino == before.st_ino


@pytest.mark.parametrize("shift", [-10, 0.001, 10])
def test_an_edit_counts_at_once(po: Path, tmp_path: Path, shift: float) -> None:
    catalogue("ja", tmp_path)
    time = po.stat().st_mtime + shift  # a checkout of an older version makes files older
    po.write_text(HEAD + 'msgid "run"\nmsgstr "ラン"\n')
    os.utime(po, (time, time))
    assert catalogue("ja", tmp_path).gettext("run") == "ラン"


def test_an_installation_has_only_what_is_compiled(po: Path, tmp_path: Path) -> None:
    po.with_suffix(".mo").write_bytes(mo(po.read_text()))
    po.unlink()
    assert catalogue("ja", tmp_path).gettext("run") == "実行"


def test_a_file_of_every_kind_of_entry() -> None:
    text = HEAD + (
        '#: a.py\nmsgctxt "head"\nmsgid "Run"\nmsgstr "実行"\n\n'
        '#, fuzzy\nmsgid "old"\nmsgstr "古い"\n\n'
        'msgid "{n} run"\nmsgid_plural "{n} runs"\nmsgstr[0] "{n} 件"\n\n'
        'msgid ""\n"two\\n"\n"lines \\"quoted\\" \\\\"\nmsgstr ""\n"二\\n"\n"行"\n\n'
        '#~ msgid "gone"\n#~ msgstr "もうない"\n'
    )
    entries = {entry["msgid"]: entry for entry in read(text)}
    assert entries["Run"]["msgctxt"] == "head"
    assert entries["{n} run"]["msgid_plural"] == "{n} runs" and entries["{n} run"]["msgstr"] == "{n} 件"
    assert entries['two\nlines "quoted" \\']["msgstr"] == "二\n行"
    assert "gone" not in entries
    content = mo(text)
    assert "もうない".encode() not in content and "古い".encode() not in content and "実行".encode() in content
