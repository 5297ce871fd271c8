"""What is told of a survey lets nobody work out a group of fewer people than the least number."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise, product

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from hackathon.config.survey import Question, Survey
from hackathon.survey.records import Answer, SurveySummary
from hackathon.survey.summary import summarise
from hackathon.survey.suppression import choose
from support.survey.attacker import Attacker, Published, published

GROUPS = {1: 8, 2: 4, 3: 3}
"""Breakdowns → groups of each at most: what an integer program has to look through."""


def options(count: int) -> dict[str, str]:
    return {f"g{number}": f"Group {number}" for number in range(count)}


def survey_of(breakdowns: Mapping[str, int], items: Sequence[Question], k: int, required: str = "") -> Survey:
    asked = [
        Question(name, "choice", name, required=name == required, options=options(count))
        for name, count in breakdowns.items()
    ]
    return Survey("Survey", questions=[*asked, *items], breakdowns=list(breakdowns), smallest_group=k)


def rating(name: str, levels: int = 3) -> Question:
    return Question(name, "rating", name, levels=levels, target="high")


def summary_of(survey: Survey, answers: Sequence[Answer]) -> SurveySummary:
    return summarise("after", survey, answers, invited=None, closed=True)


def people(*groups: tuple[int, dict[str, int | str | tuple[str, ...]]]) -> list[Answer]:
    return [Answer(values) for count, values in groups for _ in range(count)]


def told(summary: SurveySummary, breakdown: str = "team") -> dict[str, int]:
    return {
        group.value: group.n for each in summary.breakdowns if each.question.id == breakdown for group in each.groups
    }


@st.composite
def surveys(draw: st.DrawFn) -> tuple[Survey, list[Answer]]:
    """Surveys of up to 40 people: groups of very different sizes, answers that go with groups, missing ones."""
    names = [f"b{number}" for number in range(draw(st.sampled_from([1, 1, 2, 2, 3])))]
    counts = {name: draw(st.integers(2, GROUPS[len(names)])) for name in names}
    items = [rating("i0")]
    if draw(st.booleans()):
        items.append(draw(st.sampled_from([
            rating("i1"), Question("i1", "choices", "i1", options={"x": "X", "y": "Y"}), Question("i1", "number", "i1")
        ])))  # fmt: skip
    # Labels are drawn from lists in which each stands several times: so groups come out unbalanced.
    pools: dict[str, list[str]] = {}
    required = draw(st.sampled_from([names[0], ""]))
    for name, count in counts.items():
        labels = [*options(count), *draw(st.sampled_from([[], [""]] if name != required else [[]]))]
        often = draw(st.lists(st.sampled_from([1, 1, 2, 5, 12]), min_size=len(labels), max_size=len(labels)))
        pools[name] = [label for label, times in zip(labels, often, strict=True) for _ in range(times)]
    mind = draw(st.sampled_from(["free", "of its group", "of one"]))
    kinds = {"rating": [1, 2, 3, None], "choices": [("x",), ("y",), ("x", "y"), None], "number": [0, 7, 2.5, None]}
    answers = []
    for _ in range(draw(st.integers(0, 40))):
        values = {name: label for name in names if (label := draw(st.sampled_from(pools[name])))}
        for item in items:
            some = kinds[item.kind]
            if mind == "of its group":
                said = some[sum(map(ord, values.get(names[0], "") + values.get(names[-1], ""))) & 3]
            else:
                said = draw(st.sampled_from([*some, *some[:3]] if mind == "free" else [*some[:2], *[some[2]] * 12]))
            if said is not None:
                values[item.id] = said
        answers.append(Answer(values))
    return survey_of(counts, items, draw(st.sampled_from([2, 3, 4, 5])), required), answers


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(surveys())
def test_no_small_group_follows_from_all_that_is_told(case: tuple[Survey, list[Answer]]) -> None:
    _attack(*case)


@pytest.mark.slow
@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(surveys())
def test_no_small_group_follows_from_all_that_is_told_of_many_surveys(case: tuple[Survey, list[Answer]]) -> None:
    _attack(*case)


def _attack(survey: Survey, answers: list[Answer]) -> None:
    summary = summary_of(survey, answers)
    note(f"k = {survey.smallest_group}, told: {[told(summary, each) for each in survey.breakdowns]}")
    out = published(summary)
    assert Attacker(survey, answers, out).found(survey.smallest_group) == []
    sizes_too = replace(out, sizes=frozenset(survey.breakdowns))
    assert Attacker(survey, answers, sizes_too).opinions_found(survey.smallest_group) == []


def naive(survey: Survey, answers: Sequence[Answer]) -> Published:
    """Return what is told by who only leaves small groups out."""
    k = survey.smallest_group
    items = [each.id for each in survey.questions if each.id not in survey.breakdowns]
    groups = {}
    for question in survey.questions:
        for value in (*question.options, "") if question.id in survey.breakdowns else ():
            some = [answer for answer in answers if answer.values.get(question.id, "") == value]
            shown = {item for item in items if sum(item in answer.values for answer in some) >= k}
            if len(some) >= k:
                groups[question.id, value] = frozenset(shown)
    whole = {item for item in items if sum(item in answer.values for answer in answers) >= k}
    return Published(frozenset(), frozenset(whole), groups)


SUBTRACTED = (
    survey_of({"team": 3}, [rating("length")], 5, "team"),
    people((6, {"team": "g0", "length": 3}), (7, {"team": "g1", "length": 3}), (2, {"team": "g2", "length": 1})),
)
OF_ONE_ITEM = (
    survey_of({"team": 2}, [rating("length")], 5),
    people((6, {"team": "g0", "length": 3}), (4, {"team": "g1"}), (2, {"team": "g1", "length": 1})),
)
CROSSED = (
    # The masters all say 1 and nobody else but two of team g0 does: those are masters, all others of g0 are not.
    survey_of({"team": 2, "kind": 2}, [rating("length")], 5),
    people(
        (2, {"team": "g0", "kind": "g0", "length": 1}), (4, {"team": "g1", "kind": "g0", "length": 1}),
        (4, {"team": "g0", "kind": "g1", "length": 3}), (6, {"team": "g1", "kind": "g1", "length": 3}),
    ),
)  # fmt: skip


@pytest.mark.parametrize(
    ("case", "secret"),
    [
        (SUBTRACTED, "team g2"),
        (SUBTRACTED, "team (rest) who said 1 to length"),
        (OF_ONE_ITEM, "team g1 who answered length"),
        (CROSSED, "team g0 and kind g0"),
    ],
    ids=["subtracted", "levels", "of-one-item", "crossed"],
)
def test_the_attacker_finds_what_leaving_small_groups_out_gives_away(
    case: tuple[Survey, list[Answer]], secret: str
) -> None:
    survey, answers = case
    assert secret in Attacker(survey, answers, naive(survey, answers)).found(5)
    assert Attacker(survey, answers, published(summary_of(survey, answers))).found(5) == []


def test_where_a_rest_is_of_one_mind_its_small_groups_are_not_told_by_subtraction() -> None:
    """Who took part is in the report: one undergraduate, so what all of the rest said is what that one said."""
    survey = survey_of({"kind": 4}, [rating("length")], 5, "kind")
    sizes = {"g0": 1, "g2": 4, "g3": 1}
    rest = [(count, {"kind": kind, "length": 3}) for kind, count in sizes.items()]
    answers = people((3, {"kind": "g1", "length": 3}), (2, {"kind": "g1", "length": 1}), *rest)
    known = frozenset({"kind"})
    told_anyway = Published(known, frozenset({"length"}), {("kind", "g1"): frozenset({"length"})})
    assert "kind g0 who said 3 to length" in Attacker(survey, answers, told_anyway).opinions_found(5)
    summary = summary_of(survey, answers)
    assert told(summary, "kind") == {"g1": 5}
    assert not summary.breakdowns[0].groups[0].items[0].shown
    assert Attacker(survey, answers, replace(published(summary), sizes=known)).opinions_found(5) == []


def test_what_a_rest_did_not_choose_is_a_mind_too() -> None:
    """Both of g0 chose y and nobody else did: with g0 told, g1 and g3, one person each, are known to have chosen x."""
    choice = Question("days", "choices", "days", options={"x": "X", "y": "Y"})
    survey = survey_of({"team": 4}, [choice], 2, "team")
    answers = people(
        (2, {"team": "g0", "days": ("x", "y")}),
        (1, {"team": "g1", "days": ("x",)}),
        (1, {"team": "g3", "days": ("x",)}),
    )
    known = frozenset({"team"})
    told_anyway = Published(known, frozenset({"days"}), {("team", "g0"): frozenset({"days"})})
    assert "team g1 who said ('x',) to days" in Attacker(survey, answers, told_anyway).opinions_found(2)
    summary = summary_of(survey, answers)
    assert told(summary) == {"g0": 2}
    assert Attacker(survey, answers, replace(published(summary), sizes=known)).opinions_found(2) == []


def test_the_attacker_needs_a_publication() -> None:
    survey, answers = SUBTRACTED
    assert Attacker(survey, answers, Published(frozenset(), frozenset(), {})).found(5) == []


def test_a_small_group_takes_another_with_it_unless_the_rest_is_large_enough() -> None:
    assert told(summary_of(*SUBTRACTED)) == {"g1": 7}
    survey = survey_of({"team": 4}, [rating("length")], 5)
    first = people(
        (1, {"team": "g0"}), (5, {"team": "g1", "length": 2}), (4, {"team": "g2"}), (1, {"team": "g3"})
    )  # fmt: skip
    summary = summary_of(survey, first)
    assert told(summary) == {"g1": 5}
    assert summary.breakdowns[0].withheld


def test_two_groups_are_told_both_or_not_at_all() -> None:
    survey = survey_of({"team": 2}, [rating("length")], 5)
    small = summary_of(survey, people((20, {"team": "g0"}), (4, {"team": "g1"})))
    assert (told(small), small.breakdowns[0].withheld) == ({}, True)
    large = summary_of(survey, people((20, {"team": "g0"}), (5, {"team": "g1"})))
    assert (told(large), large.breakdowns[0].withheld) == ({"g0": 20, "g1": 5}, False)


def test_who_did_not_answer_is_a_group() -> None:
    survey = survey_of({"team": 2}, [rating("length")], 5)
    assert told(summary_of(survey, people((9, {"team": "g0"}), (9, {"team": "g1"}), (2, {})))) == {}
    assert told(summary_of(survey, people((9, {"team": "g0"}), (8, {"team": "g1"}), (5, {})))) == {
        "g0": 9, "g1": 8, "": 5,
    }  # fmt: skip


def test_the_counts_of_a_question_that_says_who_somebody_is_do_not_give_its_groups_away() -> None:
    item = next(item for item in summary_of(*SUBTRACTED).items if item.question.id == "team")
    assert (item.shown, item.n, item.missing, item.counts) == (False, 0, 0, ())
    teams = Question("team", "choice", "Team", options=options(2), options_from="teams")
    survey = Survey("Survey", questions=[teams], smallest_group=5)
    assert not summary_of(survey, people((20, {"team": "g0"}), (1, {"team": "g1"}))).items[0].shown
    assert summary_of(survey, people((20, {"team": "g0"}), (5, {"team": "g1"}))).items[0].counts == (20, 5)


def test_of_several_days_each_combination_is_a_group() -> None:
    days = Question("days", "choices", "Days", options={"d1": "24", "d2": "25"}, options_from="days")
    survey = Survey("Survey", questions=[days], smallest_group=5)
    # 10 + 8 of 17 who came: one person was there on both days
    one_on_both = people((9, {"days": ("d1",)}), (7, {"days": ("d2",)}), (1, {"days": ("d1", "d2")}))
    assert not summary_of(survey, one_on_both).items[0].shown
    five_on_both = people((9, {"days": ("d1",)}), (7, {"days": ("d2",)}), (5, {"days": ("d2", "d1")}))
    assert summary_of(survey, five_on_both).items[0].counts == (14, 12)


def test_a_breakdown_is_never_told_within_another() -> None:
    survey = survey_of({"team": 2, "kind": 2}, [rating("length")], 2)
    answers = people(
        *((6, {"team": one, "kind": other, "length": 2}) for one, other in product(("g0", "g1"), repeat=2))
    )
    summary = summary_of(survey, answers)
    assert (told(summary), told(summary, "kind")) == ({"g0": 12, "g1": 12}, {"g0": 12, "g1": 12})
    assert {item.question.id for each in summary.breakdowns for group in each.groups for item in group.items} == {
        "length"
    }


def test_an_item_is_told_only_in_groups_where_enough_answered_it() -> None:
    survey = survey_of({"team": 3}, [rating("length"), rating("lecture")], 5)
    both = {"length": 2, "lecture": 2}
    answers = people(
        (8, {"team": "g0", **both}), (7, {"team": "g1", **both}), (3, {"team": "g2", **both}),
        (6, {"team": "g2", "length": 1}),
    )  # fmt: skip
    groups = summary_of(survey, answers).breakdowns[0].groups
    shown = {(group.value, item.question.id): item.shown for group in groups for item in group.items}
    assert [name for name, value in shown.items() if not value] == [("g1", "lecture"), ("g2", "lecture")]
    hidden = next(item for item in groups[2].items if not item.shown)
    assert (hidden.n, hidden.missing, hidden.counts, hidden.mean) == (0, 0, (), None)


def test_fewer_respondents_than_the_least_number_tell_nothing() -> None:
    survey = survey_of({"team": 2}, [rating("length")], 5)
    summary = summary_of(survey, people((4, {"team": "g0", "length": 2})))
    assert (summary.n, summary.enough, summary.breakdowns) == (4, False, ())
    assert not any(item.shown for item in summary.items)


def test_an_item_that_few_answered_is_not_told() -> None:
    survey = survey_of({}, [rating("length"), rating("lecture")], 5)
    summary = summary_of(survey, people((8, {"length": 2}), (4, {"lecture": 1, "length": 1})))
    assert [(item.shown, item.n) for item in summary.items] == [(True, 12), (False, 0)]


def test_the_order_of_answers_and_other_breakdowns_later_change_nothing() -> None:
    survey, answers = CROSSED
    assert summary_of(survey, answers[::-1]).breakdowns == summary_of(survey, answers).breakdowns
    only_first = Survey("Survey", questions=survey.questions, breakdowns=["team"], smallest_group=5)
    assert told(summary_of(only_first, answers)) == told(summary_of(survey, answers)) == {"g0": 6, "g1": 10}
    assert told(summary_of(survey, answers), "kind") == {}


@pytest.mark.parametrize("k", [2, 3, 4, 5])
@pytest.mark.parametrize("count", [2, 3, 4])
def test_who_knows_the_rule_finds_no_size_of_a_small_group(count: int, k: int) -> None:
    """All sizes that lead to the same publication never agree in the size of a small group."""
    most = {2: 20, 3: 20, 4: 14}[count]
    same = defaultdict(list)
    for sizes in product(range(most + 1), repeat=count):
        n = sum(sizes)
        if not k <= n <= most or (k, n) == (2, 2):
            continue
        ends = [sum(sizes[:at]) for at in range(count + 1)]
        groups = {str(at): (1 << end) - (1 << start) for at, (start, end) in enumerate(pairwise(ends))}
        shown = choose(groups, [(1 << n) - 1], k)
        # the counts of the question itself are told when all its groups are large enough
        counts = sizes if all(size == 0 or size >= k for size in sizes) else None
        same[n, tuple((name, sizes[int(name)]) for name in shown), counts].append(sizes)
    assert len(same) > 30
    for alternatives in same.values():
        for column in zip(*alternatives, strict=True):
            assert len(set(column)) > 1 or column[0] == 0 or column[0] >= k, alternatives
