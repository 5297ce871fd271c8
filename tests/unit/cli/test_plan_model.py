"""`hackathon plan model.py:build`: what runs where, what the cache keeps, and what is refused with which words."""

import json
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hackathon.cli.main import run
from hackathon.cli.speed.plan_model import best_of, micro_batches_of
from hackathon.parallel.plan.devices import Devices
from hackathon.parallel.plan.graph import graph_of
from hackathon.parallel.plan.request import PlanRequest
from hackathon.text.errors import RequestError
from support.paths import ROOT

MODEL = """
import json
from pathlib import Path
import torch
from layers import net

print("hello from the model")
SIZE = json.loads((Path(__file__).parent / "size.json").read_text())

def build():
    return {"model": net(SIZE["layers"]), "args": (torch.rand(4, 8), torch.rand(4, 8)),
            "loss": torch.nn.functional.mse_loss}

def wrong():
    return [1]

def crash():
    import os
    os.abort()
"""
LAYERS = """
from torch import nn

def net(count):
    return nn.Sequential(*(nn.Linear(8, 8) for _ in range(count)))
"""
PEAKS = ["--peak-tflops", "10", "--memory-bandwidth", "900GB"]
OPTIONS = ["--gpus", "2", "--memory", "1GB", "--bandwidth", "10GB", *PEAKS, "--seconds", "1"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a model in three files, which is the current one, and a cache of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "model.py").write_text(MODEL)
    (tmp_path / "layers.py").write_text(LAYERS)
    (tmp_path / "size.json").write_text('{"layers": 3}')
    return tmp_path


def planned(capfd: pytest.CaptureFixture[str], *words: str, code: int = 0) -> tuple[Any, str]:
    """Return plan.json and what stood on standard error."""
    capfd.readouterr()
    assert run(["--lang", "en", "plan", "model.py:build", *OPTIONS, "--micro-batches", "4", "--json", *words]) == code
    out, err = capfd.readouterr()
    return json.loads(out), err


def layers(plan: Any) -> int:
    """Return the number of layers of a plan."""
    return sum(name.startswith("linear") for each in plan["stages"] for name in each["operators"])


@pytest.mark.slow
@pytest.mark.torch
def test_a_graph_is_kept_until_something_that_it_was_made_from_changes(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("torch")
    plan, told = planned(capfd)
    assert layers(plan) == 3 and plan["feasible"] and "hello from the model" in told
    assert "7 operators; 4 micro-batches of 4 samples" in told and "Nothing was measured" in told
    kept = folder / "cache" / "hackathon" / "graphs"
    (file,) = kept.iterdir()
    assert stat.S_IMODE(kept.stat().st_mode) == 0o700 and stat.S_IMODE(file.stat().st_mode) == 0o600
    entry = json.loads(file.read_text())
    assert set(entry["files"]) == {str(folder / name) for name in ("model.py", "layers.py", "size.json")}
    assert any(Path(each).parts[-2:] == ("torch", "version.py") for each in entry["packages"])
    again, told = planned(capfd)
    assert again == plan and "hello" not in told and "From the cache" in told
    (folder / "size.json").write_text('{"layers": 6}')
    done = run_apart("model.py:build", *OPTIONS, "--micro-batches", "4", "--json", "--batch", "64")
    plan, told = json.loads(done.stdout.rpartition("\n")[0]), done.stderr
    assert layers(plan) == 6 and "From the cache" not in told and "4 micro-batches of 16 samples" in told


def run_apart(*words: str) -> "subprocess.CompletedProcess[str]":
    """Return what `plan` says in a process of its own, which imports no torch: its child does."""
    code = """if True:
        import sys
        from hackathon.cli.main import run
        run(["--lang", "en", "plan", *sys.argv[1:]])
        print("torch" in sys.modules, "hackathon.parallel.live" in sys.modules, end="")
    """
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[-1] == "False False", done.stderr
    return done


@pytest.mark.slow
def test_a_given_graph_is_planned_without_torch(folder: Path) -> None:
    devices = {"count": 2, "memory": 1e9, "bandwidth": 1e10}
    (folder / "devices.json").write_text(json.dumps(devices))
    (folder / "graph.json").write_text(json.dumps({"operators": [
        {"name": "a", "forward": 1.0, "backward": 1.0, "parameters": 1, "saved": 1, "workspace": 1}
    ]}))  # fmt: skip
    run_apart("--graph", "graph.json", "--devices", "devices.json", "--micro-batches", "2")


@pytest.mark.slow
@pytest.mark.torch
def test_what_cannot_be_captured_is_told_with_module_file_and_line(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("torch")
    source = ROOT / "tests" / "support" / "networks.py"
    line = 1 + next(
        number for number, text in enumerate(source.read_text().splitlines()) if "the value decides" in text
    )
    (folder / "copy.py").write_text(source.read_text())
    words = ["--lang", "ja", "plan", "copy.py:branching", *OPTIONS, "--micro-batches", "2"]
    assert run(words) == 2
    said = capfd.readouterr().err
    assert f"copy.py:{line}: " in said and "inner.branch (Branching)" in said and "data-dependent" in said
    assert "Traceback" not in said and "torch.ops.aten" not in said and len(said) < 1500


@pytest.mark.slow
@pytest.mark.torch
def test_the_runtime_accepts_a_plan_that_was_made_from_the_model(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("torch")
    from hackathon.parallel.live.plans import check_plan, run_plan
    from hackathon.parallel.live.skeleton import Skeleton
    from support import networks

    (folder / "copy.py").write_text((ROOT / "tests" / "support" / "networks.py").read_text())
    words = ["plan", "copy.py:gpt", *OPTIONS, "--micro-batches", "4", "--batch", "16", "--stages", "2"]
    assert run([*words, "--output", "plan.json"]) == 0
    plan = run_plan("plan.json")
    built = networks.gpt()
    traced = Skeleton(built["model"], built["loss"]).trace(built["args"][:1], {}, built["args"][1], training=True)
    check_plan(plan, traced)
    assert len(plan.replicas) == 2 and plan.micro_batches == 4


def test_the_number_of_micro_batches_is_searched(capfd: pytest.CaptureFixture[str]) -> None:
    def planned_with(count: int, forward: float, objective: str, memory: float = 1e9) -> PlanRequest:
        operator = {"name": "a", "forward": forward, "backward": 0.0, "parameters": 100, "saved": 0, "workspace": 0}
        devices = Devices(1, memory, 1e9, allreduce_bandwidth=1e9)
        return PlanRequest(graph_of({"operators": [operator]}, "g"), devices, count, objective)

    cases = [(2, 5.0), (4, 2.0), (8, 3.0)]  # steps of 10, 8 and 24 seconds
    for objective in ("step", "max-load", "fill"):
        chosen = best_of([planned_with(count, forward, objective) for count, forward in cases])
        assert chosen.request.micro_batches == 4
        assert "2: 10 s, 4: 8 s, 8: 24 s" in capfd.readouterr().err
    small = best_of([planned_with(2, 1.0, "step", 10.0), planned_with(4, 9.0, "step")])
    assert small.request.micro_batches == 4 and "2: –, 4: 36 s" in capfd.readouterr().err
    none = best_of([planned_with(2, 1.0, "step", 10.0), planned_with(4, 1.0, "step", 10.0)])
    assert none.plan is None and none.request.micro_batches == 4
    capfd.readouterr()
    assert best_of([chosen.request]).value == chosen.value and not capfd.readouterr().err


def test_a_child_that_ends_or_has_no_torch_is_told(
    folder: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "env" / "bin").mkdir(parents=True)
    (folder / "none").mkdir()
    (folder / "none" / "torch.py").write_text("raise ImportError('No module named torch')")
    python = folder / "env" / "bin" / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH={folder}/none exec {sys.executable} "$@"\n')
    python.chmod(0o755)
    monkeypatch.setenv("VIRTUAL_ENV", str(folder / "env"))
    words = ["--lang", "en", "plan", "model.py:build", *OPTIONS, "--micro-batches", "2"]
    assert run(words) == 2
    assert f"{sys.executable} cannot import torch: No module named torch" in capfd.readouterr().err
    python.write_text("#!/bin/sh\nexit 7\n")
    assert run(words) == 1
    assert "ended without an answer (exit code 7)" in capfd.readouterr().err
    python.write_text("not a program")
    assert run(words) == 2
    assert "cannot be started" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["model.py:build", "--memory", "1GB"], "--gpus is missing"),
        (["model.py:build", "--gpus", "2"], "--memory is missing"),
        (["model.py", *OPTIONS], "must be a file and a function"),
        (["none.py:build", *OPTIONS], "no such file"),
        (["model.py:a b", *OPTIONS], "must be a file and a function"),
        (["model.py:build", "--graph", "g.json"], "cannot be used together"),
        (["--graph", "g.json", "--batch", "4"], "--batch needs a model"),
        (["model.py:build", "--bandwidth", "1GB", "--devices", "d.json"], "--bandwidth cannot be used"),
        (["model.py:build", *OPTIONS[:4], "--peak-tflops", "3"], "--memory-bandwidth is missing"),
        (["model.py:build", *OPTIONS, "--batch", "10", "--micro-batches", "4"], "cannot be divided into 4"),
        (["--micro-batches", "4"], "--graph is missing"),
    ],
)
def test_requests_that_contradict_themselves_start_nothing(
    words: list[str], said: str, folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(["--lang", "en", "plan", *words]) == 2
    err = capfd.readouterr().err
    assert said in err and "hello" not in err and not (folder / "cache" / "hackathon" / "graphs").exists()


def test_micro_batches_divide_the_batch() -> None:
    assert micro_batches_of(8, 64, 2) == [8] and micro_batches_of(8, None, 2) == [8]
    assert micro_batches_of(None, None, 3) == [12] and micro_batches_of(None, 64, 4) == [4, 8, 16]
    assert micro_batches_of(None, 64, 3) == [2, 4, 8] and micro_batches_of(None, 7, 4) == [1, 7]
    assert micro_batches_of(None, 6, 1) == [1, 2, 3] and micro_batches_of(None, 1, 9) == [1]
    with pytest.raises(RequestError):
        micro_batches_of(3, 64, 2)
