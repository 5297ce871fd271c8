"""Which rank is named when one is gone: not one that only has not noticed yet."""

import itertools

import pytest

pytest.importorskip("torch")

import torch
import torch.distributed as dist

from hackathon.parallel.live import exchange
from hackathon.parallel.live.exchange import HEART, Messenger
from hackathon.parallel.live.layout import Layout

pytestmark = pytest.mark.torch


class Hearts:
    """A store in which the hearts of ranks that live have beaten at each look, however busy the machine is."""

    def __init__(self, alive: set[int]) -> None:
        self._store, self._beats = dist.HashStore(), itertools.count(1)
        self._alive = {f"{HEART}{rank}" for rank in alive}

    def set(self, key: str, value: str) -> None:
        self._store.set(key, value)

    def check(self, keys: list[str]) -> bool:
        return bool(self._store.check(keys))

    def get(self, key: str) -> bytes:
        return str(next(self._beats)).encode() if key in self._alive else bytes(self._store.get(key))


class Ranks:
    """What the other ranks of four have said, and whose hearts go on beating."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, waits: dict[int, list[int]], alive: set[int]) -> None:
        self.store = Hearts(alive)
        monkeypatch.setattr(exchange, "GRACE", 0.05)
        monkeypatch.setattr(exchange, "PATIENCE", 0.2)
        monkeypatch.setattr(dist.distributed_c10d, "_get_default_store", lambda: self.store)
        for rank in range(4):
            self.store.set(f"{HEART}{rank}", "0")
        for rank, others in waits.items():
            self.store.set(f"hackathon/waits/{rank}", ",".join(map(str, others)))

    def named_by(self, rank: int, waited_for: list[int]) -> int:
        messenger = Messenger(Layout((1,)), 0, torch.device("cpu"), 1.0)  # of one rank: it talks to nobody
        messenger.rank, messenger.layout = rank, Layout((1, 1, 1, 1))
        return messenger.blamed(waited_for)


@pytest.mark.parametrize(
    ("waits", "alive", "me", "waited_for", "expected"),
    [
        ({}, {0, 1}, 2, [0, 1, 3], 3),  # a sum over all: the others do not know yet
        ({1: [2]}, {0, 1}, 0, [1], 2),  # along a chain
        ({1: [0, 2, 3], 2: [3]}, {0, 1, 2}, 0, [1, 2, 3], 3),
        ({1: [0], 0: [1]}, {0, 1, 2, 3}, 0, [1], 1),  # nobody is dead, and all say that they wait
        ({}, {0, 1, 2, 3}, 0, [2], 2),  # it lives, and does not answer
        ({}, {0}, 0, [1, 2, 3], 1),  # a node is gone
    ],
)
def test_the_rank_that_is_gone_is_named(
    monkeypatch: pytest.MonkeyPatch, waits: dict[int, list[int]], alive: set[int], me: int, waited_for: list[int],
    expected: int,
) -> None:  # fmt: skip
    assert Ranks(monkeypatch, waits, alive).named_by(me, waited_for) == expected


def test_without_the_store_the_neighbour_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    ranks = Ranks(monkeypatch, {}, set())

    class Gone:
        def set(self, *_: str) -> None:
            raise RuntimeError("Connection reset by peer")

    ranks.store = Gone()  # type: ignore[assignment]
    messenger = Messenger(Layout((1,)), 0, torch.device("cpu"), 1.0)
    messenger.rank, messenger.layout = 2, Layout((1, 1, 1, 1))
    assert messenger.blamed([1, 3]) == 1
