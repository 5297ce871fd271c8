"""A survey before the event names the team and says so; names in free answers are marked; numbers stand in digits."""

import csv
import io
import json
from dataclasses import asdict
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from hackathon.cli.main import run
from hackathon.config.load import load_event, load_survey
from hackathon.config.survey import Survey
from hackathon.index.catalog import Catalog
from hackathon.survey.collection import Collection
from hackathon.survey.frozen import read_frozen, survey_digest
from hackathon.survey.publication import summary_of
from hackathon.survey.sentences import mentions
from hackathon.survey.texts import TEXTS_FILE, names_of, read_texts, write_texts
from hackathon.survey.values import plain_number, read_values
from hackathon.text.errors import RequestError
from hackathon.text.messages import speaking
from hackathon.text.paths import shipped
from hackathon.web.survey_form.form import fields_of
from hackathon.web.survey_form.offline import offline_page
from hackathon.web.survey_form.view import View
from hackathon.web.views.published_surveys import published, too_like, unfinished
from support.event_2019 import event_2019
from support.survey.closed import write_survey

SAID = {"en": "Not anonymous: the organisers and the tutors", "ja": "匿名ではありません。主催者とチューターが"}


@pytest.fixture
def before(tmp_path: Path) -> Collection:
    """The survey before the event of 2019, with the answers of two teams."""
    event_2019(tmp_path, shared=None)
    place = tmp_path / "surveys" / "before"
    place.mkdir(parents=True)
    (place / "survey.yaml").write_text(shipped("templates", "surveys", "before.yaml").read_text("utf-8"), "utf-8")
    collection = Collection(place)
    tokens = collection.open(2)
    given = {"team": "Aurora", "one_gpu": "works", "baseline": 900.5, "framework": ("pytorch", "other"),
             "wishes": "=1+1 と聞きたい"}  # fmt: skip
    collection.accept(given, tokens[0])
    collection.accept({"team": "ひので", "one_gpu": "no_model"}, tokens[1])
    return collection


def test_the_form_asks_team_and_baseline_and_says_that_it_is_not_anonymous(before: Collection) -> None:
    survey = before.survey
    kinds = {question.id: (question.kind, question.required) for question in survey.questions}
    assert kinds["team"] == ("choice", True) and kinds["baseline"] == ("number", False)
    assert not survey.anonymous and survey.breakdowns == []
    usual = load_survey(shipped("templates", "surveys", "hackathon.yaml"))
    for language, said in SAID.items():
        assert said in View(survey, "E").form(language, "")
        assert said not in View(usual, "E").form(language, "")
    page = offline_page("before", "x", survey, "E")
    assert all(said in page for said in SAID.values())
    with speaking("ja"):
        hints = {field.name: field.hints for field in fields_of(survey)}
    assert "0～100,000,000 の数" in hints["q-baseline"] and "0～1,000,000 の数" in hints["q-data_size"]


def test_nothing_of_it_is_ever_published(before: Collection, capsys: pytest.CaptureFixture[str],
                                         monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    folder = before.folder.parent.parent
    event = load_event(folder)
    assert unfinished(folder) == [], "nobody waits for it to close"
    before.close()
    write_survey(folder)
    source = Catalog(event=event, event_folder=folder)
    assert [each.name for each in published(source)] == ["after"] and too_like(folder) == {}
    with pytest.raises(RequestError) as caught:
        summary_of(Collection(before.folder))
    assert caught.value.id == "survey_summary.not_anonymous"
    monkeypatch.chdir(folder)
    assert run(["survey", "summary", "before", "--lang", "en"]) == 2
    assert "--answers" in capsys.readouterr().err
    assert run(["survey", "summary", "before", "--all", "--lang", "en"]) == 0
    assert not (before.folder / TEXTS_FILE).exists(), "there is nothing to review: it does not go out"
    capsys.readouterr()
    assert run(["survey", "summary", "before", "--answers", "--lang", "en"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [row["Team"] for row in rows] == ["Aurora", "ひので"]
    assert rows[0]["Training speed on one GPU (the baseline)"] == "900.5"
    assert rows[0]["Framework"] == "PyTorch; another" and rows[1]["Framework"] == ""
    assert rows[0]["What troubles you; what you want to ask a tutor"] == "'=1+1 と聞きたい", (
        "no spreadsheet computes it"
    )
    assert run(["survey", "summary", "after", "--answers", "--lang", "en"]) == 2
    said = capsys.readouterr()
    assert "anonymous" in said.err and said.out == ""


def test_a_questionnaire_that_was_opened_before_keeps_its_digest(tmp_path: Path) -> None:
    import hashlib

    survey = load_survey(shipped("templates", "surveys", "hackathon.yaml"))
    old = asdict(survey)
    del old["anonymous"], old["headline"]
    raw = json.dumps(old, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    digest = hashlib.sha256(raw.encode()).hexdigest()[:32]
    assert survey_digest(survey) == digest
    path = tmp_path / "open.json"
    path.write_text(json.dumps({"schema_version": 1, "digest": digest, "source": "", "shared": "", "survey": old}))
    found = read_frozen(path)
    assert found is not None and found.survey.anonymous
    assert survey_digest(Survey("T", anonymous=False)) != survey_digest(Survey("T"))


@pytest.mark.parametrize(
    ("number", "text"),
    [(1e6, "1,000,000"), (0, "0"), (0.0, "0"), (100, "100"), (1e-7, "0.0000001"), (2.50, "2.5"),
     (-3000.25, "-3,000.25"), (1e15, "1,000,000,000,000,000")],
)  # fmt: skip
def test_numbers_stand_in_digits(number: float, text: str) -> None:
    assert plain_number(number) == text


@given(st.floats(-1e12, 1e12).map(lambda value: round(value, 4)))
def test_digits_are_the_number(number: float) -> None:
    assert float(plain_number(number).replace(",", "")) == number


def test_a_wrong_number_is_told_in_digits(before: Collection) -> None:
    _, problems = read_values(before.survey, {"data_size": ["2000000"]})
    with speaking("en"):
        assert any("1,000,000" in problem.text and "e+" not in problem.text for problem in problems)


NAMES = {"name": ["Yamada Hanako", "佐藤 太郎", "Li"], "account": ["akari", "b02"], "team": ["Aurora", "ひので"]}


@pytest.mark.parametrize(
    ("sentence", "kinds"),
    [
        ("Hanako from our team helped.", ["name"]), ("佐藤さんに助けられました。", ["name"]),
        ("佐藤太郎さんと ｙａｍａｄａ さん", ["name", "name"]), ("ask akari or b02", ["account", "account"]),
        ("チームひのでの発表が良かった。", ["team"]), ("call 03-1234-5678", ["telephone"]),
        ("携帯は０９０−１２３４−５６７８です。", ["telephone"]), ("+81 90 1234 5678", ["telephone"]),
        ("tel:0312345678", ["telephone"]), ("mail me: a.b@example.ac.jp", ["mail"]),
        ("(045) 123-4567 まで", ["telephone"]),
    ],
)  # fmt: skip
def test_who_can_be_recognised_is_seen(sentence: str, kinds: list[str]) -> None:
    found = mentions(sentence, NAMES)
    assert sorted({kind for kind, _ in found}) == sorted(set(kinds)), found


@pytest.mark.parametrize(
    "sentence",
    [
        "とても有意義でした。", "lr 0.0001 to 0.00025 in 10000 steps", "2019-01-24 と 2019-01-25", "10:00-16:00 は長い",
        "accuracy 0.978123456789", "Line 1234567890 of the log", "Libraries were missing.", "b021 and akariya",
        "auroral",
        "RTX 3090, 4090 and 80 GB", "01-24-2019", "the likely cause", "ranks 0 1 2 3 4 5 6 7 8 9 10 11", "",
        "loss 0.5, 0.25, 0.125, 0.0625", "ノード a017 から a032 まで", "job 482310.pbs", "192.168.10.21:29500",
        "0000012345 samples",
    ],
)  # fmt: skip
def test_other_words_and_numbers_are_nobodys(sentence: str) -> None:
    assert mentions(sentence, NAMES) == []


def test_what_tells_of_somebody_is_marked_for_who_reviews(tmp_path: Path, capsys: pytest.CaptureFixture[str],
                                                          monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    event_2019(tmp_path, shared=None)
    place = write_survey(
        tmp_path, reviewed=False, comments=("Tamaki helped us a lot.", "03-1234-5678 に電話を", "Slack がほしいです。")
    )
    (place / TEXTS_FILE).unlink()
    monkeypatch.chdir(tmp_path)
    assert run(["survey", "summary", "after", "--lang", "en"]) == 0
    said = capsys.readouterr().err
    assert "address: 2; they are marked in" in said
    text = (place / TEXTS_FILE).read_text("utf-8")
    lines = text.splitlines()
    marked = {lines[number + 1].strip(): line for number, line in enumerate(lines) if line.startswith("  # check:")}
    assert len(marked) == 2
    assert "name Tamaki" in marked['- text: "Tamaki helped us a lot."']
    assert "telephone number 03-1234-5678" in marked['- text: "03-1234-5678 に電話を"']
    found = read_texts(place, Collection(place).survey)
    assert found is not None and len(found.sentences["comments"]) == 3, "the marks are only remarks"
    (place / TEXTS_FILE).write_text(text.replace("reviewed: false", "reviewed: true"), "utf-8")
    assert run(["survey", "summary", "after", "--lang", "en"]) == 0
    assert "reviewed sentences still contain" in capsys.readouterr().err
    document = yaml.safe_load(text)
    kept = [each for each in document["questions"]["comments"] if "Slack" in each["text"]]
    (place / TEXTS_FILE).write_text(
        yaml.safe_dump({"reviewed": True, "questions": {"comments": kept}}, allow_unicode=True), "utf-8"
    )
    assert run(["survey", "summary", "after", "--lang", "en"]) == 0
    assert capsys.readouterr().err == ""


def test_a_name_that_steers_a_terminal_stays_a_remark(tmp_path: Path) -> None:
    event_2019(tmp_path, shared=None)
    place = write_survey(tmp_path, reviewed=False, comments=("with Eve\x1b[31m\n- text: in",))
    (place / TEXTS_FILE).unlink()
    survey = Collection(place).survey
    names = {**names_of(load_event(tmp_path)), "name": ["Eve\x1b[31m"]}
    write_texts(place, survey, Collection(place).answers(), names)
    assert "\x1b" not in (place / TEXTS_FILE).read_text("utf-8")
    assert read_texts(place, survey) is not None
