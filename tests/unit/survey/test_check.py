"""What is refused in survey.yaml, with line and key path; and the questionnaires that are shipped."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hackathon.config.load import load_survey
from hackathon.config.problems import ConfigError
from hackathon.survey.create import templates
from hackathon.text.errors import HackathonError
from hackathon.text.messages import LANGUAGES, speaking
from hackathon.text.paths import shipped

BAD = """\
title: ''
languages: [ja, ja]
questions:
- {id: a, kind: rating, text: x, levels: 1, low: a, high: Ａ, options: {a: b}}
- {id: A, kind: choice, text: {}, options_from: teams, options: {a: x, b: x}}
- {id: token, kind: choice, text: x}
- {id: 1a, kind: number, least: 3, most: 2, text: x, longst: 3}
- {id: c, kind: choices, text: x, options: {a: x, ' b': Ａ}}
- {id: d, kind: rating, text: x, target: midle}
- {id: e, kind: text, text: x, unit: GB, longest: 1000000}
breakdowns: [c, zz, a, token, token]
smallest_group: 1
tags: {t: ['']}
"""
WANTED = {
    (1, "title", "no_words"), (2, "languages", "languages"), (4, "questions[1].options", "other_kind"),
    (4, "questions[1]", "no_target"), (4, "questions[1].levels", "levels"), (4, "questions[1].high", "same_ends"),
    (5, "questions[2].id", "id_twice"), (5, "questions[2].text", "no_words"),
    (5, "questions[2].options_from", "options_both"), (6, "questions[3].id", "id_reserved"),
    (6, "questions[3]", "no_options"), (7, "questions[4].longst", "unknown_key_near"),
    (7, "questions[4].id", "id_signs"), (7, "questions[4].least", "parameter_range"),
    (8, 'questions[5].options." b"', "option_signs"), (8, 'questions[5].options." b"', "option_twice"),
    (9, "questions[6].target", "choice_near"), (9, "questions[6]", "no_end"),
    (10, "questions[7].unit", "other_kind"), (10, "questions[7].longest", "too_large"),
    (11, "breakdowns[1]", "breakdown_kind"), (11, "breakdowns[2]", "no_breakdown"),
    (11, "breakdowns[3]", "breakdown_kind"), (11, "breakdowns[5]", "breakdown_twice"),
    (12, "smallest_group", "smallest_group"), (13, "tags.t", "tag"),
}  # fmt: skip


def test_every_problem_with_its_line_and_key(tmp_path: Path) -> None:
    path = tmp_path / "survey.yaml"
    path.write_text(BAD, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load_survey(path)
    found = {(each.line, each.key, each.id.partition(".")[2]) for each in caught.value.problems}
    assert found == WANTED
    for language in LANGUAGES:
        with speaking(language):
            assert all(each.text for each in caught.value.problems)


def test_a_questionnaire_without_questions(tmp_path: Path) -> None:
    path = tmp_path / "survey.yaml"
    path.write_text("title: x\nlanguages: []\n")
    with pytest.raises(ConfigError) as caught:
        load_survey(path)
    assert {each.id for each in caught.value.problems} == {"survey_check.no_questions", "survey_check.languages"}


@given(st.text(max_size=12), st.text(max_size=12), st.text(max_size=6))
def test_any_words_are_taken_or_refused(value: str, label: str, identifier: str) -> None:
    """A questionnaire that is taken can be answered: each option by its value, and by its label."""
    import json

    from hackathon.config.survey import Survey
    from hackathon.config.validate import validate
    from hackathon.config.yaml import parse_yaml
    from hackathon.survey.values import read_values

    question = {"id": identifier, "kind": "choice", "text": "?", "options": {value: label, "other": "Another one"}}
    raw = json.dumps({"title": "T", "questions": [question]}).encode()
    try:
        survey: Survey = validate(Survey, parse_yaml(raw, Path("survey.yaml")))
    except HackathonError:
        return
    assert read_values(survey, {identifier: [value]}) == ({identifier: value}, [])
    assert read_values(survey, {identifier: [label]}) == ({identifier: value}, [])


@pytest.mark.parametrize("name", ["hackathon", "before", "tutors"])
def test_shipped_questionnaires_are_in_both_languages(name: str) -> None:
    assert name in templates()
    survey = load_survey(shipped("templates", "surveys", f"{name}.yaml"))
    texts = [survey.title, survey.introduction, survey.thanks]
    for question in survey.questions:
        texts += [question.text, *question.options.values(), *(each for each in (question.low, question.high) if each)]
    assert all(isinstance(text, str) or set(text) == {"en", "ja"} for text in texts)
    assert (survey.audience == "tutors") == (name == "tutors")
    assert survey.smallest_group >= 5


def test_the_questionnaire_of_2019() -> None:
    survey = load_survey(shipped("templates", "surveys", "hackathon.yaml"))
    assert [
        (each.id, each.kind, each.text["ja"] if isinstance(each.text, dict) else "", each.levels, each.target)
        for each in survey.questions
    ] == [
        ("length", "rating", "講習会時間", 5, "middle"),
        ("lecture", "rating", "講習会講義内容", 5, "middle"),
        ("handouts", "rating", "配布資料内容", 5, "middle"),
        ("satisfaction", "rating", "満足度", 5, "high"),
        ("comments", "text", "自由意見", 5, None),
    ]
    ends = [(each.low, each.high) for each in survey.questions[:4]]
    assert ends[0] == ({"ja": "短い", "en": "short"}, {"ja": "長い", "en": "long"})
    assert ends[1] == ends[2] == ({"ja": "易しい", "en": "easy"}, {"ja": "難しい", "en": "difficult"})
    assert ends[3] == ({"ja": "不満", "en": "dissatisfied"}, {"ja": "満足", "en": "satisfied"})
