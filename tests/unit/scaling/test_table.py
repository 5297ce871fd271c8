"""Speed-up and efficiency follow from medians, and nothing that failed disappears."""

import csv
import io
import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hackathon.runs.record import RecordedCheck
from hackathon.scaling.show import render
from hackathon.scaling.table import RunResult, failed, results
from hackathon.text.messages import set_language


def _run(processes: int, value: float | None, status: str = "SUCCEEDED", **more: Any) -> RunResult:
    name = more.pop("id", f"20260301-090000-digits-{processes}p-aaaaaaaa")
    return RunResult(name, "7", processes, max(1, processes // 2), status, value=value, **more)


def _study(*runs: RunResult, unit: str = "samples/s", mode: str = "weak", **more: Any) -> dict[str, Any]:
    return results("digits-1", mode, "samples_per_s", unit, runs, **more)


@pytest.fixture(autouse=True)
def _english() -> Any:
    set_language("en")
    yield
    set_language(None)


def test_shape_is_the_agreed_one() -> None:
    found = _study(_run(1, 100.0), _run(2, 190.0))
    assert list(found) == [
        "schema_version", "study", "mode", "metric", "unit", "base_processes", "points", "checks", "fit",
        "series",
    ]  # fmt: skip
    assert found["points"][1] == {
        "processes": 2, "nodes": 1, "value": 190.0,
        "spread": {"min": 190.0, "max": 190.0, "stdev": None, "n": 1},
        "speedup": 1.9, "efficiency": 0.95, "status": "SUCCEEDED", "shares": None, "metric_source": None,
        "runs": [{"id": "20260301-090000-digits-2p-aaaaaaaa", "job_id": "7", "status": "SUCCEEDED", "value": 190.0,
                  "doubts": [], "shares": None, "metric_source": None}],
        "doubts": [],
    }  # fmt: skip


def test_median_and_spread_over_successful_repeats_only() -> None:
    found = _study(_run(2, 10.0), _run(2, 14.0), _run(2, 11.0), _run(2, 1.0, "FAILED", reason="exit code 1"))
    point = found["points"][0]
    assert point["value"] == 11.0 and point["status"] == "PARTIAL" and point["reason"] == "exit code 1"
    assert point["spread"] == {"min": 10.0, "max": 14.0, "stdev": pytest.approx(2.0817, abs=1e-4), "n": 3}
    assert point["runs"][3]["value"] == 1.0
    assert failed(found)


def test_failed_points_stay_and_the_base_is_the_smallest_that_succeeded() -> None:
    found = _study(_run(1, None, "OUT_OF_MEMORY", reason="killed"), _run(2, 20.0), _run(8, None, "QUEUED"))
    assert found["base_processes"] == 2
    assert [point["status"] for point in found["points"]] == ["OUT_OF_MEMORY", "SUCCEEDED", "QUEUED"]
    assert found["points"][0]["speedup"] is None
    assert failed(found)
    assert not failed(_study(_run(2, 20.0), _run(8, None, "QUEUED")))


def test_nothing_succeeded() -> None:
    found = _study(_run(1, None, "FAILED"), _run(2, 0.0), _run(4, math.nan), _run(8, math.inf))
    assert found["base_processes"] is None and found["fit"] is None
    json.dumps(found, allow_nan=False)
    assert "cannot compute the speed-up" in render(found)


def test_baseline_replaces_the_base() -> None:
    base = _run(4, 200.0, id="20250101-000000-other-4p-bbbbbbbb")
    found = _study(_run(1, 100.0), _run(8, 800.0), baseline=base)
    assert found["base_processes"] == 4 and found["baseline"] == base.id
    assert [point["speedup"] for point in found["points"]] == [0.5, 4.0]
    assert [point["efficiency"] for point in found["points"]] == [2.0, 2.0]
    assert base.id in render(found)


@pytest.mark.parametrize(
    ("unit", "mode", "speedup"),
    [
        ("s", "strong", 2.0), ("s", "weak", 2.0), ("s/step", "strong", 2.0), ("s/step", "weak", 8.0),
        ("ms", "weak", 2.0), ("s/it", "weak", 8.0), ("s/it", "strong", 2.0), ("秒", "strong", 2.0),
        ("ミリ秒/ステップ", "weak", 8.0), ("s/step/GPU", "weak", 8.0), ("s/GPU", "strong", 2.0),
    ],
)  # fmt: skip
def test_times_are_turned_round(unit: str, mode: str, speedup: float) -> None:
    found = _study(_run(1, 10.0), _run(4, 5.0), unit=unit, mode=mode)
    assert found["points"][1]["speedup"] == speedup


@pytest.mark.parametrize(
    ("unit", "mode", "speedup"),
    [
        *((f"{step}/s", "weak", 2.0) for step in ("step", "steps", "it", "iter", "iters", "batch", "ステップ", "反復")),
        ("it/min", "weak", 2.0), ("iter/s", "strong", 0.5), ("samples/s", "weak", 0.5), ("samples/s/GPU", "weak", 2.0),
        ("tokens/s/rank", "strong", 2.0), ("steps/s/GPU", "weak", 2.0), ("ns/day", "strong", 0.5),
        ("ns/日", "strong", 0.5), ("bits/s", "weak", 0.5), ("stepsize/s", "weak", 0.5), ("step/epoch", "weak", 0.5),
    ],
)  # fmt: skip
def test_rates_of_steps_and_of_one_process_are_those_of_all_the_work(unit: str, mode: str, speedup: float) -> None:
    found = _study(_run(1, 10.0), _run(4, 5.0), unit=unit, mode=mode)
    assert found["points"][1]["speedup"] == speedup


@pytest.mark.parametrize(
    ("unit", "mode", "reason"),
    [
        ("samples/s/GPU", "weak", "is that of one process"), ("TFLOP/s/GPU", "strong", "is that of one process"),
        ("s/step", "weak", "does the work of N steps"), ("it/s", "weak", "does the work of N steps"),
        ("s/step", "strong", ""), ("samples/s", "weak", ""), ("s", "weak", ""),
    ],
)  # fmt: skip
def test_a_speed_up_that_is_not_the_ratio_of_the_values_is_explained(unit: str, mode: str, reason: str) -> None:
    texts = ("is that of one process", "does the work of N steps")
    text = render(_study(_run(1, 10.0), _run(2, 10.0), unit=unit, mode=mode))
    assert [words for words in texts if words in text] == ([reason] if reason else [])
    assert not any(words in render(_study(_run(1, 10.0), unit=unit, mode=mode)) for words in texts)


def test_check_counts_successful_runs() -> None:
    check = RecordedCheck("accuracy", at_least=0.95)
    runs = [
        _run(1, 1.0, metrics={"accuracy": 0.96}),
        _run(2, 2.0, metrics={"accuracy": math.nan}),
        _run(4, None, "FAILED"),
    ]
    found = _study(*runs, check=check)
    assert found["checks"]["passed"] is False
    assert [(entry["value"], entry["passed"]) for entry in found["checks"]["runs"]] == [(0.96, True), (None, False)]
    assert "accuracy ≥ 0.95: passed by only 1 of 2" in render(found)
    assert _study(runs[2], check=check)["checks"]["passed"] is None
    silent = _study(runs[0], _run(2, 2.0), check=check)
    assert silent["checks"]["passed"] is None
    assert "not judged; 1 of 2" in render(silent)


STATES = st.sampled_from(["SUCCEEDED", "SUCCEEDED", "FAILED", "TIMEOUT", "QUEUED", "LOST"])
RUNS = st.lists(
    st.builds(
        _run, st.integers(1, 64), st.one_of(st.none(), st.floats(allow_nan=True)), STATES,
        reason=st.text(max_size=5), note=st.text(max_size=5),
    ),
    max_size=12,
)  # fmt: skip


@given(RUNS, st.sampled_from(["weak", "strong"]), st.sampled_from(["samples/s", "s", "s/step", ""]))
def test_invariants(runs: list[RunResult], mode: str, unit: str) -> None:
    found = _study(*runs, mode=mode, unit=unit)
    json.dumps(found, allow_nan=False)
    assert sum(len(point["runs"]) for point in found["points"]) == len(runs)
    for point in found["points"]:
        if point["efficiency"] is not None:
            assert point["efficiency"] == pytest.approx(point["speedup"] * found["base_processes"] / point["processes"])
        if point["processes"] == found["base_processes"]:
            assert point["efficiency"] == point["speedup"] == 1.0
    for how in ("table", "csv", "md", "json"):
        assert render(found, how).endswith("\n")


def test_absurd_values_spoil_neither_the_table_nor_the_fit() -> None:
    for value in (8.98e307, 5e-324, 1e99, 1e-99):
        found = _study(_run(1, value), _run(1, 1.0), _run(2, 1.0), _run(3, 1.0))
        json.dumps(found, allow_nan=False)
        assert [point["value"] for point in found["points"][1:]] == [1.0, 1.0]


@given(st.floats(1e-3, 1e6), st.sampled_from(["weak", "strong"]))
def test_perfect_scaling_is_one_and_scale_free(factor: float, mode: str) -> None:
    found = _study(*(_run(p, p * factor) for p in (1, 2, 4, 8)), mode=mode)
    assert [point["efficiency"] for point in found["points"]] == pytest.approx([1.0] * 4)
    assert found["fit"]["serial_fraction"] == pytest.approx(0.0, abs=1e-9)


def test_table_marks_the_line_names_the_base_and_tells_reasons() -> None:
    runs = [
        _run(1, 100.0, note="first try", tags=("night",)),
        _run(2, 140.0),
        _run(4, None, "TIMEOUT", reason="walltime 00:10:00 exceeded"),
    ]
    text = render(_study(*runs))
    assert "70.0 % ▼" in text and "three out of four" in text
    assert "base: the smallest successful point, processes = 1" in text
    assert "TIMEOUT – walltime 00:10:00 exceeded" in text
    assert "first try #night" in text
    assert "\x1b" not in text and "─" not in text
    assert "\x1b[" in render(_study(*runs), terminal=True)
    assert "\x1b[" not in render(_study(*runs), terminal=True, color=False)


def test_japanese_columns_line_up() -> None:
    from rich.cells import cell_len

    set_language("ja")
    text = render(_study(_run(1, 100.0), _run(2, None, "TIMEOUT")), terminal=True, color=False, width=80)
    box = [line for line in text.splitlines() if line.startswith(("╭", "│", "├", "╰"))]
    assert len(box) >= 6 and len({cell_len(line) for line in box}) == 1
    assert "時間切れ" in text and "並列効率" in text


def test_a_log_can_not_steer_the_terminal() -> None:
    text = render(_study(_run(1, None, "FAILED", reason="\x1b]0;owned\x07\nnext\u202e [red]x")), terminal=True)
    assert "\x1b]0" not in text and "\x07" not in text and "\u202e" not in text and "[red]x" in text


def test_csv_has_one_line_a_run_and_no_formulas() -> None:
    runs = [
        _run(1, -5.0, note='=HYPERLINK("x","y")', reason="-1+1"),
        _run(2, None, "FAILED", reason="+cmd|' /C calc'!A0", note="@SUM(1)", tags=("=1",)),
    ]
    rows = list(csv.DictReader(io.StringIO(render(_study(*runs), "csv"))))
    assert [row["note"] for row in rows] == ['\'=HYPERLINK("x","y")', "'@SUM(1)"]
    assert rows[1]["reason"].startswith("'+cmd") and rows[1]["tags"] == "'=1"
    assert rows[0]["run_value"] == "-5.0"  # a number stays a number


def test_markdown_is_a_table_and_escapes() -> None:
    text = render(_study(_run(1, 10.0, note="a|b <script>")), "md")
    assert text.splitlines()[1] == "| ---: | ---: | ---: | ---: | ---: | :--- | ---: |"
    assert "a\\|b \\<script\\>" in text
