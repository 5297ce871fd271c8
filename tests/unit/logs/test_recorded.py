"""What recorders wrote is read whatever lies there, and only told where all ranks tell it."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hackathon.logs.final import final_numbers
from hackathon.logs.recorded import RANKS, contradicts, rates, recording_of, recordings
from hackathon.runs.directory import RunDirectory
from support.recorded_run import RecordedRun

BLOCK = {"first": 4, "last": 11, "seconds": 2.0}
GROUP = {"world": 2, "collectives": 40, "steps": 40, "others": []}
FILE = {"blocks": [BLOCK], "work": [[8, 0, True, 39], [3, 0, True, 1]], "group": GROUP}

anything = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["blocks", "work", "group", "first", "last", "seconds", "world", "collectives", "others"]),
            inner,
            max_size=5,
        )
    ),
    max_leaves=20,
)


@given(anything)
def test_whatever_lies_there_is_read(value: object) -> None:
    recording = recording_of(value)
    assert recording is None or (recording.seconds > 0 and recording.steps > 0 and recording.samples >= 0)


def test_a_file_of_an_older_recorder_tells_steps_only() -> None:
    recording = recording_of({"blocks": [BLOCK]})
    assert recording is not None
    assert (recording.steps_per_s, recording.samples, recording.world) == (4.0, 0.0, None)


def write(run: Path, files: dict[int, Any]) -> Path:
    (run / "steps").mkdir()
    for rank, value in files.items():
        (run / "steps" / f"rank-{rank}.json").write_text(json.dumps(value))
    return run


def test_a_slow_beginning_counts_as_long_as_it_lasted() -> None:
    """Steps 4 to 67 take 0.2 s and all are recorded; the other 936, of which 8 of 64 are recorded, take 0.1 s."""
    slow = [{"first": first, "last": first + 7, "seconds": 1.6} for first in range(4, 68, 8)]
    fast = [{"first": first, "last": first + 7, "seconds": 0.8} for first in range(132, 1003, 64)]
    recording = recording_of({"steps": 1003, "blocks": [*fast, *slow]})
    assert recording is not None
    assert recording.steps == 8 * (len(slow) + len(fast))
    assert recording.steps_per_s == pytest.approx(1000 / (64 * 0.2 + 936 * 0.1), rel=0.04)


@pytest.mark.parametrize(("passed", "counted"), [(7.0, 7.0), (30.0, 5.6)], ids=["slower steps", "an evaluation"])
def test_what_passed_between_recorded_steps_counts_unless_it_was_a_pause(passed: float, counted: float) -> None:
    """Between 8 and 8 recorded steps of 0.1 s lie 56 others."""
    blocks = [{"first": 4, "last": 11, "seconds": 0.8, "at": 50.0}, {"first": 68, "last": 75, "seconds": 0.8}]
    recording = recording_of({"steps": 75, "blocks": [blocks[0], blocks[1] | {"at": 50.8 + passed}]})
    assert recording is not None
    assert recording.steps_per_s == pytest.approx(72 / (1.6 + counted))


def test_all_steps_without_an_evaluation_make_the_rate() -> None:
    """Blocks are of the beginning: 0.25 s a step; the recorder timed 200 steps of 0.1 s."""
    timed = {"steps": 200, "seconds": 20.0, "evaluations": 3}
    recording = recording_of({"steps": 206, "blocks": [BLOCK], "timed": timed})
    assert recording is not None
    assert (recording.steps, recording.timed, recording.steps_per_s) == (8, 200, pytest.approx(10.0))
    older = recording_of({"steps": 11, "blocks": [BLOCK]})
    assert older is not None and older.timed is None


def test_a_program_with_few_steps_is_recorded_without_a_block() -> None:
    recording = recording_of({"steps": 7, "timed": {"steps": 4, "seconds": 6.0}})
    assert recording is not None
    assert (recording.steps, recording.seconds) == (4, 6.0)


@pytest.mark.parametrize("timed", [{}, [], {"steps": 0, "seconds": 0.0}, {"steps": 3, "seconds": -1}, {"steps": "x"}])
def test_without_timed_steps_the_blocks_count(timed: object) -> None:
    recording = recording_of({"blocks": [BLOCK], "timed": timed})
    assert recording is not None
    assert recording.steps_per_s == 4.0


def test_rates_are_those_of_all_processes(tmp_path: Path) -> None:
    run = write(tmp_path, {0: FILE, 1: FILE})
    assert rates(recordings(run, 2), 2) == {"samples_per_s": 64.0, "steps_per_s": 4.0}
    assert recordings(run, 3) == {}, "a rank without a recording"


@pytest.mark.parametrize("second", [{}, {"blocks": []}, [], {**FILE, "blocks": [{**BLOCK, "seconds": 0}]}])
def test_one_rank_without_steps_leaves_all_open(tmp_path: Path, second: object) -> None:
    assert recordings(write(tmp_path, {0: FILE, 1: second}), 2) == {}


def test_of_many_ranks_some_stand_for_all(tmp_path: Path) -> None:
    count = 3 * RANKS
    ranks = recordings(write(tmp_path, dict.fromkeys(range(count), FILE)), count)
    assert len(ranks) == RANKS
    assert rates(ranks, count)["samples_per_s"] == 32.0 * count


def test_samples_that_a_model_took_are_no_rate(tmp_path: Path) -> None:
    inputs = {**FILE, "work": [[8, 0, False, 8]]}
    assert rates(recordings(write(tmp_path, {0: inputs}), 1), 1) == {"steps_per_s": 4.0}


@pytest.mark.parametrize(
    ("metric", "printed", "recorded", "contradicted"),
    [
        ("samples_per_s", 100.0, 100.0, False),
        ("samples_per_s", 100.0, 67.0, False),
        ("samples_per_s", 100.0, 66.0, True),
        ("samples_per_s", 100.0, 150.0, False),  # its mean has the start of the program in it
        ("samples_per_s", 100.0, 200.0, False),
        ("samples_per_s", 100.0, 400.0, False),
        ("samples_per_s", None, 70.0, False),
        ("samples_per_s", 100.0, None, False),
        ("steps_per_s", 400.0, 100.0, False),
    ],
)
def test_a_contradiction_is_more_than_other_steps_explain(
    metric: str, printed: float | None, recorded: float | None, contradicted: bool
) -> None:
    assert contradicts(metric, printed, recorded) == contradicted


@pytest.mark.parametrize(
    ("steps", "said", "sure", "recorded"),
    [
        (40, "64.0 samples/s", {}, 64.0),  # confirmed: the words alone leave open whose rate it is
        (40, "32.0 samples/s", {"samples_per_s": "unsure"}, 64.0),
        (8, "64.0 samples/s", {"samples_per_s": "unsure"}, None),  # too few to compare
    ],
)
def test_a_printed_number_is_compared_with_enough_recorded_steps(
    tmp_path: Path, steps: int, said: str, sure: dict[str, str], recorded: float | None
) -> None:
    file = {**FILE, "blocks": [{"first": 4, "last": 3 + steps, "seconds": steps / 4}]}
    run = RecordedRun(tmp_path / "run")
    write(run.path, {0: file, 1: file})
    run.log(0, *(f"step {n} loss 0.5 {said}" for n in range(5)))
    numbers = final_numbers(run.path, RunDirectory(run.path).known(), over=True)
    assert numbers.values["samples_per_s"] == float(said.split()[0])
    assert (dict(numbers.sure), numbers.recorded.get("samples_per_s")) == (sure, recorded)


@pytest.mark.parametrize(("said", "sure"), [("64.0 samples/s", {}), ("32.0 samples/s", {"samples_per_s": "unsure"})])
def test_the_inputs_of_a_model_tell_whose_number_was_printed(tmp_path: Path, said: str, sure: dict[str, str]) -> None:
    """8 inputs a step on each of two ranks, 4 steps per second, and no DataLoader."""
    file = {**FILE, "work": [[8, 0, False, 40]], "blocks": [{"first": 4, "last": 43, "seconds": 10}]}
    run = RecordedRun(tmp_path / "run")
    write(run.path, {0: file, 1: file})
    run.log(0, *(f"step {n} loss 0.5 {said}" for n in range(5)))
    numbers = final_numbers(run.path, RunDirectory(run.path).known(), over=True)
    assert dict(numbers.sure) == sure
    assert numbers.recorded == {"steps_per_s": 4.0}


def reading(stream: int, **more: Any) -> dict[str, Any]:
    """A rank's file that read the batches of a stream."""
    lists, batches = [stream * 100 + n for n in range(5)], {str(n): stream * 1000 + n for n in range(5)}
    data = {"size": 64, "epoch": 40, "largest": 8, "set": 7, "lists": lists, "batches": batches}
    return {**FILE, "data": {**data, **more}}


def samples_of(tmp_path: Path, files: list[dict[str, Any]], processes: int = 0) -> float | None:
    run = write(tmp_path, dict(enumerate(files)))
    count = processes or len(files)
    return rates(recordings(run, count), count).get("samples_per_s")


def test_what_ranks_read_together_counts_once(tmp_path: Path) -> None:
    """Two groups of two ranks, each of which divides a model: 2 × 8 samples in each of 4 steps per second."""
    assert samples_of(tmp_path, [reading(1), reading(1), reading(2), reading(2)]) == 64.0


def test_slices_of_a_synthetic_batch_count_once(tmp_path: Path) -> None:
    """The models took only parts of the batches, whatever the data are."""
    second = reading(1, synthetic=True, divided=True)
    assert samples_of(tmp_path, [second, second]) == 32.0


@pytest.mark.parametrize(
    "second",
    [
        reading(1, synthetic=True), reading(1, lists=[1, 2, 3]), reading(1, batches={}),
        reading(1, batches=dict.fromkeys("01234", 3)), {**FILE, "data": None},
    ],
)  # fmt: skip
def test_what_is_not_proved_to_be_the_same_counts_for_each_rank(tmp_path: Path, second: dict[str, Any]) -> None:
    assert samples_of(tmp_path, [second, second]) == 64.0


def test_of_many_ranks_those_between_are_not_guessed(tmp_path: Path) -> None:
    """Only each second rank's file is read: its neighbour may have read the same data."""
    parts = {"group": {**GROUP, "world": 2 * RANKS, "parts": True}}
    (tmp_path / "divided").mkdir()
    assert samples_of(tmp_path / "divided", [{**reading(n), **parts} for n in range(2 * RANKS)]) is None
    (tmp_path / "apart").mkdir()
    assert samples_of(tmp_path / "apart", [reading(n) for n in range(2 * RANKS)]) == 2 * RANKS * 32.0
    (tmp_path / "same").mkdir()
    assert samples_of(tmp_path / "same", [reading(1)] * (2 * RANKS)) == 32.0
