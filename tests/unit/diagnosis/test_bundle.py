"""A bundle for a tutor holds what is needed, and nothing that must not leave."""

import json
import stat
import tarfile
from pathlib import Path

import pytest

from hackathon.cli.main import run as command
from hackathon.diagnosis import bundle

SECRET = "q7Xz" + "9mK2pL4vB8nR1tY6wE3s"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run that failed and that is full of secrets."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("USER", "alice")
    path = tmp_path / "runs" / "20261121-095900-demo-2p-abcdefgh"
    files = {
        "request.json": json.dumps(
            {"name": "demo", "processes": 2, "environment": {"HF_TOKEN": SECRET}, "source": "/home/alice/x"}
        ),
        "job.sh": f"#!/bin/bash\nexport WANDB_API_KEY={SECRET}\ncd /home/alice/x\n",
        "client/created.json": '{"t": 1.0, "user": "alice"}',
        "client/cancelled.json": '{"t": 5.0}',
        "events/job.jsonl": '{"t": 1.0, "event": "started", "host": "n1"}\n',
        "env/n1.json": '{"packages": {"torch": "2.9"}}',
        "logs/rank-0.log": f"Authorization: Bearer {SECRET}\n" + "step\n" * 100_000 + "the end of rank 0\n",
        "logs/rank-1.log": "RuntimeError: lattice lost in /home/alice/x/train.py\n",
        "metrics/rank-0.jsonl": '{"step": 1, "loss": 2.0}\n',
        "source/train.py": "print('the program')\n",
        "checkpoints/model.pt": "x" * 100,
    }
    for name, text in files.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text(text)
    (path / "logs" / "nccl-trace-0").write_bytes(b"\x80\x04\0\0" * 10)
    return path


def _members(path: Path) -> dict[str, str]:
    with tarfile.open(path) as archive:
        found = {}
        for entry in archive.getmembers():
            stream = archive.extractfile(entry)
            assert stream is not None and entry.uid == 0 and entry.uname == "" and entry.mode == 0o600
            found[entry.name.split("/", 1)[1]] = stream.read().decode()
    return found


def test_a_runs_bundle_is_scrubbed_and_private(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command(["diagnose", "demo", "--bundle"]) == 0
    path = Path(f"{run.name}-bundle.tar.gz")
    shown = capsys.readouterr()
    assert str(path) in shown.err and "source/: the program itself" in shown.err
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    found = _members(path)
    assert {
        "request.json", "job.sh", "events/job.jsonl", "env/n1.json", "logs/rank-0.log", "logs/rank-1.log",
        "metrics/rank-0.jsonl", "status.json", "findings.json", "diagnosis.txt", "bundle.json",
    } <= set(found)  # fmt: skip
    everything = "\n".join([*found, *found.values()])
    assert "q7Xz" not in everything and "alice" not in everything and "the program" not in everything
    assert json.loads(found["request.json"])["environment"] == {"HF_TOKEN": "[removed]"}
    assert found["logs/rank-0.log"].endswith("the end of rank 0\n") and len(found["logs/rank-0.log"]) <= bundle.LOG
    assert "lattice lost in ~/x/train.py" in found["logs/rank-1.log"]
    assert json.loads(found["findings.json"]).keys() == {"findings", "harmless", "unknown", "left_out"}
    for name, why in (("logs/nccl-trace-0", "not text"), ("checkpoints/", ""), ("logs/rank-0.log", "only the last")):
        assert f"{name}: {why}" in shown.err and ("only" in why or name not in found)


def test_files_and_what_is_piped_in(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = run / "logs" / "rank-1.log"
    assert command(["diagnose", str(log), "--bundle", "for-tutor.tgz"]) == 0
    assert "files/0/rank-1.log" in _members(Path("for-tutor.tgz"))
    assert command(["diagnose", str(log), "--json", "--bundle", "two.tar.gz"]) == 0
    shown = capsys.readouterr()
    assert "two.tar.gz" in shown.err and "findings" in json.loads(shown.out[shown.out.index("{") :])


def test_what_does_not_fit_is_told(
    run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bundle, "TOTAL", 2000)
    monkeypatch.setattr(bundle, "FILES", 2)
    assert command(["--lang", "ja", "diagnose", "demo", "--bundle", "x.tar.gz"]) == 0
    shown = capsys.readouterr().err
    assert "logs/: ほか 1 ファイル" in shown and "metrics/rank-0.jsonl: 容量" in shown
    assert "request.json" in _members(Path("x.tar.gz"))


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["--bundle", "abcdefgh"], ".tar.gz"),
        (["abcdefgh", "abcdefgi", "--bundle"], "holds one run"),
        (["abcdefgh", "--bundle", "missing/x.tar.gz"], "missing/x.tar.gz"),
    ],
)
def test_wrong_requests_are_told(
    run: Path, arguments: list[str], word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    other = run.with_name("20261121-095901-demo-2p-abcdefgi")
    other.mkdir()
    (other / "request.json").write_text("{}")
    assert command(["diagnose", *arguments]) == 2
    assert word in capsys.readouterr().err
    assert not list(Path().glob("*.tar.gz")) and not list(Path().glob(".*.tmp"))
