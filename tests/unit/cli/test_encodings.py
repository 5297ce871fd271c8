"""Terminals that are not UTF-8: what their encoding lacks is replaced, and no command ends in a traceback."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from hackathon.cli.json_output import echo_json
from support import sources

COMMANDS = (
    ("check",), ("render",), ("status",), ("results",), ("top", "--once"), ("diagnose",), ("clusters",), ("doctor",),
    ("results", "--help"),
)  # fmt: skip


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    (folder / "project.yaml").write_text(
        "name: digits\ntitle: 数字の認識 × ✓ … – ≥ 한국어\ncommand: sh run.sh\ncluster: laptop\nlauncher: local\n"
        "metrics:\n  rate: {pattern: 'rate ([0-9.]+)', unit: 件/s}\n",
        encoding="utf-8",
    )
    (folder / "run.sh").write_text("echo rate 5; echo 'Traceback: 失敗 × …'; exit 1\n", encoding="utf-8")
    _called(folder, "utf-8", "scale", "--processes", "1", "--wait")
    return folder


def _called(folder: Path, encoding: str, *words: str, language: str = "ja") -> subprocess.CompletedProcess[bytes]:
    environment = {**os.environ, "PYTHONIOENCODING": encoding, "HACKATHON_LANG": language}
    command = [sys.executable, "-m", "hackathon", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, env=environment, check=False)


@pytest.mark.parametrize("encoding", ["euc_jp", "latin-1"])
def test_no_command_ends_in_a_traceback(project: Path, encoding: str) -> None:
    for words in COMMANDS:
        done = _called(project, encoding, *words)
        assert b"Traceback (most" not in done.stderr and done.returncode in (0, 1, 2, 3), (words, done.stderr)
        (done.stdout + done.stderr).decode(encoding)


def test_japanese_stays_and_signs_become_plain(project: Path) -> None:
    found = _called(project, "euc_jp", "status", language="ja").stdout.decode("euc_jp")
    assert "実行" in found and "?" not in found, found
    error = UnicodeEncodeError("latin-1", "a…\udce9한", 1, 4, "")
    import hackathon.cli.main as cli

    assert [cli._fitting(UnicodeEncodeError("latin-1", error.object, at, at + 1, "")) for at in (1, 2, 3)] == [
        (b"...", 2), (b"\xe9", 3), (b"?", 4),
    ]  # fmt: skip


def test_json_of_others_does_not_steer_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    value = {"note": "a\x9b31m\x7f\x90q\u202eb\u2066 日本", "rate": [float("nan"), 1.5]}
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    echo_json(value)
    shown = capsys.readouterr().out
    assert json.loads(shown) == {"schema_version": 1, **value, "rate": [None, 1.5]} and "日本" in shown
    assert all(letter == "\n" or letter.isprintable() for letter in shown)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: False)
    echo_json({"note": value["note"]})
    assert json.loads(capsys.readouterr().out)["note"] == value["note"]


def test_every_command_prints_json_so() -> None:
    for path in sources.modules():
        if "cli" in path.parts:
            assert "echo(json.dumps" not in sources.text(path), path
