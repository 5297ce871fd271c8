"""A new result beside an old one: where noise ends and a difference begins, and what the command says."""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hackathon.cli.main import run as hackathon
from hackathon.cli.study.compare import _of_crate
from hackathon.runs.crate.archive import Crate
from hackathon.runs.create import create
from hackathon.runs.directory import RunDirectory
from hackathon.runs.record import RecordedCheck
from hackathon.scaling.compare import (
    DIFFERENT,
    FAILED,
    FASTER,
    SAME,
    SLOWER,
    UNKNOWN,
    Result,
    compare,
    difference,
    overall,
    student,
)
from support.runs import SCRIPT, project, request

CHECK = {"metric": "accuracy", "at_least": 0.97, "at_most": None}


def result(
    speed: float | None = 100.0, accuracy: float | None = 0.98, processes: int = 2, *, loss: float | None = None,
    **more: Any,
) -> Result:  # fmt: skip
    told = (("samples_per_s", speed), ("accuracy", accuracy), ("loss", loss))
    metrics = {name: value for name, value in told if value is not None}
    values: dict[str, Any] = {
        "state": "SUCCEEDED",
        "metric": "samples_per_s",
        "unit": "samples/s",
        "check": RecordedCheck.from_json(CHECK),
    }
    return Result("r", processes, metrics=metrics, **{**values, **more})


def verdict(old: list[Result], new: list[Result], **more: Any) -> str:
    return overall(compare(old, new, **more))


# Two-sided 95 % points of Student's t: Abramowitz & Stegun, table 26.10.
@pytest.mark.parametrize(
    ("freedom", "t"), [(1, 12.706), (2, 4.303), (5, 2.571), (10, 2.228), (30, 2.042), (1e6, 1.960)]
)
def test_student(freedom: float, t: float) -> None:
    assert student(0.95, freedom) == pytest.approx(t, abs=6e-4)


def test_welch_by_hand() -> None:
    """Means 101 and 105, variances 1 and 4, three each: s = 1.2910, f = 2.9412, t = 3.2189."""
    found = difference("x", "", [100, 101, 102], [103, 105, 107], 0.05)
    assert found.method == "welch" and found.change == pytest.approx(4 / 101)
    assert found.low is not None and found.high is not None
    assert (found.high - found.low) / 2 * 101 == pytest.approx(3.2189 * 1.2910, rel=1e-3)
    assert not found.differs
    assert difference("x", "", [100, 101, 102], [106, 108, 110], 0.05).differs


def test_one_run_against_repeats_is_a_prediction() -> None:
    """The next run of 100, 101, 102 lies within 101 ± 4.3027 · 1 · √(4/3) = 101 ± 4.968."""
    repeats = [100.0, 101.0, 102.0]
    for value, differs in ((105.9, False), (106.1, True), (96.1, False), (95.9, True)):
        for sides in ((repeats, [value]), ([value], repeats)):
            found = difference("x", "", *sides, 0.05)
            assert (found.method, found.differs) == ("prediction", differs)


def test_single_runs_have_a_tolerance() -> None:
    assert not difference("x", "", [100], [104.9], 0.05).differs
    assert difference("x", "", [100], [105.1], 0.05).differs
    assert not difference("x", "", [0], [0], 0.05).differs and difference("x", "", [0], [1], 0.05).change is None
    same = difference("x", "", [0.1 + 0.2, 0.3], [0.3, 0.3], 0.05)
    assert not same.differs


def test_verdicts_of_speed() -> None:
    assert verdict([result(100)], [result(103)]) == SAME
    assert verdict([result(100)], [result(120)]) == FASTER
    assert verdict([result(100)], [result(80)]) == SLOWER
    assert verdict([result(100)], [result(120)], tolerance=0.5) == SAME
    seconds = {"metric": "t", "unit": "s/step", "check": None}
    slow, fast = (result(None, None, **seconds) for _ in range(2))
    slow, fast = (Result(each.id, 2, each.state, "t", "s/step", {"t": value}) for each, value in ((slow, 2), (fast, 1)))
    assert (verdict([slow], [fast]), verdict([fast], [slow])) == (FASTER, SLOWER)


def test_verdicts_of_accuracy() -> None:
    assert verdict([result(accuracy=0.98)], [result(accuracy=0.975)]) == SAME
    assert verdict([result(accuracy=0.98)], [result(speed=200, accuracy=0.90)]) == DIFFERENT
    assert verdict([result(accuracy=0.971)], [result(accuracy=0.969)]) == DIFFERENT  # it no longer passes
    assert verdict([result(accuracy=0.5)], [result(accuracy=0.5)]) == SAME  # the old one did not pass either
    (point,) = compare([result(accuracy=0.98)], [result(accuracy=0.5)])
    assert point.passed is False and point.quality is not None and point.quality.differs
    without = {"check": None}
    losses = [
        Result("r", 2, "SUCCEEDED", "samples_per_s", "", {"samples_per_s": 1, "loss": each}) for each in (0.1, 0.3)
    ]
    assert verdict(losses[:1], losses[1:]) == DIFFERENT
    assert verdict([result(accuracy=0.9, **without)], [result(accuracy=0.9, **without)]) == SAME


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_training_that_diverged_is_never_as_good(bad: float) -> None:
    def losses(*values: float | None) -> list[Result]:
        return [result(100, None, loss=each, check=None) for each in values]

    (point,) = compare([result(accuracy=0.98)], [result(200, accuracy=math.nan)])
    assert (point.verdict, point.passed, point.diverged) == (DIFFERENT, False, ("accuracy",))
    assert verdict(losses(0.3), losses(bad)) == DIFFERENT
    assert verdict(losses(0.3, 0.31, 0.3), losses(0.3, 0.31, bad)) == DIFFERENT, "one of the repeats is enough"
    assert verdict(losses(bad), losses(0.3)) == SAME and verdict(losses(bad), losses(bad)) == SAME
    assert verdict(losses(0.3, bad), losses(0.3, bad)) == SAME, "the old ones diverged as well"
    assert verdict(losses(None), losses(bad)) == SAME and verdict(losses(0.3), losses(None)) == SAME, (
        "nothing to compare"
    )
    old, new = (result(accuracy=0.98, loss=each) for each in (0.3, bad))
    assert verdict([old], [new]) == SAME, "the check says which number counts"


def test_repeats_that_compute_the_same_say_nothing_of_the_noise() -> None:
    for old, new in ((3, 3), (1, 3), (3, 1)):
        for accuracy, told in ((0.9729, SAME), (0.975, SAME), (0.9731, SAME), (0.5, DIFFERENT)):
            sides = [result(accuracy=0.9731)] * old, [result(accuracy=accuracy, check=None)] * new
            (point,) = compare([replace(each, check=None) for each in sides[0]], sides[1])
            assert point.verdict == told and point.quality is not None and point.quality.method == "tolerance"
    rounded = [replace(result(accuracy=0.9731 * (1 + off)), check=None) for off in (0, 1e-15, 2e-15)]
    assert verdict(rounded, [replace(result(accuracy=0.9729), check=None)] * 3) == SAME
    scattered = [replace(result(accuracy=each), check=None) for each in (0.97310, 0.97311, 0.97309)]
    assert verdict(scattered, [replace(result(accuracy=0.9729), check=None)] * 3) == DIFFERENT
    assert verdict([result(100)] * 3, [result(104)] * 3) == FASTER, "speeds scatter by themselves"


def test_equal_weights_are_the_same_network() -> None:
    one, two, three = ({"texts": {"weights": text}} for text in ("sha256:aa", "sha256:aa", "sha256:bb"))
    (point,) = compare([result(**one)], [result(**two)])
    assert point.texts == {"weights": True} and point.verdict == SAME
    (point,) = compare([result(**one)], [result(**three)])
    assert point.texts == {"weights": False} and point.verdict == SAME  # other weights, as accurate
    (point,) = compare([result(**one)], [result(**two), result(**three)])
    assert point.texts == {"weights": False}
    assert compare([result(**one)], [result()])[0].texts == {}


def test_failed_and_unknown() -> None:
    broken = result(state="FAILED")
    assert verdict([result()], [broken]) == FAILED and verdict([broken], [result()]) == UNKNOWN
    assert verdict([result()], [broken, result()]) == SAME
    assert verdict([result()], [result(None)]) == UNKNOWN
    assert verdict([result()], [result(processes=4)]) == UNKNOWN and not compare([result()], [result(processes=4)])


def test_the_worst_point_decides() -> None:
    old = [result(100, processes=1), result(200, processes=2), result(400, processes=4)]
    new = [result(150, processes=1), result(201, processes=2), result(300, processes=4)]
    points = compare(old, new)
    assert [point.verdict for point in points] == [FASTER, SAME, SLOWER] and overall(points) == SLOWER


# ---- the command ----
def _run(folder: Path, speed: float, weights: str, *, processes: int = 1, exit_code: int = 0) -> RunDirectory:
    made = request(project(folder), check=CHECK, metrics={"samples_per_s": {"unit": "samples/s"}}, processes=processes)
    run = create(made, SCRIPT, runs_folder=folder / "runs")
    for name in ("events", "metrics", "claim"):
        (run.path / name).mkdir()
    (run.path / "claim" / "job_id").write_text("1\n")
    events = [{"t": 1, "event": "started"}, {"t": 2, "event": "ended", "exit_code": exit_code}]
    (run.path / "events" / "job.jsonl").write_text("".join(json.dumps(each) + "\n" for each in events))
    final = {"final": True, "samples_per_s": speed, "accuracy": 0.98, "weights": weights}
    (run.path / "metrics" / "rank-0.jsonl").write_text(json.dumps(final) + "\n")
    return run


def test_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    old, same, slow = (_run(tmp_path, speed, text).id for speed, text in ((100, "x:a"), (101, "x:a"), (50, "x:b")))
    assert hackathon(["compare", old, same]) == 0
    shown = capsys.readouterr()
    assert "The same within the noise." in shown.out and "bit for bit" in shown.out and "+1.00 %" in shown.out
    assert "one run each; up to 5 %" in shown.err
    assert hackathon(["compare", old, slow]) == 1
    shown = capsys.readouterr()
    assert "Slower." in shown.out and "not equal" in shown.out and "bit for bit" not in shown.out
    assert hackathon(["compare", f"{old},{same}", slow, "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert told["verdict"] == SLOWER and told["old"] == [old, same] and told["new"] == [slow]
    assert told["points"][0]["speed"]["method"] == "prediction" and told["points"][0]["texts"] == {"weights": False}
    assert hackathon(["compare", old, slow, "--tolerance", "60", "--lang", "ja"]) == 0
    assert "同じ" in capsys.readouterr().out


def _tell(run: RunDirectory, **numbers: float) -> str:
    """Let a run tell other final numbers; return its id."""
    (run.path / "metrics" / "rank-0.jsonl").write_text(json.dumps({"final": True, **numbers}) + "\n")
    return run.id


def test_a_metric_that_is_named_has_its_unit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    short, long = (
        _tell(_run(tmp_path, 1, "x"), samples_per_s=1, accuracy=0.98, time_to_train_s=each) for each in (100, 150)
    )
    assert hackathon(["compare", short, long, "--metric", "time_to_train_s"]) == 1
    shown = capsys.readouterr().out
    assert "Slower." in shown and "100 s" in shown and "+50.00 %" in shown
    assert hackathon(["compare", long, short, "--metric", "time_to_train_s"]) == 0
    assert "Faster, with the same accuracy." in capsys.readouterr().out
    lines = [{"t": each, "step": each, "loss": 1 / each} for each in (1, 2, 8)]
    curves = [_run(tmp_path, 1, "x") for _ in range(2)]
    for curve in curves:
        (curve.path / "metrics" / "rank-0.jsonl").write_text("".join(json.dumps(each) + "\n" for each in lines))
    assert hackathon(["compare", *(each.id for each in curves), "--metric", "loss"]) == 0
    assert "0.125" in capsys.readouterr().out, "the last one, not the median of the curve"
    assert hackathon(["compare", short, long]) == 0, "without a name the throughput counts"
    assert "The same within the noise." in capsys.readouterr().out


def test_a_metric_that_is_named_has_the_unit_of_its_crate() -> None:
    files = {
        "result.json": {"processes": 2, "state": "SUCCEEDED", "metric": "samples_per_s",
                        "metrics": {"samples_per_s": 5, "step": 3}},
        "request.json": {"metric": "samples_per_s", "metrics": {"step": {"unit": "ms"}}},
    }  # fmt: skip
    crate = Crate(Path("c"), "", {"run": "r"}, {name: json.dumps(each).encode() for name, each in files.items()})
    assert [(each.metric, each.unit) for each in (_of_crate(crate, name) for name in ("", "step"))] == [
        ("samples_per_s", "samples/s"), ("step", "ms"),
    ]  # fmt: skip


def test_what_was_not_compared_is_not_called_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    old, new = (_tell(_run(tmp_path, 1, ""), samples_per_s=each) for each in (100, 150))
    diverged = _tell(_run(tmp_path, 1, ""), samples_per_s=150, accuracy=math.nan)
    good = _run(tmp_path, 100, "x:a")
    assert hackathon(["compare", old, new]) == 0
    assert "Faster. Accuracy was not compared" in capsys.readouterr().out
    assert hackathon(["compare", good.id, diverged]) == 1
    shown = capsys.readouterr()
    assert "The accuracy is different." in shown.out
    assert "accuracy that is NaN or infinite" in shown.err and "fails the check" in shown.err
    assert hackathon(["compare", good.id, diverged, "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["points"][0]["diverged"] == ["accuracy"]
    assert hackathon(["compare", good.id, _run(tmp_path, 150, "x:b").id, "--lang", "ja"]) == 0
    assert "速くなりました（精度は同じ）" in capsys.readouterr().out


def test_command_refuses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    one, two = _run(tmp_path, 1, "a").id, _run(tmp_path, 1, "a", processes=2).id
    broken = _run(tmp_path, 1, "a", exit_code=1).id
    assert hackathon(["compare", one, two]) == 2
    assert "no process count in common" in capsys.readouterr().err
    assert hackathon(["compare", one, "nothing"]) == 2
    assert hackathon(["compare", one, "nothing.zip"]) == 2
    assert hackathon(["compare", one, broken]) == 1
    assert "did not succeed" in capsys.readouterr().out
    assert hackathon(["compare", one, broken, "--metric", "lose"]) == 2
    said = capsys.readouterr().err
    assert "lose" in said and "accuracy, samples_per_s" in said
