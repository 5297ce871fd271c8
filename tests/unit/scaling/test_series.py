"""A study of several settings: a series for each combination, and no number that mixes two of them."""

import csv
import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hackathon.runs.record import RecordedCheck
from hackathon.scaling.compare import SAME, Result, compare
from hackathon.scaling.plot import plot_spec
from hackathon.scaling.show import remarks, render
from hackathon.scaling.table import RunResult, failed, points_of, results, series_of
from hackathon.text.messages import speaking

CHECK = RecordedCheck("accuracy", at_least=0.97)


def made(processes: int, value: float | None, state: str = "SUCCEEDED", **settings: Any) -> RunResult:
    name = f"{processes}-{json.dumps(settings)}-{value}"
    good = settings.get("lr") != 0.5
    return RunResult(
        name, "7", processes, 1, state, value=value, settings=settings, metrics={"accuracy": 0.98 if good else 0.9}
    )


def study(*runs: RunResult, **more: Any) -> dict[str, Any]:
    return results("digits-1", "weak", "samples_per_s", "samples/s", runs, **more)


@pytest.fixture
def grid() -> dict[str, Any]:
    return study(
        made(1, 100.0, lr=0.5), made(2, 150.0, lr=0.5), made(1, 10.0, lr=0.1), made(2, 19.0, lr=0.1),
        made(2, 8.0, lr=0.02), made(4, 12.0, lr=0.02), check=CHECK,
    )  # fmt: skip


def test_each_series_has_its_own_base_and_checks(grid: dict[str, Any]) -> None:
    assert list(grid) == ["schema_version", "study", "mode", "metric", "unit", "series"]
    assert [each["settings"] for each in grid["series"]] == [{"lr": 0.02}, {"lr": 0.1}, {"lr": 0.5}]
    assert [each["base_processes"] for each in grid["series"]] == [2, 1, 1]
    speedups = [[point["speedup"] for point in each["points"]] for each in grid["series"]]
    assert speedups == [[1.0, 1.5], [1.0, 1.9], [1.0, 1.5]]
    assert [each["checks"]["passed"] for each in grid["series"]] == [True, True, False]
    assert [list(each) for each in grid["series"]] == [["settings", "base_processes", "points", "checks", "fit"]] * 3


def test_one_combination_stands_at_the_top_too() -> None:
    alone = study(made(1, 100.0, lr=0.5), made(2, 150.0, lr=0.5), check=CHECK)
    plain = study(made(1, 100.0), made(2, 150.0), check=CHECK)
    for found, settings in ((alone, {"lr": 0.5}), (plain, {})):
        (series,) = found["series"]
        assert series == {"settings": settings, **{name: found[name] for name in list(series)[1:]}}
        assert [point["speedup"] for point in found["points"]] == [1.0, 1.5]


def test_an_older_result_is_one_series() -> None:
    old = {name: value for name, value in study(made(1, 100.0)).items() if name != "series"}
    (series,) = series_of(old)
    assert series["settings"] == {} and series["points"] == old["points"] == points_of(old)


def test_a_baseline_counts_where_its_settings_are(grid: dict[str, Any]) -> None:
    base = made(1, 50.0, lr=0.5)
    found = study(made(1, 100.0, lr=0.5), made(1, 10.0, lr=0.1), baseline=base)
    assert [each["points"][0]["speedup"] for each in found["series"]] == [1.0, 2.0]
    assert [each.get("baseline") for each in found["series"]] == [None, base.id]


def test_a_failure_in_any_series_is_one(grid: dict[str, Any]) -> None:
    assert not failed(grid)
    assert failed(study(made(1, 1.0, lr=0.1), made(1, None, "TIMEOUT", lr=0.5)))


settings = st.fixed_dictionaries(
    {"lr": st.sampled_from([0.1, 0.2, 1.0]), "env.X": st.sampled_from(["", "a,b", "=1+1"])}
)
runs = st.lists(
    st.builds(
        lambda chosen, processes, value, state: made(processes, value, state, **chosen),
        settings,
        st.sampled_from([1, 2, 4]),
        st.floats(1, 1e6),
        st.sampled_from(["SUCCEEDED", "FAILED", "QUEUED"]),
    ),
    max_size=12,
)


@given(runs)
def test_a_series_is_what_its_runs_alone_give(chosen: list[RunResult]) -> None:
    found = study(*chosen, check=CHECK)
    for each in found["series"]:
        alone = study(*(run for run in chosen if run.settings == each["settings"]), check=CHECK)
        assert alone["series"] == [each]
    told = [run["id"] for point in points_of(found) for run in point["runs"]] if found["series"] else []
    assert sorted(told) == sorted(run.id for run in chosen)


@given(runs)
def test_all_formats_have_every_point_with_its_settings(chosen: list[RunResult]) -> None:
    found = study(*chosen)
    lines = list(csv.DictReader(io.StringIO(render(found, "csv"))))
    assert len(lines) == len(chosen)
    for line in lines:
        (run,) = [run for run in chosen if run.id == line["run"]][:1]
        assert float(line["settings.lr"]) == run.settings["lr"]
        assert line["settings.env.X"].lstrip("'") == run.settings["env.X"]
    markdown = [line for line in render(found, "md").splitlines() if line.startswith("| ")]
    assert len(markdown) == 2 + len(points_of(found))
    assert len({line.count(" | ") for line in markdown}) == 1
    assert render(found, "table")


def test_what_is_said_of_one_series_names_it(grid: dict[str, Any]) -> None:
    with speaking("en"):
        lines = remarks(grid)
    assert lines[0].startswith("3 combinations of settings")
    assert "lr=0.02: base: the smallest successful point, processes = 2" in lines
    assert any(line.startswith("lr=0.5: check accuracy ≥ 0.97") for line in lines)
    broken = study(made(1, 1.0, lr=0.1), made(1, None, "TIMEOUT", lr=0.5))
    with speaking("en"):
        (line,) = [line for line in remarks(broken) if "TIMEOUT" in line]
    assert line.startswith("lr=0.5: ")
    with speaking("en"):
        shared = remarks(study(made(1, 1.0, lr=0.1), made(1, 1.0, lr=0.2)))
    assert shared[1] == "each combination: base: the smallest successful point, processes = 1"


def test_no_curve_of_the_picture_has_points_of_two_series(grid: dict[str, Any]) -> None:
    spec = plot_spec(grid)
    rows = spec["datasets"]["points"]
    assert {row["series"] for row in rows} == {"lr=0.02", "lr=0.1", "lr=0.5"} and len(rows) == 6
    for part in spec["hconcat"]:
        for layer in part["layer"]:
            if layer["data"]["name"] in ("points", "repeats"):
                assert layer["encoding"]["color"]["field"] == "series" and "color" not in layer["mark"]
    # a base of its own has a line of its own: 1.5 on 4 processes is far from linear for a base of 1, not of 2
    assert sorted({row["base"] for row in spec["datasets"]["reference"]}) == [1, 2]
    plain = plot_spec(study(made(1, 1.0), made(2, 2.0)))
    assert all("series" not in row for row in plain["datasets"]["points"])
    assert all("base" not in row for row in plain["datasets"]["reference"])


def test_only_equal_settings_are_compared() -> None:
    def side(**values: float) -> list[Result]:
        return [Result(name, 2, "SUCCEEDED", "samples_per_s", metrics={"samples_per_s": value},
                       settings={"lr": float(name[1:])}) for name, value in values.items()]  # fmt: skip

    old, new = side(r1=100.0, r2=10.0), side(r2=10.0, r3=100.0)
    (point,) = compare(old, new)
    assert (point.processes, dict(point.settings), point.verdict) == (2, {"lr": 2.0}, SAME)
    assert compare(old, [Result("r", 2, "SUCCEEDED", "samples_per_s", metrics={"samples_per_s": 1.0})]) == []
