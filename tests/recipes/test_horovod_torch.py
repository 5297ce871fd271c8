"""The recipe horovod-torch really trains: alone and in two processes, on real data, and it notices when it does not."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.paths import ROOT
from support.patience import STRETCH
from support.rank_process import children_of, command_line
from support.recipes import copy_recipe
from support.stacks import BUILDING, FOLDER, stack, stack_environ

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


def _final(place: Place, processes: int) -> dict[str, Any]:
    """Return the final line after checking what every complete run must show."""
    final = place.metrics()[-1]
    assert final["final"] is True
    assert final["accuracy"] >= 0.97
    assert final["rank_sum"] == processes * (processes + 1) // 2
    assert final["weights_apart"] == 0
    assert final["epochs"] == 20
    assert final["samples_per_s"] > 10
    shares = [final[f"{name}_share"] for name in ("data", "host", "compute", "communication", "other")]
    assert sum(shares) == pytest.approx(1, abs=1e-4)
    assert all(share >= 0 for share in shares)
    return final


def test_alone_learns_the_digits(place: Place) -> None:
    done = place.train(())
    _good(done)
    assert _final(place, 1)["gradient_check"] < 1e-6
    assert "accuracy 0.9" in done.stdout
    steps = [line for line in place.metrics() if "samples" in line]
    assert sum(line["samples"] for line in steps) == 20 * (1437 // 64) * 64


@pytest.mark.parametrize(
    ("launcher", "options"),
    [(GLOO, ("--compression", "fp16", "--lr", "0.1")), (MPI, ("--reduction", "adasum"))],
    ids=["fp16", "adasum"],
)
def test_two_processes_learn_together(place: Place, launcher: tuple[str, ...], options: tuple[str, ...]) -> None:
    _good(place.train(launcher, *options))
    final = _final(place, 2)
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
    options = ("--epochs", "3", "--checkpoint-every", "1")
    _good(whole.train(GLOO, *options))
    parts.stop.write_text(str(time.time() + 60))
    _good(parts.train(GLOO, *options))
    assert parts.metrics()[-1]["stopped"] is True
    compare = ["python", "-c", SAME, str(parts.checkpoint), str(whole.checkpoint)]
    assert parts.call(compare).stdout.split() == ["False", "0", "1"]  # in the middle of an epoch
    parts.stop.unlink()
    resumed = parts.train(GLOO, *options)
    _good(resumed)
    assert "epoch 0, batch 1" in resumed.stdout
    assert parts.call(compare).stdout.split() == ["True", "3", "0"]
    assert parts.metrics()[-1]["accuracy"] == whole.metrics()[-1]["accuracy"]
    # steps are counted over the whole training
    assert [line for line in parts.metrics() if "samples" in line][-1]["step"] == 3 * (1437 // 2 // 64)
    # a later segment of a chain finds nothing left to train: it only has the numbers to tell
    last = parts.train(GLOO, *options, HK_SEGMENT="2")
    _good(last)
    assert "epoch 3, batch 0" in last.stdout and parts.call(compare).stdout.split() == ["True", "3", "0"]
    told = parts.metrics()[-1]
    assert (told["accuracy"], told["epochs"]) == (whole.metrics()[-1]["accuracy"], 3) and "samples_per_s" not in told


def _hackathon(folder: Path, *words: str, code: int = 0) -> str:
    """Return what the command line printed; jobs run on this machine, in the environment of the recipe."""
    stack("horovod-torch")
    own = {"HACKATHON_ENVS": str(FOLDER), "HACKATHON_LOCAL_DIR": str(folder / "local"), "HACKATHON_LANG": "en",
           "HACKATHON_LOCAL_SLOTS_DIR": str(folder / "slots"), "PYTHONPATH": str(ROOT)}  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-m", "hackathon", *words],
        cwd=folder, env={**os.environ, **own}, capture_output=True, text=True, timeout=STRETCH * 400, check=False,
    )  # fmt: skip
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


def _until(look: Callable[[], Any], run: Path) -> Any:
    """Return the first true answer."""
    end = time.monotonic() + STRETCH * 120
    while not (found := look()):
        assert time.monotonic() < end, "".join(each.read_text() for each in run.glob("logs/*"))
        time.sleep(0.1)
    return found


@pytest.mark.parametrize("launcher", ["horovodrun", "mpirun"])
def test_a_killed_rank_ends_the_job_and_is_named(tmp_path: Path, launcher: str) -> None:
    words = ("--cluster", "laptop", "--launcher", launcher, "--walltime", "01:00:00")
    many = ("-p", "epochs=100000", "-p", "checkpoint_every=0")
    _hackathon(tmp_path, "submit", "horovod-torch", "--processes", "2", *words, *many)
    (run,) = (tmp_path / "runs").glob("*-2p-*")
    metrics, jobs = run / "metrics/rank-0.jsonl", run / "events/job.jsonl"
    _until(lambda: metrics.exists() and metrics.stat().st_size, run)
    (event,) = (run / "events/rank-1.jsonl").read_text().splitlines()
    (trainer,) = (each for each in children_of(json.loads(event)["pid"]) if b"train.py" in command_line(each))
    os.kill(trainer, signal.SIGKILL)
    killed = time.time()
    _until(lambda: '"event":"ended"' in jobs.read_text(), run)
    assert json.loads(jobs.read_text().splitlines()[-1])["t"] - killed < STRETCH * 60

    def failed() -> dict[str, Any] | None:
        (state,) = json.loads(_hackathon(tmp_path, "status", "--json", run.name))["runs"]
        return state if state["state"] == "FAILED" else None

    state = _until(failed, run)
    assert (state["first_rank"], state["first_signal"]) == (1, 9)
    assert f"rank 1 on {state['first_host']}" in _hackathon(tmp_path, "status", "--no-ask", run.name)
    cause = json.loads(_hackathon(tmp_path, "diagnose", "--json", run.name))["findings"][0]
    assert (cause["part"], cause["level"], cause["evidence"]["rank"]) == ("hardware", "root", 1), cause
