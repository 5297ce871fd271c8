"""A drawing process that stays draws what one for each order draws, and its end costs no picture."""

import os
import signal
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from hackathon.scaling import draw, drawer, plot
from hackathon.scaling.drawer import Drawer
from hackathon.text.errors import HackathonError
from support.patience import STRETCH, until

pytest.importorskip("vl_convert")


def spec(points: int) -> dict[str, Any]:
    return {
        "data": {"values": [{"x": x, "y": x * x} for x in range(points)]},
        "mark": "line",
        "encoding": {each: {"field": each, "type": "quantitative"} for each in "xy"},
    }


@pytest.fixture
def made() -> Iterator[Drawer]:
    found = Drawer()
    yield found
    found.stop()


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many pictures processes of their own drew."""
    drawn: list[int] = []

    def pictures(specs: Any, form: str) -> list[bytes]:
        drawn.append(len(specs))
        return plot.pictures(specs, form)

    monkeypatch.setattr(drawer, "pictures", pictures)
    return drawn


def child_of(made: Drawer) -> int:
    child = made._worker._child
    assert child is not None
    return child.pid


@pytest.mark.slow
def test_one_process_draws_what_one_for_each_order_draws(made: Drawer, alone: list[int]) -> None:
    made.prepare()
    before = child_of(made)
    for form in ("svg", "png"):
        assert made.pictures([spec(3), spec(5)], form) == plot.pictures([spec(3), spec(5)], form)
    assert child_of(made) == before and not alone


@pytest.mark.slow
def test_what_it_cannot_draw_has_the_usual_error_and_the_next_is_drawn(made: Drawer, alone: list[int]) -> None:
    made.prepare()
    before = child_of(made)
    with pytest.raises(HackathonError) as caught:
        made.pictures([{**spec(3), "data": {"url": "http://127.0.0.1:9/x.json"}}], "svg")
    assert caught.value.id == "scaling.plot_failed_to_draw" and alone == [1]
    with pytest.raises(ValueError, match="JSON"):
        made.pictures([{**spec(3), "width": float("nan")}], "svg")
    assert made.pictures([spec(3)], "svg")[0].startswith(b"<svg") and alone == [1]
    assert child_of(made) == before, "it is not to blame"


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_a_lost_process_costs_no_picture(
    made: Drawer, alone: list[int], monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    made.prepare()
    before = child_of(made)
    monkeypatch.setattr(drawer, "PATIENCE", 0.5)
    os.kill(before, number)
    assert made.pictures([spec(3)], "svg")[0].startswith(b"<svg")
    monkeypatch.undo()
    assert made.pictures([spec(4)], "svg")[0].startswith(b"<svg")
    assert child_of(made) != before


@pytest.mark.slow
def test_it_is_replaced_after_many_pictures(made: Drawer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawer, "MOST", 3)
    made.prepare()
    before = child_of(made)
    made.pictures([spec(2), spec(3), spec(4)], "svg")
    assert child_of(made) == before
    made.pictures([spec(2)], "svg")
    assert child_of(made) != before


@pytest.mark.slow
def test_threads_take_turns(made: Drawer, alone: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawer, "TURN", 600.0)
    monkeypatch.setattr(drawer, "PATIENCE", 600.0)
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda points: made.pictures([spec(points)], "svg"), range(2, 10)))
    assert len({picture for (picture,) in found}) == 8 and not alone


def test_it_ends_with_who_asks_and_when_nobody_does(made: Drawer, monkeypatch: pytest.MonkeyPatch) -> None:
    made.prepare()
    child = made._worker._child
    assert child is not None and child.stdin is not None
    child.stdin.close()  # as the kernel does when a server dies
    assert child.wait(240 * STRETCH) == 0
    reading, writing = os.pipe()
    with os.fdopen(reading) as stream, os.fdopen(writing, "w"):
        monkeypatch.setattr(sys, "stdin", stream)
        monkeypatch.setattr(draw, "REST", 0.0)
        draw.serve()  # returns


@pytest.mark.slow
def test_one_that_was_stopped_starts_no_other(made: Drawer, alone: list[int]) -> None:
    made.prepare()
    child = made._worker._child
    assert child is not None
    made.stop()
    until(lambda: child.poll() is not None)
    assert made.pictures([spec(3)], "svg")[0].startswith(b"<svg") and alone == [1] and not made.ready
