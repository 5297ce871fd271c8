"""What `hackathon profile` refuses, and how it shows traces that lie there."""

import json
from pathlib import Path

import pytest

from hackathon.cli.main import run as hackathon
from support.paths import ROOT
from support.recorded_run import RecordedRun
from support.traces import MadeTrace, gloo_traces


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--from", "a.json", "--command", "python train.py"], "--from reads traces"),
        (["--from", "a.json", "--steps", "3"], "--from records nothing: it cannot be combined with --steps"),
        (
            ["--from", "a.json", "--processes", "2", "--tensor-memory"],
            "cannot be combined with --processes, --tensor-memory",
        ),
        (["one", "two"], "more than one target"),
        (["torch-ddp", "--command", "python train.py", "--cluster", "laptop"], "the target is a recipe"),
        (["no-such-recipe", "--cluster", "laptop"], "no-such-recipe"),
        (["--from", "none.json"], "none.json cannot be read"),
    ],
)
def test_what_cannot_be_is_refused(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert hackathon(["profile", *words]) == 2
    assert said in capsys.readouterr().err


def test_what_is_not_recorded_is_told_with_what_its_framework_offers(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "train.py").write_text("pass\n")
    (here / "project.yaml").write_text("name: own\ncommand: python train.py\nframework: jax\n")
    assert hackathon(["profile", "--cluster", "laptop"]) == 2
    assert "jax.profiler" in capsys.readouterr().err


@pytest.mark.parametrize(("language", "said"), [("en", "rank 1 is late"), ("ja", "ランク 1 が遅れています")])
def test_it_tells_shares_operators_gaps_and_the_verdict_last(
    here: Path, language: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [str(trace.write(here)) for trace in gloo_traces(2, {1: 20.0})]
    assert hackathon(["profile", "--lang", language, "--from", *files]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert said in lines[-2] and "→" in lines[-1]
    assert any(line.startswith("0 ") and "50.0 %" in line for line in lines), lines  # 20 of 40 ms waiting
    assert any(line.startswith("aten::mm") for line in lines)


def test_json_and_files_that_cannot_be_written(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = MadeTrace()
    for step in range(4):
        trace.step(step, 10 * step, 10 * step + 10)
        trace.kernel(10 * step, 10 * step + 9, "ampere_\x1b[31msgemm")
    file = str(trace.write(here))
    assert hackathon(["profile", "--json", "--from", file]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["schema_version"] == 1 and found["ranks"][0]["compute"] == 0.009
    assert found["kernels"][0]["seconds"] == 0.009 and found["findings"] == []
    assert hackathon(["profile", "--from", file]) == 0
    assert "\x1b" not in capsys.readouterr().out  # what others wrote does not steer a terminal
    for option in ("--html", "--trace"):
        assert hackathon(["profile", "--from", file, option, "no/such/folder.html"]) == 2
        assert "could not be written" in capsys.readouterr().err


def test_host_and_device_of_a_trace_steer_no_terminal_and_are_always_written(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace = MadeTrace(host="node\x1b]0;owned\x07\ud800")
    for step in range(4):
        trace.step(step, 10 * step, 10 * step + 10)
        trace.kernel(10 * step, 10 * step + 9)
    value = {**trace.value(), "deviceProperties": [{"name": "H100\x1b[2J\udfff"}, {"name": ["H200"]}, {"name": True}]}
    (here / "rank-0.json").write_text(json.dumps(value))
    words = ["profile", "--from", "rank-0.json"]
    assert hackathon(words) == 0
    told = capsys.readouterr().out
    assert "node" in told and "H100" in told and "\x1b" not in told and "\x07" not in told
    assert hackathon([*words, "--json"]) == 0
    (rank,) = json.loads(capsys.readouterr().out.encode())["ranks"]
    assert rank["hostname"].startswith("node") and [each[:4] for each in rank["devices"]] == ["H100"]
    assert hackathon([*words, "--html", "page.html", "--trace", "merged.json"]) == 0
    assert "\x1b" not in (here / "page.html").read_text() and json.loads((here / "merged.json").read_bytes())


RUN = "20261126-120000-own-k3m9x2qa"


@pytest.fixture
def recorded(here: Path) -> Path:
    """A project with a run on a cluster that the project describes, with the trace of its GPU."""
    (here / "train.py").write_text("pass\n")
    (here / "project.yaml").write_text("name: own\ncommand: python train.py\ncluster: ours\n")
    profile = (ROOT / "templates/clusters/laptop.yaml").read_text().replace("name: laptop", "name: ours")
    own = here / "templates/clusters/ours.yaml"
    own.parent.mkdir(parents=True)
    own.write_text(f"{profile}  peak_tflops: C\npeak_tflops: {{fp32: 0.001}}\n")
    run = RecordedRun(here / "runs" / RUN, 1, cluster="ours", command=["python", "train.py"])
    trace = MadeTrace()
    for step in range(3):
        trace.step(step, 10 * step, 10 * step + 10)
        trace.add("cpu_op", "aten::mm", 10 * step + 2, 10 * step + 7,
                  **{"Input Dims": [[100, 200], [200, 50]], "Input type": ["float", "float"]})  # fmt: skip
        trace.kernel(10 * step + 2, 10 * step + 7)
    (run.path / "profile").mkdir()
    trace.write(run.path / "profile")
    return here


def test_the_peaks_are_those_of_the_clusters_profile_that_the_project_carries(
    recorded: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert hackathon(["profile", "k3m9x2qa"]) == 0
    told = capsys.readouterr().out
    assert "MFU 20.0 %" in told and "(ours)" in told
    monkeypatch.chdir("/")  # whose project it is says the run, not the current folder
    assert hackathon(["profile", str(recorded / "runs" / RUN)]) == 0
    assert "MFU 20.0 %" in capsys.readouterr().out
    (recorded / "templates/clusters/ours.yaml").unlink()
    assert hackathon(["profile", str(recorded / "runs" / RUN)]) == 0
    assert "MFU: not known" in capsys.readouterr().out


def test_options_of_a_job_are_refused_with_a_run(recorded: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert hackathon(["profile", "k3m9x2qa", "--processes", "4", "-p", "lr=0.1", "--no-project"]) == 2
    told = capsys.readouterr()
    assert told.out == "" and "--processes, -p, --no-project" in told.err and "k3m9x2qa" in told.err
    assert hackathon(["profile", "k3m9x2qa", "--json"]) == 0


def test_options_of_a_recording_are_refused_where_traces_are_shown(
    recorded: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert hackathon(["profile", "k3m9x2qa", "--steps", "10", "--tensor-memory", "--json"]) == 2
    told = capsys.readouterr()
    assert told.out == "" and "--steps, --tensor-memory cannot be combined with run k3m9x2qa" in told.err
    # of a run without traces they say how it is recorded now
    (recorded / "runs" / RUN / "profile" / "rank-0.json").unlink()
    assert hackathon(["profile", "k3m9x2qa", "--steps", "10"]) == 2
    assert "request.json is missing" in capsys.readouterr().err  # it was only made up


@pytest.mark.parametrize(
    ("folder", "target"), [("mine", "./mine"), ("mine", "mine"), ("mine", "mine/"), ("recipes/mine", "mine")]
)
def test_a_recipe_is_profiled_by_its_folder_or_name(
    here: Path, folder: str, target: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "project.yaml").write_text("name: own\ncommand: python train.py\n")
    (here / folder).mkdir(parents=True)
    (here / folder / "train.py").write_text("import jax\n")
    (here / folder / "recipe.yaml").write_text(
        "name: mine\nframework: jax\nentry: train.py\nmetric: loss\nmetrics:\n  loss: {pattern: 'loss (.+)'}\n"
    )
    (here / "runs" / RUN.replace("own", "mine")).mkdir(parents=True)  # its id has the word, too
    assert hackathon(["profile", target, "--cluster", "laptop", "--processes", "2"]) == 2
    assert "jax.profiler" in capsys.readouterr().err
