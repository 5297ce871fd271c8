"""A captured graph is cut: what each stage holds, which cuts are refused, and that the numbers stay the same."""

import copy
import random
from typing import Any

import pytest

pytest.importorskip("torch")

import torch
from torch import fx, nn
from torch.utils import _pytree as pytree

from hackathon.parallel.live.capture import Captured, NoLossError, capture
from hackathon.parallel.live.inference import aligned
from hackathon.parallel.live.seeds import Moment
from hackathon.parallel.live.split import SplitError, StagePart, split
from hackathon.parallel.live.stage import bind
from support.cuts import at_boundaries, legal_cuts
from support.partitioned_models import example, seeding

pytestmark = [pytest.mark.slow, pytest.mark.torch]
SAMPLES = 4


class Case:
    """One captured model with its inputs."""

    def __init__(self, name: str) -> None:
        self.model, batch, self.loss = example(name, SAMPLES)
        self.args, self.target = ((batch[0],), batch[1]) if self.loss else ((), None)
        self.kwargs = {} if self.loss else batch
        self.captured: Captured = capture(self.model, self.args, self.kwargs, self.loss, self.target)
        self.leaves = pytree.tree_flatten((self.args, self.kwargs, self.target))[0]

    def results(self, boundaries: list[int], stage_of: dict[str, int] | None = None) -> list[torch.Tensor]:
        """Return loss, gradients and buffers of one pass over the stages, from the model's first state."""
        parts = split(self.captured.train, stage_of or at_boundaries(self.captured.train, boundaries))
        before = [each.clone() for each in self.model.buffers()]
        self.model.zero_grad()
        Moment.seed, Moment.step, Moment.micro_batch = 3, 1, 2
        loss = run(parts, self.leaves)[0]
        loss.backward()
        made = [loss.detach(), *(each.grad.clone() for each in self.model.parameters() if each.grad is not None)]
        made += [each.clone() for each in self.model.buffers()]
        for each, old in zip(self.model.buffers(), before, strict=True):
            each.data.copy_(old)
        return made


def run(parts: list[StagePart], leaves: list[Any]) -> dict[int, torch.Tensor]:
    """Run all stages in this process, one after another."""
    values: dict[str, torch.Tensor] = {}
    results: dict[int, torch.Tensor] = {}
    for part in parts:
        out = part.module(*(leaves[at] for at in part.inputs), *(values[each.name] for each in part.receives))
        values |= {each.name: made for each, made in zip(part.sends, out, strict=False)}
        results |= dict(zip(part.results, out[len(part.sends) :], strict=True))
    return results


@pytest.fixture(scope="module", params=["chain", "gpt", "unet"])
def case(request: pytest.FixtureRequest) -> Case:
    return Case(request.param)


def test_one_graph_gives_what_the_model_gives(case: Case) -> None:
    model = copy.deepcopy(case.model).train()
    with seeding(3, 1, 2):
        output = model(*case.args, **case.kwargs)
        loss = case.loss(output, case.target) if case.loss else output["loss"]
    loss.backward()
    expected = [loss.detach(), *(each.grad for each in model.parameters() if each.grad is not None), *model.buffers()]
    assert all(map(torch.equal, case.results([]), expected))
    assert len(expected) > 5


def test_evaluation_gives_what_the_model_gives(case: Case) -> None:
    traced = case.captured.evaluation
    assert traced is not None
    parts = split(traced, at_boundaries(traced, legal_cuts(traced)[:1]))
    leaves = pytree.tree_flatten((case.args, case.kwargs, None))[0]
    results = run(parts, leaves)
    expected = pytree.tree_flatten(case.model.eval()(*case.args, **case.kwargs))[0]
    case.model.train()
    assert [torch.equal(results[at], each) for at, each in enumerate(expected)] == [True] * len(expected)


def test_several_cuts_change_no_bit(case: Case) -> None:
    whole = case.results([])
    draw = random.Random(5)
    cuts = legal_cuts(case.captured.train)
    for _ in range(6):
        chosen = draw.sample(cuts, draw.randint(1, 4))
        made = case.results(chosen)
        assert all(map(torch.equal, made, whole)), chosen


def test_stages_need_not_be_stretches_of_the_graph(case: Case) -> None:
    traced = case.captured.train
    whole = case.results([])
    draw = random.Random(9)
    for _ in range(4):
        wanted = {name: draw.randrange(3) for name in traced.operators}
        stage_of = aligned(traced, wanted, traced, {})
        made = case.results([], stage_of)
        assert all(map(torch.equal, made[:1], whole[:1]))  # the loss; a value read in several stages rounds otherwise
        assert all(torch.allclose(a, b, atol=1e-6) for a, b in zip(made, whole, strict=True))


def test_each_operator_is_in_one_stage_and_all_state_is_covered(case: Case) -> None:
    cuts = legal_cuts(case.captured.train)[::3]
    parts = split(case.captured.train, at_boundaries(case.captured.train, cuts))
    assert [name for part in parts for name in part.operators] == list(case.captured.operators)
    held = {case.captured.aliases[name] for part in parts for name in part.state}
    used = set(case.captured.aliases.values()) - {"unused.weight", "unused.bias"}
    assert held == used
    assert set(case.captured.modules) == set(case.captured.operators)


def test_a_cut_through_glue_is_refused(case: Case) -> None:
    legal = set(legal_cuts(case.captured.train))
    illegal = [at for at in range(1, len(case.captured.operators)) if at not in legal]
    assert illegal
    for at in illegal:
        with pytest.raises(SplitError, match="glued"):
            split(case.captured.train, at_boundaries(case.captured.train, [at]))


def test_what_is_not_a_partition_is_refused(case: Case) -> None:
    names = case.captured.operators
    good = at_boundaries(case.captured.train, [])
    with pytest.raises(SplitError, match="missing"):
        split(case.captured.train, dict.fromkeys(names[1:], 0))
    with pytest.raises(SplitError, match="unknown"):
        split(case.captured.train, good | {"nobody": 0})
    loss = next(name for name in reversed(names) if "cross_entropy" in name)
    with pytest.raises(SplitError, match="backwards"):
        split(case.captured.train, {name: int(name != loss) for name in names})


def test_tied_weights_are_one_parameter_in_both_stages() -> None:
    case = Case("gpt")
    parts = split(case.captured.train, at_boundaries(case.captured.train, legal_cuts(case.captured.train)[8:9]))
    holding = [part for part in parts if any(case.captured.aliases[name] == "words.weight" for name in part.state)]
    assert len(holding) == 2
    found = [each for part in holding for each in part.module.parameters() if each is case.model.words.weight]
    assert len(found) == 2


def test_a_model_without_loss_is_refused() -> None:
    with pytest.raises(NoLossError):
        capture(nn.Linear(2, 2), (torch.zeros(3, 2),))


class _Twice(nn.Module):
    """The same normalisation used twice, and a tensor changed through a view of it."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.line = nn.BatchNorm1d(4), nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.norm(self.line(self.norm(x)))
        y = x * 2
        y.view(-1).add_(1.0)
        return (y.exp() + x).sum()


def test_what_shares_memory_with_a_change_in_place_is_glued() -> None:
    captured = capture(_Twice(), (torch.randn(3, 4),))
    graph: fx.Graph = captured.train.module.graph
    norms = [each.name for each in graph.nodes if "batch_norm" in str(each.target)]
    assert any(set(norms) <= set(group) for group in captured.glued)
    assert any({"mul", "view"} <= set(group) and "exp" not in group for group in captured.glued)
    whole, parts = None, []
    for cuts in ([], *([at] for at in legal_cuts(captured.train))):
        parts = split(captured.train, at_boundaries(captured.train, cuts))
        value = run(parts, [torch.ones(3, 4)])[0]
        whole = value if whole is None else whole
        assert torch.equal(value, whole)


def test_capture_leaves_the_model_as_it_was() -> None:
    model, batch, loss = example("chain", SAMPLES)
    model.norm.eval()  # type: ignore[union-attr,operator]
    before = [each.clone() for each in model.state_dict().values()]
    capture(model, (batch[0],), {}, loss, batch[1])
    assert model.training and not model.norm.training  # type: ignore[union-attr]
    assert all(map(torch.equal, before, model.state_dict().values()))
    assert all(each.grad is None for each in model.parameters())


class _Constants(nn.Module):
    """Tensors that are made on the device of the input, some of them without gradient; and one that is written down."""

    def __init__(self) -> None:
        super().__init__()
        self.line = nn.Linear(3, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            places = torch.arange(3, device=x.device) + torch.ones(3, device=x.device)
        return (self.line(x + places) * torch.tensor([1.0, 2.0, 3.0], device=x.device)).sum()


def test_a_stage_makes_its_tensors_on_its_own_device() -> None:
    captured = capture(_Constants(), (torch.randn(2, 3),))
    elsewhere = torch.device("meta")
    for part in split(captured.train, at_boundaries(captured.train, legal_cuts(captured.train)[:2]), device=elsewhere):
        graphs = [each.graph for each in part.module.modules() if isinstance(each, fx.GraphModule)]
        arguments = [
            leaf for graph in graphs for node in graph.nodes for leaf in pytree.tree_leaves((node.args, node.kwargs))
        ]
        assert {each for each in arguments if isinstance(each, torch.device)} <= {elsewhere}
    parts = split(captured.train, at_boundaries(captured.train, []), device=elsewhere)
    bind(parts[0], {name: nn.Parameter(each.to("meta")) for name, each in _Constants().named_parameters()}, elsewhere)
    assert run(parts, [torch.ones(2, 3, device="meta")])[0].device == elsewhere
