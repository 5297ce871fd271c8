"""What a matter costs and what was lost are the same numbers on Now, the wall, Teams, `top`, `event usage`, the report.

All read one event at one moment; node-hours lost per hour, the use of budgets, and the classes of lost hours.
"""

import json
import re
import time
from pathlib import Path
from typing import Any

import pytest

from hackathon.cli.main import run as hackathon
from hackathon.index.catalog import Catalog
from hackathon.scaling.show import number, percent
from support.pages.rendered import read
from support.samples.afternoon import write_afternoon
from support.samples.source import event_source, page_of, view_of

pytestmark = pytest.mark.slow
COSTS = {"Drizzle": 8, "Nimbus": 4}
"""Nodes of the job that hangs, and of the one whose GPUs are idle."""


@pytest.fixture(scope="module")
def moment() -> float:
    return float(int(time.time()))


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory, moment: float) -> Path:
    folder = tmp_path_factory.mktemp("losses") / "event"
    write_afternoon(folder, moment)
    return folder


@pytest.fixture
def event(written: Path, moment: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The event, at whose moment the clock stands still."""
    monkeypatch.setattr(time, "time", lambda: moment)
    (tmp_path / "local").mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "local"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("HACKATHON_LANG", "en")
    monkeypatch.chdir(written)
    return written


@pytest.fixture
def source(event: Path, moment: float, tmp_path: Path) -> Catalog:
    return event_source(event, tmp_path / "index.sqlite", now=moment)


def usage(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    assert hackathon(["event", "usage", "--no-ask", "--json"]) == 0
    told: dict[str, Any] = json.loads(capsys.readouterr().out)
    return told


def test_a_matter_costs_the_same_wherever_it_is_shown(source: Catalog, capsys: pytest.CaptureFixture[str]) -> None:
    now = view_of(source, "now")
    assert {item.team: item.lost_per_hour for item in now.items if item.lost_per_hour} == COSTS
    wall = view_of(source, "wall")
    tiles = {tile.team: sum(matter.lost_per_hour for matter in tile.matters) for tile in wall.tiles}
    assert {team: cost for team, cost in tiles.items() if cost} == COSTS
    for kind in ("now", "wall"):
        text = read(page_of(source, kind)).text
        assert sorted(map(int, re.findall(r"(\d+) node-h/h lost", text))) == [4, 8], kind
    assert hackathon(["top", "--no-ask", "--json"]) == 0
    top = json.loads(capsys.readouterr().out)
    assert {item["team"]: item["lost_per_hour"] for item in top["items"] if item["lost_per_hour"]} == COSTS
    assert hackathon(["top", "--no-ask", "--once"]) == 0
    lines = capsys.readouterr().out.splitlines()
    for team, cost in COSTS.items():
        assert [line for line in lines if f"{cost} node-h/h lost" in line and team in line]
    assert [(item["kind"], item["team"]) for item in top["items"]] == [(item.kind, item.team) for item in now.items]


def test_budgets_are_those_of_event_usage(source: Catalog, capsys: pytest.CaptureFixture[str]) -> None:
    rows = {row["team"]: row["node_hours"] for row in usage(capsys)["rows"]}
    over = {team: hours for team, hours in rows.items() if hours >= 20}
    assert len(over) == 2
    said = {item.team: item.message for item in view_of(source, "now").items if item.kind == "budget"}
    assert said == {
        team: f"{number(hours, 3)} of 20 node-hours on reedbush-h used ({percent(hours / 20)})"
        for team, hours in over.items()
    }
    teams = read(page_of(source, "teams")).text
    for hours in rows.values():
        assert f"{number(hours, 3)} node-hours of 20 ({percent(hours / 20)})" in teams


def test_lost_hours_are_those_of_event_usage(
    source: Catalog, event: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = usage(capsys)
    view = view_of(source, "teams")
    assert len(told["lost"]) == len(view.lost) == 6
    for row, entry in zip(told["lost"], view.lost, strict=True):
        assert (row["team"], row["cluster"]) == (entry.team, entry.cluster)
        assert row["total"] == pytest.approx(entry.total, abs=1e-6)
        for name, hours in row["node_hours"].items():
            assert hours == (None if entry.of(name) is None else pytest.approx(entry.of(name), abs=1e-6))
    assert hackathon(["event", "usage", "--no-ask"]) == 0
    printed = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    page = read(page_of(source, "teams")).text.replace(" ", "")
    for line in view.lost_table[1]:
        assert " ".join(line) in printed and "".join(line).replace(" ", "") in page
    [both] = told["lost_by_cluster"]
    by_class, total = both["node_hours"], both["total"]
    # 23 minutes of eight nodes without progress; the idle job and the small ones go on
    assert by_class["hang"] == pytest.approx(8 * 23 / 60, abs=0.01)
    assert total == pytest.approx(sum(row["node_hours"] for row in told["rows"]), abs=1e-5)

    def share(name: str) -> str:
        return f"{100 * by_class[name] / total:.1f} %"

    assert hackathon(["event", "report", "--to", str(tmp_path / "report"), "--lang", "en", "--no-ask"]) == 0
    report = (tmp_path / "report" / "report.md").read_text("utf-8").replace("\\", "")
    assert f"What became of {total:.1f} node-hours on reedbush-h: runs that succeeded {share('success')}" in report
    assert f"failures {share('failure')}, time without progress ≥ {share('hang')}" in report
    sums = re.search(r"\| Sum \| reedbush-h \| \d+ \| ([\d.,]+) \|", report)
    assert sums is not None and sums[1] == number(total, 3)
