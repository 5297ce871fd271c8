"""Runs that are gone, lost or taken up are entries of the index, and what views remember follows the files."""

import dataclasses
import json
from pathlib import Path

import pytest

from hackathon.config.load import load_event
from hackathon.index.gather import all_runs
from hackathon.index.index import Index
from hackathon.index.memory import Memory
from hackathon.index.projects import ProjectFolder
from hackathon.index.studies import study_record
from support.planned_event import PlannedEvent, PlannedLife, PlannedRun, WrittenEvent, write_event

HOUR = (PlannedLife(3600.0),)
RUNS = (
    PlannedRun(lives=HOUR), PlannedRun(state="LOST", lives=HOUR), PlannedRun(state="FAILED", lives=HOUR, removed=True),
    PlannedRun(adopted=True, lives=HOUR),
)  # fmt: skip


@pytest.fixture
def event(tmp_path: Path) -> WrittenEvent:
    return write_event(tmp_path / "event", PlannedEvent(runs=RUNS))


def test_a_table_of_all_runs_is_one_call(event: WrittenEvent, tmp_path: Path) -> None:
    good, lost, removed, adopted = (run.id for run in event.runs)
    for _ in range(2):  # read from the runs, then from the index's file
        runs = {run.id: run for run in all_runs(event.folder, load_event(event.folder), index=tmp_path / "i")}
        assert set(runs) == {good, lost, removed, adopted}
        assert [runs[name].removed for name in (good, lost, removed, adopted)] == [False, False, True, False]
        assert [runs[name].adopted for name in (good, lost, removed, adopted)] == [False, False, False, True]
        assert runs[lost].state == "LOST" and runs[good].value == 100.0
        assert {run.use.held(2e9).seconds for run in runs.values() if run.use} == {3600.0}


def test_a_run_that_is_cleaned_up_stays_in_the_index(event: WrittenEvent, tmp_path: Path) -> None:
    index = Index([ProjectFolder(event.project, "aurora")], tmp_path / "private" / "i")
    index.refresh()
    run = event.runs[0]
    (event.project / "runs" / ".removed" / run.id).mkdir()
    for name in ("request.json", "final.json"):
        (run.path / name).rename(event.project / "runs" / ".removed" / run.id / name)
    run.path.rename(run.path.with_name(f".partial-removed-{run.id}"))
    assert f"{event.project}//{run.id}" in index.refresh()
    assert run.id not in [each.id for each in index.summaries]
    (gone,) = [each for each in index.unseen if each.id == run.id]
    assert gone.removed and gone.use is not None and gone.use.held(2e9).seconds == 3600.0
    index.close()


def test_a_study_is_read_again_when_it_has_changed(tmp_path: Path) -> None:
    path = tmp_path / "studies" / "one" / "study.json"
    path.parent.mkdir(parents=True)
    (tmp_path / "runs").mkdir()
    memory = Memory()
    assert study_record(str(tmp_path), "one", memory) == {}
    for mode in ("weak", "strong, a longer word"):
        path.write_text(json.dumps({"mode": mode}))
        assert study_record(str(tmp_path), "one", memory) == {"mode": mode}


def test_a_memory_keeps_the_newest_and_stays_at_home() -> None:
    import pickle

    memory = Memory()
    for number in range(5):
        memory.keep("table", number, f"value {number}", 3)
    assert [memory.recall("table", number) for number in range(5)] == [None, None, "value 2", "value 3", "value 4"]
    memory.forget("table", 4)
    assert memory.recall("table", 4) is None and memory.recall("other", 3) is None
    assert pickle.loads(pickle.dumps(memory)).recall("table", 3) is None


def test_pictures_of_other_moments_have_the_same_memory() -> None:
    from hackathon.index.catalog import Catalog

    source = Catalog()
    assert dataclasses.replace(source, now=1.0).memory is source.memory and Catalog().memory is not source.memory
