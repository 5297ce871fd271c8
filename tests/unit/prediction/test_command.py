"""`hackathon predict` as a person calls it, with tables and with studies."""

import io
import json
from pathlib import Path

import pytest

from hackathon.cli.main import run
from support.samples.runs import Sample, write_study

TABLE = "processes,value,nodes,series\n1,100,1,a\n4,390,1,a\n8,740,2,a\n1,10,1,b\n2,19,1,b\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text(TABLE, "utf-8")
    return tmp_path


def told(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, object]:
    assert run(["predict", *words, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert isinstance(found, dict)
    return found


def test_one_series_and_several(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = told(capsys, "t.csv", "--processes", "16,32", "--series", "a")
    assert one["series"] == "a" and one["base_processes"] == 1 and len(one["predictions"]) == 2  # type: ignore[arg-type]
    both = told(capsys, "t.csv", "--processes", "16,32")
    assert list(both) == ["schema_version", "results"] and both["results"][0] == one  # type: ignore[index]


def test_standard_input_and_history(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "h.csv").write_text("series,processes,value,nodes\nold,4,300,1\nold,8,480,2\nold,16,800,4\n", "utf-8")

    class Input:
        buffer = io.BytesIO(b"processes,value,nodes\n1,100,1\n4,390,1\n")

    monkeypatch.setattr("sys.stdin", Input)
    found = told(capsys, "-", "--processes", "8", "--history", "h.csv")
    (entry,) = found["predictions"]  # type: ignore[misc]
    assert entry["basis"] == "history" and entry["value"] == pytest.approx(390 * 480 / 300, rel=0.02)


def test_the_table_says_what_is_not_known(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["predict", "t.csv", "--processes", "8,16", "--series", "b"]) == 0
    text = capsys.readouterr().out
    assert "weak scaling" in text and "inside one node" in text and "90 % interval" in text
    assert run(["--lang", "ja", "predict", "t.csv", "--processes", "8,16", "--series", "a"]) == 0
    assert "効率" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["missing.csv", "--processes", "4"], "cannot read missing.csv"),
        (["t.csv", "--processes", "4", "--series", "c"], "no series c; known: a, b"),
        (["--processes", "4"], "nothing is known about larger sizes"),
        (["abc", "--processes", "4"], "neither a file nor one study"),
        (["-", "--history", "-", "--processes", "4"], "not both"),
        (["t.csv", "--processes", "0"], "Invalid value"),
        (["t.csv"], "--processes"),
    ],
)
def test_wrong_requests_end_with_two(
    folder: Path, capsys: pytest.CaptureFixture[str], words: list[str], reason: str
) -> None:
    assert run(["predict", *words]) == 2
    assert reason in " ".join(capsys.readouterr().err.split())


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a study of four sizes, and an older one that went further on the same cluster."""
    monkeypatch.chdir(tmp_path)
    assert run(["init", "--command", "python train.py", "--cluster", "laptop"]) == 0
    return tmp_path


def test_a_study_is_predicted_from_its_results(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_study(project, [Sample(1, 1000.0), Sample(2, 1950.0), Sample(4, 3800.0), Sample(8, 7400.0)])
    capsys.readouterr()
    found = told(capsys, "--processes", "8,16")
    measured, beyond = found["predictions"]  # type: ignore[misc]
    assert measured["value"] == 7400.0 and measured["basis"] == "measured"
    assert 13000 < beyond["low"] < beyond["value"] < beyond["high"] < 15500 and beyond["seconds"] > 0
    assert run(["results"]) in (0, 1)
    text = capsys.readouterr().out
    assert "predicted at 16 processes: efficiency 9" in text and "predicted at 32 processes" in text
    assert run(["results", "--json"]) in (0, 1)
    fit = json.loads(capsys.readouterr().out)["fit"]
    assert [each["processes"] for each in fit["predicted"]] == [16, 32]
    assert fit["predicted"][0]["low"] < fit["predicted"][0]["efficiency"] < fit["predicted"][0]["high"]


def test_check_says_what_a_request_would_reach(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "train.py").write_text("print('500 samples/s')\n")
    (project / "project.yaml").write_text("name: own\ncommand: python train.py\ncluster: laptop\nprocesses: 2\n")
    assert run(["check", "--json"]) == 0
    capsys.readouterr()  # what the project's making said stands before
    assert run(["check", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["prediction"] is None
    write_study(project, [Sample(1, 1000.0), Sample(4, 3800.0)], name="own")
    for file in project.rglob("*.json"):
        file.write_text(file.read_text().replace('"reedbush-h"', '"laptop"'))
    assert run(["check", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["prediction"]
    assert found["processes"] == 2 and 1880 < found["low"] < found["value"] < found["high"] < 2020
    assert run(["check"]) == 0
    assert "predicts 1,949 samples/s at 2 processes" in capsys.readouterr().out
    (project / "project.yaml").write_text("name: other\ncommand: python train.py\ncluster: laptop\nprocesses: 2\n")
    assert run(["check", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["prediction"] is None


def test_false_points_are_not_used(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from hackathon.prediction.study import of_results
    from hackathon.scaling.doubts import Doubt
    from hackathon.scaling.table import RunResult, results

    runs = [RunResult(f"r{p}", None, p, 1, "SUCCEEDED", "", 100.0 * p) for p in (1, 2, 4)]
    false = RunResult("r8", None, 8, 1, "SUCCEEDED", "", 6400.0, doubts=(Doubt("no-group"),))
    (made,) = of_results(results("s", "weak", "samples_per_s", "samples/s", [*runs, false]))
    assert [row.processes for row in made.rows] == [1, 2, 4] and "doubted" in made.notes
