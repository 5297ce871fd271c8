"""Advice from a real run to its end: the command that it gives is typed, and `compare` says that it came true."""

import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.backends import Backend, LocalBackend, Site
from support.paths import RUNTIME

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]
PROGRAM = """
import os, random, sys, time
from hackathon_runtime import Meter
noise, now = random.Random(os.environ["HK_RUN"]), 0.0

def spend(seconds):
    "On a clock of the program's own: on a machine under load the real one says nothing."
    global now
    time.sleep(seconds)
    now += seconds * noise.uniform(0.98, 1.02)

meter = Meter(warmup=2, every_steps=5, clock=lambda: now, cpu_clock=lambda: 0.0)
for step in range(24):
    with meter.phase("data"):
        spend(0.0 if int(sys.argv[1]) else 0.03)  # a loader without workers is slow
    with meter.phase("compute"):
        spend(0.03)
    meter.step(samples=8)
meter.final()
"""


@pytest.fixture(scope="module")
def backend(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Backend]:
    made = LocalBackend(tmp_path_factory.mktemp("advice"))
    yield made
    made.stop()


@pytest.fixture(scope="module")
def site(backend: Backend, tmp_path_factory: pytest.TempPathFactory) -> Site:
    made = Site(backend, tmp_path_factory.mktemp("projects") / "loader", {"HACKATHON_LOCAL_SLOTS": "6"})
    made.write_project("python train.py {workers}", name="loader", parameters={"workers": 0}, walltime="600s")
    (made.folder / "train.py").write_text(PROGRAM)
    (made.folder / RUNTIME.name).write_bytes(RUNTIME.read_bytes())
    return made


def submitted(site: Site, *words: str) -> str:
    """Return the runs that a command makes, as `compare` takes them."""
    before = {each.name for each in (site.folder / "runs").glob("2*")}
    site.run(*words, "--wait", seconds=200)
    return ",".join(sorted({each.name for each in (site.folder / "runs").glob("2*")} - before))


def outcomes(site: Site, old: str, new: str) -> list[dict[str, Any]]:
    found = json.loads(site.run("compare", old, new, "--json", "--no-ask", code=None))
    told = found["points"][0]["tried"]
    assert isinstance(told, list)
    return told


def test_the_command_that_advice_gives_came_true(site: Site, tmp_path: Path) -> None:
    slow = submitted(site, "submit", "--repeat", "3")
    run = slow.split(",")[0]
    (advice,) = json.loads(site.run("results", run, "--advice", "--json"))["points"][0]["advice"]
    assert advice["id"] == "slow-loader" and 0.3 < advice["expected"]["gain"] < 0.7
    command = shlex.split(advice["command"])
    assert command[:2] == ["hackathon", "submit"] and "workers=" in advice["command"]
    fast = submitted(site, *command[1:])
    assert len(fast.split(",")) == 3
    (outcome,) = outcomes(site, slow, fast)
    assert outcome["verdict"] == "came-true" and outcome["measured"]["gain"] > 0.2, outcome
    assert [each["name"] for each in outcome["changed"]] == ["workers"]
    # nothing is advised where it was mended
    assert json.loads(site.run("results", fast.split(",")[0], "--advice", "--json"))["points"][0]["advice"] == []
    # repeats may differ by more than their noise, but the share of the loader stays
    (same,) = outcomes(site, slow, submitted(site, "submit", "--repeat", "3"))
    assert same["verdict"] in ("noise", "not") and same["changed"] == [] and same["other_changes"] == []
