"""Micro-batches have the whole batch's gradient, loss and weights after training, for any sizes of the parts."""

import importlib.util
import json
import subprocess
import warnings
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.paths import SHARED
from support.patience import STRETCH

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch
BATCH = 13


def _module() -> ModuleType:
    spec = importlib.util.spec_from_file_location("shared_micro_batches", SHARED / "micro_batches.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


MICRO = _module()
nn: Any = torch.nn


class Attention(nn.Module):  # type: ignore[misc]
    """Two inputs, layer normalisation, and an answer for each position."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.norm, self.out = nn.Embedding(11, 8), nn.LayerNorm(8), nn.Linear(8, 5)
        self.mixed = nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, tokens: Any) -> Any:
        found = self.embed(tokens["words"]) * tokens["scale"][:, None, None]
        found = self.norm(found + self.mixed(found, found, found)[0])
        return self.out(found).transpose(1, 2)


def convolutions() -> Any:
    return nn.Sequential(
        nn.Conv2d(1, 4, 3), nn.GroupNorm(2, 4), nn.ReLU(), nn.Conv2d(4, 4, 3), nn.Flatten(), nn.Linear(64, 5)
    )


def images(dtype: Any) -> Any:
    return torch.randn(BATCH, 1, 8, 8, dtype=dtype)


def words(dtype: Any) -> Any:
    return {"words": torch.randint(11, (BATCH, 6)), "scale": torch.rand(BATCH, dtype=dtype)}


def classes(dtype: Any) -> Any:
    return torch.randint(5, (BATCH,))


def ignoring(dtype: Any) -> Any:
    targets = classes(dtype)
    targets[:6] = -100  # a whole micro-batch may have nothing that counts
    return targets


def positions(dtype: Any) -> Any:
    targets = torch.randint(5, (BATCH, 6))
    targets[torch.rand(BATCH, 6) < 0.5] = -100
    targets[0, 0] = 1
    return targets


def numbers(dtype: Any) -> Any:
    return torch.rand(BATCH, 5, dtype=dtype)


WEIGHTS = [0.1, 3.0, 1.0, 0.5, 2.0]
LOSSES: dict[str, tuple[Callable[[], Any], Callable[[Any], Any], Callable[[Any], Any], Callable[[Any], Any]]] = {
    "mean": (convolutions, images, classes, lambda dtype: nn.CrossEntropyLoss()),
    "class weights": (
        convolutions, images, classes, lambda dtype: nn.CrossEntropyLoss(torch.tensor(WEIGHTS, dtype=dtype))
    ),
    "ignored": (convolutions, images, ignoring, lambda dtype: nn.CrossEntropyLoss()),
    "ignored, weights, smoothing": (
        convolutions, images, ignoring,
        lambda dtype: nn.CrossEntropyLoss(torch.tensor(WEIGHTS, dtype=dtype), label_smoothing=0.1),
    ),
    "positions of a text": (Attention, words, positions, lambda dtype: nn.CrossEntropyLoss()),
    "probabilities": (
        convolutions, images, lambda dtype: numbers(dtype).softmax(1),
        lambda dtype: nn.CrossEntropyLoss(torch.tensor(WEIGHTS, dtype=dtype)),
    ),
    "squares": (convolutions, images, numbers, lambda dtype: nn.MSELoss()),
    "binary": (
        convolutions, images, numbers, lambda dtype: nn.BCEWithLogitsLoss(pos_weight=torch.ones(5, dtype=dtype) * 3)
    ),
    "sum": (convolutions, images, classes, lambda dtype: nn.CrossEntropyLoss(reduction="sum")),
    "batchmean": (
        lambda: nn.Sequential(convolutions(), nn.LogSoftmax(1)), images, lambda dtype: numbers(dtype).softmax(1),
        lambda dtype: nn.KLDivLoss(reduction="batchmean"),
    ),
    "own mean": (convolutions, images, numbers, lambda dtype: lambda out, wanted: (out - wanted).abs().mean()),
}  # fmt: skip
"""What the loss is → its model, inputs, targets, and itself."""


def flat(net: Any) -> Any:
    return torch.cat([each.grad.flatten() for each in net.parameters()])


def compared(net: Any, loss_of: Any, inputs: Any, targets: Any, parts: Any, **options: Any) -> tuple[float, float]:
    """Return (difference of gradients ÷ the largest entry, difference of losses ÷ loss) between parts and the whole."""
    whole = loss_of(net(inputs), targets)
    whole.backward()
    wanted = flat(net)
    net.zero_grad()
    loss = MICRO.MicroBatches(loss_of, parts, **options).backward(net, inputs, targets)
    found = flat(net)
    net.zero_grad()
    scale = wanted.abs().max()
    return ((found - wanted).abs().max() / scale).item(), abs((loss - whole) / whole).item()


@pytest.mark.parametrize("precision", ["float64", "float32"])
@pytest.mark.parametrize("name", LOSSES)
def test_the_gradient_is_the_whole_batchs(name: str, precision: str) -> None:
    torch.manual_seed(3)
    dtype = getattr(torch, precision)
    make, inputs, targets, loss = LOSSES[name]
    net = make().to(dtype)
    given_inputs, given_targets, loss_of = inputs(dtype), targets(dtype), loss(dtype)
    for parts in (1, 2, 3, BATCH, 50, [6, 6, 1], [1, 12]):
        gradient, value = compared(net, loss_of, given_inputs, given_targets, parts)
        assert gradient < 1e-6 and value < 1e-6, (name, parts, gradient, value)


def test_a_mean_that_counts_in_its_own_way_needs_count() -> None:
    """The plain rule is wrong there, so the test can fail; with `count` it is exact."""
    torch.manual_seed(0)
    net, inputs, targets = convolutions().double(), images(torch.float64), ignoring(torch.float64)
    loss_of = nn.functional.cross_entropy
    wrong, _ = compared(net, loss_of, inputs, targets, [7, 6])
    right, value = compared(net, loss_of, inputs, targets, [6, 7], count=lambda labels: (labels != -100).sum())
    assert wrong > 1e-3 and right < 1e-12 and value < 1e-12


@given(st.integers(1, 2000), st.integers(1, 2000))
def test_parts_add_up_and_differ_by_at_most_one(total: int, parts: int) -> None:
    sizes = MICRO.sizes_of(total, parts)
    assert sum(sizes) == total and len(sizes) == min(parts, total) and max(sizes) - min(sizes) <= 1


@given(st.integers(1, 500), st.lists(st.integers(1, 60), min_size=1, max_size=9))
def test_a_batch_of_another_size_has_no_larger_part(total: int, sizes: list[int]) -> None:
    found = MICRO.sizes_of(total, sizes)
    assert sum(found) == total and min(found) >= 1
    assert found == sizes if sum(sizes) == total else max(found) <= max(sizes)


def test_the_variable_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    assert MICRO.read_parts("4") == 4 and MICRO.read_parts("40,40,20") == [40, 40, 20]
    for text in ("0", "-1", "", "x", "3,0", "1.5"):
        with pytest.raises(ValueError, match="HACKATHON_MICRO_BATCHES"):
            MICRO.read_parts(text)
    seen = []
    net = convolutions()
    net.register_forward_pre_hook(lambda module, inputs: seen.append(len(inputs[0])))
    monkeypatch.setenv("HACKATHON_MICRO_BATCHES", "5,5,3")
    MICRO.MicroBatches(nn.CrossEntropyLoss()).backward(net, images(torch.float32), classes(None))
    assert seen == [5, 5, 3]


def test_batch_normalisation_and_dropout_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    net = nn.Sequential(nn.Flatten(), nn.Linear(64, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, 5))
    monkeypatch.setenv("HK_RUN", str(tmp_path))
    with pytest.warns(UserWarning) as told:
        MICRO.MicroBatches(nn.CrossEntropyLoss(), 3).backward(net, images(torch.float32), classes(None))
    texts = [str(each.message) for each in told]
    assert len(texts) == 2 and "not the 13 of the batch" in texts[0] and ": 2;" in texts[0] and ": 3" in texts[1]
    report = json.loads((tmp_path / "micro_batches.json").read_text())
    assert report == {"batch": 13, "sizes": [5, 4, 4], "batch_normalisation": ["2"]}
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # neither the whole batch nor a net without them is warned of
        MICRO.MicroBatches(nn.CrossEntropyLoss(), 1).backward(net, images(torch.float32), classes(None))
        MICRO.MicroBatches(nn.CrossEntropyLoss(), 3).backward(convolutions(), images(torch.float32), classes(None))
        MICRO.MicroBatches(nn.CrossEntropyLoss(), 3).backward(net.eval(), images(torch.float32), classes(None))


def test_a_share_of_a_step_and_a_scale() -> None:
    torch.manual_seed(1)
    net, inputs, targets = convolutions().double(), images(torch.float64), classes(None)
    loss_of = nn.CrossEntropyLoss()
    loss_of(net(inputs), targets).backward()
    wanted = flat(net)
    net.zero_grad()
    micro = MICRO.MicroBatches(loss_of, 4)
    for last in (False, True):
        micro.backward(net, inputs, targets, share=0.5, scale=lambda loss: 1024 * loss, last=last)
    assert (flat(net) / 1024 - wanted).abs().max() < 1e-12


def test_the_first_part_of_a_batch() -> None:
    micro = MICRO.MicroBatches(nn.CrossEntropyLoss(), [5, 5, 3])
    batch = images(torch.float32), classes(None)
    first, wanted = micro.first(batch)
    assert len(first) == len(wanted) == 5 and torch.equal(first, batch[0][:5])
    assert len(MICRO.MicroBatches(nn.CrossEntropyLoss()).first(batch)[0]) == BATCH


def test_a_batch_without_rows_is_refused() -> None:
    with pytest.raises(ValueError, match="a sample per row"):
        MICRO.MicroBatches(nn.CrossEntropyLoss(), 2).backward(convolutions(), {}, {})


TOGETHER = """
import sys, torch, torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
sys.path.insert(0, sys.argv[3])
from micro_batches import MicroBatches
rank, world = int(sys.argv[1]), 2
dist.init_process_group("gloo", init_method="file://" + sys.argv[2], rank=rank, world_size=world)
torch.manual_seed(5)
net = nn.Sequential(nn.Linear(6, 9), nn.Tanh(), nn.Linear(9, 3)).double()
inputs, targets = torch.randn(2, 10, 6).double(), torch.randint(3, (2, 10))
model, sent = DistributedDataParallel(net), []
def counted(state, bucket):
    sent.append(1)
    return dist.all_reduce(bucket.buffer() / world, async_op=True).get_future().then(lambda done: done.value()[0])
model.register_comm_hook(None, counted)
loss_of = nn.CrossEntropyLoss()
MicroBatches(loss_of, [4, 4, 2]).backward(model, inputs[rank], targets[rank])
found = torch.cat([each.grad.flatten() for each in net.parameters()])
once = len(sent)
net.zero_grad()
loss_of(net(inputs.flatten(0, 1)), targets.flatten()).backward()
wanted = torch.cat([each.grad.flatten() for each in net.parameters()])
print("difference", (found - wanted).abs().max().item(), "all-reduces", once)
dist.destroy_process_group()
"""


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_processes_exchange_once(tmp_path: Path, warm_python: str) -> None:
    (tmp_path / "program.py").write_text(TOGETHER)
    words = [warm_python, str(tmp_path / "program.py")]
    more = [str(tmp_path / "meet"), str(SHARED)]
    ranks = [subprocess.Popen([*words, str(rank), *more], stdout=subprocess.PIPE, text=True) for rank in range(2)]
    for each in ranks:
        told = each.communicate(timeout=STRETCH * 100)[0].split()
        assert each.returncode == 0 and float(told[1]) < 1e-12 and told[-1] == "1"
