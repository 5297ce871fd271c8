"""What the recorder counts in programs of many shapes, and whether their ranks are said to work together: for real."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from hackathon.diagnosis.doubts import judge
from hackathon.diagnosis.facts import RunFacts
from hackathon.logs.final import final_numbers
from hackathon.logs.recorded import rates, recordings
from hackathon.runs.directory import RunDirectory
from support.paths import TESTS
from support.patience import STRETCH
from support.recorded_run import RecordedRun

pytestmark = [pytest.mark.slow, pytest.mark.torch, pytest.mark.timeout(900)]

RANKS = 2


class Shape(NamedTuple):
    """What is true of a program."""

    doubt: tuple[str, str] | None = None
    """(id, kind) of the doubt about its ranks or their data."""
    rates: tuple[str, ...] = ("samples_per_s", "steps_per_s")
    work: float | None = 16
    """Samples of a step over all ranks."""

    steps: int = 40
    skipped: int = 0


EQUAL, EACH = ("undivided-data", "equal"), ("undivided-data", "each")
SHAPES = {
    "alone": Shape(("no-group", "recorded")),
    "world_of_one": Shape(("several-worlds", "recorded")),
    "unwrapped": Shape(("no-group", "silent")),
    "evaluation_exchanges": Shape(("outside-steps", ""), steps=240),
    "evaluation_exchanges_ddp": Shape(steps=80),
    "ddp": Shape(),
    "workers": Shape(),
    "stream": Shape(),
    "tokens": Shape(rates=("samples_per_s", "tokens_per_s", "steps_per_s"), work=8),
    "time_first": Shape(rates=("steps_per_s",), work=100),
    "accumulated": Shape(rates=("steps_per_s",), work=24),
    "local_sgd": Shape(),
    "gan": Shape(),
    "fsdp": Shape(),
    "other_package": Shape(),
    "wgan": Shape(work=96),
    "micro_steps": Shape(work=64),
    "evaluated": Shape(),
    "scaled": Shape(steps=32, skipped=8),
    "compiled": Shape(),
    "profiled": Shape(),
    "equal_data": Shape(EQUAL, work=8),
    "equal_data_fsdp": Shape(EQUAL, work=8),
    "whole_data": Shape(EACH),
    "own_subset": Shape(),
    "hidden_shard": Shape(),
    "slices": Shape(work=8),
    "synthetic": Shape(),
    "constant": Shape(),
    "tensor_parallel": Shape(work=8),
}
EVALUATIONS = {"evaluated": 18}
"""Program → evaluations after its third step and before its last one."""
SAME = ("ddp", "workers", "fsdp", "compiled", "profiled")
"""Programs whose losses are compared with those without the recorder."""


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("torch")
    out = tmp_path_factory.mktemp("recorded")
    for folder, recorder, shapes in ((out, "with", tuple(SHAPES)), (out / "bare", "without", SAME)):
        subprocess.run(
            [sys.executable, str(TESTS / "support" / "recorded_programs.py"), str(folder), recorder, *shapes],
            check=True,
            timeout=STRETCH * 600,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
    for shape in SHAPES:
        RecordedRun(out / shape, RANKS)
    return out


@pytest.mark.parametrize("shape", SHAPES)
def test_what_a_program_did_is_what_was_counted(trained: Path, shape: str) -> None:
    run, truth = trained / shape, SHAPES[shape]
    record = RunDirectory(run).known()
    numbers = final_numbers(run, record, over=True)
    assert tuple(numbers.values) == truth.rates
    assert set(numbers.sure.values()) == {"recorded"}
    judged = judge(run, record, numbers)
    assert judged.work == truth.work
    apart = [(doubt.id, doubt.kind) for doubt in judged.doubts]
    assert apart == ([truth.doubt] if truth.doubt else [])
    assert all(rate > 0 for rate in rates(recordings(run, RANKS), RANKS).values())
    for rank in range(RANKS):
        recorded = json.loads((run / "steps" / f"rank-{rank}.json").read_text())
        assert (recorded["steps"], recorded["skipped"]) == (truth.steps, truth.skipped)
        timed = recorded["timed"]
        assert timed["evaluations"] == EVALUATIONS.get(shape, 0)
        assert timed["steps"] == truth.steps - timed["evaluations"] - 3 or shape in ("gan", "wgan")


@pytest.mark.parametrize("shape", SAME)
def test_losses_are_equal_to_the_bit_with_and_without_the_recorder(trained: Path, shape: str) -> None:
    for rank in range(RANKS):
        losses = (trained / shape / f"losses-{rank}.txt").read_text().splitlines()
        assert len(set(losses)) > 30
        assert losses == (trained / "bare" / shape / f"losses-{rank}.txt").read_text().splitlines()
    assert not list((trained / "bare" / shape / "steps").iterdir())


def test_a_rank_without_a_recording_leaves_the_answer_open(trained: Path) -> None:
    """Only what the recorders of all ranks saw is told."""
    facts = RunFacts(trained / "alone")
    (trained / "alone" / "steps" / "rank-1.json").rename(trained / "alone" / "hidden.json")
    try:
        numbers = final_numbers(facts.path, facts.record, over=True)
        assert not numbers.values and not judge(facts.path, facts.record, numbers).doubts
    finally:
        (trained / "alone" / "hidden.json").rename(trained / "alone" / "steps" / "rank-1.json")
