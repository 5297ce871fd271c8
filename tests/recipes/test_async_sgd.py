"""The recipe async-sgd really trains with several workers, measures what it does, and ends when a process dies."""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hackathon.prediction.asynchronous.outlook import OneWorker, predict
from hackathon.prediction.asynchronous.timings import missing, timings_of
from support.installed import needs
from support.patience import STRETCH, until
from support.ports import free_port
from support.rank_process import command_line
from support.training import Training, good

NAME = "async-sgd"
needs("torch", "sklearn")
pytestmark = [pytest.mark.torch, pytest.mark.slow, pytest.mark.timeout(300)]


class Place(Training):
    """A copy of the recipe and a run directory as a job has them; torchrun starts more than one process."""

    def __init__(self, folder: Path, python: str) -> None:
        super().__init__(NAME, folder, python)


@pytest.fixture
def place(tmp_path: Path, warm_python: str) -> Place:
    return Place(tmp_path, warm_python)


def test_workers_reach_the_accuracy(place: Place) -> None:
    workers, epochs = 3, 12
    good(place.train(workers, "--epochs", str(epochs)))
    final = place.final()
    assert final["accuracy"] >= 0.95
    assert final["workers"] == workers and final["gradients"] >= epochs * 1437 // 16
    assert final["samples_per_s"] > 10 and final["sweep_seconds"] > 0
    assert 1 <= final["staleness"] <= workers * 3 and final["staleness_max"] >= workers
    assert final["mini_batch"] >= 16 and final["mini_batch_p10"] % 16 == 0
    assert not any((place.run / f"metrics/rank-{rank}.jsonl").exists() for rank in range(1, workers))


def test_more_workers_sweep_faster_as_predicted(tmp_path: Path, warm_python: str) -> None:
    """Workers that sleep do not compete for cores: gradients of 240 ms, updates of 60 ms, both with 10 % deviation."""
    planted = ("--compute-seconds", "0.24", "--update-seconds", "0.06", "--jitter", "0.1", "--batch-size", "64")
    found = {}
    for workers, epochs in ((1, 2), (4, 8)):
        place = Place(tmp_path / str(workers), warm_python)
        good(place.train(workers, *planted, "--epochs", str(epochs)))
        found[workers] = place.final()
    one, four = found[1], found[4]
    assert missing(one) == () and one["mini_batch"] == 64 and one["staleness"] == pytest.approx(1, abs=0.1)
    # how near they are is the bench's business; what a loaded machine took longer for stands in the run's own clocks
    took = {name: four[name] for name in ("compute_seconds", "update_seconds", "add_seconds", "gradients")}
    alone, told = predict(OneWorker("one", timings_of({**one, **took})), [1, 4]).outlooks
    assert four["sweep_seconds"] == pytest.approx(told.sweep_seconds, rel=0.5)
    assert four["sweep_seconds"] < 0.75 * alone.sweep_seconds
    assert four["mini_batch"] == pytest.approx(told.batch, rel=0.5)
    assert four["staleness"] == pytest.approx(told.staleness.mean, rel=0.5)


def test_a_bound_of_zero_makes_rounds(place: Place) -> None:
    planted = ("--compute-seconds", "0.02", "--jitter", "0.5")
    good(place.train(3, *planted, "--staleness-bound", "0", "--epochs", "1", "--batch-size", "32"))
    assert place.final()["staleness_max"] < 3 and place.final()["staleness_bound"] == 0


def test_stopped_under_mpirun_and_resumed(place: Place) -> None:
    mpirun = shutil.which("mpirun", path=place.environ["PATH"])
    if mpirun is None:
        pytest.skip("no mpirun")
    place.stop.touch()
    # the port is else made of the number of mpirun, which is not the parent of what a warm Python runs
    port = f"MASTER_PORT={free_port()}"
    good(place.call(["env", port, mpirun, "-np", "2", place.python, "train.py", "--epochs", "2"]))
    stopped = place.final()
    assert stopped["workers"] == 2 and stopped["gradients"] < 100
    assert stopped["stopped"] and "accuracy" not in stopped
    place.stop.unlink()
    before = len(place.metrics())
    done = place.train(2, "--epochs", "2")
    good(done)
    assert "resumed from" in done.stdout and place.final()["gradients"] >= 2 * 1437 // 16
    # steps are counted over the whole training: one is a gradient of each worker
    lines = [line for line in place.metrics()[before:] if "samples" in line]
    assert {line["step"] - line["interval"][1] for line in lines} == {stopped["gradients"] // 2}


def test_gradients_that_are_not_applied_are_noticed(place: Place) -> None:
    """The test of the test: a server that throws all gradients away reaches no accuracy."""
    program = place.source / "server.py"
    text = program.read_text()
    applied = "self.net.weights.sub_(self.velocity, alpha=rate)"
    assert text.count(applied) == 1
    program.write_text(text.replace(applied, "pass"))
    good(place.train(2, "--epochs", "2"))
    assert place.final()["accuracy"] < 0.5


@pytest.fixture
def ranks(place: Place) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Two workers of a training that would take hours, without a launcher that ends the others."""
    environ = place.environ | {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
    started = []
    for rank in range(2):
        mine = environ | {"RANK": str(rank), "WORLD_SIZE": "2", "LOCAL_RANK": str(rank), "LOCAL_WORLD_SIZE": "2"}
        with (place.run / f"rank-{rank}.out").open("wb") as out:
            argv = [place.python, "train.py", "--epochs", "100000"]
            started.append(subprocess.Popen(argv, cwd=place.source, env=mine, stdout=out, stderr=out))
    until(lambda: "samples_per_s" in (place.run / "rank-0.out").read_text(), "the training to begin")
    yield started
    for each in started:
        each.kill()
        each.wait()


def _server(place: Place) -> int:
    """Return the process of the parameter server, which the first rank started."""
    folder = f"HK_RUN={place.run}".encode()
    processes = [int(path.name) for path in Path("/proc").glob("[0-9]*") if b"--serve" in command_line(path.name)]
    (server,) = (each for each in processes if folder in Path(f"/proc/{each}/environ").read_bytes().split(b"\0"))
    return server


def _gone(process: int) -> bool:
    """Return whether a process has ended; one that nobody has waited for yet has."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


@pytest.mark.parametrize("dies", ["first worker", "server"])
def test_all_end_when_one_dies(dies: str, place: Place, ranks: list[subprocess.Popen[bytes]]) -> None:
    server = _server(place)
    os.kill({"worker": ranks[1].pid, "first worker": ranks[0].pid, "server": server}[dies], signal.SIGKILL)
    began = time.monotonic()
    until(lambda: all(each.poll() is not None for each in ranks) and _gone(server), "all to end")
    assert time.monotonic() - began < STRETCH * 40 and all(each.returncode != 0 for each in ranks)
    told = "".join((place.run / f"rank-{rank}.out").read_text() for rank in range(2))
    assert "connection to" in told and "broke" in told
