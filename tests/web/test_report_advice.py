"""The report lists advice with the gain that was expected and the one that was measured, and makes up neither."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hackathon.config.load import load_event
from hackathon.index.catalog import Catalog
from hackathon.index.gather import gather
from hackathon.text.messages import speaking
from hackathon.web.report.files import report_files
from hackathon.web.report.report import report_view
from support.event_2019 import event_2019
from support.planted_steps import Plan, Step, exposed_communication, healthy, plant, slow_loader
from support.recorded_run import RecordedRun
from support.samples.runs import Sample, write_study

START = 1_548_290_000.0


def _runs(project: Path, team: str, plan: Plan, strength: float, **parameters: Any) -> None:
    first = len(list((project / "runs").iterdir()))
    for number in range(3):
        name = f"20190125-{first + number:06d}-own-2p-{'abcdefghijklmnopqrstuvwxyz'[first + number]}aaaaaaa"
        run = RecordedRun(project / "runs" / name, 2, team=team, parameters=parameters)

        def jittered(rank: int, step: int, processes: int, strength: float, more: float = 0.001 * number) -> Step:
            each = plan(rank, step, processes, strength)
            return replace(each, compute=each.compute + more)

        plant(run.path, jittered, 2, strength)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    folder = tmp_path_factory.mktemp("report") / "event"
    event_2019(folder)
    for team in ("Aurora", "Borealis", "Cumulus"):
        write_study(folder / team / "train", [Sample(1, 900.0)], team=team, start=START)
    aurora, borealis, cumulus = (folder / team / "train" for team in ("Aurora", "Borealis", "Cumulus"))
    _runs(aurora, "Aurora", slow_loader, 0.1, workers=0, lr=0.1)
    _runs(aurora, "Aurora", healthy, 0.0, workers=4, lr=0.1)
    _runs(borealis, "Borealis", exposed_communication, 0.1, accumulate=1, lr=0.1)
    # another rate beside it: nobody can say which of the two did it
    _runs(borealis, "Borealis", healthy, 0.0, accumulate=2, lr=0.2)
    _runs(cumulus, "Cumulus", healthy, 0.0, workers=0)
    return gather(folder, load_event(folder), ask=False, index=folder / "index.sqlite3", diagnose=False)


def test_what_came_true_what_is_untried_and_nothing_for_the_healthy(source: Catalog) -> None:
    with speaking("en"):
        rows = report_view(source).advice
    assert [(row.team, row.verdict, row.changed) for row in rows] == [
        ("Aurora", "came-true", "workers 0 → 4"), ("Borealis", "untried", ""),
    ]  # fmt: skip
    assert rows[0].gain == pytest.approx(0.5, abs=0.03) and rows[0].expected == "at most 52 %"
    assert rows[1].measured == "–"


def test_both_files_have_the_table_in_both_languages(source: Catalog) -> None:
    files, troubles = report_files(source, ["en", "ja"])
    assert troubles == []
    for name, words in (("report.md", "came true"), ("report.html", "came true"), ("report.ja.md", "期待どおり")):
        assert words in files[name] and "workers 0 → 4" in files[name], name
