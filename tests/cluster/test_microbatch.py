"""`hackathon microbatch`: the plan is exact for a planted program, and a real network needs what the plan says."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.backends import Backend, LocalBackend, Site
from support.paths import RECIPES

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
PROGRAM = """
import json, os, time
batch, parts = 600, int(os.environ.get("HACKATHON_MICRO_BATCHES", "1"))
size = -(-batch // parts)
if WRAPPED:
    with open(os.environ["HK_RUN"] + "/micro_batches.json", "w") as told:
        json.dump({"batch": batch, "sizes": [size] * (parts - 1) + [batch - size * (parts - 1)]}, told)
held = bytearray(b"x") * (size * 300_000)
print(RATE, "samples/s", flush=True)
time.sleep(600)  # the driver ends it a second after it has seen that line, and has looked at its memory by then
"""
NETWORK = """
import sys, time
import torch
from hackathon_runtime import Meter
from micro_batches import MicroBatches
torch.set_num_threads(1)
net = torch.nn.Sequential(
    torch.nn.Conv2d(3, 32, 3, padding=1), *(torch.nn.ReLU() for _ in range(16)),
    torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(32, 10),
)
micro = MicroBatches(torch.nn.CrossEntropyLoss())
images, labels = torch.randn(192, 3, 32, 32), torch.randint(10, (192,))
meter = Meter(every_steps=1, warmup=0)
for step in range(2):
    net.zero_grad()
    loss = micro.backward(net, images, labels)
    with torch.no_grad():  # by hand: an optimizer of torch imports its compiler first, for two seconds
        for parameter in net.parameters():
            parameter -= 0.01 * parameter.grad
    meter.step(samples=192, loss=loss)
meter.final()
time.sleep(2)  # the driver looks every 50 ms, when it has a core
"""


@pytest.fixture(scope="module")
def backend(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Backend]:
    made = LocalBackend(tmp_path_factory.mktemp("microbatch"))
    yield made
    made.stop()


STEADY = {"MALLOC_ARENA_MAX": "1", "MALLOC_MMAP_THRESHOLD_": "65536"}
"""Without them the C library keeps now more, now less of what was freed."""


def project(backend: Backend, folder: Path, program: str) -> Site:
    site = Site(backend, folder, {"HACKATHON_LOCAL_SLOTS": "12"})
    site.write_project("python train.py", name=folder.name, variables=STEADY)
    (site.folder / "train.py").write_text(program)
    return site


def measure(site: Site, *words: str, code: int | None = 0) -> dict[str, Any]:
    told = site.run("microbatch", "--json", "--yes", "--walltime", "1800s", *words, code=code, seconds=240)
    found: dict[str, Any] = json.loads(told)
    return found


def test_the_plan_of_a_planted_program_fits_and_is_written(backend: Backend, tmp_path: Path) -> None:
    site = project(backend, tmp_path / "planted", PROGRAM.replace("WRAPPED", "True").replace("RATE", "100"))
    path = site.folder / "project.yaml"
    path.write_text(yaml.safe_dump(json.loads(path.read_text())))  # as people write it
    found = measure(site, "--memory", "110MB", "--seconds", "1", "--apply")
    assert found["batch"] == 600 and found["micro_batches"] > 1 and sum(found["sizes"]) == 600, found
    assert found["measured_bytes"] <= 110e6 and abs(found["measured_bytes"] / found["planned_bytes"] - 1) < 0.05, found
    assert [each["kind"] for each in found["probes"] if each["kind"] != "speed"][-1] == "confirm"
    assert found["micro_batches"] == found["fewest_micro_batches"] and len(found["speeds"]) == 4, found
    written = yaml.safe_load(path.read_text())
    assert written["variables"]["HACKATHON_MICRO_BATCHES"].strip('"') == str(found["micro_batches"])
    text = site.run("microbatch", "--yes", "--walltime", "1800s", "--memory", "110MB", "--seconds", "1").decode()
    assert f"use {found['micro_batches']} micro-batches" in text and "not faster outside the noise" in text


def test_the_fastest_split_that_fits_is_chosen(backend: Backend, tmp_path: Path) -> None:
    """More parts are faster up to eight, and no more: eight are the fewest of the fastest."""
    site = project(backend, tmp_path / "faster", PROGRAM.replace("WRAPPED", "True").replace("RATE", "min(parts, 8)"))
    found = measure(site, "--memory", "4GB", "--seconds", "1")
    assert (found["fewest_micro_batches"], found["micro_batches"], found["sizes"]) == (1, 8, [75] * 8), found
    assert found["apply"] == {"env.HACKATHON_MICRO_BATCHES": "8"}
    assert {split["micro_batches"]: split["rate"] for split in found["speeds"]} == {1: 1, 2: 2, 4: 4, 8: 8}
    text = site.run("microbatch", "--yes", "--walltime", "1800s", "--memory", "4GB", "--seconds", "1").decode()
    assert "8 micro-batches are 8.00 times as fast as 1" in text and "use 8 micro-batches" in text


def test_a_program_without_the_wrapper_is_told_its_lines(backend: Backend, tmp_path: Path) -> None:
    site = project(backend, tmp_path / "plain", PROGRAM.replace("WRAPPED", "False").replace("RATE", "100"))
    text = site.run("microbatch", "--yes", "--walltime", "1800s", "--memory", "4GB", "--seconds", "1", code=1).decode()
    assert "micro = MicroBatches(loss_of)" in text and "micro.backward(model, images, labels)" in text
    site.run("microbatch", "--copy")
    assert (site.folder / "micro_batches.py").read_bytes() == (RECIPES / "shared" / "micro_batches.py").read_bytes()
    (site.folder / "micro_batches.py").write_text("mine\n")
    site.run("microbatch", "--copy", code=2)
    assert (site.folder / "micro_batches.py").read_text() == "mine\n"


@pytest.mark.torch
def test_a_network_needs_what_the_plan_says(backend: Backend, tmp_path: Path) -> None:
    """Addresses count, of which PyTorch reserves a multiple of what it needs: the batch still makes a difference."""
    pytest.importorskip("torch")
    site = project(backend, tmp_path / "network", NETWORK)
    site.run("microbatch", "--copy")
    whole = measure(site, "--fewest", "--memory", "60GB", "--seconds", "60")
    assert whole["micro_batches"] == 1 and whole["batch"] == 192 and whole["speeds"] == [], whole
    assert whole["probes"][0]["memory_bytes"] < 0.9 * whole["measured_bytes"], whole
    assert abs(whole["measured_bytes"] / whole["planned_bytes"] - 1) < 0.05, whole
