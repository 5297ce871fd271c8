"""An event with a survey in a folder, for tests."""

from pathlib import Path

from hackathon.config.survey import Question, Survey
from hackathon.survey.collection import Collection, find_collection
from hackathon.survey.records import Value

EVENT = """\
title: {ja: テストの催し, en: Test event}
shared: shared
dates: [2019-01-24, 2019-01-25]
teams:
  - {name: オーロラ, members: [{user: root, kind: master}, {user: bob, kind: doctoral}]}
  - {name: Boreas, members: [{user: carol, kind: master}]}
  - {name: Absent, took_part: false, members: [{user: zoe, kind: staff}]}
tutors: [{user: daemon}]
"""
SURVEY = """\
title: {ja: アンケート, en: Survey}
questions:
  - id: level
    kind: rating
    text: {ja: 難しさ, en: Difficulty}
    low: {ja: 易, en: easy}
    high: {ja: 難, en: difficult}
    target: middle
  - {id: team, kind: choice, text: {ja: チーム, en: Team}, options_from: teams}
  - {id: kind, kind: choice, text: {ja: 身分, en: You are}, options_from: kinds}
  - id: used
    kind: choices
    text: {ja: 使ったもの, en: Used}
    options: {torch: PyTorch, tf: {ja: "TensorFlow, Keras", en: "TensorFlow, Keras"}, other: {ja: その他, en: another}}
  - {id: size, kind: number, text: {ja: データ量, en: Data}, unit: GB, least: 0, most: 1000}
  - {id: words, kind: text, text: {ja: 自由意見, en: Comments}, longest: 200}
breakdowns: [team]
"""


def make_event(folder: Path, name: str = "after", survey: str = SURVEY) -> Collection:
    """Return a draft of a survey in an event of its own."""
    (folder / "shared").mkdir(parents=True)
    (folder / "surveys" / name).mkdir(parents=True)
    (folder / "hackathon.yaml").write_text(EVENT, encoding="utf-8")
    (folder / "surveys" / name / "survey.yaml").write_text(survey, encoding="utf-8")
    return find_collection(name, folder)


def plain_survey() -> Survey:
    """Return a questionnaire of every kind of question."""
    return Survey(
        "S",
        questions=[
            Question("level", "rating", "?", low="easy", high={"en": "difficult", "ja": "難"}, target="middle"),
            Question(
                "pick", "choice", "?", options={"a": {"en": "Apple", "ja": "りんご"}, "b": "Bread, butter", "4": "x"}
            ),
            Question("many", "choices", "?", options={"a": "A; B", "b": "B", "c": {"en": "C, D", "ja": "四"}}),
            Question("size", "number", "?", least=-5, most=1e6, unit={"en": "GB", "ja": "ギガバイト"}),
            Question("words", "text", "?", longest=50),
        ],
    )


ANSWER: dict[str, Value] = {"level": 4, "team": "オーロラ", "used": ("torch", "tf"), "size": 2.5, "words": "よい"}
