"""Planted faults in real processes: the shares are those that the ranks' own clocks saw."""

import json
import subprocess
import sys
from pathlib import Path
from statistics import fmean

import pytest

from hackathon.profiling.advice import LIMITS
from hackathon.profiling.meters import shares_of_run
from hackathon.profiling.points import point_json
from support.paths import TESTS
from support.patience import STRETCH
from support.planted_steps import FAULTS, STRENGTHS, apart, planted_shares

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

PROGRAM = TESTS / "support" / "planted_ranks.py"
POINTS = 0.03
SCALES = (1.0, 3.0)
"""On a busy machine processes wake up late; beside longer steps that is less."""


@pytest.mark.parametrize("processes", [2, 4])
def test_planted_faults_are_found_in_real_processes(tmp_path: Path, processes: int) -> None:
    wanted = [(fault, strength) for fault in FAULTS for strength in STRENGTHS] + [("healthy", 0.0)]
    wrong: dict[tuple[str, float], str] = {}
    for scale in SCALES:
        runs = {each: tmp_path / f"{each[0]}-{each[1]}-{scale}" for each in wanted}
        begun = [
            subprocess.Popen([sys.executable, str(PROGRAM), str(run), str(processes), fault, str(strength), str(scale)])
            for (fault, strength), run in runs.items()
        ]  # they sleep most of the time, so all run at once
        assert [each.wait(timeout=STRETCH * 250) for each in begun] == [0] * len(begun)
        wrong = {each: why for each, run in runs.items() if (why := difference(run, processes, *each))}
        wanted = list(wrong)
        if not wrong:
            return
    raise AssertionError("\n".join(f"{fault} {strength}: {why}" for (fault, strength), why in wrong.items()))


def difference(run: Path, processes: int, fault: str, strength: float) -> str:
    """Return what is wrong about the shares of a run; empty when they are right."""
    truths = [json.loads((run / f"truth-{rank}.json").read_text()) for rank in range(processes)]
    shares = shares_of_run(run, processes)
    told = point_json([shares] if shares else [])
    if shares is None or told is None:
        return "no shares"
    planted = planted_shares(truths)
    if why := apart(shares.ranks, planted, POINTS):
        return why
    late = told["late_rank"]
    others = [each for rank, each in enumerate(planted) if rank != late]
    ids = {advice["id"]: advice["part"] for advice in told["advice"]}
    # a busy machine makes steps longer and ranks late: what is wanted follows from what came of the plan
    for part, limit in LIMITS.items():
        share = fmean(each[part] for each in (others if part == "waiting" else planted))
        if share < limit - POINTS and part in ids.values():
            return f"{part} is {share:.3f}, and the advice is {ids}"
        if share > limit + POINTS and part not in ids.values():
            return f"{part} is {share:.3f}, and the advice is {ids}"
    waits = fmean(each["waiting"] for each in others) > LIMITS["waiting"] + POINTS
    if fault == "straggler" and waits and (late, "straggler" in ids) != (processes - 1, True):
        return f"late is {late}, advice {ids}"
    return ""
