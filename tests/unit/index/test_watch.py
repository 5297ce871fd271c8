"""The watcher: what happens in run directories is in its picture soon, in words that help, and nothing is written."""

import functools
import json
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hackathon.index import diagnoser as examine
from hackathon.index import index
from hackathon.index import watcher as watch
from hackathon.index.diagnoser import Examiner
from hackathon.index.record import RunEntry
from hackathon.index.watcher import Watcher
from hackathon.runs.states import RunStatus
from hackathon.schedulers import registry
from hackathon.text.files import write_json
from support.patience import PATIENCE, STRETCH
from support.runs import NOBODY, FakeScheduler, append_line
from support.samples.event import write_event
from support.samples.runs import one_run, tree

LONG = STRETCH * PATIENCE
OUT_OF_MEMORY = "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 15.90 GiB total)\n"


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Diagnoses may take as long as a busy machine needs."""
    monkeypatch.setattr(Examiner, "__init__", functools.partialmethod(Examiner.__init__, timeout=LONG))


@pytest.fixture
def watching(tmp_path: Path) -> Iterator[Callable[..., Watcher]]:
    """Make watchers with a short interval and an index of their own, and stop them at the end."""
    made: list[Watcher] = []

    def make(event_folder: Path | None, *folders: Path, **options: Any) -> Watcher:
        options = {"ask": False, "interval": 0.05, "path": tmp_path / "private" / "index.sqlite3", **options}
        made.append(Watcher(event_folder, folders, **options))
        return made[-1]

    yield make
    for each in made:
        each.stop()


def until(watcher: Watcher, good: Callable[[RunEntry], bool], run: str) -> RunEntry:
    """Return the summary of a run as soon as it is as it should be."""
    end = time.monotonic() + LONG
    while time.monotonic() < end:
        version = watcher.version
        for summary in watcher.source().summaries:
            if summary.id == run and good(summary):
                return summary
        watcher.wait(version, 1.0)
    found = [summary for summary in watcher.source().summaries if summary.id == run]
    raise AssertionError(f"{run} did not come to that: {found}, {watcher.source().problems}")


def fail(run: Path, words: str = OUT_OF_MEMORY, code: int = 1) -> None:
    """Let a run end as a failed one does: the program's words, the rank's record, the job's."""
    with (run / "logs" / "rank-1.log").open("a") as stream:
        stream.write(words)
    now = time.time()
    rank = {"t": now, "event": "ended", "attempt": 1, "host": "a017", "rank": 1, "exit_code": code, "signal": None}
    append_line(run / "events" / "rank-1.jsonl", rank)
    job = {"t": now, "event": "ended", "attempt": 1, "host": "a017", "exit_code": code, "signal": None}
    append_line(run / "events" / "job.jsonl", job)


def test_a_failure_is_told_with_its_part_in_both_languages(tmp_path: Path, watching: Callable[..., Watcher]) -> None:
    run = one_run(tmp_path / "train", "RUNNING")
    watcher = watching(None, tmp_path / "train")
    assert until(watcher, lambda each: each.state == "RUNNING", run.name).told is None
    before = watcher.source()
    fail(run)
    begin = time.monotonic()
    found = until(watcher, lambda each: bool(each.part), run.name)
    print(f"told after {time.monotonic() - begin:.1f} s (10 s are allowed)")
    assert (found.state, found.part, found.rank) == ("FAILED", "gpu", 1)
    assert found.told is not None and set(found.told) == {"en", "ja"}
    assert "out of memory" in found.told["en"].message and "メモリ" in found.told["ja"].message
    assert found.told["en"].place.startswith("logs/rank-1.log:") and "CUDA out of memory" in found.told["en"].evidence
    assert before.summaries[0].state == "RUNNING"  # a picture stays as it was


@pytest.mark.slow
def test_pipes_in_the_place_of_files_do_not_stop_a_diagnosis(tmp_path: Path) -> None:
    run = one_run(tmp_path / "train", "RUNNING")
    fail(run)
    places = ("metrics/rank-0.jsonl", "telemetry/a017.csv", "logs/job.log", "env/a017.json", "events/rank-0.jsonl")
    for name in (*places, "logs/other.log", "metrics/rank-1.jsonl", "source.json", "preflight.json"):
        path = run / name
        path.parent.mkdir(exist_ok=True)
        path.unlink(missing_ok=True)
        os.mkfifo(path)
    examiner = Examiner(timeout=LONG)
    found = examiner.cause(run, RunStatus(run.name, "FAILED", "exit", exit_code=1), [], failed=True)
    examiner.stop()
    examiner.rest()
    assert found is not None and found.part == "gpu"


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="two users need root")
def test_the_child_does_not_read_through_links_of_others(tmp_path: Path) -> None:
    secret = tmp_path / "secret.log"
    secret.write_text(OUT_OF_MEMORY)
    run = one_run(tmp_path / "train", "RUNNING")
    fail(run, "")
    (run / "logs" / "rank-7.log").symlink_to(secret)
    for path in (run, *run.rglob("*")):
        os.chown(path, NOBODY, -1, follow_symlinks=False)
    examiner = Examiner(timeout=LONG)
    state = RunStatus(run.name, "FAILED", "exit", exit_code=1)
    found = examiner.cause(run, state, [], failed=True)
    assert found is not None and found.part == "" and "CUDA" not in str(found)
    (run / "logs" / "rank-7.log").unlink()
    (run / "logs" / "rank-7.log").write_text(OUT_OF_MEMORY)
    os.chown(run / "logs" / "rank-7.log", NOBODY, -1)
    found = examiner.cause(run, state, [], failed=True)
    assert found is not None and found.part == "gpu"
    examiner.stop()
    examiner.rest()


@pytest.mark.slow
def test_another_end_than_first_thought_is_diagnosed_again(tmp_path: Path, watching: Callable[..., Watcher]) -> None:
    run = one_run(tmp_path / "train", "RUNNING")
    watcher = watching(None, tmp_path / "train")
    fail(run, "Killed\n", 137)
    first = until(watcher, lambda each: each.told is not None, run.name)
    assert first.state == "FAILED"
    write_json(run / "final.json", {"state": "TIMEOUT", "cause": "walltime", "attempt": 1, "t_ended": time.time()})
    again = until(watcher, lambda each: each.state == "TIMEOUT" and each.told is not None, run.name)
    assert again.rule != first.rule


def test_what_the_owner_kept_is_taken_and_not_looked_for(
    tmp_path: Path, watching: Callable[..., Watcher], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Examiner, "cause", lambda *_, **__: pytest.fail("it was diagnosed again"))
    run = one_run(tmp_path / "train", "FAILED")
    evidence = {"file": "logs/rank-3.log", "line": 17, "text": "NCCL WARN", "rank": 3, "host": "a018"}
    kept = {"rule": "nccl-x", "part": "nccl", "level": "root", "message": "m", "advice": "a", "evidence": evidence}
    write_json(run / "client" / "diagnosis.json", {"en": kept, "ja": {**kept, "message": "文"}})
    watcher = watching(None, tmp_path / "train")
    found = until(watcher, lambda each: True, run.name)
    assert (found.part, found.rank, found.host) == ("nccl", 3, "a018")
    assert (
        found.told is not None and found.told["ja"].message == "文" and found.told["en"].place == "logs/rank-3.log:17"
    )


def test_a_run_that_stands_still_is_diagnosed_until_it_goes_on(
    tmp_path: Path, watching: Callable[..., Watcher]
) -> None:
    run = one_run(tmp_path / "train", "RUNNING")
    words = (
        "[rank1]:[E1121 10:00:00.000 ProcessGroupNCCL.cpp:616] [Rank 1] Watchdog caught collective operation timeout: "
        "WorkNCCL(SeqNum=42, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600001 ms\n"
    )
    with (run / "logs" / "rank-1.log").open("a") as stream:
        stream.write(words)
    long_ago = time.time() - 3600
    for folder in ("logs", "metrics"):
        for path in (run / folder).iterdir():
            os.utime(path, (long_ago, long_ago))
    watcher = watching(None, tmp_path / "train")
    found = until(watcher, lambda each: bool(each.part), run.name)
    assert (found.state, found.part) == ("RUNNING", "nccl") and found.told
    append_line(run / "metrics" / "rank-0.jsonl", {"t": time.time(), "attempt": 1, "step": 5000, "loss": 0.1})
    assert until(watcher, lambda each: each.step == 5000, run.name).part == ""


@pytest.mark.slow
def test_nothing_is_written_while_schedulers_are_asked_once_for_all(
    tmp_path: Path, watching: Callable[..., Watcher], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "ASK_EVERY", 1e6)  # however long this takes
    event = write_event(tmp_path / "event", teams=2)
    project = event / "aurora" / "train"
    running, done = one_run(project, "RUNNING", 50), one_run(project, "RUNNING", 51)
    ended = {"t": time.time(), "event": "ended", "attempt": 1, "host": "a017", "exit_code": 0, "signal": None}
    append_line(done / "events" / "job.jsonl", ended)
    failing = one_run(project, "RUNNING", 52)
    fail(failing)
    before = tree(event)

    calls: list[int] = []
    scheduler = FakeScheduler(tmp_path / "spool")
    jobs = scheduler.spool / "jobs"
    for run in (running, failing):
        number = (run / "claim" / "job_id").read_text().strip()
        (jobs / number).mkdir(parents=True)
        (jobs / number / "state").write_text("RUNNING" if run == running else "TIMEOUT")
    answering = scheduler.status_argv
    monkeypatch.setattr(scheduler, "status_argv", lambda ids: (calls.append(len(ids)), answering(ids))[1])
    monkeypatch.setattr(registry, "load", lambda name, dialect: scheduler)

    watcher = watching(event, ask=True)
    found = until(watcher, lambda each: each.state == "TIMEOUT" and each.told is not None, failing.name)
    assert not found.sealed
    assert until(watcher, lambda each: each.state == "SUCCEEDED", done.name).sealed is False
    assert until(watcher, lambda each: each.stale_seconds is None, running.name).state == "RUNNING"
    for _ in range(20):
        watcher.wait(watcher.version, 0.05)
    assert len(calls) == 1 and calls[0] >= 3  # one call, about all of them
    watcher.stop()
    assert tree(event) == before


def test_a_scheduler_that_does_not_answer_is_told_and_holds_up_nothing(
    tmp_path: Path, watching: Callable[..., Watcher], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, go_on = threading.Event(), threading.Event()

    def slow(name: str, dialect: object) -> FakeScheduler:
        asked.set()
        go_on.wait(LONG)
        scheduler = FakeScheduler(tmp_path / "spool")
        (tmp_path / "spool" / "down").touch()
        return scheduler

    monkeypatch.setattr(registry, "load", slow)
    run = one_run(tmp_path / "train", "RUNNING")
    watcher = watching(None, tmp_path / "train", ask=True)
    assert asked.wait(LONG)
    fail(run)
    until(watcher, lambda each: each.state == "FAILED", run.name)
    go_on.set()


def test_teams_see_their_own_runs_only(tmp_path: Path, watching: Callable[..., Watcher]) -> None:
    event = write_event(tmp_path / "event", teams=3)
    watcher = watching(event, team="cirrus")
    assert watcher.settle(LONG), "a busy machine publishes what it has read so far"
    source = watcher.source()
    assert {summary.team for summary in source.summaries} == {"cirrus"} and len(source.summaries) == 22
    assert [project.team for project in source.projects] == ["cirrus"] and source.live and source.team == "cirrus"
    assert source.find(f"{source.projects[0].path}//{source.summaries[3].id}") == source.summaries[3]


def test_an_event_that_changes_and_breaks_is_followed(
    tmp_path: Path, watching: Callable[..., Watcher], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "PLACES_EVERY", 0.1)
    event = write_event(tmp_path / "event", teams=1)
    watcher = watching(event)
    watcher.wait(0, LONG)
    late = one_run(event / "late" / "train")
    file = event / "hackathon.yaml"
    good = file.read_text()
    file.write_text(good.replace("teams:", "teams:\n- name: late\n  project: rain", 1))
    until(watcher, lambda each: each.team == "late", late.name)
    file.write_text("teams: [")
    end = time.monotonic() + LONG
    while not watcher.source().problems and time.monotonic() < end:
        watcher.wait(watcher.version, 1.0)
    assert watcher.source().problems and watcher.source().event is not None
    assert len(watcher.source().summaries) == 23


@pytest.mark.slow
def test_runs_that_vanish_while_they_are_read(tmp_path: Path, watching: Callable[..., Watcher]) -> None:
    """A team moves its things about all the time; the watcher goes on, and has the truth at the end."""
    project = tmp_path / "train"
    one_run(project, number=0)
    watcher = watching(None, project)
    stop = threading.Event()

    def churn() -> None:
        number = 1
        while not stop.is_set():
            run = one_run(project, ("RUNNING", "FAILED", "SUCCEEDED")[number % 3], 1 + number % 39)
            (run / "request.json").write_bytes(b'{"name": "torn')
            shutil.rmtree(run, ignore_errors=True)
            number += 1

    thread = threading.Thread(target=churn)
    thread.start()
    for _ in range(40):
        watcher.wait(watcher.version, 0.05)
    stop.set()
    thread.join()
    last = one_run(project, number=60)
    until(watcher, lambda each: each.state == "SUCCEEDED", last.name)
    end = time.monotonic() + LONG
    while (len(watcher.source().summaries) != 2 or watcher.source().problems) and time.monotonic() < end:
        watcher.wait(watcher.version, 0.5)
    assert len(watcher.source().summaries) == 2 and not watcher.source().problems


def test_who_waits_is_told_and_let_go(tmp_path: Path, watching: Callable[..., Watcher]) -> None:
    run = one_run(tmp_path / "train", "RUNNING")
    watcher = watching(None, tmp_path / "train")
    assert watcher.wait(0, LONG) >= 1
    assert watcher.settle(LONG)
    version = watcher.version
    fail(run)
    assert watcher.wait(version, LONG) > version
    until(watcher, lambda each: each.state == "FAILED", run.name)
    watcher.stop()
    assert watcher.wait(watcher.version, LONG) == watcher.version  # who waits is let go
    assert threading.active_count() < 20


def test_a_diagnosis_that_takes_for_ever_costs_its_own_process_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = one_run(tmp_path / "train", "FAILED")
    (run / "logs" / "rank-1.log").write_text(OUT_OF_MEMORY)
    state = RunStatus(run.name, "FAILED", "exit", exit_code=1, settled=True)
    monkeypatch.setattr(examine, "_CHILD", "import time; time.sleep(1000)")
    examiner = Examiner(timeout=0.5)
    assert examiner.cause(run, state, [], failed=True) is None
    monkeypatch.setattr(examine, "_CHILD", "print('no', flush=True); print('answer', flush=True)")
    assert examiner.cause(run, state, [], failed=True) is None
    monkeypatch.undo()
    examiner = Examiner(timeout=LONG)
    found = examiner.cause(run, state, [tmp_path / "train"], failed=True)
    assert found is not None and found.part == "gpu"
    assert examiner.cause(tmp_path / "gone", state, [], failed=True) is not None  # the child lives on
    examiner.stop()
    assert examiner.cause(run, state, [], failed=True) is None
    examiner.rest()


@pytest.mark.slow
@pytest.mark.parametrize("lost", [2, 1000])
def test_a_diagnosis_that_came_to_nothing_is_begun_again_a_few_times(
    tmp_path: Path, watching: Callable[..., Watcher], monkeypatch: pytest.MonkeyPatch, lost: int
) -> None:
    """A machine too busy to answer in time, once, must not leave a failure without its cause for good."""
    monkeypatch.setattr(watch, "TRY_AGAIN", 0.05)
    begun: list[Path] = []
    real = Examiner.cause

    def cause(self: Examiner, run: Path, *values: Any, **options: Any) -> Any:
        begun.append(run)
        return None if len(begun) <= lost else real(self, run, *values, **options)

    monkeypatch.setattr(Examiner, "cause", cause)
    run = one_run(tmp_path / "train", "FAILED")
    (run / "logs" / "rank-1.log").write_text(OUT_OF_MEMORY)
    watcher = watching(None, tmp_path / "train")
    found = until(watcher, lambda each: each.told is not None, run.name)
    assert found.part == ("gpu" if lost == 2 else "") and len(begun) == 3
    assert bool(watcher.source().problems) == (lost > 2)


@pytest.mark.slow
def test_a_failure_whose_logs_come_late_is_diagnosed_again(
    tmp_path: Path, watching: Callable[..., Watcher], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file system may show the job's last word before the ranks' last lines."""
    monkeypatch.setattr(index, "AGAIN", 0.1)
    run = one_run(tmp_path / "train", "RUNNING")
    watcher = watching(None, tmp_path / "train")
    fail(run, "")
    assert until(watcher, lambda each: each.told is not None, run.name).part == ""
    with (run / "logs" / "rank-1.log").open("a") as stream:
        stream.write(OUT_OF_MEMORY)
    assert until(watcher, lambda each: bool(each.part), run.name).part == "gpu"


def test_one_slow_search_for_projects_does_not_put_off_the_next() -> None:
    assert watch.pause_between((0.01, 8.0)) == watch.pause_between((8.0, 0.01)) == watch.PLACES_EVERY < 10
    assert watch.PLACES_EVERY < watch.pause_between((0.5, 0.5)) < watch.pause_between((2.0, 8.0)) < 60
    assert watch.pause_between((100.0, 100.0)) >= 100


@pytest.mark.slow
def test_silent_errors_of_a_success_are_told_as_warnings(tmp_path: Path, watching: Callable[..., Watcher]) -> None:
    run = one_run(tmp_path / "train")
    final = json.loads((run / "final.json").read_text())
    write_json(run / "final.json", {**final, "t_ended": time.time(), "attempt": 1})
    metrics = run / "metrics" / "rank-0.jsonl"
    metrics.write_text(
        "".join(
            json.dumps({"t": 1000.0 + step, "attempt": 1, "step": step, "seconds": 1.0, "loss": "NaN"}) + "\n"
            for step in range(1, 60)
        )
    )
    watcher = watching(None, tmp_path / "train")
    found = until(watcher, lambda each: bool(each.warnings), run.name)
    assert found.state == "SUCCEEDED" and found.part == "" and "NaN" in found.warnings[0]
