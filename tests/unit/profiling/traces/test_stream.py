"""Traces of other people: torn, packed, large, hostile. What can be read is read, the rest is told."""

import gzip
import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hackathon.profiling.traces import stream as streams
from hackathon.profiling.traces import trace as traces
from hackathon.profiling.traces.report import profile_of
from hackathon.profiling.traces.stream import TraceStream
from hackathon.profiling.traces.trace import Trace, read_stream, read_trace
from hackathon.text.errors import RequestError
from support.traces import MadeTrace, gloo_traces


def read(raw: bytes) -> Trace:
    return read_stream(io.BytesIO(raw), "trace.json")


def events_of(raw: bytes) -> tuple[list[dict[str, Any]], str]:
    source = TraceStream(io.BytesIO(raw), "trace.json")
    return list(source.events()), source.remark


def whole() -> bytes:
    return gloo_traces(2, {1: 3.0})[1].text()


def test_all_forms_of_a_trace_are_read_alike() -> None:
    value = gloo_traces(2, {1: 3.0})[1].value()
    plain = read(whole())
    assert (plain.rank, plain.processes, plain.host, plain.remark, len(plain.steps)) == (1, 2, "node1", "", 6)
    late = {"traceEvents": value["traceEvents"], **{key: each for key, each in value.items() if key != "traceEvents"}}
    for raw in (gzip.compress(whole()), json.dumps(late).encode(), b"\xef\xbb\xbf" + whole()):
        again = read(raw)
        assert (again.rank, again.host, again.begins, again.steps) == (1, "node1", plain.begins, plain.steps)
    bare = read(json.dumps(value["traceEvents"]).encode())
    assert bare.begins == plain.begins and not bare.told_rank
    unended = read(json.dumps(value["traceEvents"]).encode()[:-1])  # Chrome's format allows it
    assert unended.begins == plain.begins


@settings(max_examples=60)
@given(st.integers(0, 6000), st.booleans())
def test_a_torn_trace_gives_what_stands_before_the_end(kept: int, packed: bool) -> None:
    raw = whole()
    kept = min(kept, len(raw) - 10)
    torn = gzip.compress(raw)
    torn = torn[: min(len(torn) - 60, max(30, kept // 8))] if packed else raw[:kept]
    try:
        trace = read(torn)
    except RequestError as error:
        assert error.id in ("profile.torn", "profile.not_json")
        return
    assert trace.remark == "torn"
    assert list(trace.begins) == list(read(raw).begins)[: len(trace.begins)]
    if trace.steps:
        assert profile_of([trace]).remarks


def test_blocks_may_end_anywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = events_of(whole())
    assert len(expected[0]) == 24
    for block in (1, 2, 3, 7, 64, 1000):
        monkeypatch.setattr(streams, "BLOCK", block)
        found, remark = events_of(whole()[: 3000 if block < 7 else None])
        assert found == expected[0][: len(found)] and len(found) >= 10 and (len(found) == 24) == (remark == "")


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
names = st.sampled_from(
    ["ProfilerStep#1", "ProfilerStep#999999999", "gloo:all_reduce", "aten::mm", "[memory]", "\ud800"]
)
categories = st.sampled_from(["cpu_op", "user_annotation", "kernel", "gpu_memcpy", "cuda_runtime", ""])
numbers = st.floats() | st.integers() | st.sampled_from([0, 1, 2.5, 1e308, -1e308, 10**400])
odd_events = st.fixed_dictionaries(
    {"ph": st.just("X"), "cat": categories | values, "name": names | values, "ts": numbers, "dur": numbers},
    optional={"pid": values | numbers, "tid": values | numbers, "args": values, "id": values},
)  # fmt: skip
odd_traces = st.fixed_dictionaries(
    {"traceEvents": st.lists(odd_events | values, max_size=12)},
    optional={"baseTimeNanoseconds": values, "host_name": values, "distributedInfo": values
              | st.fixed_dictionaries({"rank": numbers, "world_size": numbers}), "deviceProperties": values},
)  # fmt: skip


@pytest.mark.slow
@settings(max_examples=150)
@given(odd_traces | values)
def test_whatever_lies_in_a_file_is_read_or_refused(value: Any) -> None:
    try:
        profile = profile_of([read(json.dumps(value).encode())])
    except RequestError as error:
        assert error.message and error.id.startswith("profile.")
        return
    json.dumps(profile.to_json(), allow_nan=False).encode()
    assert profile.verdict and profile.typical_step() is not None
    for each in profile.shares.ranks:
        assert 0 < each.seconds < float("inf")


@settings(max_examples=100)
@given(st.binary(max_size=200), st.integers(0, 2000))
def test_bytes_in_the_middle_do_no_harm(raw: bytes, place: int) -> None:
    try:
        read(whole()[:place] + raw + whole()[place:])
    except RequestError as error:
        assert error.id in ("profile.torn", "profile.not_json", "profile.no_events")


@pytest.mark.parametrize(
    "raw",
    [b"", b"\0" * 100, b"no trace", b"\x1f\x8b", gzip.compress(b""), b"[" * 100_000, b'{"a":' * 100_000, b"{}", b"[]",
     b'{"traceEvents":{}}', b'{"traceEvents":[1,2', b'{"traceEvents":["' + b"x" * 100_000, b'{"' + b"k" * 100_000,
     b'{"traceEvents":[{"ph":"X","cat":"cpu_op","name":"a","ts":' + b"9" * 5000 + b',"dur":1}]}',
     b"{" + b" " * 100_000],
    ids=[f"case-{number}" for number in range(15)],  # the values are long, and one of them holds the time
)  # fmt: skip
def test_what_is_no_trace_is_refused(raw: bytes) -> None:
    with pytest.raises(RequestError, match="trace") as caught:
        read(raw)
    assert caught.value.exit_code == 2


def test_an_endless_value_takes_bounded_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """A text of any length, such as a packed file of some kilobytes can hold, is given up at LONGEST letters."""
    monkeypatch.setattr(streams, "LONGEST", 10_000)
    monkeypatch.setattr(streams, "BLOCK", 1000)
    raw = gzip.compress(b'{"traceEvents":[{"name":"' + b"a" * 5_000_000)
    stream = io.BytesIO(raw)
    source = TraceStream(stream, "trace.json")
    assert list(source.events()) == [] and source.remark == "torn" and source._read < 100_000


def test_a_trace_of_too_many_events_or_bytes_is_read_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traces, "EVENTS", 10)
    cut = read(whole())
    assert len(cut.begins) == 10 and any("too many" in each for each in profile_of([cut]).remarks)
    monkeypatch.setattr(traces, "EVENTS", 1000)
    monkeypatch.setattr(streams, "LARGEST", 4000)
    monkeypatch.setattr(streams, "BLOCK", 1000)
    cut = read(whole())
    assert 0 < len(cut.begins) < 24 and any("too large" in each for each in profile_of([cut]).remarks)


def test_traces_of_other_programs_are_refused_with_the_reason() -> None:
    tensorflow = {
        "displayTimeUnit": "ns",
        "traceEvents": [{"ph": "X", "pid": 1, "tid": 2, "ts": 1, "dur": 5, "name": "MatMul"}],
    }
    with pytest.raises(RequestError, match=r"no event of torch\.profiler"):
        read(json.dumps(tensorflow).encode())


def test_a_pipe_or_a_folder_is_not_waited_for(tmp_path: Path) -> None:
    import os

    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path, tmp_path / "none"):
        with pytest.raises(RequestError, match="cannot be read"):
            read_trace(path)


def test_old_traces_without_a_base_time_are_aligned_by_their_own_times() -> None:
    made = [MadeTrace(rank, 2) for rank in range(2)]
    for trace in made:
        late = 4.0 * trace.rank
        for step in range(3):
            trace.step(step, 20 * step, 20 * step + 20)
            trace.operator(20 * step, 20 * step + 10 + late)
            trace.gloo(20 * step + 10 + late, 20 * step + 20)
    found = []
    for trace in made:
        value = trace.value()
        del value["baseTimeNanoseconds"]
        found.append(read(json.dumps(value).encode()))
    assert profile_of(found).to_json()["ranks"][0]["waiting"] == 0.004
