"""A team's slides: from its records, for its own account too, and never over an edited deck."""

import io
import json
import re
import sys
from pathlib import Path

import pytest
import yaml
from markdown_it import MarkdownIt

from hackathon.access.permissions import user_name

pytest.importorskip("vl_convert")
from hackathon.board.board import open_board, reply
from hackathon.board.directory import make_place
from hackathon.board.post import finding_of, post
from hackathon.cli.main import run as hackathon
from hackathon.index import gather as gathering
from hackathon.runs.directory import RunDirectory
from hackathon.web.report import slide_files
from hackathon.web.report.signed_files import unchanged
from support.event_2019 import event_2019
from support.pages.rendered import HOSTILE, NOT_SHOWN, Page
from support.samples.runs import Sample, write_run, write_study

PICTURE = b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><path stroke="#000" d="M0,0L9,9"/></svg>'
START = 1_548_290_000.0


@pytest.fixture(scope="module")
def event(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An event whose first team measured twice, failed once on the way, and asked on the board."""
    folder = tmp_path_factory.mktemp("slides") / "event"
    event_2019(folder)
    make_place(folder / "shared", "sticky")
    project = folder / "Aurora" / "train"
    write_study(project, [Sample(1, 900.0), Sample(2, 1600.0)], team="Aurora", start=START)
    broken = write_run(project / "runs", Sample(4, None, "FAILED", "exit code 1", exit_code=1), 5, start=START + 3600)
    (broken / "logs" / "rank-1.log").write_text("ModuleNotFoundError: No module named 'horovod'\n")
    samples = [Sample(1, 1000.0), Sample(2, 1900.0), Sample(4, 3500.0)]
    tuned = write_study(project, samples, title="tuned", team="Aurora", start=START + 7200)
    for run in tuned.project.glob("runs/*"):
        if run.name >= "20190124-11":  # the program of the later runs has one more line
            (run / "source" / "train.py").write_text("one\nmore\n")
            source = (run / "source.json").read_text().replace("00" * 32, "11" * 32)
            (run / "source.json").write_text(source)
        else:
            (run / "source" / "train.py").write_text("one\n")
    finding = finding_of(RunDirectory(broken))
    post(open_board(folder / "shared", folder), "Horovod is missing\nWhat now?", kind="ask", run=broken.name,
         folder=project, finding=finding)  # fmt: skip
    board = open_board(folder / "shared", folder)
    reply(board, board.posts[0], "solve", "module load horovod")
    return folder


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is drawn and nothing is diagnosed: `made` and the page that is compared with it have both."""
    monkeypatch.setattr(slide_files, "pictures", lambda specs, form: [PICTURE for _ in specs])
    monkeypatch.setattr(gathering, "_diagnose", lambda index, folders: [])


def _slides(patch: pytest.MonkeyPatch, folder: Path, *words: str, expect: int = 0) -> str:
    out, err = io.StringIO(), io.StringIO()
    patch.chdir(folder)
    patch.setattr(sys, "stdout", out)
    patch.setattr(sys, "stderr", err)
    assert hackathon(["slides", *words, "--no-ask"]) == expect, err.getvalue()
    return out.getvalue() + err.getvalue()


@pytest.fixture(scope="module")
def made(event: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Language → the deck's text."""
    folder = tmp_path_factory.mktemp("decks")
    with pytest.MonkeyPatch.context() as patch:
        for language in ("en", "ja"):
            said = _slides(patch, event, "aurora", "--to", str(folder / f"{language}.md"), "--lang", language)
            assert str(folder / f"{language}-speedup.svg") in said
    return {path.stem: path.read_text("utf-8") for path in folder.glob("*.md")}


def _parts(text: str) -> tuple[dict[str, object], list[str]]:
    """Return the front matter and the slides as Marp takes them apart."""
    assert text.startswith("---\n")
    front, _, rest = text[4:].partition("\n---\n")
    return yaml.safe_load(front), re.split(r"\n---\n", rest)


@pytest.mark.slow
def test_it_is_a_deck_for_marp(made: dict[str, str]) -> None:
    for language, text in made.items():
        front, slides = _parts(text)
        assert front["marp"] is True and front["paginate"] is True and front["lang"] == language
        assert len(slides) >= 8
        assert all(len(re.findall(r"^#{1,2} ", slide, re.MULTILINE)) == 1 for slide in slides)
        rules = [token for token in MarkdownIt("commonmark").enable("table").parse(text) if token.type == "hr"]
        assert len(rules) == len(slides), "the front matter's first ruler, and one between two slides"


def test_it_tells_start_changes_and_speedup_with_runs(made: dict[str, str]) -> None:
    _, slides = _parts(made["en"])
    by_title = {re.findall(r"^#{1,2} (.*)$", slide, re.MULTILINE)[0]: slide for slide in slides}
    start = by_title["Starting point"]
    assert "First measurement: 900 samples/s (processes: 1)" in start
    first = re.findall(r"Run (20190124-\S+-1p-\w{8})", start)[0]
    changes = by_title["What we changed"]
    assert "| Processes | `1` | `4` |" in changes and "| lr | `0.1` | `0.4` |" in changes
    assert "changed: train.py (lines: +1, −0)" in changes
    assert f"Between runs {first} and " in changes and "-4p-" in changes
    assert "3.5 × on 4 processes (base: 1), parallel efficiency 87.5 %" in by_title["Speed-up"]
    assert "![w:840](en-speedup.svg)" in by_title["Speed-up"]
    assert "| 4 | 2 | 3,500 | 3.5 × | 87.5 % | 1 |" in by_title["Speed-up in numbers"]


@pytest.mark.usefixtures("quick")
def test_slower_is_said_and_a_look_at_a_node_is_no_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "event"
    event_2019(folder, surveys=None)
    project = folder / "Aurora" / "train"
    write_study(project, [Sample(1, 1000.0), Sample(2, 747.0)], team="Aurora", start=START)
    for number in range(40, 44):  # newer, and more of them than of the program
        probe = write_run(project / "runs", Sample(1, 5000.0), number, name="ready", team="Aurora", start=START)
        record = json.loads((probe / "request.json").read_text())
        record |= {"name": "ready", "tags": ["ready"], "recipe": None, "command": ["python3", "hackathon_ready.py"]}
        (probe / "request.json").write_text(json.dumps(record))
    _slides(monkeypatch, folder, "Aurora", "--to", str(tmp_path / "x.md"), "--lang", "en")
    text = (tmp_path / "x.md").read_text("utf-8")
    assert "Program: ready" not in text and "First measurement: 1,000" in text
    assert "Slower on 2 processes: 0.747 × (base: 1)" in text and "\n## Speed-up\n" not in text
    assert hackathon(["event", "report", "--to", str(tmp_path / "report"), "--no-ask"]) == 0
    report = (tmp_path / "report" / "report.md").read_text("utf-8")
    assert "None became faster with more processes." in report and "largest speed-up was" not in report
    assert "0.747 times as fast" in report and "5,000" not in report


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(
    ("speeds", "said"),
    [
        ((1000.0, 3200.0, 2900.0), "3.2 × on 4 processes (base: 1), parallel efficiency 80.0 %"),
        ((1000.0, 900.0, 800.0), "Slower on 4 processes: 0.9 × (base: 1), parallel efficiency 22.5 %"),
    ],
)
def test_the_largest_speedup_is_told_as_everywhere_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, speeds: tuple[float, ...], said: str
) -> None:
    folder = tmp_path / "event"
    event_2019(folder, surveys=None)
    samples = [Sample(count, speed) for count, speed in zip((1, 4, 8), speeds, strict=True)]
    write_study(folder / "Aurora" / "train", samples, team="Aurora", start=START)
    _slides(monkeypatch, folder, "Aurora", "--to", str(tmp_path / "x.md"), "--lang", "en")
    _slides(monkeypatch, folder, "Aurora", "--to", str(tmp_path / "x.html"), "--lang", "en")
    for name, head in (("x.md", "## {}\n"), ("x.html", "<h2>{}</h2>")):
        text = (tmp_path / name).read_text("utf-8")
        assert said in text, name
        (row,) = [line for line in text.splitlines() if line.startswith("| 4 |") or 'class="n">4</th>' in line]
        assert (" ▼" in row) == (speeds[1] < speeds[0]), "marked in the table, as its remark says"
        assert (head.format("No speed-up") in text) == (speeds[1] < speeds[0]), name


def test_it_tells_what_was_hard_and_what_solved_it(made: dict[str, str]) -> None:
    text = made["en"]
    row = next(line for line in text.splitlines() if "horovod" in line and line.startswith("|"))
    assert re.search(r"next successful run 20190124-\S+", row), row


def test_only_the_team_can_fill_the_blanks(made: dict[str, str]) -> None:
    _, slides = _parts(made["en"])
    assert "**To be filled in:** What will you do next?" in slides[-1]
    assert made["en"].count("To be filled in:") >= 5
    assert made["ja"].count("【記入欄】") == made["en"].count("To be filled in:")


@pytest.mark.usefixtures("quick")
def test_posts_of_the_team_are_on_a_slide(event: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import os

    own = user_name(os.geteuid())
    path = event / "hackathon.yaml"
    before = path.read_text("utf-8")
    try:
        path.write_text(before.replace("user: akari", f"user: {own}"), "utf-8")
        # without a name it is the team of this account
        _slides(monkeypatch, event, "--to", str(tmp_path / "own.md"), "--lang", "en")
    finally:
        path.write_text(before, "utf-8")
    text = (tmp_path / "own.md").read_text("utf-8")
    assert "- Horovod is missing → module load horovod" in text


@pytest.mark.usefixtures("quick")
def test_a_team_without_records_gets_blanks(event: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _slides(monkeypatch, event, "ひので", "--to", str(tmp_path / "x.md"), "--lang", "ja")
    _, slides = _parts((tmp_path / "x.md").read_text("utf-8"))
    assert "速度向上の記録がありません" in "".join(slides)
    assert [path.name for path in tmp_path.iterdir()] == ["x.md"], "no plot of nothing"


@pytest.mark.usefixtures("quick")
def test_other_teams_need_not_be_readable(event: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (event / "Borealis").mkdir(exist_ok=True)
    asked: list[str] = []
    from hackathon.index import projects as places

    found = places.team_folders

    def looked(team: object, folder: Path) -> list[Path]:
        asked.append(team.name)  # type: ignore[attr-defined]
        return found(team, folder)  # type: ignore[arg-type]

    monkeypatch.setattr(places, "team_folders", looked)
    _slides(monkeypatch, event, "Aurora", "--to", str(tmp_path / "x.md"))
    assert set(asked) == {"Aurora"}


@pytest.mark.slow
def test_the_page_holds_all_that_the_deck_for_marp_holds(
    event: Path, made: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for language in ("en", "ja"):
        path = tmp_path / f"{language}.html"
        said = _slides(monkeypatch, event, "Aurora", "--to", str(path), "--lang", language)
        assert [each.name for each in tmp_path.glob(f"{language}*")] == [path.name], "one file, with its plot"
        assert ("print it as PDF" if language == "en" else "PDF") in said
        text = path.read_text("utf-8")
        page = Page(text)
        assert page.tags[0] == ("html", {"lang": language}) and unchanged(path)
        titles = re.findall(r"^#{1,2} (?!hackathon-made)(.*)$", made[language], re.MULTILINE)
        assert re.findall(r"<h[12]>(.*?)</h[12]>", text) == titles
        words = " ".join(page.text.split())
        for told in ("3.5 ×", "87.5 %", "horovod", "train.py"):
            assert told in words and told in made[language]
        assert text.count('class="blank"') == made[language].count("✎")
        (plot,) = page.named("img")
        assert str(plot["src"]).startswith("data:image/svg+xml;base64,") and "http" not in str(plot["src"])
        assert not re.search(r'(?:src|href)="(?!data:)', text), "it asks for nothing else"


@pytest.mark.parametrize("name", ["talk.pdf", "talk.pptx", "talk", "talk.htm", "md"])
def test_another_suffix_is_refused(event: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str) -> None:
    said = _slides(monkeypatch, event, "Aurora", "--to", str(tmp_path / name), "--lang", "en", expect=2)
    assert f"{name} is not a name for slides; it must end with .html or .md" in said
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("quick")
def test_an_edited_page_stays(event: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "deck.html"
    _slides(monkeypatch, event, "Aurora", "--to", str(path), "--lang", "en")
    path.write_text(path.read_text("utf-8").replace("What will you do next?", "64 processes"), "utf-8")
    assert "--force" in _slides(monkeypatch, event, "Aurora", "--to", str(path), "--lang", "en", expect=2)
    assert "64 processes" in path.read_text("utf-8")


@pytest.mark.usefixtures("quick")
def test_an_edited_deck_stays(event: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    deck = tmp_path / "deck.md"
    _slides(monkeypatch, event, "Aurora", "--to", str(deck), "--lang", "en")
    _slides(monkeypatch, event, "Aurora", "--to", str(deck), "--lang", "ja")
    assert "出発点" in deck.read_text("utf-8"), "one that nobody edited is made anew"
    edited = deck.read_text("utf-8").replace("次に取り組むこと", "64 プロセスを試す")
    deck.write_text(edited, "utf-8")
    plot = (tmp_path / "deck-speedup.svg").read_bytes()
    said = _slides(monkeypatch, event, "Aurora", "--to", str(deck), "--lang", "en", expect=2)
    assert str(deck) in said and "--force" in said
    assert deck.read_text("utf-8") == edited and (tmp_path / "deck-speedup.svg").read_bytes() == plot
    _slides(monkeypatch, event, "Aurora", "--to", str(deck), "--lang", "en", "--force")
    assert "Starting point" in deck.read_text("utf-8")


def test_wrong_requests_name_the_remedy(event: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("HACKATHON_SHARED", raising=False)
    said = _slides(monkeypatch, event, "Auorra", "--lang", "en", expect=2)
    assert "no team Auorra" in said and "Borealis" in said
    assert "hackathon slides TEAM" in _slides(monkeypatch, event, "--lang", "en", expect=2)
    assert "HACKATHON_SHARED" in _slides(monkeypatch, tmp_path, "Aurora", "--lang", "en", expect=2)
    said = _slides(monkeypatch, event, "Aurora", "--to", str(tmp_path / "no" / "x.md"), "--lang", "en", expect=2)
    assert f"folder {tmp_path / 'no'} does not exist" in said


@pytest.mark.usefixtures("quick")
def test_hostile_words_are_only_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    event_2019(tmp_path, title=HOSTILE, place=HOSTILE)
    path = tmp_path / "hackathon.yaml"
    value = yaml.safe_load(path.read_text("utf-8"))
    value["teams"][0] |= {"name": "A\"'><b>|#", "project": HOSTILE, "model": HOSTILE, "done": HOSTILE}
    path.write_text(yaml.safe_dump(value, allow_unicode=True), "utf-8")
    _slides(monkeypatch, tmp_path, "A\"'><b>|#", "--lang", "en")
    (deck,) = tmp_path.glob("slides*.html")
    page = deck.read_text("utf-8")
    assert not [letter for letter in NOT_SHOWN if letter in page]
    assert {tag for tag, _ in Page(page).tags} <= {
        "html", "head", "meta", "title", "style", "body", "main", "section", "h1", "h2", "p", "dl", "div", "dt", "dd",
        "b",
    }  # fmt: skip
    assert "<script" not in page and "{{7*7}}" in page
    _slides(monkeypatch, tmp_path, "A\"'><b>|#", "--to", str(tmp_path / "x.md"), "--lang", "en")
    text = (tmp_path / "x.md").read_text("utf-8")
    assert not [letter for letter in NOT_SHOWN if letter in text]
    html = MarkdownIt("commonmark").enable("table").render(text)
    assert "<script" not in html and "<img" not in html and "<b>" not in html and "{{7*7}}" in html
