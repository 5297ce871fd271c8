"""Small parts of the runtime: ranks, batches, seeds, the tags of messages, the order of passes."""

import math

import pytest

pytest.importorskip("torch")

import torch
from hypothesis import given
from hypothesis import strategies as st

from hackathon.parallel.live import batches, seeds
from hackathon.parallel.live.exchange import Messenger, RankLostError
from hackathon.parallel.live.layout import Layout
from hackathon.parallel.live.run import Links, passes
from hackathon.parallel.live.split import Value

pytestmark = pytest.mark.torch
REPLICAS = st.lists(st.integers(1, 4), min_size=1, max_size=5).map(tuple)


@given(REPLICAS, st.integers(1, 20))
def test_each_micro_batch_has_one_rank_in_each_stage(replicas: tuple[int, ...], micro_batches: int) -> None:
    layout = Layout(replicas)
    assert layout.size == sum(replicas)
    for rank in range(layout.size):
        stage, replica = layout.place(rank)
        assert layout.rank(stage, replica) == rank and rank in layout.ranks([stage])
    for stage, count in enumerate(replicas):
        for number in range(micro_batches):
            assert layout.place(layout.rank(stage, number)) == (stage, number % count)
    assert layout.stages(layout.ranks(range(len(replicas)))) == tuple(range(len(replicas)))


@given(REPLICAS, st.integers(4, 20), st.sampled_from(["1f1b", "gpipe"]))
def test_each_rank_makes_its_passes_once_and_in_rising_order(
    replicas: tuple[int, ...], micro_batches: int, schedule: str
) -> None:
    layout = Layout(replicas)
    for rank in range(layout.size):
        order = passes(layout, rank, micro_batches, schedule)
        mine = [n for n in range(micro_batches) if layout.rank(layout.place(rank)[0], n) == rank]
        assert [n for forward, n in order if forward] == mine
        assert [n for forward, n in order if not forward] == mine
        assert all(order.index((True, n)) < order.index((False, n)) for n in mine)


@given(REPLICAS, st.integers(1, 6), st.sampled_from(["1f1b", "gpipe"]))
def test_replicas_that_make_each_pass_together_do_not_wait_for_themselves(
    replicas: tuple[int, ...], rounds: int, schedule: str
) -> None:
    """With divided parameters a pass begins when all replicas of its stage begin theirs. Any stage may read any."""
    micro_batches = math.lcm(*replicas) * rounds
    layout = Layout(replicas)
    orders = [
        [passes(layout, rank, micro_batches, schedule) for rank in layout.ranks([stage])]
        for stage in range(len(replicas))
    ]
    done: list[set[tuple[bool, int]]] = [set() for _ in replicas]
    at = [0] * len(replicas)

    def is_ready(stage: int, each: tuple[bool, int]) -> bool:
        others = range(stage) if each[0] else range(stage + 1, len(replicas))
        return all(each in done[other] for other in others)

    while any(at[stage] < len(orders[stage][0]) for stage in range(len(replicas))):
        before = list(at)
        for stage, order in enumerate(orders):
            while at[stage] < len(order[0]) and all(is_ready(stage, mine[at[stage]]) for mine in order):
                done[stage].update(mine[at[stage]] for mine in order)
                at[stage] += 1
        assert at != before, (replicas, micro_batches, at)


def test_no_two_messages_of_a_step_have_one_tag() -> None:
    values = [Value(f"v{n}", 0, (1, 2, 3)[: n + 1], (2,), (1,), torch.float32, True) for n in range(3)]
    links = Links({(v.name, r): n for n, (v, r) in enumerate((v, r) for v in values for r in v.readers)})
    tags = [
        links.tag(value, reader, number, forward=forward)
        for value in values for reader in value.readers for number in range(7) for forward in (True, False)
    ]  # fmt: skip
    assert len(set(tags)) == len(tags)


def test_only_a_failed_message_names_a_lost_rank(monkeypatch: pytest.MonkeyPatch) -> None:
    messenger = Messenger(Layout((1,)), 0, torch.device("cpu"), 1.0)
    monkeypatch.setattr(messenger, "blamed", lambda ranks: ranks[0])
    messenger.layout = Layout((1, 2))
    with pytest.raises(RankLostError) as lost, messenger.together((0, 2)):
        raise RuntimeError("[third_party/gloo/gloo/transport/tcp/pair.cc:537] Connection closed by peer")
    assert (lost.value.values["stage"], lost.value.values["replica"], lost.value.values["rank"]) == (1, 1, 2)
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"), messenger.together((0, 2)):
        raise RuntimeError("mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5)")


def test_a_tensor_for_another_stage_of_this_rank_needs_no_message() -> None:
    messenger = Messenger(Layout((1,) * 4, 4), 0, torch.device("cpu"), 1.0)
    value = Value("v", 0, (2,), (2, 3), (1, 2), torch.float32, True)
    tensor = torch.arange(6.0).reshape(2, 3)
    coming = messenger.receive(value, 0, 5, forward=True)  # asked for before it is made
    messenger.send(value, tensor, 0, 5, forward=True)
    tensor.zero_()  # what is sent is a copy
    found = messenger.wait(coming)
    assert found.tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]] and found.stride() == (1, 2)


@given(st.lists(st.integers(0, 1 << 40), min_size=4, max_size=4), st.integers(0, 3))
def test_seeds_depend_on_each_number(numbers: list[int], at: int) -> None:
    other = list(numbers)
    other[at] += 1
    assert seeds.mixed(*numbers) != seeds.mixed(*other)
    assert 0 <= seeds.mixed(*numbers) < 1 << 63


@given(st.integers(1, 6), st.integers(1, 5))
def test_micro_batches_put_together_are_the_batch(size: int, count: int) -> None:
    x = torch.arange(size * count * 2).reshape(size * count, 2)
    inputs = batches.inputs_of({"x": x, "scale": torch.tensor(2.0), "flag": True, "label": x[:, 0]}, True)
    parts = batches.even_pieces(inputs, count)
    assert torch.equal(torch.cat([kwargs["x"] for _, kwargs, _ in parts]), x)
    assert torch.equal(torch.cat([target for _, _, target in parts]), x[:, 0])
    assert all(k["flag"] is True and k["scale"].item() == 2.0 and "label" not in k for _, k, _ in parts)
    assert len({batches.signature(each) for each in parts}) == 1


def test_checksums_tell_batches_apart() -> None:
    x = torch.arange(12.0).reshape(4, 3)
    same = batches.checksum(((x,), {}, None))
    assert same == batches.checksum(((x.clone(),), {}, None))
    assert same == batches.checksum(((x.t().contiguous().t(),), {}, None))
    assert same != batches.checksum(((x.flip(0),), {}, None))
    assert batches.checksum(((torch.ones(3, dtype=torch.bool),), {}, None)) < 1 << 20
