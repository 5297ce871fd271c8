"""The recipe tensorflow-multiworker really trains, by both loops, and it notices when its processes do not exchange."""

import json
import shutil
import subprocess
import sys
import time
from pathlib import Path
from statistics import fmean, median, stdev
from typing import Any

import numpy
import pytest

from hackathon.profiling.traces.findings import DATA, DEVIATIONS, HOST
from hackathon.profiling.traces.report import read_profile
from hackathon.rehearsal.profile_run import PLACE, recorder_files
from support.paths import ROOT
from support.patience import STRETCH
from support.ports import free_port
from support.recipes import copy_recipe
from support.stacks import stack_environ

NAME = "tensorflow-multiworker"
EPOCHS = 12
"""Fewer than the recipe's: its own number is trained on two nodes (`test_tensorflow_on_slurm`)."""
FEWER = ("--epochs", str(EPOCHS), "--lr", "0.05")
pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def environ() -> dict[str, str]:
    """Variables of a shell in the recipe's own environment; the mpirun is the one of the tests'."""
    foreign = ("HK_", "SLURM_", "OMPI_", "PMI", "RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_", "TF_")
    kept = {name: value for name, value in stack_environ(NAME).items() if not name.startswith(foreign)}
    folder = Path(sys.executable).parent
    return kept | {
        "OMP_NUM_THREADS": "1", "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_rmaps_base_oversubscribe": "1", "PATH": f"{kept['PATH']}:{folder}",
    }  # fmt: skip


class Place:
    """A copy of the recipe and a run directory as a job has them."""

    def __init__(self, folder: Path, environ: dict[str, str]) -> None:
        self.run, self.source = folder / "run", folder / "source"
        for name in ("metrics", "events"):
            (self.run / name).mkdir(parents=True)
        copy_recipe(NAME, self.source)
        self.stop = self.run / "stop"
        self.environ = environ | {"HK_RUN": str(self.run), "HK_STOP": str(self.stop)}

    def train(self, processes: int, *options: str) -> "subprocess.CompletedProcess[str]":
        mpirun = shutil.which("mpirun", path=self.environ["PATH"])
        if processes > 1 and mpirun is None:
            pytest.skip("no mpirun")
        launcher = [str(mpirun), "-np", str(processes), "--bind-to", "none"] if processes > 1 else []
        # else it is made of the number of mpirun, which is not the parent of what a warm Python runs
        port = {"MASTER_PORT": str(free_port())}
        return subprocess.run(
            # a whole path: an mpirun that is called by its own puts the programs beside itself first
            [*launcher, str(shutil.which("python", path=self.environ["PATH"])), "train.py", *options],
            cwd=self.source, env=self.environ | port, capture_output=True, text=True, timeout=STRETCH * 400,
            check=False,
        )  # fmt: skip

    def metrics(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.run / "metrics/rank-0.jsonl").read_text().splitlines()]

    def checkpoint(self) -> dict[str, Any]:
        return dict(numpy.load(self.run / "checkpoints" / "last.npz"))


@pytest.fixture
def place(tmp_path: Path, environ: dict[str, str]) -> Place:
    return Place(tmp_path, environ)


def _good(done: "subprocess.CompletedProcess[str]") -> None:
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def accuracy_alone(environ: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> float:
    """What one process reaches by the loop of its own."""
    place = Place(tmp_path_factory.mktemp("alone"), environ)
    _good(place.train(1, *FEWER))
    return float(_final(place, 1)["accuracy"])


def _final(place: Place, processes: int) -> dict[str, Any]:
    """Return the final line after checking what every complete run must show."""
    final = place.metrics()[-1]
    assert final["final"] is True
    assert final["accuracy"] >= 0.95
    assert final["gradient_check"] < 1e-6
    assert final["rank_sum"] == processes * (processes + 1) // 2
    assert (final["epochs"], final["stopped"]) == (EPOCHS, False)
    assert final["samples_per_s"] > 0
    steps = [line for line in place.metrics() if "samples" in line]
    assert sum(line["samples"] for line in steps) == EPOCHS * (1437 // processes // 64) * 64 * processes
    assert sum(value for name, value in final.items() if name.endswith("_share")) == pytest.approx(1, abs=1e-4)
    return final


@pytest.mark.mpi
@pytest.mark.parametrize("loop", ["custom", "fit"])
def test_two_processes_learn_together(place: Place, loop: str, accuracy_alone: float) -> None:
    _good(place.train(2, *FEWER, "--loop", loop, "--communication", "ring"))
    final = _final(place, 2)
    assert abs(final["accuracy"] - accuracy_alone) <= 0.02
    assert ("communication_share" in final) == (loop == "custom")


@pytest.mark.mpi
@pytest.mark.parametrize(
    ("file", "whole", "cut"),
    [
        ("communication.py", 'tf.distribute.get_replica_context().all_reduce("MEAN", gradients)', "gradients"),
        ("communication.py", "if me.world_size == 1:\n", "if True:\n"),  # both loops would train alone, side by side
    ],
)
def test_without_the_all_reduce_it_fails(place: Place, file: str, whole: str, cut: str) -> None:
    """The test of the test: what averages is taken out of a copy."""
    program = place.source / file
    text = program.read_text()
    assert text.count(whole) == 1
    program.write_text(text.replace(whole, cut))
    done = place.train(2, "--loop", "custom" if cut == "gradients" else "fit")
    assert done.returncode != 0
    assert "gradient check failed" in done.stderr
    final = place.metrics()[-1]
    assert final["gradient_check"] > 1e-4 if cut == "gradients" else final["rank_sum"] == 1
    assert "accuracy" not in final and "samples_per_s" not in final


def _let_one_leave_first(place: Place, gone: int) -> None:
    """Let one process leave without the second sum, as soon as the other one has the first, too."""
    program = place.source / "communication.py"
    text = program.read_text()
    whole = "        with contextlib.suppress(tf.errors.OpError):\n"
    assert text.count(whole) == 1
    early = f"""\
        open(f"first-{{self._rank}}", "w").close()
        if self._rank == {gone}:
            while not os.path.exists("first-{1 - gone}"):
                pass
            os._exit(0)
"""
    program.write_text(text.replace(whole, early + whole))


@pytest.mark.parametrize(("processes", "loop"), [pytest.param(2, "custom", marks=pytest.mark.mpi), (1, "fit")])
def test_stopped_and_resumed_is_the_same(tmp_path: Path, environ: dict[str, str], processes: int, loop: str) -> None:
    """Also where one of two processes has left while the other one is still leaving, which does not fail for that."""
    whole, parts = Place(tmp_path / "whole", environ), Place(tmp_path / "parts", environ)
    options = ("--loop", loop, "--epochs", "2", "--checkpoint-every", "1")
    if processes == 2:
        _let_one_leave_first(whole, 0)
    _good(whole.train(processes, *options))
    parts.stop.write_text(str(time.time() + 60))
    _good(parts.train(processes, *options))
    assert parts.metrics()[-1]["stopped"] is True
    assert list(parts.checkpoint()["place"]) == [0, 1, 64, processes]  # in the middle of an epoch
    parts.stop.unlink()
    if processes == 2:
        _let_one_leave_first(parts, 1)
    resumed = parts.train(processes, *options)
    _good(resumed)
    assert "epoch 0, batch 1" in resumed.stdout
    one, other = parts.checkpoint(), whole.checkpoint()
    assert one.keys() == other.keys() and len(one) > 8
    for name in one:
        numpy.testing.assert_array_equal(one[name], other[name], err_msg=name)
    assert parts.metrics()[-1]["accuracy"] == whole.metrics()[-1]["accuracy"]


@pytest.mark.parametrize("loop", ["custom", "fit"])
def test_with_other_batches_the_learning_rate_goes_on_where_it_was(place: Place, loop: str) -> None:
    """It follows the optimizer's count of steps, of which 64 images make 22 in an epoch, and 128 make 11."""
    options = ("--loop", loop, "--checkpoint-every", "1")
    _good(place.train(1, *options, "--epochs", "1"))
    assert _steps_of_optimizer(place) == 22
    resumed = place.train(1, *options, "--epochs", "2", "--batch-size", "128")
    _good(resumed)
    assert "epoch 1, batch 0" in resumed.stdout and _steps_of_optimizer(place) == 2 * 11
    assert [line for line in place.metrics() if "samples" in line][-1]["step"] == 2 * 11
    # a later segment of a chain finds nothing left to train: it only has the numbers to tell
    accuracy = place.metrics()[-1]["accuracy"]
    place.environ["HK_SEGMENT"] = "2"
    _good(place.train(1, *options, "--epochs", "2", "--batch-size", "128"))
    told = place.metrics()[-1]
    assert (told["accuracy"], told["epochs"]) == (accuracy, 2) and "samples_per_s" not in told


def _steps_of_optimizer(place: Place) -> int:
    (steps,) = (value for value in place.checkpoint().values() if value.shape == () and value.dtype == numpy.int64)
    return int(steps)


def test_what_can_not_be_is_told(place: Place) -> None:
    done = place.train(1, "--communication", "nccl")
    assert done.returncode == 1
    assert "NCCL needs GPUs" in done.stderr and "Traceback" not in done.stderr


def test_its_steps_are_profiled_without_a_line_in_it(tmp_path: Path, environ: dict[str, str]) -> None:
    words = ["--cluster", "laptop", "--processes", "2", "--threads", "1", "--walltime", "01:00:00", "--yes", "--json",
             "--skip", "3", "--steps", "6"]  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-m", "hackathon", "profile", NAME, *words], cwd=tmp_path, text=True, capture_output=True,
        env={**environ, "PYTHONPATH": str(ROOT)}, timeout=STRETCH * 800, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    told = json.loads(done.stdout)
    assert told["processes"] == 2, told
    (rank,) = told["ranks"]  # TensorFlow's profiler can crash the other one
    assert (rank["rank"], rank["steps"], rank["unknown"]) == (0, 6, {"waiting": "missing-ranks"})
    assert len(told["remarks"]) == 2 and "only the first is recorded" in told["remarks"][1]
    parts = [rank[part] for part in ("data", "host", "compute", "communication", "other")]
    assert sum(parts) == pytest.approx(rank["seconds"], rel=0.01)
    assert rank["compute"] > 0 and rank["communication"] > 0, rank
    assert any("Conv2DBackpropFilter" in each["name"] for each in told["operators"]), told["operators"]
    assert told["communication"]["seconds"] > 0


PROFILED = """
import json, sys, time
import tensorflow as tf

faults = sys.argv[1] == "faults"
layers = tf.keras.layers
hidden = [layers.Dense(256 if faults else 768, activation="relu") for _ in range(3)]
net = tf.keras.Sequential([layers.Input((256,)), *hidden, layers.Dense(8)])
optimizer, loss = tf.keras.optimizers.SGD(0.01), tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
x, y = tf.random.normal((256, 256)), tf.zeros((256,), tf.int32)

def batches():
    while True:
        if faults:
            time.sleep(0.03)
        yield x, y

@tf.function
def step(x, y):
    with tf.GradientTape() as tape:
        value = loss(y, net(x, training=True))
    optimizer.apply_gradients(zip(tape.gradient(value, net.trainable_variables), net.trainable_variables))
    return value

data = iter(tf.data.Dataset.from_generator(batches, output_signature=(
    tf.TensorSpec((256, 256)), tf.TensorSpec((256,), tf.int32))).prefetch(0 if faults else 4))
notes = []
for number in range(17):
    moments = [time.time()]
    batch = next(data)
    moments.append(time.time())
    if faults:
        time.sleep(0.05)
    moments.append(time.time())
    step(*batch)
    notes.append([*moments, time.time()])
print(json.dumps(notes))
"""


def test_an_own_programs_faults_are_found_and_a_healthy_ones_are_not(tmp_path: Path, environ: dict[str, str]) -> None:
    """The program notes its own moments; they are the truth, whatever else the machine does."""
    (tmp_path / "train.py").write_text(PROFILED)
    for name, content in recorder_files().items():
        place = tmp_path / name
        place.parent.mkdir(exist_ok=True)
        place.write_bytes(content)
    for fault in ("faults", "healthy"):
        more = {"HK_PROFILE": "3,6,0", "HK_RUN": str(tmp_path / fault), "HK_RANK": "0"}
        done = subprocess.run(
            [str(shutil.which("python", path=environ["PATH"])), "train.py", fault], cwd=tmp_path, text=True,
            env={**environ, **more, "PYTHONPATH": str(tmp_path / PLACE)}, capture_output=True, timeout=STRETCH * 300,
            check=False,
        )  # fmt: skip
        _good(done)
        # behind 3 steps that are passed over, 5 that are timed, the one at whose end it begins, and the warm-up
        former, *notes = json.loads(done.stdout)[9:16]
        found = read_profile([tmp_path / fault / "profile/rank-0.json.gz"])
        trace, steps, (told,) = found.traces[0], found.times[0].steps, found.shares.ranks
        origin = trace.base / 1e9 + trace.origin / 1e6
        ends = [origin + steps[0].begin / 1e6, *(origin + each.end / 1e6 for each in steps)]
        assert told.steps == len(steps) == 6 and told.seconds == pytest.approx((ends[-1] - ends[0]) / 6, abs=1e-5)
        # within the calls that ended the steps, and at their ends: a busy machine may hold up one of them, not most
        assert all(call[2] < end <= call[3] for call, end in zip((former, *notes), ends, strict=True))
        assert median(call[3] - end for call, end in zip((former, *notes[:-1]), ends, strict=False)) < 0.002
        notes[-1][3] = ends[-1]  # this call wrote the trace, too
        length = ends[-1] - ends[0]
        spans = {
            part: [each[begin + 1] - each[begin] for each in notes]
            for begin, part in enumerate(("data", "host", "compute"))
        }
        # On a busy machine a thread waits for a CPU, or for Python's lock, between two operators, also within a part:
        # that time counts as the host's. The shortest of the spans has least of it.
        waited = 1 - sum(6 * min(each) for each in spans.values()) / length
        for part, (less, more_of) in {"data": (0.05, 0.05), "host": (0.05, 0.2), "compute": (0.2, 0.05)}.items():
            share = told.share(part) or 0.0
            least, most = 6 * min(spans[part]) / length, sum(spans[part]) / length
            most += waited if part == "host" else 0
            assert least - less <= share <= most + more_of, (fault, part, share, least, most)
        named = {each.id for each in found.findings}
        for name, begin, limit in (("loader", 0, DATA), ("host-bound", 1, HOST)):
            shares = [6 * (each[begin + 1] - each[begin]) / length for each in notes]
            if fmean(shares) - DEVIATIONS * stdev(shares) / 6**0.5 > limit + 0.05:  # the program itself says so
                assert fault == "faults" and name in named, (fault, name, shares)
        assert fault == "faults" or "loader" not in named, found.findings
