"""Plans that cut between modules: how a chain is measured, and what one process says and does with such a plan."""

import copy
import random
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("numpy")

import numpy
import torch
from torch import nn
from torch.optim import SGD

from hackathon.parallel import AutoParallel, plan_here
from hackathon.parallel.description.built import Built
from hackathon.parallel.description.children import Chain, with_numbers
from hackathon.parallel.description.measure import DevicePeaks, times_of
from hackathon.parallel.description.refusal import CaptureRefusal
from hackathon.parallel.modules.chain import ModuleChain
from hackathon.parallel.plan.devices import Devices
from hackathon.parallel.plan.graph import graph_of
from hackathon.text.errors import RequestError
from support.module_ranks import Deciding, Failing, First, Joining, Objects, Parting, Positive

pytestmark = [pytest.mark.torch, pytest.mark.slow]
LOSS = nn.functional.mse_loss
BATCH = (torch.randn(4, 3), torch.randn(4, 3))
PEAKS = DevicePeaks({"fp32": 1e10}, 1e9)


def chained(*layers: nn.Module) -> nn.Sequential:
    """Return a chain that cannot be captured."""
    return nn.Sequential(nn.Linear(3, 3), Deciding(), *layers)


def plan(model: nn.Module, loss: Any = LOSS, micro_batches: int = 2, **stage: Any) -> dict[str, Any]:
    """Return a plan of one stage."""
    chain = ModuleChain.of(model, loss)
    assert chain is not None
    row = {"operators": list(chain.operators), "replicas": 1} | stage
    return {"schema_version": 1, "micro_batches": micro_batches, "stages": [row]}


def made(model: nn.Module, loss: Any = LOSS, **options: Any) -> AutoParallel:
    options = {"example": BATCH, "seed": 1} | options
    if "plan" not in options:
        options["plan"] = plan(model, loss)
    return AutoParallel(model, loss=loss, optimizer=lambda each: SGD(each, 0.1), **options)


# ---- how a chain is described
def described(model: nn.Module, samples: int = 4, loss: Any = LOSS) -> dict[str, Any]:
    built = Built(model, (torch.rand(samples, 3),), {}, loss, torch.rand(samples, 3))
    chain = Chain(built)
    value = chain.graph(times_of(chain.signatures, chain.counts, PEAKS, None, 0.0))
    graph_of(value, "graph.json")
    return value


def test_layers_that_change_their_input_are_measured() -> None:
    value = described(nn.Sequential(nn.Linear(3, 3), nn.ReLU(inplace=True), nn.Linear(3, 3)))
    assert [each["name"] for each in value["operators"]] == ["0", "1", "2", "loss"]
    assert value["operators"][1]["saved"] == 4 * 3 * 4  # its output


def test_tensors_in_a_mapping_may_be_parted_and_other_objects_may_not() -> None:
    value = described(nn.Sequential(Parting(), Joining(), Objects(), First()))
    assert value["glued"] == [["2", "3"]]
    assert value["edges"][0]["bytes"] == 2 * 4 * 3 * 4 + 4 * 8  # two of floats, and one index for each sample


def test_modules_that_change_one_buffer_stay_together() -> None:
    norm, line = nn.BatchNorm1d(3), nn.Linear(3, 3)
    value = described(nn.Sequential(norm, line, line, norm, nn.ReLU()))
    assert value["glued"] == [["0", "1"], ["1", "2"], ["2", "3"]]
    assert value["aliases"] == [
        {"operators": ["0", "3"], "bytes": 12}, {"operators": ["0", "3"], "bytes": 12},
        {"operators": ["1", "2"], "bytes": 36}, {"operators": ["1", "2"], "bytes": 12},
    ]  # fmt: skip
    assert described(nn.Sequential(norm.eval(), line, norm))["glued"] == []


def test_a_module_that_fails_is_named_with_its_line() -> None:
    with pytest.raises(CaptureRefusal) as refused:
        described(nn.Sequential(nn.Linear(3, 3), nn.Sequential(nn.ReLU(), Failing())))
    assert refused.value.values["module"] == "1.1 (Failing)" and refused.value.values["path"].endswith("_ranks.py")


def test_a_model_without_numbers_gets_some_to_be_measured() -> None:
    with torch.device("meta"):
        model = chained(nn.BatchNorm1d(3))
    built = with_numbers(Built(model, (torch.empty(4, 3, device="meta"),), {}, None, None))
    assert not any(each.is_meta for each in (*built.model.parameters(), *built.model.buffers(), *built.args))
    assert all(each.is_meta for each in model.parameters())


def test_a_plan_made_here_leaves_model_and_random_numbers_as_they_are() -> None:
    model = chained(nn.BatchNorm1d(3), nn.Dropout(0.5))
    seen: list[int] = []
    model[0].register_forward_hook(lambda *given: seen.append(1))
    before = {name: each.clone() for name, each in model.state_dict().items()}
    states = torch.random.get_rng_state(), random.getstate(), numpy.random.get_state()[1].tolist()
    devices = Devices(2, 1e9, 1e12, 0.0, 1e12, host_bandwidth=1e12)
    options: dict[str, Any] = {"loss": LOSS, "micro_batches": 2, "replicas": [1, 1], "seconds": 0.2}
    found = plan_here(model, BATCH, devices, search_seconds=1.0, offload="auto", **options)
    assert [each for stage in found["stages"] for each in stage["operators"]] == ["0", "1", "2", "3", "loss"]
    assert not any(each["offload"] for each in found["stages"])
    assert all(torch.equal(each, before[name]) for name, each in model.state_dict().items()) and seen
    assert torch.equal(torch.random.get_rng_state(), states[0]) and random.getstate() == states[1]
    assert numpy.random.get_state()[1].tolist() == states[2]
    with pytest.raises(RequestError) as refused:
        plan_here(model, BATCH, devices, offload="all", **options)
    assert refused.value.id == "auto_parallel.module_level"


# ---- what one process does with such a plan
class Counting(nn.Module):
    """Counts its calls in Python."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        return x * (1 + 0 * self.calls)


class Layers(nn.Module):
    """Says plainly that it is a chain."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(3, 3), Deciding(), nn.Linear(3, 3)])
        self.last, self.unused = nn.Linear(3, 3), nn.Linear(2, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = layer(x)
        return self.last(x)  # type: ignore[no-any-return]


def test_the_first_step_is_the_first_call_of_a_module() -> None:
    model = chained(Counting(), nn.BatchNorm1d(3))
    parallel = made(model)
    assert model[2].calls == 0 and int(model[3].num_batches_tracked) == 0
    parallel.step(BATCH)
    assert model[2].calls == 2 and int(model[3].num_batches_tracked) == 2
    assert int(parallel.state_dict()["3.num_batches_tracked"]) == 2


def test_a_first_layer_in_place_leaves_the_batch_as_it_is() -> None:
    batch = (torch.randn(4, 3), torch.randn(4, 3))
    kept = batch[0].clone()
    parallel = made(nn.Sequential(nn.ReLU(inplace=True), Deciding(), nn.Linear(3, 3)), example=batch)
    parallel.step(batch)
    parallel.eval()(batch[0])
    assert torch.equal(batch[0], kept)


def plain_losses(model: nn.Module, steps: int) -> list[float]:
    """Return the loss before each step, and after the last, of a loop over two halves of the batch."""
    optimizer, losses = SGD(model.parameters(), 0.1), []
    for _ in range(steps + 1):
        optimizer.zero_grad()
        halves = zip(*(tensor.chunk(2) for tensor in BATCH), strict=True)
        parts = [LOSS(model(inputs), targets) / 2 for inputs, targets in halves]
        losses.append(sum(float(part.detach()) for part in parts))
        for part in parts:
            part.backward()
        optimizer.step()
    return losses


def test_a_model_whose_forward_is_a_chain_is_trained_by_its_modules() -> None:
    model = Layers()
    plain, names = copy.deepcopy(model), list(model.state_dict())
    calls: list[int] = []
    model.last.register_forward_hook(lambda *_: calls.append(1))
    parallel = made(model)
    losses = [float(parallel.step(BATCH)) for _ in range(5)]
    expected = plain_losses(plain, 5)
    assert losses == pytest.approx(expected[:5], rel=1e-4) and len(calls) >= 10
    assert list(parallel.state_dict()) == names
    assert float(parallel.eval().evaluate(BATCH)) == pytest.approx(expected[5], rel=1e-4)


def test_a_chain_on_the_meta_device_is_made_by_its_modules() -> None:
    with torch.device("meta"):
        model = chained(nn.BatchNorm1d(3))
    parallel = made(model, plan=plan(chained(nn.BatchNorm1d(3))))
    assert not any(each.is_meta for each in parallel.state_dict().values())
    assert float(parallel.step(BATCH)) > 0


def test_frozen_modules_stay_in_their_mode() -> None:
    model = chained(nn.BatchNorm1d(3), nn.BatchNorm1d(3))
    model[2].eval()
    parallel = made(model)
    parallel.step(BATCH)
    parallel.eval()(BATCH[0])
    parallel.train().step(BATCH)
    assert int(model[2].num_batches_tracked) == 0 and int(model[3].num_batches_tracked) == 4


class Losing(nn.Module):
    """Returns a loss beside something that is not a tensor."""

    def forward(self, x: torch.Tensor) -> dict[str, Any]:
        return {"loss": x.square().mean(), "label": "square", "all": x}


def test_a_model_that_ends_with_its_loss_needs_no_other() -> None:
    parallel = made(chained(Losing()), None, example=BATCH[0])
    assert float(parallel.step(BATCH[0])) > 0
    found = parallel.eval()(BATCH[0])
    assert found["label"] == "square" and found["all"].shape == (4, 3) and found["loss"].dim() == 0
    assert torch.equal(parallel.evaluate(BATCH[0]), found["loss"])


def unchanging() -> nn.Linear:
    """Return a layer with parameters whose output is its input."""
    line = nn.Linear(3, 3)
    nn.init.eye_(line.weight)
    nn.init.zeros_(line.bias)
    return line


REFUSED: dict[str, tuple[str, Callable[[], Any]]] = {
    "a compiled chain": ("auto_parallel.module_level", lambda: made(chained(), compiler="aot_eager")),
    "parameters in main memory": (
        "auto_parallel.module_level", lambda: made(chained(), plan=plan(chained(), offload=True)),
    ),
    "divided parameters": ("auto_parallel.module_level", lambda: made(chained(), shard=True)),
    "two arguments": ("auto_parallel.module_inputs", lambda: made(chained(), example=((BATCH[0],) * 2, BATCH[1]))),
    "keywords": ("auto_parallel.module_inputs", lambda: made(chained(), example=({"input": BATCH[0]}, BATCH[1]))),
    "a module that fails": ("auto_parallel.module_failed", lambda: made(chained(Failing()))),
    "no loss": ("auto_parallel.no_loss", lambda: made(chained(), None, example=BATCH[0])),
    "an output that is no tensor": ("auto_parallel.handed_on", lambda: made(
        chained(Objects()), lambda output, target: output[0].sum()).eval()(BATCH[0])),
    "an output that changes its shape": ("auto_parallel.handed_changes", lambda: made(
        nn.Sequential(Deciding(), unchanging(), Positive()), lambda output, target: output.sum(),
    ).eval()(torch.tensor([[[1.0, 2, 3]] * 2, [[-9.0, 2, 1]] * 2]).flatten(0, 1))),
    "a plan of a smaller chain": ("auto_parallel.plan_missing", lambda: made(chained(), plan=plan(nn.Sequential(
        nn.Linear(3, 3))))),
    "a plan of a larger chain": ("auto_parallel.plan_unknown", lambda: made(chained(), plan=plan(chained(nn.ReLU())))),
    "a hook on the whole": ("capture.hook", lambda: made(hooked(chained()), plan=plan(chained()))),
}  # fmt: skip


def hooked(model: nn.Module) -> nn.Module:
    model.register_forward_hook(lambda *given: None)
    return model


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_go_with_modules_is_refused_by_name(name: str) -> None:
    identifier, call = REFUSED[name]
    with pytest.raises(RequestError) as refused:
        call()
    assert refused.value.id == identifier
    assert refused.value.message and "{" not in refused.value.message


def test_the_module_that_fails_is_told_with_file_and_line() -> None:
    with pytest.raises(RequestError) as refused:
        made(chained(nn.Sequential(nn.ReLU(), Failing())))
    assert refused.value.values["module"] == "2.1" and "not so" in str(refused.value.values["words"])
    assert str(refused.value.values["path"]).endswith("module_ranks.py")
