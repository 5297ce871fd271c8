"""What `hackathon profile` refuses, and how it shows traces that lie there."""

import json
from pathlib import Path

import pytest

from hackathon.cli.main import run as hackathon
from support.traces import MadeTrace, gloo_traces


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--from", "a.json", "--command", "python train.py"], "--from reads traces"),
        (["one", "two"], "more than one target"),
        (["torch-ddp", "--command", "python train.py", "--cluster", "laptop"], "the target is a recipe"),
        (["no-such-recipe", "--cluster", "laptop"], "no-such-recipe"),
        (["--from", "none.json"], "none.json cannot be read"),
    ],
)
def test_what_cannot_be_is_refused(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert hackathon(["profile", *words]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(("framework", "said"), [("jax", "jax.profiler"), ("mxnet", "mxnet.profiler")])
def test_what_is_not_recorded_is_told_with_what_its_framework_offers(
    here: Path, framework: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "train.py").write_text("pass\n")
    (here / "project.yaml").write_text(f"name: own\ncommand: python train.py\nframework: {framework}\n")
    assert hackathon(["profile", "--cluster", "laptop"]) == 2
    assert said in capsys.readouterr().err


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
