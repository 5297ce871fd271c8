"""`hackathon predict` as a person calls it, with tables and with studies."""

import io
import json
from dataclasses import replace
from pathlib import Path

import pytest

from hackathon.cli.main import run
from hackathon.config.cluster import Rates
from hackathon.index.record import RunEntry
from hackathon.index.studies import StudyRuns
from hackathon.prediction.study import price_of
from hackathon.scaling.doubts import Doubt
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
    assert "weak scaling" in text and "inside one node" in text and "not a 90 % interval" in text
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
    assert ("with 90 % probability" in text) == any(each["level"] is not None for each in fit["predicted"])
    ranges = any(each["level"] is None for each in fit["predicted"])
    assert ("a range and not a 90 % interval" in " ".join(text.split())) == ranges


def ended(processes: int, seconds: float, step: int | None = None, work: float | None = None) -> RunEntry:
    return RunEntry(
        f"r{processes}", "/p", "aurora", "own", "s", processes=processes, nodes=1, state="SUCCEEDED", started=100.0,
        ended=100.0 + seconds, step=step, work=work,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("mode", "runs", "at_16"),
    [
        # so many epochs of the same data: eight processes need an eighth of the steps
        ("weak", [ended(1, 800.0, 800, 64), ended(8, 110.0, 100, 512)], 800 * 1.2 / 16),
        # as many steps at every size: each process keeps its work
        ("weak", [ended(1, 800.0, 800, 64), ended(8, 880.0, 800, 512)], 800 * 1.2),
        ("weak", [ended(1, 800.0), ended(8, 880.0)], 800 * 1.2),
        ("weak", [ended(1, 800.0, 800, 64), ended(8, 880.0, 100)], 800 * 1.2),
        ("strong", [ended(1, 800.0), ended(8, 110.0)], 800 * 1.2 / 16),
    ],
)
def test_the_time_of_a_run_follows_what_a_process_does(mode: str, runs: list[RunEntry], at_16: float) -> None:
    price = price_of(StudyRuns("s", "/p", tuple(runs), mode=mode), Rates(per_node_hour=1.0))
    assert price(1, 1.0, None) == (800.0, None) and price(8, 1.1, None) == (pytest.approx(runs[1].seconds), None)
    assert price(16, 1.2, 2) == (pytest.approx(at_16), pytest.approx(2 * at_16 / 3600))


def test_each_series_of_a_grid_has_its_own_times(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_study(project, [Sample(p, rate * p) for rate in (1000.0, 500.0) for p in (1, 2, 4)])
    for number, folder in enumerate(sorted((project / "runs").iterdir())):
        request, final = (json.loads((folder / f"{name}.json").read_text()) for name in ("request", "final"))
        request["study"]["settings"] = {"width": 1 + number // 3}
        final["t_ended"] = final["t_started"] + 100 * (1 + number // 3)
        (folder / "request.json").write_text(json.dumps(request))
        (folder / "final.json").write_text(json.dumps(final))
    capsys.readouterr()
    narrow, wide = told(capsys, "--processes", "4,8")["results"]  # type: ignore[misc]
    assert [each["seconds"] for each in narrow["predictions"]] == pytest.approx([100, 100], rel=0.01)
    assert [each["seconds"] for each in wide["predictions"]] == pytest.approx([200, 200], rel=0.01)


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
    assert found["processes"] == 2 and 1840 < found["low"] < found["value"] < found["high"] < 2060
    assert run(["check"]) == 0
    text = capsys.readouterr().out
    assert "predicts 1,949 samples/s at 2 processes" in text and "largest size above 75.0 % efficiency: 4" in text
    assert found["advice"]["cheapest"]["processes"] in (1, 2) and found["advice"]["largest"]["processes"] == 4
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


@pytest.mark.parametrize("mode", ["weak", "strong"])
@pytest.mark.parametrize(
    ("unit", "values", "rates"),
    [
        ("samples/s/GPU", {1: 100.0, 4: 95.0}, {1: 100.0, 4: 380.0}),
        ("s/GPU", {1: 10.0, 4: 5.0}, {1: 0.1, 4: 0.2}),
    ],
)
def test_rates_of_one_process_are_predicted_as_those_of_all(
    unit: str, values: dict[int, float], rates: dict[int, float], mode: str
) -> None:
    from hackathon.prediction.study import of_results
    from hackathon.scaling.table import RunResult, results

    runs = [RunResult(f"r{p}", None, p, 1, "SUCCEEDED", "", value) for p, value in values.items()]
    (made,) = of_results(results("s", mode, "speed", unit, runs))
    assert {row.processes: row.rate for row in made.rows} == pytest.approx(rates)
    assert made.value(made.rows[1].rate, 4) == pytest.approx(values[4])


def trained(project: Path, reached: dict[int, int] | None) -> None:
    """Write a study of torch-ddp on 1, 2, 4 and 8 processes; `reached`: processes → the step with accuracy 0.97."""
    made = write_study(project, [Sample(p, 1000.0 * p * 0.97 ** p.bit_length()) for p in (1, 2, 4, 8)])
    for run_folder in (project / "runs").iterdir():
        processes = json.loads((run_folder / "request.json").read_text())["processes"]
        lines = [json.loads(line) for line in (run_folder / "metrics/rank-0.jsonl").read_text().splitlines()]
        for line in lines:
            if line.get("final"):
                line |= {"epochs": 10, "gradient_bytes": 1e8, "step": 200}
            else:
                at = (reached or {}).get(processes, 0)
                line |= {"step": 25 * (line["epoch"] + 1), "samples": 64 * 25 * processes, "interval": [
                    25 * line["epoch"] + 1, 25 * line["epoch"] + 25]} | (
                    {"accuracy": 0.98 if 25 * (line["epoch"] + 1) >= at else 0.5} if reached else {})  # fmt: skip
        (run_folder / "metrics/rank-0.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert made.project == project


def test_a_study_tells_when_a_training_ends(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trained(project, {1: 175, 2: 100, 4: 75, 8: 50})
    capsys.readouterr()
    found = told(capsys, "--processes", "8,16")
    measured, larger = (each["training"] for each in found["predictions"])  # type: ignore[attr-defined]
    assert measured["basis"] == "measured" and measured["steps"]["value"] == 50 and measured["batch"] == 512
    assert larger["basis"] == "critical-batch" and 64 * 16 * 25 < larger["samples"]["value"] < 64 * 16 * 50
    assert larger["seconds"]["low"] < larger["seconds"]["value"] < larger["seconds"]["high"]
    assert larger["epochs"]["value"] == pytest.approx(larger["samples"]["value"] / (200 * 64 / 10 * 8), rel=0.01)
    assert run(["predict", "--processes", "8,16"]) == 0
    assert "training: 8 processes in" in capsys.readouterr().out


def test_accuracy_at_the_end_alone_gives_a_range(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trained(project, None)
    capsys.readouterr()
    (entry,) = told(capsys, "--processes", "16")["predictions"]  # type: ignore[misc]
    assert entry["training"]["basis"] == "range" and any(w.startswith("batch-range:") for w in entry["warnings"])
    spans = entry["training"]["samples"]
    assert spans["high"] == pytest.approx(2 * spans["low"])
    (missed,) = told(capsys, "--processes", "16", "--epochs", "5")["predictions"]  # type: ignore[misc]
    assert missed["training"]["basis"] == "given" and missed["training"]["epochs"]["value"] == 5
    assert run(["predict", "--processes", "16", "--target", "accuracy:0.999"]) == 2
    assert "no run reached its target" in capsys.readouterr().err


def test_a_table_with_epochs_and_samples(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("t.csv", "--series", "a", "--processes", "8", "--epochs", "2", "--samples", "7400")
    (entry,) = told(capsys, *words)["predictions"]  # type: ignore[misc]
    assert entry["training"]["seconds"]["value"] == pytest.approx(20.0) and entry["training"]["batch"] is None
    (folder / "s.csv").write_text("processes,value,unit\n1,100,ms/step\n4,110,ms/step\n", "utf-8")
    assert run(["predict", "s.csv", "--processes", "4", "--epochs", "2", "--samples", "7400"]) == 2
    assert "--batch-size" in capsys.readouterr().err
    words = ("s.csv", "--processes", "4", "--epochs", "2", "--samples", "7400", "--batch-size", "10")
    (entry,) = told(capsys, *words)["predictions"]  # type: ignore[misc]
    assert entry["training"]["seconds"]["value"] == pytest.approx(2 * 7400 / 40 * 0.11)
    for unit, mode, factor in (("s/epoch", "strong", 1.0), ("min/epoch", "strong", 60.0), ("s", "strong", None)):
        (folder / "e.csv").write_text(f"processes,value,unit,mode\n1,100,{unit},{mode}\n2,50,{unit},{mode}\n", "utf-8")
        words = ("e.csv", "--processes", "2", "--epochs", "3", "--samples", "7400")
        if factor is None:
            assert run(["predict", *words]) == 2
            assert "s/epoch" in capsys.readouterr().err
        else:
            (entry,) = told(capsys, *words)["predictions"]  # type: ignore[misc]
            assert entry["training"]["seconds"]["value"] == pytest.approx(150 * factor)


@pytest.mark.parametrize("text", ["accuracy", "accuracy:", ":3", "accuracy:x", "loss:<nan"])
def test_a_target_that_is_none_is_refused(folder: Path, capsys: pytest.CaptureFixture[str], text: str) -> None:
    assert run(["predict", "t.csv", "--processes", "8", "--target", text]) == 2
    assert "METRIC:VALUE" in capsys.readouterr().err


def measured_network(cluster: str) -> None:
    from hackathon.scaling.cluster_measurements import keep

    keep(cluster, [
        {"nodes": nodes, "processes": 4 * nodes, "hosts": nodes, "operations": {"all-reduce": {"fits": {
            "large": {"alpha_us": 30.0, "beta_gb_s": rate, "to_bytes": 2**30}}}}}
        for nodes, rate in ((1, 40.0), (2, 4.0))
    ])  # fmt: skip


def test_one_row_and_a_measured_network_give_a_step(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "one.csv").write_text("processes,value,nodes\n4,800,1\n", "utf-8")
    measured_network("reedbush-h")
    words = ("one.csv", "--processes", "16", "--processes-per-node", "4")
    (alone,) = told(capsys, *words)["predictions"]  # type: ignore[misc]
    more = ("--cluster", "reedbush-h", "--gradient-bytes", "800MB", "--batch-size", "32")
    (made,) = told(capsys, *words, *more)["predictions"]  # type: ignore[misc]
    assert alone["basis"] == "baseline" and made["basis"] == "physics"
    # 800 MB take 0.2 s between nodes and some 0.02 s inside, a step 0.16 s
    assert made["efficiency"] < 0.85 and any(w.startswith("physics-step:") for w in made["warnings"])
    (boundary,) = (w for w in made["warnings"] if w.startswith("node-boundary:"))
    assert "network between nodes is not measured" not in boundary


def test_without_a_study_single_runs_of_the_program_tell(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from support.samples.runs import write_run

    assert run(["predict", "torch-ddp", "--processes", "8", "--cluster", "reedbush-h"]) == 2
    text = " ".join(capsys.readouterr().err.split())
    assert "not known" in text and "hackathon submit torch-ddp --cluster reedbush-h --processes 1" in text
    assert run(["predict", "nonsense", "--processes", "8"]) == 2
    assert "neither a file" in capsys.readouterr().err
    made = write_run(project / "runs", Sample(2, 800.0))
    lines = [json.loads(line) for line in (made / "metrics/rank-0.jsonl").read_text().splitlines()]
    for line in lines:
        line |= {"gradient_bytes": 8e8} if line.get("final") else {"samples": 128 * 10}
    (made / "metrics/rank-0.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (entry,) = told(capsys, "torch-ddp", "--processes", "16")["predictions"]  # type: ignore[misc]
    assert entry["basis"] == "baseline" and any(w.startswith("network-unknown:") for w in entry["warnings"])
    measured_network("reedbush-h")
    found = told(capsys, "torch-ddp", "--processes", "16")
    (entry,) = found["predictions"]  # type: ignore[misc]
    assert entry["basis"] == "physics" and entry["efficiency"] < 0.9


def test_false_runs_tell_no_times() -> None:
    false = replace(ended(1, 10.0), doubts=(Doubt("check-failed"),))
    price = price_of(StudyRuns("s", "/p", (false, ended(2, 400.0), ended(4, 220.0)), mode="strong"), None)
    assert price(8, 1.2, None) == (pytest.approx(400 * 1.2 * 2 / 8), None)
