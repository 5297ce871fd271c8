"""`hackathon status`: the last column says what the state does not say already."""

import json
from pathlib import Path

import pytest

from hackathon.cli.main import run
from hackathon.cli.run.status_table import table_lines
from hackathon.runs.directory import RunDirectory
from hackathon.text.columns import width
from support.terminal import Terminal

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


def test_a_team_mates_failure_has_its_cause(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not only its exit code: the reader's own toolkit diagnoses it, and takes nothing that the owner stored."""
    (folder / "logs").mkdir()
    line = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 15.90 GiB total capacity)\n"
    (folder / "logs" / "rank-0.log").write_text(line)
    final = {"state": "FAILED", "cause": "rank", "reason": "rank 0 ended with exit code 1", "job_id": "7", "sealed": 2,
             "exit_code": 1}  # fmt: skip
    (folder / "final.json").write_text(json.dumps(final))
    monkeypatch.setattr(RunDirectory, "owned", lambda self: False)
    assert "GPU 0 is out of memory" in _shown(capsys)


WIDE = [
    ["20260101-000000-srgan-ddp-16p-abcdefgh", "RUNNING", "482037.reedbush-pbsadmin0", "12 min", ""],
    ["20260101-000100-モデル-4p-bcdefghi", "FAILED", "482038.reedbush-pbsadmin0", "2.5 h",
     "GPU: GPU 0 のメモリ不足です（さらに 2.00 GiB が必要、GPU 全体は 15.90 GiB）: train.py:41 (exit code 1)"],
    ["20260101-000200-srgan-ddp-16p-cdefghij", "TIMEOUT", "–", "3 h", "walltime"],
]  # fmt: skip
HEAD = ["run", "state", "job", "since", "reason"]


def test_no_row_is_wider_than_the_terminal_and_no_job_id_is_cut() -> None:
    for columns in (*range(40, 130), 200):
        lines = table_lines(HEAD, WIDE, columns)
        assert max(map(width, lines)) <= columns
        text = "\n".join(lines)
        for run_id, state, job, since, reason in WIDE:
            assert run_id[-8:] in text and state in text and since in text and (job in text or job == "–")
            assert "".join(reason.split()) in "".join(text.split())
            shown = next(word for word in text.split() if word.endswith(run_id[-8:]))
            assert shown in run_id, "what is shown of a run's id names it"
        assert not [line for line in lines if not line.strip()]


def test_a_wide_terminal_and_a_pipe_have_one_line_for_a_run() -> None:
    assert table_lines(HEAD, WIDE, None) == table_lines(HEAD, WIDE, 250)
    assert [line.split()[0] for line in table_lines(HEAD, WIDE, None)] == ["run", *(row[0] for row in WIDE)]
    assert table_lines(HEAD, WIDE, 80)[1].startswith(
        "srgan-ddp-16p-abcdefgh  RUNNING  482037.reedbush-pbsadmin0  12 min"
    )


@pytest.mark.slow
@pytest.mark.parametrize("language", ["en", "ja"])
def test_eighty_columns(folder: Path, language: str) -> None:
    job = {
        "state": "CANCELLED",
        "cause": "cancelled",
        "reason": "by admin " * 12,
        "job_id": "482037.reedbush-pbsadmin0",
    }
    (folder / "final.json").write_text(json.dumps({**job, "sealed": 2}))
    terminal = Terminal("status", "--no-ask", columns=80, height=24, language=language, folder=folder.parent.parent)
    try:
        assert terminal.end() == 0
        lines = terminal.screen()
    finally:
        terminal.close()
    assert max(map(width, lines)) <= 80 and sum("482037.reedbush-pbsadmin0" in line for line in lines) == 1
    assert " ".join(" ".join(lines).split()).count("by admin") == 12


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
