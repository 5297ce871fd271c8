"""The merged trace: valid JSON, a process for each rank, one clock, and never too many events."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from hackathon.profiling.traces import merged
from hackathon.profiling.traces.merged import write_merged
from hackathon.profiling.traces.report import Profile, read_profile
from hackathon.text.errors import RequestError
from support.traces import MadeTrace, gloo_traces


def profile(made: list[MadeTrace], folder: Path) -> Profile:
    return read_profile([trace.write(folder, packed=trace.rank % 2 == 1) for trace in made])


def events(path: Path) -> list[dict[str, Any]]:
    raw = path.read_bytes()
    value = json.loads(gzip.decompress(raw) if path.suffix == ".gz" else raw)
    found: list[dict[str, Any]] = value["traceEvents"]
    return found


@pytest.mark.parametrize("name", ["all.json", "all.json.gz"])
def test_ranks_stand_side_by_side_on_one_clock(tmp_path: Path, name: str) -> None:
    made = gloo_traces(2, {1: 6.0})
    made[1].host = "node2"
    made[1].pid = made[0].pid  # on two hosts it can be
    for event in made[1].events:
        event["pid"], event["ts"] = made[0].pid, event["ts"] + 5e6
    made[1].kernel(0.0 + 5000, 1.0 + 5000)
    made[0].events.append({"ph": "s", "id": 7, "pid": made[0].pid, "tid": 1, "ts": 1e6, "cat": "ac2g", "name": "ac2g"})
    found = profile(made, tmp_path)
    assert write_merged(found, tmp_path / name) == len(events(tmp_path / name))
    named = {each["args"]["name"]: each["pid"] for each in events(tmp_path / name) if each["ph"] == "M"}
    assert set(named) == {"rank 0 CPU (node1)", "rank 1 CPU (node2)", "rank 1 GPU 1 (node2)"}
    assert len(set(named.values())) == 3
    ends = {
        each["pid"]: round(each["ts"] + each["dur"])
        for each in events(tmp_path / name)
        if each["name"] == "gloo:all_reduce"
    }
    assert set(ends.values()) == {6 * 26_000} and len(ends) == 2  # microseconds since the first event
    assert min(each["ts"] for each in events(tmp_path / name)) == 0
    assert [each["id"] for each in events(tmp_path / name) if each["ph"] == "s"] == ["0.7"]


def test_of_too_many_events_the_longest_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = profile(gloo_traces(2, {}), tmp_path)
    monkeypatch.setattr(merged, "EVENTS", 24)
    write_merged(found, tmp_path / "all.json")
    kept = [each["name"] for each in events(tmp_path / "all.json") if each["ph"] == "X"]
    assert set(kept) == {"ProfilerStep#0", *(f"ProfilerStep#{step}" for step in range(1, 6)), "aten::mm"}


def test_odd_arguments_are_written_as_json(tmp_path: Path) -> None:
    made = gloo_traces(1, {})
    deep: Any = 1
    for _ in range(50):
        deep = [deep]
    made[0].operator(1.5, 1.6)
    made[0].events[-1]["args"] = {"deep": deep, "nan": float("nan"), "text": "\ud800<script>", "whole": 12}
    made[0].events[-1]["tid"] = "Trace PyTorch Profiler"
    write_merged(profile(made, tmp_path), tmp_path / "all.json")
    text = (tmp_path / "all.json").read_text()
    assert "NaN" not in text and '"whole":12' in text and '"tid":"Trace PyTorch Profiler"' in text


def test_a_file_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    found = profile(gloo_traces(1, {}), tmp_path)
    with pytest.raises(RequestError, match="could not be written"):
        write_merged(found, tmp_path / "none" / "all.json")
    (tmp_path / "rank-0.json").unlink()
    with pytest.raises(RequestError, match="cannot be read"):
        write_merged(found, tmp_path / "all.json")
    assert list(tmp_path.glob("*all*")) == [] and list(tmp_path.glob(".*")) == []
