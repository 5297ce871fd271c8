"""Which rank is named when one is gone: not one that only has not noticed yet."""

import threading

import pytest

pytest.importorskip("torch")

import torch
import torch.distributed as dist

from hackathon.parallel.live import exchange
from hackathon.parallel.live.exchange import HEART, Messenger
from hackathon.parallel.live.layout import Layout

pytestmark = pytest.mark.torch


class Ranks:
    """What the other ranks of four have said, and whose hearts go on beating."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, waits: dict[int, list[int]], alive: set[int]) -> None:
        self.store = dist.HashStore()
        monkeypatch.setattr(exchange, "GRACE", 0.05)
        monkeypatch.setattr(exchange, "PATIENCE", 0.2)
        monkeypatch.setattr(dist.distributed_c10d, "_get_default_store", lambda: self.store)
        for rank in range(4):
            self.store.set(f"{HEART}{rank}", "0")
        for rank, others in waits.items():
            self.store.set(f"hackathon/waits/{rank}", ",".join(map(str, others)))
        self._alive, self._stop = alive, threading.Event()
        self._thread = threading.Thread(target=self._beat)

    def _beat(self) -> None:
        number = 0
        while not self._stop.wait(0.002):
            number += 1
            for rank in self._alive:
                self.store.set(f"{HEART}{rank}", str(number))

    def named_by(self, rank: int, waited_for: list[int]) -> int:
        self._thread.start()
        messenger = Messenger(Layout((1,)), 0, torch.device("cpu"), 1.0)  # of one rank: it talks to nobody
        messenger.rank, messenger.layout = rank, Layout((1, 1, 1, 1))
        try:
            return messenger.blamed(waited_for)
        finally:
            self._stop.set()
            self._thread.join()


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
