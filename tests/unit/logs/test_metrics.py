"""Numbers come out of what programs write, whatever they write."""

import json
import math
import resource
import statistics
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hackathon.logs import metrics
from hackathon.logs.final import metric_unit
from hackathon.logs.lines import Splitter, read_lines
from hackathon.logs.metrics import read_metrics, series
from hackathon.text.errors import RequestError


def _meter(run: Path, rank: int, lines: list[dict[str, Any] | str]) -> None:
    (run / "metrics").mkdir(parents=True, exist_ok=True)
    text = "".join(line if isinstance(line, str) else json.dumps(line) + "\n" for line in lines)
    (run / "metrics" / f"rank-{rank}.jsonl").write_text(text)


def _log(run: Path, name: str, data: str | bytes) -> None:
    (run / "logs").mkdir(parents=True, exist_ok=True)
    (run / "logs" / name).write_bytes(data.encode() if isinstance(data, str) else data)


def _interval(value: float, **more: Any) -> dict[str, Any]:
    return {"t": 1.0, "attempt": 1, "step": 1, "samples": 64, "seconds": 0.5, "samples_per_s": value, **more}


def test_median_without_warm_up_and_last_of_others(tmp_path: Path) -> None:
    speeds = [(1.0, True), (100.0, False), (90.0, False), (110.0, False)]
    _meter(
        tmp_path,
        0,
        [_interval(v, loss=10 - i, **({"warmup": True} if w else {})) for i, (v, w) in enumerate(speeds)],
    )
    found = read_metrics(tmp_path, {}, "samples_per_s")
    assert found["samples_per_s"] == 100.0
    assert found["loss"] == 7.0
    assert "t" not in found and "seconds" not in found


def test_final_line_wins_and_rank_zero_speaks(tmp_path: Path) -> None:
    _meter(tmp_path, 0, [_interval(100.0), {"final": True, "samples_per_s": 98.5, "accuracy": 0.971}])
    _meter(tmp_path, 1, [_interval(1.0), {"final": True, "samples_per_s": 1.0, "accuracy": 0.1}])
    _meter(tmp_path, 10, [_interval(2.0)])
    assert read_metrics(tmp_path, {}, "samples_per_s") | {"step": 1.0} == {
        "samples_per_s": 98.5,
        "accuracy": 0.971,
        "step": 1.0,
    }


def test_newest_attempt_speaks_unless_one_is_named(tmp_path: Path) -> None:
    first = [_interval(50.0, loss=9.0), {"attempt": 1, "final": True, "accuracy": 0.5}]
    _meter(tmp_path, 0, [*first, _interval(70.0, attempt=2)])
    assert read_metrics(tmp_path, {}, "samples_per_s") == {"step": 1.0, "samples_per_s": 70.0}
    assert read_metrics(tmp_path, {}, "samples_per_s", attempt=1)["accuracy"] == 0.5


def test_torn_lines_and_foreign_lines_are_passed_over(tmp_path: Path) -> None:
    _meter(tmp_path, 0, [_interval(10.0), "not json\n", "[1]\n", "[" * 50000 + "\n", '{"samples_per_s": 99'])
    assert read_metrics(tmp_path, {}, "samples_per_s")["samples_per_s"] == 10.0


def test_non_finite_numbers_stay_but_do_not_spoil_the_median(tmp_path: Path) -> None:
    lines = [_interval(10.0, loss="NaN"), _interval("Infinity"), _interval(12.0), _interval(11.0, loss="NaN")]  # type: ignore[arg-type]
    _meter(tmp_path, 0, lines)
    found = read_metrics(tmp_path, {}, "samples_per_s")
    assert found["samples_per_s"] == 11.0
    assert math.isnan(found["loss"])


def test_patterns_reduce_skip_and_speak_for_ranks(tmp_path: Path) -> None:
    for rank in (0, 1, 2):
        _log(tmp_path, f"rank-{rank}.log", f"speed 1\nspeed {10 + rank}\nspeed 1,0{rank}0.5\n")
    _log(tmp_path, "job.log", "accuracy 0.5\nspeed 7\n")
    speed = {"pattern": r"speed ([0-9.,]+)", "skip_first": 1}
    patterns = {
        "first": {**speed, "reduce": "median"},
        "sum": {**speed, "reduce": "first", "ranks": "sum"},
        "mean": {**speed, "reduce": "min", "ranks": "mean"},
        "greatest": {**speed, "reduce": "max"},
        "accuracy": {"pattern": r"accuracy ([0-9.]+)"},
        "absent": {"pattern": r"nowhere ([0-9.]+)"},
    }
    assert read_metrics(tmp_path, patterns, "first") == {
        "first": (10 + 1000.5) / 2,
        "sum": 33.0,
        "mean": 11.0,
        "greatest": 1000.5,
        "accuracy": 0.5,
    }


def test_a_sum_over_ranks_has_no_unit_of_one_process() -> None:
    def unit(**entry: Any) -> str:
        return metric_unit({"speed": {"unit": "samples/s/GPU", **entry}}, "speed")

    assert unit(pattern="speed (.*)", ranks="sum") == "samples/s"
    assert unit(pattern="speed (.*)", ranks="sum", unit="samples/s") == "samples/s"
    assert (
        unit(pattern="speed (.*)") == unit(pattern="speed (.*)", ranks="mean") == unit(ranks="sum") == "samples/s/GPU"
    )


def test_pattern_replaces_the_meter(tmp_path: Path) -> None:
    _meter(tmp_path, 0, [{"final": True, "samples_per_s": 5.0}])
    _log(tmp_path, "rank-0.log", "rate=6\n")
    assert read_metrics(tmp_path, {"samples_per_s": {"pattern": "rate=(.*)"}}, "samples_per_s")["samples_per_s"] == 6.0


def test_progress_bars_colours_and_other_bytes(tmp_path: Path) -> None:
    log = b"\r 1% rate=\x1b[32m5.0\x1b[0m\r 2% rate=6.0\r\n\xff\xfe rate=7.5 \x83e\x83X\x83g\n\nrate=8"
    _log(tmp_path, "rank-0.log", log)
    pattern = {"rate": {"pattern": r"rate=([0-9.]+)", "reduce": "mean"}}
    assert read_metrics(tmp_path, pattern, "rate", torn=False) == {"rate": pytest.approx((5 + 6 + 7.5) / 3)}
    assert read_metrics(tmp_path, {"rate": {"pattern": r"rate=([0-9.]+)"}}, "rate") == {"rate": 8.0}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Total img/sec on 4 GPU(s): 812.3 +-9.1\n", 812.3),
        ("total images/sec: 1,812.34\n", 1812.34),
        ("Train 100/900 loss 2.1 512.5 samples/s\n", 512.5),
    ],
)
def test_common_formats_are_known(tmp_path: Path, text: str, expected: float) -> None:
    _log(tmp_path, "rank-0.log", text)
    assert read_metrics(tmp_path, {}, "samples_per_s")["samples_per_s"] == expected


def test_wrong_pattern_is_the_users_error(tmp_path: Path) -> None:
    with pytest.raises(RequestError) as caught:
        read_metrics(tmp_path, {"rate": {"pattern": "rate=("}}, "rate")
    assert caught.value.exit_code == 2 and "rate=(" in caught.value.message and caught.value.hint


def test_nothing_written_is_nothing_found(tmp_path: Path) -> None:
    assert read_metrics(tmp_path, {"rate": {"pattern": "rate=(.)"}}, "samples_per_s") == {}
    assert series(tmp_path) == {}


def test_curves_are_thinned_and_start_anew_with_an_attempt(tmp_path: Path) -> None:
    old = [_interval(1.0, step=i) for i in range(10)]
    _meter(tmp_path, 0, [*old, *({"attempt": 2, "step": i, "loss": 1 / (i + 1)} for i in range(9000))])
    curves = series(tmp_path)
    assert set(curves) == {"loss"}
    assert 1000 <= len(curves["loss"]) <= 2000
    steps = [step for step, _ in curves["loss"]]
    assert steps == sorted(set(steps)) and steps[0] == 0 and steps[-1] > 8900


def test_a_line_without_end_does_not_fill_the_memory(tmp_path: Path) -> None:
    path = tmp_path / "rank-0.log"
    with path.open("wb") as stream:
        stream.truncate(1 << 29)  # a sparse file: half a gigabyte of zero bytes, one line
        stream.seek(0, 2)
        stream.write(b"\nend\n")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    lines = [line[-3:] for line in read_lines(path)]
    assert lines[-1] == "end" and len(lines) == 2
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000  # kB


@given(st.lists(st.text(alphabet="ab\r\n日", max_size=8)), st.integers(1, 5))
def test_lines_do_not_depend_on_how_bytes_arrive(parts: list[str], size: int) -> None:
    data = "".join(parts).encode()
    whole, pieces = Splitter(), Splitter()
    at_once = [*whole.feed(data), whole.rest()]
    bit_by_bit = [line for i in range(0, len(data), size) for line in pieces.feed(data[i : i + size])]
    assert [*bit_by_bit, pieces.rest()] == at_once


def test_of_a_very_long_file_of_a_meter_the_end_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole lines only, the final one among them, wherever the cut falls."""
    path = tmp_path / "metrics" / "rank-0.jsonl"
    path.parent.mkdir()
    lines = [json.dumps({"step": step, "loss": float(step), "samples_per_s": 7.0 * step}) for step in range(50)]
    for most in (len(lines[-1]) + 1, len(lines[-1]) + 2, 4 * len(lines[-1]), 10**6):
        monkeypatch.setattr(metrics, "METER", most)
        path.write_text("\n".join(lines) + "\n")
        whole = [step for step in range(50) if sum(len(line) + 1 for line in lines[step:]) <= most]
        found = read_metrics(tmp_path, {}, "samples_per_s")
        assert found["loss"] == 49.0
        assert found["samples_per_s"] == statistics.median(7.0 * step for step in whole)
        path.write_text("\n".join(lines) + "\n" + json.dumps({"final": True, "loss": 1.0}) + "\n")
        assert read_metrics(tmp_path, {}, "samples_per_s")["loss"] == 1.0


def test_each_number_names_its_source(tmp_path: Path) -> None:
    """A pattern of the user replaces the Meter's number, and a known format is read without a Meter alone."""
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "rank-0.log").write_text("step 1 loss 0.5 throughput 80.0 samples/s\n" * 3 + "score 7\n")
    origins: dict[str, str] = {}
    read_metrics(tmp_path, {"score": {"pattern": r"score (\d+)"}}, "samples_per_s", origins=origins)
    assert (origins["score"], origins["samples_per_s"]) == ("pattern", "printed")
    _meter(tmp_path, 0, [_interval(50.0, loss=9.0)])
    origins = {}
    read_metrics(tmp_path, {"loss": {"pattern": r"loss ([0-9.]+)"}}, "samples_per_s", origins=origins)
    assert (origins["loss"], origins["samples_per_s"]) == ("pattern", "meter")
