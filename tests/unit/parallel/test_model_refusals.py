"""Functions of users that return no model, and models that cannot be captured: one sentence with the place."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

import torch
from torch import nn

from hackathon.parallel.description.built import build, load
from hackathon.parallel.description.refusal import CaptureRefusal, frame_of, refuse_hooks, shortened
from hackathon.parallel.description.worker import captured
from hackathon.parallel.plan.graph import graph_of
from support import networks
from support.paths import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.torch]
FILE = ROOT / "tests" / "support" / "networks.py"
REQUEST = {"path": str(FILE), "seconds": 0, "peaks": {"flops_per_s": {"fp32": 1e10}, "bytes_per_s": 1e9}}


def line_of(text: str) -> str:
    """Return the number of the first line of the networks' file that has a text."""
    return str(1 + next(at for at, line in enumerate(FILE.read_text().splitlines()) if text in line))


def test_hooks_are_refused_with_their_place_and_parametrizations_are_not() -> None:
    with pytest.raises(CaptureRefusal) as refused:
        captured({**REQUEST, "function": "hooked"})
    assert refused.value.id == "capture.hook"
    assert refused.value.values == {
        "module": "layers.1.up (Linear)", "hook": "_observe", "path": str(FILE), "line": line_of("def _observe"),
    }  # fmt: skip
    model = nn.Sequential(nn.Linear(2, 2), nn.utils.parametrizations.weight_norm(nn.Linear(2, 2)))
    refuse_hooks(model)
    model.register_full_backward_hook(lambda *_: None)
    with pytest.raises(CaptureRefusal):
        refuse_hooks(model)


def test_a_branch_on_a_value_is_named_with_its_module() -> None:
    with pytest.raises(CaptureRefusal) as refused:
        captured({**REQUEST, "function": "branching"})
    told = refused.value.values
    assert (told["module"], told["path"]) == ("inner.branch (Branching)", str(FILE))
    assert told["line"] == line_of("the value decides") and len(told["words"]) < 230


def test_a_chain_that_cannot_be_captured_is_planned_by_its_children() -> None:
    value, told = captured({**REQUEST, "function": "branching_chain", "samples": 6})
    graph = graph_of(value, "graph")
    assert [each["name"] for each in value["operators"]] == ["0", "1", "2.0", "2.1", "3", "loss"]
    assert told["level"] == "modules" and told["samples"] == 6 and told["why"]["line"] == line_of("the value decides")
    sizes = [each["parameters"] for each in value["operators"]]
    assert sizes == [4 * (16 * 16 + 16), 4 * (16 * 16 + 16), 4 * (16 * 32 + 32), 0, 4 * (32 * 10 + 10), 0]
    # what autograd keeps of six samples: inputs of the layers, and what ReLU and the loss keep
    assert all(each.forward > 0 and each.backward > 0 for each in graph.operators)
    assert {(each["from"], each["to"]): each["bytes"] for each in value["edges"]}["2.1", "3"] == 6 * 32 * 4


def test_a_chain_with_hooks_on_its_children_is_planned_by_them() -> None:
    value, told = captured({**REQUEST, "function": "hooked_chain"})
    assert [each["name"] for each in value["operators"]] == ["0", "1", "2.2.0", "2.2.1", "2.3", "loss"]
    assert told["level"] == "modules" and told["why"] == {
        "module": "0 (Linear)", "path": str(FILE), "line": line_of("def _observe"), "words": "hook _observe",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("value", "identifier"),
    [
        ([1], "capture.build_returns"), ({"model": nn.Linear(1, 1)}, "capture.build_returns"),
        ({"model": 3, "args": ()}, "capture.build_returns"),
        ({"model": nn.Linear(1, 1), "args": (), "los": None}, "capture.build_key"),
        ({"model": nn.Linear(1, 1), "args": (), "loss": 3}, "capture.build_loss"),
    ],
)  # fmt: skip
def test_what_a_function_returns_is_checked(value: Any, identifier: str) -> None:
    with pytest.raises(CaptureRefusal) as refused:
        build(lambda: value, FILE)
    assert refused.value.id == identifier


def _cross(output: torch.Tensor, target: torch.Tensor, weight: float = 1.0) -> torch.Tensor:
    return (output - target).sum() * weight


@pytest.mark.parametrize(
    ("loss", "count", "inputs", "target"),
    [(_cross, 2, 1, True), (nn.MSELoss(), 2, 1, True), (nn.functional.mse_loss, 3, 2, True),
     (lambda output: output.sum(), 2, 2, False), (None, 2, 2, False), (_cross, 1, 1, False)],
)  # fmt: skip
def test_the_last_input_is_the_target_of_a_loss_that_takes_one(
    loss: Callable[..., Any] | None, count: int, inputs: int, target: bool
) -> None:
    def function() -> dict[str, Any]:
        return {"model": nn.Linear(2, 2), "args": tuple(torch.rand(4, 2) for _ in range(count)), "loss": loss}

    built = build(function, FILE)
    assert len(built.args) == inputs and (built.target is not None) is target and built.samples == 4
    other = built.resized(9)
    assert other.args[0].shape == (9, 2) and other.args[0].is_meta and other.samples == 9


def test_a_file_that_fails_is_told_with_its_line(tmp_path: Path) -> None:
    for name, text, identifier, line in (
        ("one.py", "import torch\n\n1 / 0\n", "capture.import_failed", "3"),
        ("two.py", "def build(:\n", "capture.import_failed", "1"),
        ("three.py", "\n\ndef build():\n    return torch\n", "capture.build_failed", "4"),
    ):
        path = tmp_path / name
        path.write_text(text)
        with pytest.raises(CaptureRefusal) as refused:
            build(load(path, "build"), path)
        assert (refused.value.id, refused.value.values["line"]) == (identifier, line)
        assert refused.value.values["path"] == str(path)
    with pytest.raises(CaptureRefusal) as refused:
        load(FILE, "nothing")
    assert refused.value.id == "capture.no_function"


def test_words_are_shortened() -> None:
    assert shortened(ValueError("\n  first \nsecond")) == "ValueError: first" and shortened(KeyError()) == "KeyError"
    assert len(shortened(ValueError("x" * 5000))) < 200
    try:
        networks.Branching()(torch.rand(3))
    except RuntimeError as error:
        assert frame_of(error) == (str(FILE), int(line_of("y = self.linear(x)")))
