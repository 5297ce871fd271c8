"""Several stages in each process: torch's orders, and backward passes in two."""

from typing import Any

import pytest

pytest.importorskip("torch")

import torch
from hypothesis import assume, given
from hypothesis import strategies as st

from hackathon.parallel.live.layout import Layout
from hackathon.parallel.live.run import INTERLEAVED, stage_passes
from hackathon.parallel.live.weight_gradients import DeferredWeights
from hackathon.parallel.plan.order import BACKWARD, FORWARD, INPUT, WEIGHT, interleaved_order, rounds_fit

pytestmark = pytest.mark.torch
KINDS = {"F": FORWARD, "B": BACKWARD, "I": INPUT, "W": WEIGHT}


@pytest.mark.parametrize(("name", "zero_bubble"), [("Interleaved1F1B", False), ("InterleavedZeroBubble", True)])
def test_the_orders_are_those_of_torch(name: str, zero_bubble: bool) -> None:
    # not above: every worker that collects would spend two seconds on it
    from torch.distributed.pipelining._schedule_visualizer import get_schedule_ops

    for processes, chunks, micro_batches in [
        (1, 2, 3),
        (2, 2, 1),
        (2, 2, 6),
        (2, 3, 4),
        (3, 2, 4),
        (4, 2, 10),
        (4, 3, 8),
    ]:
        expected = get_schedule_ops(name, processes, micro_batches, chunks)
        for process, actions in enumerate(expected):
            rows = [
                (KINDS[each.computation_type.value if len(each.computation_type.value) == 1 else str(each)[-2]],
                 each.stage_index, each.microbatch_index)
                for each in actions if each is not None
            ]  # fmt: skip
            assert interleaved_order(process, processes, chunks, micro_batches, zero_bubble=zero_bubble) == rows


@given(
    st.integers(1, 5), st.integers(2, 4), st.integers(1, 3), st.integers(1, 24), st.sampled_from(sorted(INTERLEAVED))
)
def test_no_order_waits_for_itself_and_each_pass_is_made_once(
    processes: int, chunks: int, replicas: int, each: int, schedule: str
) -> None:
    """Any stage may read what any earlier stage makes."""
    assume(rounds_fit(processes, each))
    layout = Layout((replicas,) * (processes * chunks), chunks)
    assert layout.size == processes * replicas
    count = each * replicas
    orders = [stage_passes(layout, rank, count, schedule) for rank in range(layout.size)]
    made = [one for order in orders for one in order]
    halves = INTERLEAVED[schedule]
    kinds = (FORWARD, INPUT, WEIGHT) if halves else (FORWARD, BACKWARD)
    stages = range(processes * chunks)
    assert sorted(made) == sorted(
        (kind, stage, number) for kind in kinds for stage in stages for number in range(count)
    )
    for rank, order in enumerate(orders):
        assert all(layout.rank(stage, number) == rank and stage in layout.own(rank) for _, stage, number in order)
    back = INPUT if halves else BACKWARD
    done: set[tuple[str, int, int]] = set()
    at = [0] * layout.size

    def is_ready(kind: str, stage: int, number: int) -> bool:
        if kind == FORWARD:
            return all((FORWARD, other, number) in done for other in range(stage))
        if kind == WEIGHT:
            return (INPUT, stage, number) in done
        return (FORWARD, stage, number) in done and all((back, other, number) in done for other in stages[stage + 1 :])

    while len(done) < len(made):
        before = len(done)
        for rank, order in enumerate(orders):
            while at[rank] < len(order) and is_ready(*order[at[rank]]):
                done.add(order[at[rank]])
                at[rank] += 1
        assert len(done) > before


@given(st.integers(2, 5), st.integers(2, 4), st.integers(1, 24), st.sampled_from(sorted(INTERLEAVED)))
def test_neighbours_receive_in_the_order_in_which_they_send(
    processes: int, chunks: int, each: int, schedule: str
) -> None:
    """NCCL knows no tags. What goes forward and back, to higher and to lower ranks, are messages of their own kinds."""
    assume(rounds_fit(processes, each))
    layout = Layout((1,) * (processes * chunks), chunks)
    sent: dict[tuple[int, int, bool], list[tuple[int, int]]] = {}
    received: dict[tuple[int, int, bool], list[tuple[int, int]]] = {}
    for rank in range(layout.size):
        for kind, stage, number in stage_passes(layout, rank, each, schedule):
            if kind == WEIGHT:
                continue
            ahead = kind == FORWARD
            for other, lists in ((stage + 1, sent if ahead else received), (stage - 1, received if ahead else sent)):
                if 0 <= other < processes * chunks:
                    there = layout.rank(other, number)
                    pair = (rank, there, ahead) if lists is sent else (there, rank, ahead)
                    lists.setdefault(pair, []).append((min(stage, other), number))
    assert sent == received


class Counted(torch.autograd.Function):
    """A product that counts how often each of its gradients is computed."""

    counts: dict[str, int] = {}

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x, weight)
        return x @ weight

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> Any:
        x, weight = ctx.saved_tensors
        Counted.counts["passes"] = Counted.counts.get("passes", 0) + 1
        return gradients[0] @ weight.t(), x.t() @ gradients[0]


def test_gradients_of_parameters_wait_for_the_second_pass() -> None:
    torch.manual_seed(0)
    weights = [torch.nn.Parameter(torch.randn(3, 3)) for _ in range(4)]
    alone, twice = weights[2], weights[3]

    def forward(x: torch.Tensor) -> list[torch.Tensor]:
        hidden = torch.tanh(x @ weights[0]) @ twice
        hidden = torch.nn.functional.layer_norm(hidden @ weights[1] + torch.sin(alone), (3,)) @ twice * twice
        return [hidden, torch.exp(alone).sum()]  # the second depends on nothing received

    found = []
    for halves in (False, True):
        for each in weights:
            each.grad = None
        for _ in range(2):
            x = torch.ones(3, 3, requires_grad=True)
            outputs = forward(x)
            gradients = [torch.full_like(each, 0.5) for each in outputs]
            if halves:
                before = [None if each.grad is None else each.grad.clone() for each in weights]
                rest = DeferredWeights(outputs, gradients, [x])
                assert x.grad is not None and float(x.grad.abs().max()) > 0
                for each, old in zip(weights, before, strict=True):
                    assert (each.grad is None and old is None) or torch.equal(each.grad, old)  # type: ignore[arg-type]
                rest.run()
            else:
                torch.autograd.backward(outputs, gradients)
        assert x.grad is not None
        found.append([x.grad, *(each.grad for each in weights)])
    for one, other in zip(*found, strict=True):
        assert one is not None and other is not None and torch.allclose(one, other, rtol=1e-6, atol=1e-7)


def test_only_operators_that_parameters_enter_run_again() -> None:
    """What lies between them has run: a product runs once for what was received and once for its parameter."""
    weights = [torch.nn.Parameter(torch.randn(2, 2)) for _ in range(3)]
    x = torch.ones(2, 2, requires_grad=True)
    hidden = x
    for each in weights:
        hidden = Counted.apply(hidden, each)
    Counted.counts.clear()
    rest = DeferredWeights([hidden], [torch.ones(2, 2)], [x])
    assert Counted.counts == {"passes": 3}
    rest.run()
    assert Counted.counts == {"passes": 6} and all(each.grad is not None for each in weights)


def test_a_stage_that_received_nothing_makes_its_backward_pass_at_the_end() -> None:
    weight = torch.nn.Parameter(torch.ones(2))
    rest = DeferredWeights([weight * 3], [torch.ones(2)], [])
    assert weight.grad is None
    rest.run()
    assert weight.grad is not None and weight.grad.tolist() == [3.0, 3.0]
