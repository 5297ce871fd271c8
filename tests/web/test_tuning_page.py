"""The page of a tuning study: its numbers are those of `hackathon results`, its pictures come with their data."""

import json
import random
from dataclasses import replace
from pathlib import Path

import pytest

from hackathon.index.catalog import Catalog
from hackathon.tuning.trials.objective import END, Objective
from hackathon.tuning.trials.plan import TuningPlan
from hackathon.tuning.trials.result import best_line, summary
from hackathon.tuning.trials.space import CHOICE, INT, LIN, LOG, Dimension
from hackathon.web.routing.registry import values_of
from hackathon.web.views import home
from hackathon.web.views.tuning import CURVES, TuningView, place, ticks, tuning_view, view_of
from support.samples.source import folder_source, page_of
from support.tuning_study import RecordedTrial, recorded_study

SPACE = (
    Dimension("lr", LOG, 1e-3, 1.0), Dimension("layers", INT, 2, 6),
    Dimension("optimizer", CHOICE, choices=("sgd", "adam")),
)  # fmt: skip
PLAN = TuningPlan(SPACE, Objective(END, "accuracy", True), "random", compare="optimizer", trials=12)
HOSTILE = "<script>alert(1)</script>"


def trials(count: int = 12) -> list[RecordedTrial]:
    source = random.Random(7)
    made = []
    for number in range(count):
        settings = {each.name: each.draw(source) for each in SPACE} | {"optimizer": ("sgd", "adam")[number % 2]}
        end = 0.95 - 0.08 * source.random() - (0.2 if number % 2 else 0.0)
        stopped = 0.02 if number % 4 == 3 else None
        curve = [round(end - 0.5 / step, 4) for step in range(1, 9 if stopped else 25)]
        made.append(RecordedTrial(settings, curve, stopped))
    return made


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    folder = tmp_path_factory.mktemp("tuning")
    plan = replace(PLAN, space=(*SPACE[:2], replace(SPACE[2], choices=("sgd", "adam", HOSTILE))))
    recorded_study(folder / "digits", plan, trials(), parameters={"lr": 0.1})
    return folder_source([folder / "digits"], folder / "index.sqlite")


def key(source: Catalog) -> str:
    run = source.summaries[0]
    return f"{run.project}//{run.study}"


def view(source: Catalog) -> TuningView:
    found = values_of("study", key(source), source)
    assert found is not None and isinstance(found[1]["tuning"], TuningView)
    made: TuningView = found[1]["tuning"]
    return made


@pytest.mark.slow
def test_its_numbers_are_those_of_the_command(source: Catalog) -> None:
    made = view(source)
    assert len(made.rows) == 12 and made.rows[0].best and all(row.run for row in made.rows)
    states = [row.cells[4] for row in made.rows]
    assert states.count("finished") == 9 and states.count("stopped (chance 2 %)") == 3
    assert made.lines[0].startswith(f"best: trial {made.rows[0].cells[0]} with ")
    assert any("12 trials, " in each for each in made.lines) and any("optimizer: " in each for each in made.lines)


@pytest.mark.slow
@pytest.mark.parametrize(("language", "words"), [("en", "Learning curves"), ("ja", "学習曲線")])
def test_it_works_without_scripts_in_both_languages(source: Catalog, language: str, words: str) -> None:
    page = page_of(source, "study", key(source), language)
    assert words in page and page.count("<svg") >= 2 and "plot_absent" not in page
    assert page.count('<figure class="picture">') == 2 and page.count('<details class="data"') == 2
    assert HOSTILE not in page and "&lt;script&gt;" in page
    assert "speedup" not in page.lower().split("<body")[1], "it is no scaling study"


def test_each_picture_has_its_numbers(source: Catalog) -> None:
    coordinates, curves = view(source).figures
    assert coordinates.columns[1:] == ("lr", "layers", "optimizer", "result") and len(coordinates.rows) == 12
    assert len(curves.rows) == 12 and {row[2] for row in curves.rows} == {"24", "8"}
    data = curves.spec["datasets"]
    assert {each["trial"] for each in data["best"]} == {int(view(source).rows[0].cells[0])}
    assert len({each["trial"] for each in data["stopped"]}) == len(data["ends"]) == 3
    lines = coordinates.spec["datasets"]
    assert all(0.0 <= each["y"] <= 1.0 for name in ("best", "finished", "stopped") for each in lines[name])
    assert max(each["y"] for each in lines["best"] if each["axis"] == "result") == 1.0, "the best is at the top"
    assert not [each for each in lines["stopped"] if each["axis"] == "result"], "a stopped trial has no result"


def test_lists_of_studies_say_what_it_is_and_lead_to_it(source: Catalog) -> None:
    project = source.summaries[0].project
    assert '<span class="under">tuning</span>' in page_of(source, "team", Path(project).name, "en")
    cards = home.values(source, "")
    assert cards is not None and "tuning" in cards["view"].cards[0].about


@pytest.mark.parametrize(
    ("dimension", "value", "at"),
    [
        (SPACE[0], 1e-3, 0.0), (SPACE[0], 1.0, 1.0), (SPACE[0], 10.0, None), (SPACE[0], -1.0, None),
        (SPACE[0], "x", None), (SPACE[0], float("nan"), None), (SPACE[0], 10**400, None), (SPACE[1], 4, 0.5),
        (SPACE[2], "adam", 1.0),
        (SPACE[2], "other", None), (Dimension("m", LIN, 0.5, 0.5), 0.5, 0.5),
        (Dimension("m", CHOICE, choices=(3,)), 3, 0.5),
    ],
)  # fmt: skip
def test_values_have_a_place_on_their_axis(dimension: Dimension, value: object, at: float | None) -> None:
    found = place(dimension, value)
    assert found == (at if at is None else pytest.approx(at))
    assert all(0.0 <= y <= 1.0 for _, y in ticks(dimension))


@pytest.mark.slow
def test_a_study_that_cannot_be_read_has_the_page_of_any_study(tmp_path: Path) -> None:
    study = recorded_study(tmp_path / "p", PLAN, trials(2))
    record = json.loads((study.path / "study.json").read_text())
    for broken in ({"options": {"tune": {"space": 3}}}, {"options": None}):
        (study.path / "study.json").write_text(json.dumps({**record, **broken}))
        catalog = folder_source([tmp_path / "p"], tmp_path / "index.sqlite")
        assert "<h1>" in page_of(catalog, "study", key(catalog), "en")


def test_without_any_result_there_is_no_picture_and_no_error() -> None:
    made = view_of(PLAN, [], {})
    assert made.figures == () and made.rows == () and made.lines[0] == best_line(PLAN, [])
    assert summary(PLAN, []) in made.lines and CURVES > 0 and tuning_view is not None
