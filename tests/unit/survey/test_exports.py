"""Surveys as other programs export them: each file imports right, or is refused with the line to write.

The counts were made by hand, from the files in tests/samples/surveys.
"""

from pathlib import Path

import pytest
from click.testing import CliRunner

from hackathon.cli.survey.import_ import command
from hackathon.survey.collection import Collection
from hackathon.survey.importing import import_answers
from support.paths import ROOT
from support.survey.exports import CLOSING, SAMPLES, ids, opened, remedies, sums


@pytest.fixture
def survey(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Collection:
    """The four ratings and the free words of the shipped questionnaire."""
    monkeypatch.setenv("HACKATHON_LANG", "en")
    return opened(tmp_path / "event", ROOT / "templates" / "surveys" / "hackathon.yaml")


@pytest.fixture
def long_survey(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Collection:
    """With a choice and several choices, too."""
    monkeypatch.setenv("HACKATHON_LANG", "en")
    return opened(tmp_path / "event", SAMPLES / "closing.yaml")


@pytest.mark.parametrize(
    "name",
    [
        "e1_cp932.csv", "e2_utf16.txt", "e3_bom_semicolon.csv", "e4_eucjp.csv", "e5_floats.csv", "g1_google_ja.csv",
        "g1b_ts.csv", "g2_google_en.csv", "g3_grid_ja.csv", "g3b_grid_labels.csv", "g4_heads.csv",
        "g6_ja_scalehead.csv", "l1_lime_codes.csv", "l2_lime_AO.csv", "l3_lime.tsv", "m1_msforms_en.csv",
        "m2_msforms_ja.csv",
    ],
)  # fmt: skip
def test_eleven_answers(survey: Collection, name: str) -> None:
    imported = import_answers(survey, [SAMPLES / name])
    assert (imported.problems, imported.counted, imported.stored) == ([], 11, True)
    assert sums(survey) == CLOSING
    comments = [str(answer.values["comments"]) for answer in survey.answers() if "comments" in answer.values]
    assert len(comments) == 6 and "エラーのときに専門家の一言が助かりました。\nもう少し時間がほしいです。" in comments
    again = import_answers(survey, [SAMPLES / name])
    assert (again.counted, again.known) == (0, 11)


def test_an_unfinished_answer_is_left_out(survey: Collection) -> None:
    imported = import_answers(survey, [SAMPLES / "l1b_lime_partial.csv"])
    assert (imported.counted, imported.incomplete) == (8, 3)
    assert sums(survey) == {"length": 23, "lecture": 25, "handouts": 23, "satisfaction": 31}


def test_three_answers(survey: Collection) -> None:
    assert import_answers(survey, [SAMPLES / "tiny.csv"]).counted == 3
    assert sums(survey) == {"length": 8, "lecture": 9, "handouts": 11, "satisfaction": 11}


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("g5_2019heads.csv", [("#3", "lecture"), ("#6", "comments")]),
        ("l2b_lime_A.csv", [("#14", "comments")]),
    ],
)
def test_near_headings_are_suggested(survey: Collection, name: str, line: list[tuple[str, str]]) -> None:
    refused = import_answers(survey, [SAMPLES / name])
    assert (ids(refused), refused.counted, refused.mapping) == ({"near_column"}, 0, line)
    assert import_answers(survey, [SAMPLES / name], given=line).counted == 11
    assert sums(survey) == CLOSING


def test_the_line_to_write_is_printed(survey: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(survey.event_folder)
    result = CliRunner().invoke(command, [str(SAMPLES / "g5_2019heads.csv"), "closing"])
    assert result.exit_code == 2 and "--map '#3=lecture' --map '#6=comments'" in result.stderr
    result = CliRunner().invoke(
        command, [str(SAMPLES / "g5_2019heads.csv"), "--map", "#3=lecture", "--map", "#6=comments"]
    )
    assert result.exit_code == 0 and "11 answers imported" in result.stderr


def test_ratings_in_words(survey: Collection) -> None:
    file = [SAMPLES / "g7_words.csv"]
    refused = import_answers(survey, file)
    assert [problem.values["words"] for problem in refused.problems] == [
        "とても満足 (6), 満足 (3), 不満 (1), とても不満 (1)"
    ]
    assert "--values 'satisfaction:とても満足=LEVEL,満足=LEVEL,不満=LEVEL,とても不満=LEVEL'" in remedies(refused)
    # 満足 and 不満 are the ends in the questionnaire, but not of this scale
    half = import_answers(survey, file, values=["とても満足=5,とても不満=1"])
    assert [problem.values["words"] for problem in half.problems] == ["満足 (3), 不満 (1)"]
    imported = import_answers(survey, file, values=["とても満足=5,満足=4,不満=2,とても不満=1,普通=3"])
    assert (imported.counted, imported.unused_words) == (11, ["普通"])
    assert sums(survey) == CLOSING


def test_words_skip_rows_only_on_request(survey: Collection) -> None:
    imported = import_answers(survey, [SAMPLES / "g7_words.csv"], values=["とても満足=5,満足=4,不満=2"], skip_bad=True)
    assert (imported.counted, imported.skipped, imported.stored) == (10, 1, True)


@pytest.mark.parametrize("wrong", ["とても満足", "とても満足=9", "kind:M2=master", "=5", "satisfaction:a=b"])
def test_values_that_say_nothing(survey: Collection, monkeypatch: pytest.MonkeyPatch, wrong: str) -> None:
    monkeypatch.chdir(survey.event_folder)
    result = CliRunner().invoke(command, [str(SAMPLES / "g7_words.csv"), "--values", wrong])
    assert result.exit_code != 0 and survey.answers() == []


def test_codes_are_named(survey: Collection) -> None:
    imported = import_answers(survey, [SAMPLES / "l2_lime_AO.csv"], dry_run=True)
    assert imported.coded == ["length", "lecture", "handouts", "satisfaction"]
    turned = [f"satisfaction:{','.join(f'AO0{level}={6 - level}' for level in range(1, 6))}"]
    import_answers(survey, [SAMPLES / "l2_lime_AO.csv"], values=turned)
    assert sums(survey) == {**CLOSING, "satisfaction": 11 * 6 - 45}


@pytest.mark.parametrize(
    ("name", "given", "values", "counted", "expected"),
    [
        ("surveymonkey.csv", [], [], 3, {"length": 9, "lecture": 10, "handouts": 9, "satisfaction": 10}),
        ("surveymonkey_numeric.csv", [], [], 2, {"length": 7, "lecture": 5, "handouts": 6, "satisfaction": 9}),
        ("google_quiz.csv", [], [], 2, {"length": 5, "lecture": 6, "handouts": 7, "satisfaction": 9}),
        ("limesurvey_full.csv", [], [], 2, {"length": 4, "lecture": 8, "handouts": 6, "satisfaction": 9}),
        ("limesurvey_codes.csv", [], ["kind:AO02=master,AO03=doctoral"], 2,
         {"length": 5, "lecture": 7, "handouts": 6, "satisfaction": 9}),
        ("qualtrics_numeric.tsv", [], ["kind:2=master,3=doctoral"], 2,
         {"length": 5, "lecture": 7, "handouts": 6, "satisfaction": 9}),
        ("qualtrics_text.csv", [("#24", "-")], ["Very satisfied=5,Somewhat satisfied=4,Very dissatisfied=1"], 3,
         {"length": 9, "lecture": 10, "handouts": 9, "satisfaction": 10}),
        ("google_words.csv", [],
         ["やや短い=2,ちょうどよい=3,やや長い=4,やや難しい=4,難しい=5",
          "satisfaction:とても満足=5,満足=4,どちらともいえない=3"],
         3, {"length": 9, "lecture": 12, "handouts": 10, "satisfaction": 12}),
        ("forms_reversed.csv", [], ["satisfaction:1=5,2=4,3=3,4=2,5=1"], 2,
         {"length": 5, "lecture": 6, "handouts": 7, "satisfaction": 9}),
    ],
)  # fmt: skip
def test_exports_of_other_programs(
    long_survey: Collection,
    name: str,
    given: list[tuple[str, str]],
    values: list[str],
    counted: int,
    expected: dict[str, int],
) -> None:
    file = [SAMPLES / name]
    if given or values:
        refused = import_answers(long_survey, file)
        assert refused.problems and not refused.stored and long_survey.answers() == []
    imported = import_answers(long_survey, file, given=given, values=values)
    assert ([problem.text for problem in imported.problems], imported.counted) == ([], counted)
    assert sums(long_survey) == expected
    stored = "".join(path.read_text() for path in long_survey.imports_folder.glob("*.json"))
    assert not any(word in stored for word in ("192.0.2", "example.org", "2026-11", "R_1", "114000"))


def test_choices_of_qualtrics_and_surveymonkey(long_survey: Collection) -> None:
    import_answers(long_survey, [SAMPLES / "surveymonkey.csv"])
    found = sorted((str(answer.values.get("kind")), answer.values.get("useful")) for answer in long_survey.answers())
    assert found == [("doctoral", ("basics",)), ("doctoral", ("chainer", "other")), ("master", ("chainer", "tf"))]


def test_previews_are_left_out(long_survey: Collection) -> None:
    imported = import_answers(long_survey, [SAMPLES / "qualtrics_numeric.tsv"], dry_run=True)
    assert (imported.previews, imported.incomplete) == (1, 1)
    # with rows of people who did not finish, but still without trials
    more = import_answers(long_survey, [SAMPLES / "qualtrics_numeric.tsv"], dry_run=True, incomplete=True)
    assert (more.previews, more.incomplete) == (1, 0)


def test_texts_beside_other(long_survey: Collection) -> None:
    imported = import_answers(
        long_survey, [SAMPLES / "limesurvey_codes.csv"], values=["kind:AO02=master,AO03=doctoral"]
    )
    assert imported.other_texts == 1
    assert ("tf", "other") in [answer.values.get("useful") for answer in long_survey.answers()]
    assert "The tea" not in "".join(path.read_text() for path in long_survey.imports_folder.glob("*.json"))


def test_lists_of_choices(long_survey: Collection) -> None:
    given = [("-", "kind")]
    refused = import_answers(long_survey, [SAMPLES / "cb.csv"], given=given)
    assert refused.unknown_options["useful"] == ["その他: Slack"]
    imported = import_answers(long_survey, [SAMPLES / "cb.csv"], given=given, values=["useful:その他: Slack=other"])
    assert imported.counted == 4
    found = sorted(str(answer.values.get("useful")) for answer in long_survey.answers())
    assert found == ["('basics', 'other')", "('chainer', 'tf')", "('chainer', 'tf')", "None"]


def test_a_grid_of_options(long_survey: Collection) -> None:
    assert import_answers(long_survey, [SAMPLES / "grid.csv"], given=[("-", "kind")]).counted == 3
    found = sorted(str(answer.values.get("useful")) for answer in long_survey.answers())
    assert found == ["('chainer', 'basics')", "('chainer', 'basics')", "('chainer',)"]


def test_kinds(long_survey: Collection) -> None:
    assert import_answers(long_survey, [SAMPLES / "kinds.csv"], given=[("-", "useful")]).counted == 49
    kinds = [str(answer.values.get("kind")) for answer in long_survey.answers()]
    assert {kind: kinds.count(kind) for kind in set(kinds)} == {
        "undergraduate": 12, "master": 12, "doctoral": 12, "staff": 12, "None": 1,
    }  # fmt: skip


def test_a_table_of_teams_is_no_survey(survey: Collection) -> None:
    assert import_answers(survey, [SAMPLES / "teams_form.csv"]).counted == 0


@pytest.mark.parametrize(
    ("heading", "problem"),
    [
        ("満足度（1: 満足 〜 5: 不満）", "reversed_scale"),
        ("Satisfaction (1 = satisfied, 5 = dissatisfied)", "reversed_scale"),
        ("満足度（1: 不満 〜 7: 満足）", "other_scale"),
        ("満足度（7段階）", "other_scale"),
        ("満足度（5段階評価）", ""),
        ("Satisfaction (1-5)", ""),
        ("Satisfaction: 1 = very low ... 5 = very high", ""),
        ("満足度【1（不満）～5（満足）】", ""),
        ("満足度（必須）", ""),
        ("Satisfaction (day 1 of 5)", "near_column"),
        ("Satisfaction (day 2)", "near_column"),
    ],
)
def test_scales_in_headings(survey: Collection, tmp_path: Path, heading: str, problem: str) -> None:
    file = tmp_path / "a.csv"
    file.write_text(f'length,lecture,handouts,"{heading}",comments\n3,3,3,1,\n', encoding="utf-8")
    imported = import_answers(survey, [file])
    assert ids(imported) == ({problem} if problem else set())
    assert imported.counted == (0 if problem else 1)


def test_labels_of_the_other_end(survey: Collection, tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("length,lecture,handouts,satisfaction,comments\n3,3,3,1 (満足),\n", encoding="utf-8")
    assert ids(import_answers(survey, [file])) == {"level_of_other_end"}
    file.write_text("length,lecture,handouts,satisfaction,comments\n3,3,3,5 (満足),\n", encoding="utf-8")
    assert import_answers(survey, [file]).counted == 1
