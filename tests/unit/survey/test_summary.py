"""The numbers of a survey: counts, medians, quartiles, intervals, targets, what is missing."""

import math
from fractions import Fraction
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hackathon.config.survey import Question, Survey
from hackathon.survey.records import Answer, ItemSummary, Sentence, SurveySummary
from hackathon.survey.statistics import Z, item, middle, quartiles, wilson
from hackathon.survey.summary import summarise
from hackathon.survey.tables import mean_text
from support.survey.survey_2019 import COUNTS, MEANS, answers, summary


def test_the_first_event_comes_out() -> None:
    found = summary()
    assert (found.n, found.response_rate, found.enough) == (11, 1.0, True)
    assert {each.question.id: each.counts for each in found.items} == COUNTS
    assert {each.question.id: mean_text(each) for each in found.items} == MEANS
    assert [each.median for each in found.items] == [3, 3, 3, 5]
    assert [each.quartiles for each in found.items] == [(3, 3), (3, 3), (3, 3.5), (4, 5)]
    length = found.items[0]
    assert (length.n, length.missing, length.too_low, length.too_high) == (11, 0, 2, 2)
    assert length.on_target is not None
    assert (length.on_target.count, length.on_target.of) == (7, 11)
    satisfaction = found.items[3]
    assert satisfaction.on_target == satisfaction.top
    assert satisfaction.top is not None
    assert satisfaction.bottom is not None
    assert (satisfaction.top.count, satisfaction.bottom.count) == (9, 2)


def rating(levels: int, target: str = "middle") -> Question:
    return Question("q", "rating", "Q", levels=levels, target=target)  # type: ignore[arg-type]


def test_wilson_agrees_with_published_values() -> None:
    """Newcombe, Statistics in Medicine 17 (1998), 857-872, table I, method 3."""
    for count, of, low, high in ((81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0, 0.1611),
                                 (1, 29, 0.0061, 0.1718)):  # fmt: skip
        share = wilson(count, of)
        assert (round(share.low, 4), round(share.high, 4)) == (low, high)
    assert (wilson(0, 0).low, wilson(0, 0).high, wilson(0, 0).value) == (0, 1, 0)


@given(st.integers(1, 500).flatmap(lambda of: st.tuples(st.integers(0, of), st.just(of))))
def test_ends_of_a_wilson_interval_are_where_the_score_test_just_refuses(case: tuple[int, int]) -> None:
    count, of = case
    share = wilson(count, of)
    assert 0 <= share.low <= share.value <= share.high <= 1
    for end in (share.low, share.high):
        if 1e-9 < end < 1 - 1e-9:
            score = (share.value - end) / math.sqrt(end * (1 - end) / of)
            assert abs(abs(score) - Z) < 1e-6
    opposite = wilson(of - count, of)
    assert math.isclose(opposite.low, 1 - share.high, abs_tol=1e-12)


@given(st.lists(st.integers(-50, 50), min_size=1, max_size=40))
def test_quartiles_are_those_of_numpy(values: list[int]) -> None:
    import numpy as np

    assert quartiles(values) == pytest.approx(tuple(np.quantile(values, [0.25, 0.75])))


@given(
    st.integers(1, 9), st.lists(st.integers(1, 9) | st.none(), max_size=60), st.sampled_from(["middle", "high", "low"])
)
def test_numbers_of_a_rating_agree_with_its_answers(levels: int, values: list[int | None], target: str) -> None:
    said = [None if value is None or value > levels else value for value in values]
    found = item(rating(levels, target), values)
    given_ = [value for value in said if value is not None]
    assert (found.n, found.missing, sum(found.counts)) == (len(given_), len(said) - len(given_), len(given_))
    if not given_:
        assert (found.mean, found.on_target) == (None, None)
        return
    assert found.mean == pytest.approx(float(Fraction(sum(given_), len(given_))))
    assert found.on_target is not None
    if target == "middle":
        assert found.too_low + found.on_target.count + found.too_high == found.n
        assert found.too_low == sum(value < min(middle(levels)) for value in given_)
    assert found.top is not None
    assert found.bottom is not None
    if levels >= 2:
        assert found.top.count + found.bottom.count <= found.n


def test_turning_a_bipolar_scale_round_turns_its_directions_round() -> None:
    values = [1, 1, 2, 3, 5]
    one, other = item(rating(5), values), item(rating(5), [6 - value for value in values])
    assert (one.too_low, one.too_high) == (other.too_high, other.too_low) == (3, 1)
    assert one.on_target == other.on_target


@pytest.mark.parametrize(("levels", "expected"), [(1, (1,)), (2, (1, 2)), (3, (2,)), (4, (2, 3)), (5, (3,)), (7, (4,))])
def test_the_middle_of_an_even_number_of_levels_is_two(levels: int, expected: tuple[int, ...]) -> None:
    assert middle(levels) == expected


def test_of_three_levels_the_ends_are_one_level_each() -> None:
    found = item(rating(3, "high"), [1, 2, 3, 3])
    assert found.top is not None
    assert found.bottom is not None
    assert (found.top.count, found.bottom.count) == (2, 1)


def choice(kind: str) -> Question:
    return Question("q", kind, "Q", options={"a": "A", "b": "B", "c": "C"})  # type: ignore[arg-type]


def test_choices_are_counted_once_a_respondent() -> None:
    found = item(choice("choices"), [("a", "b"), ("a", "a"), ("b",), None, ()])
    assert (found.n, found.missing, found.counts) == (3, 2, (2, 2, 0))
    assert item(choice("choice"), ["a", "c", "a", None]).counts == (2, 0, 1)


def test_what_does_not_fit_a_question_is_missing() -> None:
    assert item(rating(5), [0, 6, True, "3", 2.5, 3]).missing == 5
    assert item(choice("choice"), ["d", 1, "a"]).missing == 2
    assert item(choice("choices"), [("d",), "a", ("a",)]).missing == 2
    numbers = item(Question("q", "number", "Q"), [1, float("nan"), float("inf"), True, "2", 3])
    assert (numbers.n, numbers.missing, numbers.median) == (2, 4, 2)


def test_a_number_tells_neither_its_least_nor_its_greatest_answer() -> None:
    found = item(Question("q", "number", "Q"), [1000, 1, 2, 3, 4, 5, 6, 7, -999])
    assert (found.median, found.quartiles) == (4, (2, 6))
    told = [value for name, value in vars(found).items() if name != "mean"]
    assert not {1000, -999} & {each for value in told for each in (value if isinstance(value, tuple) else (value,))
                               if isinstance(each, int | float)}  # fmt: skip


def test_nobody_answered() -> None:
    for kind in ("rating", "choice", "choices", "number"):
        question = Question("q", kind, "Q", target="high", options={"a": "A"})  # type: ignore[arg-type]
        found = item(question, [None, None])
        assert (found.n, found.missing, found.mean, found.quartiles) == (0, 2, None, None)
    empty = summarise("after", Survey("S", questions=[rating(5)]), [], invited=None, closed=True)
    assert (empty.n, empty.response_rate, empty.enough, empty.items[0].shown) == (0, None, False, False)


def test_there_is_no_number_over_several_questions() -> None:
    assert not any("mean" in name or "score" in name for name in (*SurveySummary.__annotations__, *dir(SurveySummary)))
    assert "mean" in ItemSummary.__annotations__


def test_free_answers_go_out_only_when_reviewed() -> None:
    assert not summary().texts[0].sentences
    assert not summary().reviewed
    released = summary(Sentence("Very worthwhile.", ("thanks",)))
    assert [each.text for each in released.texts[0].sentences] == ["Very worthwhile."]
    assert released.reviewed


def test_few_who_wrote_are_not_counted() -> None:
    question = Question("q", "text", "Q")
    survey = Survey("S", questions=[question], smallest_group=3)
    some = [Answer({"q": "a"})] * 2 + [Answer({"q": "  "}), Answer({})]
    assert summarise("after", survey, some, invited=None, closed=True).texts[0].n == 0
    assert summarise("after", survey, [*some, some[0]], invited=None, closed=True).texts[0].n == 3


def test_the_organisers_own_view_holds_nothing_back() -> None:
    survey = Survey("S", questions=[rating(5)])
    some = [Answer({"q": 2})] * 3
    assert not summarise("after", survey, some, invited=9, closed=False).items[0].shown
    private = summarise("after", survey, some, invited=9, closed=False, private=True)
    assert (private.private, private.enough, private.items[0].counts) == (True, True, (0, 3, 0, 0, 0))


def test_the_order_of_answers_does_not_matter() -> None:
    mixed = answers()
    Random(4).shuffle(mixed)
    assert summarise("after", summary().survey, mixed, invited=11, closed=True) == summary()
