"""The page of a study: its numbers are those of `hackathon results`, its pictures come with their data."""

import dataclasses
import json
import os
import shutil
from pathlib import Path

import pytest

from hackathon.index.catalog import Catalog
from hackathon.index.record import CauseText
from hackathon.scaling.doubts import Doubt
from hackathon.web.routing.registry import values_of
from support.pages.rendered import Page
from support.pages.run_page import HOSTILE
from support.samples.runs import DEFAULT, Sample, write_study
from support.samples.source import folder_source, page_of, view_of

STUDY = "20260301-095900-torch-ddp-kq3v7xya"


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    folder = tmp_path_factory.mktemp("study")
    write_study(folder / "digits", DEFAULT, team="")
    return folder_source([folder / "digits"], folder / "index.sqlite")


def _key(source: Catalog) -> str:
    return f"{source.summaries[0].project}//{STUDY}"


def test_the_numbers_are_those_of_the_runs(source: Catalog, tmp_path: Path) -> None:
    view = view_of(source, "study", _key(source))
    told = write_study(tmp_path, DEFAULT).results
    names = ("processes", "nodes", "value", "spread", "speedup", "efficiency", "status")
    assert [[point[name] for name in names] for point in view.results["points"]] == [
        [point[name] for name in names] for point in told["points"]
    ]
    checks = view.results["checks"]
    assert (checks["passed"], len(checks["runs"]), checks["runs"][0]["value"]) == (True, 13, 0.978)
    assert view.best["processes"] == 16 and view.again.processes == 16 and view.team == "digits"
    assert [row.processes for row in view.runs] == sorted(sample.processes for sample in DEFAULT)
    failed = next(row for row in view.runs if row.state == "FAILED")
    assert failed.value is None and failed.processes == 8 and failed.reason


@pytest.mark.slow
def test_why_a_run_failed_is_told_in_the_pages_language(source: Catalog) -> None:
    told = {"en": CauseText("GPU 0 is out of memory"), "ja": CauseText("GPU 0 の容量が足りません")}
    runs = [
        dataclasses.replace(run, told=told, reasons=("exit code 1",)) if run.state == "FAILED" else run
        for run in source.summaries
    ]
    diagnosed = dataclasses.replace(source, summaries=runs)
    for language, words in (("en", "GPU 0 is out of memory"), ("ja", "GPU 0 の容量が足りません")):
        rows = view_of(diagnosed, "study", _key(source), language).runs
        assert {row.reason for row in rows if row.state == "FAILED"} == {words}
        assert words in page_of(diagnosed, "study", _key(source), language)


def test_the_page_tells_results_runs_and_how_to_run_again(source: Catalog) -> None:
    english, japanese = Page(page_of(source, "study", _key(source))), page_of(source, "study", _key(source), "ja")
    for said in ("13,395 ± 121", "69.5 %", "torch-ddp", "accuracy ≥ 0.97", "second try on the quiet queue", "#night",
                 "hackathon rerun ", "check passed", "試しに 32 プロセス"):  # fmt: skip
        assert said in english.text, said
    assert "並列効率" in japanese and "再実行" in japanese
    headings = [tag for tag, _ in english.tags if tag in ("h1", "h2", "h3", "h4")]
    assert headings.count("h1") == 1 and headings[0] == "h1"
    assert all(each.get("scope") in ("col", "row") for tag, each in english.tags if tag == "th")
    names = [each["id"] for _, each in english.tags if "id" in each]
    assert len(names) == len(set(names))


def test_pictures_have_both_axes_in_powers_of_two_repeats_and_the_same_numbers_as_a_table(source: Catalog) -> None:
    pytest.importorskip("vl_convert")
    found = values_of("study", _key(source), source)
    assert found is not None
    speedup, efficiency = found[1]["figures"]
    for figure in (speedup, efficiency):
        assert figure.svg and "<svg" in figure.svg
        assert figure.spec["encoding"]["x"]["scale"]["base"] == 2
        assert figure.spec["encoding"]["x"]["axis"]["values"] == [1, 2, 4, 8, 16, 32]
        assert len(figure.spec["datasets"]["repeats"]) == 3 + 3 + 3 + 2 + 2
        assert [row[0] for row in figure.rows] == ["1", "2", "4", "8", "16"]
    assert speedup.spec["encoding"]["y"]["scale"] == {
        **speedup.spec["encoding"]["y"]["scale"],
        "type": "log",
        "base": 2,
    }
    assert "16: 69.5 %" in efficiency.alt and "69.5 %" in efficiency.rows[-1]
    reference = speedup.spec["datasets"]["reference"][-1]
    assert reference["target"] == pytest.approx(0.75 * reference["linear"], rel=1e-4)


@pytest.mark.slow
def test_other_studies_lie_beside_it_and_do_not_mix_with_its_points(tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    write_study(tmp_path / "p", [Sample(1, 100.0), Sample(2, 150.0), Sample(64, 900.0)], name="first", team="")
    write_study(tmp_path / "p", [Sample(1, 200.0), Sample(2, 390.0), Sample(128, 9000.0)], name="second", team="")
    source = folder_source([tmp_path / "p"], tmp_path / "i")
    found = values_of("team", "p", source)
    assert found is not None
    assert found[1]["view"].curves == ("second", "first")
    speedup = found[1]["figures"][0]
    assert [each["processes"] for each in speedup.spec["datasets"]["points"]] == [1, 2, 128]
    assert {(each["study"], each["processes"]) for each in speedup.spec["datasets"]["others"]} == {
        ("first", 1), ("first", 2), ("first", 64),
    }  # fmt: skip
    assert speedup.columns[-1] == "first"
    assert speedup.rows[2] == ("64", "–", "–", "9") and speedup.rows[3][:2] == ("128", "45")
    assert speedup.svg


def test_there_is_no_page_for_what_is_no_study(source: Catalog) -> None:
    for key in ("", "//", f"/elsewhere//{STUDY}", f"{source.summaries[0].project}//other", STUDY):
        with pytest.raises(LookupError):
            page_of(source, "study", key)


def test_hostile_text_stays_text(tmp_path: Path) -> None:
    samples = [Sample(1, 10.0, note=HOSTILE, tags=(HOSTILE,)), Sample(2, 19.0), Sample(4, None, "FAILED", HOSTILE)]
    write_study(tmp_path / "p", samples)
    record = tmp_path / "p/studies" / STUDY / "study.json"
    told = json.loads(record.read_text())
    told |= {"name": HOSTILE, "mode": HOSTILE, "metric": HOSTILE, "unit": HOSTILE, "created": 10**400}
    told["base_request"]["check"] = {"metric": HOSTILE, "at_least": HOSTILE, "at_most": "1e999"}
    record.write_text(json.dumps(told))
    source = folder_source([tmp_path / "p"], tmp_path / "i")
    runs = [dataclasses.replace(run, unit=HOSTILE, cluster=HOSTILE) for run in source.summaries]
    for language in ("en", "ja"):
        html = page_of(dataclasses.replace(source, summaries=runs), "study", _key(source), language)
        page = Page(html)
        assert not [tag for tag, _ in page.tags if tag in ("script", "img")]
        assert not [name for _, attributes in page.tags for name in attributes if name.startswith("on")]
        assert "{{7*7}}" in page.text and "\x1b" not in html and "\u202e" not in html


@pytest.mark.slow
def test_missing_half_written_and_strange_files_leave_gaps(tmp_path: Path) -> None:
    write_study(tmp_path / "p", DEFAULT)
    source = folder_source([tmp_path / "p"], tmp_path / "i")
    folder = tmp_path / "p/studies" / STUDY
    (folder / "study.json").unlink()
    os.mkfifo(folder / "study.json")
    first, second, third, *_ = sorted((tmp_path / "p/runs").iterdir())
    shutil.rmtree(first)
    (second / "metrics/rank-0.jsonl").write_bytes(b'\xff\xfe{"final"\n[1]\n')
    (third / "metrics/rank-0.jsonl").unlink()
    os.mkfifo(third / "metrics/rank-0.jsonl")
    view = view_of(source, "study", _key(source))
    assert view.results["mode"] == "" and len(view.runs) == len(DEFAULT) and view.name == "torch-ddp"
    assert "13,395" in page_of(source, "study", _key(source))
    nothing = dataclasses.replace(
        source, summaries=[dataclasses.replace(run, value=None, numbers=()) for run in source.summaries]
    )
    assert view_of(nothing, "study", _key(source)).best is None
    assert "cannot compute the speed-up" in page_of(nothing, "study", _key(source))


@pytest.mark.slow
def test_a_study_is_read_from_its_project_and_from_beside_its_runs_alone(tmp_path: Path) -> None:
    write_study(tmp_path / "large", [Sample(1, 10.0), Sample(2, 19.0)], team="", title="own")
    write_study(tmp_path / "foreign", [Sample(1, 10.0), Sample(2, 19.0)], team="", title="foreign")
    (tmp_path / "p").mkdir()
    (tmp_path / "p/runs").symlink_to(tmp_path / "large/runs")
    (tmp_path / "p/studies").symlink_to(tmp_path / "large/studies")
    source = folder_source([tmp_path / "p"], tmp_path / "i")
    (study,) = {run.study for run in source.summaries}
    key = f"{tmp_path / 'p'}//{study}"
    assert view_of(source, "study", key).name == "own"
    foreign = next((tmp_path / "foreign/studies").iterdir())
    (tmp_path / "large/studies/linked").symlink_to(foreign)
    for name in ("linked", "../studies/linked", ".."):
        runs = [dataclasses.replace(run, study=name) for run in source.summaries]
        linked = dataclasses.replace(source, summaries=runs)
        # The name is the runs' own: nothing of the foreign study.json is told.
        assert view_of(linked, "study", f"{tmp_path / 'p'}//{name}").name == "torch-ddp"


@pytest.mark.slow
def test_a_study_that_goes_on_tells_what_is_missing(tmp_path: Path) -> None:
    write_study(tmp_path / "p", [Sample(1, 10.0), Sample(2, 19.0), Sample(4, 36.0)])
    source = folder_source([tmp_path / "p"], tmp_path / "i")
    runs = [run for run in source.summaries if run.processes < 4]
    source = dataclasses.replace(source, summaries=runs)
    assert view_of(source, "study", _key(source)).missing == 1
    assert "1 point of this study has not run yet" in Page(page_of(source, "study", _key(source))).text


def test_a_base_alone_is_no_headline(source: Catalog) -> None:
    doubt = Doubt("no-group", {"file": "train.py", "processes": "2"})
    runs = [dataclasses.replace(run, doubts=(doubt,)) if run.processes > 1 else run for run in source.summaries]
    doubted = dataclasses.replace(source, summaries=runs)
    assert view_of(doubted, "study", _key(source)).best is None
    assert "meets the 75 % target" not in page_of(doubted, "study", _key(source))
    alone = dataclasses.replace(source, summaries=[run for run in source.summaries if run.processes == 1])
    assert view_of(alone, "study", _key(source)).best["processes"] == 1
