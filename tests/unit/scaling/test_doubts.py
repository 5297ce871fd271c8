"""Doubts that only the points of a study show together, and how doubted points are told."""

import csv
import io
import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hackathon.scaling.doubts import SEVERITIES, Doubt, believed, is_false, merged
from hackathon.scaling.plot import plot_spec
from hackathon.scaling.show import render
from hackathon.scaling.table import RunResult, results
from hackathon.text.messages import speaking

ALONE = Doubt("no-group", {"processes": "2", "file": "train.py"}, evidence="source/train.py")


def run(processes: int, value: float | None, number: int = 0, **more: Any) -> RunResult:
    name = f"20260301-0900{number:02}-digits-{processes}p-aaaaaaaa"
    return RunResult(name, "7", processes, 1, more.pop("status", "SUCCEEDED"), value=value, **more)


def study(*runs: RunResult, mode: str = "weak") -> dict[str, Any]:
    with speaking("en"):
        return results("digits-1", mode, "samples_per_s", "samples/s", runs)


def ids(found: dict[str, Any]) -> dict[int, list[str]]:
    """Return processes → the ids of a point's doubts."""
    return {point["processes"]: [each["id"] for each in point["doubts"]] for point in found["points"]}


@pytest.mark.parametrize(
    ("mode", "work", "doubted"),
    [
        ("weak", {1: 64, 2: 128, 4: 256}, []),
        ("weak", {1: 64, 2: 128, 4: 128}, [4]),
        ("weak", {1: 64, 2: 64, 4: 64}, [2, 4]),
        ("strong", {1: 64, 2: 64, 4: 64}, []),
        ("strong", {1: 100, 3: 99, 7: 98}, []),
        ("strong", {1: 64, 2: 128}, [2]),
        ("weak", {1: 64, 2: None}, []),
        ("", {1: 64, 2: 64}, []),
    ],
)
def test_work_of_a_step_is_what_the_mode_says(mode: str, work: dict[int, float | None], doubted: list[int]) -> None:
    found = study(*(run(size, 100.0 * size, work=each) for size, each in work.items()), mode=mode)
    assert [size for size, each in ids(found).items() if "work-mismatch" in each] == doubted


def test_a_base_that_was_not_the_smallest_asked_for() -> None:
    failed = run(1, None, status="OUT_OF_MEMORY")
    assert ids(study(failed, run(2, 190.0), run(4, 380.0))) == {1: [], 2: ["base-mismatch"], 4: []}
    assert ids(study(run(1, 100.0), run(2, 190.0))) == {1: [], 2: []}


def repeats(processes: int, *values: float) -> list[RunResult]:
    return [run(processes, value, number) for number, value in enumerate(values)]


def test_super_linear_only_beyond_the_noise_of_three_repeats() -> None:
    base = repeats(1, 100.0, 101.0, 99.0)
    assert ids(study(*base, *repeats(2, 230.0, 231.0, 229.0)))[2] == ["super-linear"]
    assert ids(study(*base, *repeats(2, 230.0, 231.0)))[2] == []
    assert ids(study(run(1, 100.0), run(2, 239.0)))[2] == []
    assert ids(study(run(1, 100.0), run(2, 241.0)))[2] == ["super-linear"], "20 % need no repeats"
    assert ids(study(*base, *repeats(2, 206.0, 207.0, 205.0)))[2] == []
    assert ids(study(*base, *repeats(2, 230.0, 260.0, 200.0)))[2] == []


def test_super_linear_names_other_work_on_the_machine_where_few_repeats_hide_it() -> None:
    (single,) = study(run(1, 100.0), run(2, 256.0))["points"][1]["doubts"]
    assert single["message"].startswith("the efficiency is 128.0 %, and the noise is not known")
    assert "slowed the 1 process of the base" in single["message"] and "`--repeat 3`" in single["message"]
    repeated = study(*repeats(1, 100.0, 101.0, 99.0), *repeats(2, 256.0, 257.0, 255.0))
    (doubt,) = repeated["points"][1]["doubts"]
    assert "higher than noise explains" in doubt["message"] and "--repeat" not in doubt["message"]


def test_noise_when_the_step_is_smaller_than_the_spread() -> None:
    assert ids(study(*repeats(1, 100.0, 110.0), *repeats(2, 104.0, 106.0)))[2] == ["noise"]
    assert ids(study(*repeats(1, 100.0, 110.0), *repeats(2, 195.0, 199.0)))[2] == []
    assert ids(study(run(1, 100.0), run(2, 100.5)))[2] == []
    found = study(*repeats(1, 99.0, 101.0), *repeats(2, 99.5, 101.5))
    (doubt,) = found["points"][1]["doubts"]
    assert (
        doubt["id"] == "noise" and "that of 1 process by less" in doubt["message"] and "± 0.01414" in doubt["message"]
    )


@pytest.mark.parametrize(("unit", "same"), [("s/step", 1.0), ("ms/step", 1.0), ("steps/s", -1.0)])
def test_the_step_of_a_perfect_weak_scaling_does_not_change(unit: str, same: float) -> None:
    def doubted(mode: str, *at_two: float) -> list[str]:
        runs = [*repeats(1, 0.098**same, 0.102**same), *repeats(2, *(value**same for value in at_two))]
        return ids(results("digits-1", mode, "step_time", unit, runs))[2]

    assert doubted("weak", 0.099, 0.103) == []  # twice the work in the same time
    assert doubted("weak", 0.198, 0.202) == ["noise"]  # two processes do no more than one
    assert doubted("strong", 0.099, 0.103) == ["noise"] and doubted("strong", 0.049, 0.051) == []


def test_a_false_point_is_shown_marked_and_reaches_nothing() -> None:
    found = study(run(1, 100.0), run(2, 200.0, doubts=(ALONE,)))
    point = found["points"][1]
    assert (point["speedup"], point["status"]) == (2.0, "SUCCEEDED")
    (doubt,) = point["doubts"]
    assert doubt == {
        "id": "no-group", "severity": "false", "evidence": "source/train.py",
        "message": "the 2 processes do not work together: train.py and the files that it imports join no process group",
    }  # fmt: skip
    assert point["runs"][0]["doubts"] == [doubt] and is_false(point["doubts"])
    assert [each["processes"] for each in believed(found["points"])] == [1]
    with speaking("en"):
        for form in ("table", "md"):
            text = render(found, form)
            assert "⚠ not believable" in text and "do not work together" in text and "source/train.py" in text
        table = list(csv.DictReader(io.StringIO(render(found, "csv"))))
        drawn = plot_spec(found)["datasets"]
    assert [line["doubts"] for line in table] == ["", "no-group"]
    assert json.loads(render(found, "json"))["points"][1]["doubts"] == [doubt]
    assert [each["processes"] for each in drawn["doubted"]] == [2] and drawn["failed"] == []
    with speaking("ja"):
        assert "信頼できない値" in render(study_in_japanese(), "table")


def study_in_japanese() -> dict[str, Any]:
    return results("d", "weak", "samples_per_s", "samples/s", [run(1, 100.0), run(2, 200.0, doubts=(ALONE,))])


def test_a_believed_study_says_nothing() -> None:
    found = study(run(1, 100.0), run(2, 190.0))
    with speaking("en"):
        assert "believable" not in render(found, "table") and "checked" not in render(found, "table")
    assert all(point["doubts"] == [] for point in found["points"])


@given(st.lists(st.sampled_from(sorted(SEVERITIES)), max_size=30))
def test_merged_doubts_come_once_false_ones_first(names: list[str]) -> None:
    some = [{"id": name, "severity": SEVERITIES[name], "message": "", "evidence": ""} for name in names]
    found = merged(some)
    assert sorted(each["id"] for each in found) == sorted(set(names))
    severities = [each["severity"] for each in found]
    assert severities == sorted(severities, reverse=True)


def test_clean_series_with_noise_are_never_called_super_linear() -> None:
    """1 % of noise over three repeats: false alarms are as bad as misses."""
    rng = random.Random(7)
    alarms = 0
    for _ in range(300):
        runs = [run(size, 100.0 * size * rng.gauss(1.0, 0.01), number) for size in (1, 2, 4, 8) for number in range(3)]
        alarms += any("super-linear" in each for each in ids(study(*runs)).values())
    assert alarms == 0
