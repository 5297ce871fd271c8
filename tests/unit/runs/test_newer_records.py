"""Two versions of the toolkit in one event: the older one says what it cannot read, and reads the rest."""

import json
from pathlib import Path
from typing import Any

import pytest

from hackathon.board.directory import make_place, open_place
from hackathon.cli.main import run as cli
from hackathon.index.index import Index
from hackathon.index.projects import ProjectFolder
from hackathon.jobs.request import SCHEMA_VERSION, Request
from hackathon.runs.directory import RunDirectory
from hackathon.runs.status import status
from hackathon.runs.study import GRID_VERSION, Study
from hackathon.text.errors import RequestError
from hackathon.text.files import write_json
from support.runs import new_run


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
