"""The page of a run without progress: the rank for which the others wait stands first, old values are marked."""

import json
import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from hackathon.diagnosis.hangs.hang import last_collective
from hackathon.index.catalog import Catalog
from hackathon.index.record import CauseText, key_of
from hackathon.web.progress.waits import RunWaits
from support.pages.rendered import read
from support.samples.afternoon import HUNG, LATE, REDUCE, write_afternoon
from support.samples.source import event_source, page_of, view_of

TIMEOUT = (
    "[rank3]:[E123 10:00:00 ProcessGroupNCCL.cpp:607] [Rank 3] Watchdog caught collective operation timeout: "
    "WorkNCCL(SeqNum=341, OpType=ALLREDUCE, NumelIn=1024, NumelOut=1024, Timeout(ms)=600000) ran for 600000 ms"
)


@pytest.fixture
def hung(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("hackathon.web.views.run.drawn", lambda figures, _: (list(figures), ""))
    return write_afternoon(tmp_path / "event")


def source(hung: Path) -> Catalog:
    event = hung.parents[3]
    return event_source(event, event.with_name("index.sqlite"))


def waits(hung: Path) -> RunWaits:
    found = view_of(source(hung), "run", key_of(str(hung.parents[1]), hung.name)).waits_for
    assert isinstance(found, RunWaits)
    return found


def test_the_rank_that_keeps_the_others_waiting_stands_first(hung: Path) -> None:
    found = waits(hung)
    assert found.sentence == "Rank 7 is at train.py:61, in load_batch; ranks 0-6,8-15 wait in all_reduce"
    late, others = found.groups
    assert (late.ranks, late.place, late.function, late.waits, late.missing) == (
        "7", "train.py:61", "load_batch", "", True,
    )  # fmt: skip
    assert (others.ranks, others.place, others.waits, others.missing) == (
        "0-6,8-15",
        "train.py:88",
        "all_reduce",
        False,
    )
    assert (found.ranks[0].rank, found.ranks[0].step, len(found.ranks)) == (LATE, 339, HUNG)
    assert {(row.step, row.collective, row.stepped) for row in found.ranks[1:]} == {(340, "all_reduce", "23 min")}
    text = read(page_of(source(hung), "run", key_of(str(hung.parents[1]), hung.name))).text
    first, command = text.index("Rank 7 is at train.py:61"), f"hackathon cancel {hung.name}"
    assert first < text.index(command) < text.index("Throughput") < text.index("Over time")
    assert "samples/s measured 23 min ago" in text
    tiles = page_of(source(hung), "run", key_of(str(hung.parents[1]), hung.name)).count('class="tile stale"')
    assert tiles == 3, "throughput, loss and the use of the GPUs"
    ja = page_of(source(hung), "run", key_of(str(hung.parents[1]), hung.name), "ja")
    assert "ランク 7 は train.py:61 の load_batch にいます" in ja


def test_the_diagnosis_of_the_same_standstill_is_not_said_again(hung: Path) -> None:
    looked = source(hung)
    message, advice = "The program stood still: rank 7 was at train.py:61", "Look at train.py:61 first"
    told = {"en": CauseText(message, advice=advice, causes=(("Another way", "hackathon logs x --rank 7"),))}
    for rule, said in (("hang-stacks", False), ("cuda-out-of-memory", True)):
        runs = [replace(run, told=told, rule=rule, part="framework") if run.id == hung.name else run
                for run in looked.summaries]  # fmt: skip
        text = read(page_of(replace(looked, summaries=runs), "run", key_of(str(hung.parents[1]), hung.name))).text
        assert (message in text) == said, "another cause is told beside it"
        assert text.count(advice) == 1 and "hackathon logs x --rank 7" in text


def test_stacks_from_before_the_last_output_do_not_count(hung: Path) -> None:
    before = time.time() - 30 * 60
    for path in (hung / "stacks").iterdir():
        os.utime(path, (before, before))
    found = waits(hung)
    assert not found.groups and "older than its last output" in found.sentence
    assert {row.collective for row in found.ranks} == {""}
    text = read(page_of(source(hung), "run", key_of(str(hung.parents[1]), hung.name))).text
    assert f"hackathon logs {hung.name} --stacks" in text and "train.py:61" not in text


def test_what_the_stacks_do_not_show_is_not_known(hung: Path) -> None:
    (hung / f"stacks/rank-{LATE}.txt").unlink()
    assert waits(hung).sentence == "It is not known which rank the others wait for: ranks 7 left no stack"
    assert not any(group.missing for group in waits(hung).groups)
    head = "Current thread 0x00007f1e4c0a2740 (most recent call first):\n"
    (hung / f"stacks/rank-{LATE}.txt").write_text(head + REDUCE)
    assert waits(hung).sentence == "All ranks wait at the same line, train.py:88"
    other = REDUCE.replace("line 88 in average", "line 93 in evaluate")
    (hung / f"stacks/rank-{LATE}.txt").write_text(head + other)
    assert waits(hung).sentence == "All ranks wait, but rank 7 in another line: in all_reduce at train.py:93"
    for path in (hung / "stacks").iterdir():
        path.unlink()
    assert "no rank was asked where it is" in waits(hung).sentence and not waits(hung).groups


def test_a_run_with_progress_is_not_explained_and_its_values_are_not_old(hung: Path) -> None:
    now = time.time()
    for folder in ("logs", "metrics", "telemetry"):
        for path in (hung / folder).iterdir():
            os.utime(path, (now, now))
    view = view_of(source(hung), "run", key_of(str(hung.parents[1]), hung.name))
    assert (view.waits_for, view.output_age, view.devices_age) == (None, "", "")
    html = page_of(source(hung), "run", key_of(str(hung.parents[1]), hung.name))
    assert "tile stale" not in html and "load_batch" not in html


def test_measurements_that_go_on_while_a_run_hangs_are_not_old(hung: Path) -> None:
    now = time.time()
    for path in (hung / "telemetry").iterdir():
        os.utime(path, (now, now))
    view = view_of(source(hung), "run", key_of(str(hung.parents[1]), hung.name))
    assert (view.output_age, view.devices_age) == ("23 min", "")


def test_the_last_collective_of_a_rank_by_its_watchdog(hung: Path) -> None:
    assert last_collective(["epoch 3", TIMEOUT], 3) == "ALLREDUCE #341"
    assert last_collective(["epoch 3", "a timeout of the data loader"], 3) == ""
    for path in (hung / "stacks").iterdir():
        path.unlink()
    log = hung / "logs/rank-3.log"
    moment = log.stat().st_mtime
    log.write_text(f"{TIMEOUT}\n")
    os.utime(log, (moment, moment))
    assert {row.rank: row.collective for row in waits(hung).ranks if row.collective} == {3: "ALLREDUCE #341"}


def test_records_with_values_of_other_kinds_leave_gaps(hung: Path) -> None:
    for value in ([], {"steps": "many", "last_step": []}, {"steps": -3, "last_step": 1e400}):
        (hung / "steps/rank-0.json").write_text(json.dumps(value))
        assert waits(hung).ranks[1].rank == 0
    (hung / "stacks/rank-0.txt").write_bytes(b"\xff\x00Current thread")
    assert "ranks 0 left no stack" in waits(hung).sentence
