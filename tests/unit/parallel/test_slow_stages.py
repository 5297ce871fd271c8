"""Which stage is named when a step does not go on: the one that hangs, by itself and by rank 0, and once."""

from contextlib import ExitStack

import pytest

pytest.importorskip("torch")

import torch.distributed as dist

from hackathon.parallel.live.layout import Layout
from hackathon.parallel.live.slow_stages import LEAST, SETTLING, TIMES, SlowStages, StepProgress

pytestmark = pytest.mark.torch


class Ranks:
    """Three ranks of one stage each, in a step, with one clock and one store."""

    def __init__(self) -> None:
        self.now = 0.0
        self.progress = [StepProgress(lambda: self.now) for _ in range(3)]
        store, layout = dist.HashStore(), Layout((1, 1, 1))
        self.watches = [SlowStages(layout, rank, item, store, 600.0) for rank, item in enumerate(self.progress)]
        self.stack = ExitStack()

    def begin(self) -> None:
        for item in self.progress:
            self.stack.enter_context(item.step())

    def wait(self, rank: int, *others: int) -> None:
        self.stack.enter_context(self.progress[rank].waiting(others))

    def said_after(self, seconds: float) -> list[str]:
        """Return what all ranks say until so many seconds have gone by: each looks every second."""
        end, lines = self.now + seconds, []
        while self.now < end:
            self.now += 1.0
            lines += [f"{rank}: {line}" for rank, watch in enumerate(self.watches) if (line := watch.look())]
        return lines


def test_a_stage_that_hangs_is_named_by_itself_and_by_rank_0() -> None:
    ranks = Ranks()
    ranks.begin()
    ranks.wait(0, 1)
    ranks.wait(1, 2)
    assert ranks.said_after(LEAST) == []
    line = ranks.said_after(SETTLING + 60)
    assert [item[:2] for item in line] == ["0:", "2:"]
    assert all("stage 2, replica 0 (rank 2)" in item and "Nothing is ended" in item for item in line)


def test_a_rank_that_has_not_begun_the_step_is_named_by_rank_0() -> None:
    ranks = Ranks()
    ranks.stack.enter_context(ranks.progress[0].step())
    ranks.wait(0, 1, 2)
    ranks.stack.enter_context(ranks.progress[1].step())
    ranks.wait(1, 0)
    (line,) = ranks.said_after(LEAST + SETTLING + 5)
    assert line.startswith("0:") and "(rank 2)" in line


def test_stages_that_wait_for_one_another_are_not_blamed() -> None:
    ranks = Ranks()
    ranks.begin()
    for rank in range(3):
        ranks.wait(rank, (rank + 1) % 3)
    (line,) = ranks.said_after(LEAST + SETTLING + 5)
    assert "waiting for one another" in line and "rank" not in line


def test_the_limit_grows_with_the_slowest_step_and_the_next_hang_is_named_again() -> None:
    ranks = Ranks()
    ranks.begin()
    assert ranks.said_after(20.0) == []
    ranks.stack.close()
    assert {item.limit for item in ranks.progress} == {TIMES * 20.0}
    ranks.begin()
    ranks.wait(0, 1)
    ranks.wait(2, 1)
    assert ranks.said_after(TIMES * 20.0) == []
    assert len(ranks.said_after(SETTLING + 5)) == 2
    ranks.stack.close()
    assert ranks.said_after(5.0) == [] and ranks.said_after(10_000.0) == []  # between steps nothing is watched
    ranks.begin()
    ranks.wait(0, 2)
    ranks.wait(1, 2)  # rank 1 does not hang any more
    line = ranks.said_after(20 * TIMES * 20.0)
    assert len(line) == 2 and all("(rank 2)" in item for item in line)
