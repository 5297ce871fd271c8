"""Parameters in main memory: gradients and weights as without, bytes on the device as a plan counts them."""

import copy
import gc
import weakref
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("torch")

import torch
from torch import nn
from torch.nn import functional
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.checkpoint import checkpoint, set_checkpoint_early_stop

from hackathon.parallel.live.capture import capture
from hackathon.parallel.live.offload import Streamed
from hackathon.parallel.live.offload_blocks import stream_graph, stream_modules
from hackathon.parallel.live.seeds import Moment
from hackathon.parallel.live.split import split
from hackathon.parallel.plan.cost import CostedPlan, Stage
from hackathon.parallel.plan.devices import devices_of
from hackathon.parallel.plan.graph import graph_of
from support.cuts import at_boundaries, legal_cuts
from support.partitioned_models import example

pytestmark = pytest.mark.torch


class Block(nn.Module):
    """A block of a transformer, without attention."""

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.wide = nn.Linear(width, hidden)
        self.narrow = nn.Linear(hidden, width, bias=False)

    def forward(self, x: Any) -> Any:
        inner = functional.dropout(self.wide(self.norm(x)).relu_(), 0.1, self.training)
        return x + self.narrow(inner)


class Tied(nn.Module):
    """Embedding and output share their weights."""

    def __init__(self, recompute: str = "never") -> None:
        super().__init__()
        self.embedding = nn.Embedding(11, 8)
        self.blocks = nn.ModuleList(Block(8, hidden) for hidden in (12, 20, 12))
        self.head = nn.Linear(8, 11, bias=False)
        self.head.weight = self.embedding.weight
        self.recompute = recompute

    def body(self, x: Any) -> Any:
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False) if self.recompute == "block" else block(x)
        return self.head(x)

    def forward(self, tokens: Any) -> Any:
        x = self.embedding(tokens)
        return checkpoint(self.body, x, use_reentrant=False) if self.recompute == "stage" else self.body(x)


def train(model: Any, parameters: Any, steps: int = 3, micro_batches: int = 2) -> list[Any]:
    """Train with accumulation, and return losses and gradients of each step."""
    optimizer = torch.optim.AdamW(parameters, lr=0.05)
    generator = torch.Generator().manual_seed(3)
    seen: list[Any] = []
    for step in range(steps):
        for _ in range(micro_batches):
            torch.manual_seed(step)
            tokens = torch.randint(11, (2, 5), generator=generator)
            loss = functional.cross_entropy(model(tokens).flatten(0, 1), tokens.roll(1).flatten()) / micro_batches
            loss.backward()
            seen.append(loss.detach())
        seen += [each.grad.clone() for each in parameters]
        optimizer.step()
        optimizer.zero_grad()
    return seen


def same(one: list[Any], other: list[Any]) -> bool:
    return len(one) == len(other) and all(map(torch.equal, one, other))


def blocks_of(model: Tied) -> list[nn.Module]:
    return [model.embedding, *model.blocks, model.head]


@pytest.mark.slow
@pytest.mark.parametrize("recompute", ["never", "block", "stage"])
@pytest.mark.parametrize("whole_blocks", [True, False], ids=["blocks", "operators"])
def test_training_is_bit_equal(recompute: str, whole_blocks: bool) -> None:
    torch.manual_seed(0)
    model = Tied(recompute)
    other = copy.deepcopy(model)
    streamed = stream_modules(other, blocks_of(other) if whole_blocks else None)
    assert streamed.resident == 0 and all(not each.untyped_storage().nbytes() for each in other.parameters())
    with streamed.watch():
        expected, found = train(model, list(model.parameters())), train(other, streamed.parameters())
    assert same(expected, found)
    assert 0 < streamed.peak <= streamed.planned
    names = [name for name, _ in model.named_parameters()]
    assert [name for name, _ in streamed.named_parameters()] == names
    assert all(torch.equal(each, other.state_dict()[name]) for name, each in model.state_dict().items())
    model.eval(), other.eval()
    tokens = torch.arange(10).reshape(2, 5)
    with torch.no_grad():
        assert torch.equal(model(tokens), other(tokens))
    streamed.close()
    assert other.head.weight is other.embedding.weight and not other.embedding._forward_hooks
    assert all(torch.equal(one, two) for one, two in zip(model.parameters(), other.parameters(), strict=True))
    assert torch.equal(model(tokens), other(tokens))


@given(
    sizes=st.lists(st.integers(1, 9), min_size=1, max_size=6),
    recompute=st.sampled_from(["never", "block", "stage"]),
    forwards=st.integers(1, 3),
)
@settings(max_examples=60, deadline=None)
@pytest.mark.slow
def test_peak_is_the_largest_window(sizes: list[int], recompute: str, forwards: int) -> None:
    """Bytes follow from the blocks' sizes alone, however many micro-batches are in flight, and never pass the plan."""
    model = nn.Sequential(*(Block(4, size) for size in sizes))
    other = copy.deepcopy(model)
    streamed = stream_modules(other, list(other))

    def run(net: nn.Sequential) -> Any:
        def whole(x: Any) -> Any:
            for block in net:
                x = checkpoint(block, x, use_reentrant=False) if recompute == "block" else block(x)
            return x

        results = []
        for number in range(forwards):
            torch.manual_seed(number)
            x = torch.randn(2, 4, requires_grad=True)
            results.append((x, checkpoint(whole, x, use_reentrant=False) if recompute == "stage" else whole(x)))
        for _, result in results:
            result.square().sum().backward()
        return [x.grad for x, _ in results]

    with streamed.watch():
        assert same(run(model), run(other))
    assert same([each.grad for each in model.parameters()], [each.grad for each in streamed.parameters()])
    size = [4 * sum(each.numel() for each in block.parameters()) for block in model]
    assert streamed.block_bytes == size
    partners = [at - 1 if at else min(1, len(size) - 1) for at in range(len(size))]
    expected = max(2 * size[at] + (size[partner] if partner != at else 0) for at, partner in enumerate(partners))
    assert streamed.peak <= streamed.planned
    if recompute != "stage":
        assert streamed.peak == expected


class Shift(nn.Module):
    """A block that keeps nothing for its backward pass."""

    def __init__(self) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.ones(4))

    def forward(self, x: Any) -> Any:
        return x + self.bias


def test_block_stays_while_the_ones_behind_it_are_recomputed() -> None:
    """The first block's backward pass asks for the recomputation, which runs through to the end of the model."""
    model = nn.Sequential(nn.Linear(4, 4), Shift(), Shift(), Shift())
    other = copy.deepcopy(model)
    streamed = stream_modules(other)
    for net in (model, other):
        with set_checkpoint_early_stop(False):
            checkpoint(net, torch.ones(2, 4, requires_grad=True), use_reentrant=False).sum().backward()
    assert same([each.grad for each in model.parameters()], [each.grad for each in streamed.parameters()])
    assert streamed.peak <= streamed.planned


class Alive(TorchDispatchMode):
    """Counts living storages of one size that operators saw, but for those on the host; asks `Streamed` nothing."""

    def __init__(self, size: int, hosts: set[int]) -> None:
        super().__init__()
        self.size, self.hosts, self.most = size, hosts, 0
        self.found: dict[int, Any] = {}

    def see(self, tensor: Any) -> None:
        storage = tensor.untyped_storage()
        if storage.nbytes() == self.size and storage._cdata not in self.hosts:
            self.found[storage._cdata] = weakref.ref(storage)
        alive = [each() for each in self.found.values()]
        self.most = max(self.most, sum(each is not None and each.nbytes() == self.size for each in alive))

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        for each in tree_leaves((args, kwargs)):
            if isinstance(each, torch.Tensor):
                self.see(each)
        result = func(*args, **(kwargs or {}))
        for each in tree_leaves(result):
            if isinstance(each, torch.Tensor):
                self.see(each)
        return result


@pytest.mark.parametrize("recompute", [False, True])
def test_device_holds_exactly_three_blocks(recompute: bool) -> None:
    """Two weights and one gradient, counted among all living tensors of that size."""
    model = nn.Sequential(*(nn.Linear(40, 40, bias=False) for _ in range(6)))
    streamed = stream_modules(model)

    def step() -> None:
        x = torch.randn(3, 40, requires_grad=True)
        result = checkpoint(model, x, use_reentrant=False) if recompute else model(x)
        result.sum().backward()

    step()  # now the host has its gradients, and autograd's new ones are only on the device
    hosts = {each.untyped_storage()._cdata for own in streamed.parameters() for each in (own, own.grad)}
    with Alive(40 * 40 * 4, hosts) as alive:
        step()
    assert alive.most == 3
    assert streamed.peak == streamed.planned == 3 * 40 * 40 * 4


def test_graph_of_operators_streams_like_modules() -> None:
    torch.manual_seed(0)
    model = Tied().eval()
    tokens = torch.arange(10).reshape(2, 5)
    captured = torch.export.export(copy.deepcopy(model), (tokens,), strict=False).module()
    for node in list(captured.graph.nodes):
        if node.op == "call_module":
            captured.graph.erase_node(node)
    streamed = stream_graph(captured)
    assert streamed is not None
    # embedding, three times (norm, wide, narrow), head
    assert streamed.block_bytes == [4 * each for each in (88, 16, 108, 96, 16, 180, 160, 16, 108, 96, 88)]
    for _ in range(2):
        with streamed.watch():
            model(tokens).square().sum().backward()
            captured(tokens).square().sum().backward()
    assert streamed.peak <= streamed.planned == 12 * 180
    gradients = {name: each.grad for name, each in model.named_parameters(remove_duplicate=False)}
    for name, each in streamed.named_parameters():
        assert torch.equal(gradients[name], each.grad)


@pytest.mark.parametrize("read", ["t", "mul", "inside"])
def test_operator_that_reads_a_view_of_a_parameter_is_a_block(read: str) -> None:
    class Views(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight, self.scale = nn.Parameter(torch.randn(4, 4)), nn.Parameter(torch.ones(1, 4))

        def forward(self, x: Any) -> Any:
            if read == "t":
                return x @ self.weight.t() * self.scale
            if read == "mul":
                return (x * self.scale.expand(4, 4).reshape(16)[:4]) @ self.weight
            return torch.stack([x @ each for each in self.weight.chunk(2, dim=1)]).sum() * self.scale

    model = Views()
    x = torch.randn(3, 4)
    captured = torch.export.export(copy.deepcopy(model), (x,), strict=False).module()
    for node in list(captured.graph.nodes):
        if node.op == "call_module":
            captured.graph.erase_node(node)
    streamed = stream_graph(captured)
    assert streamed is not None
    with streamed.watch():
        result, expected = captured(x), model(x)
        assert torch.equal(result, expected)
        result.sum().backward()
        expected.sum().backward()
    for name, each in streamed.named_parameters():
        assert torch.equal(model.get_parameter(name).grad, each.grad)


def test_graph_that_changes_a_parameter_is_refused() -> None:
    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    weight = graph.get_attr("weight")
    graph.output(graph.call_function(torch.ops.aten.add_.Tensor, (weight, x)))
    with pytest.raises(ValueError, match="changes parameter weight"):
        stream_graph(torch.fx.GraphModule({"weight": nn.Parameter(torch.ones(2))}, graph))
    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    weight = graph.get_attr("weight")
    graph.output(graph.call_function(torch.ops.aten.add_.Tensor, (x, weight)))  # changes x only
    assert stream_graph(torch.fx.GraphModule({"weight": nn.Parameter(torch.ones(2))}, graph)) is not None
    graph = torch.fx.Graph()
    graph.output(graph.call_function(torch.ops.aten.relu.default, (graph.placeholder("x"),)))
    assert stream_graph(torch.fx.GraphModule({}, graph)) is None


def _linear(x: Any, layer: nn.Linear) -> Any:
    return functional.linear(x, layer.weight)


def _product(x: Any, layer: nn.Linear) -> Any:
    return x * layer.weight[0, 0]


def _sum(x: Any, layer: nn.Linear) -> Any:
    return x + layer.weight.mean()


@pytest.mark.parametrize("operation", [_linear, _product, _sum])
def test_forgotten_refill_is_loud_in_forward(operation: Callable[[Any, nn.Linear], Any]) -> None:
    layers = nn.ModuleList([nn.Linear(2, 2, bias=False) for _ in range(4)])
    streamed = stream_modules(layers)
    with streamed.watch(), pytest.raises(RuntimeError, match=r"2\.weight, which is in main memory"):
        operation(torch.ones(1, 2), layers[2])


def test_forgotten_refill_is_loud_in_backward(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also without `watch`, for a matrix."""
    model = nn.Sequential(*(nn.Linear(4, 4) for _ in range(5)))
    streamed = stream_modules(model)
    monkeypatch.setattr(streamed, "_enter_backward", lambda block: None)
    with pytest.raises(RuntimeError, match="out of bounds for storage of size 0"):
        model(torch.ones(1, 4)).sum().backward()
    scaled = nn.Sequential(*(nn.LayerNorm(4) for _ in range(5)))
    streamed = stream_modules(scaled)
    monkeypatch.setattr(streamed, "_enter_backward", lambda block: None)
    with streamed.watch(), pytest.raises(RuntimeError, match=r"2\.weight, which is in main memory"):
        scaled(torch.randn(1, 4)).sum().backward()


class Plain(torch.optim.Optimizer):
    """Writes as optimizers of long ago do."""

    def step(self) -> None:  # type: ignore[override]
        for each in self.param_groups[0]["params"]:
            each.data.add_(each.grad, alpha=-0.1)


@pytest.mark.parametrize("optimizer", ["SGD", "Adam", "AdamW", "foreach", "fused", "data", "load"])
def test_device_sees_what_the_optimizer_wrote(optimizer: str) -> None:
    """The blocks that were on the device when the optimizer ran are copied again."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
    streamed = stream_modules(model)
    x = torch.ones(1, 3)
    before = model(x)
    before.sum().backward()
    assert streamed.resident > 0
    if optimizer == "load":
        with torch.no_grad():
            for each in streamed.parameters():
                each.copy_(torch.ones_like(each))
    elif optimizer == "data":
        Plain(streamed.parameters(), {}).step()
    else:
        extra = {"foreach": {"foreach": True}, "fused": {"fused": True}}.get(optimizer, {})
        kind = getattr(torch.optim, optimizer if not extra else "AdamW")
        kind(streamed.parameters(), lr=0.1, **extra).step()
    values = dict(streamed.named_parameters())
    inner = functional.linear(x, values["0.weight"], values["0.bias"])
    assert torch.equal(model(x), functional.linear(inner, values["1.weight"], values["1.bias"]))
    assert not torch.equal(model(x), before)


def test_frozen_parameters_and_buffers_stay() -> None:
    model = nn.Sequential(nn.Linear(3, 5), nn.BatchNorm1d(5), nn.Linear(5, 2))
    model[0].requires_grad_(False)
    other = copy.deepcopy(model)
    streamed = stream_modules(other)
    assert streamed.block_bytes == [40, 48] and other[0].weight.untyped_storage().nbytes() == 60
    x = torch.randn(4, 3)
    for net in (model, other):
        net(x).sum().backward()
    assert same([each.grad for each in list(model.parameters())[2:]], [each.grad for each in streamed.parameters()])
    assert torch.equal(model[1].running_mean, other[1].running_mean)


def test_module_used_twice_and_an_unused_one() -> None:
    class Twice(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.one, self.unused, self.two = nn.Linear(3, 3), nn.Linear(3, 3), nn.Linear(3, 3)

        def forward(self, x: Any) -> Any:
            return self.one(self.two(self.one(x)))

    model = Twice()
    other = copy.deepcopy(model)
    streamed = stream_modules(other)
    for net in (model, other):
        for _ in range(2):
            net(torch.ones(1, 3)).sum().backward()
    for name, each in streamed.named_parameters():
        expected = model.get_parameter(name).grad
        assert expected is each.grad is None if name.startswith("unused") else torch.equal(expected, each.grad)


@contextmanager
def refused(text: str) -> Iterator[None]:
    with pytest.raises((ValueError, RuntimeError), match=text):
        yield


def test_what_cannot_be_streamed_is_refused_by_name() -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    with refused("parameter 1.weight is in no block"):
        stream_modules(model, [model[0]])
    with refused("'' and '0' share a module"):
        stream_modules(model, [model, model[0]])
    with refused("no block has a trainable parameter"):
        stream_modules(nn.Sequential(nn.ReLU()))
    with torch.device("meta"), refused("weight is on the meta device"):
        stream_modules(nn.Linear(2, 2))
    with refused("no block has"):
        Streamed([], torch.device("cpu"))
    streamed = stream_modules(model)
    with refused("torch.autocast"), torch.autocast("cpu", dtype=torch.bfloat16):
        model(torch.ones(1, 2))
    with refused("call load_state_dict before"):
        model.load_state_dict(model.state_dict())
    streamed.close()
    model.load_state_dict(model.state_dict())

    class Outer(nn.Linear):
        inner: Any

        def forward(self, x: Any) -> Any:
            return super().forward(self.inner[0](x))

    outer = Outer(2, 2)
    outer.inner = [model[0]]  # a list hides it
    stream_modules(nn.ModuleList([outer, model[0]]))
    with refused("block '1' runs inside block '0'"):
        outer(torch.ones(1, 2))


def test_nothing_keeps_the_parameters_alive() -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    streamed = stream_modules(model)
    model(torch.ones(1, 2)).sum().backward()
    ends = [weakref.ref(each) for each in (streamed, model)]
    del streamed, model
    gc.collect()
    assert [each() for each in ends] == [None, None]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["chain", "gpt", "unet"])
@pytest.mark.parametrize("recompute", [False, True])
def test_stages_stream_their_operators_as_planned(name: str, recompute: bool) -> None:
    """Two stages of a captured model: losses and gradients as without, bytes as the plan's cost says."""
    model, batch, loss = example(name, 4)
    args, target = ((batch[0],), batch[1]) if loss else ((), None)
    traced = capture(model, args, {} if loss else batch, loss, target, evaluation=False).train
    leaves = pytree.tree_flatten((args, {} if loss else batch, target))[0]
    cuts = legal_cuts(traced)
    stage_of = at_boundaries(traced, [cuts[len(cuts) // 2]])

    def results(parts: list[Any]) -> list[Any]:
        values: dict[str, Any] = {}
        out: tuple[Any, ...] = ()
        Moment.step = 1
        for part in parts:
            given = [*(leaves[at] for at in part.inputs), *(values[each.name] for each in part.receives)]
            if recompute:
                out = checkpoint(part.module, *given, use_reentrant=False, preserve_rng_state=False)
            else:
                out = part.module(*given)
            values |= {each.name: made for each, made in zip(part.sends, out, strict=False)}
        out[-1].backward()
        return [out[-1].detach()]

    statistics = [each.clone() for each in model.buffers()]
    expected = results(split(traced, stage_of))
    gradients = {id(each): each.grad for each in model.parameters()}
    model.zero_grad()
    for buffer, old in zip(model.buffers(), statistics, strict=True):
        buffer.data.copy_(old)
    # a copy of each stage: on two ranks each has its own copy of a parameter that both read
    parts = [replace(part, module=copy.deepcopy(part.module)) for part in split(traced, stage_of)]
    streamed = [stream_graph(part.module) for part in parts]
    with _watched(streamed):
        assert same(expected, results(parts))
    parameters = dict(model.named_parameters(remove_duplicate=False))
    sums: dict[int, Any] = {}
    for each in streamed:
        assert each is not None
        for key, host in each.named_parameters():
            before = sums.get(id(parameters[key]))
            sums[id(parameters[key])] = host.grad if before is None else before + host.grad
    assert sums.keys() == {number for number, gradient in gradients.items() if gradient is not None}
    assert all(torch.equal(gradients[number], gradient) for number, gradient in sums.items())
    sizes = {key: 4 * each.numel() for key, each in parameters.items()}
    operators = [
        {"name": each, "forward": 1, "backward": 1, "saved": 0, "workspace": 0,
         "parameters": sum(sizes.get(own, 0) for own in traced.reads[each])}
        for each in traced.operators
    ]  # fmt: skip
    graph = graph_of({"schema_version": 1, "edges": [], "operators": operators}, "graph.json")
    devices = devices_of({"count": 2, "memory": 1e9, "bandwidth": 1e9, "host_bandwidth": 1e9}, "devices.json")
    place = {each.name: at for at, each in enumerate(graph.operators)}
    stages = [Stage(tuple(place[each] for each in part.operators), 1, recompute, True) for part in parts]
    for cost, each in zip(CostedPlan(graph, devices, 1, stages).costs, streamed, strict=True):
        assert each is not None
        memory = cost.memory
        assert 0 < each.peak <= each.planned == memory.parameters + memory.gradients + memory.optimizer


def test_evaluation_uses_what_is_trained() -> None:
    """Another graph over the same parameters: it evaluates between steps, and neither sees old numbers."""
    model = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5), nn.Linear(4, 4))
    x = torch.ones(2, 4)
    graphs = []
    for training in (True, False):
        model.train(training)
        graphs.append(torch.export.export(model, (x,), strict=False).module())
        for node in list(graphs[-1].graph.nodes):
            if node.op == "call_module":
                graphs[-1].graph.erase_node(node)
    plain = copy.deepcopy(model).eval()
    streamed = stream_graph(graphs[0])
    assert streamed is not None
    evaluation = stream_graph(graphs[1], training=streamed)
    optimizer = torch.optim.AdamW(streamed.parameters(), lr=0.1, fused=True)
    for _ in range(3):
        assert evaluation is not None
        with streamed.watch(), torch.no_grad():
            assert torch.equal(graphs[1](x), plain(x))
        graphs[0](x).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        plain.load_state_dict({name: each.detach() for name, each in streamed.named_parameters()})
        assert streamed.resident <= 2 * max(streamed.block_bytes)
    for each in streamed.parameters():
        each.data.zero_()
    streamed.forget()
    assert not graphs[1](x).any()


@contextmanager
def _watched(all_streamed: list[Streamed | None]) -> Iterator[None]:
    with ExitStack() as stack:
        for each in all_streamed:
            if each is not None:
                stack.enter_context(each.watch())
        yield


class Moments:
    """A stream or event without a device: everything has happened already."""

    def __init__(self) -> None:
        self.waited = 0

    def _wait(self, *_: Any) -> None:
        self.waited += 1

    wait_stream = wait_event = record = synchronize = _wait


@pytest.mark.parametrize("recompute", ["never", "stage"])
def test_gradients_pass_the_pinned_buffer(recompute: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a GPU does with side streams, with streams that do nothing: each gradient has its own place on its way."""
    monkeypatch.setattr(torch.cuda, "Event", Moments)
    monkeypatch.setattr(torch.cuda, "stream", lambda _: nullcontext())
    current = Moments()
    monkeypatch.setattr(torch.cuda, "current_stream", lambda _: current)
    torch.manual_seed(0)
    model = Tied(recompute)
    other = copy.deepcopy(model)
    streamed = stream_modules(other, blocks_of(other))
    streamed._copies = Moments()
    streamed._staging = torch.empty(max(streamed.block_bytes) + 16 * 8, dtype=torch.uint8)
    assert same(train(model, list(model.parameters())), train(other, streamed.parameters()))
    assert streamed._copies.waited > 0 and current.waited > 0 and not streamed._landing
    assert streamed.peak <= streamed.planned
