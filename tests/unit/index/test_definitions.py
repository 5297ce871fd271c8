"""A corrected pattern in project.yaml is used for the runs on disk, by every reader, and their records stay."""

import json
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from hackathon.cli.main import run
from hackathon.index.index import Index
from hackathon.index.memory import Memory
from hackathon.index.projects import ProjectFolder
from hackathon.index.studies import by_study, results_of
from hackathon.jobs.measured import measured_by
from hackathon.runs.directory import RunDirectory

WRONG, RIGHT = "speed=([0-9]+) x", "speed=([0-9]+)"
ENTRY = {"pattern": WRONG, "unit": "samples/s", "reduce": "median", "skip_first": 0, "ranks": "first"}
STUDY = "20260101-000000-mine-abcdefgh"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project whose study of two points was measured with a wrong pattern."""
    monkeypatch.chdir(tmp_path)
    request = {"name": "mine", "nodes": 1, "scheduler": "shell", "cluster": "laptop", "metric": "samples_per_s",
               "metrics": {"samples_per_s": ENTRY}, "processes": 1}  # fmt: skip
    for processes in (1, 2):
        folder = tmp_path / "runs" / f"20260101-000000-mine-{processes}p-abcdefg{'hi'[processes - 1]}"
        for name in ("client", "logs"):
            (folder / name).mkdir(parents=True)
        point = {"id": STUDY, "processes": processes, "repeat": 1}
        (folder / "request.json").write_text(json.dumps({**request, "processes": processes, "study": point}))
        (folder / "client" / "created.json").write_text('{"t": 1}')
        (folder / "client" / "submitted.json").write_text('{"t": 1, "job_id": "7"}')
        (folder / "final.json").write_text('{"state": "SUCCEEDED", "job_id": "7", "sealed": 2}')
        (folder / "logs" / "rank-0.log").write_text(f"speed={100 * processes}\nframes={7 * processes}\n")
        reserved = tmp_path / "studies" / STUDY / "points"
        reserved.mkdir(parents=True, exist_ok=True)
        (reserved / f"{processes}-1").write_text(f"{folder.name}\n{{}}\n")
    study = {"schema_version": 1, "id": STUDY, "name": "mine", "created": 1, "mode": "weak", "metric": "samples_per_s",
             "unit": "samples/s", "base_request": request,
             "points": [{"processes": each, "repeat": 1} for each in (1, 2)]}  # fmt: skip
    (tmp_path / "studies" / STUDY / "study.json").write_text(json.dumps(study))
    _write(tmp_path, WRONG)
    return tmp_path


def _write(folder: Path, pattern: str, name: str = "mine", metric: str = "samples_per_s") -> None:
    (folder / "project.yaml").write_text(
        f"name: {name}\ncommand: python train.py\nmetric: {metric}\n"
        f"metrics:\n  {metric}: {{pattern: '{pattern}', unit: samples/s, reduce: median}}\n"
    )


def _indexed(index: Index) -> tuple[list[float | None], dict[str, object]]:
    index.refresh()
    [study] = by_study(index.summaries, Memory())
    found = results_of(study)
    return sorted((each.value for each in index.summaries), key=lambda value: value or 0.0), found


def _shown(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, object]:
    capsys.readouterr()
    run(["results", *words, "--no-ask", "--json"])
    shown: dict[str, object] = json.loads(capsys.readouterr().out)
    return shown


def test_every_reader_uses_the_corrected_pattern(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept = {path: path.read_bytes() for path in [*project.glob("runs/*/*.json"), *project.glob("studies/*/*.json")]}
    index = Index([ProjectFolder(project)], project / "index.sqlite")
    values, before = _indexed(index)
    assert values == [None, None] and before == _shown(capsys, STUDY) and before["metrics_from"] == "run"
    _write(project, RIGHT)
    values, after = _indexed(index)
    assert values == [100.0, 200.0] and after["metrics_from"] == "project"
    assert after == _shown(capsys, STUDY)
    assert [point["value"] for point in after["points"]] == [100.0, 200.0]  # type: ignore[attr-defined]
    single = _shown(capsys, "abcdefgi")
    assert (single["metrics_from"], single["metrics"]) == ("project", {"samples_per_s": 200.0})
    run(["results", "abcdefgi", "--no-ask"])
    assert "project.yaml" in capsys.readouterr().out
    index.close()
    again = Index([ProjectFolder(project)], project / "index.sqlite")  # what a restart finds on disk is not older
    _write(project, "frames=([0-9]+)", metric="frames_per_s")
    values, renamed = _indexed(again)
    assert values == [7.0, 14.0] and renamed == _shown(capsys, STUDY) and renamed["metric"] == "frames_per_s"
    again.close()
    assert all(path.read_bytes() == raw for path, raw in kept.items())


@pytest.mark.parametrize("change", ["other name", "recipe", "broken", "gone", "link", "another's", "same"])
def test_other_patterns_than_its_own_projects_are_never_applied(
    project: Path, change: str, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = project / "runs" / "20260101-000000-mine-1p-abcdefgh"
    _write(project, WRONG if change == "same" else RIGHT, "another" if change == "other name" else "mine")
    if change == "recipe":
        request = json.loads((folder / "request.json").read_text())
        (folder / "request.json").write_text(json.dumps({**request, "recipe": "torch-ddp"}))
    elif change == "broken":
        (project / "project.yaml").write_text("name: mine\nmetrics: [")
    elif change == "gone":
        (project / "project.yaml").unlink()
    elif change == "link":
        elsewhere = tmp_path_factory.mktemp("elsewhere") / "project.yaml"
        (project / "project.yaml").rename(elsewhere)
        (project / "project.yaml").symlink_to(elsewhere)
    elif change == "another's":
        state = os.lstat(project / "project.yaml")
        other = os.stat_result([*state[:4], state.st_uid + 1, *state[5:]])
        # in that module only: threads of other tests and pytest, which removes folders, use os.lstat, too
        look = SimpleNamespace(
            lstat=lambda path: other if path == f"{project}/project.yaml" else os.lstat(path), fstat=os.fstat
        )
        monkeypatch.setattr("hackathon.jobs.measured.os", look)
    run = RunDirectory(folder)
    assert run.known().readable, (run.refused(), [oct(path.stat().st_mode) for path in (folder, *folder.iterdir())])
    record = run.record()
    assert record.metrics_from == "run" and record.metrics["samples_per_s"]["pattern"] == WRONG


def test_a_run_without_some_fields_of_a_metric_is_not_called_another(project: Path) -> None:
    request = {"name": "mine", "metric": "samples_per_s", "metrics": {"samples_per_s": {"pattern": WRONG,
               "unit": "samples/s", "reduce": "median"}}}  # fmt: skip
    assert measured_by(project, project, request).origin == "run"
    assert measured_by("", project, request).origin == "run"
