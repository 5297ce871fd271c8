"""The record of a run: whatever lies in its files, each field has its type and `record()` says what is not a run."""

import json
from dataclasses import fields
from pathlib import Path
from typing import Any, get_type_hints

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from hackathon.runs.create import create
from hackathon.runs.directory import RunDirectory
from hackathon.runs.record import Adopted, RecordedCheck, RunRecord, StudyPoint, read_record
from hackathon.text.errors import RequestError
from support.runs import SCRIPT, project, request

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
KEYS = sorted({field.name for field in fields(RunRecord)} - {"id", "path", "readable", "raw", "adopted"})


def test_what_was_asked_for_is_read_back(tmp_path: Path) -> None:
    wanted = request(
        project(tmp_path), processes=4, nodes=2, gpus_per_node=2, parameters={"lr": 0.1}, team="aurora", group="g1",
        check={"metric": "accuracy", "at_least": 0.9, "at_most": None},
    )  # fmt: skip
    run = create(wanted, SCRIPT, runs_folder=tmp_path / "runs", note="メモ", tags=["a"], parent="p", chain=["x", "y"],
                 study={"id": "s", "processes": 4, "repeat": 2}, run_id="x")  # fmt: skip
    record = run.record()
    for name in ("name", "cluster", "scheduler", "processes", "nodes", "gpus_per_node", "walltime", "launcher", "team",
                 "group", "command", "parameters", "metric", "source", "in_place"):  # fmt: skip
        assert getattr(record, name) == getattr(wanted, name), name
    assert (record.note, record.tags, record.parent, record.chain) == ("メモ", ("a",), "p", ("x", "y"))
    assert record.study == StudyPoint("s", 4, 2)
    assert record.check == RecordedCheck("accuracy", at_least=0.9)
    assert record.gpus == 4
    assert record.adopted is None
    assert record.user
    assert record.created == pytest.approx(json.loads((run.path / "client/created.json").read_text())["t"])
    assert RunRecord(record.id, record.path).readable is False


def test_an_adopted_job_tells_its_folder(tmp_path: Path) -> None:
    fact = {"job_id": "7", "directory": "/work/a", "t": 5.0, "job": {"state": "RUNNING"}}
    run = create(request(project(tmp_path), launcher=""), SCRIPT, runs_folder=tmp_path / "runs",
                 facts={"adopted": fact})  # fmt: skip
    assert run.record().adopted == Adopted("7", "/work/a", 5.0, {"state": "RUNNING"})


def test_a_folder_without_a_request_is_not_a_run(tmp_path: Path) -> None:
    for content in (None, "", "[]", "{", "null"):
        if content is not None:
            (tmp_path / "request.json").write_text(content)
        assert not RunDirectory(tmp_path).known().readable
        with pytest.raises(RequestError):
            RunDirectory(tmp_path).record()
    (tmp_path / "request.json").write_text("{}")
    assert RunDirectory(tmp_path).record().metric == "samples_per_s"


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(request_json=st.dictionaries(st.sampled_from(KEYS), JSON), created=JSON, adopted=JSON)
@example(
    request_json={"processes": 10**4000, "nodes": -1, "walltime": True, "study": {"id": ["x"]}},
    created={"t": 1e300},
    adopted=[],
)
@example(
    request_json={"tags": "word", "metrics": {"a": 1}, "check": {"metric": ""}, "command": "python"},
    created={},
    adopted={},
)
def test_every_field_has_its_type(tmp_path: Path, request_json: dict[str, Any], created: Any, adopted: Any) -> None:
    values = {"request.json": request_json, "client/created.json": created, "client/adopted.json": adopted}
    record = read_record(tmp_path, values.get)
    hints = get_type_hints(RunRecord)
    for field in fields(RunRecord):
        value, hint = getattr(record, field.name), str(hints[field.name])
        if hint.startswith("<class"):
            assert type(value) is hints[field.name] or isinstance(value, Path), field.name
        elif hint.startswith("tuple[str"):
            assert isinstance(value, tuple)
            assert all(type(each) is str for each in value), field.name
        elif "Mapping" in hint and "tuple" not in hint:
            assert isinstance(value, dict), field.name
    assert 0 <= record.processes < 10**12
    record.user.encode()
    record.name.encode()


@pytest.mark.parametrize(
    ("least", "most", "value", "passed"),
    [(0.9, None, 0.9, True), (0.9, None, 0.89, False), (None, 2.0, 3.0, False), (None, None, float("nan"), False),
     (0.9, None, None, None), (1, 2, 1.5, True)],
)  # fmt: skip
def test_a_check_passes_within_its_bounds(
    least: float | None, most: float | None, value: float | None, passed: bool | None
) -> None:
    assert RecordedCheck("accuracy", least, most).passes(value) is passed
