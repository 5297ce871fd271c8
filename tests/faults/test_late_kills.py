"""SIGKILL at named points, most of them after the scheduler's or the disk's answer: nothing lost, nothing doubled."""

from pathlib import Path

import pytest

from hackathon.text.kill_points import STEPS
from support.late_kills import PLAYS

CASES = [(command, point) for command, (_, points) in PLAYS.items() for point in points]


@pytest.mark.slow
@pytest.mark.parametrize(("command", "point"), CASES)
def test_a_kill_loses_nothing_and_doubles_nothing(tmp_path: Path, command: str, point: str) -> None:
    play, _ = PLAYS[command]
    outcome = play(tmp_path, point, 1)
    assert (outcome.kills, outcome.lost, outcome.doubled) == (1, 0, 0)


def test_every_point_after_an_answer_is_played() -> None:
    """`after-refused` and `after-recovered`: test_submission_kill.py; those before the answer there and on Slurm."""
    played = {point for _, point in CASES}
    assert {step for step in STEPS if step.startswith("after-")} - played <= {
        "after-refused", "after-recovered", "after-mkdir", "after-source", "after-files", "after-submitting",
    }  # fmt: skip
