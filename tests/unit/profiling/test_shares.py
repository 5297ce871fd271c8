"""What is not recorded is not known, and files of all ages and kinds can be read."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hackathon.profiling.meters import intervals, shares_of_run
from hackathon.profiling.points import point_json, run_json
from hackathon.profiling.sentences import change_sentences, duration, points_sentences, sentences
from hackathon.profiling.shares import PARTS, RunShares, late_rank, mean_shares
from hackathon.text.messages import speaking
from support.planted_steps import Step, plant, straggler
from support.recorded_run import RecordedRun

OLD = {"communication": 0.2, "compute": 0.7, "data": 0.05, "other": 0.05}


def write(run: Path, rank: int, *lines: dict[str, Any]) -> None:
    (run / "metrics").mkdir(parents=True, exist_ok=True)
    with (run / f"metrics/rank-{rank}.jsonl").open("a") as stream:
        stream.writelines(json.dumps(line) + "\n" for line in lines)


def line(first: int, last: int, **fields: Any) -> dict[str, Any]:
    return {"step": last, "interval": [first, last], "seconds": 0.1 * (last - first + 1), "attempt": 1, **fields}


def test_a_run_of_an_older_runtime_tells_what_it_recorded(tmp_path: Path) -> None:
    run = RecordedRun(tmp_path / "run", 2)
    for rank in range(2):
        run.meter(rank, [1.0, 0.5, 0.4], shares=OLD)
    shares = shares_of_run(run.path, 2)
    assert shares is not None
    for each in shares.ranks:
        assert (each.steps, each.seconds) == (75, pytest.approx(0.04))
        assert (each.data, each.compute) == (pytest.approx(0.002), pytest.approx(0.028))
        assert (each.communication, each.waiting, each.host) == (pytest.approx(0.008), None, None)
        assert dict(each.unknown) == {"host": "old-runtime", "waiting": "old-runtime"}
    told = point_json([shares])
    assert told is not None
    assert told["late_rank"] is None and told["advice"] == []  # whether it communicates or waits is not known
    with speaking("en"):
        (sentence,) = sentences(2, told)
    assert sentence == (
        "2 processes, 40 ms per step: compute 70 %, communication 20 %, data 5 %, other 5 %; "
        "not known: host, waiting (recorded by an older hackathon_runtime.py)"
    )


def test_programs_that_mark_nothing_get_one_sentence_for_all_sizes(tmp_path: Path) -> None:
    points = []
    for processes in (1, 2, 4):
        run = tmp_path / str(processes)
        for rank in range(processes):
            write(run, rank, line(1, 10, warmup=True), line(11, 40))
        points.append((processes, point_json([shares] if (shares := shares_of_run(run, processes)) else [])))
    with speaking("en"):
        assert points_sentences([*points, (8, None)]) == [
            "Time of a step: 100 ms with 1 process, 100 ms with 2 processes, 100 ms with 4 processes. "
            "Not known: data, host, compute, communication (not marked by the program)"
        ]
        assert points_sentences(points[:1]) == sentences(*points[0])
    with speaking("ja"):
        (told,) = points_sentences(points)
        assert told.startswith("1 ステップの時間: 1 プロセスで 100 ms、2 プロセスで 100 ms、")
    write(tmp_path / "marked", 0, line(1, 10, warmup=True), line(11, 40, compute_share=0.9, data_share=0.05))
    marked = shares_of_run(tmp_path / "marked", 1)
    assert marked is not None
    with speaking("en"):
        both = [points[1], (1, point_json([marked]))]
        assert points_sentences(both) == [each for point in both for each in sentences(*point)]


def test_what_a_program_does_not_mark_is_not_known(tmp_path: Path) -> None:
    for rank in range(2):
        write(tmp_path, rank, line(1, 10, warmup=True), line(11, 40, host_share=0.4, other_share=0.6))
    shares = shares_of_run(tmp_path, 2)
    assert shares is not None
    for each in shares.ranks:
        assert each.other == each.seconds
        assert [part for part in PARTS if getattr(each, part) is not None] == ["other"]
        assert {why for _, why in each.unknown} == {"unmarked"}


def test_communication_that_is_not_marked_is_in_compute(tmp_path: Path) -> None:
    for rank in range(2):
        write(tmp_path, rank, line(1, 30, data_share=0.1, compute_share=0.8, host_share=0.1, other_share=0.0))
    shares = shares_of_run(tmp_path, 2)
    assert shares is not None
    each = shares.ranks[0]
    assert (each.communication, each.waiting) == (None, None)
    assert each.compute == pytest.approx(0.08)
    assert dict(each.unknown) == {"communication": "in-compute", "waiting": "in-compute"}
    told = point_json([shares])
    with speaking("ja"):
        assert "不明: 通信（計算に含まれる）" in sentences(2, told)[0]


def test_one_process_waits_for_nobody(tmp_path: Path) -> None:
    write(tmp_path, 0, line(1, 30, data_share=0.1, compute_share=0.8, host_share=0.1, other_share=0.0))
    shares = shares_of_run(tmp_path, 1)
    assert shares is not None
    assert (shares.ranks[0].communication, shares.ranks[0].waiting, shares.ranks[0].unknown) == (0.0, 0.0, ())


def test_without_all_ranks_nobody_is_said_to_wait(tmp_path: Path) -> None:
    plant(tmp_path, straggler, 4, 0.1)
    (tmp_path / "metrics/rank-3.jsonl").unlink()
    shares = shares_of_run(tmp_path, 4)
    assert shares is not None
    assert {dict(each.unknown)["waiting"] for each in shares.ranks} == {"missing-ranks"}
    told = point_json([shares])
    assert told is not None and told["late_rank"] is None and told["waiting"] is None


def test_ranks_that_communicate_differently_often_are_not_compared(tmp_path: Path) -> None:
    for rank in range(2):
        collectives = [[0.01] * (rank + 1) for _ in range(30)]
        write(tmp_path, rank, line(1, 30, compute_share=0.8, communication_share=0.2, collectives=collectives))
    shares = shares_of_run(tmp_path, 2)
    assert shares is not None
    assert {dict(each.unknown)["waiting"] for each in shares.ranks} == {"unmatched"}
    assert shares.ranks[0].communication == pytest.approx(0.02)


def test_only_the_newest_attempt_counts(tmp_path: Path) -> None:
    write(tmp_path, 0, line(1, 30, compute_share=1.0), line(1, 50, attempt=2, compute_share=0.5, data_share=0.5))
    shares = shares_of_run(tmp_path, 1)
    assert shares is not None
    assert (shares.ranks[0].steps, shares.ranks[0].data) == (50, pytest.approx(0.05))


def test_runs_with_less_are_put_together_with_what_they_share(tmp_path: Path) -> None:
    plant(tmp_path / "new", straggler, 2, 0.05)
    old = RecordedRun(tmp_path / "old", 2)
    for rank in range(2):
        old.meter(rank, [1.0, 0.5], shares=OLD)
    runs = [shares_of_run(tmp_path / name, 2) for name in ("new", "old")]
    mean = mean_shares([each for run in runs if run is not None for each in run.ranks])
    assert mean.waiting is None and mean.host is None
    known = [getattr(mean, part) for part in PARTS if getattr(mean, part) is not None]
    assert sum(known) == pytest.approx(mean.seconds, rel=0.01)


def test_shares_are_kept_and_read_back(tmp_path: Path) -> None:
    plant(tmp_path, straggler, 4, 0.05)
    shares = shares_of_run(tmp_path, 4)
    assert shares is not None
    again = RunShares.from_fields(json.loads(json.dumps(asdict(shares))))
    assert again == shares and run_json(again) == run_json(shares)
    json.dumps(run_json(shares), allow_nan=False)
    assert late_rank([shares, again]) == 3


def test_who_waits_is_named_in_the_sentence(tmp_path: Path) -> None:
    plant(tmp_path, lambda rank, *_: Step(compute=0.04 + 0.05 * (rank == 3), transfer=0.03), 4, 0.0)
    shares = shares_of_run(tmp_path, 4)
    assert shares is not None
    with speaking("en"):
        told = sentences(4, point_json([shares]))
    assert told[0].startswith("4 processes, 130 ms per step: communication 52 % (of that 56 % waiting for rank 3)")
    assert told[1].startswith("4 processes, to try: all other ranks wait for rank 3 during 38 % of a step")
    with speaking("ja"):
        assert "（うち 56 % はランク 3 待ち）" in sentences(4, point_json([shares]))[0]


def test_a_change_says_whether_the_advice_was_right(tmp_path: Path) -> None:
    plans = {"old": Step(data=0.06), "new": Step(), "same": Step(data=0.061)}
    points = {}
    for name, step in plans.items():
        plant(tmp_path / name, lambda *_, step=step: step, 2, 0.0)
        shares = shares_of_run(tmp_path / name, 2)
        points[name] = point_json([shares] if shares else [])
    with speaking("en"):
        assert change_sentences(2, points["old"], points["new"]) == [
            "2 processes, shares of a step: data 38 % → 4 %, compute 51 % → 80 %, communication 6 % → 10 %"
        ]
        assert change_sentences(2, points["old"], points["same"]) == []
        assert change_sentences(2, points["new"], points["new"]) == []
        assert change_sentences(2, points["old"], None) == []


def test_a_run_without_records_has_no_shares(tmp_path: Path) -> None:
    assert shares_of_run(tmp_path, 4) is None
    write(tmp_path, 0, {"t": 1.0, "attempt": 1, "data": ["a", "b"]}, line(1, 10, warmup=True))
    assert shares_of_run(tmp_path, 4) is None
    assert point_json([]) is None and run_json(None) is None and sentences(4, None) == []


wild = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=8,
)
fields = st.sampled_from(
    ["step", "interval", "seconds", "collectives", "warmup", "final", "attempt", "compute_share", "data_share"]
)


@given(lines=st.lists(st.dictionaries(fields, wild | st.integers(1, 50) | st.just([1, 20]) | st.just([[0.1]]))))
def test_lines_of_others_are_read_without_trouble(lines: list[dict[str, Any]]) -> None:
    for each in intervals(lines):
        assert 0 < each.first <= each.last and 0 < each.seconds < float("inf")
        assert all(0 <= share <= each.seconds for share in each.phases.values())
        assert all(0 <= spent <= each.seconds for step in each.collectives for spent in step)


@pytest.mark.parametrize(
    ("seconds", "text"), [(12.3456, "12.3 s"), (1.0, "1 s"), (0.12, "120 ms"), (0.0015, "1.5 ms"), (8.5e-5, "85 µs")]
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text
