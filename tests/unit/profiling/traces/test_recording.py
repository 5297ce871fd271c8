"""What the recorder writes beside a trace, and what of a run's folder is taken for a trace."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hackathon.profiling import recorder as recorders
from hackathon.profiling.recorder import Recorder
from hackathon.profiling.traces.recording import missing, overhead, recording, recordings, trace_files
from hackathon.profiling.traces.report import read_profile
from hackathon.runs.directory import RunDirectory
from support.traces import gloo_traces


def run_with(folder: Path, files: dict[str, Any]) -> RunDirectory:
    (folder / "profile").mkdir(parents=True)
    (folder / "request.json").write_text("{}")
    for name, value in files.items():
        (folder / "profile" / name).write_text(json.dumps(value))
    return RunDirectory(folder)


def info(plain: list[float], recorded: list[float], **more: Any) -> dict[str, Any]:
    return {"complete": True, "seconds": {"before": plain, "recorded": recorded, "after": plain}, **more}


def test_what_recording_cost_is_the_ratio_of_the_medians(tmp_path: Path) -> None:
    run = run_with(tmp_path / "run", {
        "rank-0.info.json": info([1.0, 1.1, 9.0], [1.2, 1.2, 1.3], peak_bytes={"process": 5e9, "device": 7e9}),
        "rank-1.info.json": info([1.0], [2.0]),
    })  # fmt: skip
    told = recordings(run)
    assert [each.rank for each in told] == [0, 1] and told[0].device_bytes == 7e9
    assert told[1].overhead is None  # two steps say nothing
    found = overhead(told)
    assert found is not None and found["share"] == pytest.approx(0.0909, abs=1e-3) and found["steps"] == 6
    assert overhead(told[1:]) is None


@given(st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.sampled_from(["seconds", "before", "recorded", "after", "peak_bytes", "process"]), inner),
    max_leaves=12,
))  # fmt: skip
def test_whatever_stands_there_is_no_trouble(value: Any) -> None:
    found = recording(3, value if isinstance(value, dict) else {"seconds": value})
    assert found.rank == 3 and (found.overhead is None or found.overhead > -1)


def test_a_rank_without_a_trace_says_why(tmp_path: Path) -> None:
    made = gloo_traces(1, {})[0]
    run = run_with(tmp_path / "run", {
        "rank-1.note.json": {"reason": "steps", "steps": 7, "needed": 22},
        "rank-2.note.json": {"reason": "../../etc"}, "rank-0.note.json": {"reason": "optimizer"},
    })  # fmt: skip
    made.write(tmp_path / "run/profile", packed=True)
    assert [(each.rank, each.reason, each.steps, each.needed) for each in missing(run)] == [(1, "steps", 7, 22)]
    assert [path.name for path in trace_files(run).values()] == ["rank-0.json.gz"]
    assert read_profile(list(trace_files(run).values())).shares.processes == 1


def test_a_profile_says_why_ranks_have_no_trace(tmp_path: Path) -> None:
    run = run_with(tmp_path / "run", {
        "rank-1.note.json": {"reason": "follower"}, "rank-2.note.json": {"reason": "failed", "text": "ValueError: x"},
    })  # fmt: skip
    gloo_traces(3, {})[0].write(tmp_path / "run/profile", packed=True)
    found = read_profile(list(trace_files(run).values()), untold=missing(run)).remarks
    assert any("only the first is recorded" in each for each in found)
    assert "rank 2 could not be recorded: ValueError: x" in found


def test_a_link_is_no_trace(tmp_path: Path) -> None:
    secret = tmp_path / "secret.json"
    secret.write_bytes(gloo_traces(1, {})[0].text())
    run = run_with(tmp_path / "run", {})
    (tmp_path / "run/profile/rank-0.json").symlink_to(secret)
    from hackathon.text.errors import RequestError

    with pytest.raises(RequestError, match="cannot be read"):
        read_profile(list(trace_files(run).values()))


class Profiler:
    """Takes the place of torch.profiler: it counts, and writes when the window is over."""

    def __init__(self, active: int, written: Any) -> None:
        self.left, self.written = active + 1, written

    def step(self) -> None:
        self.left -= 1
        if self.left == 0:
            self.written()


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Recorder, list[float]]:
    """A recorder of 3 steps behind 2 with a clock that the test moves, and the clock's time as a list of one."""
    clock = [0.0]
    recorder = Recorder(str(tmp_path), 2, 3, False)

    def start() -> None:
        recorder.state = "recording"
        recorder.profiler = Profiler(3, written)
        clock[0] += 100.0  # loading libraries takes long

    def written() -> None:
        recorder.state = "written"
        clock[0] += 1000.0

    monkeypatch.setattr(recorders.time, "perf_counter", lambda: clock[0])
    monkeypatch.setattr(recorder, "_start", start)
    monkeypatch.setattr(recorder, "info", lambda: {"state": recorder.state})
    return recorder, clock


def test_the_window_lies_between_steps_that_are_timed_without_it(
    made: tuple[Recorder, list[float]], tmp_path: Path
) -> None:
    recorder, clock = made
    optimizer = object()
    number = 0
    while recorder.state != "complete" and number < 40:
        number += 1
        clock[0] += 2.0 if recorder.state == "recording" else 1.0
        recorder.stepped(optimizer)
    assert number == recorder.needed + 4 and recorder.needed == 2 + 3 + 1 + 1 + 3
    seconds = [later - sooner for sooner, later in zip(recorder.ends, recorder.ends[1:], strict=False)]
    assert seconds == [1.0] * 5 + [2.0] * 4 + [1.0] * 4  # starting and writing belong to no step
    assert json.loads((tmp_path / "rank-0.info.json").read_text()) == {"state": "complete"}


def test_a_second_optimizer_makes_no_second_step(made: tuple[Recorder, list[float]]) -> None:
    recorder, _ = made
    generator, critic, probe = object(), object(), object()
    recorder.stepped(probe)  # a check before the training
    for _ in range(5):
        recorder.stepped(generator)
        recorder.stepped(critic)
    assert len(recorder.ends) == 5 and recorder.optimizer in (id(generator), id(critic))


def test_what_fails_in_the_recorder_leaves_the_program_alone(
    made: tuple[Recorder, list[float]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder, _ = made

    def broken() -> None:
        raise ImportError("no torch.profiler")

    monkeypatch.setattr(recorder, "_start", broken)
    optimizer = object()
    for _ in range(20):
        recorder.stepped(optimizer)
    recorder.leave()
    assert json.loads((tmp_path / "rank-0.note.json").read_text())["text"] == "ImportError: no torch.profiler"


def test_a_helper_of_a_program_does_not_speak_for_its_rank(tmp_path: Path) -> None:
    """Python programs that the job or the program starts have its environment, and so its rank."""
    rank, helper = (Recorder(str(tmp_path), 2, 3, False) for _ in range(2))
    rank.fail(ImportError("no torch.profiler"))
    helper.leave()
    assert json.loads((tmp_path / "rank-0.note.json").read_text())["reason"] == "failed"


def test_a_program_that_ends_too_soon_says_how_many_steps_it_takes(
    made: tuple[Recorder, list[float]], tmp_path: Path
) -> None:
    recorder, _ = made
    optimizer = object()
    for _ in range(3):
        recorder.stepped(optimizer)
    recorder.leave()
    note = json.loads((tmp_path / "rank-0.note.json").read_text())
    assert (note["reason"], note["steps"], note["needed"]) == ("steps", 3, 10)
