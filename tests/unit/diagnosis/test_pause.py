"""A run that reached its walltime says since when it had stood still, and nothing of a run that worked to the end."""

import json
import os
import time
from pathlib import Path

import pytest

from hackathon.diagnosis import diagnose_run
from hackathon.runs.directory import RunDirectory
from hackathon.text.messages import speaking
from hackathon.text.units import format_duration

NOW = time.time()


def made(
    project: Path, *, state: str = "TIMEOUT", metered: float | None = None, printed: float | None = None,
    every: float = 5.0, told: bool = True, changed: float = 0.0,
) -> Path:  # fmt: skip
    """Write a run of two ranks that was ended NOW after 900 s.

    `metered`, `printed`: seconds between the last line of the Meter, of the log, and the end; None: there is none.
    `every`: seconds between two lines. `changed`: seconds by which the log was changed after that.
    """
    run = project / "runs" / "20261121-100000-demo-2p-aaaaaaaa"
    for folder in ("client", "events", "logs", "metrics"):
        (run / folder).mkdir(parents=True)
    (project / "project.yaml").write_text("name: demo\ncommand: 'true'\n")
    (run / "request.json").write_text(json.dumps({"name": "demo", "processes": 2, "nodes": 1, "walltime": 900}))
    (run / "client/created.json").write_text(json.dumps({"t": NOW - 910}))
    seal = {"state": state, "cause": "walltime", "attempt": 1, "job_id": "7", "t_ended": NOW, "sealed": NOW}
    (run / "final.json").write_text(json.dumps(seal))
    for rank in range(2):
        own = {"attempt": 1, "host": "n1"}
        last = None if printed is None else NOW - printed
        events = [{"t": NOW - 900, "event": "started", **own}]
        if told:
            events.append({"t": NOW, "event": "told", "printed": last, **own})
        events.append({"t": NOW + 1, "event": "ended", "exit_code": 143, "signal": 15, **own})
        (run / f"events/rank-{rank}.jsonl").write_text("".join(json.dumps(each) + "\n" for each in events))
        if last is not None:
            log = run / f"logs/rank-{rank}.log"
            log.write_text("at work\n" * max(1, int((last - NOW + 900) / every)))
            os.utime(log, (last + changed, last + changed))
        if metered is not None:
            count = int((900 - metered) / every)
            lines = [
                {"t": NOW - metered - every * (count - 1 - number), "attempt": 1, "step": 10 * number}
                for number in range(count)
            ]
            text = "".join(json.dumps(line) + "\n" for line in lines)
            (run / f"metrics/rank-{rank}.jsonl").write_text(text)
    return run


def words(run: Path, language: str = "en") -> str:
    with speaking(language):
        root = diagnose_run(RunDirectory(run)).root
    assert root is not None and root.rule == "job-walltime"
    assert "{" not in root.message
    return root.message


def test_a_run_that_stood_still_says_since_which_step_and_how_long(tmp_path: Path) -> None:
    run = made(tmp_path, metered=520, printed=520)
    assert words(run).endswith("; it stood still since step 750 for 8 min 40 s before that")
    assert "ステップ 750 から進んでいません" in words(run, "ja") and "8 分 40 秒は" in words(run, "ja")


def test_without_a_meter_the_log_tells_how_long(tmp_path: Path) -> None:
    assert words(made(tmp_path, printed=300)).endswith("; it stood still for 5 min before that")


@pytest.mark.parametrize(
    "how",
    [
        {"metered": 4, "printed": 4},
        {"metered": 20, "printed": 20},
        {"metered": 300, "printed": 3},  # the training is over, an evaluation still prints
        {"metered": 3, "printed": 600},  # its log is silent, its Meter is not
        {"printed": 300, "every": 120.0},  # a line every two minutes
        {"metered": 300, "every": 100.0},
        {"printed": 300, "told": False, "changed": 305.0},  # the log was copied, or written to after the end
        {},
    ],
    ids=str,
)
def test_a_run_that_worked_to_the_end_is_not_said_to_stand(tmp_path: Path, how: dict[str, float]) -> None:
    assert words(made(tmp_path, **how)).endswith("at its walltime, 00:15:00")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(-3, "0 s"), (0.4, "0 s"), (59.6, "1 min"), (520, "8 min 40 s"), (3600, "1 h"), (7500, "2 h 5 min"),
     (86399.9, "1 d"), (273600, "3 d 4 h")],
)  # fmt: skip
def test_durations(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text


def test_the_lines_of_a_start_do_not_tell_how_long_an_epoch_lasts(tmp_path: Path) -> None:
    run = made(tmp_path, printed=160)
    for log in (run / "logs").iterdir():
        log.write_text("".join(f"shard {n} of 300\n" for n in range(300)) + "epoch 0\nepoch 1\nepoch 2\n")
        os.utime(log, (NOW - 160, NOW - 160))
    assert words(run).endswith("at its walltime, 00:15:00")


def test_a_line_that_is_printed_once_hides_no_pause(tmp_path: Path) -> None:
    run = made(tmp_path, printed=160)
    for log in (run / "logs").iterdir():
        log.write_text("".join(f"step {n} loss 0.5\n" for n in range(300)) + "saving a checkpoint\n")
        os.utime(log, (NOW - 160, NOW - 160))
    assert "stood still" in words(run)


@pytest.mark.parametrize("first", [330, None])
def test_the_time_before_the_first_step_is_no_pause(tmp_path: Path, first: float | None) -> None:
    """Ten lines in 750 s would be one in 75 s; ten in the 180 s since the first step are one in 18 s."""
    run = made(tmp_path, printed=150, every=75)
    if first is not None:
        (run / "steps").mkdir()
        (run / "steps/rank-0.json").write_text(json.dumps({"steps": 9, "first_step": NOW - first}))
    assert ("; it stood still for 2 min 30 s before that" in words(run)) == (first is not None)
