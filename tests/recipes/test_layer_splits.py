"""Convolutions in parts compute the same, and their kernels are measured where the environment asks for it."""

import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from support.paths import SHARED

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch
nn: Any = torch.nn


@pytest.fixture
def modules(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return (micro_batches, layer_splits) as a program imports them, and forget them afterwards."""
    monkeypatch.syspath_prepend(str(SHARED))
    names = ("layer_splits", "micro_batches")
    for name in names:
        monkeypatch.delitem(sys.modules, name, raising=False)
    found: list[ModuleType] = [__import__(name) for name in names]
    yield found[1], found[0]
    for name in names:
        sys.modules.pop(name, None)


def network() -> Any:
    torch.manual_seed(2)
    return nn.Sequential(
        nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Conv2d(4, 4, 3, stride=2), nn.Flatten(), nn.Linear(36, 3)
    ).double()


def gradients(net: Any, micro: Any) -> Any:
    torch.manual_seed(4)
    micro.backward(net, torch.randn(12, 3, 9, 9).double(), torch.randint(3, (12,)))
    return torch.cat([each.grad.flatten() for each in net.parameters()])


def test_parts_compute_the_same(modules: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    micro, splits = modules
    loss = nn.CrossEntropyLoss()
    wanted = gradients(network(), micro.MicroBatches(loss))
    monkeypatch.setenv("HACKATHON_LAYER_SPLITS", json.dumps({"0": [8, 4], "2": [6, 6]}))
    net, calls = network(), []
    for name in ("0", "2"):
        real = splits.convolutions(net)[name].forward

        def counted(inputs: Any, real: Any = real) -> Any:
            calls.append(len(inputs))
            return real(inputs)

        splits.convolutions(net)[name].forward = counted
    found = gradients(net, micro.MicroBatches(loss))
    assert calls == [8, 4, 6, 6] and (found - wanted).abs().max() < 1e-12
    calls.clear()
    net(torch.randn(5, 3, 9, 9).double())
    assert calls == [5, 5], "another batch stays whole"
    monkeypatch.setenv("HACKATHON_LAYER_SPLITS", json.dumps({"4": [6, 6]}))
    with pytest.raises(ValueError, match="no convolution"):
        gradients(network(), micro.MicroBatches(loss))


def test_kernels_are_measured_once_and_change_nothing(
    modules: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    micro, _ = modules
    loss = nn.CrossEntropyLoss()
    wanted = gradients(network(), micro.MicroBatches(loss))
    monkeypatch.setenv("HACKATHON_MEASURE_LAYERS", "1")
    monkeypatch.setenv("HK_RUN", str(tmp_path))
    net = network()
    made = micro.MicroBatches(loss)
    assert torch.equal(gradients(net, made), wanted)
    told = json.loads((tmp_path / "layers.json").read_text())
    assert set(told) == {"0", "2"} and told["0"]["batch"] == 12 and set(told["0"]["kernels"]) == {"12", "6", "3", "1"}
    assert all(seconds > 0 and space == 0 for seconds, space in told["2"]["kernels"].values())
    (tmp_path / "layers.json").unlink()
    gradients(net, made)
    assert not (tmp_path / "layers.json").exists()
