"""`--objective`: three forms, the direction, and mistakes that are named."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hackathon.text.errors import RequestError
from hackathon.tuning.trials.objective import Objective, direction, read_objective


@pytest.mark.parametrize(
    ("text", "kind", "seconds", "goal"),
    [
        ("accuracy@10min", "after", 600, None), ("accuracy@90s", "after", 90, None),
        ("accuracy@1.5h", "after", 5400, None), ("accuracy@00:10:00", "after", 600, None),
        ("accuracy@600", "after", 600, None), ("accuracy", "end", None, None),
        ("time-to:accuracy:0.95", "time-to", None, 0.95), ("time-to:val_loss:1e-2", "time-to", None, 0.01),
    ],
)  # fmt: skip
def test_the_forms(text: str, kind: str, seconds: float | None, goal: float | None) -> None:
    found = read_objective(text, None)
    assert (found.kind, found.seconds, found.goal) == (kind, seconds, goal)
    assert Objective.from_json(found.to_json()) == found == read_objective(found.text, None, found.maximise)


@pytest.mark.parametrize(
    "text",
    ["", "@10min", "accuracy@", "accuracy@soon", "accuracy@0s", "accuracy@-5min", "time-to:accuracy", "time-to::0.9",
     "time-to:accuracy:much", "time-to:accuracy:nan", "a@b@10min", "accuracy@999999h"],
)  # fmt: skip
def test_mistakes_are_named(text: str) -> None:
    with pytest.raises(RequestError) as caught:
        read_objective(text, None)
    assert caught.value.hint and caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("metric", "check", "more"),
    [
        ("accuracy", None, True), ("loss", None, False), ("val_loss", None, False), ("top1_error", None, False),
        ("perplexity", None, False), ("bleu", None, True), ("glossary", None, True), ("samples_per_s", None, True),
        ("score", {"metric": "score", "at_most": 3.0}, False), ("loss", {"metric": "loss", "at_least": 1}, True),
        ("loss", {"metric": "accuracy", "at_least": 1}, False),
        ("score", {"metric": "score", "at_most": 3.0, "at_least": 1.0}, True),
    ],
)  # fmt: skip
def test_the_direction(metric: str, check: dict[str, object] | None, more: bool) -> None:
    assert direction(metric, check) is more
    assert direction(metric, check, not more) is not more


def test_a_declared_time_is_minimised() -> None:
    times = {"step_time": {"unit": "s"}, "pace": {"unit": "ms/step"}, "rate": {"unit": "ns/day"}, "depth": {}}
    for metric, more in (("step_time", False), ("pace", False), ("rate", True), ("depth", True), ("accuracy", True),
                         ("time_to_train_s", False), ("samples_per_s", True)):  # fmt: skip
        assert read_objective(f"{metric}@5min", None, metrics=times).maximise is more
        assert read_objective(f"{metric}@5min", None, True, metrics=times).maximise is True
    check = {"metric": "step_time", "at_least": 3}
    assert read_objective("step_time", check, metrics=times).maximise is True, "the check says what is wanted"
    until = read_objective("time-to:step_time:0.5", None, metrics=times)
    assert until.reached(0.4) and not until.reached(0.6)


def test_a_time_is_always_minimised() -> None:
    found = read_objective("time-to:accuracy:0.9", None)
    assert found.maximise and not found.more_is_better and found.better(10.0, 20.0)
    assert found.reached(0.9) and not found.reached(0.89)
    down = read_objective("time-to:loss:0.1", None)
    assert down.reached(0.1) and not down.reached(0.11)


@given(st.text())
def test_anything_is_read_or_refused(text: str) -> None:
    for whole in (text, f"accuracy@{text}", f"time-to:accuracy:{text}"):
        try:
            assert read_objective(whole, None).metric
        except RequestError:
            pass
