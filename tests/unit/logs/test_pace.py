"""When a training ends is told where its parameters say how long it is, and nowhere else."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hackathon.logs.pace import pace


def steps(count: int, every: float = 2.0, **more: Any) -> list[dict[str, Any]]:
    return [{"t": 1000 + every * n, "step": 10 * n, **more} for n in range(count)]


def test_steps_left_at_the_pace_of_the_last_lines() -> None:
    slow_start = [{"t": 0, "step": 0}, *steps(21)]
    found = pace(slow_start, {"steps": 1000, "lr": 0.1})
    assert found is not None
    assert (found.done, found.total, found.unit, found.moment) == (200, 1000, "step", 1040)
    assert found.seconds == pytest.approx(160)
    assert pace(steps(21), {"max_steps": "200"}).seconds == 0  # type: ignore[union-attr]


def test_epochs_count_from_their_first_line() -> None:
    for first in (0, 1):
        lines = [{"t": 100 + 10 * n, "epoch": first + n // 3, "step": n} for n in range(8)]  # one epoch each 30 s
        found = pace(lines, {"epochs": 5})
        assert found is not None and (found.done, found.total, found.unit) == (2, 5, "epoch")
        assert found.seconds == pytest.approx(3 * 30 - 10)


@pytest.mark.parametrize(
    ("lines", "parameters"),
    [
        ([], {"steps": 10}),
        (steps(1), {"steps": 100}),
        (steps(20), {}),
        (steps(20), {"lr": 0.1, "batch_size": 64}),
        (steps(20), {"steps": 100}),  # further than it was to go: the parameter means something else
        (steps(20), {"steps": "many"}),
        (steps(20), {"steps": float("nan")}),
        (steps(20), {"steps": 0}),
        ([{"t": 1, "step": "x"}, {"t": 2, "step": None}], {"steps": 5}),
        ([{"t": 5, "step": 1}, {"t": 5, "step": 2}], {"steps": 5}),
        ([{"t": 5, "step": 3}, {"t": 6, "step": 3}], {"steps": 5}),
        ([{"t": n, "epoch": 7 + n} for n in range(3)], {"epochs": 20}),  # taken up again: nobody knows from where
        ([{"t": n, "epoch": 0} for n in range(9)], {"epochs": 20}),  # still in its first one
    ],
)
def test_where_nobody_knows_nothing_is_told(lines: list[dict[str, Any]], parameters: dict[str, Any]) -> None:
    assert pace(lines, parameters) is None


_VALUES = st.one_of(st.none(), st.integers(-3, 400), st.floats(), st.text(max_size=3), st.booleans())


@given(
    st.lists(st.dictionaries(st.sampled_from(["t", "step", "epoch", "final"]), _VALUES), max_size=20),
    st.dictionaries(st.sampled_from(["steps", "epochs"]), _VALUES),
)
def test_any_lines_give_an_end_or_none(lines: list[dict[str, Any]], parameters: dict[str, Any]) -> None:
    found = pace(lines, parameters)
    assert found is None or (found.seconds >= 0 and 0 <= found.done <= found.total)
