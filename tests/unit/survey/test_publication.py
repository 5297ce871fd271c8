"""Two summaries of the same answers, subtracted from each other, tell nobody's answer."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from hackathon.config.survey import Question, Survey
from hackathon.index.memory import Memory
from hackathon.survey.collection import Collection
from hackathon.survey.publication import subtract, summary_of
from hackathon.survey.records import Answer, SurveySummary
from hackathon.survey.summary import summarise
from hackathon.text.errors import RequestError
from support.survey.event import make_event

ITEMS = ("length", "lecture", "again")


def survey_of(*breakdowns: str, k: int = 5, audience: str = "participants") -> Survey:
    groups = {"g0": "Group 0", "g1": "Group 1"}
    asked = [Question(each, "choice", each, options=groups) for each in ("team", "kind")]
    asked += [Question(each, "rating", each, levels=5, target="high") for each in ITEMS]
    return Survey("S", questions=asked, breakdowns=list(breakdowns), smallest_group=k, audience=audience)  # type: ignore[arg-type]


def people(count: int, start: int = 0) -> list[Answer]:
    """Return respondents of whom no two of 125 in a row said the same; teams and kinds take turns."""
    return [
        Answer({
            "team": f"g{number % 2}", "kind": f"g{number // 2 % 2}", "length": 1 + number % 5,
            "lecture": 1 + number // 5 % 5, "again": 1 + number // 25 % 5,
        })
        for number in range(start, start + count)
    ]  # fmt: skip


def told(survey: Survey, answers: Sequence[Answer]) -> SurveySummary:
    return summarise("x", survey, answers, invited=None, closed=True)


def apart(before: Sequence[Answer], after: Sequence[Answer], *surveys: Survey) -> bool:
    """Return whether the second summary may be told beside the first."""
    old, new = surveys if len(surveys) == 2 else (survey_of(), survey_of())
    return not subtract(told(old, before), before, told(new, after), after)


def levels(summary: SurveySummary) -> dict[str, tuple[int, ...]]:
    return {item.question.id: item.counts for item in summary.items if item.question.id in ITEMS}


def test_what_is_withheld_would_have_told_one_persons_answers() -> None:
    late = Answer({"team": "g0", "kind": "g1", "length": 2, "lecture": 5, "again": 1})
    before, after = people(12), [*people(12), late]
    first, second = levels(told(survey_of(), before)), levels(told(survey_of(), after))
    read_off = {
        each: [level for level, (old, new) in enumerate(zip(first[each], second[each], strict=True), 1) if new > old]
        for each in ITEMS
    }
    assert read_off == {"length": [2], "lecture": [5], "again": [1]}
    assert not apart(before, after)
    assert not apart(after, before)


@pytest.mark.parametrize("more", [1, 2, 4])
def test_few_more_or_fewer_are_withheld(more: int) -> None:
    assert not apart(people(20), people(20 + more))
    assert not apart(people(20 + more), people(20))
    assert not apart(people(20), people(20, start=more)), "some left, as many came"


def test_as_many_more_as_the_least_number_are_told() -> None:
    assert apart(people(20), people(25))
    assert apart(people(25), people(20))
    assert apart(people(20), people(20)), "the same answers say nothing new"


def test_those_who_came_are_counted_in_each_group_that_is_told() -> None:
    by_team = survey_of("team")
    some = [replace(each, values={**each.values, "team": "g0"}) for each in people(5, start=100)]
    assert apart(people(20), [*people(20), *some], by_team, by_team)
    two_elsewhere = [*some, *(Answer({**each.values, "team": "g1"}) for each in people(2, start=110))]
    assert not apart(people(20), [*people(20), *two_elsewhere], by_team, by_team)
    assert apart(people(20), [*people(20), *two_elsewhere]), "without the breakdown they are seven"


def test_those_who_came_are_counted_for_each_question() -> None:
    silent = [Answer({"team": "g0", "kind": "g0", "lecture": 2, "again": 3}) for _ in range(4)]
    assert not apart(people(20), [*people(20), *silent, *people(1, start=60)])
    assert apart(people(20), [*people(20), *silent, *people(5, start=60)])


def test_the_same_answers_by_another_question_are_told_only_where_the_crossings_are_large() -> None:
    by_team, by_kind = survey_of("team"), survey_of("kind")
    assert apart(people(20), people(20), by_team, by_kind), "5 in each crossing"
    few = [*people(18), *(Answer({**each.values, "kind": "g0"}) for each in people(2, start=18))]
    assert not apart(few, few, by_team, by_kind), "g1 and g1: 4"
    assert apart(few, few, by_team, by_team)


def test_who_answers_anew_is_told() -> None:
    """False alarms: a survey before and one after, of the same people; and a short poll on each day."""
    assert apart(people(20), people(20, start=60))
    poll = Survey("S", questions=[Question("mood", "rating", "?", levels=5, target="high")])

    def said(*counts: int) -> list[Answer]:
        return [Answer({"mood": level}) for level, count in enumerate(counts, 1) for _ in range(count)]

    assert apart(said(0, 1, 2, 6, 4), said(1, 0, 3, 4, 5), poll, poll)
    assert not apart(said(0, 1, 2, 6, 4), said(0, 1, 2, 6, 5), poll, poll), "one more said 5"


def test_other_people_and_other_questions_are_told() -> None:
    tutors = survey_of(audience="tutors")
    assert apart(people(12), people(13), survey_of(), tutors)
    other = Survey("S", questions=[Question("food", "rating", "?", levels=5, target="high")])
    assert apart(people(12), [Answer({"food": 3})] * 13, survey_of(), other)
    only_who = Survey("S", questions=survey_of().questions[:2], breakdowns=["team", "kind"])
    assert apart(people(12), people(13), survey_of("team", "kind"), only_who), "they ask no opinion twice"


def test_who_is_told_of_too_few_anyway_keeps_nobody_back() -> None:
    assert apart(people(4), people(6))


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(5, 40), st.integers(0, 12), st.integers(0, 12), st.data())
def test_no_difference_of_what_is_printed_is_small(base: int, gone: int, come: int, data: st.DataObject) -> None:
    """All that both print is subtracted: numbers of people in all and in each group, with each question's answers."""
    assume(not (gone and come))
    surveys = [survey_of(*data.draw(st.sampled_from([[], ["team"], ["kind"], ["team", "kind"]]))) for _ in range(2)]
    drawn = data.draw(st.lists(st.booleans(), min_size=base + gone + come, max_size=base + gone + come))
    everybody = [
        Answer({name: value for name, value in each.values.items() if name != "again" or has})
        for each, has in zip(people(base + gone + come), drawn, strict=True)
    ]
    before, after = everybody[: base + gone], [*everybody[:base], *everybody[base + gone :]]
    old, new = told(surveys[0], before), told(surveys[1], after)
    if subtract(old, before, new, after):
        return
    first, second = _numbers(old), _numbers(new)
    small = {what: (first[what], second[what]) for what in first.keys() & second.keys()
             if 0 < abs(first[what] - second[what]) < 5}  # fmt: skip
    assert small == {}


def _numbers(summary: SurveySummary) -> Mapping[tuple[str, ...], int]:
    found: dict[tuple[str, ...], int] = {("all",): summary.n} if summary.enough else {}
    found.update({("all", item.question.id): item.n for item in summary.items if item.shown})
    for breakdown in summary.breakdowns:
        for group in breakdown.groups:
            found[breakdown.question.id, group.value] = group.n
            found.update({
                (breakdown.question.id, group.value, item.question.id): item.n for item in group.items if item.shown
            })  # fmt: skip
    return found


def test_the_survey_that_closed_later_is_withheld_everywhere(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hackathon.config.load import load_event
    from hackathon.web.views.published_surveys import summaries, too_like

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache"))
    monkeypatch.setattr("hackathon.board.people.People.account", lambda self, uid: "bob")
    first = make_event(tmp_path)
    folder = tmp_path / "surveys" / "corrected"
    folder.mkdir()
    (folder / "survey.yaml").write_bytes((first.folder / "survey.yaml").read_bytes())
    second = Collection(folder)
    for number, (each, count) in enumerate([(first, 8), (second, 9)]):
        for at, token in enumerate(each.open(count)):
            each.accept({"level": 1 + at % 5, "size": at}, token)
        each.close()
        os.utime(each.closed_folder, (9 - number, 9 - number))  # a clock that was set back in between
    assert summary_of(first).n == 8
    with pytest.raises(RequestError) as caught:
        summary_of(second)
    assert caught.value.id == "survey_summary.too_like" and "after" in str(caught.value)
    assert summary_of(second, private=True).n == 9
    assert [each.name for each in summaries(tmp_path, load_event(tmp_path), Memory())] == ["after"]
    assert too_like(tmp_path) == {"corrected": "after"}
