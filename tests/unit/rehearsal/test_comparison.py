"""A ported program beside its original: what the recorders of both wrote decides, and is not decided too early."""

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from hackathon.cli.run.rehearsal_shown import compared_finding, compared_text
from hackathon.rehearsal.comparison import Compared, compare, original_of, unrecorded
from hackathon.runs.directory import RunDirectory
from hackathon.runs.states import RunStatus
from support.recorded_run import RecordedRun

STEPS = 64


def losses(seed: int, rate: float = 1.0) -> list[float]:
    """Return losses that fall, each with the noise of its batch."""
    noise = random.Random(seed)
    return [2.3 * 0.98 ** (rate * step) + noise.gauss(0, 0.1) for step in range(STEPS)]


def near(values: Sequence[float], spread: float, seed: int = 9) -> list[float]:
    noise = random.Random(seed)
    return [value + noise.gauss(0, spread) for value in values]


def recorded(folder: Path, ranks: Sequence[Sequence[float]], work: int, **fields: Any) -> RunDirectory:
    """Write a run whose recorders kept these losses, one list for each rank."""
    run = RecordedRun(folder, processes=len(ranks))
    for rank, values in enumerate(ranks):
        run.steps(rank, work=work, world=len(ranks) if len(ranks) > 1 else 0, collectives=40)
        path = folder / f"steps/rank-{rank}.json"
        own = {name: value[rank] for name, value in fields.items()}
        path.write_text(json.dumps({**json.loads(path.read_text()), "losses": list(values), **own}))
    return RunDirectory(folder)


def result(
    folder: Path, before: Sequence[float], ranks: Sequence[Sequence[float]], *, work: int = 4, **fields: Any
) -> Compared:
    runs = [recorded(folder / "a", [before], 8), recorded(folder / "b", ranks, work, **fields)]
    return compare("train.py", runs, [RunStatus(run.id, "SUCCEEDED") for run in runs])


def test_the_same_losses_are_equal(tmp_path: Path) -> None:
    before = losses(1)
    halves = [[value + 0.3 for value in before], [value - 0.3 + 1e-6 for value in before]]
    made = result(tmp_path, before, halves, weights=[{"1": 5, "2": 7}, {"1": 5, "2": 7}])
    assert (made.result, made.reason, made.steps) == ("equal", "", STEPS)
    assert compared_text(made).startswith("the same loss, 1.")
    assert made.as_json()["samples_per_step"] == [8, 8]


@pytest.mark.parametrize("seed", range(20))
def test_noise_of_dropout_is_no_difference(tmp_path: Path, seed: int) -> None:
    before = losses(seed)
    assert result(tmp_path, before, [near(before, 0.08, seed), near(before, 0.08, seed + 50)]).result == "noise"


@pytest.mark.parametrize("seed", range(20))
def test_other_batches_are_no_difference(tmp_path: Path, seed: int) -> None:
    assert result(tmp_path, losses(seed), [losses(seed + 100), losses(seed + 200)]).result == "noise"


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("fault", ["rate", "sum"])
def test_another_learning_rate_and_a_sum_differ(tmp_path: Path, fault: str, seed: int) -> None:
    after = losses(seed, 2.0) if fault == "rate" else [value / 2 for value in losses(seed)]
    made = result(tmp_path, losses(seed), [after, after])
    assert (made.result, made.reason) == ("differs", "loss")
    assert compared_finding(made).severity == "error" and "differs: losses of" in compared_finding(made).message


def test_weights_that_drift_apart_differ_whatever_the_losses_are(tmp_path: Path) -> None:
    before = losses(1)
    made = result(tmp_path, before, [before, before], weights=[{"1": 5, "2": 7}, {"1": 5, "2": 8}])
    assert (made.result, made.reason) == ("differs", "weights")


@pytest.mark.parametrize(
    ("before", "ranks", "work", "reason"),
    [
        ([], [[], []], 4, "no_loss"),
        ([2.0] * 5, [[2.0] * 5, [2.0] * 5], 4, "few"),
        (losses(1), [losses(1), losses(1)], 8, "batch"),
        ([None, *losses(1)], [losses(1), losses(1)], 4, "not_finite"),
    ],
    ids=["no loss", "few steps", "another batch", "not a number"],
)
def test_what_cannot_be_compared_is_not_known(
    tmp_path: Path, before: list[float], ranks: list[list[float]], work: int, reason: str
) -> None:
    made = result(tmp_path, before, ranks, work=work)
    assert (made.result, made.reason) == ("unknown", reason)
    assert compared_text(made).startswith("not known: ")


def test_a_run_that_failed_says_nothing_about_the_loss(tmp_path: Path) -> None:
    runs = [recorded(tmp_path / "a", [losses(1)], 8), recorded(tmp_path / "b", [losses(1), losses(1)], 4)]
    states = [RunStatus(runs[0].id, "SUCCEEDED"), RunStatus(runs[1].id, "FAILED")]
    assert compare("train.py", runs, states).reason == "failed_ported"


def test_a_ported_program_beside_its_original_is_compared(tmp_path: Path) -> None:
    command = ("python", "-u", "lib/train.ported.py", "--lr", "0.1")
    assert original_of(tmp_path, command) is None
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/train.ported.py").write_text("import os\nimport torch\n")
    assert original_of(tmp_path, command) is None
    (tmp_path / "lib/train.py").write_text("import torch\n")
    original = ("python", "-u", "lib/train.py", "--lr", "0.1")
    assert original_of(tmp_path, command) == ("lib/train.py", original, True)
    assert original_of(tmp_path, ("python", "lib/train.py")) is None
    (tmp_path / "lib/ddp.py").write_text(
        "from lightning.pytorch import Trainer\n\n# ported from train.py by hackathon\n"
    )
    assert original_of(tmp_path, ("python", "lib/ddp.py")) == ("lib/train.py", ("python", "lib/train.py"), True)


@pytest.mark.parametrize("line", ["# ported from other.py by hackathon", "# ported from ../../train.py by hackathon"])
def test_a_line_that_names_no_file_here_is_no_origin(tmp_path: Path, line: str) -> None:
    (tmp_path / "ddp.py").write_text(f"import torch\n{line}\n")
    (tmp_path.parent / "train.py").write_text("import torch\n")
    assert original_of(tmp_path, ("python", "ddp.py")) is None


def test_a_program_of_another_framework_says_why_it_is_not_compared(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import keras\n")
    (tmp_path / "train.ported.py").write_text("import keras\nimport horovod.keras as hvd\n")
    original = original_of(tmp_path, ("python", "train.ported.py"))
    assert original is not None and not original.recorded
    reason = unrecorded(original)
    assert (reason.result, reason.as_json()["reason"], reason.runs) == ("unknown", "framework", ())
    assert compared_text(reason).startswith("not compared: ")
