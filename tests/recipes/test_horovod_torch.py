"""The recipe horovod-torch really trains: alone and in two processes, on real data, and it notices when it does not."""

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
from support.patience import STRETCH
from support.rank_process import rank_process
from support.recipes import copy_recipe
from support.stacks import BUILDING, FOLDER, stack_environ, warm_path

NAME = "horovod-torch"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(BUILDING),  # the first test builds Horovod
    pytest.mark.skipif(not shutil.which("cmake") or not shutil.which("c++"), reason="no compiler and CMake"),
]
GLOO = ("horovodrun", "--gloo", "--disable-cache", "-H", "localhost:2")
MPI = ("horovodrun", "--mpi", "--disable-cache", "-H", "localhost:2")
TAKEN_OUT = """
    class Alone(torch.optim.SGD):
        synchronize = lambda self: None
        skip_synchronize = __import__("contextlib").nullcontext
    optimizer.__class__ = Alone
    return optimizer
"""
"""What `distributed` is made to do in the test of the test: nothing is combined."""
SAME = """
import sys, torch
def same(left, right):
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, (list, tuple)):
        return len(left) == len(right) and all(map(same, left, right))
    return torch.equal(left, right) if isinstance(left, torch.Tensor) else left == right
one, other = (torch.load(path, weights_only=True) for path in sys.argv[1:])
print(same(one, other), one["epoch"], one["batch"])
"""


class Place:
    """A copy of the recipe and a run directory as a job has them."""

    def __init__(self, folder: Path) -> None:
        self.run = folder / "run"
        self.source = folder / "source"
        for name in ("metrics", "events", "checkpoints"):
            (self.run / name).mkdir(parents=True)
        copy_recipe(NAME, self.source)
        self.stop = self.run / "stop"

    @property
    def environ(self) -> dict[str, str]:
        foreign = ("HK_", "SLURM_", "OMPI_", "PMI", "RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_", "HOROVOD_")
        inherited = stack_environ("horovod-torch")
        kept = {name: value for name, value in inherited.items() if not name.startswith(foreign)}
        return kept | {
            "HK_RUN": str(self.run), "HK_STOP": str(self.stop), "OMP_NUM_THREADS": "1", "OMPI_ALLOW_RUN_AS_ROOT": "1",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "HOROVOD_GLOO_TIMEOUT_SECONDS": "300",
            "OMPI_MCA_mpi_yield_when_idle": "1",  # Open MPI waits by asking again and again: tests have few cores
        }  # fmt: skip

    def train(self, launcher: tuple[str, ...], *options: str, **more: str) -> "subprocess.CompletedProcess[str]":
        return self.call([*launcher, *(("-np", "2") if launcher else ()), "python", "train.py", *options], **more)

    def same(self, other: "Place") -> list[str]:
        """Return whether both checkpoints are the same, and the place in the training that this one tells of."""
        program = self.source / "same.py"  # a file: a warm Python runs it
        program.write_text(SAME)
        return self.call(["python", program.name, str(self.checkpoint), str(other.checkpoint)]).stdout.split()

    def call(self, argv: list[str], **more: str) -> "subprocess.CompletedProcess[str]":
        # horovodrun leaves its ranks to others when it is killed, so a stuck one must not be
        limit, environ = STRETCH * 300, self.environ | more
        return subprocess.run(
            argv, cwd=self.source, env=environ, capture_output=True, text=True, timeout=limit, check=False
        )

    def metrics(self, rank: int = 0) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.run / f"metrics/rank-{rank}.jsonl").read_text().splitlines()]

    @property
    def checkpoint(self) -> Path:
        return self.run / "checkpoints" / "last.pt"


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def _good(done: "subprocess.CompletedProcess[str]") -> None:
    assert done.returncode == 0, done.stdout + done.stderr


def _final(place: Place, processes: int, epochs: int, accuracy: float) -> dict[str, Any]:
    """Return the final line after checking what every complete run must show."""
    final = place.metrics()[-1]
    assert final["final"] is True
    assert final["accuracy"] >= accuracy
    assert final["rank_sum"] == processes * (processes + 1) // 2
    assert final["weights_apart"] == 0
    assert final["epochs"] == epochs
    assert final["samples_per_s"] > 10
    shares = [final[f"{name}_share"] for name in ("data", "host", "compute", "communication", "other")]
    assert sum(shares) == pytest.approx(1, abs=1e-4)
    assert all(share >= 0 for share in shares)
    return final


def test_alone_learns_the_digits(place: Place) -> None:
    done = place.train(())
    _good(done)
    assert _final(place, 1, 20, 0.97)["gradient_check"] < 1e-6  # the recipe's own numbers
    assert "accuracy 0.9" in done.stdout
    steps = [line for line in place.metrics() if "samples" in line]
    assert sum(line["samples"] for line in steps) == 20 * (1437 // 64) * 64


@pytest.mark.parametrize(
    ("launcher", "options"),
    [(GLOO, ("--compression", "fp16")), (MPI, ("--reduction", "adasum"))],
    ids=["fp16", "adasum"],
)
def test_two_processes_learn_together(place: Place, launcher: tuple[str, ...], options: tuple[str, ...]) -> None:
    _good(place.train(launcher, "--epochs", "8", "--lr", "0.1", *options))
    final = _final(place, 2, 8, 0.93)
    if "adasum" in options:
        assert "gradient_check" not in final
    else:
        assert 0 < final["gradient_check"] < 1e-3  # half precision was used, and is near enough
    assert place.metrics(1)[-1]["accuracy"] == final["accuracy"]  # every rank knows the whole test's result


@pytest.mark.parametrize(
    ("launcher", "reduction", "says"),
    [(GLOO, "average", "gradient check failed"), (MPI, "adasum", "ended with different weights")],
    ids=["average", "adasum"],
)
def test_without_the_all_reduce_it_fails(place: Place, launcher: tuple[str, ...], reduction: str, says: str) -> None:
    """The test of the test: what combines is taken out of a copy."""
    program = place.source / "communication.py"
    text, wrapped = program.read_text(), "    return hvd.DistributedOptimizer("
    assert text.count(wrapped) == 1
    program.write_text(text.replace(wrapped, TAKEN_OUT + wrapped))
    done = place.train(launcher, "--epochs", "1", "--reduction", reduction)
    assert done.returncode != 0
    assert says in done.stdout + done.stderr
    final = place.metrics()[-1]
    if reduction == "average":
        assert final["gradient_check"] > 1e-4 and "accuracy" not in final


def test_adasum_wants_a_power_of_two(place: Place) -> None:
    done = place.train((), "--reduction", "adasum", HK_RANK="0", HK_PROCESSES="3")
    assert done.returncode == 1
    assert "needs 1, 2, 4, 8, … processes, not 3: take 2 or 4" in done.stderr
    assert "Traceback" not in done.stderr and not list((place.run / "metrics").iterdir())


def test_adasum_wants_mpi(place: Place) -> None:
    done = place.train(GLOO, "--reduction", "adasum")
    assert done.returncode != 0
    assert "take the launcher mpirun or horovodrun-mpi" in done.stderr
    assert not list((place.run / "metrics").iterdir())


def test_a_launcher_that_horovod_does_not_know_is_told(place: Place) -> None:
    done = place.train((), HK_RANK="1", HK_PROCESSES="2")
    assert done.returncode == 1
    assert "process 1 of 2, but Horovod says 0 of 1" in done.stderr


def test_stopped_and_resumed_is_bit_for_bit_the_same(tmp_path: Path) -> None:
    whole, parts = Place(tmp_path / "whole"), Place(tmp_path / "parts")
    options = ("--epochs", "2", "--checkpoint-every", "1")
    _good(whole.train(GLOO, *options))
    parts.stop.write_text(str(time.time() + 60))
    _good(parts.train(GLOO, *options))
    assert parts.metrics()[-1]["stopped"] is True
    assert parts.same(whole) == ["False", "0", "1"]  # in the middle of an epoch
    parts.stop.unlink()
    resumed = parts.train(GLOO, *options)
    _good(resumed)
    assert "epoch 0, batch 1" in resumed.stdout
    assert parts.same(whole) == ["True", "2", "0"]
    assert parts.metrics()[-1]["accuracy"] == whole.metrics()[-1]["accuracy"]
    # steps are counted over the whole training
    assert [line for line in parts.metrics() if "samples" in line][-1]["step"] == 2 * (1437 // 2 // 64)
    # a later segment of a chain finds nothing left to train: it only has the numbers to tell
    last = parts.train(GLOO, *options, HK_SEGMENT="2")
    _good(last)
    assert "epoch 2, batch 0" in last.stdout and parts.same(whole) == ["True", "2", "0"]
    told = parts.metrics()[-1]
    assert (told["accuracy"], told["epochs"]) == (whole.metrics()[-1]["accuracy"], 2) and "samples_per_s" not in told


@pytest.mark.mpi
def test_a_killed_rank_ends_the_job_and_is_named(tmp_path: Path) -> None:
    """Under mpirun; under horovodrun it is shown by `test_horovod_keras`, and on two nodes under each launcher."""
    site = Site(LocalBackend(tmp_path), tmp_path / "project", {"HACKATHON_ENVS": str(FOLDER)})
    site.folder.mkdir()
    keys = {"cluster": "laptop", "launcher": "mpirun", "processes": 2, "walltime": "01:00:00"}
    project = {"name": "small", "recipe": NAME, "environment": [f'PATH="{warm_path(NAME)}:$PATH"'], **keys}
    (site.folder / "project.yaml").write_text(json.dumps(project))
    run = site.submit("-p", "epochs=100000", "-p", "checkpoint_every=0")
    metrics = run.path / "metrics/rank-0.jsonl"
    until(lambda: metrics.exists() and metrics.stat().st_size, f"training; see {run.path}/logs", seconds=120)
    os.kill(rank_process(run, 1), signal.SIGKILL)
    killed = time.time()
    state = site.await_state(run, "FAILED", "SUCCEEDED", "TIMEOUT", seconds=180)
    assert (state["state"], state["first_rank"], state["first_signal"]) == ("FAILED", 1, 9), run.log("job")
    assert run.job_events[-1]["event"] == "ended" and run.job_events[-1]["t"] - killed < STRETCH * 60
    assert f"rank 1 on {state['first_host']}" in site.run("status", "--no-ask", run.id).decode()
    cause = site.diagnosed(run)
    assert (cause["part"], cause["evidence"]["rank"]) == ("hardware", 1), cause
