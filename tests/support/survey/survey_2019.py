"""The survey of the first event, as published: counts per level of four ratings, eleven respondents."""

from dataclasses import replace

from hackathon.config.survey import Question, Survey
from hackathon.survey.records import Answer, Sentence, SurveySummary
from hackathon.survey.summary import summarise

COUNTS = {
    "length": (1, 1, 7, 2, 0),
    "lecture": (0, 0, 9, 2, 0),
    "handouts": (0, 2, 6, 3, 0),
    "satisfaction": (1, 1, 0, 3, 6),
}
MEANS = {"length": "2.9", "lecture": "3.2", "handouts": "3.1", "satisfaction": "4.1"}
QUESTIONS = [
    Question("length", "rating", {"ja": "講習会時間", "en": "Length of the event"}, low={"ja": "短", "en": "short"},
             high={"ja": "長", "en": "long"}, target="middle"),
    Question("lecture", "rating", {"ja": "講習会講義内容", "en": "Lectures"}, low={"ja": "易", "en": "easy"},
             high={"ja": "難", "en": "difficult"}, target="middle"),
    Question("handouts", "rating", {"ja": "配布資料内容", "en": "Handouts"}, low={"ja": "易", "en": "easy"},
             high={"ja": "難", "en": "difficult"}, target="middle"),
    Question("satisfaction", "rating", {"ja": "満足度", "en": "Satisfaction"}, low={"ja": "不満", "en": "dissatisfied"},
             high={"ja": "満足", "en": "satisfied"}, target="high"),
    Question("comments", "text", {"ja": "自由意見", "en": "Free comments"}),
]  # fmt: skip
SURVEY = Survey({"ja": "ハッカソンのアンケート", "en": "Questionnaire of the hackathon"}, questions=QUESTIONS)
KINDS = Question(
    "kind", "choice", {"ja": "身分", "en": "You are"},
    options={"undergraduate": {"ja": "学部学生", "en": "undergraduate"}, "master": {"ja": "修士課程", "en": "master's"},
             "doctoral": {"ja": "博士課程", "en": "doctoral"}, "staff": {"ja": "大学教職員", "en": "staff"}},
)  # fmt: skip


def answers() -> list[Answer]:
    columns = {
        each: [level for level, count in enumerate(counts, 1) for _ in range(count)] for each, counts in COUNTS.items()
    }
    kinds = ["undergraduate", *["master"] * 5, *["doctoral"] * 4, "staff"]
    return [Answer({**{each: levels[at] for each, levels in columns.items()}, "kind": kinds[at]}) for at in range(11)]


def summary(*sentences: Sentence, kinds: bool = False) -> SurveySummary:
    """Return the summary of the first event's survey; `kinds`: as if kinds of participants had been asked for."""
    survey = replace(SURVEY, questions=[*QUESTIONS, KINDS], breakdowns=["kind"]) if kinds else SURVEY
    texts = {"comments": sentences} if sentences else None
    return summarise("after", survey, answers(), invited=11, closed=True, texts=texts)
