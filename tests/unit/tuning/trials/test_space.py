"""`--space`: what is read comes back as it was written, every drawn value lies inside, and mistakes are named."""

import math
import random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hackathon.config.recipe import Parameter
from hackathon.text.errors import RequestError
from hackathon.tuning.trials.space import CHOICE, INT, LOG, Dimension, read_space

DECLARED = {
    "lr": Parameter(0.1, "float", min=0), "batch_size": Parameter(32, "int", min=1), "name": Parameter("a"),
    "amp": Parameter(False, "bool"), "model": Parameter("cnn", choices=["cnn", "resnet"]),
}  # fmt: skip
REALS = st.floats(1e-6, 1e6)


def one(text: str) -> Dimension:
    (found,) = read_space([text], DECLARED)
    return found


@given(REALS, REALS, st.sampled_from(["log", "lin"]), st.integers())
def test_ranges_are_read_and_drawn_from(a: float, b: float, kind: str, seed: int) -> None:
    low, high = sorted((a, b))
    found = one(f"lr={kind}:{low!r}:{high!r}")
    assert (found.kind, found.low, found.high) == (kind, low, high)
    assert one(f"lr={found.text}") == found
    values = [found.draw(random.Random(seed + number)) for number in range(5)] + list(found.grid)
    assert all(isinstance(value, float) and low <= value <= high for value in values)
    assert found.grid[0] == pytest.approx(low, rel=1e-3) and found.grid[-1] == pytest.approx(high, rel=1e-3)


@given(st.integers(1, 10**6), st.integers(0, 1000), st.integers())
def test_whole_numbers_stay_whole(low: int, more: int, seed: int) -> None:
    found = one(f"batch_size=int:{low}:{low + more}")
    assert one(f"batch_size={found.text}") == found and found.size == more + 1
    values = [found.draw(random.Random(seed)), *found.grid]
    assert all(type(value) is int and low <= value <= low + more for value in values)
    assert len(set(found.grid)) == len(found.grid) == min(more + 1, 5)


@example(["0", " ", "0"])
@example(["log:1:2", "x"])
@given(st.lists(st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs")), min_size=1), min_size=1))
def test_choices_come_back(words: list[str]) -> None:
    from hackathon.jobs.settings import written

    choices = tuple(dict.fromkeys(words))
    assert one(f"name={Dimension('name', CHOICE, choices=choices).text}").choices == choices
    text = written(words)
    if text != text.strip() or text.partition(":")[0] in ("log", "lin", "int"):
        return  # blanks around the whole are not part of what a user writes
    assert one(f"name={text}").choices == choices


def test_values_have_the_declared_type() -> None:
    assert one("batch_size=32,64,32").choices == (32, 64) and one("lr=1,0.5").choices == (1.0, 0.5)
    assert one("amp=true,off").choices == (True, False) and one("lr=lin:0:0").grid == (0.0,)
    assert one("batch_size=int:4:4").size == 1 and one("lr=log:1:2").size == math.inf


@pytest.mark.parametrize(
    ("texts", "error"),
    [
        ([], "no_space"), (["lr"], "bad_space"), (["=1"], "bad_space"), (["lr= "], "bad_space"),
        (["batchsize=1"], "unknown_near"), (["x=1"], "unknown"), (["lr=1", "lr=2"], "twice"),
        (["lr=log:0:1"], "log_not_positive"),
        (["lr=lin:2:1"], "reversed"), (["lr=lin:1"], "bad_range"), (["lr=lin:1:2:3"], "bad_range"),
        (["lr=lin:nan:1"], "bad_range"), (["lr=log:1:inf"], "bad_range"), (["batch_size=int:1.5:3"], "bad_range"),
        (["batch_size=lin:1:3"], "range_of_whole"), (["model=int:1:2"], "range_of_words"),
        (["amp=lin:0:1"], "range_of_words"), (['name="a'], "bad_values"),
    ],
)  # fmt: skip
def test_mistakes_are_named(texts: list[str], error: str) -> None:
    with pytest.raises(RequestError) as caught:
        read_space(texts, DECLARED)
    assert caught.value.id == f"tune.{error}" and caught.value.message


@pytest.mark.parametrize(
    "text", ["lr=lin:-1:1", "lr=-1,1", "batch_size=int:0:4", "model=vgg", "batch_size=a", "lr=nan"]
)
def test_values_that_the_program_does_not_take_are_refused(text: str) -> None:
    with pytest.raises(RequestError) as caught:
        read_space([text], DECLARED)
    assert caught.value.id.startswith("jobs.parameter_")


def test_a_fixed_parameter_cannot_vary() -> None:
    with pytest.raises(RequestError) as caught:
        read_space(["lr=1,2"], DECLARED, {"lr": "0.5"})
    assert caught.value.id == "tune.fixed"


@given(st.text())
def test_anything_is_read_or_refused(text: str) -> None:
    for whole in (text, f"lr={text}", f"batch_size=int:{text}", f"lr=log:{text}"):
        try:
            (found,) = read_space([whole], DECLARED)
        except RequestError:
            continue
        assert found.kind not in (LOG, INT) or found.low <= found.high
