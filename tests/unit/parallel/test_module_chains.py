"""Which models are chains of modules: `nn.Sequential`, and what a `forward` says so plainly that it is certain."""

from typing import Any

import pytest

pytest.importorskip("torch")

import torch
from torch import nn

from hackathon.parallel.live.split import SplitError
from hackathon.parallel.modules.chain import ModuleChain, chain_of

pytestmark = pytest.mark.torch


class Layers(nn.Module):
    """The usual form: first, layers, last."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(3, 4)
        self.layers = nn.ModuleList([nn.Linear(4, 4), nn.Sequential(nn.Tanh(), nn.Linear(4, 4))])
        self.last, self.alone = nn.Linear(4, 2), 3

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Call them all.

        One after another.
        """
        hidden = self.first(x)
        for layer in self.layers:
            hidden = layer(hidden)
        return self.last(hidden)  # type: ignore[no-any-return]


class Nested(Layers):
    """Calls inside calls."""

    def forward(self, tokens: "torch.Tensor") -> "torch.Tensor":
        return self.last(self.layers_of(tokens)) if self.alone == 4 else self.last(self.first(tokens))  # type: ignore


class Inside(nn.Module):
    """Has a chain, and calls what is in it."""

    def __init__(self) -> None:
        super().__init__()
        self.net, self.drop = Layers(), nn.Dropout(0.1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.drop(self.net(self.drop(x)))
        return x  # noqa: RET504


class Added(Layers):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.first(x)
        for layer in self.layers:
            x = x + layer(x)
        return self.last(x)  # type: ignore[no-any-return]


class Older(Layers):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.first(x)
        z = self.layers[0](y)  # noqa: F841
        return self.last(y)  # type: ignore[no-any-return]


class Masked(Layers):
    def forward(self, x: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        return self.last(self.first(x))  # type: ignore[no-any-return]


class Functional(Layers):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.last(torch.relu(self.first(x)))  # type: ignore[no-any-return]


class Early(Layers):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            if x.sum() > 0:
                x = layer(x)
        return x


class Hidden(Layers):
    """An attribute of the class comes before a child of that name."""

    @property
    def first(self) -> Any:
        return nn.Identity()

    @first.setter
    def first(self, value: nn.Module) -> None:
        self._modules["first"] = value

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.last(self.first(x))  # type: ignore[no-any-return]


class Decorated(Layers):
    @torch.no_grad()
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.last(self.first(x))  # type: ignore[no-any-return]


class Backwards(nn.Sequential):
    """Runs its children in another order."""

    def __iter__(self) -> Any:
        return iter(list(self._modules.values())[::-1])


class Named(nn.Sequential):
    """An `nn.Sequential` with another name."""


class Wrapped(nn.Sequential):
    def __call__(self, x: Any) -> Any:
        return super().__call__(x) * 2


def _paths(model: nn.Module) -> list[str]:
    return [path for path, _ in chain_of(model)]


def _lines() -> list[nn.Module]:
    return [nn.Linear(2, 2), nn.Linear(2, 2)]


def hooked(model: nn.Module, kind: str = "register_forward_hook") -> nn.Module:
    getattr(model, kind)(lambda *given: None)
    return model


def other_forward(model: nn.Module) -> nn.Module:
    model.forward = lambda x: x  # type: ignore[method-assign]
    return model


@pytest.mark.parametrize(
    ("model", "paths"),
    [
        (nn.Sequential(*_lines(), nn.Sequential(nn.ReLU(), nn.Sequential(nn.Tanh()))), ["0", "1", "2.0", "2.1.0"]),
        (Named(*_lines()), ["0", "1"]), (nn.Sequential(hooked(nn.Linear(2, 2)), nn.Sequential()), ["0", "1"]),
        (nn.Sequential(hooked(nn.Sequential(*_lines())), nn.ReLU()), ["0", "1"]),
        (nn.Sequential(Backwards(*_lines()), Wrapped(*_lines()), other_forward(Named(*_lines()))), ["0", "1", "2"]),
        (Layers(), ["first", "layers.0", "layers.1.0", "layers.1.1", "last"]),
        (Inside(), ["drop", "net.first", "net.layers.0", "net.layers.1.0", "net.layers.1.1", "net.last", "drop"]),
        (nn.Sequential(Layers(), Added()), ["0.first", "0.layers.0", "0.layers.1.0", "0.layers.1.1", "0.last", "1"]),
    ],
)  # fmt: skip
def test_chains_are_found(model: nn.Module, paths: list[str]) -> None:
    assert _paths(model) == paths


@pytest.mark.parametrize(
    "model",
    [
        nn.Linear(2, 2), nn.Sequential(), hooked(nn.Sequential(*_lines())), Backwards(*_lines()), Wrapped(*_lines()),
        hooked(Layers(), "register_full_backward_hook"), other_forward(Layers()), nn.ModuleList(_lines()),
        Added(), Older(), Masked(), Functional(), Early(), Hidden(), Decorated(), Nested(), nn.Identity(),
        nn.TransformerEncoderLayer(4, 2),
    ],
    ids=lambda model: type(model).__name__,
)  # fmt: skip
def test_what_is_not_certain_is_no_chain(model: nn.Module) -> None:
    assert _paths(model) == []


def test_a_source_that_is_not_what_runs_is_not_believed() -> None:
    class Changed(Layers):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.last(self.first(x))  # type: ignore[no-any-return]

    assert _paths(Changed()) == ["first", "last"]
    Changed.forward.__code__ = Functional.forward.__code__.replace(
        co_filename=Changed.forward.__code__.co_filename, co_firstlineno=Changed.forward.__code__.co_firstlineno
    )

    class Again(Layers):
        forward = Changed.forward

    from hackathon.parallel.modules import forward

    forward._source.cache_clear()
    assert _paths(Again()) == []


def test_a_chain_computes_what_the_model_computes() -> None:
    torch.manual_seed(1)
    for model in (Layers(), Inside().eval(), nn.Sequential(nn.Linear(3, 4), nn.Sequential(nn.Linear(4, 4), nn.ReLU()))):
        x = value = torch.randn(5, 3)
        for _, module in chain_of(model):
            value = module(value)
        assert torch.equal(value, model(x))


def test_a_module_that_occurs_twice_is_there_twice() -> None:
    line = nn.Linear(2, 2)
    chain = ModuleChain.of(nn.Sequential(line, nn.ReLU(), line), nn.functional.mse_loss)
    assert chain is not None and chain.operators == ("0", "1", "2", "loss")
    assert chain.reads == {"0": ("0.weight", "0.bias"), "1": (), "2": ("2.weight", "2.bias")}


def test_a_plan_means_modules_or_operators_by_its_names() -> None:
    chain = ModuleChain.of(Layers(), None)
    assert chain is not None and chain.is_meant_by(chain.operators)
    assert not chain.is_meant_by(["linear", "linear_1", "tanh"])
    assert chain.is_meant_by(["first", "layers.0"])  # of another model: told with its missing modules
    taken = ModuleChain.of(nn.Sequential(), None)
    assert taken is None
    model = nn.Sequential()
    model.add_module("loss", nn.Linear(2, 2))
    named = ModuleChain.of(model, nn.functional.mse_loss)
    assert named is not None and named.operators == ("loss", "loss:2")
    twice = ModuleChain.of(Inside(), None)
    assert twice is not None and twice.operators[-1] == "drop:2" and len(set(twice.operators)) == 7


@pytest.mark.parametrize(
    ("stages", "reason"),
    [
        ({"0": 0, "1": 1}, "missing"), ({"0": 0, "1": 1, "loss": 1, "2": 1}, "unknown"),
        ({"0": 1, "1": 0, "loss": 1}, "backwards"), ({"0": 0, "1": 1, "loss": 0}, "backwards"),
    ],
)  # fmt: skip
def test_plans_that_no_chain_can_follow_are_refused(stages: dict[str, int], reason: str) -> None:
    chain = ModuleChain.of(nn.Sequential(*_lines()), nn.functional.mse_loss)
    assert chain is not None
    chain.check({"0": 0, "1": 0, "loss": 1})
    with pytest.raises(SplitError) as refused:
        chain.check(stages)
    assert refused.value.reason == reason
