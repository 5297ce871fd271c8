"""The recipe torch-ddp-tuned really trains with its options, and says no to what can not go together."""

import argparse
import shutil
import struct
import zlib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

from support.installed import needs
from support.paths import RECIPES
from support.recipes import imported
from support.training import Training, good

NAME = "torch-ddp-tuned"
RECIPE = RECIPES / NAME
torch = pytest.importorskip("torch")
needs("sklearn")
pytestmark = [pytest.mark.torch, pytest.mark.slow, pytest.mark.timeout(300)]


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


def _module(name: str) -> ModuleType:
    """Return a module of the recipe, which no other test finds in its place."""
    with imported(NAME, name) as (module,):
        return module


def _trained(place: Place, processes: int, *options: str, exact: bool = True, least: float = 0.97) -> float:
    """Train the digits; return the accuracy after checking what every complete run must show."""
    good(place.train(processes, *options))
    final = place.final()
    assert final["accuracy"] >= least
    assert final["gradient_check"] < (1e-6 if exact else 8e-3)
    assert final["weight_spread"] < 1e-6
    assert final["rank_sum"] == processes * (processes + 1) // 2
    assert final["samples_per_s"] > 10
    return float(final["accuracy"])


def test_a_training_that_diverged_is_not_called_two_networks(place: Place) -> None:
    done = place.train(2, "--lr", "1e6", "--warmup-epochs", "0", "--epochs", "2")
    assert done.returncode != 0 and "loss diverged" in done.stderr and "one network" not in done.stderr, done.stderr


def test_one_and_two_processes_learn_equally(tmp_path: Path, warm_python: str) -> None:
    """One adds up two batches in each step."""
    epochs = ("--epochs", "10", "--lr", "0.1")
    added = ("--batch-size", "64", "--accumulate", "2")
    alone = _trained(Place(tmp_path / "1", warm_python), 1, *epochs, *added, least=0.95)
    exact = (
        "--static-graph",
        "--bucket-view",
        "--channels-last",
        "--bucket-mb",
        "1",
        "--workers",
        "1",
        "--prefetch",
        "3",
    )
    together = _trained(Place(tmp_path / "2", warm_python), 2, *epochs, *exact, least=0.95)
    assert abs(alone - together) <= 0.02


def test_alone_with_bf16(place: Place) -> None:
    """One epoch: a processor without instructions for bf16 takes two minutes for twenty."""
    _trained(place, 1, "--amp", "bf16", "--epochs", "1", "--warmup-epochs", "0", least=0.3)


SENT = {"bf16": 0.5, "powersgd": 0.25, "topk": 0.021}
"""Hook → part of the bytes that it sends at most, in two processes."""


@pytest.mark.parametrize("hook", SENT)
def test_two_processes_send_less(hook: str, place: Place) -> None:
    rounds = hook == "bf16"
    options = f"--lr 0.1 --epochs 8 --hook {hook} --powersgd-start 20".split()
    _trained(place, 2, *options, exact=not rounds, least=0.9)
    final = place.final()
    assert 0 < final["sent_bytes"] <= SENT[hook] * final["gradient_bytes"]
    if rounds:
        assert place.final()["gradient_check"] > 1e-9  # rounded: it was really sent as bf16


def test_without_the_all_reduce_it_fails(place: Place) -> None:
    """The test of the test: the wrapper that averages is taken out of a copy."""
    program = place.source / "train.py"
    text = program.read_text()
    wrapped = "wrap(net, args) if me.world_size > 1 else (net, None)"
    assert text.count(wrapped) == 1
    program.write_text(text.replace(wrapped, "(net, None)"))
    done = place.train(2, "--hook", "fp16")
    assert done.returncode != 0 and "gradient check failed" in done.stderr
    assert place.final()["gradient_check"] > 1e-4 and "accuracy" not in place.final()


def test_a_hook_that_no_longer_averages_is_noticed(place: Place) -> None:
    """After the check of the first gradient has passed: compressed gradients stay at home."""
    program = place.source / "compression.py"
    text = program.read_text()
    assert text.count("(state, _power(sent))") == 1
    program.write_text(
        text.replace("(state, _power(sent))", "([], lonely)")
        + "\n\ndef lonely(seen, bucket):\n    seen.append(1)\n    buffer = bucket.buffer()\n"
        "    if len(seen) > 2:\n        return answer(buffer)\n"
        "    future = dist.all_reduce(buffer.div_(2), async_op=True).get_future()\n"
        "    return future.then(lambda done: buffer)\n"
        "\n\ndef answer(value):\n    future = torch.futures.Future()\n    future.set_result(value)\n    return future\n"
    )
    done = place.train(2, "--hook", "powersgd", "--epochs", "1")
    assert done.returncode != 0 and "different weights" in done.stderr, done.stderr
    assert place.final()["gradient_check"] < 1e-6 and place.final()["weight_spread"] > 1e-3


def test_stopped_and_resumed_is_bit_for_bit_the_same(tmp_path: Path, warm_python: str) -> None:
    """With all that has state of its own: loss scaling, LARS, batches added up, workers."""
    whole, parts = (Place(tmp_path / name, warm_python) for name in ("whole", "parts"))
    for each in (whole, parts):  # fewer digits: fp16 is slow on a processor
        program = each.source / "data.py"
        text = program.read_text()
        assert text.count("order[360:]") == 1
        program.write_text(text.replace("order[360:]", "order[360:700]"))
    options = ("--epochs", "1", "--amp", "fp16", "--accumulate", "3", "--batch-size", "32", "--optimizer", "lars")
    good(whole.train(1, *options, "--lr", "5"))
    parts.stop.touch()
    good(parts.train(1, *options, "--lr", "5"))
    state = parts.checkpoint()
    assert (state["epoch"], state["batch"]) == (0, 1) and state["optimizer"]["scaler"]["scale"] > 1
    parts.stop.unlink()
    resumed = parts.train(1, *options, "--lr", "5")
    good(resumed)
    assert "epoch 0, batch 1" in resumed.stdout
    for name, weights in whole.checkpoint()["net"].items():
        assert torch.equal(weights, parts.checkpoint()["net"][name]), name
        assert not torch.equal(weights, state["net"][name]), name


def test_compiled_or_told_that_there_is_no_compiler(place: Place) -> None:
    done = place.train(1, "--compile", "--fused", "--epochs", "1")
    if any(shutil.which(name) for name in ("c++", "g++", "clang++")):
        good(done)
        assert place.final()["accuracy"] > 0.3
    else:
        assert done.returncode == 2 and "C++ compiler" in done.stderr


def _png(path: Path, grey: int) -> None:
    """Write an image of 40 × 36 pixels of one colour."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header, rows = struct.pack(">IIBBBBB", 40, 36, 8, 0, 0, 0, 0), (b"\0" + bytes([grey] * 40)) * 36
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    )


@pytest.mark.parametrize(("parts", "epochs"), [(("",), 1), (("train", "val"), 8)], ids=["classes", "train and val"])
def test_own_images(place: Place, tmp_path: Path, parts: tuple[str, ...], epochs: int) -> None:
    pytest.importorskip("PIL", reason="Pillow is not installed")
    for part in parts:
        for number in range(20):
            _png(tmp_path / "images" / part / "dark" / f"{number}.png", number)
            _png(tmp_path / "images" / part / "light" / f"{number}.PNG", 255 - number)
    options = f"--epochs {epochs} --image-size 32 --batch-size 8 --warmup-epochs 1 --workers 1".split()
    good(place.train(1, "--image-folder", str(tmp_path / "images"), *options))
    assert list(place.checkpoint()["net"].values())[-1].numel() == 2  # as many classes as folders
    steps = [line for line in place.metrics() if "samples" in line]
    assert sum(line["samples"] for line in steps) == epochs * (32 if parts == ("",) else 40)  # a fifth is kept to test
    assert place.final()["accuracy"] >= (0.8 if epochs > 1 else 0)


def test_accumulated_gradient_is_that_of_the_large_batch() -> None:
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(12, 8), torch.nn.Tanh(), torch.nn.Linear(8, 3))
    images, labels = torch.randn(24, 12), torch.randint(3, (24,))
    step, gradients, losses = _module("step"), [], []
    for count in (1, 3):
        net.zero_grad()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        made = step.Step(optimizer, torch.nn.CrossEntropyLoss(), "cpu", "none", count)
        losses.append(made.backward(net, iter(zip(images.chunk(count), labels.chunk(count), strict=True))).item())
        gradients.append(torch.cat([each.grad.flatten() for each in net.parameters()]))
    torch.testing.assert_close(*gradients, rtol=1e-5, atol=1e-7)
    assert losses[0] == pytest.approx(losses[1], rel=1e-6) and gradients[0].abs().max() > 1e-3


def test_lars_makes_the_step_computed_by_hand() -> None:
    weights, bias = torch.nn.Parameter(torch.tensor([[3.0, 4.0]])), torch.nn.Parameter(torch.tensor([1.0]))
    optimizer = _module("lars").Lars([weights, bias], lr=2.0, momentum=0.5, weight_decay=0.1, trust=0.01)
    weights.grad, bias.grad = torch.tensor([[0.0, 2.0]]), torch.tensor([0.25])
    optimizer.step()
    # ‖w‖ 5, ‖g‖ 2: local = 0.01 × 5 ÷ (2 + 0.1 × 5) = 0.02; v = 2 × 0.02 × ([0, 2] + 0.1 × [3, 4]) = [0.012, 0.096]
    torch.testing.assert_close(weights.detach(), torch.tensor([[2.988, 3.904]]))
    torch.testing.assert_close(bias.detach(), torch.tensor([0.5]))  # not adapted: 1 − 2 × 0.25
    weights.grad, bias.grad = torch.zeros(1, 2), torch.zeros(1)
    optimizer.step()
    # half the velocity goes on, and without a gradient the layer is decayed plainly: 2 × 0.1 × w
    torch.testing.assert_close(weights.detach(), torch.tensor([[2.988 - 0.006 - 0.5976, 3.904 - 0.048 - 0.7808]]))
    torch.testing.assert_close(bias.detach(), torch.tensor([0.25]))


REFUSED = [
    ("--accumulate 0", 0, "1 or more"),
    ("--data folder", 0, "--image-folder"),
    ("--data digits --image-folder .", 0, "leave --data out"),
    ("--image-folder /no/such/folder", 0, "absolute path"),
    ("--data synthetic --model cnn", 0, "resnet18"),
    ("--hook powersgd --amp fp16", 1, "bf16"),
    ("--hook powersgd --powersgd-start 1", 0, "2 or more"),
    ("--noise-scale --hook fp16", 0, "leave --hook out"),
    ("--data synthetic --sync-batchnorm", 0, "GPU"),
    ("--sync-batchnorm", 1, "no batch normalisation"),
    ("--optimizer lars --fused", 0, "sgd"),
    ("--pin-memory", 0, "GPU"),
    ("--data synthetic --workers 2", 0, "nothing is loaded"),
    ("--prefetch 4", 0, "--workers"),
]


@pytest.mark.parametrize(("words", "gpus", "named"), REFUSED, ids=[case[0] for case in REFUSED])
def test_what_can_not_be_is_refused(words: str, gpus: int, named: str) -> None:
    options = _module("options")
    why = options.refusal(options.complete(options.parser("").parse_args(words.split())), gpus)
    assert named in why and "\n" not in why


def test_what_needs_a_gpu_is_taken_where_there_is_one() -> None:
    options = _module("options")
    for words in ("", "--hook bf16 --pin-memory --amp fp16", "--data synthetic --sync-batchnorm --compile"):
        assert options.refusal(options.complete(options.parser("").parse_args(words.split())), 1) is None, words


def test_images_without_pillow_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    options = _module("options")
    monkeypatch.setattr(options.importlib.util, "find_spec", lambda name: None)
    args = options.complete(options.parser("").parse_args(["--image-folder", "."]))
    assert "pip install pillow" in options.refusal(args, 0)


def test_a_refusal_is_one_line_and_exit_code_2(place: Place) -> None:
    done = place.train(1, "--pin-memory")
    assert done.returncode == 2
    assert done.stderr.startswith("train.py: --pin-memory is for copies to a GPU") and done.stderr.count("\n") == 1


def test_recipe_yaml_says_what_train_py_takes() -> None:
    """Names, defaults and choices of the two files agree, each has a help, and the program stays readable."""
    assert len((RECIPE / "train.py").read_text().splitlines()) <= 200
    declared = yaml.safe_load((RECIPE / "recipe.yaml").read_text())["parameters"]
    parser: argparse.ArgumentParser = _module("options").parser("")
    taken = {action.dest: action for action in parser._actions if action.dest != "help"}
    assert taken.keys() == declared.keys()
    for name, action in taken.items():
        assert action.default == declared[name].get("default"), name
        assert action.choices == declared[name].get("choices"), name
        assert declared[name]["help"].keys() == {"en", "ja"} and action.help, name
