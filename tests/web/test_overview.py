"""The scaling results of all teams: who is drawn, in what order, beside which published figures."""

import json
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

import pytest

from hackathon.config.problems import ConfigError
from hackathon.index.catalog import Catalog
from hackathon.index.record import RunEntry
from hackathon.text.messages import speaking
from hackathon.web.page.figures import drawn
from hackathon.web.page.references import read_references
from hackathon.web.views.overview import COLOURS, SHAPES, SHOWN, Overview, overview
from hackathon.web.views.scaling import overview_figures, values
from support.pages.rendered import HOSTILE, harmless, page, read
from support.samples.event import NAMES, write_event
from support.samples.runs import Sample, write_study
from support.samples.source import event_source, folder_source


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    folder = tmp_path_factory.mktemp("event")
    return event_source(write_event(folder / "e"), folder / "index.sqlite")


def _runs(team: str, values: dict[int, float], *, study: str = "s", state: str = "SUCCEEDED") -> list[RunEntry]:
    return [
        RunEntry(
            id=f"{team}-{study}-{size}", project=f"/e/{team}", team=team, study=study, processes=size, nodes=1,
            state=state, value=value, unit="samples/s", created=1.0, numbers=(("samples_per_s", value),),
        )
        for size, value in values.items()
    ]  # fmt: skip


def _view(*runs: list[RunEntry], folder: Path | None = None) -> Overview:
    return overview(Catalog([run for each in runs for run in each], event_folder=folder))


def test_each_team_is_there_with_its_best_study_the_fastest_first(source: Catalog) -> None:
    view = overview(source)
    assert {result.team for result in view.results} == set(NAMES[:8]) and view.waiting == ()
    assert [result.speedup for result in view.results] == sorted((r.speedup for r in view.results), reverse=True)
    for result in view.results:
        assert result.name == "tuned" and result.further == 1, "the later study was faster"
        assert result.processes == 16 and result.base == 1 and (result.good, result.total) == (10, 10)
        assert result.efficiency == pytest.approx(result.speedup / 16)
        assert [point.processes for point in result.points] == [1, 2, 4, 8, 16]
        assert result.clusters == ("reedbush-h",) and result.mode == "weak"
    marks = [(result.mark.colour, result.mark.shape) for result in view.results if result.mark]
    assert len(set(marks)) == 8 and {colour for colour, _ in marks} == set(COLOURS)


def test_marks_of_many_teams_differ_and_the_slowest_are_thin() -> None:
    view = _view(*[_runs(f"t{number:03d}", {1: 1.0, 2: 2.0 - number / 1000}) for number in range(100)])
    assert [result.team for result in view.results[:2]] == ["t000", "t001"]
    marks = [result.mark for result in view.results if result.mark]
    assert len(marks) == len(set(marks)) == SHOWN and view.thin == 100 - SHOWN
    (first, _) = overview_figures(view)
    datasets = first.spec["datasets"]
    assert {point["order"] for point in datasets["points"]} == set(range(SHOWN))
    assert len({point["team"] for point in datasets["others"]}) == 100 - SHOWN


@pytest.mark.slow
def test_sizes_that_failed_are_crosses_and_those_that_still_run_are_none() -> None:
    runs = _runs("a", {1: 10.0, 2: 19.0})
    lost = [replace(each, value=None, numbers=()) for each in _runs("a", {4: 0.0}, state="FAILED")]
    goes = [replace(each, value=None, numbers=()) for each in _runs("a", {8: 0.0}, state="RUNNING")]
    again = [replace(runs[0], id="again", processes=2, state="TIMEOUT", value=None, numbers=())]
    view = _view([*runs, *lost, *goes, *again])
    assert view.results[0].failed == (4,)
    for figure in overview_figures(view):
        crosses = figure.spec["datasets"]["failed"]
        assert [(each["processes"], each["name"], each["told"]) for each in crosses] == [(4, "a", "failed")]
        assert ("a", "4", "× failed") in figure.rows
        assert figure.spec["encoding"]["x"]["scale"]["domain"][1] > 4
    assert "× no run of this size succeeded" in page("scaling", Catalog((*runs, *lost), live=True))


@pytest.mark.slow
def test_a_reader_chooses_teams_and_hides_published_results() -> None:
    runs = [*_runs("a", {1: 10.0, 2: 19.0}), *_runs("b", {1: 10.0, 2: 18.0}), *_runs("c", {1: 10.0, 4: 12.0})]
    source = Catalog(tuple(runs), live=True)
    everything = values(source)
    some = values(source, "", (("team", "b"), ("team", "c"), ("team", "nobody"), ("references", "off")))
    assert everything is not None and some is not None
    shown = some["figures"][0].spec
    assert {each["name"] for each in shown["datasets"]["points"]} == {"b", "c"} and len(some["view"].results) == 3
    colours = dict(zip(shown["layer"][6]["encoding"]["color"]["scale"]["domain"],
                       shown["layer"][6]["encoding"]["color"]["scale"]["range"], strict=True))  # fmt: skip
    assert colours == {0: COLOURS[1], 1: COLOURS[2]}, "a team keeps its colour whoever else is shown"
    assert not shown["datasets"].get("marks") and not shown["datasets"].get("ranges")
    whole = everything["figures"][0].spec
    assert whole["encoding"]["x"]["scale"]["domain"][1] > shown["encoding"]["x"]["scale"]["domain"][1] < 6
    assert values(source, "", (("team", "nobody"),))["view"].hidden == frozenset()  # type: ignore[index]


def test_what_is_not_a_speedup_is_not_shown() -> None:
    view = _view(
        _runs("one-size", {4: 100.0}),
        _runs("failed", {1: 10.0, 2: 20.0}, state="FAILED"),
        _runs("running", {1: 10.0, 2: 20.0}, state="RUNNING"),
        _runs("single", {1: 10.0, 2: 20.0}, study=""),
    )
    assert view.results == () and set(view.waiting) >= {"one-size", "failed", "running", "single"}
    assert values(Catalog()) == {"view": overview(Catalog()), "figures": [], "problem": ""}
    html = page("scaling", Catalog(live=True))
    assert "No team has a speed-up yet" in read(html).text and "109 ×" in read(html).text


def test_a_study_from_more_than_one_process_begins_on_the_ideal_line() -> None:
    view = _view(_runs("big", {4: 100.0, 16: 300.0}))
    (result,) = view.results
    assert (result.base, result.processes, result.speedup, result.efficiency) == (4, 16, 3.0, 0.75)
    assert view.other_bases
    with speaking("en"):
        (speedup, efficiency) = overview_figures(view)
    points = speedup.spec["datasets"]["points"]
    assert [(point["processes"], point["speedup"]) for point in points] == [(4, 4.0), (16, 12.0)]
    assert [point["told"] for point in points] == ["1 ×", "3 ×"]
    assert speedup.rows[:2] == (("big", "4", "1"), ("big", "16", "3"))
    assert efficiency.rows[1] == ("big", "16", "75.0 %")


def _written(folder: Path, team: str, values: dict[int, tuple[float, ...]], *, mode: str, cluster: str) -> None:
    """Write a study with repeats: steps of a fixed work per process (weak) or of a fixed sum (strong)."""
    samples = [Sample(size, value) for size, repeats in values.items() for value in repeats]
    study = write_study(folder / team / "train", samples, team=team)
    path = study.project / "studies" / study.id / "study.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "mode": mode}))
    for run in (study.project / "runs").iterdir():
        request = json.loads((run / "request.json").read_text())
        (run / "request.json").write_text(json.dumps({**request, "mode": mode, "cluster": cluster}))
        if mode == "strong":
            metrics = run / "metrics" / "rank-0.jsonl"
            rows = [json.loads(line) for line in metrics.read_text().splitlines()]
            for row in rows:
                if not row.get("final"):
                    row |= {"samples": 4096, "seconds": row["seconds"] * 4096 / row["samples"]}
            metrics.write_text("".join(f"{json.dumps(row)}\n" for row in rows))


def _moved(team: str, values: dict[int, tuple[float, ...]], clusters: dict[int, str]) -> list[RunEntry]:
    """Return the runs of a study with repeats, on several machines."""
    return [
        replace(run, id=f"{run.id}-{number}", cluster=clusters.get(run.processes, "a"), value=value,
                numbers=(("samples_per_s", value),))
        for run in _runs(team, dict.fromkeys(values, 1.0))
        for number, value in enumerate(values[run.processes])
    ]  # fmt: skip


def test_weak_and_strong_scaling_have_pictures_of_their_own_and_repeats_have_bars(
    tmp_path: Path,
) -> None:
    _written(tmp_path, "w", {1: (1000.0,), 2: (1800.0, 1900.0, 2000.0), 4: (3600.0,)}, mode="weak", cluster="a")
    _written(tmp_path, "s", {1: (1000.0, 1200.0), 4: (2000.0, 2400.0)}, mode="strong", cluster="b")
    source = folder_source([tmp_path / "w" / "train", tmp_path / "s" / "train"], tmp_path / "index.sqlite")
    with speaking("en"):
        view = overview(source)
        figures = {figure.name: figure for figure in overview_figures(view)}
    assert list(figures) == ["all-weak-speedup", "all-weak-efficiency", "all-strong-speedup", "all-strong-efficiency"]
    assert [figure.title for figure in figures.values()] == [
        "Speed-up · weak scaling", "Parallel efficiency · weak scaling", "Speed-up · strong scaling",
        "Parallel efficiency · strong scaling",
    ]  # fmt: skip
    for name, team in (("weak", "w"), ("strong", "s")):
        for panel in ("speedup", "efficiency"):
            datasets = figures[f"all-{name}-{panel}"].spec["datasets"]
            assert {point["name"] for point in datasets["points"]} == {team}
    # 1900 ± 100 of 1000 are 1.9 ± 0.1 and 95 ± 5 %; a single run has no bar
    (bar,) = figures["all-weak-speedup"].spec["datasets"]["bars"]
    assert (bar["processes"], bar["low"], bar["high"]) == (2, pytest.approx(1.8), pytest.approx(2.0))
    (bar,) = figures["all-weak-efficiency"].spec["datasets"]["bars"]
    assert (bar["low"], bar["high"]) == (pytest.approx(0.9), pytest.approx(1.0))
    assert figures["all-weak-speedup"].rows[:3] == (("w", "1", "1"), ("w", "2", "1.9 ± 0.1"), ("w", "4", "3.6"))
    assert figures["all-weak-efficiency"].rows[1] == ("w", "2", "95.0 ± 5.0 %")
    assert [bar["processes"] for bar in figures["all-strong-speedup"].spec["datasets"]["bars"]] == [1, 4]
    assert view.repeated and view.machines
    plain = _view(_runs("a", {1: 1.0, 2: 1.9}))
    assert not plain.machines and not plain.repeated


def test_a_bar_that_reaches_zero_ends_below_the_axis() -> None:
    view = _view(_moved("w", {1: (10.0,), 2: (2.0, 40.0)}, {}))
    speedup = overview_figures(view)[0].spec
    (bar,) = speedup["datasets"]["bars"]
    assert 0 < bar["low"] < speedup["encoding"]["y"]["scale"]["domain"][0] < bar["high"]


def test_a_line_does_not_lead_from_one_machine_to_another() -> None:
    moved = _moved("w", {1: (10.0,), 2: (19.0,), 4: (50.0,)}, {4: "b"})
    (speedup, _) = overview_figures(_view(moved))
    assert [point["machine"] for point in speedup.spec["datasets"]["points"]] == ["a", "a", "b"]
    lines = [layer for layer in speedup.spec["layer"]
             if layer["data"]["name"] in ("points", "others") and layer["mark"]["type"] == "line"]  # fmt: skip
    assert len(lines) == 2
    assert all({"field": "machine", "type": "nominal"} in layer["encoding"]["detail"] for layer in lines)


def test_published_results_are_beside_the_teams(source: Catalog) -> None:
    with speaking("en"):
        references = read_references(None)
    chainer, others = references.points
    assert references.target == 0.75
    assert (chainer.processes, chainer.speedups, chainer.share) == (128, "109", "85.2 %")
    assert (others.speedups, others.share) == ("51.2–64", "40–50 %")
    assert all(each.source and each.address for each in references.points)
    view = overview(source)
    for figure in overview_figures(view):
        assert {point["processes"] for point in figure.spec["datasets"]["marks"]} == {128}
        assert figure.rows[-2][:2] == ("ChainerMN", "128")
        assert "128" in {str(round(tick)) for tick in figure.spec["encoding"]["x"]["axis"]["values"]}


def test_an_event_may_have_its_own_references(tmp_path: Path) -> None:
    file = tmp_path / "templates" / "plots" / "references.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(
        "target: {efficiency: 0.8, name: {en: eighty}}\n"
        "references:\n"
        "- {name: Ours, processes: 64, speedup: 60, source: us}\n"
        "- {name: no size, speedup: 60}\n- {name: no figure, processes: 3}\n- text\n"
        "- {name: bad, processes: 8, efficiency: [0.5, 'x']}\n- {name: bool, processes: 8, efficiency: true}\n"
    )
    found = read_references(tmp_path)
    assert (found.target, found.target_name) == (0.8, "eighty")
    assert [(each.name, each.low) for each in found.points] == [("Ours", 60 / 64)]
    view = _view(_runs("a", {1: 1.0, 4: 3.1}), folder=tmp_path)
    assert overview_figures(view)[1].spec["datasets"]["ends"][0]["target"] == 0.8
    file.write_text("{")
    with pytest.raises(ConfigError):
        read_references(tmp_path)


@pytest.mark.slow
def test_the_page_says_it_in_both_languages(source: Catalog) -> None:
    pytest.importorskip("vl_convert")
    for language, said in (
        ("en", ("Scaling results", "three out of four")),
        ("ja", ("スケーリングの結果", "4 分の 3")),
    ):
        html = page("scaling", source, language)
        reader = read(html)
        assert all(words in reader.text for words in said)
        assert reader.elements["table"] == 4 and reader.elements["caption"] == 4
        assert html.count('role="img"') == 2 and "/team?key=aurora" in reader.links
        assert len([each for each in reader.links if each.startswith("/study?")]) == 8


def test_two_pictures_of_all_teams_are_small(source: Catalog) -> None:
    pytest.importorskip("vl_convert")
    figures, problem = drawn(overview_figures(overview(source)), source.memory)
    assert problem == ""
    for figure in figures:
        svg = figure.svg or ""
        assert len(svg.encode()) < 8_000
        assert all(f'"{colour}"' in svg for colour in COLOURS), "each team in its colour"
        assert "ChainerMN 2017" in svg and "style=" not in svg


@pytest.mark.slow
def test_hostile_names_stay_text(tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    runs = [
        replace(run, unit=HOSTILE, cluster=HOSTILE, name=HOSTILE, project="/e/t")
        for run in _runs(HOSTILE, {1: 1.0, 2: 1.9, 4: 3.0})
    ]
    for language in ("en", "ja"):
        reader = harmless(page("scaling", Catalog(runs), language))
        assert f"/team?key={quote(HOSTILE)}" in reader.links, "the page of the team by its true name"


def test_projects_outside_an_event_are_shown_by_their_folder(tmp_path: Path) -> None:
    write_event(tmp_path / "e", teams=2)
    view = overview(folder_source([tmp_path / "e" / "aurora" / "train"], tmp_path / "index.sqlite"))
    assert len(view.results) == 1 and len(view.results[0].points) == 5


def test_shapes_of_the_key_are_those_of_the_picture() -> None:
    assert len(SHAPES) == len(COLOURS)
    for path in SHAPES.values():
        assert path.startswith("M") and path.endswith("Z")
