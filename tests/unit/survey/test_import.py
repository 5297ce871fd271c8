"""Answers from files of other programs: each row once, nothing of who and when, and every problem with its place."""

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hackathon.cli.survey.import_ import command
from hackathon.survey.collection import Collection
from hackathon.survey.importing import Imported, import_answers
from hackathon.survey.records import Value
from hackathon.text.errors import RequestError
from support.survey.event import make_event

GOOGLE = [
    ["タイムスタンプ", "メールアドレス", "難しさ", "チーム", "身分", "使ったもの", "データ量", "自由意見"],
    ["2019/01/25 17:20:01", "a@example.org", "4 (難)", "オーロラ", "修士課程", "PyTorch;TensorFlow, Keras", "２.５",
     "よい。"],
    ["2019/01/25 17:21:30", "b@example.org", "３", "Boreas", "博士課程", "その他", "10 GB", "=HYPERLINK(\"http://x\")\n2行目"],
    ["2019/01/25 17:22:00", "c@example.org", "", "", "", "", "", ""],
]  # fmt: skip
GOOGLE_VALUES: list[dict[str, Value]] = [
    {"level": 3, "team": "Boreas", "kind": "doctoral", "used": ("other",), "size": 10,
     "words": '=HYPERLINK("http://x")\n2行目'},
    {"level": 4, "team": "オーロラ", "kind": "master", "used": ("torch", "tf"), "size": 2.5, "words": "よい。"},
]  # fmt: skip
LIMESURVEY = [
    ["id", "submitdate", "lastpage", "startlanguage", "seed", "level", "team", "kind",
     "used[torch]", "used[SQ002]", "used[other]", "size", "words"],
    ["1", "2019-01-25 17:20:01", "1", "ja", "99", "A4", "オーロラ", "master", "Y", "Y", "", "2.5", "よい。"],
    ["2", "2019-01-25 17:21:30", "1", "ja", "98", "3", "Boreas", "doctoral", "", "", "Y", "10",
     '=HYPERLINK("http://x")\n2行目'],
]  # fmt: skip
LIMESURVEY_TEXTS = [
    ["Response ID", "Date submitted", "level. Difficulty", "Team", "You are:", "Used [PyTorch]",
     "Used [TensorFlow, Keras]", "Used [another]", "Data", "Comments"],
    ["1", "2019-01-25", "4", "オーロラ", "master's student", "Yes", "Yes", "No", "2.5", "よい。"],
    ["2", "2019-01-25", "3", "Boreas", "doctoral student", "No", "No", "Yes", "10", '=HYPERLINK("http://x")\n2行目'],
]  # fmt: skip


def table(rows: Sequence[Sequence[str]], delimiter: str = ",", quoting: int = csv.QUOTE_MINIMAL) -> str:
    """Return rows as CSV."""
    stream = io.StringIO()
    csv.writer(stream, delimiter=delimiter, quoting=quoting).writerows(rows)  # type: ignore[arg-type]
    return stream.getvalue()


@pytest.fixture
def survey(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Collection:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache"))
    monkeypatch.setenv("HACKATHON_LANG", "en")
    made = make_event(tmp_path / "event")
    made.open(0)
    return made


def take(
    survey: Collection, text: str | bytes, encoding: str = "utf-8", name: str = "a.csv", **options: object
) -> Imported:
    """Import one file with this text."""
    path = survey.event_folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode(encoding))
    return import_answers(survey, [path], **options)  # type: ignore[arg-type]


def values_of(survey: Collection) -> list[dict[str, Value]]:
    """Return the answers that count, by level."""
    return sorted((dict(each.values) for each in survey.answers()), key=lambda values: str(values.get("level")))


def told(found: Imported) -> list[tuple[int | None, str, str]]:
    """Return line, column and message of each problem."""
    return [(each.line, each.column, each.id.partition(".")[2]) for each in found.problems]


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp932", "utf-16", "euc_jp"])
@pytest.mark.parametrize("rows", [GOOGLE, LIMESURVEY, LIMESURVEY_TEXTS], ids=["google", "limesurvey", "full-texts"])
def test_files_of_other_programs(survey: Collection, rows: list[list[str]], encoding: str, delimiter: str) -> None:
    found = take(survey, table(rows, delimiter, csv.QUOTE_ALL if delimiter == ";" else csv.QUOTE_MINIMAL), encoding)
    assert (found.problems, found.counted, found.blank) == ([], 2, len(rows) - 3)
    assert values_of(survey) == GOOGLE_VALUES
    stored = "".join(path.read_text() for path in survey.imports_folder.iterdir())
    assert not any(word in stored for word in ("example.org", "2019-", "2019/", "17:2"))
    survey.close()
    assert values_of(survey) == GOOGLE_VALUES
    kept = "".join(path.read_text() for path in survey.folder.rglob("*") if path.is_file())
    assert "example.org" not in kept and "rows" not in kept and not (survey.folder / "import-key").exists()


def test_the_same_export_counts_once(survey: Collection) -> None:
    assert take(survey, table(GOOGLE)).counted == 2
    again = take(survey, table(GOOGLE, ";"), "cp932", "renamed.csv")
    assert (again.counted, again.known) == (0, 2)
    later = [*GOOGLE, ["2019/01/25 18:00:00", "d@example.org", "5", "", "", "", "", ""]]
    grown = take(survey, table(later))
    assert (grown.counted, grown.known) == (1, 2)
    assert len(survey.answers()) == 3


def test_equal_rows(survey: Collection) -> None:
    """With times they are one answer; without anything that tells who, they are as many people as there are rows."""
    with_times = take(survey, table([*GOOGLE[:2], GOOGLE[1]]))
    assert (with_times.counted, with_times.known) == (1, 1)
    heads = ["level", "team", "kind", "used", "size", "words"]
    equal = table([heads, *[["3", "", "", "", "", ""]] * 3])
    assert take(survey, equal).counted == 3
    assert (take(survey, equal).counted, take(survey, equal).known) == (0, 3)
    assert take(survey, table([heads, *[["3", "", "", "", "", ""]] * 5])).counted == 2


def test_all_problems_at_once_and_nothing_is_taken(survey: Collection) -> None:
    heads = ["タイムスタンプ", "level", "team", "kind", "used", "size", "words"]
    rows = [
        heads,
        ["1", "9", "Nobody", "master", "torch;tuff", "-1", "x"],
        ["2", "3", "", "", "", "", "good"],
        ["3", "3", ""],
        ["4", "3-4", "", "", "", "1", "long" * 60, ""],
        ["5", "3", "", "", "", "", "x", "too many"],
    ]
    found = take(survey, table(rows))
    assert told(found) == [
        (2, "level", "no_level"), (2, "team", "no_option"), (2, "used", "no_option"), (2, "size", "number_small"),
        (4, "", "cells"), (5, "level", "no_level"), (5, "words", "text_long"), (6, "", "cells"),
    ]  # fmt: skip
    assert (found.counted, found.stored, survey.answers()) == (0, False, [])
    assert all(each.text for each in found.problems) and all(each.where.startswith("/") for each in found.problems)
    skipped = take(survey, table(rows), skip_bad=True)
    assert (skipped.counted, skipped.skipped, skipped.stored) == (1, 4, True)
    rows[1] = ["1", "4", "Boreas", "master", "torch;tf", "1", "x"]  # the file was mended
    mended = take(survey, table(rows[:3]))
    assert (mended.counted, mended.known) == (1, 1)


@pytest.mark.parametrize("head", ["submitdate", "Date submitted", "提出日"])
def test_rows_of_forms_that_were_not_sent_are_left_out_and_counted(survey: Collection, head: str) -> None:
    rows = [[head if cell == "submitdate" else cell for cell in LIMESURVEY[0]], *LIMESURVEY[1:]]
    rows += [["3", "", "0", "ja", "97", "2", "", "", "", "", "", "", ""], ["4", "", "0", "ja", "96", *[""] * 8]]
    tried = take(survey, table(rows), dry_run=True, incomplete=True)
    assert (tried.counted, tried.blank, tried.incomplete) == (3, 1, 0)
    found = take(survey, table(rows))
    assert (found.counted, found.incomplete, found.blank, found.skipped) == (2, 2, 0, 0)
    assert len(values_of(survey)) == 2
    later = take(survey, table(rows), incomplete=True)
    assert (later.counted, later.known) == (1, 2)


def test_columns_of_who_and_when_that_say_nothing(survey: Collection) -> None:
    """A name that nobody gave, and the day that stands for every time of an anonymised survey."""
    heads = ["名前", "submitdate", "level", "team", "kind", "used", "size", "words"]
    rows = [heads, *[["", "1980-01-01 00:00:00", "3", "", "", "", "", ""]] * 4]
    assert take(survey, table(rows)).counted == 4
    rows[1] = ["A", *rows[1][1:]]
    rows[2] = rows[1]
    assert take(survey, table(rows)).counted == 1


def test_doubtful_columns_do_not_hide_what_is_wrong_in_others(survey: Collection) -> None:
    rows = [["level", "difficulty", "team", "kind", "used", "words"], ["9", "1", "Nobody", "", "", "x"], ["1"]]
    assert told(take(survey, table(rows))) == [
        (1, "difficulty", "column_twice"), (1, "", "missing_column"), (2, "team", "no_option"), (3, "", "cells"),
    ]  # fmt: skip


def test_missing_unknown_and_double_columns(survey: Collection) -> None:
    rows = [["level", "難しさ", "team", "kind", "used", "Spezialfrage", "words"], ["3", "4", "", "", "", "?", "w"]]
    found = take(survey, table(rows))
    assert told(found) == [
        (1, "Spezialfrage", "no_column"), (1, "難しさ", "column_twice"), (1, "", "missing_column"),
    ]  # fmt: skip
    assert [each.remedy for each in found.problems if "#6=-" in each.remedy]
    given = [("#2", "-"), ("Spezialfrage", "-"), ("-", "size")]
    found = take(survey, table(rows), given=given)
    assert (found.problems, values_of(survey)) == ([], [{"level": 3, "words": "w"}])
    wrong = take(survey, table(rows), given=[*given, ("Nothing", "level"), ("level", "lvl")])
    assert [each for _, _, each in told(wrong)] == ["no_heading", "no_question"]


def test_a_column_that_is_mapped(survey: Collection) -> None:
    rows = [["Q1", "level", "team", "kind", "used", "size", "words"], ["5", "1", "", "", "", "", ""]]
    found = take(survey, table(rows), given=[("Q1", "level")])
    assert (found.problems, values_of(survey)) == ([], [{"level": 5}])


def test_codes_of_limesurvey_that_are_no_ids(survey: Collection) -> None:
    rows = [["G1Q1[SQ001]", "G1Q2", "G1Q3", "G1Q4[SQ001]", "G1Q4[SQ002]", "G1Q4[SQ003]", "G1Q5", "G1Q6"],
            ["A4", "Boreas", "master", "Y", "", "Y", "1", "w"]]  # fmt: skip
    names = ["G1Q1[SQ001]", "G1Q2", "G1Q3", "G1Q4", "G1Q5", "G1Q6"]
    given = list(zip(names, ["level", "team", "kind", "used", "size", "words"], strict=True))
    found = take(survey, table(rows), given=given)
    assert found.problems == []
    wanted = {"level": 4, "team": "Boreas", "kind": "master", "used": ("torch", "other"), "size": 1, "words": "w"}
    assert values_of(survey) == [wanted]
    wrong = take(survey, table(rows), given=[("G1Q4", "level")])
    assert told(wrong)[0] == (1, "G1Q4", "no_heading")


def test_columns_of_single_options(survey: Collection) -> None:
    rows = [
        ["level", "team", "kind", "used[torch]", "used[その他]", "size", "words"],
        ["3", "", "", "PyTorch", "maybe", "", ""],
    ]
    assert told(take(survey, table(rows))) == [(2, "used[その他]", "no_yes")]
    rows[0][4] = "used[torch]"
    assert told(take(survey, table(rows))) == [(1, "used[torch]", "column_twice")]
    rows[0][4], rows[1][4] = "used", "tf"
    assert told(take(survey, table(rows))) == [(1, "used", "column_twice")]


def test_a_grid_of_google_forms(survey: Collection) -> None:
    rows = [["講習会の評価 [難しさ]", "team", "kind", "used", "size", "words"], ["4", "", "", "", "", ""]]
    assert take(survey, table(rows)).problems == []
    assert values_of(survey) == [{"level": 4}]


@pytest.mark.parametrize(
    ("raw", "encoding", "wanted"),
    [
        (b"", None, "survey_import.empty"),
        (b" \n\n", None, "survey_import.empty"),
        (table(GOOGLE)[: table(GOOGLE).index("2行目")].encode(), None, "survey_import.torn"),
        (table(GOOGLE).encode("cp932"), "utf-8", "survey_import.encoding"),
        (table(GOOGLE).encode() + b"\xff\xff", None, "survey_import.encoding"),
        (table(GOOGLE).encode("utf-16-le"), None, "survey_import.nul"),
        (table(GOOGLE).encode(), "klingon", "survey_import.no_encoding"),
        (table(GOOGLE).encode(), "hex", "survey_import.no_encoding"),
        (b"PK\x03\x04" + bytes(range(256)) * 4, None, "survey_import.workbook"),
        (bytes(range(256)) * 4, None, "survey_import.nul"),
        (b'{"schema_version": 1, "values": {"level"', None, "survey_import.torn_json"),
        (b'{"a": 1}', None, "survey_import.no_answer"),
        (b'{"digest": "0", "values": {"level": 3}}', None, "survey_import.other_survey"),
    ],
)
def test_files_that_can_not_be_read(survey: Collection, raw: bytes, encoding: str | None, wanted: str) -> None:
    found = take(survey, raw, encoding=encoding) if encoding is None else _with(survey, raw, encoding)
    assert [each.id for each in found.problems] == [wanted]
    assert found.problems[0].text and not found.stored and survey.answers() == []


def _with(survey: Collection, raw: bytes, encoding: str) -> Imported:
    path = survey.event_folder / "b.csv"
    path.write_bytes(raw)
    return import_answers(survey, [path], encoding=encoding)


def test_one_bad_file_among_good_ones(survey: Collection, tmp_path: Path) -> None:
    good, missing = tmp_path / "good.csv", tmp_path / "missing.csv"
    good.write_text(table(GOOGLE))
    found = import_answers(survey, [good, missing, tmp_path], skip_bad=True)
    assert [each.id for each in found.problems] == ["survey_import.unreadable"] * 2
    assert not found.stored and survey.answers() == []


def test_tokens_in_a_column_count_once_over_all_channels(survey: Collection) -> None:
    tokens = survey.open(3)
    survey.accept({"level": 1}, tokens[0])
    heads = ["token", "level", "team", "kind", "used", "size", "words"]
    rows = [heads, *[[token, "5", "", "", "", "", ""] for token in (tokens[0], tokens[1], tokens[1].upper(), "")]]
    found = take(survey, table(rows))
    assert (found.counted, found.spent, found.known, found.problems) == (2, 1, 1, [])
    assert [survey.token_state(token) for token in tokens] == ["spent", "spent", "unused"]
    unknown = take(survey, table([heads, ["nonsense", "2", "", "", "", "", ""]]))
    assert told(unknown) == [(2, "token", "token_unknown")]


def test_what_the_offline_page_saved(survey: Collection) -> None:
    tokens = survey.open(2)
    value = {
        "schema_version": 1, "survey": "after", "digest": survey.digest, "token": tokens[0],
        "values": {"level": "4", "used": ["torch", "tf"], "words": "<b>よい</b>", "size": ""},
    }  # fmt: skip
    saved = json.dumps(value, ensure_ascii=False)
    assert take(survey, saved, name="answer-1.json").counted == 1
    again = take(survey, saved, name="copy of answer-1.json")
    assert (again.counted, again.known, again.problems) == (0, 1, [])
    other = take(survey, saved.replace("よい", "わるい"))
    assert (other.counted, other.spent) == (0, 1)
    assert values_of(survey) == [{"level": 4, "used": ("torch", "tf"), "words": "<b>よい</b>"}]
    wrong = take(survey, saved.replace(tokens[0], tokens[1]).replace('"4"', '"8"'))
    assert told(wrong) == [(None, "level", "no_level")]


def test_more_than_is_read_back_is_not_stored(survey: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hackathon.survey.importing.LARGEST", 100)
    with pytest.raises(RequestError) as caught:
        take(survey, table(GOOGLE))
    assert caught.value.id == "survey_import.all_large" and survey.answers() == []


def test_a_dry_run_stores_nothing(survey: Collection) -> None:
    before = sorted(str(path) for path in survey.folder.rglob("*"))
    found = take(survey, table(GOOGLE), dry_run=True)
    assert (found.counted, found.stored) == (2, False)
    assert [(column.heading, column.question or column.role) for _, column in found.columns][:3] == [
        ("タイムスタンプ", "identity"), ("メールアドレス", "identity"), ("難しさ", "level"),
    ]  # fmt: skip
    assert sorted(str(path) for path in survey.folder.rglob("*")) == before


def test_a_closed_survey_takes_no_file(survey: Collection) -> None:
    survey.close()
    with pytest.raises(RequestError) as caught:
        take(survey, table(GOOGLE))
    assert caught.value.id == "survey.closed"


def test_the_command(survey: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(survey.event_folder)
    Path("good.csv").write_text(table(GOOGLE), encoding="cp932")
    Path("bad.csv").write_text(table([GOOGLE[0], ["t", "m", "7\x1b[2J", "", "", "", "", "x"]]))
    dry = CliRunner().invoke(command, ["good.csv", "after", "--dry-run"])
    assert dry.exit_code == 0 and "(person and time: not stored)" in dry.stdout and "level" in dry.stdout
    bad = CliRunner().invoke(command, ["after", "good.csv", "bad.csv"])
    assert bad.exit_code == 2 and "bad.csv:2: 難しさ: 7" in bad.stderr and "\x1b" not in bad.stderr
    assert survey.answers() == []
    good = CliRunner().invoke(command, ["good.csv", "bad.csv", "--skip-bad", "--json"])
    assert good.exit_code == 0
    assert {name: json.loads(good.stdout)[name] for name in ("counted", "skipped", "blank")} == {
        "counted": 2, "skipped": 1, "blank": 1,
    }  # fmt: skip


CELLS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=12) | st.sampled_from(
    ["3", "４", "torch;tf", "Y"]
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.sampled_from(["level", "team", "words", "used", "used[torch]", "size", "kind", "id", "token", "?", ""]),
             min_size=1, max_size=9),
    st.lists(st.lists(CELLS, max_size=10), max_size=4),
    st.booleans(),
)  # fmt: skip
def test_any_table_is_taken_or_told(survey: Collection, heads: list[str], rows: list[list[str]], skip: bool) -> None:
    before = len(survey.answers())
    found = take(survey, table([heads, *rows]), skip_bad=skip)
    assert len(survey.answers()) == before + (found.counted if found.stored else 0)
    assert found.stored or found.problems
    assert all(each.text for each in found.problems)
    again = take(survey, table([heads, *rows]), skip_bad=skip)
    assert again.counted == 0 and len(survey.answers()) == before + (found.counted if found.stored else 0)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=300))
def test_any_bytes_are_taken_or_told(survey: Collection, raw: bytes) -> None:
    found = take(survey, raw, dry_run=True)
    assert found.problems or found.columns
