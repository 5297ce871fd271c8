"""A study of several settings on every page that shows studies: a curve for each combination, and its own numbers."""

import csv
import io
import json
from pathlib import Path

import pytest

from hackathon.index.catalog import Catalog
from hackathon.index.outcomes import main_study
from hackathon.index.studies import best_series, by_settings, by_study, results_of
from hackathon.runs.status import status
from hackathon.runs.study import find_studies, runs_of
from hackathon.scaling.collect import study_results
from hackathon.text.messages import speaking
from hackathon.web.masking.mask import Mask
from hackathon.web.site import downloads
from hackathon.web.views.study import study_figures
from support.samples.runs import Sample, write_study
from support.samples.source import folder_source, page_of, view_of

GRID = {
    0.1: {1: 100.0, 2: 190.0, 4: 360.0},
    0.4: {1: 500.0, 2: 700.0, 4: 800.0},
}
"""Learning rate → processes → throughput: the slower one scales better."""


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    folder = tmp_path_factory.mktemp("grid") / "digits"
    points = [(rate, size, value) for rate, values in GRID.items() for size, value in values.items()]
    samples = [Sample(size, value, accuracy=0.98 if rate == 0.1 else 0.5) for rate, size, value in points]
    study = write_study(folder, samples)
    place = folder / "studies" / study.id
    record = json.loads((place / "study.json").read_text())
    for path in (place / "points").iterdir():
        path.unlink()
    for number, (point, (rate, size, _)) in enumerate(zip(record["points"], points, strict=True)):
        run = sorted((folder / "runs").iterdir())[number]
        key = f"{size}-0000000{int(10 * rate)}"
        point.update(processes=size, repeat=1, key=key, settings={"lr": rate})
        request = json.loads((run / "request.json").read_text())
        request["study"] = {"id": study.id, **point}
        (run / "request.json").write_text(json.dumps(request))
        (place / "points" / f"{key}-1").write_text(f"{run.name}\n{{}}\n")
    (place / "study.json").write_text(json.dumps(record))
    return folder_source([folder], folder.parent / "index.sqlite")


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave pictures undrawn, with their tables: drawing takes a second each, and has its own tests."""
    for view in ("study", "team", "scaling"):
        monkeypatch.setattr(f"hackathon.web.views.{view}.drawn", lambda figures, _: (list(figures), ""))


def _key(source: Catalog) -> str:
    return f"{source.summaries[0].project}//{source.summaries[0].study}"


def test_pages_and_command_line_give_the_same_series(source: Catalog, undrawn: None) -> None:
    (study,) = find_studies(Path(source.summaries[0].project))
    told = study_results(study, status(runs_of(study), ask=False))
    shown = view_of(source, "study", _key(source))
    assert [each["settings"] for each in told["series"]] == [{"lr": 0.1}, {"lr": 0.4}]
    for mine, theirs in zip(shown.parts, told["series"], strict=True):
        assert mine["settings"] == theirs["settings"] and mine["base_processes"] == theirs["base_processes"] == 1
        names = ("processes", "value", "speedup", "efficiency")
        points = [[[point[name] for name in names] for point in side["points"]] for side in (mine, theirs)]
        assert points[0] == points[1]
        assert mine["checks"]["passed"] == theirs["checks"]["passed"] == (mine["settings"]["lr"] == 0.1)
        assert len(mine["checks"]["runs"]) == 3


def test_the_best_point_is_of_one_series(source: Catalog, undrawn: None) -> None:
    (study,) = by_study(source.summaries, source.memory)
    found = main_study([study])
    assert found is not None and (found.processes, found.speedup) == (4, pytest.approx(3.6))
    assert dict(found.series.settings) == {"lr": 0.1} == dict(best_series(study).settings)
    view = view_of(source, "study", _key(source))
    assert view.best["speedup"] == pytest.approx(3.6)
    again = next(run for run in source.summaries if run.id == view.again.id)
    assert (again.settings, again.processes) == ({"lr": 0.1}, 4)


@pytest.mark.slow
@pytest.mark.parametrize("language", ["en", "ja"])
def test_the_page_of_the_study_shows_settings(source: Catalog, language: str) -> None:
    page = page_of(source, "study", _key(source), language)
    assert page.count(">lr</th>") == 1 and "lr=0.1" in page and "lr=0.4" in page
    assert page.count('<th scope="row" class="n">') == 6


def test_no_curve_mixes_settings(source: Catalog) -> None:
    (study,) = by_study(source.summaries, source.memory)
    with speaking("en"):
        figures = study_figures(results_of(study))
    for figure in figures:
        rows = figure.spec["datasets"]["points"]
        assert {(row["series"], row["processes"]) for row in rows} == {
            (f"lr={rate}", size) for rate, values in GRID.items() for size in values
        }
        assert figure.columns[1:] == ("lr=0.1", "lr=0.4") and len(figure.rows) == 3
    assert figures[0].rows[2][1:] == ("3.6", "1.6")


def test_pages_of_all_teams_take_the_best_series(source: Catalog, undrawn: None) -> None:
    team = view_of(source, "teams").rows[0]
    assert team.best.speedup == pytest.approx(3.6)
    (result,) = view_of(source, "scaling").results
    assert result.speedup == pytest.approx(3.6) and len(result.points) == 3 and "lr=0.1" in result.name
    (row,) = view_of(source, "team", team.name).studies
    assert (row.processes, row.speedup) == (4, pytest.approx(3.6))


def test_downloads_have_a_line_for_each_point_with_its_settings(source: Catalog) -> None:
    (study,) = by_study(source.summaries, source.memory)
    assert [part.name for part in by_settings(study)] == ["torch-ddp [lr=0.1]", "torch-ddp [lr=0.4]"]
    mask = Mask()
    found = results_of(study)
    lines = list(csv.DictReader(io.StringIO(downloads.study_csv(found, mask))))
    assert sorted((float(line["settings.lr"]), int(line["processes"])) for line in lines) == sorted(
        (rate, size) for rate, values in GRID.items() for size in values
    )
    assert [each["settings"] for each in json.loads(downloads.study_json(found, mask))["series"]] == [
        {"lr": 0.1}, {"lr": 0.4},
    ]  # fmt: skip
    table = downloads.rows("digits", study, found, mask)
    names = [downloads.COLUMNS.index(name) for name in ("settings", "processes")]
    assert [tuple(row[name] for name in names) for row in table] == [
        (f"lr={rate}", size) for rate, values in GRID.items() for size in values
    ]
