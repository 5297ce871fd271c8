"""The recipe chainermn-mnist really trains, alone and in two processes, and it notices when it does not."""

import json
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from support.patience import STRETCH
from support.recipes import copy_recipe
from support.stacks import ROOT, stack, stack_environ, warm_path

NAME = "chainermn-mnist"
EPOCHS = 8
"""Fewer than the recipe's: its own number is trained on two nodes (`test_chainermn_on_slurm`)."""
FEWER = ("--epochs", str(EPOCHS))
pytestmark = [pytest.mark.slow, pytest.mark.mpi, pytest.mark.timeout(900)]


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
        foreign = ("HK_", "SLURM_", "OMPI_", "PMI", "RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_")
        kept = {name: value for name, value in stack_environ("chainermn-mnist").items() if not name.startswith(foreign)}
        return kept | {
            "HK_RUN": str(self.run), "HK_STOP": str(self.stop), "OMP_NUM_THREADS": "1", "OMPI_ALLOW_RUN_AS_ROOT": "1",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        }  # fmt: skip

    def train(self, processes: int, *options: str) -> subprocess.CompletedProcess[str]:
        mpirun = str(stack(NAME) / "bin" / "mpirun")
        launcher = [mpirun, "-np", str(processes), "--oversubscribe", "--bind-to", "none"]
        argv = [*(launcher if processes > 1 else []), f"{warm_path(NAME)}/python", "train.py", *options]
        limit = STRETCH * 400
        return subprocess.run(
            argv, cwd=self.source, env=self.environ, capture_output=True, text=True, timeout=limit, check=False
        )

    def metrics(self, rank: int = 0) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.run / f"metrics/rank-{rank}.jsonl").read_text().splitlines()]

    def snapshot(self) -> dict[str, Any]:
        """Return the newest snapshot's arrays, without the times in it."""
        import numpy

        with numpy.load(self.run / "checkpoints" / "last.npz", allow_pickle=True) as state:
            kept = [name for name in state.files if "Report" not in name and "elapsed" not in name]
            return {name: state[name].tolist() for name in kept}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def _good(done: subprocess.CompletedProcess[str]) -> None:
    assert done.returncode == 0, done.stdout + done.stderr


def _final(place: Place, processes: int) -> dict[str, Any]:
    """Return the final line after checking what every complete run must show."""
    final = place.metrics()[-1]
    assert final["final"] is True
    assert final["accuracy"] >= 0.95
    assert final["gradient_check"] < 1e-5
    assert final["rank_sum"] == processes * (processes + 1) // 2
    assert final["epochs"] == EPOCHS
    assert final["samples_per_s"] > 10
    shares = [value for name, value in final.items() if name.endswith("_share")]
    assert sum(shares) == pytest.approx(1, abs=1e-4) and all(share >= 0 for share in shares)
    assert ("communication_share" in final) == (processes > 1)
    return final


def test_one_and_two_processes_learn_the_same(tmp_path: Path) -> None:
    alone, together = Place(tmp_path / "alone"), Place(tmp_path / "together")
    _good(alone.train(1, *FEWER))
    done = together.train(2, *FEWER, "--lr", "0.2")
    _good(done)
    first, second = _final(alone, 1), _final(together, 2)
    assert abs(first["accuracy"] - second["accuracy"]) <= 0.01
    assert together.metrics(1)[-1]["accuracy"] == second["accuracy"]  # every rank knows the whole test's result
    steps = [line for line in together.metrics() if "samples" in line]
    assert sum(line["samples"] for line in steps) == steps[-1]["step"] * 128
    # Chainer's own report
    assert done.stdout.count("validation/main/accuracy") == 1
    log = json.loads((together.run / "result" / "log").read_text())
    assert [entry["epoch"] for entry in log] == list(range(1, EPOCHS + 1))
    assert log[-1]["validation/main/accuracy"] >= 0.94


def test_without_the_all_reduce_it_fails(place: Place) -> None:
    """The test of the test: the optimizer that averages is taken out of a copy."""
    program = place.source / "communication.py"
    text = program.read_text()
    assert text.count("if comm.size > 1:\n        optimizer = chainermn.create_multi_node_optimizer") == 1
    program.write_text(text.replace("if comm.size > 1:\n        optimizer", "if comm.size < 1:\n        optimizer"))
    done = place.train(2)
    assert done.returncode != 0
    assert "gradient check failed" in done.stderr + done.stdout
    final = place.metrics()[-1]
    assert final["gradient_check"] > 1e-4 and "accuracy" not in final


def test_stopped_and_resumed_is_bit_for_bit_the_same(tmp_path: Path) -> None:
    whole, parts = Place(tmp_path / "whole"), Place(tmp_path / "parts")
    options = ("--epochs", "2", "--snapshot-every", "1")
    _good(whole.train(2, *options))
    parts.stop.write_text(str(time.time() + 60))
    _good(parts.train(2, *options))
    assert parts.metrics()[-1]["stopped"] is True and parts.metrics()[-1]["epochs"] == 0
    parts.stop.unlink()
    resumed = parts.train(2, *options)
    _good(resumed)
    assert "resumed from" in resumed.stdout and "step 1\n" in resumed.stdout
    assert parts.snapshot() == whole.snapshot()
    assert parts.metrics()[-1]["accuracy"] == whole.metrics()[-1]["accuracy"]
    refused = parts.train(1, "--resume", str(parts.run / "checkpoints" / "last.npz"))
    assert refused.returncode == 1 and "written by 2 processes" in refused.stderr


def test_workers_make_the_same_batches(tmp_path: Path) -> None:
    serial, threads, processes = (Place(tmp_path / name) for name in ("serial", "threads", "processes"))
    options = ("--epochs", "1", "--batch-size", "256", "--numpy-threads", "1")
    _good(serial.train(1, *options))
    _good(threads.train(1, *options, "--iterator", "multithread"))
    assert threads.metrics()[-1]["accuracy"] == serial.metrics()[-1]["accuracy"]
    _good(processes.train(2, *options, "--iterator", "multiprocess"))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--communicator", "pure_nccl"], "needs CuPy"),
        (["--communicator", "flat"], "needs CuPy"),
        (["--double-buffering"], "needs --communicator pure_nccl"),
        (["--allreduce-fp16"], "needs --communicator pure_nccl"),
        (["--batch-size", "2000"], "smaller --batch-size"),
    ],
)
def test_what_can_not_work_is_refused(place: Place, options: list[str], words: str) -> None:
    done = place.train(1, *options)
    assert done.returncode == 1
    assert words in done.stderr and "Traceback" not in done.stderr


def test_ranks_without_mpi_are_told_to_take_mpirun(place: Place) -> None:
    argv, environ = [f"{warm_path(NAME)}/python", "train.py"], {**place.environ, "RANK": "0", "WORLD_SIZE": "2"}
    done = subprocess.run(
        argv, cwd=place.source, env=environ,
        capture_output=True, text=True, check=False, timeout=STRETCH * 200,
    )  # fmt: skip
    assert done.returncode == 1 and "start with mpirun" in done.stderr


def test_an_exception_on_one_rank_ends_all(place: Place) -> None:
    program = place.source / "data.py"
    program.write_text(
        program.read_text().replace(
            "        self.epoch += 1\n",
            "        self.epoch += 1\n        import os\n"
            "        if self.epoch == 3 and os.environ['OMPI_COMM_WORLD_RANK'] == '1':\n"
            "            raise ValueError('broken sample')\n",
        )
    )
    done = place.train(2, *FEWER)
    assert done.returncode != 0
    assert "broken sample" in done.stderr and "Uncaught exception on rank 1" in done.stderr


def test_its_steps_are_profiled_without_a_line_in_it(tmp_path: Path) -> None:
    environ = stack_environ("chainermn-mnist")
    done = _hackathon(
        tmp_path, environ, "profile", "chainermn-mnist", "--cluster", "laptop", "--processes", "2", "--threads", "1",
        "--walltime", "01:00:00", "--yes", "--skip", "3", "--steps", "6", "--json",
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    told = json.loads(done.stdout)
    assert told["processes"] == 2 and [each["steps"] for each in told["ranks"]] == [6, 6]
    for rank in told["ranks"]:
        parts = [rank[part] for part in ("data", "host", "compute", "communication", "waiting", "other")]
        assert sum(parts) == pytest.approx(rank["seconds"], rel=0.01)
        assert rank["data"] > 0 and rank["compute"] > 0 and rank["communication"] > 0, rank
    assert {"LinearFunction", "LinearFunctionBackward"} <= {each["name"] for each in told["operators"]} or any(
        "Convolution" in each["name"] for each in told["operators"]
    ), told["operators"]
    assert told["communication"]["seconds"] > 0


def _hackathon(folder: Path, environ: dict[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    import sys

    environ = {**environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, "-m", "hackathon", *words],
        cwd=folder, env=environ, capture_output=True, text=True, timeout=STRETCH * 800, check=False,
    )  # fmt: skip
