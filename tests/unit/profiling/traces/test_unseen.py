"""What a trace does not show is not told: kernels that were not recorded or not read."""

import io
import json
from array import array
from pathlib import Path

import pytest

from hackathon.profiling.chainer_trace import ChainerProfiler, function_hook
from hackathon.profiling.traces.activity import Gap, gaps
from hackathon.profiling.traces.reckoning import RankTime
from hackathon.profiling.traces.recording import recording
from hackathon.profiling.traces.report import Profile, profile_of, read_profile
from hackathon.profiling.traces.roof_sentences import roof_sentences
from hackathon.profiling.traces.trace import Trace, TraceStep, read_stream
from support.effort import lines_run
from support.traces import MadeTrace, gloo_traces

STEPS = 10


def profiled(trace: MadeTrace, *, kept: float = 1.0, device_bytes: int = 0, **values: object) -> Profile:
    raw = json.dumps({**trace.value(), **values, "traceEvents": trace.events}).encode()
    told = recording(0, {"device": "GPU", "peak_bytes": {"device": device_bytes}})
    read = read_stream(io.BytesIO(raw[: int(kept * len(raw))]), "rank-0.json")
    return profile_of([read], [told])


def host_only(call: str = "cudaDeviceSynchronize", until: float = 100) -> MadeTrace:
    """Return ten steps of 100 ms: 5 ms of operators, then a call of the device's runtime."""
    trace = MadeTrace()
    for step in range(STEPS):
        at = 100 * step
        trace.step(step, at, at + 100)
        trace.operator(at, at + 5)
        if call:
            trace.add("cuda_runtime", call, at + 6, at + until, correlation=step + 1)
    return trace


MATRICES = {"Input Dims": [[64, 64], [64, 64]], "Input type": ["float"] * 2, "Concrete Inputs": ["", ""]}
GPU = {"deviceProperties": [{"name": "NVIDIA H100"}]}


def is_unknown(profile: Profile) -> bool:
    (found,) = profile.shares.ranks
    parts = (found.data, found.host, found.compute, found.communication, found.waiting)
    told = profile.to_json()
    assert "no verdict" in profile.verdict or parts != (None,) * 5
    return parts == (None,) * 5 and told["findings"] == [] and told["gaps"] == [] and told["loader"] is None


def test_a_device_whose_kernels_were_not_recorded_is_no_program_of_the_cpu() -> None:
    for profile in (
        profiled(host_only()),
        profiled(host_only("hipLaunchKernel", 6.1)),
        profiled(host_only(""), device_bytes=1 << 20),
        profiled(host_only(""), framework="chainer", computes_on="cuda"),
    ):
        assert is_unknown(profile) and any("kernels" in each for each in profile.remarks)
    shaped = host_only()
    shaped.add("cpu_op", "aten::mm", 1, 2, **MATRICES)
    assert profiled(shaped).roofline is None and "GPU" in roof_sentences(profiled(shaped))[0]
    # pinned memory alone is no computing there, nor is what the profiler itself does at its end
    after = host_only("")
    after.add("cuda_runtime", "cudaDeviceSynchronize", 1001, 1002)
    for trace in (host_only("cudaHostAlloc"), host_only(""), after):
        profile = profiled(trace)
        assert [each.id for each in profile.findings] == ["host-bound"] and profile.remarks == []


def busy(*, launches: bool = False, long: float = 95, every: float = 100) -> MadeTrace:
    """Return ten steps whose kernels come after all else in the file, as libkineto writes them."""
    trace = MadeTrace()
    for step in range(STEPS):
        trace.step(step, every * step, every * step + every)
        if launches:
            trace.add("cuda_runtime", "cudaLaunchKernel", every * step, every * step + 1, correlation=step + 1)
    for step in range(STEPS):
        for part in range(20):
            begin = max(every, long + 5) * step + long * part / 20
            trace.add("kernel", "gemm", begin, begin + long / 20, pid=0, tid=7, device=0, stream=7,
                      correlation=step + 1)  # fmt: skip
    return trace


@pytest.mark.parametrize("launches", [False, True])
@pytest.mark.parametrize("kept", [0.9, 0.55, 0.3])
def test_of_a_torn_trace_the_steps_whose_kernels_were_read_count(kept: float, launches: bool) -> None:
    profile = profiled(busy(launches=launches), kept=kept)
    (found,) = profile.shares.ranks
    assert found.steps < STEPS and found.share("compute") == pytest.approx(0.95) and profile.findings == []
    assert any("damaged" in each for each in profile.remarks)


@pytest.mark.parametrize("launches", [False, True])
def test_of_a_torn_trace_without_a_whole_step_nothing_is_told(launches: bool) -> None:
    text = json.dumps(busy(launches=launches).value())
    for word in ('"kernel"', '"gemm"'):
        kept = (text.index(word) + 400 * (word == '"gemm"')) / len(text)
        profile = profiled(busy(launches=launches), kept=kept)
        if launches or word == '"gemm"':
            assert is_unknown(profile)
        else:
            assert profile.findings == [] and "no verdict" in profile.verdict
    assert not is_unknown(profiled(gloo_traces(1, {})[0], kept=0.8))


def test_a_torn_trace_without_kernels_is_not_said_to_be_of_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a node with a GPU a program of the CPU leaves the same trace, but for calls of the runtime."""
    for kept, steps in ((0.9, 5), (0.8, 4)):
        (found,) = profiled(gloo_traces(1, {})[0], kept=kept).shares.ranks
        assert (found.steps, found.share("compute")) == (steps, pytest.approx(0.6))
        assert is_unknown(profiled(gloo_traces(1, {})[0], kept=kept, **GPU)), "it may have kernels behind the cut"
    launched, told = profiled(host_only(), kept=0.5), profiled(host_only(""), kept=0.5, device_bytes=1 << 20)
    monkeypatch.setattr("hackathon.profiling.traces.trace.EVENTS", 25)
    for profile in (launched, told, profiled(busy(launches=True)), profiled(host_only(""), kept=0.15, **GPU)):
        assert is_unknown(profile) and "read" in profile.verdict
        assert any("too little" in each for each in profile.remarks)
        assert not any("GPU" in each for each in (profile.verdict, *profile.remarks))


def test_a_range_around_all_steps_does_not_make_a_torn_trace_whole() -> None:
    trace = MadeTrace()
    trace.add("user_annotation", "epoch", 0, 100 * STEPS)
    for step in range(STEPS):
        trace.step(step, 100 * step, 100 * step + 100)
    for part in range(20 * STEPS):
        trace.operator(5 * part, 5 * part + 4.9)
    (found,) = profiled(trace, kept=0.4).shares.ranks
    assert found.steps < STEPS and found.share("compute") == pytest.approx(0.98)


def test_of_a_torn_trace_without_steps_its_kernels_end_the_recording() -> None:
    trace = busy()
    trace.events = [event for event in trace.events if event["cat"] == "kernel"]
    trace.events.insert(0, {**trace.events[0], "cat": "cpu_op", "name": "aten::mm", "dur": 1e6})
    profile = profiled(trace, kept=0.4)
    assert profile.findings == [] and (profile.mean.share("compute") or 0) > 0.9


def test_copies_to_the_device_are_not_the_loader() -> None:
    offload, loading = busy(long=60), busy(long=60)
    for step in range(STEPS):
        offload.copy(100 * step + 60, 100 * step + 100)
        loading.loader(100 * step + 60, 100 * step + 100)
    (copies,), (loader,) = (profiled(trace).findings for trace in (offload, loading))
    assert (copies.id, copies.share, loader.id) == ("copies", pytest.approx(0.4), "loader")
    assert "DataLoader" not in copies.advice and "non_blocking" in copies.advice
    # both are waiting for data, and counted together; the larger half names them
    for loads, copied, name in ((9, 9.5, "copies"), (9.5, 9, "loader"), (30, 20, "loader"), (4, 4, "")):
        both = MadeTrace()
        for step in range(STEPS):
            both.step(step, 100 * step, 100 * step + 100)
            both.loader(100 * step, 100 * step + loads)
            both.copy(100 * step + loads, 100 * step + loads + copied)
            both.kernel(100 * step + loads + copied, 100 * step + 100)
        told = [(each.id, each.share) for each in profiled(both).findings]
        assert told == ([(name, pytest.approx((loads + copied) / 100))] if name else [])


def test_chainers_trace_says_whether_functions_had_arrays_of_a_gpu(tmp_path: Path) -> None:
    class Chainer:
        FunctionHook = object

    on_gpu = type("ndarray", (), {"__module__": "cupy._core.core"})()
    for data, unknown in ((on_gpu, True), (1.0, False)):
        profiler = ChainerProfiler(0, 3, 0, 1, None)
        hook = function_hook(Chainer, profiler)
        for step in range(3):
            hook.forward_preprocess(None, (data,))
            hook.forward_postprocess(object(), (data,))
            profiler.add("user_annotation", f"ProfilerStep#{step}", 1e6 * step, 1e6 * step + 1e6)
        profiler.export_chrome_trace(str(tmp_path / "rank-0.json.gz"))
        assert is_unknown(read_profile([tmp_path / "rank-0.json.gz"])) == unknown


def test_the_longest_gaps_of_many_steps_are_found_in_one_sweep() -> None:
    """Some 40 000 gaps in 400 steps took nine seconds when each step went through all of them."""
    trace = Trace("rank-0.json", begins=array("d", [0.0]), ends=array("d", [1.0]))
    host = [(1e3 * part, 1e3 * part + 400 + part % 7) for part in range(40_000)]
    host[20_000] = (host[20_000][0] - 300, host[20_000][1])  # over the end of a step: two gaps

    def longest(count: int) -> list[Gap]:
        length = 4e7 / count
        steps = [TraceStep(step, length * step, length * (step + 1)) for step in range(count)]
        return gaps({0: trace}, {0: RankTime(steps, {"host": host})})

    found = longest(400)
    assert lines_run(lambda: longest(400)) < 3 * lines_run(lambda: longest(40))
    assert len(found) == 10
    assert [each.seconds for each in found] == pytest.approx([406e-6] * 10)
    assert all(0 <= each.begin < 0.1 for each in found)


def test_names_of_process_groups_take_bounded_room() -> None:
    trace = MadeTrace()
    trace.step(0, 0, 100)
    for number in range(60):
        told = {"Process Group Name": "a" * 9000 + str(number % 2), "Process Group Ranks": "1" * 9000}
        trace.nccl(number, number + 1, **told)
    found = read_stream(io.BytesIO(trace.text()), "rank-0.json").collectives
    texts = {id(text): text for each in found for text in (each.group, each.ranks)}
    assert len(texts) == 3 and max(map(len, texts.values())) < 50 and len({each.group for each in found}) == 2
