"""A summary as tables: on a terminal, in Markdown, CSV and JSON, beside another one, and from the command line."""

import csv
import io
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hackathon.cli.main import run
from hackathon.config.survey import Question, Survey
from hackathon.survey import comparison, exchange
from hackathon.survey.collection import Collection, find_collection
from hackathon.survey.records import Answer, Sentence, SurveySummary
from hackathon.survey.statistics import wilson
from hackathon.survey.summary import summarise
from hackathon.survey.tables import comma_separated, escaped, markdown, tables, text
from hackathon.text.columns import aligned, width, wrapped
from hackathon.text.errors import RequestError
from hackathon.text.messages import set_language
from support.survey.survey_2019 import COUNTS, MEANS, answers, summary

HOSTILE = [
    "=cmd|' /C calc'!A0", "+1", "-1", "@SUM(A1)", "\t=1", "＝1", "a|b\n| c |", "<script>alert(1)</script>", "`x`",
    "[a](http://b)", "# head", "1. one", "- item", "www.example.org", "x@y.org", "\x1b[31mred\u202e", "&lt;", "**b**",
]  # fmt: skip


@pytest.mark.parametrize("language", ["en", "ja"])
def test_the_first_event_on_a_terminal(language: str) -> None:
    set_language(language)
    shown = text(tables(summary(Sentence("とても有意義だった。", ("thanks",)), kinds=True)))
    lines = shown.splitlines()
    assert max(map(width, lines)) <= 80
    for question, (name, counts) in zip(summary().survey.questions, COUNTS.items(), strict=False):
        assert isinstance(question.text, dict)
        line = next(line for line in lines if line.startswith(question.text[language]))
        assert line.split()[-12:-5] == [*map(str, counts), "11", "0"]
        assert line.split()[-1] == MEANS[name]
    assert "7: 64 % (35–85)" in shown
    assert {"en": "11 of 11 answered (100 %)", "ja": "11 人中 11 人が回答（100 %）"}[language] in lines
    assert "とても有意義だった。" in shown
    # more answers than people asked: no share of those is told
    crowded = replace(summary(), invited=1)
    assert crowded.response_rate is None
    said = text(tables(crowded))
    few = {
        "en": "11 answers; invited according to the event: 1",
        "ja": "回答 11 件（イベントの記載による対象者は 1 人）",
    }
    assert "1100" not in said and few[language] in said
    # of four kinds only the masters are five
    assert {"en": "master's", "ja": "修士課程"}[language] in shown
    assert {"en": "undergraduate", "ja": "学部学生"}[language] not in shown


def test_columns_line_up_where_letters_are_wide() -> None:
    rows = [("設問", "数", "n"), ("講習会時間", "1", "11"), ("a", "22", "3")]
    lines = aligned(rows, 80)
    assert len({width(line) for line in lines}) == 1
    assert lines == ["設問        数   n", "講習会時間   1  11", "a           22   3"]


@given(st.text(alphabet="a 漢字、。(x)\u0301ー", max_size=80), st.integers(4, 30))
def test_wrapped_lines_fit_and_lose_nothing(line: str, columns: int) -> None:
    found = wrapped(line, columns)
    assert all(width(each) <= columns for each in found)
    assert "".join("".join(found).split()) == "".join(line.split())


def hostile_summary() -> SurveySummary:
    questions = [
        Question("q", "rating", HOSTILE[0], target="high", low=HOSTILE[6], high=HOSTILE[7]),
        Question("c", "choices", HOSTILE[10], options={str(at): each for at, each in enumerate(HOSTILE)}),
        Question("t", "text", HOSTILE[8]),
    ]
    survey = Survey(HOSTILE[9], questions=questions)
    some = [Answer({"q": 3, "c": ("0", "1")})] * 6
    sentences = [Sentence(each, (HOSTILE[0],)) for each in HOSTILE]
    return summarise("after", survey, some, invited=None, closed=True, texts={"t": sentences})


def test_no_cell_of_csv_is_a_formula_and_numbers_are_numbers() -> None:
    rows = list(csv.DictReader(io.StringIO(comma_separated(hostile_summary()))))
    for row in rows:
        for name, cell in row.items():
            if name in ("count", "n", "missing", "median", "mean", "quartile_1", "quartile_3", "level"):
                continue
            assert not re.match(r"\s*[=+\-@＝＋－＠\t\r]", cell), (name, cell)
            assert "\x1b" not in cell
    ratings = [row for row in rows if row["kind"] == "rating"]
    assert [row["count"] for row in ratings] == ["0", "0", "6", "0", "0"]
    assert {(row["n"], row["missing"], float(row["mean"])) for row in ratings} == {("6", "0", 3.0)}
    assert [row["label"] for row in rows if row["kind"] == "text"][1] == "'+1"


def test_markdown_shows_just_the_letters() -> None:
    made = markdown(tables(hostile_summary()))
    assert "\\<script\\>alert" in made
    assert "\x1b" not in made
    for line in made.splitlines():
        bare = re.sub(r"\\.", "", line)
        assert not re.search(r"[`<\[]", bare)
        assert bare.count("|") in (0, 4, 7, 12), line
    for each in HOSTILE:
        assert not re.match(r"(#|[-+*=] |\d+[.)] |>)", escaped(each))
    assert escaped("1. one") == "1\\. one"
    assert (escaped("3.5 h"), escaped("-1"), escaped("- 1"), escaped("---")) == ("3.5 h", "-1", "\\- 1", "\\---")


def test_a_terminal_gets_no_control_letters() -> None:
    shown = text(tables(hostile_summary()))
    assert shown.replace("\n", "").isprintable()


def test_what_is_not_told_is_named_and_has_no_number() -> None:
    set_language("en")
    made = exchange.to_json(summary(kinds=True))
    kind = next(each for each in made["items"] if each["question"]["id"] == "kind")
    assert {name: value for name, value in kind.items() if name != "question"} == {"shown": False}
    assert [(each["value"], each["n"]) for each in made["breakdowns"][0]["groups"]] == [("master", 5)]
    few = summarise("after", summary().survey, answers()[:4], invited=11, closed=True)
    shown = text(tables(few))
    assert "Fewer than 5 answers" in shown
    assert not re.search(r"\d\.\d", shown)
    assert all(each["shown"] is False for each in exchange.to_json(few)["items"])
    assert len(comma_separated(few).splitlines()) == 1


def test_shares_of_several_choices_are_explained() -> None:
    set_language("en")
    question = Question("q", "choices", "Why?", options={"a": "A", "b": "B"})
    found = summarise(
        "after", Survey("S", questions=[question]), [Answer({"q": ("a", "b")})] * 5, invited=None, closed=True
    )
    shown = text(tables(found))
    assert shown.count("100 %") == 3
    assert "more than 100 %" in " ".join(shown.split())


def test_the_organisers_own_view_says_so_everywhere() -> None:
    set_language("en")
    private = replace(summary(), private=True, closed=False)
    assert "NOT FOR PUBLICATION" in text(tables(private))
    assert "NOT FOR PUBLICATION" in markdown(tables(private))
    assert exchange.to_json(private)["publishable"] is False
    assert {row["private"] for row in csv.DictReader(io.StringIO(comma_separated(private)))} == {"yes"}


def test_a_summary_comes_back_from_json(tmp_path: Path) -> None:
    questions = [*summary().survey.questions, Question("h", "number", "Hours"),
                 Question("c", "choices", "Why", options={"a": "A", "b": "B"})]  # fmt: skip
    some = [Answer({**each.values, "h": at * 1.5, "c": ("a", "b")}) for at, each in enumerate(answers())]
    made = summarise("after", replace(summary().survey, questions=questions), some, invited=12, closed=True)
    path = tmp_path / "after.json"
    path.write_text(json.dumps(exchange.to_json(made), allow_nan=False), encoding="utf-8")
    back = exchange.read_summary(path)
    assert back.items == made.items
    assert (back.name, back.n, back.invited, back.private) == ("after", 11, 12, False)


@pytest.mark.parametrize(
    ("change", "identifier"),
    [
        (None, "survey_summary.no_summary"),
        ({"schema_version": 2}, "survey_summary.other_version"),
        ({"items": 3}, "survey_summary.no_summary"),
        ({"items": [3]}, "survey_summary.bad_summary"),
        ({"n": -1}, "survey_summary.bad_summary"),
        ({"n": True}, "survey_summary.bad_summary"),
        ({"counts": [10**9, 0, 0, 0, 0]}, "survey_summary.bad_summary"),
        ({"counts": [1, 2]}, "survey_summary.bad_summary"),
        ({"question": {"id": "x"}}, "survey_summary.bad_summary"),
        ({"question": {"id": "x", "kind": "number"}, "mean": 10**400}, "survey_summary.bad_summary"),
    ],
)
def test_a_damaged_summary_is_an_error(tmp_path: Path, change: dict[str, Any] | None, identifier: str) -> None:
    made = exchange.to_json(summary())
    for name, value in (change or {}).items():
        (made["items"][0] if name in ("counts", "question", "mean") else made)[name] = value
    path = tmp_path / "after.json"
    path.write_text(json.dumps(made) if change else "[1", encoding="utf-8")
    with pytest.raises(RequestError) as caught:
        exchange.read_summary(path)
    assert caught.value.id == identifier
    assert str(path) in str(caught.value)


def test_a_difference_of_shares_agrees_with_published_values() -> None:
    """Newcombe, Statistics in Medicine 17 (1998), 873-890, table II, method 10."""
    for one, of_one, other, of_other, low, high in (
        (48, 80, 56, 70, 0.0524, 0.3339), (3, 10, 9, 10, 0.1705, 0.8090), (0, 10, 10, 10, 0.6075, 1.0),
    ):  # fmt: skip
        found = comparison.difference(wilson(one, of_one), wilson(other, of_other))
        assert (round(found.low, 4), round(found.high, 4)) == (low, high)


def other_summary(**changes: Any) -> SurveySummary:
    questions = {question.id: question for question in summary().survey.questions}
    questions["lecture"] = replace(questions["lecture"], target="high")
    questions["handouts"] = replace(questions["handouts"], levels=4)
    questions["length"] = replace(questions["length"], text="How long?")
    del questions["comments"]
    questions["more"] = Question("more", "rating", "More", target="high")
    questions["why"] = Question("why", "choice", "Why", options={"a": "A"})
    survey = Survey("Other", questions=list(questions.values()))
    some = [Answer({"length": 4, "lecture": 2, "handouts": 2, "satisfaction": 5, "more": 1, "why": "a"})] * 20
    return replace(summarise("other", survey, some, invited=None, closed=True), **changes)


def test_what_is_asked_differently_is_told_and_not_compared() -> None:
    set_language("en")
    new = summary(kinds=True)
    pairs = {pair.question.id: pair for pair in comparison.compare(other_summary(), new)}
    assert {name: pair.why for name, pair in pairs.items()} == {
        "length": "", "lecture": "target", "handouts": "levels", "satisfaction": "", "kind": "only_new",
        "more": "only_old", "why": "only_old",
    }  # fmt: skip
    assert pairs["length"].reworded
    assert not pairs["satisfaction"].reworded
    length = pairs["length"].difference
    assert length is not None
    assert length.value == pytest.approx(7 / 11)
    assert length.low > 0.2
    shown = text(comparison.comparison_tables(other_summary(), new, list(pairs.values())))
    assert "another target" in shown
    assert "another number of levels" in shown
    assert "20 → 11" in shown
    assert "Newcombe" in shown
    assert max(map(width, shown.splitlines())) <= 80
    made = comparison.to_json(other_summary(), new, list(pairs.values()))
    assert json.loads(json.dumps(made, allow_nan=False))["old"]["n"] == 20
    lines = list(csv.DictReader(io.StringIO(comparison.comma_separated(list(pairs.values())))))
    assert [line["why_not"] for line in lines][:3] == ["", "target", "levels"]


def test_what_one_of_them_does_not_tell_is_not_compared() -> None:
    few = summarise("few", summary().survey, answers()[:3], invited=None, closed=True)
    assert {pair.why for pair in comparison.compare(few, summary())} == {"untold"}


@pytest.fixture
def survey(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Collection:
    """The first event's survey with a breakdown, open, with eleven answers."""
    import yaml

    folder = tmp_path / "event" / "surveys" / "after"
    folder.mkdir(parents=True, mode=0o700)
    (tmp_path / "event" / "hackathon.yaml").write_text("title: T\ndates: [2019-01-24]\n", encoding="utf-8")
    kinds = {"undergraduate": "U", "master": "M", "doctoral": "D", "staff": "S"}
    asked: list[dict[str, Any]] = [
        {"id": name, "kind": "rating", "text": name, "low": "l", "high": "h",
         "target": "high" if name == "satisfaction" else "middle"} for name in COUNTS
    ]  # fmt: skip
    asked += [{"id": "kind", "kind": "choice", "text": "kind", "options": kinds},
              {"id": "comments", "kind": "text", "text": "comments"}]  # fmt: skip
    content = {"title": "T", "invited": 11, "breakdowns": ["kind"], "questions": asked}
    (folder / "survey.yaml").write_text(yaml.safe_dump(content), encoding="utf-8")
    monkeypatch.chdir(tmp_path / "event")
    set_language("en")
    found = find_collection("after", tmp_path / "event")
    for number, (token, answer) in enumerate(zip(found.open(11), answers(), strict=True)):
        found.accept({**answer.values, "comments": f"Great {number}. I would like a Slack channel."}, token)
    return found


def output(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> tuple[str, str]:
    assert run(["survey", "summary", *words]) == code
    found = capsys.readouterr()
    return found.out, found.err


def test_an_open_survey_has_no_summary_but_for_the_organiser(
    survey: Collection, capsys: pytest.CaptureFixture[str]
) -> None:
    out, err = output(capsys, code=2)
    assert out == ""
    assert "not closed" in err
    assert "survey close after" in err
    out, _ = output(capsys, "--all")
    assert "NOT FOR PUBLICATION" in out
    assert "Great 3." in out
    assert not (survey.folder / "texts.yaml").exists()


def test_the_summary_of_a_closed_survey(survey: Collection, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    survey.close()
    out, err = output(capsys)
    for mean in MEANS.values():
        assert f" {mean}\n" in out
    assert "Great" not in out
    assert "texts.yaml" in err
    texts = survey.folder / "texts.yaml"
    texts.write_text(texts.read_text(encoding="utf-8").replace("reviewed: false", "reviewed: true"), encoding="utf-8")
    out, err = output(capsys)
    assert "- Great 3. [thanks]\n" in out
    assert "texts.yaml" not in err
    found = json.loads(output(capsys, "--format", "json")[0])
    assert (found["n"], found["invited"], found["publishable"], found["schema_version"]) == (11, 11, True, 1)
    assert [each["counts"] for each in found["items"][:4]] == [list(counts) for counts in COUNTS.values()]
    out, _ = output(capsys, "--by", "kind")
    assert "M " in out
    assert "Ratings" not in out
    assert "no breakdown by team" in output(capsys, "--by", "team", code=2)[1]
    output(capsys, "--format", "csv", "--to", "after.csv")
    assert Path("after.csv").read_bytes().startswith(b"\xef\xbb\xbfsurvey,")
    output(capsys, "--format", "json", "--to", "after.json")
    for other in ("after.json", str(tmp_path / "event")):
        assert "11 → 11" in output(capsys, "--compare", other)[0]
    assert output(capsys, "--compare", "after.json", "--by", "kind", code=2)[0] == ""
    assert "not a summary" in output(capsys, "--compare", "hackathon.yaml", code=2)[1]
    assert "after.csv/x" in output(capsys, "--to", "after.csv/x", code=1)[1]
    texts.write_text("reviewed: perhaps\n", encoding="utf-8")
    assert "texts.yaml:1" in output(capsys, code=2)[1]


def test_the_picture_of_a_closed_survey(survey: Collection, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("vl_convert")
    survey.close()
    _, err = output(capsys, "--plot", "after.svg")
    assert "after.svg" in err
    assert "satisfaction" in Path("after.svg").read_text(encoding="utf-8")
    output(capsys, "--plot", "after.pdf")
    assert Path("after.pdf").read_bytes().startswith(b"%PDF-")
    assert output(capsys, "--plot", "after.gif", code=2)[0] == ""


def test_a_word_wider_than_the_terminal_is_cut_and_line_ends_stay() -> None:
    assert wrapped("x" * 100_000, 80) == ["x" * 80] * 1250
    assert wrapped("\n" * 5000, 80) == [""] * 5001
    assert wrapped("日本語の文", 4) == ["日本", "語の", "文"]
