"""`hackathon predict --async` as a person calls it."""

import json
from pathlib import Path

import pytest

from hackathon.cli.main import run
from support.samples.runs import Sample, write_run

FINAL = {
    "compute_seconds": 0.1, "compute_deviation": 0.01, "exchange_seconds": 0.002, "exchange_deviation": 0.0004,
    "latency_seconds": 0.0005, "update_seconds": 0.02, "update_deviation": 0.002, "add_seconds": 0.0001,
    "batch_size": 16, "epoch_samples": 1437, "gradients": 1800, "mini_batch": 16, "staleness_bound": -1,
    "gradient_bytes": 236072, "most_gradients": 1, "planted_compute": 0, "planted_update": 0, "planted_jitter": 0,
    "sweep_seconds": 9.2, "staleness": 1.0,
}  # fmt: skip


def trained(project: Path, workers: int, number: int, state: str = "SUCCEEDED", **changed: float) -> str:
    """Write a run of the recipe, and return its id."""
    made = write_run(project / "runs", Sample(workers, 100.0, state), number, name="async-sgd")
    lines = [json.loads(line) for line in (made / "metrics/rank-0.jsonl").read_text().splitlines()]
    lines[-1] |= {"final": True, "workers": workers} | FINAL | changed
    (made / "metrics/rank-0.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return made.name


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    monkeypatch.chdir(tmp_path)
    assert run(["init", "--command", "python train.py", "--cluster", "laptop"]) == 0
    capsys.readouterr()
    return tmp_path


def told(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, object]:
    assert run(["predict", "--async", *words, "--json"]) == 0, capsys.readouterr().err
    found = json.loads(capsys.readouterr().out)
    assert isinstance(found, dict)
    return found


def test_the_newest_run_of_one_worker_is_taken(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trained(project, 1, 1, compute_seconds=0.3)
    newest = trained(project, 1, 2)
    trained(project, 1, 3, "FAILED")
    trained(project, 4, 4, sweep_seconds=2.4, mini_batch=18.0, staleness=3.6)
    trained(project, 4, 5, sweep_seconds=9.9, planted_compute=0.5)  # other settings
    found = told(capsys, "--workers", "4,8", "--target-batch", "20")
    assert found["run"] == newest and found["timings"]["compute_seconds"] == 0.1  # type: ignore[index]
    four, eight = found["predictions"]  # type: ignore[misc]
    assert four["measured"] == {"runs": 1, "sweep_seconds": 2.4, "batch": 18.0, "staleness": 3.6}
    assert four["sweep_seconds"] == pytest.approx(1437 / 16 * 0.102 / 4, rel=0.03)
    assert eight["measured"] is None and eight["warnings"] == ["extrapolated"]
    assert found["chosen"] in (4, 8)


def test_the_table_in_both_languages(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = trained(project, 1, 1)
    trained(project, 4, 4, sweep_seconds=2.4, mini_batch=18.0, staleness=3.6)
    assert run(["predict", "--async", "--workers", "4,64", "--target-batch", "20", name[-8:]]) == 0
    text = capsys.readouterr().out
    assert "gradient 100 ms (16 samples), exchange 2 ms, update 20 ms" in text
    assert "measured" in text and "2.4 s, 18, 3.6" in text
    assert "fastest with a batch within 25 % of 20: 4 workers" in text
    assert "64 workers: no run with so many; the largest one that was measured has 4" in text
    assert "assumed: each worker has cores" in text
    assert run(["--lang", "ja", "predict", "--async", "--workers", "64", "--target-batch", "5000"]) == 0
    text = capsys.readouterr().out
    assert "非同期 SGD" in text and "構成はありません" in text and "前提" in text


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--async"], "--async needs --workers"),
        (["--async", "--workers", "4"], "not known: this project has no successful run of one worker"),
        (["--async", "--workers", "4", "zzz"], "no run has zzz in its id"),
        (["--async", "--workers", "0"], "Invalid value"),
        (["--async", "--workers", "5000"], "at most 4096"),
        (["--async", "--workers", "4", "--processes", "4"], "--processes cannot be used with --async"),
        (["--async", "--workers", "4", "--batch-size", "4"], "--batch-size cannot be used with --async"),
        (["--workers", "4", "--processes", "4"], "--workers needs --async"),
        (["--target-batch", "4", "--processes", "4"], "--target-batch needs --async"),
    ],
)
def test_wrong_requests_end_with_two(
    project: Path, capsys: pytest.CaptureFixture[str], words: list[str], reason: str
) -> None:
    assert run(["predict", *words]) == 2
    assert reason in " ".join(capsys.readouterr().err.split())


def test_a_run_that_cannot_tell(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    several = trained(project, 4, 1)
    failed = trained(project, 1, 2, "FAILED")
    lacking = trained(project, 1, 3, latency_seconds=float("nan"))
    for name, reason in (
        (several, "has 4 workers"), (failed, "did not succeed (FAILED)"), (lacking, "did not tell latency_seconds"),
        ("async-sgd", "is part of the ids of 3 runs"),
    ):  # fmt: skip
        assert run(["predict", "--async", "--workers", "4", name]) == 2
        assert reason in " ".join(capsys.readouterr().err.split()), name
    assert run(["predict", "--async", "--workers", "4"]) == 2
    assert "not known" in capsys.readouterr().err
