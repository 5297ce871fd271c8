"""A step that was noted costs with fake tensors what it costs for real; noting changes nothing and keeps nothing."""

import gc
import json
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
import torch
from torch import nn
from torch.nn import functional

from hackathon.tuning import fake_step, observer
from hackathon.tuning.fake_step import step_bytes
from hackathon.tuning.observer import Observer

pytestmark = pytest.mark.slow
FIRST = 8


@pytest.fixture(autouse=True)
def beside(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the observer find its module as if it lay beside it under its name in a slot."""
    monkeypatch.setitem(__import__("sys").modules, observer.BESIDE, fake_step)


def noted(
    net: Any, batch: Callable[[], Any], loss_of: Callable[[Any, Any], Any], slot: Path, steps: int = 3
) -> Observer:
    """Return an observer that saw some steps."""
    found = Observer(slot, FIRST)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    for _ in range(steps):
        images, labels = batch()
        optimizer.zero_grad(set_to_none=True)
        loss_of(net(images), labels).backward()
        optimizer.step()
        found.stepped(optimizer)
    return found


def wide() -> tuple[Any, Callable[[], Any]]:
    """Return a network whose activations weigh more than its weights, and its batches."""
    net = nn.Sequential(nn.Linear(4, 1000), nn.Tanh(), nn.Linear(1000, 4))
    return net, lambda: (torch.randn(FIRST, 4), torch.randn(FIRST, 4))


def test_memory_is_that_of_the_tensors_that_live_at_once(tmp_path: Path) -> None:
    net, batch = wide()
    found = noted(net, batch, functional.mse_loss, tmp_path)
    assert found.problem is None
    assert found.state_bytes == sum(each.nbytes for each in net.parameters())
    slope = (step_bytes(found.tape, FIRST, 4096) - step_bytes(found.tape, FIRST, 2048)) / 2048
    # tanh keeps its output; backward of the second layer makes its gradient, that of tanh one more; inputs are small
    assert 4 * 3000 <= slope <= 4 * 3040
    small = step_bytes(found.tape, FIRST, FIRST)
    assert small >= 2 * sum(each.nbytes for each in net.parameters()), "weights and gradients"


@pytest.mark.parametrize("kind", ["module", "function", "divided", "autocast", "accumulated"])
def test_every_way_to_a_loss_is_followed_to_backward(kind: str, tmp_path: Path) -> None:
    net, batch = wide()
    found = Observer(tmp_path, FIRST)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        for _ in range(2 if kind == "accumulated" else 1):
            images, labels = batch()
            with torch.autocast("cpu", torch.bfloat16, enabled=kind == "autocast"):
                out = net(images)
                loss = nn.MSELoss()(out, labels) if kind == "module" else functional.mse_loss(out.float(), labels)
            (loss / 2 if kind in ("divided", "accumulated") else loss).backward()
        optimizer.step()
        found.stepped(optimizer)
    one, two = (step_bytes(found.tape, FIRST, batch) for batch in (4096, 8192))
    assert one < two and found.problem is None
    if kind == "autocast":
        assert (two - one) / 4096 < 4 * 2600, "bf16 halves what is kept"


def test_noting_keeps_nothing_alive_and_ends(tmp_path: Path) -> None:
    net, batch = wide()
    call = nn.Module.__call__
    found = Observer(tmp_path, FIRST)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    optimizer.step()
    found.stepped(optimizer)
    assert nn.Module.__call__ is not call
    images, labels = batch()
    out = net(images)
    loss = functional.mse_loss(out, labels)
    loss.backward()
    gone = [weakref.ref(each) for each in (out, loss, images)]
    del out, loss, images, labels
    gc.collect()
    assert [each() for each in gone] == [None] * 3
    optimizer.step()
    found.stepped(optimizer)
    assert nn.Module.__call__ is call and len(found.tape) == 3
    net(batch()[0])
    assert len(found.tape) == 3, "only one step is noted"


def test_what_the_driver_asks_for_is_answered(tmp_path: Path) -> None:
    net, batch = wide()
    found = noted(net, batch, functional.mse_loss, tmp_path)
    measured = 10**9  # of the real start
    (tmp_path / "observe").write_text(json.dumps({"limit": measured + 12_000 * 5000, "memory": measured}))
    found.predict()
    told = json.loads((tmp_path / "predicted.json").read_text())
    assert told["reason"] is None and 4500 <= told["batch"] <= 5500, told
    assert len(told["points"]) <= observer.TRIES and all(len(each) == 2 for each in told["points"])


def test_what_cannot_be_known_is_told_with_its_reason(tmp_path: Path) -> None:
    (tmp_path / "observe").write_text(json.dumps({"limit": 2, "memory": 1}))

    def told(found: Observer) -> Any:
        found.predict()
        return json.loads((tmp_path / "predicted.json").read_text())

    assert told(Observer(tmp_path, FIRST))["reason"] == "no-step"
    found = Observer(tmp_path, FIRST)
    found.note = lambda *words: (_ for _ in ()).throw(ValueError("odd"))  # type: ignore[method-assign]
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1)
    for _ in range(2):  # the second time the driver's question is seen
        found.stepped(optimizer)
    answer = json.loads((tmp_path / "predicted.json").read_text())
    assert (answer["reason"], answer["text"]) == ("failed", "ValueError: odd") and found.state == "over"
    _, batch = wide()
    small = nn.Linear(4, 4)
    assert told(noted(small, batch, lambda out, labels: small.weight.sum(), tmp_path))["reason"] == "no-backward"

    class Reads(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(4, 4)

        def forward(self, images: Any) -> Any:
            return self.layer(images) * (2 if images.sum().item() > 0 else 1)  # depends on what the numbers are

    answer = told(noted(Reads(), batch, functional.mse_loss, tmp_path))
    assert answer["reason"] == "failed" and answer["batch"] is None and answer["text"], answer
