"""Which throughput a study is made of, and which scaling it measured."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from hackathon.scaling.collect import results_of
from hackathon.scaling.table import RunResult
from hackathon.text.messages import speaking

RATES = {1: 100.0, 2: 190.0}


def run(processes: int, printed: Mapping[str, float], recorded: Mapping[str, float], **more: Any) -> RunResult:
    stand_ins = {name: rate for name, rate in recorded.items() if not printed}
    return RunResult(
        f"20260301-09000{processes}-digits-{processes}p-aaaaaaaa", "7", processes, 1, more.pop("status", "SUCCEEDED"),
        metrics={**stand_ins, **printed}, recorded=recorded, **more,
    )  # fmt: skip


def study(*runs: RunResult, mode: str = "weak", **request: Any) -> dict[str, Any]:
    with speaking("en"):
        return results_of("digits-1", {"mode": mode, "base_request": request}, runs)


def values(results: Mapping[str, Any]) -> dict[int, float]:
    return {point["processes"]: point["value"] for point in results["points"]}


def scaled(factor: float, *, names: tuple[str, ...] = ("samples_per_s",)) -> dict[int, dict[str, float]]:
    return {size: dict.fromkeys(names, factor * rate) for size, rate in RATES.items()}


@pytest.mark.parametrize(
    ("printed", "recorded", "metric", "source", "first"),
    [
        (scaled(1), {1: {}, 2: {}}, "samples_per_s", "printed", 100.0),
        (scaled(1), scaled(1.1), "samples_per_s", "printed", 100.0),
        (scaled(1), scaled(2), "samples_per_s", "printed", 100.0),
        (scaled(2), scaled(1), "samples_per_s", "recorded", 100.0),
        ({1: {}, 2: {}}, scaled(2), "samples_per_s", "recorded", 200.0),
        ({1: {"samples_per_s": 100.0}, 2: {}}, scaled(2), "samples_per_s", "recorded", 200.0),
        (scaled(1, names=("steps_per_s",)), scaled(8), "samples_per_s", "recorded", 800.0),
        (scaled(1, names=("steps_per_s",)), scaled(9, names=("steps_per_s",)), "steps_per_s", "printed", 100.0),
        # a program that times only a part of its steps
        (scaled(3, names=("steps_per_s",)), scaled(1, names=("steps_per_s",)), "steps_per_s", "recorded", 100.0),
        ({1: {}, 2: {}}, scaled(9, names=("steps_per_s",)), "steps_per_s", "recorded", 900.0),
        ({1: {}, 2: {}}, {1: {"samples_per_s": 7.0}, 2: {}}, "samples_per_s", "printed", 7.0),
    ],
)
def test_all_points_of_a_study_have_one_source(
    printed: dict[int, dict[str, float]],
    recorded: dict[int, dict[str, float]],
    metric: str,
    source: str,
    first: float,
) -> None:
    results = study(*(run(size, printed[size], recorded[size]) for size in RATES))
    assert (results["metric"], results["source"], values(results)[1]) == (metric, source, first)


def test_a_pattern_of_the_user_counts_more_than_the_recorder() -> None:
    runs = [run(size, scaled(1)[size], scaled(2)[size]) for size in RATES]
    results = study(*runs, metric="samples_per_s", metrics={"samples_per_s": {"pattern": "x ([0-9.]+)"}})
    assert (results["source"], values(results)) == ("printed", RATES)


def test_a_run_that_failed_does_not_choose_the_source() -> None:
    runs = [run(size, scaled(1)[size], {}) for size in RATES]
    assert study(*runs, run(4, {}, {}, status="FAILED"))["source"] == "printed"


@pytest.mark.parametrize(
    ("asked", "work", "mode"),
    [
        ("weak", {1: 32, 2: 64, 4: 128}, "weak"),
        ("weak", {1: 32, 2: 32, 4: 32}, "strong"),
        ("weak", {1: 100, 3: 99, 7: 98}, "strong"),
        ("strong", {1: 32, 2: 64, 4: 128}, "weak"),
        ("strong", {1: 32, 2: 64, 4: 64}, "strong"),
        ("weak", {1: 32, 2: None}, "weak"),
        ("weak", {2: 32}, "weak"),
        ("", {1: 32, 2: 32}, ""),
    ],
)
def test_the_samples_of_a_step_say_which_scaling_it_is(asked: str, work: dict[int, float | None], mode: str) -> None:
    steps = {"steps_per_s": 10.0}
    results = study(*(run(size, {}, steps, work=samples) for size, samples in work.items()), mode=asked)
    assert results["mode"] == mode
    assert results.get("mode_asked") == (asked if mode != asked else None)
    # a step that does the work of one process twice is no speed-up
    last = results["points"][-1]
    if mode == "strong" and len(work) > 1:
        assert last["speedup"] == 1.0


def test_series_that_disagree_keep_what_was_asked_for() -> None:
    settings = [{"batch": 8}, {"batch": 16}]
    runs = [
        run(size, {}, {"steps_per_s": 1.0}, work=work, settings=settings[number])
        for number, works in enumerate(((8, 8), (16, 32)))
        for size, work in zip((1, 2), works, strict=True)
    ]
    assert study(*runs)["mode"] == "weak"


def test_each_point_names_where_its_value_was_read() -> None:
    name = "samples_per_s"

    def read_from(size: int, origin: str, **more: Any) -> RunResult:
        return run(size, {name: RATES[size]}, {}, origins={name: origin}, **more)

    def sources(*runs: RunResult) -> list[str | None]:
        return [point["metric_source"] for point in study(*runs)["points"]]

    assert sources(read_from(1, "meter"), read_from(2, "pattern")) == ["meter", "pattern"]
    tracked = study(read_from(1, "tracker"), read_from(2, "tracker"))
    assert (tracked["source"], [point["metric_source"] for point in tracked["points"]]) == ("tracker", ["tracker"] * 2)
    # a failed run has no value that counts, a running one no value yet
    assert sources(read_from(1, "printed"), read_from(2, "printed", status="FAILED")) == ["printed", None]
    running = study(read_from(1, "printed"), read_from(2, "printed", status="RUNNING"))["points"][1]
    assert running["runs"][0]["metric_source"] is None
    # the recorder's count replaces what was printed at every point
    doubted = study(
        *(run(size, {name: 2 * rate}, {name: rate}, origins={name: "printed"}) for size, rate in RATES.items())
    )
    assert {point["metric_source"] for point in doubted["points"]} == {"recorded"} == {doubted["source"]}


def test_repeats_that_were_read_differently_have_no_common_source() -> None:
    name = "samples_per_s"
    first = run(1, {name: 100.0}, {}, origins={name: "printed"})
    second = replace(first, id=first.id.replace("aaaa", "bbbb"), origins={name: "tracker"})
    (point,) = study(first, second)["points"]
    assert point["metric_source"] is None
    assert [each["metric_source"] for each in point["runs"]] == ["printed", "tracker"]
