"""Runs that are gone, lost or taken up are entries of the index, and what views remember follows the files."""

import dataclasses
import json
from pathlib import Path

import pytest

from hackathon.cli.run.rerun import _find
from hackathon.config.load import load_event
from hackathon.index.gather import all_runs, find_entry
from hackathon.index.index import Index
from hackathon.index.memory import Memory
from hackathon.index.projects import ProjectFolder
from hackathon.index.record import RunEntry
from hackathon.index.store import default_path
from hackathon.index.studies import study_record
from hackathon.text.errors import RequestError
from hackathon.text.messages import speaking
from hackathon.text.told import Told
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


@pytest.mark.parametrize("damage", ["", "index", "event"])
def test_rerun_finds_runs_of_the_event_by_the_index(
    event: WrittenEvent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    good, _, removed, _ = (run.id for run in event.runs)
    mine = event.folder / "aurora" / "mine"
    (mine / "runs").mkdir(parents=True)
    (mine / "project.yaml").write_text("name: mine\ncommand: python train.py\n")
    if damage == "index":
        find_entry(good, mine)
        default_path().write_bytes(b"no database" * 1000)
    if damage == "event":  # then the project's own runs alone are known
        (event.folder / "hackathon.yaml").write_text("title: [")
        assert find_entry(good, mine) is None
    monkeypatch.chdir(event.project if damage == "event" else mine)
    assert _find(good[-8:]).path == event.project / "runs" / good
    with pytest.raises(RequestError, match="was cleaned up"):
        _find(removed[-8:])
    for text, why in (("no-such-run", "there is no run"), (good[:8], "runs match")):
        with pytest.raises(RequestError, match=why):
            _find(text)


def test_without_an_event_a_project_knows_its_own_runs(
    event: WrittenEvent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    alone = tmp_path / "alone"
    event.project.rename(alone)
    for run in event.runs:
        found = find_entry(run.id, alone)
        assert found is not None and (found.id, found.removed) == (run.id, run is event.runs[2])
    assert find_entry("nothing", alone) is None


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


def test_one_index_says_why_in_every_language(event: WrittenEvent, tmp_path: Path) -> None:
    final = event.runs[0].path / "final.json"
    ended = {"cause": "exit", "exit_code": 3, "first_rank": 1, "first_host": "n1", "first_exit_code": 3}
    final.write_text(json.dumps({**json.loads(final.read_text()), "state": "FAILED", "reason": "by qsub", **ended}))
    with speaking("en"):
        all_runs(event.folder, load_event(event.folder), index=tmp_path / "i")
    for code, wanted in (
        ("ja", "最初に失敗したのはランク 1"),
        ("en", "rank 1 on n1 failed first, exit code 3"),
    ):
        with speaking(code):
            found = {run.id: run for run in all_runs(event.folder, load_event(event.folder), index=tmp_path / "i")}
            entry = found[event.runs[0].id]
            assert entry.reason.startswith(wanted) and entry.reason.endswith(": by qsub"), entry.reason
            assert RunEntry.from_json(json.loads(json.dumps(entry.to_json()))).reason == entry.reason
            silent = dataclasses.replace(entry, warned=("slow",), silent={"en": ("NaN",), "ja": ("非数", "slow")})
            assert silent.warnings == {"en": ("slow", "NaN"), "ja": ("slow", "非数")}[code]
    strange = dataclasses.replace(entry, reasons=(Told("runs.of_tomorrow", {}), "by qsub"))
    assert strange.reason == "by qsub"


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
