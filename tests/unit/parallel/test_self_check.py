"""A model that a graph would train otherwise is refused by name, or run by its modules; any other is trained."""

import copy
import inspect
import random
import re
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

import numpy
import torch
from torch import nn

from hackathon.parallel import AutoParallel
from hackathon.parallel.description.worker import captured
from hackathon.parallel.live.capture import loss_in
from hackathon.parallel.source.graphs import model_graph
from hackathon.text.errors import RequestError
from support import networks, untrue_networks
from support.paths import ROOT
from support.untrue_networks import Net, batch, chain

pytestmark = pytest.mark.torch
FILE = ROOT / "tests" / "support" / "untrue_networks.py"
REQUEST = {"path": str(FILE), "seconds": 0, "peaks": {"flops_per_s": {"fp32": 1e10}, "bytes_per_s": 1e9}}

REFUSED = {
    # kind → (id, text of the line that is named)
    "reentrant": ("checkpoint", "use_reentrant=True"),
    "tensor_hook": ("left_out", "x.register_hook"),
    "inner_gradient": ("left_out", "torch.autograd.grad"),
    "inner_backward": ("left_out", ".backward()"),
    "python_random": ("decided_once", "random.random()"),
    "numpy_random": ("decided_once", "numpy.random.rand"),
    "own_generator": ("other_graph", "self.layer(x)"),
    "counter": ("counted", "def forward"),
    "counter_in_dictionary": ("counted", "def forward"),
    "global_counter": ("other_graph", "self.layer(x)"),
    "clock": ("other_graph", "self.layer(x)"),
    "unkept_function": ("own_backward", "Called.apply"),
    "dirty_function": ("own_backward", "Packed.apply"),
    "saved_tensors": ("left_out", "saved_tensors_hooks"),
    "node_hook": ("other_gradient", "self.layer(x)"),
    "inference": ("other_gradient", "self.layer(x)"),
    "compiling": ("other_gradient", "self.last("),
    "frozen": ("other_gradient", "self.layer(x)"),
    "data": ("left_out", "self.layer(x)"),
    "clipped_weights": ("left_out", "self.layer(x)"),
}
"""What a graph leaves out or decides once."""
EXACT = ("function", "reversal", "checkpointed", "dropout", "size_as_attribute", "part_without_gradient", "nothing")
"""What it holds."""


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MEASURING", "SEARCHING"):
        monkeypatch.setattr(f"hackathon.parallel.description.choice.{name}", 0.0)


def parallel(model: nn.Module, example: Any, **options: Any) -> AutoParallel:
    """Return a model trained in this process alone, by a plan that is made here."""
    return AutoParallel(
        model, loss=nn.functional.mse_loss, optimizer=lambda trained: torch.optim.SGD(trained, 0.1), example=example,
        micro_batches=1, seed=1, **options,
    )  # fmt: skip


def plain_losses(model: nn.Module, example: tuple[torch.Tensor, torch.Tensor], steps: int) -> list[float]:
    """Return the losses of a plain loop."""
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(example[0]), example[1])
        loss.backward()
        optimizer.step()
        losses.append(float(loss))
    return losses


@pytest.mark.parametrize("kind", REFUSED)
def test_what_a_graph_does_not_hold_is_refused_with_module_file_and_line(kind: str) -> None:
    identifier, text = REFUSED[kind]
    with pytest.raises(RequestError) as refused:
        parallel(Net(kind), batch())
    assert refused.value.id == f"capture.{identifier}" and not re.search(r"\{[a-z_]+\}", refused.value.message)
    assert refused.value.hint is not None and "{" not in refused.value.hint
    values = refused.value.values
    assert values["path"] == str(FILE)
    assert text in FILE.read_text().splitlines()[int(str(values["line"])) - 1]
    assert str(values["module"]).startswith(("odd", "last"))


@pytest.mark.parametrize("kind", ["tensor_hook", "inner_gradient", "counter", "node_hook"])
def test_a_chain_with_it_is_run_by_its_modules_and_trains_as_the_plain_loop(kind: str) -> None:
    example = batch()
    torch.manual_seed(0)
    plain = chain(kind)
    torch.manual_seed(0)
    other = parallel(chain(kind), example)
    assert other.checked is None and "loss" in other.plan.stage_of
    assert [float(other.step(example)) for _ in range(3)] == plain_losses(plain, example, 3)


@pytest.mark.slow
@pytest.mark.parametrize("kind", EXACT)
def test_what_a_graph_holds_is_checked_and_trained(kind: str) -> None:
    example = batch()
    torch.manual_seed(0)
    plain = Net(kind)
    torch.manual_seed(0)
    other = parallel(Net(kind), example)
    assert other.checked is not None and other.checked.why_not is None and other.checked.gradients == 6
    losses = [float(other.step(example)) for _ in range(3)]
    if kind not in ("reversal", "checkpointed", "dropout"):  # these draw random numbers
        assert losses == pytest.approx(plain_losses(plain, example, 3), rel=1e-6)
    assert other.plan.recompute == ((kind == "checkpointed"),)


def test_an_own_backward_pass_is_that_of_the_function() -> None:
    example = batch()
    torch.manual_seed(0)
    other = parallel(Net("function"), example)
    assert any(name.startswith("rounded") for name in other.plan.stage_of)
    before = other.state_dict()["odd.layer.weight"].clone()
    other.step(example)
    assert not torch.equal(other.state_dict()["odd.layer.weight"], before)  # round() alone has no gradient


def test_the_check_leaves_model_and_random_numbers_as_they_are() -> None:
    model = nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, 4))
    example = batch()
    before = {name: item.clone() for name, item in model.state_dict().items()}
    states = torch.get_rng_state(), random.getstate(), numpy.random.get_state()[1].tolist()  # type: ignore[index]
    other = parallel(model, example)
    assert other.checked is not None and other.checked.gradients == 6
    assert all(torch.equal(item, before[name]) for name, item in other.state_dict().items())
    assert torch.equal(states[0], torch.get_rng_state()) and states[1] == random.getstate()
    assert states[2] == numpy.random.get_state()[1].tolist()  # type: ignore[index]


def test_bf16_is_compared_as_it_rounds() -> None:
    other = parallel(Net("dropout"), batch(), precision="bf16")
    assert other.checked is not None and other.checked.why_not is None
    with pytest.raises(RequestError) as refused:
        parallel(Net("node_hook"), batch(), precision="bf16")
    assert refused.value.id == "capture.other_gradient"


@pytest.mark.slow
def test_a_check_that_is_too_large_or_too_long_is_left_out_with_a_warning(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    check = "hackathon.parallel.fidelity.self_check"
    monkeypatch.setattr(f"{check}.free_memory", lambda device: 100.0)
    other = parallel(Net("node_hook"), batch())
    assert other.checked is not None and other.checked.why_not == "memory"
    assert "self-check was not run" in capsys.readouterr().err
    monkeypatch.undo()
    monkeypatch.setattr("hackathon.parallel.description.choice.MEASURING", 0.0)
    monkeypatch.setattr(f"{check}.FLOPS", {"cpu": 1e-3})
    other = parallel(Net("node_hook"), batch())
    assert other.checked is not None and other.checked.why_not == "time"
    assert "longer" not in capsys.readouterr().out
    other = parallel(Net("node_hook"), batch(), check=False)
    assert other.checked is not None and other.checked.why_not == "off" and capsys.readouterr().err == ""


@pytest.mark.slow
def test_a_plan_of_operators_is_checked_where_it_is_used(tmp_path: Path) -> None:
    names = list(parallel(Net("node_hook"), batch(), check=False).plan.stage_of)
    plan = {"schema_version": 1, "micro_batches": 1, "stages": [{"operators": names, "replicas": 1}]}
    with pytest.raises(RequestError) as refused:
        parallel(Net("node_hook"), batch(), plan=plan)
    assert refused.value.id == "capture.other_gradient"
    names = list(parallel(Net("nothing"), batch(), check=False).plan.stage_of)
    plan["stages"] = [{"operators": names, "replicas": 1}]
    checked = parallel(Net("nothing"), batch(), plan=plan).checked
    assert checked is not None and checked.gradients == 6


def test_hackathon_plan_checks_and_plans_by_modules_on_a_difference() -> None:
    _, about = captured({**REQUEST, "function": "checkpointed"})
    assert about["check"] == {"run": True, "gradients": 6, "why_not": None, "values": {}}
    assert about["checkpointed"] > 0
    value, about = captured({**REQUEST, "function": "node_hook_chain"})
    assert about["level"] == "modules" and [item["name"] for item in value["operators"]] == ["0", "1", "2", "loss"]
    assert about["why"]["words"] == "gradient of 1.layer.weight"
    assert "self.layer(x)" in FILE.read_text().splitlines()[int(about["why"]["line"]) - 1]


def test_a_chain_with_reentrant_checkpoints_is_refused_with_the_hint_to_recompute() -> None:
    with pytest.raises(RequestError) as refused:
        parallel(chain("reentrant"), batch())
    assert refused.value.id == "capture.checkpoint"
    assert refused.value.hint is not None and "--recompute" in refused.value.hint


def test_gradient_checkpointing_of_hugging_face_is_refused_with_its_own_hint() -> None:
    model = Net("nothing")
    model.odd.gradient_checkpointing = True  # type: ignore[assignment]
    model.odd._gradient_checkpointing_func = untrue_networks.checkpoint  # type: ignore[assignment]
    model.first.register_forward_hook(lambda *arguments: None)  # enable_input_require_grads
    with pytest.raises(RequestError) as refused:
        parallel(model, batch())
    assert refused.value.id == "capture.gradient_checkpointing"
    assert refused.value.hint is not None and "--recompute" in refused.value.hint


def test_a_function_that_gives_keyword_arguments_only() -> None:
    value, about = captured({**REQUEST, "function": "keywords", "samples": 6})
    assert about["samples"] == 6 and about["check"]["run"] and value["operators"]


@pytest.mark.slow
def test_a_model_whose_depth_is_a_variable_is_captured_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    options = {"seconds": 0, "peaks": REQUEST["peaks"]}
    trained = []
    for depth in ("4", "4", "9"):
        monkeypatch.setenv("DEPTH", depth)
        graph, _, cached = model_graph(f"{FILE}:deep", sys.executable, options)
        trained.append((len([item for item in graph.operators if item.parameters]), cached))
    assert trained == [(5, False), (5, True), (10, False)]


SIX = ("resnet50", "gpt", "bert", "encoder_decoder", "unet", "lstm")


@pytest.mark.slow
@pytest.mark.parametrize("name", SIX)
def test_six_models_are_checked_and_train_as_the_plain_loop(name: str) -> None:
    torch.manual_seed(0)
    built = getattr(networks, name)()
    model, args, loss = built["model"], list(built["args"]), built.get("loss")
    target = args.pop() if loss is not None else None
    for item in model.modules():  # a plain loop draws other random numbers
        if isinstance(item, nn.Dropout):
            item.p = 0.0
        if isinstance(item, nn.LSTM):
            item.dropout = 0.0
    plain = copy.deepcopy(model)
    inputs = dict(zip(inspect.signature(model.forward).parameters, args, strict=False)) | built.get("kwargs", {})
    example = inputs if loss is None else (inputs, target)
    other = AutoParallel(
        model, loss=loss, optimizer=lambda trained: torch.optim.SGD(trained, 0.01), example=example,
        micro_batches=1,
    )  # fmt: skip
    assert other.checked is not None and other.checked.why_not is None
    assert other.checked.gradients == len([*plain.named_parameters(remove_duplicate=False)])
    optimizer = torch.optim.SGD(plain.parameters(), 0.01)
    for _ in range(2):
        optimizer.zero_grad()
        output = plain(**inputs)
        expected = loss_in(output) if loss is None else loss(output, target)
        expected.backward()
        optimizer.step()
        assert float(other.step(example)) == pytest.approx(expected.item(), rel=1e-5)
