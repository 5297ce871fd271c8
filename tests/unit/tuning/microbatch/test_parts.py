"""The search for the fewest micro-batches: the optimum for memory that grows evenly, and in few starts."""

import json
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hackathon.tuning import driver
from hackathon.tuning.microbatch.parts import PartProbe, run_micro, search_parts

FIXED = 50_000_000


def looked(
    batch: int | None, sample: int, limit: int | None, *, told: bool = True, bend: float = 0
) -> tuple[list[PartProbe], int | None]:
    """Return what a search finds for a program that needs `sample` bytes for each sample of a micro-batch."""

    def start(parts: int, longer: int) -> PartProbe:
        assert parts >= 1
        size = -(-(batch or 100) // parts)
        need = FIXED + sample * size + int(bend * size**2)
        fits = limit is None or need <= limit
        return PartProbe(parts, batch, size if batch else 0, fits, need if told else None)

    return search_parts(start, limit)


@given(st.integers(1, 4000), st.integers(50_000, 5_000_000), st.floats(0.01, 3))
def test_the_fewest_parts_that_stay_within_the_margin(batch: int, sample: int, share: float) -> None:
    limit = FIXED + int(batch * sample * share) + sample
    probes, planned = looked(batch, sample, limit)
    fitting = [parts for parts in range(1, batch + 1) if FIXED + sample * -(-batch // parts) <= limit * driver.MARGIN]
    last = probes[-1]
    if fitting:
        assert last.fits and -(-batch // last.parts) == -(-batch // fitting[0]), (last, fitting[0])
        if planned is not None:
            assert abs(planned - (last.memory or 0)) <= 2
    else:
        assert last.parts == batch or last.fits
    assert planned is not None or len({each.size for each in probes if each.fits}) < 2 or not last.fits
    assert len(probes) <= 16


@given(st.integers(1, 4000), st.floats(0.05, 3), st.floats(0, 20))
def test_a_bend_costs_a_few_more_starts_and_never_a_plan_that_does_not_fit(
    batch: int, share: float, bend: float
) -> None:
    sample = 200_000
    limit = FIXED + int(batch * sample * share) + sample + int(bend) + 1
    probes, _ = looked(batch, sample, limit, bend=bend)
    assert probes[-1].fits or probes[-1].parts == batch or len(probes) >= driver.TRIES


def test_an_even_memory_takes_four_starts() -> None:
    probes, planned = looked(256, 1_000_000, 200_000_000)
    assert [each.parts for each in probes] == [8, 4, 2, 2]
    assert probes[-1].size == 128 and planned == FIXED + 128 * 1_000_000


def test_memory_that_tells_nothing_is_tried_downwards() -> None:
    probes, planned = looked(256, 1_000_000, 200_000_000, told=False)
    assert planned is None and probes[-1].fits and probes[-1].parts == 2
    assert [(each.parts, each.fits) for each in probes] == [(8, True), (4, True), (2, True), (1, False), (2, True)]


def test_a_line_is_not_drawn_out_far() -> None:
    """Memory that bends: the plan for four times the first sizes comes from a start that is nearer."""
    probes, planned = looked(512, 1_000_000, 2_000_000_000, bend=400)
    assert [each.parts for each in probes] == [8, 4, 2, 1]
    assert planned is not None and abs(planned / (probes[-1].memory or 1) - 1) < 0.1


def test_a_program_without_the_wrapper_is_started_once() -> None:
    probes, planned = looked(None, 1_000_000, None)
    assert len(probes) == 1 and planned is None


def test_where_nothing_fits_the_search_ends() -> None:
    probes, planned = looked(100, 1_000_000, FIXED // 2)
    assert [each.parts for each in probes] == [8, 16, 32, 64, 100] and planned is None


PROGRAM = """
import json, os, sys, time
batch, parts = 600, int(os.environ["HACKATHON_MICRO_BATCHES"])
size = -(-batch // parts)
with open(os.environ["HK_RUN"] + "/micro_batches.json", "w") as told:
    json.dump({"batch": batch, "sizes": [size]}, told)
held = bytearray(b"x") * (size * 200_000)
print("1 samples/s", flush=True)
time.sleep(0.3)
"""


def test_the_memory_of_real_processes_comes_as_planned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "train.py").write_text(PROGRAM)
    monkeypatch.chdir(tmp_path / "source")
    monkeypatch.delenv("HK_DEADLINE", raising=False)
    (tmp_path / "slots").mkdir()
    limit = 90_000_000
    task = {"command": [sys.executable, "-S", "train.py"], "limit": limit, "seconds": 5, "starting": 60}
    run_micro(tmp_path, task)
    found = json.loads((tmp_path / "slots" / "micro.json").read_text())
    slots = [json.loads(path.read_text()) for path in sorted((tmp_path / "slots").glob("0*/slot.json"))]
    search, speeds = slots[: found["starts"]], slots[found["starts"] :]
    last = search[-1]
    assert not last["failed"] and last["kind"] == "confirm"
    assert abs(last["memory"] / found["planned"] - 1) < 0.05, (last, found)
    assert last["memory"] <= limit * 0.96
    assert last["parts"] > 1, "the whole batch does not fit into this limit"
    # each of them once in each round, and each is once the first
    compared = [last["parts"] << doublings for doublings in range(4)]
    assert {slot["kind"] for slot in speeds} == {"speed"} and len(speeds) == 12
    rounds = [[slot["parts"] for slot in speeds[at : at + 4]] for at in (0, 4, 8)]
    assert all(sorted(parts) == compared for parts in rounds) and [parts[0] for parts in rounds] == compared[:3]
