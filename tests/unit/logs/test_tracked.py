"""Experiment trackers in a program's outputs: found, listed with their commands, and read as metrics."""

import json
import math
import struct
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hackathon.cli.main import run as command
from hackathon.logs.final import final_numbers
from hackathon.logs.tracked import read_events
from hackathon.runs.directory import RunDirectory
from hackathon.runs.outputs.trackers import tracker_files
from hackathon.runs.outputs.walk import OutputFile
from support.paths import TESTS
from support.runs import new_run, project

EVENTS = TESTS / "samples" / "trackers" / "events.out.tfevents.1000000000.node.1.0"
MLFLOW = "17959 1.0 0\n17959 2.0 1\n17960 900.0 2\n17962 902.0 4\n17961 901.0 3\n"


def put(run: RunDirectory, name: str, content: bytes) -> None:
    path = Path(str(run.path / "source" / name))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def numbers(run: RunDirectory) -> tuple[dict[str, float], dict[str, str], set[str]]:
    found = final_numbers(run.path, run.known(), over=True)
    return dict(found.values), dict(found.sure), {name for name, source in found.origins.items() if source == "tracker"}


def tracked_run(tmp_path: Path, **changes: object) -> RunDirectory:
    return new_run(project(tmp_path), **{"processes": 1, "nodes": 1, "metric": "samples_per_s", **changes})


def test_scalars_of_a_real_event_file() -> None:
    tags: dict[str, list[float]] = {}
    for tag, _step, value in read_events(EVENTS.read_bytes()):
        tags.setdefault(tag, []).append(value)
    assert set(tags) == {"train/samples_per_s", "accuracy", "perplexity", "eval/loss", "train/loss"}
    assert tags["train/samples_per_s"] == [10, 20, 100, 101, 102, 103, 104, 105]
    assert tags["accuracy"] == pytest.approx([number / 10 for number in range(8)])
    assert tags["perplexity"] == [9.0 - number for number in range(8)]


def test_metrics_that_the_log_does_not_have_come_from_tensorboard(tmp_path: Path) -> None:
    run = tracked_run(tmp_path, check={"metric": "accuracy", "at_least": 0.5}, metrics={"perplexity": {}, "loss": {}})
    put(run, "runs/a/events.out.tfevents.1000000000.node.1.0", EVENTS.read_bytes())
    values, sure, tracked = numbers(run)
    assert values["samples_per_s"] == 102.5, "the median without the first two"
    assert values["accuracy"] == pytest.approx(0.7) and values["perplexity"] == 2.0
    assert "loss" not in values, "two tags could be it"
    assert tracked == {"samples_per_s", "accuracy", "perplexity"} and set(sure.values()) == {"tracker"}


def test_what_the_log_has_counts_first(tmp_path: Path) -> None:
    run = tracked_run(tmp_path)
    put(run, "runs/a/events.out.tfevents.1000000000.node.1.0", EVENTS.read_bytes())
    (run.path / "logs").mkdir(exist_ok=True)
    (run.path / "logs" / "rank-0.log").write_text("throughput: 55.0 samples/s total\n")
    values, _sure, tracked = numbers(run)
    assert values["samples_per_s"] == 55.0 and not tracked


def test_the_rate_of_several_processes_is_in_doubt(tmp_path: Path) -> None:
    run = tracked_run(tmp_path, processes=2)
    put(run, "runs/a/events.out.tfevents.1000000000.node.1.0", EVENTS.read_bytes())
    values, sure, tracked = numbers(run)
    assert values["samples_per_s"] == 102.5 and sure["samples_per_s"] == "unsure" and tracked


def test_several_runs_of_a_tracker_are_not_guessed_between(tmp_path: Path) -> None:
    run = tracked_run(tmp_path)
    for rank in (0, 1):
        put(run, f"runs/rank{rank}/events.out.tfevents.1000000000.node.1.{rank}", EVENTS.read_bytes())
    assert numbers(run)[0] == {}


def test_mlflow_s_files_are_read_by_step(tmp_path: Path) -> None:
    run = tracked_run(tmp_path, metric="tokens_per_s", check={"metric": "accuracy", "at_least": 0.5})
    put(run, "mlruns/0/meta.yaml", b"")
    put(run, "mlruns/0/4b70/meta.yaml", b"")
    put(run, "mlruns/0/4b70/metrics/tokens_per_s", MLFLOW.encode())
    put(run, "mlruns/0/4b70/metrics/val/accuracy", b"1 0.5 1\n2 0.75 2\ntorn")
    assert numbers(run)[0] == {"tokens_per_s": 901.0, "accuracy": 0.75}


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 1874), st.binary(max_size=40))
def test_damaged_event_files_are_read_as_far_as_they_go(cut: int, garbage: bytes) -> None:
    raw = EVENTS.read_bytes()
    whole = list(read_events(raw))
    assert list(read_events(raw[:cut])) == whole[: len(list(read_events(raw[:cut])))]
    damaged = raw[:cut] + garbage + raw[cut + len(garbage) :]
    assert all(isinstance(tag, str) and isinstance(value, float) for tag, _step, value in read_events(damaged))


def test_a_number_that_is_not_finite_is_kept(tmp_path: Path) -> None:
    message = b"\x10\x01\x2a\x0e\x0a\x0c\x0a\x04loss\x15" + struct.pack("<f", math.nan)
    message = message[:3] + bytes([len(message) - 4]) + message[4:5] + bytes([len(message) - 6]) + message[6:]
    raw = struct.pack("<Q", len(message)) + b"\0" * 4 + message + b"\0" * 4
    (found,) = read_events(raw)
    assert found[:2] == ("loss", 1) and math.isnan(found[2])


def test_each_tracker_has_its_command() -> None:
    paths = (
        "source/wandb/offline-run-20260101_010101-abcd1234/run-abcd1234.wandb",
        "source/wandb/offline-run-20260101_010101-abcd1234/files/config.yaml",
        "source/my runs/a/events.out.tfevents.1.node.1.0", "source/my runs/b/events.out.tfevents.1.node.1.0",
        "mlruns/0/aaa/meta.yaml", "mlruns/0/bbb/meta.yaml", "mlruns/0/meta.yaml", "source/mlflow.db",
        "source/wandb_notes.txt", "source/events.txt",
    )  # fmt: skip
    found = {(entry.tracker, entry.path): (entry.runs, entry.command) for entry in tracker_files(
        [OutputFile(path, 1, 0.0) for path in paths])}  # fmt: skip
    assert found == {
        ("W&B", "source/wandb/offline-run-20260101_010101-abcd1234"):
            (1, "wandb sync source/wandb/offline-run-20260101_010101-abcd1234"),
        ("TensorBoard", "source/my runs"): (2, "tensorboard --logdir 'source/my runs'"),
        ("MLflow", "mlruns"): (2, "MLFLOW_ALLOW_FILE_STORE=true mlflow ui --backend-store-uri mlruns"),
        ("MLflow", "source/mlflow.db"): (0, "mlflow ui --backend-store-uri sqlite:///source/mlflow.db"),
    }  # fmt: skip
    assert tracker_files([OutputFile("source/model.pt", 1, 0.0)]) == []


def test_status_lists_the_trackers_of_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tracked_run(tmp_path)
    put(run, "tb/events.out.tfevents.1000000000.node.1.0", EVENTS.read_bytes())
    Path(str(run.path / "final.json")).write_text(
        json.dumps({"schema_version": 1, "state": "SUCCEEDED", "started": 1.0, "ended": 2.0})
    )
    monkeypatch.chdir(run.path.parent.parent)
    assert command(["status", "--no-ask", run.id]) == 0
    assert "tensorboard --logdir source/tb" in capsys.readouterr().out
    command(["status", "--no-ask", "--json", run.id])
    (row,) = json.loads(capsys.readouterr().out)["runs"]
    assert row["outputs"]["trackers"] == [
        {"tracker": "TensorBoard", "path": "source/tb", "runs": 1, "command": "tensorboard --logdir source/tb"}
    ]
