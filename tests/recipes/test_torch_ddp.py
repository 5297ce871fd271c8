"""The recipe torch-ddp really trains: alone and in two processes, on real data, and it notices when it does not."""

import json
import re
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from hackathon.profiling.meters import shares_of_run
from hackathon.profiling.shares import PARTS
from support.installed import needs
from support.paths import SHARED
from support.patience import STRETCH
from support.training import Training, good

NAME = "torch-ddp"
EPOCHS = 10
"""Half of the recipe's own, which suffice to see that it learns."""
torch = pytest.importorskip("torch")
needs("sklearn")
pytestmark = [pytest.mark.torch, pytest.mark.timeout(300)]


class Place(Training):
    """A copy of the recipe and a run directory as a job has them; torchrun starts more than one process."""

    def __init__(self, folder: Path, python: str) -> None:
        super().__init__(NAME, folder, python)

    def checkpoint(self) -> dict[str, Any]:
        """Return the whole checkpoint."""
        state: dict[str, Any] = torch.load(self.run / "checkpoints" / "last.pt", weights_only=True)
        return state


@pytest.fixture
def place(tmp_path: Path, warm_python: str) -> Place:
    return Place(tmp_path, warm_python)


def _same(left: Any, right: Any) -> bool:
    """Return whether two checkpoints are equal bit for bit."""
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(_same(left[key], right[key]) for key in left)
    if isinstance(left, (list, tuple)):
        return len(left) == len(right) and all(map(_same, left, right))
    if isinstance(left, torch.Tensor):
        return torch.equal(left, right)
    return bool(left == right)


def _final(place: Place, processes: int) -> dict[str, Any]:
    """Return the final line after checking what every complete run must show."""
    final = place.metrics()[-1]
    assert final["final"] is True
    assert final["accuracy"] >= 0.95
    assert final["gradient_check"] < 1e-6
    assert final["rank_sum"] == processes * (processes + 1) // 2
    assert final["epochs"] == EPOCHS
    assert final["samples_per_s"] > 10
    assert re.fullmatch(r"sha256:[0-9a-f]{64}", final["weights"])
    shares = [final[f"{name}_share"] for name in ("data", "host", "compute", "communication", "other")]
    assert sum(shares) == pytest.approx(1, abs=1e-4)
    assert all(share >= 0 for share in shares)
    return final


@pytest.mark.slow
def test_alone_learns_the_digits(place: Place) -> None:
    done = place.train(1, "--epochs", str(EPOCHS))
    good(done)
    assert _final(place, 1)["communication_share"] == 0
    assert "accuracy 0.9" in done.stdout
    assert [line["warmup"] for line in place.metrics() if "warmup" in line]
    steps = [line for line in place.metrics() if "samples" in line]
    assert sum(line["samples"] for line in steps) == EPOCHS * (1437 // 64) * 64
    events = [json.loads(line) for line in (place.run / "events/rank-0.jsonl").read_text().splitlines()]
    assert [(event["event"], event["path"]) for event in events] == [("checkpoint", "checkpoints/last.pt")] * 2


@pytest.mark.slow
def test_two_processes_learn_together(place: Place) -> None:
    """Strong scaling: with half the batch in each process the batch of both is that of one."""
    good(place.train(2, "--epochs", str(EPOCHS), "--batch-size", "32", "--noise-scale"))
    final, other = _final(place, 2), place.metrics(1)[-1]
    assert 0 < final["communication_share"] < 1
    shares = shares_of_run(place.run, 2)
    assert shares is not None
    for each in shares.ranks:
        assert each.unknown == () and each.steps > 100
        assert sum(getattr(each, part) for part in PARTS) == pytest.approx(each.seconds, rel=0.01)
    steps = [line for line in place.metrics() if "samples" in line]
    assert steps[-1]["step"] == EPOCHS * (719 // 32)
    assert sum(line["samples"] for line in steps) == EPOCHS * (719 // 32) * 32 * 2
    assert other["accuracy"] == final["accuracy"]  # every rank knows the whole test's result
    assert other["weights"] == final["weights"]
    assert final["noise_scale_low"] == other["noise_scale_low"] > 1  # it is at least that; how large is not known here


@pytest.mark.mpi
@pytest.mark.slow
def test_plain_mpirun(place: Place) -> None:
    good(place.mpirun(2, "--epochs", "2"))
    assert place.metrics()[-1]["rank_sum"] == 3
    assert place.metrics(1)[-1]["rank_sum"] == 3


@pytest.mark.slow
def test_without_the_all_reduce_it_fails(place: Place) -> None:
    """The test of the test: the wrapper that averages is taken out of a copy."""
    program = place.source / "train.py"
    text = program.read_text()
    wrapped = "DistributedDataParallel(net, broadcast_buffers=False) if me.world_size > 1 else net"
    assert text.count(wrapped) == 1
    program.write_text(text.replace(wrapped, "net"))
    done = place.train(2)
    assert done.returncode != 0
    assert "gradient check failed" in done.stderr
    final = place.metrics()[-1]
    assert final["gradient_check"] > 1e-4
    assert "accuracy" not in final and "samples_per_s" not in final


@pytest.mark.slow
def test_stopped_and_resumed_is_bit_for_bit_the_same(tmp_path: Path, warm_python: str) -> None:
    whole, parts = (Place(tmp_path / name, warm_python) for name in ("whole", "parts"))
    options = ("--epochs", "2", "--checkpoint-every", "1")
    good(whole.train(2, *options))
    parts.stop.write_text(str(time.time() + 60))
    stopped = parts.train(2, *options)
    good(stopped)
    assert parts.metrics()[-1]["stopped"] is True
    state = parts.checkpoint()
    assert (state["epoch"], state["batch"]) == (0, 1)  # in the middle of an epoch
    assert not _same(state["net"], whole.checkpoint()["net"])
    parts.stop.unlink()
    resumed = parts.train(2, *options)
    good(resumed)
    assert "epoch 0, batch 1" in resumed.stdout
    assert _same(parts.checkpoint(), whole.checkpoint())
    assert parts.metrics()[-1]["accuracy"] == whole.metrics()[-1]["accuracy"]


@pytest.mark.slow
def test_killed_and_started_again_is_the_same(tmp_path: Path, warm_python: str) -> None:
    whole, killed = (Place(tmp_path / name, warm_python) for name in ("whole", "killed"))
    options = ("--epochs", "3", "--checkpoint-every", "1")
    good(whole.train(1, *options))
    # it stands still in its second epoch, or a busy machine might let it come to its end before it is killed
    program, hold = killed.source / "train.py", killed.run / "hold"
    text, place = program.read_text(), "            if stopped := should_stop():\n"
    assert text.count(place) == 1
    wait = f"            while epoch and __import__('os').path.exists({str(hold)!r}):\n"
    wait += "                __import__('time').sleep(0.05)\n"
    program.write_text(text.replace(place, wait + place))
    hold.touch()
    process = subprocess.Popen(
        killed.argv(1, *options), cwd=killed.source, env=killed.environ, stdout=subprocess.PIPE, text=True
    )
    file, until = killed.run / "checkpoints" / "last.pt", time.monotonic() + STRETCH * 100
    while not file.exists() and time.monotonic() < until:
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert 1 <= killed.checkpoint()["epoch"] < 3
    hold.unlink()
    resumed = killed.train(1, *options)
    good(resumed)
    assert "resumed from" in resumed.stdout
    assert _same(killed.checkpoint(), whole.checkpoint())


@pytest.mark.slow
def test_stop_file_in_the_middle_of_training(place: Place) -> None:
    """Another number of processes goes on, with the whole epoch."""
    process = subprocess.Popen(
        place.argv(2, "--epochs", "100000", "--checkpoint-every", "0"),
        cwd=place.source, env=place.environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    assert process.stdout
    for line in process.stdout:
        if line.startswith("step 60 ") or line.startswith("step 85 "):
            break
    place.stop.touch()
    rest, _ = process.communicate(timeout=STRETCH * 60)
    assert process.returncode == 0, rest
    assert place.metrics()[-1]["stopped"] is True
    epoch = place.checkpoint()["epoch"]
    assert epoch > 0
    place.stop.unlink()
    done = place.train(1, "--epochs", str(epoch + 1))
    good(done)
    assert f"epoch {epoch}, batch 0" in done.stdout
    assert place.metrics()[-1]["epochs"] == epoch + 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_full_disk_does_not_end_the_training(place: Place) -> None:
    (place.run / "checkpoints" / "last.partial").symlink_to("/dev/full")
    (place.run / "metrics" / "rank-0.jsonl").symlink_to("/dev/full")
    done = place.train(1, "--epochs", "1")
    good(done)
    assert "no checkpoint written" in done.stderr and "training goes on" in done.stderr
    assert "accuracy" in done.stdout
    assert json.loads((place.run / "events/rank-0.jsonl").read_text().splitlines()[0])["event"] == "warned"


def test_synthetic_images(place: Place) -> None:
    small = ("--image-size", "32", "--batch-size", "2", "--steps-per-epoch", "14", "--epochs", "1")
    good(place.train(1, "--data", "synthetic", *small))
    final = place.metrics()[-1]
    assert final["samples_per_s"] > 0 and "accuracy" not in final


def test_too_few_digits_for_a_batch_are_told(place: Place) -> None:
    done = place.train(1, "--batch-size", "2000")
    assert done.returncode == 1
    assert "smaller --batch-size" in done.stderr and "Traceback" not in done.stderr


def test_resnets_have_the_known_number_of_parameters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(SHARED))
    from resnet import resnet

    counts = [sum(each.numel() for each in resnet(name, 3, 1000).parameters()) for name in ("resnet18", "resnet50")]
    assert counts == [11_689_512, 25_557_032]  # as published for ImageNet
