"""The pages of all teams and of one: counts, best results, budgets, what was changed; hostile and broken runs."""

import dataclasses
import json
import re
import shutil
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from hackathon.config.event import Event, Team
from hackathon.index.catalog import Catalog
from hackathon.index.projects import ProjectFolder
from hackathon.index.record import RunEntry
from hackathon.runs.lives import RunUse
from hackathon.text.messages import speaking
from hackathon.web.page.pages import Site, render
from hackathon.web.views import home
from support.pages.rendered import Page
from support.pages.run_page import HOSTILE
from support.samples.event import NAMES, write_event
from support.samples.runs import Sample, write_run, write_study
from support.samples.source import event_source, folder_source, page_of, view_of


@pytest.fixture(scope="module")
def event(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    folder = tmp_path_factory.mktemp("event")
    return event_source(write_event(folder / "e", teams=3), folder / "index.sqlite")


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave pictures undrawn, with their tables: drawing takes a second each, and has its own tests."""
    monkeypatch.setattr("hackathon.web.views.team.drawn", lambda figures, _: (list(figures), ""))


def _run(number: int, **values: object) -> RunEntry:
    """Return a run as the index has it: what its job used is as its other values say."""
    begin = 1_000_000.0 + 100 * number
    common: dict[str, object] = {
        "id": f"run-{number:05d}", "project": "/event/aurora/train", "team": "aurora", "name": "net", "cluster": "c1",
        "processes": 1, "nodes": 1, "gpus": 2, "state": "SUCCEEDED", "created": begin, "started": begin,
        "ended": begin + 3600, "value": 100.0, "unit": "samples/s",
    }  # fmt: skip
    made = RunEntry(**{**common, **values})  # type: ignore[arg-type]
    use = RunUse(
        made.id, made.cluster, "local", f"{number}", made.team, 0, made.nodes, made.gpus // made.nodes, made.processes,
        made.walltime, begin, state=made.state,
        attempts=() if made.started is None else ((made.started, made.ended),),
    )  # fmt: skip
    numbers = () if made.value is None else ((made.metric or "samples_per_s", made.value),)
    return dataclasses.replace(made, use=use, numbers=numbers)


def _with(event: Catalog, **values: Any) -> Catalog:
    """Return a source with other runs, those of `_run` in a project of their team."""
    projects = [*event.projects, ProjectFolder(Path("/event/aurora/train"), "aurora")]
    return dataclasses.replace(event, **{"projects": projects, **values})


def test_the_first_page_does_not_call_the_fastest_size_the_largest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hackathon.web.views.home.drawn", lambda figures, _: (list(figures), ""))
    (tmp_path / "hackathon.yaml").write_text("title: E\nteams:\n- name: aurora\n")
    samples = [Sample(1, 1000.0), Sample(4, 3200.0), Sample(8, 2900.0)]
    write_study(tmp_path / "aurora" / "train", samples, team="aurora")
    inside = event_source(tmp_path, tmp_path / "index.sqlite", live=False)
    outside = folder_source([tmp_path / "aurora" / "train"], tmp_path / "other.sqlite", live=False)

    def card(source: Catalog, language: str) -> str:
        with speaking(language):
            values = home.values(source, "")
        assert values is not None
        page = render("home.html.j2", Site("Event"), language, lambda kind, key: None, here="home", **values)
        (found,) = re.findall(r'<dl class="card-figures">.*?</dl>', page, re.DOTALL)
        return str(found)

    for language, largest, shown in (("en", "Largest size", "Processes"), ("ja", "最大規模", "プロセス数")):
        told = card(inside, language)
        assert largest not in told and f"<dt>{shown}</dt><dd>4</dd>" in told and "3.2<small> ×" in told
        told = card(outside, language)
        assert f"<dt>{largest}</dt><dd>8 " in told and "2.9<small> ×" in told


def test_each_team_has_its_counts_its_best_point_and_its_budget(event: Catalog) -> None:
    view = view_of(event, "teams")
    assert [row.name for row in view.rows] == list(NAMES[:3])
    for row in view.rows:
        assert row.runs == 22 and row.succeeded == 20 and row.failed == 1
        assert row.open == (("RUNNING", 1),)
        (use,) = row.use
        assert use.cluster == "reedbush-h" and use.gpu_hours.budget == 400 and use.node_hours.budget == 200
        assert use.tokens is None, "the profile has no rate"
        assert 0 < use.gpu_hours.used < 400 and use.gpu_hours.used == pytest.approx(2 * use.node_hours.used)
    # Throughput of the team's better study: 1000 × n × 0.97^k, see sample_event.
    best = view.rows[0].best
    assert best.processes == 16 and best.speedup == pytest.approx(16 * 0.97**4, rel=0.01)
    assert best.efficiency == pytest.approx(best.speedup / 16) and best.study.endswith("tuned-kq3v7xya")
    assert view.best_team == "aurora" and view.count.runs == 66


def test_the_page_shows_what_the_view_holds_in_both_languages(event: Catalog) -> None:
    english, japanese = Page(page_of(event, "teams")), Page(page_of(event, "teams", language="ja"))
    for said in (*NAMES[:3], "気象レーダーの短時間予測", "14.2 ×", "16 processes", "20 of 22 succeeded", "of 400"):
        assert said in english.text, said
    assert "22 件中 20 件成功" in japanese.text and "並列効率" in japanese.text
    assert len([tag for tag, _ in english.tags if tag == "h1"]) == 1
    assert all(each.get("scope") in ("col", "row") for tag, each in english.tags if tag == "th")


def test_use_counts_running_jobs_until_now_and_tokens_by_the_profile(tmp_path: Path) -> None:
    profile = {
        "name": "c1",
        "scheduler": "local",
        "node": {"gpus": 2},
        "rates": {"per_node_hour": 3, "per_gpu_hour": 1},
    }
    (tmp_path / "templates/clusters").mkdir(parents=True)
    (tmp_path / "templates/clusters/c1.yaml").write_text(yaml.safe_dump(profile))
    settings = {"title": "E", "teams": [{"name": "aurora"}, {"name": "b"}],
                "clusters": {"c1": {"budget": {"gpu_hours": 10, "tokens": 100}}}}  # fmt: skip
    (tmp_path / "hackathon.yaml").write_text(yaml.safe_dump(settings))
    runs = [
        _run(3, state="RUNNING", ended=None, nodes=2, gpus=4, walltime=1800),  # capped at its walltime: half an hour
        _run(2, state="QUEUED", started=None, ended=None),
        _run(1, state="LOST", ended=None, walltime=3600),  # nobody saw its end: at most its walltime
        _run(0),
    ]
    source = _with(event_source(tmp_path, tmp_path / "i"), summaries=runs, now=1_000_300.0 + 7200)
    aurora, silent = view_of(source, "teams").rows
    (use,) = aurora.use
    assert (use.node_hours.used, use.gpu_hours.used) == (pytest.approx(1 + 1 + 1), pytest.approx(2 + 2 + 2))
    assert use.tokens.used == pytest.approx(3 * 3 + 6) and use.tokens.share == pytest.approx(0.15)
    assert use.gpu_hours.share == pytest.approx(0.6)
    assert aurora.open == (("RUNNING", 1), ("QUEUED", 1)) and aurora.failed == 1
    assert silent.runs == 0 and silent.last is None and silent.use[0].gpu_hours.used == 0
    assert "15 tokens" in Page(page_of(source, "teams")).text


def test_use_of_several_computers_names_each(event: Catalog) -> None:
    first, second = _run(0, cluster="kashiwa"), _run(1, cluster="hongo")
    cells = page_of(_with(event, summaries=[first, second]), "teams").partition("What became")[0]
    assert all(f'<span class="under">{name}' in cells for name in ("kashiwa", "hongo"))
    alone = page_of(_with(event, summaries=[_run(0, cluster="reedbush-h")]), "teams")
    assert '<span class="under">reedbush-h' not in alone


@pytest.mark.usefixtures("undrawn")
def test_two_studies_of_one_name_are_told_apart_on_the_teams_page(tmp_path: Path) -> None:
    for start in (1_548_290_000.0, 1_548_390_000.0):
        write_study(tmp_path / "unet", [Sample(1, 100.0), Sample(2, 190.0)], title="unet", team="", start=start)
    view = view_of(folder_source([tmp_path / "unet"], tmp_path / "i"), "team", "unet")
    assert set(view.curves) == {folder.name for folder in (tmp_path / "unet" / "studies").iterdir()}
    assert len(view.curves) == 2


def test_gpu_utilisation_is_that_of_what_runs_now_and_the_last_finding_is_the_newest(event: Catalog) -> None:
    runs = [
        _run(5, state="RUNNING", ended=None, gpu_percent=90.0, gpus=6),
        _run(4, state="RUNNING", ended=None, gpu_percent=50.0, gpus=2),
        _run(3, gpu_percent=1.0),
        _run(2, state="FAILED", part="nccl"),
        _run(1, state="FAILED", part="gpu"),
    ]
    row = view_of(_with(event, summaries=runs), "teams").rows[0]
    assert row.gpu_percent == pytest.approx(80.0)
    assert (row.trouble.part, row.trouble.run) == ("nccl", "/event/aurora/train//run-00002")
    assert view_of(_with(event, summaries=runs[2:]), "teams").rows[0].gpu_percent == 1.0


@pytest.mark.usefixtures("undrawn")
def test_a_team_sees_itself_alone_and_projects_of_no_event_go_by_their_folder(event: Catalog, tmp_path: Path) -> None:
    own = dataclasses.replace(
        event, team="cirrus", summaries=[run for run in event.summaries if run.team == "cirrus"],
        projects=[each for each in event.projects if each.team == "cirrus"],
    )  # fmt: skip
    assert [row.name for row in view_of(own, "teams").rows] == ["cirrus"]
    with pytest.raises(LookupError):
        view_of(own, "team", "aurora")
    for place in ("a/digits", "b/digits", "words"):
        write_study(tmp_path / place, [Sample(1, 100.0), Sample(2, 190.0)], team="")
    source = folder_source([tmp_path / place for place in ("a/digits", "b/digits", "words")], tmp_path / "i")
    assert [row.name for row in view_of(source, "teams").rows] == ["a/digits", "b/digits", "words"]
    page = view_of(source, "team", "b/digits")
    assert page.row.best.speedup == pytest.approx(1.9) and page.projects == ("digits",) and len(page.runs) == 2


def test_a_team_tells_its_problem_people_program_curves_and_what_it_changed(event: Catalog) -> None:
    view = view_of(event, "team", "aurora")
    assert view.title == "Segmentation of satellite images"
    assert (view.members, dict(view.kinds)) == (3, {"master": 2, "staff": 1})
    assert view.tutor_names == ("Tutor One",) and view.people == ("Member 0a", "Member 0b", "Member 0c")
    assert (view.program.name, view.program.framework) == ("torch-ddp", "torch") and view.program.title
    assert dict(view.program.parameters)["batch_size"] == "64"
    assert view.curves == ("tuned", "torch-ddp")
    assert [study.processes for study in view.studies] == [16, 16] and view.studies[0].efficiency > 0.85
    before, after = view.change.before, view.change.after
    assert (before.processes, after.processes, before.repeats) == (1, 16, 2) and before.created < after.created
    assert view.change.speedup == pytest.approx(after.value / before.value) and view.change.speedup > 14
    assert [(each.name, each.before, each.after) for each in view.change.changed] == [("lr", "0.1", "1.6")]
    assert view.again.processes == 16 and view.again.key == after.run
    text = Page(page_of(event, "team", "aurora")).text
    for said in ("Before and after", "15.7", "hackathon rerun ", "learning rate × 8", "Tutor One", "1 → 16 processes"):
        assert said in text, said
    assert "改善の前後" in Page(page_of(event, "team", "ブリザード", "ja")).text


def test_names_of_people_go_out_only_when_the_event_says_so(event: Catalog) -> None:
    site = dataclasses.replace(event, live=False)
    view = view_of(site, "team", "aurora")
    assert view.members == 3 and view.tutors == 1 and view.people == () and view.tutor_names == ()
    assert "Tutor One" not in page_of(site, "team", "aurora")
    assert site.event is not None
    open_event = dataclasses.replace(site.event, publish=dataclasses.replace(site.event.publish, users=True))
    assert view_of(dataclasses.replace(site, event=open_event), "team", "aurora").tutor_names == ("Tutor One",)


def test_before_and_after_compare_the_same_program_by_the_same_metric(event: Catalog) -> None:
    def change(*runs: RunEntry) -> object:
        source = _with(event, summaries=sorted(runs, key=lambda run: -(run.created or 0.0)))
        return view_of(source, "team", "aurora").change

    assert change(_run(0)) is None, "one measurement has no after"
    assert change(_run(0, state="FAILED"), _run(1)) is None
    found = change(_run(0, processes=4, value=300.0), _run(1), _run(2, value=150.0), _run(3, value=120.0, processes=2))
    assert (found.before.run_id, found.after.run_id, found.speedup) == ("run-00001", "run-00002", 1.5)
    found = change(_run(0), _run(1), _run(2, name="other", value=9e9))
    assert found.after.run_id == "run-00001" and found.changed == (), "no request of them can be read"
    times = change(_run(0, unit="s", value=50.0), _run(1, unit="s", value=20.0), _run(2, unit="s", value=40.0))
    assert (times.after.run_id, times.speedup) == ("run-00001", 2.5)
    for unit in ("steps/s", "it/s", "ステップ/秒"):
        assert change(_run(0, unit=unit), _run(1, unit=unit, value=5.0)).speedup is None
    each = [_run(0, unit="samples/s/GPU"), _run(1, unit="samples/s/GPU", value=90.0, processes=8)]
    assert change(*each).speedup is None, "rates of one process say nothing across sizes"


def test_a_long_list_of_runs_is_cut_and_says_so(event: Catalog) -> None:
    runs = [_run(number) for number in reversed(range(250))]
    view = view_of(_with(event, summaries=runs), "team", "aurora")
    assert len(view.runs) == 100 and view.more_runs == 150 and view.runs[0].id == "run-00249"
    assert "150 older runs" in Page(page_of(_with(event, summaries=runs), "team", "aurora")).text


def test_data_is_told_without_what_may_be_secret(tmp_path: Path) -> None:
    run = write_run(tmp_path / "p/runs", Sample(1, 10.0), team="")
    request = json.loads((run / "request.json").read_text())
    request["data"] = [
        {"name": "maps", "url": "https://me:hunter2@data.example.org/maps.tar?token=abc"},
        {"name": "own", "url": "file:///home/alice/secret/own.npz"}, {"name": "odd", "url": "http://[::1"}, "no record",
    ]  # fmt: skip
    (run / "request.json").write_text(json.dumps(request))
    view = view_of(folder_source([tmp_path / "p"], tmp_path / "i"), "team", "p")
    assert view.program.data == (("maps", "https://data.example.org/maps.tar"), ("own", "own.npz"), ("odd", ""))


@pytest.mark.usefixtures("undrawn")
def test_hostile_text_stays_text_on_both_pages(tmp_path: Path) -> None:
    source = event_source(write_event(tmp_path / "e", teams=1, hostile=HOSTILE), tmp_path / "i")
    run = source.summaries[0]
    request = Path(run.project) / "runs" / run.id / "request.json"
    value = json.loads(request.read_text())
    value |= {"recipe": HOSTILE, "framework": HOSTILE, "parameters": {HOSTILE: HOSTILE}, "name": HOSTILE}
    request.write_text(json.dumps(value))
    source = event_source(tmp_path / "e", tmp_path / "i")
    runs = [dataclasses.replace(each, part=HOSTILE, cluster=HOSTILE, unit=HOSTILE) for each in source.summaries]
    source = dataclasses.replace(source, summaries=runs)
    for html in (page_of(source, "teams"), page_of(source, "team", "aurora"), page_of(source, "team", "aurora", "ja")):
        page = Page(html)
        assert not [tag for tag, _ in page.tags if tag in ("script", "img")]
        assert not [name for _, attributes in page.tags for name in attributes if name.startswith("on")]
        assert "{{7*7}}" in page.text and "\x1b" not in html and "\u202e" not in html


@pytest.mark.usefixtures("undrawn")
def test_missing_half_written_and_foreign_files_leave_gaps(tmp_path: Path) -> None:
    folder = write_event(tmp_path / "e", teams=1)
    project = folder / "aurora" / "train"
    source = event_source(folder, tmp_path / "i")
    (project / "project.yaml").write_bytes(b"name: [\xff")
    for study in (project / "studies").iterdir():
        (study / "study.json").write_text('{"mode": "we')
    for run in sorted((project / "runs").iterdir())[::2]:
        shutil.rmtree(run)
    for run in (project / "runs").iterdir():
        (run / "request.json").write_text("[1]")
    for kind, key in (("teams", ""), ("team", "aurora")):
        assert "aurora" in page_of(source, kind, key)
    view = view_of(source, "team", "aurora")
    assert view.row.runs == 22 and view.program.parameters == () and view.change.changed == ()
    outside = tmp_path / "outside.json"
    outside.write_text(json.dumps({"parameters": {"secret": "hunter2"}}))
    for run in (project / "runs").iterdir():
        (run / "request.json").unlink()
        (run / "request.json").symlink_to(outside)
    assert "hunter2" not in page_of(source, "team", "aurora")


def test_an_event_without_runs_and_a_place_without_anything() -> None:
    empty = Catalog(event=Event("E", teams=[Team("aurora")]))
    assert "no runs yet" in page_of(empty, "teams") and "not run anything" in page_of(empty, "team", "aurora")
    assert "no teams and no runs" in page_of(Catalog(), "teams")


@pytest.mark.slow
def test_ten_thousand_runs_are_shown_from_the_index_alone() -> None:
    """No file of a run is opened for the page of all teams: the folders do not exist. How fast: tests/bench."""
    runs = [
        _run(number, project=f"/event/t{number % 100}/p", team=f"t{number % 100}", study=f"s{number // 1000}",
             processes=1 << number // 100 % 5, value=100.0 * (1 << number // 100 % 5) * 0.95 ** (number // 100 % 5))
        for number in reversed(range(10_000))
    ]  # fmt: skip
    teams = Event("E", teams=[Team(f"t{number}") for number in range(100)])
    projects = [ProjectFolder(Path(f"/event/t{number}/p"), f"t{number}") for number in range(100)]
    view = view_of(Catalog(runs, projects, teams, now=time.time()), "teams")
    assert len(view.rows) == 100 and view.count.runs == 10_000
    assert {row.best.processes for row in view.rows} == {16}


@pytest.mark.parametrize("language", ["en", "ja"])
def test_what_became_of_the_node_hours(event: Catalog, language: str) -> None:
    """The table of the page adds up to the teams' use; what was not recorded is not called zero."""
    with speaking(language):
        view = view_of(event, "teams")
        html = page_of(event, "teams", language=language)
    used = {row.name: sum(use.node_hours.used for use in row.use) for row in view.rows}
    assert {entry.team: entry.total for entry in view.lost} == pytest.approx(used)
    assert {"en": "not known", "ja": "不明"}[language] in html
    assert {"en": "What became of the node-hours", "ja": "ノード時間の内訳"}[language] in html
