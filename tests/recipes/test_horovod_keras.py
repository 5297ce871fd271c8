"""The recipe horovod-keras really trains, and it notices when its processes do not exchange."""

import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from support.backends import LocalBackend, Site, until
from support.paths import RECIPES
from support.patience import STRETCH
from support.rank_process import rank_process
from support.recipes import copy_recipe
from support.stacks import BUILDING, FOLDER, stack, stack_environ, warm_path

NAME = "horovod-keras"
RECIPE = RECIPES / NAME
pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(BUILDING),  # the first test builds Horovod
    pytest.mark.skipif(not shutil.which("cmake") or not shutil.which("c++"), reason="no compiler and CMake"),
]
GLOO = ("horovodrun", "--gloo", "--disable-cache", "-H", "localhost:2", "-np", "2")
MPI = ("mpirun", "-np", "2", "--oversubscribe", "--bind-to", "none")
EPOCHS = 8
"""Fewer than the recipe's: its own number is trained where it scales."""
FEWER = ("--epochs", str(EPOCHS), "--lr", "0.1")
SAME = """
import sys, numpy
one, other = (numpy.load(path) for path in sys.argv[1:])
assert len(one.files) > 8 and sorted(one.files) == sorted(other.files)
print(all(numpy.array_equal(one[name], other[name]) for name in one.files), *one["place"])
"""


class Place:
    """A copy of the recipe and a run directory as a job has them."""

    def __init__(self, folder: Path) -> None:
        self.run, self.source = folder / "run", folder / "source"
        for name in ("metrics", "events"):
            (self.run / name).mkdir(parents=True)
        copy_recipe(NAME, self.source)
        self.stop = self.run / "stop"

    def call(self, *argv: str, **more: str) -> "subprocess.CompletedProcess[str]":
        foreign = ("HK_", "SLURM_", "OMPI_", "PMI", "RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_", "HOROVOD_", "TF_")
        kept = {name: value for name, value in stack_environ(NAME).items() if not name.startswith(foreign)}
        own = {
            "HK_RUN": str(self.run), "HK_STOP": str(self.stop), "OMP_NUM_THREADS": "1", "OMPI_ALLOW_RUN_AS_ROOT": "1",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "HOROVOD_GLOO_TIMEOUT_SECONDS": "300",
            "OMPI_MCA_mpi_yield_when_idle": "1",  # Open MPI waits by asking again and again: tests have few cores
        }  # fmt: skip
        return subprocess.run(
            argv, cwd=self.source, env=kept | own | more, capture_output=True, text=True, timeout=900, check=False
        )

    def train(self, launcher: tuple[str, ...], *options: str, **more: str) -> "subprocess.CompletedProcess[str]":
        return self.call(*launcher, "python", "train.py", *options, **more)

    def metrics(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.run / "metrics/rank-0.jsonl").read_text().splitlines()]

    @property
    def checkpoint(self) -> str:
        return str(self.run / "checkpoints" / "last.npz")


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def _good(done: "subprocess.CompletedProcess[str]") -> None:
    assert done.returncode == 0, done.stdout + done.stderr


def _final(place: Place, processes: int) -> dict[str, Any]:
    """Return the final line after checking what every complete run must show."""
    final = place.metrics()[-1]
    assert final["final"] is True
    assert final["accuracy"] >= 0.95
    assert final["rank_sum"] == processes * (processes + 1) // 2
    assert final["weights_apart"] == 0
    assert (final["epochs"], final["stopped"]) == (EPOCHS, False)
    assert final["samples_per_s"] > 0
    return final


def test_half_precision_over_gloo(place: Place) -> None:
    _good(place.train(GLOO, *FEWER, "--compression", "fp16"))
    assert 1e-7 < _final(place, 2)["gradient_check"] < 1e-3  # half precision was used, and is near enough


@pytest.mark.mpi
def test_adasum_over_mpi(place: Place) -> None:
    _good(place.train(MPI, *FEWER, "--reduction", "adasum"))
    assert "gradient_check" not in _final(place, 2)


@pytest.mark.parametrize(
    ("launcher", "reduction", "whole", "cut", "says"),
    [
        (GLOO, "average", "    return DistributedOptimizer(", "    return optimizer\n    DistributedOptimizer(",
         "gradient check failed"),
        pytest.param(
            MPI, "adasum", "with hvd.DistributedGradientTape(tf.GradientTape(), op=hvd.Adasum) as tape:",
            "with tf.GradientTape() as tape:", "ended with different weights", marks=pytest.mark.mpi,
        ),
    ],
)  # fmt: skip
def test_without_the_all_reduce_it_fails(
    place: Place, launcher: tuple[str, ...], reduction: str, whole: str, cut: str, says: str
) -> None:
    """The test of the test: what combines is taken out of a copy."""
    program = place.source / "communication.py"
    text = program.read_text()
    assert text.count(whole) == 1
    program.write_text(text.replace(whole, cut))
    done = place.train(launcher, "--epochs", "1", "--reduction", reduction)
    assert done.returncode != 0
    assert says in done.stdout + done.stderr
    if reduction == "average":
        final = place.metrics()[-1]
        assert final["gradient_check"] > 1e-4 and "accuracy" not in final


def test_adasum_wants_a_power_of_two(place: Place) -> None:
    done = place.train((), "--reduction", "adasum", HK_RANK="0", HK_PROCESSES="3")
    assert done.returncode == 1
    assert "needs 1, 2, 4, 8, … processes, not 3: take 2 or 4" in done.stderr
    assert "Traceback" not in done.stderr and not list((place.run / "metrics").iterdir())


def test_adasum_wants_mpi(place: Place) -> None:
    done = place.train(GLOO, "--reduction", "adasum")
    assert done.returncode != 0
    assert "Adasum over MPI only" in done.stdout + done.stderr


def test_stopped_and_resumed_is_bit_for_bit_the_same(tmp_path: Path) -> None:
    whole, parts = Place(tmp_path / "whole"), Place(tmp_path / "parts")
    options = ("--epochs", "2", "--checkpoint-every", "1")
    _good(whole.train(GLOO, *options))
    parts.stop.write_text(str(time.time() + 60))
    _good(parts.train(GLOO, *options))
    assert parts.metrics()[-1]["stopped"] is True
    compare = ("python", "-c", SAME, parts.checkpoint, whole.checkpoint)
    assert parts.call(*compare).stdout.split() == ["False", "0", "1", "64", "2"]  # in the middle of an epoch
    parts.stop.unlink()
    resumed = parts.train(GLOO, *options)
    _good(resumed)
    assert "epoch 0, batch 1" in resumed.stdout
    assert parts.call(*compare).stdout.split() == ["True", "2", "0", "64", "2"]
    assert parts.metrics()[-1]["accuracy"] == whole.metrics()[-1]["accuracy"]
    # steps are counted over the whole training
    assert [line for line in parts.metrics() if "samples" in line][-1]["step"] == 2 * (1437 // 2 // 64)
    # a later segment of a chain finds nothing left to train: it only has the numbers to tell
    last = parts.train(GLOO, *options, HK_SEGMENT="2")
    _good(last)
    assert "epoch 2, batch 0" in last.stdout and parts.call(*compare).stdout.split() == ["True", "2", "0", "64", "2"]
    told = parts.metrics()[-1]
    assert (told["accuracy"], told["epochs"]) == (whole.metrics()[-1]["accuracy"], 2) and "samples_per_s" not in told


def test_scales_on_this_machine_and_a_killed_rank_is_named(tmp_path: Path) -> None:
    site = Site(LocalBackend(tmp_path), tmp_path / "project", {"HACKATHON_ENVS": str(FOLDER)})
    site.folder.mkdir()
    keys = {"cluster": "laptop", "launcher": "horovodrun", "walltime": "01:00:00"}
    project = {"name": "small", "recipe": NAME, "environment": [f'PATH="{warm_path(NAME)}:$PATH"'], **keys}
    (site.folder / "project.yaml").write_text(json.dumps(project))
    found = json.loads(site.run("scale", "--processes", "1,2", "--wait", "--json", seconds=900))
    finals = []
    for point in found["points"]:
        lines = (site.folder / "runs" / point["runs"][0]["id"] / "metrics" / "rank-0.jsonl").read_text().splitlines()
        finals.append(json.loads(lines[-1]))
    assert [(point["processes"], point["status"]) for point in found["points"]] == [(1, "SUCCEEDED"), (2, "SUCCEEDED")]
    assert [final["rank_sum"] for final in finals] == [1, 3]
    assert min(final["accuracy"] for final in finals) >= 0.97
    assert abs(finals[0]["accuracy"] - finals[1]["accuracy"]) <= 0.01

    run = site.submit("--processes", "2", "-p", "epochs=100000", "-p", "checkpoint_every=0")
    until(lambda: (run.path / "logs/rank-0.log").exists() and "step 10 " in run.log(), f"training in {run.path}", 400)
    os.kill(rank_process(run, 1), signal.SIGKILL)
    killed = time.time()
    state = site.await_state(run, "FAILED", "SUCCEEDED", "TIMEOUT", seconds=180)
    assert (state["state"], state["first_rank"], state["first_signal"]) == ("FAILED", 1, 9), run.log("job")
    assert run.job_events[-1]["event"] == "ended" and run.job_events[-1]["t"] - killed < STRETCH * 60
    assert f"rank 1 on {state['first_host']}" in site.run("status", "--no-ask", run.id).decode()
    cause = site.diagnosed(run)
    assert (cause["part"], cause["evidence"]["rank"]) == ("hardware", 1), cause


def test_its_steps_are_profiled_and_horovods_communication_is_seen(tmp_path: Path) -> None:
    stack(NAME)
    site = Site(LocalBackend(tmp_path), tmp_path, {"HACKATHON_ENVS": str(FOLDER)})
    words = ["--cluster", "laptop", "--processes", "2", "--threads", "1", "--walltime", "01:00:00", "--yes"]
    told = json.loads(site.run("profile", NAME, *words, "--skip", "3", "--steps", "6", "--json", seconds=600))
    assert [each["steps"] for each in told["ranks"]] == [6, 6] and told["remarks"] == []
    assert told["communication"]["seconds"] > 0 and all(each["compute"] > 0 for each in told["ranks"])
    assert not [each["name"] for each in told["operators"] if each["name"].startswith("Horovod")]
