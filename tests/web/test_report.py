"""The report on an event: what it says, what it leaves out, and that nothing of somebody else's is lost."""

import io
import json
import re
import shutil
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from markdown_it import MarkdownIt

pytest.importorskip("vl_convert")
from hackathon.board.board import open_board, reply
from hackathon.board.directory import make_place
from hackathon.board.post import post
from hackathon.cli.main import run as hackathon
from hackathon.config.event import Article, Photograph
from hackathon.config.load import load_event
from hackathon.index.catalog import Catalog
from hackathon.index.gather import gather
from hackathon.survey.collection import Collection
from hackathon.survey.publication import summary_of
from hackathon.text.endings import POLITE, plain_style
from hackathon.text.errors import RequestError
from hackathon.text.messages import speaking
from hackathon.usage.usage import usage
from hackathon.web.masking.event_mask import mask_of
from hackathon.web.page import figures
from hackathon.web.page.dates import days_text
from hackathon.web.report import drawings
from hackathon.web.report import signed_files as made_files
from hackathon.web.report.files import report_files
from hackathon.web.report.report import report_view, told_apart
from hackathon.web.report.signed_files import MARK, signed, unchanged, write_together
from hackathon.web.views.published_surveys import published
from hackathon.web.views.survey import survey_view
from support.event_2019 import MEANS, TEAMS, event_2019
from support.pages.rendered import HOSTILE, NOT_SHOWN, Page
from support.samples.photographs import jpeg, png
from support.samples.runs import Sample, write_study
from support.survey.closed import write_survey
from support.translations import pairs

SIZES = (1, 2, 4)
START = 1_548_290_000.0
"""2019-01-24 in Japan."""


def _team(folder: Path, name: str, speed: float, efficiency: float) -> None:
    samples = [
        Sample(count, round(speed * count * efficiency**doubling, 1)) for doubling, count in enumerate((1, 2, 4, 8))
    ]
    write_study(folder / name / "train", samples, team=name, start=START)


@pytest.fixture(scope="module")
def event(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The event of 2019: three teams measured, one failed, two left nothing; its survey is closed."""
    folder = tmp_path_factory.mktemp("report") / "event"
    done = {"en": "Moved the training to ChainerMN.", "ja": "学習を ChainerMN に移した。"}
    event_2019(folder, lessons=[{"en": "Check early.", "ja": "準備の確認を早めに行う。"}], publish={"board": True})
    _change(folder, "done", done, team=0)
    _change(folder, "model", "ResNet-50", team=0)
    _team(folder, "Aurora", 900, 0.95)
    _team(folder, "Borealis", 1000, 0.8)
    write_study(folder / "ひので" / "train", [Sample(1, 900.0), Sample(2, 2000.0)], team="ひので", start=START)
    write_study(folder / "Cumulus" / "train", [Sample(2, None, "FAILED", exit_code=1)], team="Cumulus", start=START)
    make_place(folder / "shared", "sticky")
    post(open_board(folder / "shared", folder), "NCCL finds no InfiniBand | <b>\n/lustre/gz00/akari/x", part="nccl")
    board = open_board(folder / "shared", folder)
    reply(board, board.posts[0], "solve", "export NCCL_IB_HCA=mlx5_0 on a017.example.jp")
    write_survey(folder)
    return folder


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is drawn but for `written`, which has all of its pictures before a test begins."""
    picture = b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><path stroke="#000" d="M0,0L9,9"/></svg>'
    for module in (figures, drawings):
        monkeypatch.setattr(module, "pictures", lambda specs, form: [picture for _ in specs])


def _change(folder: Path, key: str, value: object, team: int | None = None) -> None:
    path = folder / "hackathon.yaml"
    found = yaml.safe_load(path.read_text("utf-8"))
    (found if team is None else found["teams"][team])[key] = value
    path.write_text(yaml.safe_dump(found, allow_unicode=True, sort_keys=False), "utf-8")


def _source(folder: Path, **changes: object) -> Catalog:
    found = load_event(folder)
    event = replace(found, **changes)  # type: ignore[arg-type]
    return gather(folder, event, ask=False, index=folder / "index.sqlite3", diagnose=False)


@pytest.fixture(scope="module")
def written(event: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, str]:
    """What the command wrote, and what it told on stdout and stderr."""
    target = tmp_path_factory.mktemp("out")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HACKATHON_LANG", "en")
        said = _run(patch, "event", "report", str(event), "--to", str(target), "--no-ask")
    return target, *said


def _run(patch: pytest.MonkeyPatch, *words: str, expect: int = 0) -> tuple[str, str]:
    out, err = io.StringIO(), io.StringIO()
    patch.setattr(sys, "stdout", out)
    patch.setattr(sys, "stderr", err)
    assert hackathon(list(words)) == expect, err.getvalue()
    return out.getvalue(), err.getvalue()


@pytest.fixture(scope="module")
def report(written: tuple[Path, str, str]) -> Iterator[Path]:
    yield written[0]


def _section(text: str, heading: str) -> str:
    return text.partition(f"## {heading}\n")[2].partition("\n## ")[0]


def test_the_files_are_there_in_both_languages(written: tuple[Path, str, str]) -> None:
    folder, out, _ = written
    names = {path.name for path in folder.iterdir()}
    assert names == {
        "report.md", "report.ja.md", "report.html", "report.ja.html",
        *(f"report-{chart}{ending}.svg" for ending in ("", ".ja")
          for chart in ("after", "teams-weak-speedup", "teams-weak-efficiency")),
    }  # fmt: skip
    assert out.count("written: ") == len(names)
    assert all(unchanged(path) for path in folder.iterdir())


def test_a_report_for_word(event: Path) -> None:
    docx = pytest.importorskip("docx")
    files, _ = report_files(_source(event), ["en", "ja"], word=True)
    again, _ = report_files(_source(event), ["en", "ja"], word=True)
    assert files["report.docx"] == again["report.docx"]
    for language, name in (("en", "report"), ("ja", "report.ja")):
        raw, markdown = files[f"{name}.docx"], str(files[f"{name}.md"])
        assert isinstance(raw, bytes)
        document = docx.Document(io.BytesIO(raw))
        headings = [each.text for each in document.paragraphs if each.style.name.startswith(("Heading", "Title"))]
        plain = [line.lstrip("# ").replace("\\", "") for line in markdown.splitlines() if line.startswith("#")]
        assert headings == plain
        assert len(document.tables) == len(re.findall(r"^\|(?: ?-{3,}:? ?\|)+$", markdown, re.MULTILINE))
        text = "\n".join(
            [each.text for each in document.paragraphs]
            + [cell.text for table in document.tables for row in table.rows for cell in row.cells]
        )
        assert "**" not in text and "\\" not in text and "<!--" not in text
        assert {"en": "Check early.", "ja": "準備の確認を早めに行う。"}[language] in text
        assert not any(word in text for word in ("akari", "a017", "/lustre"))


def test_charts_are_in_the_report_for_word_with_their_words(event: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As PNG of the specification whose SVG stands beside the Markdown; the words of each are in both."""
    docx = pytest.importorskip("docx")
    orders: list[tuple[str, list[dict[str, object]]]] = []

    def pictures(specs: list[dict[str, object]], form: str) -> list[bytes]:
        orders.append((form, specs))
        return [png(96, 72) if form == "png" else b"<svg xmlns='http://www.w3.org/2000/svg'/>" for _ in specs]

    monkeypatch.setattr(drawings, "pictures", pictures)
    monkeypatch.setattr(drawings, "has_japanese", lambda: True)
    source = _source(event)
    surveys = published(source)
    files, _ = report_files(source, ["en", "ja"], surveys=surveys, word=True)
    assert [form for form, _ in orders] == ["svg", "png", "svg", "png"]
    assert orders[0][1] == orders[1][1] and orders[2][1] == orders[3][1]
    for name, first in (("report", "weak scaling: Speed-up over"), ("report.ja", "弱スケーリング: ")):
        raw, markdown = files[f"{name}.docx"], files[f"{name}.md"]
        assert isinstance(raw, bytes) and isinstance(markdown, str)
        described = [shape._inline.docPr.get("descr") for shape in docx.Document(io.BytesIO(raw)).inline_shapes]
        in_markdown = re.findall(r"!\[((?:\\.|[^\]\\])*)\]", markdown)
        assert len(described) == 3 and described == [re.sub(r"\\(.)", r"\1", text) for text in in_markdown]
        assert described[0].startswith(first) and "Aurora" in described[0]
    legend = json.dumps(orders[0][1][0])
    assert "Borealis" in legend and "labelExpr" in legend, "a chart without a key beside it names its curves"


def test_charts_of_a_report_without_a_japanese_font_and_with_masked_teams(
    event: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("docx")
    orders: list[tuple[str, list[dict[str, object]]]] = []
    monkeypatch.setattr(drawings, "pictures", lambda specs, form: orders.append((form, specs)) or [])
    monkeypatch.setattr(drawings, "has_japanese", lambda: False)
    source = _source(event)
    charts = drawings.charts_of(source, published(source), "en", "", mask_of(source, [], source.event.publish))  # type: ignore[union-attr]
    _, problem = drawings.rasters(charts, "report.docx")
    assert "2 charts" in problem and "report.docx" in problem and "no Japanese font" in problem, "one team is ひので"
    assert [(form, len(specs)) for form, specs in orders] == [("png", 1)]
    masked = _source(event, publish=replace(load_event(event).publish, teams=False))
    report_files(masked, ["en"])
    words = json.dumps(orders[-1][1], ensure_ascii=False)
    assert "Borealis" not in words and "ひので" not in words and "team-2" in words


def test_a_changed_report_for_word_is_not_written_over(event: Path, tmp_path: Path) -> None:
    docx = pytest.importorskip("docx")
    files, _ = report_files(_source(event), ["en"], word=True)
    write_together(tmp_path, files)
    write_together(tmp_path, files)
    assert unchanged(tmp_path / "report.docx")
    document = docx.Document(str(tmp_path / "report.docx"))
    document.add_paragraph("My own words.")
    document.save(str(tmp_path / "report.docx"))
    with pytest.raises(RequestError):
        write_together(tmp_path, files)


def test_word_needs_a_package(event: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "docx", None)
    monkeypatch.setenv("HACKATHON_LANG", "en")
    _, err = _run(monkeypatch, "event", "report", str(event), "--to", str(tmp_path), "--docx", "--no-ask", expect=2)
    assert "pip install python-docx" in err and not list(tmp_path.iterdir())


def test_surveys_with_one_title_are_told_apart(event: Path, tmp_path: Path) -> None:
    folder = tmp_path / "event"
    shutil.copytree(event, folder)
    for name in ("first", "second"):
        write_survey(folder, name)
    write_survey(folder, "third", values={"title": "Another"})
    summaries = [summary_of(Collection(folder / "surveys" / name)) for name in ("first", "second", "third")]
    with speaking("en"):
        titles = [survey.title for survey in told_apart(survey_view(summary) for summary in summaries)]
    assert len(set(titles)) == 3 and titles[0].endswith(" (first)") and titles[2] == "Another"


def test_use_against_the_budget(event: Path, tmp_path: Path) -> None:
    folder = tmp_path / "event"
    shutil.copytree(event, folder)
    values = yaml.safe_load((folder / "hackathon.yaml").read_text("utf-8"))
    values["clusters"] = {**values.get("clusters", {}), "reedbush-h": {"budget": {"node_hours": 0.2}}}
    (folder / "hackathon.yaml").write_text(yaml.safe_dump(values, allow_unicode=True), "utf-8")
    with speaking("en"):
        view = report_view(_source(folder), usage=usage(load_event(folder), folder))
    # 8 nodes for 140 s are 0.311 node-hours
    assert view.has_budgets and view.used[0].budget == "156 % of 0.2 node-hours"
    del values["clusters"]["reedbush-h"]["budget"]
    (folder / "hackathon.yaml").write_text(yaml.safe_dump(values, allow_unicode=True), "utf-8")
    with speaking("en"):
        assert not report_view(_source(folder), usage=usage(load_event(folder), folder)).has_budgets


def test_participation_of_2019_in_a_sentence_and_a_table(report: Path) -> None:
    english = _section((report / "report.md").read_text("utf-8"), "Participants")
    assert "8 teams were selected." in english and "applied" not in english, "nobody said how many applied"
    assert "6 teams with 11 people took part: undergraduate student 1, master's student 5" in english
    for row in ("8", "6", "11"):
        assert f"| {row} |" in english
    japanese = _section((report / "report.ja.md").read_text("utf-8"), "参加者")
    assert "採択は 8 チームです。" in japanese and "応募" not in japanese
    assert "6 チーム、11 人（学部学生 1 人、修士課程 5 人、博士課程 4 人、大学教職員 1 人）" in japanese
    assert "| 修士課程 | 5 |" in japanese


def test_the_schedule_of_2019_by_day(report: Path) -> None:
    english = _section((report / "report.md").read_text("utf-8"), "Schedule")
    assert [line for line in english.splitlines() if line.startswith("###")] == [
        "### Thu, 24 January 2019", "### Fri, 25 January 2019",
    ]  # fmt: skip
    rows = [line for line in english.splitlines() if line.startswith("|") and "---" not in line and "Time" not in line]
    assert len(rows) == 12
    assert "| 09:30–10:00 | Reception |" in rows
    assert "|  | Break |" in rows and "| 17:15– | End |" in rows
    assert rows.index("|  | Break |") == 5
    assert "### 2019年1月24日（木）" in (report / "report.ja.md").read_text("utf-8")


def test_each_team_has_its_result_or_says_that_it_has_none(report: Path) -> None:
    text = _section((report / "report.md").read_text("utf-8"), "Results of the teams")
    teams = {part.partition("\n")[0]: part for part in text.split("\n### ")[1:]}
    assert list(teams) == list(TEAMS)
    assert "Moved the training to ChainerMN." in teams["Aurora"] and "ResNet-50" in teams["Aurora"]
    assert "From the records" not in teams["Aurora"], "the organiser's own words count"
    assert "6.86 times as fast with 8 processes as with 1 process, parallel efficiency 85.7 %" in teams["Aurora"]
    assert "weak scaling, reedbush-h, 900 → 6,173 samples/s" in teams["Aurora"]
    assert "From the records of the runs: throughput went from 1,000 to 4,096 samples/s" in teams["Borealis"]
    assert "learning rate: 0.1 → 0.8" in teams["Borealis"]
    assert "No results are recorded." in teams["Cumulus"], "a public article does not count a team's failures"
    assert "No results are recorded." in teams["四つ葉"]
    table = [line for line in text.splitlines() if line.startswith("| Aurora")]
    assert table == ["| Aurora | Aurora: digits | 6.86 × | 85.7 % | 8 | 1 |"]


def test_the_survey_of_2019(report: Path) -> None:
    english = (report / "report.md").read_text("utf-8")
    assert "11 of 11 invited people answered (response rate 100.0 %)" in english
    rows = {line.split(" | ")[0]: line.split(" | ") for line in english.splitlines() if " ↔ " in line}
    means = [row[-2] for row in rows.values()]
    assert means == [str(MEANS[name]) for name in ("length", "lecture", "handouts", "satisfaction")]
    assert rows["| Length of the event (short ↔ long)"][1:7] == ["1", "1", "7", "2", "0", "11"]
    assert "](report-after.svg)" in english and "](report-after.ja.svg)" in (report / "report.ja.md").read_text("utf-8")
    assert "満足度" in (report / "report-after.ja.svg").read_text("utf-8")
    voices = _section(english, "Questionnaire").partition("### Free answers")[2]
    assert "**What was good**" in voices and "- とても有意義でした。" in voices


def test_problems_and_lessons(report: Path) -> None:
    text = (report / "report.md").read_text("utf-8")
    assert "| NCCL finds no InfiniBand \\| \\<b\\> | NCCL | export NCCL_IB_HCA=mlx5_0 on host-1 |" in text
    assert _section(text, "Lessons").startswith("\n- Check early.\n")
    assert "準備の確認を早めに行う。" in (report / "report.ja.md").read_text("utf-8")


def test_used_resources_add_up(report: Path) -> None:
    text = _section((report / "report.md").read_text("utf-8"), "Computing resources used")
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if "reedbush-h" in line and "|" in line]
    assert [row[0] for row in rows] == ["Aurora", "Borealis", "ひので", "Cumulus", "Sum"]
    for column in (2, 3, 4):
        values = [float(row[column]) for row in rows]
        assert sum(values[:-1]) == pytest.approx(values[-1], abs=0.005 * len(values))
    # 140 s each; 1, 1, 2 and 4 nodes
    assert float(rows[0][3]) == pytest.approx(8 * 140 / 3600, abs=0.001)


def test_nobody_is_named_and_no_machine_or_folder(report: Path) -> None:
    named = ("akari", "Akari", "tanaka07", "a017", "example.jp", "/lustre", "tomo", "Tomo")
    for path in report.iterdir():
        text = path.read_text("utf-8")
        words = [rf"(?<![A-Za-z0-9]){re.escape(name)}(?![A-Za-z0-9])" for name in named]
        assert not [word for word in words if re.search(word, text)], path
    assert "Names of people and machines are omitted" in (report / "report.md").read_text("utf-8")


def test_people_are_named_where_the_event_publishes_them(event: Path) -> None:
    rules = replace(load_event(event).publish, users=True)
    files, _ = report_files(_source(event, publish=rules), ["en"])
    assert "Tomo" in files["report.md"] and "Tomo" in files["report.html"]


@pytest.mark.parametrize(
    ("rule", "gone"),
    [("schedule", "Schedule"), ("board", "Problems and what solved them"), ("surveys", "Questionnaire")],
)
def test_what_is_not_published_is_not_in_it(event: Path, rule: str, gone: str) -> None:
    source = _source(event, publish=replace(load_event(event).publish, **{rule: False}))
    from hackathon.web.views.published_surveys import summaries

    found = summaries(event, load_event(event), source.memory)
    files, _ = report_files(source, ["en"], surveys=found)
    assert f"## {gone}\n" not in files["report.md"] and f"<h2>{gone}</h2>" not in files["report.html"]
    assert ("report-after.svg" in files) == (rule != "surveys")


def test_teams_without_names(event: Path) -> None:
    source = _source(event, publish=replace(load_event(event).publish, teams=False))
    files, _ = report_files(source, ["en"])
    for name, text in files.items():
        assert "Borealis" not in text and "ひので" not in text and ("team-2" in text or name.endswith(".svg"))


def test_free_answers_wait_for_somebody_to_read_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    event_2019(tmp_path / "event")
    make_place(tmp_path / "event" / "shared", "sticky")
    write_survey(tmp_path / "event", reviewed=False)
    write_survey(tmp_path / "event", "later", close=False)
    monkeypatch.setenv("HACKATHON_LANG", "en")
    _, told = _run(monkeypatch, "event", "report", str(tmp_path / "event"), "--lang", "en", "--no-ask")
    text = (tmp_path / "event" / "report.md").read_text("utf-8")
    assert "2.9" in text and "有意義" not in text
    assert "surveys/after/texts.yaml" in told and "hackathon survey close later" in told
    assert not (tmp_path / "event" / "report.ja.md").exists(), "--lang asks for one language"


def test_what_is_missing_is_told_with_its_line(written: tuple[Path, str, str], event: Path) -> None:
    told = written[2]
    lines = (event / "hackathon.yaml").read_text("utf-8").splitlines()
    place = lines.index("- name: Borealis") + 1
    assert f"team Borealis: `done` is empty: hackathon.yaml, line {place}" in told
    assert "team 四つ葉: no runs are recorded" in told
    assert "team Cumulus: no run succeeded" in told
    assert "`applied` is empty" in told and "`report: authors` is empty" in told and "`report: closing`" in told
    assert "team Aurora: `done`" not in told and "`occasion`" not in told


@pytest.mark.slow
def test_a_size_that_was_tried_is_not_said_to_be_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "event"
    event_2019(folder, surveys=None)
    tried = [Sample(1, 900.0), *(Sample(count, None, "FAILED", exit_code=1) for count in (2, 4))]
    write_study(folder / "Aurora" / "train", tried, team="Aurora", start=START)
    monkeypatch.setenv("HACKATHON_LANG", "en")
    assert hackathon(["event", "report", str(folder), "--to", str(tmp_path / "out"), "--no-ask"]) == 0
    text = _section((tmp_path / "out" / "report.md").read_text("utf-8"), "Results of the teams")
    (aurora,) = [part for part in text.split("\n### ") if part.startswith("Aurora")]
    assert "No speed-up is recorded." in aurora and "measured" not in aurora
    japanese = (tmp_path / "out" / "report.ja.md").read_text("utf-8")
    assert "速度向上の記録はありません。" in japanese and "より大きな規模" not in japanese
    assert "team Aurora: no study has a valid result beyond its base" in capsys.readouterr().err


def test_a_team_that_left_hackathon_yaml_is_told_and_left_out(event: Path) -> None:
    found = load_event(event)
    source = _source(event, teams=found.teams[1:])
    from hackathon.web.report.report import remarks

    with speaking("en"):
        view = report_view(source)
        told = remarks(source, (), view)
    assert "Aurora" not in [team.name for team in view.teams]
    # its folder is no team's any more, and nothing of it is read
    assert not [each for each in told if "Aurora" in each]
    kept = replace(_source(event), event=replace(found, teams=found.teams[1:]))
    with speaking("en"):
        assert [each for each in remarks(kept, (), report_view(kept)) if each.startswith("Aurora has runs")]


def test_a_team_that_did_not_come_is_counted_and_has_no_result(event: Path) -> None:
    found = load_event(event)
    source = _source(event, teams=[replace(found.teams[0], took_part=False), *found.teams[1:]])
    with speaking("en"):
        view = report_view(source)
    assert view.people.took_part == 5 and view.people.people == 8
    assert "Aurora" not in [team.name for team in view.teams], "it is counted, and not named"


def test_sentences_end_as_the_event_wants_them(event: Path) -> None:
    polite, _ = report_files(_source(event), ["ja"], surveys=[])
    assert "参加したのは 6 チーム、11 人" in polite["report.ja.md"] and "）です。" in polite["report.ja.md"]
    assert not re.search(r"(?:(?<![まで])した|である|った|ない)。", _own_words(str(polite["report.ja.md"])))
    plain, _ = report_files(_source(event, report=Article(style="plain")), ["ja"], surveys=[])
    for name in ("report.ja.md", "report.ja.html"):
        assert not POLITE.search(_own_words(str(plain[name]))), name
        assert "）である。" in plain[name] and "を開催した。" in plain[name] and "感謝する。" in plain[name]
    english, _ = report_files(_source(event, report=Article(style="plain")), ["en"], surveys=[])
    assert english["report.md"] == report_files(_source(event), ["en"], surveys=[])[0]["report.md"]


def _own_words(text: str) -> str:
    """Return a report without what people wrote."""
    said = ("目的を早く伝える。", "準備の確認を早めに行う。", "学習を ChainerMN に移した。", "第111回", "第3回である。")
    for each in said:
        text = text.replace(each, "")
    return text


def test_every_sentence_of_a_report_has_a_plain_ending() -> None:
    of_reports = re.compile(
        r"templates/report/report|web/report/(?!report|slides)|profiling/(?:gains|shares|sentences)|survey_page"
    )
    sentences = [(files, text) for files, _, text in pairs() if "。" in text and of_reports.search(files)]
    assert len(sentences) > 40
    assert [entry for entry in sentences if POLITE.search(plain_style(entry[1]))] == []
    for polite, plain in (
        ("速くなったチームはありませんでした。", "速くなったチームはなかった。"),
        ("測定した値です。", "測定した値である。"),
        ("6チームが参加し、実測しました。", "6チームが参加し、実測した。"),
        ("結果は示しません。", "結果は示さない。"),
        ("分かります。", "分かる。"),
        ("ですます調", "ですます調"),
        ("感謝いたします。", "感謝する。"),
        ("デスクです", "デスクである"),
        ("まだ済んでいません。", "まだ済んでいない。"),
    ):
        assert plain_style(polite) == plain


def test_authors_closing_and_photographs(event: Path, tmp_path: Path) -> None:
    folder = tmp_path / "event"
    shutil.copytree(event, folder)
    (folder / "hall.jpg").write_bytes(jpeg(6))
    (folder / "talk.png").write_bytes(png(30, 20, (b"tEXt", b"Author\0Taro")))
    article = Article(
        authors=["Hanako Suzuki (the centre)", "Taro Sato"], closing="See you again. Written with akari.",
        photographs=[Photograph("hall.jpg", {"en": "The hall", "ja": "会場"}), Photograph("talk.png", "By akari")],
    )  # fmt: skip
    source = replace(_source(folder), event=replace(load_event(folder), report=article))
    files, _ = report_files(source, ["en", "ja"])
    hall, talk = (name for name in files if name.endswith((".jpg", ".png")))
    assert b"Taro" not in files[hall] and b"Taro" not in files[talk]
    text, page = str(files["report.md"]), str(files["report.html"])
    assert f"![The hall]({hall})" in text and "![会場](" in files["report.ja.md"]
    assert "Hanako Suzuki (the centre) and Taro Sato" in text and "See you again. Written with user." in text
    assert f"By user]({talk})" in text and page.count('<img src="data:image/') == 2
    assert "We thank" not in text and "photographs_slot" not in text and "place for photographs" not in text
    write_together(tmp_path / "out", files)
    write_together(tmp_path / "out", files)
    (tmp_path / "out" / hall).write_bytes(b"another picture")
    with pytest.raises(RequestError):
        write_together(tmp_path / "out", files)
    without, _ = report_files(_source(event), ["en"])
    assert "We thank everyone who took part, and the tutors and Preferred Networks" in without["report.md"]
    assert "<!-- place for photographs" in without["report.md"] and "<!-- place for" in without["report.html"]


def test_tutors_are_named_with_their_affiliation_where_the_event_says_so(event: Path) -> None:
    found = load_event(event)
    tutors = [replace(found.tutors[0], affiliation="A company"), replace(found.tutors[1], name="")]
    source = _source(event, tutors=tutors, publish=replace(found.publish, tutors=True))
    files, _ = report_files(source, ["en"])
    assert "2 people helped the teams: Tomo (A company)." in files["report.md"]
    assert "tamaki" not in files["report.md"], "a tutor without a name is not told by the account"


def test_the_html_is_one_sound_file_and_valid_markdown(report: Path) -> None:
    for name in ("report.html", "report.ja.html"):
        page = Page((report / name).read_text("utf-8"))
        tags = [tag for tag, _ in page.tags]
        assert tags.count("h1") == 1 and "script" not in tags and "link" not in tags and "img" not in tags
        assert tags.count("svg") >= 3, "curves of teams, and the survey"
        ids = [attributes["id"] for _, attributes in page.tags if attributes.get("id")]
        assert len(ids) == len(set(ids))
        assert not [each for _, attributes in page.tags for each in attributes if each == "style"]
    tokens = MarkdownIt("commonmark").enable("table").parse((report / "report.md").read_text("utf-8"))
    tables = sum(token.type == "table_open" for token in tokens)
    assert tables == len(re.findall(r"^\|(?: -+:? \|)+$", (report / "report.md").read_text("utf-8"), re.MULTILINE)) >= 7


def test_hostile_words_are_only_words(tmp_path: Path) -> None:
    values = {"title": HOSTILE, "occasion": HOSTILE, "place": HOSTILE, "hosts": [HOSTILE], "lessons": [HOSTILE]}
    event_2019(tmp_path, **values)
    for key in ("project", "model", "done"):
        _change(tmp_path, key, HOSTILE, team=0)
    files, _ = report_files(_source(tmp_path), ["en", "ja"])
    for name, text in files.items():
        assert not [letter for letter in NOT_SHOWN if letter in text], name
        if name.endswith(".html"):
            page = Page(text)
            assert {tag for tag, _ in page.tags}.isdisjoint({"script", "img", "b"})
            assert "<script>alert(1)</script>" in page.text
        else:
            html = MarkdownIt("commonmark").enable("table").render(text)
            assert "<script" not in html and "<img" not in html and "{{7*7}}" in html


def test_an_edited_report_stays_and_a_new_one_takes_its_place(tmp_path: Path) -> None:
    text = signed(f"one\n<!-- {MARK} -->\n")
    write_together(tmp_path, {"a.md": text, "b.md": text})
    write_together(tmp_path, {"a.md": signed(f"two\n<!-- {MARK} -->\n")})
    (tmp_path / "b.md").write_text(text.replace("one", "mine"))
    with pytest.raises(RequestError) as caught:
        write_together(tmp_path, {"a.md": text, "b.md": text})
    assert str(tmp_path / "b.md") in caught.value.message and "a.md" not in caught.value.message
    assert (tmp_path / "a.md").read_text().startswith("two"), "all of them or none"
    assert (tmp_path / "b.md").read_text().startswith("mine")
    write_together(tmp_path, {"a.md": text, "b.md": text}, force=True)
    assert unchanged(tmp_path / "b.md") and not [each for each in tmp_path.iterdir() if each.suffix == ".tmp"]


def test_foreign_things_are_never_written_over(tmp_path: Path) -> None:
    text = signed(f"one\n<!-- {MARK} -->\n")
    (tmp_path / "mine.txt").write_text("mine")
    (tmp_path / "a.md").symlink_to(tmp_path / "mine.txt")
    (tmp_path / "b.md").mkdir()
    with pytest.raises(RequestError):
        write_together(tmp_path, {"a.md": text})
    with pytest.raises(RequestError):
        write_together(tmp_path, {"b.md": text}, force=True)
    write_together(tmp_path, {"a.md": text}, force=True)
    assert (tmp_path / "mine.txt").read_text() == "mine", "the link is replaced, not what it leads to"


def test_a_full_disk_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = signed(f"old\n<!-- {MARK} -->\n")
    write_together(tmp_path, {"a.md": old, "b.md": old})
    times: list[int] = []

    def full(descriptor: int) -> None:
        times.append(descriptor)
        if len(times) == 2:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(made_files.os, "fsync", full)
    new = signed(f"new\n<!-- {MARK} -->\n")
    with pytest.raises(RequestError, match="No space left"):
        write_together(tmp_path, {"a.md": new, "b.md": new})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.md", "b.md"]
    assert all(path.read_text() == old for path in tmp_path.iterdir())


@pytest.mark.parametrize(
    ("days", "english", "japanese"),
    [
        (["2019-01-24", "2019-01-25"], "24–25 January 2019 (Thu–Fri)", "2019年1月24日（木）–25日（金）"),
        (["2019-01-31", "2019-02-01"], "31 January – 1 February 2019 (Thu–Fri)", "2019年1月31日（木）–2月1日（金）"),
        (
            ["2018-12-31", "2019-01-01"],
            "31 December 2018 – 1 January 2019 (Mon–Tue)",
            "2018年12月31日（月）–2019年1月1日（火）",
        ),
        (["2019-01-24"], "Thu, 24 January 2019", "2019年1月24日（木）"),
        (
            ["2019-01-24", "2019-01-26"],
            "Thu, 24 January 2019 and Sat, 26 January 2019",
            "2019年1月24日（木）、2019年1月26日（土）",
        ),
        (["2019-01-25", "2019-01-24"], "24–25 January 2019 (Thu–Fri)", "2019年1月24日（木）–25日（金）"),
        ([], "", ""),
    ],
)
def test_days(days: list[str], english: str, japanese: str) -> None:
    for language, expected in (("en", english), ("ja", japanese)):
        with speaking(language):
            assert days_text(days) == expected
