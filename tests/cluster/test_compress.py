"""`hackathon compress`: planted gains and losses are told apart, and real hooks train in two processes."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.backends import Backend, LocalBackend, Site
from support.paths import RECIPES

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]
PROGRAM = """
import argparse, os, random
parser = argparse.ArgumentParser()
parser.add_argument("--hook")
parser.add_argument("--seed", type=int)
args = parser.parse_args()
assert not os.path.exists("left-behind"), "a training found the files of another one"
open("left-behind-" + os.environ["HK_RANK"], "w").close()
noise = random.Random(os.path.basename(os.environ["HK_RUN"]))
seeded = random.Random(args.seed)
speed = {"good": 1.6, "hurts": 3.0}.get(args.hook, 1.0)
lost = {"hurts": 0.1}.get(args.hook, 0.0)
if os.environ["HK_RANK"] == "0":
    for step in range(3):
        print(f"step {step} {100 * speed * noise.lognormvariate(0, 0.02):.3f} samples/s", flush=True)
    print(f"accuracy {0.9 + seeded.gauss(0, 0.004) + noise.gauss(0, 0.004) - lost:.5f}", flush=True)
"""
KEYS: dict[str, Any] = {
    "parameters": {
        "hook": {"default": "none", "choices": ["none", "good", "hurts", "idle"]},
        "seed": {"default": 1, "type": "int"},
    },
    "metrics": {"accuracy": {"pattern": "accuracy ([0-9.]+)", "reduce": "last"}},
}


@pytest.fixture(scope="module")
def backend(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Backend]:
    made = LocalBackend(tmp_path_factory.mktemp("compress"))
    yield made
    made.stop()


def measure(site: Site, *words: str, code: int | None = 0, seconds: int = 300) -> dict[str, Any]:
    told = site.run("compress", *words, "--json", "--yes", code=code, seconds=seconds)
    found: dict[str, Any] = json.loads(told)
    return found


def test_planted_hooks_are_told_apart(backend: Backend, tmp_path: Path) -> None:
    site = Site(backend, tmp_path / "planted", {"HACKATHON_LOCAL_SLOTS": "12"})
    site.write_project("python train.py --hook {hook} --seed {seed}", name="planted", **KEYS)
    (site.folder / "train.py").write_text(PROGRAM)
    found = measure(site, "--walltime", "600", "--apply")
    verdicts = {each["name"]: each["verdict"] for each in found["hooks"]}
    assert verdicts == {"good": "pays", "hurts": "accuracy", "idle": "none"}, found
    assert found["apply"] == {"hook": "good"} and found["seeds"] == 7 and found["processes"] == 2
    assert json.loads((site.folder / "project.yaml").read_text())["parameters"]["hook"]["default"] == "good"
    kept = json.loads((site.folder / "runs" / found["run"] / "client" / "compress.json").read_text())
    assert kept == found and site.run("results", code=2) == b"", "its runs are no results"


def test_a_program_without_hooks_or_with_one_process_is_refused(backend: Backend, tmp_path: Path) -> None:
    site = Site(backend, tmp_path / "refused", {"HACKATHON_LOCAL_SLOTS": "12"})
    site.write_project("python train.py", name="refused")
    (site.folder / "train.py").write_text(PROGRAM)
    for words in ((), ("torch-ddp", "--processes", "1"), ("torch-ddp", "--hooks", "nothing")):
        assert site.run("compress", "--yes", *words, code=2) == b""


@pytest.mark.torch
def test_a_real_hook_without_error_feedback_is_caught(backend: Backend, tmp_path: Path) -> None:
    """Two processes on the digits send the largest hundredth of their gradients, and forget the rest."""
    pytest.importorskip("torch")
    pytest.importorskip("sklearn")
    site = Site(backend, tmp_path / "digits", {"HACKATHON_LOCAL_SLOTS": "12", "OMP_NUM_THREADS": "1"})
    for each in (RECIPES / "torch-ddp").glob("*.py"):
        shutil.copy(each, site.folder)
    hooks = site.folder / "compression.py"
    text = hooks.read_text()
    assert text.count("keep=error_feedback") == 1
    hooks.write_text(text.replace("keep=error_feedback", "keep=False"))
    parameters = {**KEYS["parameters"], "hook": {"default": "none", "choices": ["none", "topk"]}}
    command = "python train.py --hook {hook} --seed {seed} --epochs 4 --checkpoint-every 0 --lr 0.1 --resume no"
    site.write_project(command, name="digits", parameters=parameters)
    found = measure(site, "--walltime", "1200", "--seeds", "5")
    (topk,) = found["hooks"]
    assert topk["verdict"] == "accuracy" and topk["difference"] < -0.05 and found["apply"] == {}, found
    assert 0.015 < topk["sent_ratio"] < 0.025 and found["baseline"]["accuracy"] > 0.8, found
