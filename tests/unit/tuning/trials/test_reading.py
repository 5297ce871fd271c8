"""What a trial's run tells: its curve by the Meter or by a pattern, and its result by each objective."""

import math
from dataclasses import replace
from pathlib import Path

import pytest

from hackathon.runs.directory import RunDirectory
from hackathon.runs.states import RunStatus
from hackathon.tuning.trials.objective import AFTER, END, TIME_TO, Objective
from hackathon.tuning.trials.reading import Progress, fact_of, progress
from support.recorded_run import RecordedRun, T

AT_40 = Objective(AFTER, "accuracy", True, seconds=40.0)
AT_END = Objective(END, "accuracy", True)
TO_08 = Objective(TIME_TO, "accuracy", True, goal=0.8)
GOING = RunStatus("r", "RUNNING", t_started=T, t_submitted=T - 9)
DONE = replace(GOING, state="SUCCEEDED", t_ended=T + 100, settled=True)


def recorded(folder: Path, *values: float | str, **record: object) -> RunDirectory:
    """Return a run whose Meter tells a value every ten seconds, from the tenth on."""
    run = RecordedRun(folder / "20261125-120000-own-1p-abcdefgh", 1, **record)
    (run.path / "client").mkdir()
    for number, value in enumerate(values, 1):
        run.add("metrics/rank-0.jsonl", {"t": T + 10 * number, "attempt": 1, "step": number, "accuracy": value})
    return RunDirectory(run.path)


def look(run: RunDirectory, status: RunStatus, objective: Objective, seconds: float = 35.0) -> Progress:
    return progress(run, status, objective, None, T + seconds)


def test_a_running_trial_has_a_curve_and_no_result(tmp_path: Path) -> None:
    run = recorded(tmp_path, 0.5, 0.6, 0.7)
    found = look(run, GOING, AT_40)
    assert (found.state, found.value, found.due) == ("running", None, "")
    assert list(found.curve) == [(10.0, 0.5), (20.0, 0.6), (30.0, 0.7)]
    assert list(look(run, GOING, AT_END).curve) == [(1.0, 0.5), (2.0, 0.6), (3.0, 0.7)]
    assert look(run, replace(GOING, state="QUEUED"), AT_40).state == "waiting"


def test_after_the_time_the_last_value_before_it_counts(tmp_path: Path) -> None:
    run = recorded(tmp_path, 0.5, 0.6, 0.7, 0.8, 0.9)
    assert look(run, GOING, AT_40, 41).due == "" and look(run, GOING, AT_40, 43).due == "time"
    run.write_client("trial", fact_of("time", T + 43, {}))
    found = look(run, GOING, AT_40, 60)
    assert (found.state, found.value) == ("finished", 0.8)
    ended = replace(GOING, state="CANCELLED", t_ended=T + 50)
    assert look(run, ended, AT_40, 60).value == 0.8


def test_a_job_that_was_killed_before_the_time_has_failed(tmp_path: Path) -> None:
    run = recorded(tmp_path, 0.5, 0.6)
    for state in ("CANCELLED", "FAILED", "TIMEOUT", "NODE_FAILED", "LOST"):
        found = look(run, replace(GOING, state=state, t_ended=T + 25), AT_40)
        assert (found.state, found.value) == ("failed", None) and found.reason


def test_a_program_that_ends_early_counts_with_its_last_word(tmp_path: Path) -> None:
    run = recorded(tmp_path, 0.5, 0.6)
    RecordedRun.add(_Writer(run.path), "metrics/rank-0.jsonl", {"t": T + 25, "final": True, "accuracy": 0.65})
    done = replace(DONE, t_ended=T + 26)
    assert look(run, done, AT_40).value == look(run, done, AT_END).value == 0.65
    assert look(recorded(tmp_path / "b"), done, AT_END).state == "failed", "it told nothing"


class _Writer(RecordedRun):
    def __init__(self, path: Path) -> None:
        self.path = path


def test_the_time_to_a_value(tmp_path: Path) -> None:
    run = recorded(tmp_path, 0.5, 0.7, 0.8, 0.9)
    assert look(run, GOING, TO_08, 45).due == "reached"
    run.write_client("trial", fact_of("reached", T + 45, {}))
    found = look(run, GOING, TO_08, 45)
    assert (found.state, found.value) == ("finished", 30.0)
    late = recorded(tmp_path / "b", 0.5, 0.6)
    assert look(late, GOING, TO_08).due == ""
    assert (look(late, DONE, TO_08).state, look(late, DONE, TO_08).value) == ("finished", None), "never reached"


def test_a_stopped_trial_stays_stopped_whatever_its_job_does(tmp_path: Path) -> None:
    run = recorded(tmp_path, 0.1, 0.2)
    run.write_client("trial", fact_of("rule", T + 30, {"rule": "predict", "probability": 0.01}))
    for status in (GOING, DONE, replace(GOING, state="CANCELLED", t_ended=T + 31)):
        found = look(run, status, AT_40)
        assert (found.state, found.value, found.probability) == ("stopped", None, 0.01)


def test_a_training_that_diverges_is_seen(tmp_path: Path) -> None:
    curve = look(recorded(tmp_path, 0.5, "NaN", 0.6, "NaN"), GOING, AT_40).curve
    assert [value for _, value in curve[:-1]] == [0.5, 0.6] and math.isnan(curve[-1][1])


def test_values_of_a_pattern_are_spread_over_the_time(tmp_path: Path) -> None:
    run = recorded(tmp_path, metrics={"accuracy": {"pattern": "acc=([0-9.]+)"}})
    (run.path / "logs" / "rank-0.log").write_text("acc=0.25\nother\nacc=0.5\nacc=0.75\n")
    assert list(look(run, GOING, AT_40, 30).curve) == [(10.0, 0.25), (20.0, 0.5), (30.0, 0.75)]
    assert look(run, replace(DONE, t_ended=T + 30), AT_END, 99).value == 0.75


def test_a_submission_that_is_not_clear_yet_waits(tmp_path: Path) -> None:
    unclear = replace(GOING, state="UNCERTAIN", t_started=None, t_submitted=T, cause="uncertain")
    run = recorded(tmp_path)
    assert look(run, unclear, AT_40, 5).state == "waiting"
    assert look(run, unclear, AT_40, 500).state == "failed"


@pytest.mark.parametrize("objective", [AT_40, AT_END, TO_08])
def test_files_of_others_are_data(tmp_path: Path, objective: Objective) -> None:
    run = recorded(tmp_path, 0.5)
    metrics = run.path / "metrics" / "rank-0.jsonl"
    for junk in (b"\xff\x00{", b'{"t": "x", "accuracy": []}\n', b'{"t": 1e999, "accuracy": 1e999}\n', b"[" * 10_000):
        Path(metrics).write_bytes(junk)
        run.write_client("trial", {"why": ["rule"], "probability": "much"})
        assert look(run, GOING, objective).state in ("running", "finished", "failed")


def test_the_last_value_counts_where_no_final_line_tells_one(tmp_path: Path) -> None:
    run = recorded(tmp_path, 0.5, 0.6, 0.7, 0.9)
    assert look(run, DONE, AT_END).value == 0.9  # 0.65 is the median


def test_values_are_counted_though_a_long_curve_is_thinned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hackathon.logs.metrics.CURVE", 8)
    curve = look(recorded(tmp_path, *[0.5] * 20), GOING, AT_END).curve
    assert [x for x, _ in curve] == [1.0, 5.0, 9.0, 13.0, 17.0]  # it was 1 to 5
