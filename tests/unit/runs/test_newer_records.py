"""Two versions of the toolkit in one event: the older one says what it cannot read, and reads the rest."""

import contextlib
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from hackathon.board.board import read_board
from hackathon.board.directory import make_place, open_place
from hackathon.board.entry import SCHEMA_VERSION as ENTRY_VERSION
from hackathon.board.entry import Entry
from hackathon.board.people import People
from hackathon.board.store import write_entry
from hackathon.cli.main import run as cli
from hackathon.index.index import Index
from hackathon.index.projects import ProjectFolder
from hackathon.jobs.request import SCHEMA_VERSION, Request
from hackathon.runs.directory import RunDirectory
from hackathon.runs.status import status
from hackathon.runs.study import GRID_VERSION, Study
from hackathon.survey.collection import find_collection
from hackathon.text.errors import RequestError
from hackathon.text.files import write_json
from support.runs import new_run
from support.survey.event import make_event


def _rewritten(path: Path, **values: Any) -> None:
    write_json(path, {**json.loads(path.read_text()), **values})


def _newer(run: RunDirectory) -> RunDirectory:
    # in that version a count of processes is, say, that of one node
    _rewritten(Path(run.path) / "request.json", schema_version=SCHEMA_VERSION + 1, processes="8 a node", later={})
    return RunDirectory(Path(run.path))


def test_a_run_of_a_newer_toolkit_is_not_misread(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old, new = new_run(tmp_path / "project"), _newer(new_run(tmp_path / "project"))
    assert new.known().newer == SCHEMA_VERSION + 1 and not new.known().readable and new.known().processes == 0
    for read in (new.record, new.request):
        with pytest.raises(RequestError) as caught:
            read()
        assert caught.value.id == "runs.newer_record" and "newer" in caught.value.message and caught.value.hint
    assert [each.state for each in status([old, new])] == ["CREATED", "CREATED"]
    index = Index([ProjectFolder(tmp_path / "project")], tmp_path / "private" / "index.sqlite3")
    index.refresh()
    reasons = {entry.id: entry.reason for entry in index.summaries}
    index.close()
    assert "newer" in reasons[new.id] and "newer" not in reasons[old.id]
    assert cli(["--lang", "en", "rerun", str(new.path), "--dry-run"]) == 2
    assert "made by a newer hackathon" in capsys.readouterr().err
    # new fields alone are no new version
    _rewritten(Path(old.path) / "request.json", later={})
    assert RunDirectory(Path(old.path)).request().name == "digits"


def test_a_study_and_its_requests(tmp_path: Path) -> None:
    folder = tmp_path / "project" / "studies" / "20260101-000000-scaling-abcdefgh"
    folder.mkdir(parents=True)
    (folder / "study.json").write_text(json.dumps({"schema_version": GRID_VERSION + 1, "points": []}))
    with pytest.raises(RequestError) as caught:
        Study(folder).points()
    assert caught.value.id == "runs.newer_study" and caught.value.hint
    run = new_run(tmp_path / "project")
    value = json.loads((Path(run.path) / "request.json").read_text())
    with pytest.raises(RequestError) as caught:
        Request.from_json({**value, "schema_version": SCHEMA_VERSION + 1})
    assert caught.value.id == "jobs.newer_request"


def test_a_board(tmp_path: Path) -> None:
    make_place(tmp_path / "shared", "sticky")
    _rewritten(tmp_path / "shared" / "board.json", schema_version=2)
    with pytest.raises(RequestError) as caught:
        open_place(tmp_path / "shared")
    assert caught.value.id == "board.newer" and caught.value.hint


def test_a_post_of_a_newer_toolkit_is_told(tmp_path: Path) -> None:
    place, _ = make_place(tmp_path / "shared", "sticky")
    old, new = (write_entry(place, Entry("", "post", 0.0, place.board, text="hangs")) for _ in range(2))
    _rewritten(place.folder / f"{new.entry.id}.json", schema_version=ENTRY_VERSION + 1, text={"de": "hängt"})
    board = read_board(open_place(tmp_path / "shared"), People(None))
    assert [post.id for post in board.posts] == [old.entry.id]
    assert [(each.name, each.why) for each in board.passed] == [(f"{new.entry.id}.json", "newer")]
    assert "newer" in board.passed[0].reason


def test_a_survey_of_a_newer_toolkit_is_told(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache"))
    monkeypatch.setattr("hackathon.board.people.People.account", lambda self, uid: "bob")
    survey = make_event(tmp_path)
    (token, *_) = survey.open(2)
    survey.accept({"words": "closed by the newer one"}, token)
    survey.close()
    for name in ("opened.json", "closed/answers.json", "closed/tokens.json"):
        path = survey.folder / name
        before = path.read_bytes()
        _rewritten(path, schema_version=2)
        with pytest.raises(RequestError) as caught:
            later = find_collection(survey.name, tmp_path)
            later.answers()
            later.kept()
        assert caught.value.id == "survey.newer" and str(path) in str(caught.value)
        path.write_bytes(before)
    assert len(find_collection(survey.name, tmp_path).answers()) == 1


def test_rows_of_a_newer_toolkit_in_the_index_are_left_alone(tmp_path: Path) -> None:
    """The index is made anew from the runs; what another version wrote into it is neither read nor lost."""
    run, store = new_run(tmp_path / "project"), tmp_path / "private" / "index.sqlite3"
    folders = [ProjectFolder(tmp_path / "project")]
    index = Index(folders, store)
    index.refresh()
    (right,) = index.summaries
    index.close()
    with contextlib.closing(sqlite3.connect(store)) as database, database:
        (value,) = database.execute("SELECT value FROM runs").fetchone()
        newer = json.dumps({**json.loads(value), "summary": {"state": "FINE", "processes": "8 a node"}})
        database.execute("UPDATE runs SET format = 'newer-0', value = ?", (newer,))
    index = Index(folders, store)
    assert index.summaries == ()
    index.refresh()
    assert index.summaries == (right,) and right.id == run.id
    index.close()
