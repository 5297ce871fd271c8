"""`hackathon compress`: planted gains and losses are told apart, and real hooks train in two processes."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.backends import Backend, LocalBackend, Site
from support.paths import RECIPES

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
PROGRAM = """
import argparse, os, random
parser = argparse.ArgumentParser()
parser.add_argument("--hook")
parser.add_argument("--seed", type=int)
args = parser.parse_args()
assert not os.path.exists("left-behind"), "a training found the files of another one"
open("left-behind-" + os.environ["HK_RANK"], "w").close()
noise = random.Random("planted" + os.path.basename(os.environ["HK_RUN"]))
seeded = random.Random(args.seed)
speed = {"good": 1.6, "hurts": 3.0}.get(args.hook, 1.0)
lost = {"hurts": 0.1}.get(args.hook, 0.0)
if os.environ["HK_RANK"] == "0":
    for step in range(3):
        print(f"step {step} {100 * speed * noise.lognormvariate(0, 0.02):.3f} samples/s", flush=True)
    print(f"accuracy {0.9 + seeded.gauss(0, 0.004) + noise.gauss(0, 0.004) - lost:.5f}", flush=True)
"""
TRAINING = """
import argparse, os, time
import torch, torch.distributed as dist
from compression import compress
from torch.nn.parallel import DistributedDataParallel
parser = argparse.ArgumentParser()
parser.add_argument("--hook")
parser.add_argument("--seed", type=int)
args = parser.parse_args()
rank = int(os.environ["HK_RANK"])
dist.init_process_group("gloo", rank=rank, world_size=2)
draw = torch.Generator().manual_seed(args.seed)
inputs = torch.randn(2, 300, 200, generator=draw) * torch.logspace(0, -1.3, 200)
inputs[1] += 0.1
targets = inputs @ torch.randn(200, 1, generator=draw)
net = torch.nn.Linear(200, 1, bias=False)
torch.nn.init.zeros_(net.weight)
model = DistributedDataParallel(net)
sent = compress(model, "none" if args.hook == "none" else "topk", error_feedback=False)
optimizer = torch.optim.SGD(net.parameters(), lr=0.075)
for step in range(200):
    begin = time.perf_counter()
    optimizer.zero_grad()
    (model(inputs[rank]) - targets[rank]).square().mean().backward()
    optimizer.step()
    if rank == 0 and step % 50 == 0:
        print(f"{600 / (time.perf_counter() - begin):.1f} samples/s", flush=True)
if rank == 0:
    print(f"sent_bytes {sent.bytes:.0f}")
    with torch.no_grad():
        print(f"loss {(net(inputs) - targets).square().mean().item():.5f}", flush=True)
dist.barrier()
os._exit(0)  # while Python ends, Gloo's threads abort some processes (PyTorch issue 190489)
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


def measure(site: Site, *words: str, code: int | None = 0, seconds: int = 800) -> dict[str, Any]:
    told = site.run("compress", *words, "--json", "--yes", code=code, seconds=seconds)
    found: dict[str, Any] = json.loads(told)
    return found


def test_planted_hooks_are_told_apart(backend: Backend, tmp_path: Path) -> None:
    site = Site(backend, tmp_path / "planted", {"HACKATHON_LOCAL_SLOTS": "12"})
    site.write_project("python train.py --hook {hook} --seed {seed}", name="planted", **KEYS)
    (site.folder / "train.py").write_text(PROGRAM)
    found = measure(site, "--walltime", "3600s", "--seconds", "300", "--apply")
    verdicts = {each["name"]: each["verdict"] for each in found["hooks"]}
    assert verdicts == {"good": "pays", "hurts": "accuracy", "idle": "none"}, found
    assert found["apply"] == {"hook": "good"} and found["seeds"] == 7 and found["processes"] == 2
    written = yaml.safe_load((site.folder / "project.yaml").read_text())
    assert written["parameters"]["hook"]["default"] == "good"
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
    """Two processes send the largest hundredth of their gradients, and forget the rest."""
    pytest.importorskip("torch")
    backend.trains = True
    site = Site(backend, tmp_path / "forgetful", {"HACKATHON_LOCAL_SLOTS": "12", "OMP_NUM_THREADS": "1"})
    parameters = {**KEYS["parameters"], "hook": {"default": "none", "choices": ["none", "forgetful"]}}
    metrics = {"sent_bytes": {"pattern": "sent_bytes ([0-9.]+)", "reduce": "last"}}
    command = "python train.py --hook {hook} --seed {seed}"
    site.write_project(command, name="forgetful", parameters=parameters, metrics=metrics)
    (site.folder / "train.py").write_text(TRAINING)
    shutil.copy(RECIPES / "shared" / "compression.py", site.folder)
    found = measure(site, "--walltime", "7200s", "--seconds", "600", "--seeds", "5")
    (row,) = found["hooks"]
    assert found["accuracy_metric"] == "loss" and not found["more_is_better"], found
    assert row["verdict"] == "accuracy" and row["difference"] < -1 and found["apply"] == {}, found
    assert row["sent_bytes"] == 16 and found["baseline"]["sent_bytes"] == 800, found
