"""One reader for what people and other programs write as answers."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hackathon.config.survey import Question, Survey
from hackathon.survey.records import Value
from hackathon.survey.values import read_stored, read_values, to_stored
from support.survey.event import plain_survey

SURVEY = plain_survey()


def read(identifier: str, *texts: str) -> Value | None:
    """Return the value that is read, None when it is refused."""
    values, problems = read_values(SURVEY, {identifier: texts})
    assert bool(values) != bool(problems)
    return values.get(identifier)


@pytest.mark.parametrize(
    ("text", "level"),
    [
        ("4", 4), ("４", 4), (" 4 ", 4), ("4 (難)", 4), ("４（難）", 4), ("5：難", 5), ("5 - difficult", 5), ("A3", 3),
        ("3.0", 3), ("03", 3), ("4/5", 4), ("難", 5), ("EASY", 1), ("1. easy", 1), ("①", 1),
        ("4/7", None), ("0", None), ("6", None), ("3-4", None), ("4 or 5", None), ("4.5", None), ("-1", None),
        ("４ (5)", None), ("difficult easy", None), ("B3", None), ("4 (3 difficult)", None), ("1e0", None),
        ("9" * 400, None), ("=4", None), ("4 <script>", None),
    ],
)  # fmt: skip
def test_levels(text: str, level: int | None) -> None:
    assert read("level", text) == level


@pytest.mark.parametrize(
    ("text", "option"),
    [
        ("a", "a"), ("A", "a"), ("apple", "a"), ("りんご", "a"), ("Ａｐｐｌｅ", "a"),
        ("bread,  butter", "b"), ("４", "4"), ("apples", None), ("a;b", None), ("x", "4"),
    ],
)  # fmt: skip
def test_options_by_value_or_label(text: str, option: str | None) -> None:
    assert read("pick", text) == option


@pytest.mark.parametrize(
    ("texts", "options"),
    [
        (("a", "c"), ("a", "c")), (("c;a",), ("a", "c")), (("A; B",), ("a",)), (("A; B, B",), ("a", "b")),
        (("C, D, B",), ("b", "c")), (("C, D;A; B",), ("a", "c")), (("四、B",), ("b", "c")), (("B，四",), ("b", "c")),
        (("b;b",), ("b",)), (("B;",), ("b",)), (("B, E",), None), (("C",), ("c",)), (("C, B",), ("b", "c")),
    ],
)  # fmt: skip
def test_several_choices_in_one_cell(texts: tuple[str, ...], options: tuple[str, ...] | None) -> None:
    """`;` of one program, `, ` of another, and labels that hold such signs themselves."""
    assert read("many", *texts) == options


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("12", 12), ("１２．５", 12.5), ("-2", -2), ("−2", -2), ("10 GB", 10), ("10ギガバイト", 10),
        ("1,000", 1000), ("1e3", 1000), (".5", 0.5), ("+3", 3),
        ("10 MB", None), ("nan", None), ("inf", None), ("1e999", None), ("1,5", None), ("-6", None), ("1e7", None),
        ("two", None), ("1 2", None), ("0x10", None),
    ],
)  # fmt: skip
def test_numbers(text: str, number: float | None) -> None:
    found = read("size", text)
    assert found == number and type(found) is not bool


def test_words_are_kept_as_they_are_but_for_what_steers_a_terminal() -> None:
    text = "=1+1 <b>太字</b>\r\n\x1b[31mred‮\ttab "
    assert read("words", text) == "=1+1 <b>太字</b>\n·[31mred·\ttab"
    assert read("words", "n/a") == "n/a"
    _, problems = read_values(SURVEY, {"words": ["あ" * 51]})
    assert [(each.question, each.id, each.values["count"]) for each in problems] == [("words", "survey.text_long", 51)]


def test_problems_name_their_question() -> None:
    raw = {"level": ["9"], "pick": ["a", "b"], "size": [""], "nothing": ["x\x1b[2J"], "words": ["fine"]}
    values, problems = read_values(SURVEY, raw)
    assert values == {"words": "fine"}
    assert [(each.question, each.id) for each in problems] == [
        ("nothing", "survey.no_question"), ("level", "survey.no_level"), ("pick", "survey.one_only"),
    ]  # fmt: skip
    assert all(each.text.isprintable() for each in problems)


@pytest.mark.parametrize("text", ["", "  ", "　", "N/A", "無回答", "no answer"])
def test_no_answer_is_missing(text: str) -> None:
    values, problems = read_values(SURVEY, {"level": [text], "words": ["x"]})
    assert (values, problems) == ({"words": "x"}, [])


def test_an_option_may_be_called_no_answer() -> None:
    survey = Survey("S", questions=[Question("q", "choice", "?", options={"none": "N/A", "some": "some"})])
    assert read_values(survey, {"q": ["n/a"]}) == ({"q": "none"}, [])


def test_a_required_question_and_an_empty_answer() -> None:
    required = Survey("S", questions=[Question("q", "text", "?", required=True), Question("r", "text", "?")])
    assert [each.id for each in read_values(required, {"r": ["x"]})[1]] == ["survey.required"]
    assert [each.id for each in read_values(SURVEY, {})[1]] == ["survey.nothing_answered"]


def test_words_for_kinds_of_participants() -> None:
    options = {"master": {"en": "master's student", "ja": "修士課程"}, "staff": "staff"}
    survey = Survey("S", questions=[Question("kind", "choice", "?", options=options, options_from="kinds")])
    for word in ("M2", "修士", "master’s student", "ＭＡＳＴＥＲ"):
        assert read_values(survey, {"kind": [word]}) == ({"kind": "master"}, [])
    assert read_values(survey, {"kind": ["D1"]})[0] == {}


VALUES = st.fixed_dictionaries(
    {},
    optional={
        "level": st.integers(1, 5),
        "pick": st.sampled_from(["a", "b", "4"]),
        "many": st.sets(st.sampled_from(["a", "b", "c"]), min_size=1).map(lambda found: tuple(sorted(found))),
        "size": st.one_of(st.integers(-5, 10**6), st.floats(-5, 1e6).filter(lambda x: not x.is_integer())),
        "words": st.text(max_size=40),
    },
).filter(bool)


@given(VALUES)
def test_what_was_read_is_read_again_the_same(values: dict[str, Value]) -> None:
    """From a file, from a form, and as often as one likes."""
    stored = json.loads(json.dumps(to_stored(values)))
    first, problems = read_stored(SURVEY, stored)
    assert [each.id for each in problems] in ([], ["survey.nothing_answered"])
    if "words" not in values:
        assert first == values
    if first:
        assert read_stored(SURVEY, json.loads(json.dumps(to_stored(first)))) == (first, [])


@given(
    st.dictionaries(
        st.one_of(st.sampled_from([question.id for question in SURVEY.questions]), st.text(max_size=8)),
        st.lists(st.text(max_size=30) | st.from_regex(r"\A[0-9０-９.,;/()（） A-Da-z難-]{0,12}\Z"), max_size=3),
    )
)
def test_nothing_that_does_not_fit_gets_through(raw: dict[str, list[str]]) -> None:
    values, problems = read_values(SURVEY, raw)
    assert all(isinstance(each.text, str) for each in problems)
    for question in SURVEY.questions:
        value = values.get(question.id)
        if value is None:
            continue
        if question.kind == "rating":
            assert type(value) is int and 1 <= value <= question.levels
        elif question.kind == "choice":
            assert value in question.options
        elif question.kind == "choices":
            assert (
                isinstance(value, tuple)
                and value
                and list(value) == [each for each in question.options if each in value]
            )
        elif question.kind == "number":
            assert isinstance(value, (int, float)) and math.isfinite(value) and -5 <= value <= 1e6
        else:
            assert isinstance(value, str) and 0 < len(value) <= 50
            assert all(letter.isprintable() or letter in "\n\t" for letter in value)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["level", "many", "x"]), inner, max_size=3)
        ),
    )
)
def test_any_json_is_an_answer_or_a_problem(value: object) -> None:
    values, problems = read_stored(SURVEY, value)
    assert values or problems


def test_signs_alone_are_no_choice() -> None:
    """Read in one pass, however many they are."""
    values, problems = read_values(SURVEY, {"many": [";" * 10_000]})
    assert not values and [problem.id for problem in problems] == ["survey.nothing_answered"]


def test_blanks_of_other_widths_are_blanks() -> None:
    assert read("words", "今日は\u3000楽しかった\u00a0。") == "今日は 楽しかった 。"
