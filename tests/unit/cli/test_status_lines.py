"""`hackathon status`: the last column says what the state does not say already."""

import json
from pathlib import Path

import pytest

from hackathon.cli.main import run

RECORD = {"name": "mine", "processes": 1, "nodes": 1, "scheduler": "shell", "cluster": "laptop"}


def _shown(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert run(["status", "--no-ask", *words]) == 0
    return capsys.readouterr().out.splitlines()[-1].rstrip()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    """The only run of a project."""
    monkeypatch.chdir(tmp_path)
    assert run(["init", "--command", "python train.py", "--cluster", "laptop"]) == 0
    made = tmp_path / "runs" / "20260101-000000-mine-1p-abcdefgh"
    (made / "client").mkdir(parents=True)
    (made / "request.json").write_text(json.dumps(RECORD))
    (made / "client" / "created.json").write_text('{"t": 1}')
    capsys.readouterr()
    return made


@pytest.mark.parametrize(
    ("state", "cause", "reason", "shown"),
    [
        ("CANCELLED", "cancelled", "cancelled", ""),
        ("CANCELLED", "cancelled", "取り消されました", ""),
        ("CANCELLED", "cancelled", "by admin", "by admin"),
        ("TIMEOUT", "walltime", "walltime reached", "walltime reached"),
    ],
)
def test_how_a_run_ended_is_said_once(
    folder: Path, capsys: pytest.CaptureFixture[str], state: str, cause: str, reason: str, shown: str
) -> None:
    final = {"state": state, "cause": cause, "reason": reason, "job_id": "7", "sealed": 2}
    (folder / "final.json").write_text(json.dumps(final))
    assert _shown(capsys).split(" –", 1)[1].strip() == shown
    assert run(["status", "--json"]) == 0
    [told] = json.loads(capsys.readouterr().out)["runs"]
    assert (told["cause"], told["reason"]) == (cause, reason)


@pytest.mark.parametrize(("raw", "shown"), [("RUNNING", False), ("R", False), ("S", True)])
def test_the_schedulers_word_is_shown_where_it_is_another(
    folder: Path, capsys: pytest.CaptureFixture[str], raw: str, shown: bool
) -> None:
    (folder / "client" / "submitted.json").write_text('{"t": 2, "job_id": "7"}')
    (folder / "client" / "seen.json").write_text(json.dumps({"state": "RUNNING", "raw": raw, "t": 3}))
    line = _shown(capsys)
    assert " RUNNING " in line and (f"[{raw}]" in line) is shown


def test_a_run_that_try_ended_says_so(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "request.json").write_text(json.dumps({**RECORD, "tags": ["try"]}))
    (folder / "client" / "rehearsal.json").write_text('{"ended": "seconds"}')
    (folder / "final.json").write_text(
        '{"state": "CANCELLED", "cause": "cancelled", "reason": "cancelled", "job_id": "7", "sealed": 2}'
    )
    assert _shown(capsys).endswith("ended by `try` after its time")


def test_open_runs_come_first_and_what_is_left_out_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One old run goes on; 25 newer ones have ended, and one is not submitted yet."""
    monkeypatch.chdir(tmp_path)
    for number in range(27):
        made = tmp_path / "runs" / f"20260101-{number:06d}-digits-1p-abcdef{number:02d}"
        (made / "client").mkdir(parents=True)
        (made / "request.json").write_text(json.dumps(RECORD))
        (made / "client" / "created.json").write_text('{"t": 1}')
        if number == 0:
            (made / "client" / "submitted.json").write_text('{"t": 2, "job_id": "7"}')
        elif number > 1:
            (made / "final.json").write_text('{"state": "SUCCEEDED", "job_id": "8", "sealed": 2}')
    assert run(["status", "--no-ask"]) == 0
    said = capsys.readouterr()
    states = [line.split()[1] for line in said.out.splitlines()[1:]]
    assert states == ["QUEUED", *["SUCCEEDED"] * 19]
    assert "7 older runs are left out: --all" in said.err
    assert run(["status", "--no-ask", "--all"]) == 0
    said = capsys.readouterr()
    assert len(said.out.splitlines()) == 28 and "left out" not in said.err
