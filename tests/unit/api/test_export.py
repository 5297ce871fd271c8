"""`hackathon export`: what a tracker gets of a study. The packages are stand-ins with the real ones' parameters."""

import importlib
import inspect
import json
import sys
from pathlib import Path

import pytest

import hackathon
from hackathon.cli.main import run
from support import trackers
from support.samples.runs import Sample, write_study

STUDY = "kq3v7xya"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a study of four runs: two repeats, a failed one, one that runs."""
    samples = [
        Sample(1, 100.0), Sample(1, 102.0), Sample(2, 190.0), Sample(4, None, "FAILED", exit_code=1),
        Sample(8, None, "RUNNING"),
    ]  # fmt: skip
    project = tmp_path / "team"
    write_study(project, samples)
    monkeypatch.chdir(project)
    return project


def test_mlflow_gets_series_points_and_every_ended_run(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    client = trackers.install_mlflow(monkeypatch)
    assert run(["export", STUDY, "--to", "mlflow", "--no-ask", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    (study,) = (folder / "studies").iterdir()
    assert told["folder"] == str(study / "mlruns") and len(told["runs"]) == 4 and len(told["left_out"]) == 1
    assert told["command"].endswith(f"mlflow ui --backend-store-uri {study / 'mlruns'}")
    ((address, store),) = client.stores.items()
    assert address == (study / "mlruns").as_uri()
    ((name, runs),) = store.items()
    assert name == study.name
    parent, *children = runs.values()
    points = {(metric.key, metric.step): metric.value for metric in parent.metrics}
    assert points["samples_per_s", 1] == 101 and points["samples_per_s", 2] == 190
    assert points["speedup", 2] == pytest.approx(190 / 101) and ("speedup", 4) not in points
    by_id = {child.tags["hackathon.run"]: child for child in children}
    assert by_id.keys() == told["runs"].keys() and set(told["left_out"]).isdisjoint(by_id)
    assert {child.tags["mlflow.parentRunId"] for child in children} == {"m0"}
    values = sorted(metric.value for child in children for metric in child.metrics if metric.key == "samples_per_s")
    assert values == [100.0, 102.0, 190.0]
    assert sorted(child.name for child in children) == ["1p #1", "1p #2", "2p #1", "4p #1"]
    failed = next(child for child in children if child.name == "4p #1")
    assert (failed.status, failed.tags["hackathon.state"]) == ("FAILED", "FAILED")
    assert {child.status for child in children if child is not failed} == {"FINISHED"}
    assert all(child.params["cluster"] and child.params["processes"] for child in children)
    assert all(child.start and child.end and child.start < child.end for child in children)


def test_a_folder_that_has_the_study_stays_as_it_is(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    client = trackers.install_mlflow(monkeypatch)
    assert run(["export", "--to", "mlflow", "--no-ask"]) == 0
    assert run(["export", "--to", "mlflow", "--no-ask"]) == 2
    assert "--dir FOLDER" in capsys.readouterr().err
    ((_, store),) = client.stores.items()
    assert len(next(iter(store.values()))) == 5
    assert run(["export", "--to", "mlflow", "--no-ask", "--dir", "other"]) == 0
    assert len(client.stores) == 2 and (folder / "other").is_dir()


def test_nothing_counts_when_writing_fails(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    client = trackers.install_mlflow(monkeypatch)
    client.fails_after = 3
    assert run(["export", "--to", "mlflow", "--no-ask"]) == 1
    error = capsys.readouterr().err
    assert "No space left on device" in error and "more" not in error
    ((_, store),) = client.stores.items()
    assert all(kept.deleted for runs in store.values() for kept in runs.values())
    client.fails_after = None
    assert run(["export", "--to", "mlflow", "--no-ask"]) == 0


def test_wandb_gets_offline_runs_of_one_group(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = trackers.install_wandb(monkeypatch)
    assert run(["export", STUDY, "--to", "wandb", "--no-ask"]) == 0
    (study,) = (folder / "studies").iterdir()
    assert f"wandb sync --sync-all {study / 'wandb'}" in capsys.readouterr().out
    series, *others = runs
    assert {entry.given["group"] for entry in runs} == {study.name}
    assert [point["processes"] for point in series.logged] == [1, 2] and series.steps["speedup"] == "processes"
    assert series.given["job_type"] == "study" and {entry.given["job_type"] for entry in others} == {"run"}
    assert sorted(entry.summary.get("samples_per_s", 0) for entry in others) == [0, 100, 102, 190]
    assert sorted(entry.exit_code or 0 for entry in others) == [0, 0, 0, 1]
    assert len({entry.given["id"] for entry in runs}) == 5
    assert run(["export", STUDY, "--to", "wandb", "--no-ask"]) == 2
    assert len(runs) == 5


@pytest.mark.parametrize(("tracker", "package"), [("mlflow", "mlflow-skinny"), ("wandb", "wandb")])
def test_a_missing_package_is_named_before_anything_is_written(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tracker: str, package: str
) -> None:
    monkeypatch.setitem(sys.modules, tracker, None)
    assert run(["export", "--to", tracker, "--no-ask"]) == 2
    error = capsys.readouterr().err
    assert f"pip install {package}" in error and "wheelhouse" in error
    (study,) = (folder / "studies").iterdir()
    assert sorted(path.name for path in study.iterdir()) == ["points", "study.json"]


def test_a_study_without_ended_runs_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    trackers.install_mlflow(monkeypatch)
    write_study(tmp_path, [Sample(1, None, "RUNNING")])
    monkeypatch.chdir(tmp_path)
    assert run(["export", "--to", "mlflow", "--no-ask"]) == 2
    assert "no run" in capsys.readouterr().err


def test_numbers_that_are_not_finite_are_named_and_not_sent(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    client = trackers.install_mlflow(monkeypatch)
    (study,) = hackathon.project(folder).studies()
    first = study.runs()[0]
    path = first.path / "metrics" / "rank-0.jsonl"
    path.parent.mkdir(exist_ok=True)
    with path.open("a") as stream:
        stream.write(json.dumps({"t": 1.0, "attempt": 1, "final": True, "samples_per_s": 100.0, "loss": "NaN"}) + "\n")
    export = study.export("mlflow", folder / "there", ask=False)
    kept = next(iter(client.stores.values()))[study.id][export.runs[first.id]]
    assert "loss" not in {metric.key for metric in kept.metrics}
    assert kept.tags["hackathon.not_finite"] == "loss"


def test_wrong_names_are_refused(folder: Path) -> None:
    (study,) = hackathon.project(folder).studies()
    with pytest.raises(hackathon.RequestError, match="comet"):
        study.export("comet", ask=False)
    assert run(["export", "nosuch", "--to", "mlflow"]) == 2


@pytest.mark.parametrize("package", ["mlflow", "wandb"])
def test_the_stand_ins_have_the_parameters_of_the_real_packages(package: str) -> None:
    real = pytest.importorskip(package, reason=f"the package {package} is not installed")

    def parameters(function: object) -> set[str]:
        return set(inspect.signature(function).parameters)  # type: ignore[arg-type]

    if package == "wandb":
        assert parameters(trackers.init) <= parameters(real.init)
        run_type = importlib.import_module("wandb.sdk.wandb_run").Run
        for name in ("define_metric", "log", "finish"):
            assert parameters(getattr(trackers.WandbRun, name)) <= parameters(getattr(run_type, name))
        assert set(trackers.Settings.model_fields) <= set(real.Settings.model_fields)
        return
    for name, function in vars(trackers.MlflowClient).items():
        if inspect.isfunction(function) and not name.startswith("_"):
            assert parameters(function) <= parameters(getattr(real.MlflowClient, name)), name
    for name in ("Metric", "Param"):
        assert parameters(getattr(trackers, name)) <= parameters(getattr(real.entities, name))
