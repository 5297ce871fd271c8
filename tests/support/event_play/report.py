"""What comes out: usage, the report in two languages, a team's slides, the published site."""

import csv
import html
import io
import json
import re
import zipfile
from pathlib import Path
from typing import Any

import pytest

from support.event_2019 import COUNTS, MEANS, TEAMS, values_2019
from support.event_play.play import Play
from support.event_play.programs import FAILS
from support.event_play.survey import WITHDRAWN
from support.event_play.teams import project, write

LANGUAGES = ("en", "ja")
KINDS = {
    "en": ("undergraduate student", "master's student", "doctoral student", "university staff"),
    "ja": ("学部学生", "修士課程", "博士課程", "大学教職員"),
}
PEOPLE = {
    "en": ("Teams selected", "Teams that took part", "People who took part"),
    "ja": ("採択チーム", "参加チーム", "参加人数"),
}
OF_KIND = (1, 5, 4, 1)


def rows(markdown: str) -> list[list[str]]:
    """Return the cells of all tables of a Markdown text, without what keeps letters harmless in it."""
    found = []
    for line in markdown.splitlines():
        if line.startswith("|"):
            cells = re.split(r"(?<!\\)\|", line)[1:-1]
            found.append([re.sub(r"\\(.)", r"\1", cell).strip() for cell in cells])
    return found


def schedule_rows(language: str) -> list[list[str]]:
    """Return the rows of the event's schedule as a table shows them: no time, a start without an end, both."""
    found = []
    for item in values_2019()["schedule"]:
        start, end, title = item.get("start", ""), item.get("end", ""), item["title"]
        time = f"{start}–{end}" if start else ""
        found.append([time, title if isinstance(title, str) else title[language]])
    return found


def untold(folder: Path, secrets: list[bytes]) -> None:
    """See that no file that goes out, nor one inside an archive, holds what is nobody's business."""
    found = 0
    for path in folder.rglob("*"):
        if path.is_file():
            parts = [path.read_bytes()]
            if zipfile.is_zipfile(path):
                with zipfile.ZipFile(path) as archive:
                    parts += [archive.read(name) for name in archive.namelist()]
            assert not [(path, secret) for part in parts for secret in secrets if secret in part]
            found += len(parts)
    assert found > 3


def use(play: Play) -> None:
    """Hold `event usage` by team and day against what the runs themselves say: jobs, and seconds on their node."""
    told = json.loads(play.done("kanri", "event", "usage", "--json", at=play.event).out)
    text = play.done("kanri", "event", "usage", "--by", "team,day", "--csv", "-", at=play.event).out
    table = list(csv.DictReader(io.StringIO(text.lstrip("\ufeff"))))
    for team in TEAMS:
        sealed = list(play.team_folder(team).glob("*/runs/*/final.json"))
        # a run whose record is a link out of it is named, and not counted
        foreign = [path.parent.name for path in sealed if (path.parent / "request.json").is_symlink()]
        assert all(any(name in problem for problem in told["problems"]) for name in foreign)
        kept = sorted(path for path in sealed if path.parent.name not in foreign)
        # a job that two runs of an account name counts once, and is told; by another account's run nothing is hidden
        counted: dict[tuple[int, str], dict[str, Any]] = {}
        for path in kept:
            run = json.loads(path.read_text())
            if counted.setdefault((path.stat().st_uid, run["job_id"]), run) is not run:
                assert any(path.parent.name in problem and "already counted" in problem for problem in told["problems"])
        runs = list(counted.values())
        hours = sum(run["t_ended"] - run["t_started"] for run in runs) / 3600
        rows = [each for each in told["rows"] if each["team"] == team]
        assert sum(row["jobs"] for row in rows) == len(runs) >= 4
        used = sum(row["node_hours"] for row in rows)
        assert used == pytest.approx(hours, abs=len(runs) / 3600)
        (row,) = [row for row in rows if row["cluster"] == "laptop"]  # what a hostile member forged names no cluster
        assert row["left"]["node_hours"] == pytest.approx(row["budget"]["node_hours"] - row["node_hours"])
        days = [each for each in table if each["team"] == team]
        assert sum(float(each["node_hours"]) for each in days) == pytest.approx(used, abs=1e-5)


def hold(cells: list[list[str]], language: str, results: dict[str, dict[str, Any]]) -> None:
    """Hold the tables of a report, or of pages, against what happened."""
    for row in schedule_rows(language):
        assert row in cells, (row, cells)
    people = [row for row in cells if row[0] in KINDS[language]]
    assert people == [[kind, str(count)] for kind, count in zip(KINDS[language], OF_KIND, strict=True)]
    for word, count in zip(PEOPLE[language], (8, 6, 11), strict=True):
        assert [word, str(count)] in cells
    hold_survey(cells)
    for team, study in results.items():
        team_rows = [row for row in cells if row[0] == team and any(cell.endswith("×") for cell in row)]
        if any(doubt["id"] == "super-linear" for point in study["points"] for doubt in point["doubts"]):
            assert team_rows == []  # measured once on a machine that others used as well: no table has it
            continue
        (row,) = team_rows
        at = next(number for number, cell in enumerate(row) if cell.endswith("×"))
        processes, base = int(row[at + 2]), int(row[at + 3])
        point = next(point for point in study["points"] if point["processes"] == processes)
        assert (processes, base) == (2, study["base_processes"])
        assert float(row[at].removesuffix("×")) == pytest.approx(point["speedup"], rel=0.006)
        assert float(row[at + 1].removesuffix("%")) == pytest.approx(100 * point["efficiency"], abs=0.06)


def hold_survey(cells: list[list[str]]) -> None:
    """Hold a table of the four questions against the counts and means of 2019."""
    for name, counts in COUNTS.items():
        (row,) = [row for row in cells if row[1:6] == [str(count) for count in counts]]
        assert row[6] == "11"
        assert f"{MEANS[name]:.1f}" in row[7:]


def report(play: Play, results: dict[str, dict[str, Any]], secrets: list[bytes]) -> None:
    """Make the report, and hold Markdown, HTML and picture in both languages against what happened."""
    folder = play.home("kanri") / "report"
    said = play.done("kanri", "event", "report", "--to", str(folder), at=play.event)
    assert "lacks" not in said.error, said.error
    for language in LANGUAGES:
        name = "report" if language == "en" else f"report.{language}"
        text = (folder / f"{name}.md").read_text("utf-8")
        page = (folder / f"{name}.html").read_text("utf-8")
        hold(rows(text), language, results)
        hold(html_rows(page), language, results)
        for whole in (text, page):
            assert "とても有意義でした" in whole
            assert WITHDRAWN not in whole
            assert "Slack" in whole
            assert "ChainerMN が見つかりません" in whole  # from the board, with what helped
            assert not [role for role in play.uids if play.account(role) in whole]
        assert "<svg" in (folder / f"{name.replace('report', 'report-after')}.svg").read_text("utf-8")
    untold(folder, secrets)
    write(play, "kanri", folder / "report.md", "my own words\n")
    assert play.cli("kanri", "event", "report", "--to", str(folder), at=play.event).code == 2
    assert (folder / "report.md").read_text() == "my own words\n"


def html_rows(page: str) -> list[list[str]]:
    """Return the cells of all rows of tables of a page, blanks put together."""
    found = []
    page = re.sub(r'<span class="?spoken"?>.*?</span>', "", page)
    for row in re.findall(r"<tr[ >].*?(?=<tr[ >]|</tr>|</table>)", page, re.DOTALL):  # a site leaves out ends of rows
        cells = re.findall(r"<t[hd][ >].*?(?=<t[hd][ >]|</t[hd]>|\Z)", row, re.DOTALL)
        found.append([" ".join(html.unescape(re.sub(r"<[^>]*>", " ", cell)).split()) for cell in cells])
    return found


def slides(play: Play, results: dict[str, dict[str, Any]]) -> None:
    """Let members of two teams make their slides in their accounts, one of them the team whose run failed."""
    for team in ("ひので", FAILS):
        role = play.of_team(team)[-1]
        path = play.home(role) / "slides.md"
        play.done(role, "slides", "--to", str(path), at=project(play, team))
        text = path.read_text("utf-8")
        assert "marp: true" in text
        assert f"{results[team]['points'][1]['speedup']:.3g} ×" in text
        assert ("chainermn" in text) == (team == FAILS)


def site(play: Play, secrets: list[bytes]) -> None:
    """Publish the site, and look at its schedule, teams and survey."""
    folder = play.home("kanri") / "site"
    play.done("kanri", "publish", "--to", str(folder), at=play.event)
    untold(folder, secrets)
    pages = {path.name: path.read_text("utf-8") for path in (folder / "site").glob("*.html")}
    for language in LANGUAGES:
        ending = ".html" if language == "en" else f".{language}.html"
        cells = html_rows(pages[f"schedule{ending}"])
        assert [row for row in cells if row in schedule_rows(language)] == schedule_rows(language)
        survey = pages[f"survey-after{ending}"]
        hold_survey(html_rows(survey))
        assert "とても有意義でした" in survey
        assert WITHDRAWN not in survey
        teams = [page for name, page in pages.items() if name.startswith("team-") and name.endswith(ending)]
        for team in TEAMS:
            assert any(f"<h1>{team}</h1>" in page for page in teams), team
        index = pages[f"index{ending}"]
        assert f"schedule{ending}" in index
        assert f"survey-after{ending}" in index
        assert all(team in index for team in TEAMS)
        # an account that means harm has a run of an unknown cluster: it takes nobody's result from the first page
        assert len(re.findall(r"<dt>(?:Speed-up|速度向上率)<", index)) == len(TEAMS)
        assert re.search("id=all-(?:weak|strong)-speedup", index)
    everything = "".join(pages.values())
    assert any("spyspysa" in name for name in pages)  # the run whose files are links has its page, too
    assert "ChainerMN が見つかりません" in pages["board.html"]
    assert not [role for role in play.uids if play.account(role) in everything]
    assert str(play.folder) not in everything
