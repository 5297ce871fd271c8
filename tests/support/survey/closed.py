"""A closed survey with the counts of 2019 in an event's folder, made by the toolkit: opened, answered, closed."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import yaml

from hackathon.survey.collection import Collection
from hackathon.survey.texts import read_texts, write_texts
from hackathon.text.paths import shipped
from support.event_2019 import COUNTS

COMMENTS = (
    "とても有意義でした。メンターの方の知識に助けられました。",
    "エラーのときに「この部分のエラーだと思う」と専門家に言ってもらえたのがとても助かりました。",
    "参加者用の Slack チャンネルがほしいです。",
    "Could the next event be held between June and August? January is hard for students.",
)
KIND = {
    "id": "kind", "kind": "choice", "text": {"en": "You are", "ja": "身分"},
    "options": {"student": {"en": "student", "ja": "学生"}, "staff": {"en": "staff", "ja": "教職員"}},
}  # fmt: skip


def write_survey(
    folder: Path, name: str = "after", *, comments: Sequence[str] = COMMENTS, reviewed: bool = True, close: bool = True,
    students: int = 6, values: Mapping[str, object] | None = None,
) -> Path:  # fmt: skip
    """Write a survey of an event and its eleven answers, and return its folder.

    The first `students` of eleven are students, the others staff. `values` replace those of the questionnaire.
    """
    place = folder / "surveys" / name
    place.mkdir(parents=True)
    asked = yaml.safe_load(shipped("templates", "surveys", "hackathon.yaml").read_text("utf-8"))
    asked["questions"].append(KIND)
    asked["breakdowns"] = ["kind"]
    asked["invited"] = 11
    (place / "survey.yaml").write_text(yaml.safe_dump({**asked, **(values or {})}, allow_unicode=True), "utf-8")
    collection = Collection(place)
    tokens = collection.open(11)
    levels = {question: [level for level, count in enumerate(counts, 1) for _ in range(count)]
              for question, counts in COUNTS.items()}  # fmt: skip
    for number, token in enumerate(tokens):
        given: dict[str, int | str] = {question: its[number] for question, its in levels.items()}
        given["kind"] = "student" if number < students else "staff"
        if number < len(comments):
            given["comments"] = comments[number]
        collection.accept(given, token)
    if close:
        collection.close()
        made = write_texts(place, collection.survey, collection.answers())
        if made is not None and reviewed:
            made.write_text(made.read_text("utf-8").replace("reviewed: false", "reviewed: true"), "utf-8")
            found = read_texts(place, collection.survey)
            assert found is not None and found.reviewed
    return place
