"""A new result beside an old one: where noise ends and a difference begins, and what the command says."""

import json
from pathlib import Path
from typing import Any

import pytest

from hackathon.cli.main import run as hackathon
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


def result(speed: float | None = 100.0, accuracy: float | None = 0.98, processes: int = 2, **more: Any) -> Result:
    metrics = {name: value for name, value in (("samples_per_s", speed), ("accuracy", accuracy)) if value is not None}
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
    assert verdict([result(accuracy=0.98)], [result(accuracy=float("nan"))]) == SAME  # nothing to compare
    (point,) = compare([result(accuracy=0.98)], [result(accuracy=0.5)])
    assert point.passed is False and point.quality is not None and point.quality.differs
    without = {"check": None}
    losses = [
        Result("r", 2, "SUCCEEDED", "samples_per_s", "", {"samples_per_s": 1, "loss": each}) for each in (0.1, 0.3)
    ]
    assert verdict(losses[:1], losses[1:]) == DIFFERENT
    assert verdict([result(accuracy=0.9, **without)], [result(accuracy=0.9, **without)]) == SAME


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
