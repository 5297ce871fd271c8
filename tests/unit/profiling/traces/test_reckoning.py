"""Where the time of a step goes, from traces in which it is known to the millisecond."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hackathon.profiling.shares import PARTS
from hackathon.profiling.traces.report import Profile, profile_of, read_profile
from hackathon.profiling.traces.trace import read_stream
from hackathon.text.errors import RequestError
from support.paths import TESTS
from support.traces import MadeTrace, gloo_traces


def profiled(*traces: MadeTrace) -> Profile:
    import io

    return profile_of([read_stream(io.BytesIO(each.text()), f"rank-{each.rank}.json") for each in traces])


def milliseconds(profile: Profile, rank: int = 0) -> dict[str, float | None]:
    (found,) = [each for each in profile.shares.ranks if each.rank == rank]
    return {part: None if (value := getattr(found, part)) is None else round(1e3 * value, 3) for part in PARTS}


def ids(profile: Profile) -> list[str]:
    return [each.id for each in profile.findings]


def test_parts_of_a_step_on_the_cpu() -> None:
    profile = profiled(*gloo_traces(2, {1: 4.0}))
    assert milliseconds(profile, 0) == {
        "data": 1, "host": 3, "compute": 12, "communication": 4, "waiting": 4, "other": 0,
    }  # fmt: skip
    assert milliseconds(profile, 1) == {
        "data": 1, "host": 7, "compute": 12, "communication": 4, "waiting": 0, "other": 0,
    }  # fmt: skip
    assert profile.communication == pytest.approx((0.006, 0.006))  # 8 ms on one rank, 4 ms on the other
    assert profile.loader == pytest.approx((0.001, 0.001))


def test_the_late_rank_is_named_and_who_waits_is_not() -> None:
    profile = profiled(*gloo_traces(4, {2: 30.0}))
    (found,) = [each for each in profile.findings if each.id == "late-rank"]
    assert found.rank == 2 and found.share == pytest.approx(30 / 50)
    assert "30" in found.advice and "host" in found.advice
    assert profile.to_json()["late_rank"] == 2


def test_of_a_rank_that_communication_makes_late_no_other_part_is_blamed() -> None:
    made = [MadeTrace(rank, 2) for rank in range(2)]
    for step in range(6):
        for trace in made:
            trace.step(step, 30 * step, 30 * step + 30)
            trace.operator(30 * step, 30 * step + 16)
            if trace.rank == 0:
                trace.gloo(30 * step + 16, 30 * step + 26, "broadcast")
            trace.gloo(30 * step + (26 if trace.rank == 0 else 16), 30 * step + 30)
    (found,) = profiled(*made).findings
    assert (found.id, found.rank) == ("late-rank", 0)
    assert "outside of communication" in found.advice and "0 ms" not in found.advice


def test_ranks_that_are_late_in_turn_are_not_named() -> None:
    made = [MadeTrace(rank, 2) for rank in range(2)]
    for step in range(10):
        for trace in made:
            more = 5.0 if step % 2 == trace.rank else 0.0
            trace.step(step, 40 * step, 40 * step + 40)
            trace.operator(40 * step, 40 * step + 30 + more)
            trace.gloo(40 * step + 30 + more, 40 * step + 40)
    profile = profiled(*made)
    assert milliseconds(profile)["waiting"] == 2.5
    assert ids(profile) == [] and profile.to_json()["late_rank"] is None


@pytest.mark.parametrize("lateness", [0.0, 0.3])
def test_a_healthy_run_gives_no_claim(lateness: float) -> None:
    profile = profiled(*gloo_traces(4, {3: lateness}))
    assert ids(profile) == [] and "nothing stands out" in profile.verdict


def test_a_slow_loader_and_a_busy_host_are_found_each() -> None:
    slow, busy = MadeTrace(), MadeTrace()
    for step in range(5):
        for trace, until in ((slow, 20), (busy, 1)):
            trace.step(step, 50 * step, 50 * step + 50)
            trace.loader(50 * step, 50 * step + until)
        slow.operator(50 * step + 20, 50 * step + 50)
        busy.operator(50 * step + 30, 50 * step + 50)
    assert ids(profiled(slow)) == ["loader"] and ids(profiled(busy)) == ["host-bound"]
    gap = profiled(busy).gaps[0]
    assert gap.seconds == pytest.approx(0.029) and gap.after.startswith("enumerate(DataLoader)")
    assert gap.before == "aten::mm"


def test_one_slow_step_is_no_loader_bound_program() -> None:
    trace = MadeTrace()
    for step, loading in enumerate([0.1, 0.1, 30, 0.1, 0.1]):
        trace.step(step, 50 * step, 50 * step + 50)
        trace.loader(50 * step, 50 * step + loading)
        trace.operator(50 * step + loading, 50 * step + 50)
    profile = profiled(trace)
    assert milliseconds(profile)["data"] == pytest.approx(6.08)  # 12 % of the step
    assert ids(profile) == []


def gpu_step(trace: MadeTrace, at: float, *, entered: float, loader: float = 0.0, launch: float = 0.0) -> None:
    """Add a step of 40 ms of a GPU: kernels from 6 to 20, all-reduce from `entered` to 36, 4 ms of it overlapped."""
    trace.step(int(at / 40), at, at + 40)
    trace.loader(at, at + loader)
    trace.add("cuda_runtime", "cudaLaunchKernel", at + 5, at + 5.1)
    trace.copy(at + 4, at + 6)
    trace.kernel(at + 6 + launch, at + 20)
    trace.nccl(at + entered, at + 36)
    trace.kernel(at + 26, at + 30, "void at::native::vectorized_elementwise_kernel<4>")
    trace.copy(at + 36, at + 37, "DtoH (Device -> Pageable)")


def test_parts_of_a_step_on_a_gpu() -> None:
    one, other = MadeTrace(0, 2), MadeTrace(1, 2)
    for step in range(4):
        gpu_step(one, 40.0 * step, entered=20, loader=4)
        gpu_step(other, 40.0 * step, entered=25, loader=4)
    profile = profiled(one, other)
    assert milliseconds(profile, 0) == {
        "data": 6, "host": 3, "compute": 18, "communication": 7, "waiting": 5, "other": 1,
    }  # fmt: skip
    assert milliseconds(profile, 1) == {
        "data": 6, "host": 8, "compute": 18, "communication": 7, "waiting": 0, "other": 1,
    }  # fmt: skip
    assert profile.communication == pytest.approx((0.0135, 0.0095))
    assert [(each.calls, round(1e3 * each.seconds, 3), each.tensor_cores) for each in profile.kernels] == [
        (1, 14, True), (1, 4, False),
    ]  # fmt: skip
    assert profile.tensor_core_share == pytest.approx(14 / 18)


def test_a_loader_that_the_device_hides_costs_nothing() -> None:
    trace = MadeTrace()
    for step in range(4):
        trace.step(step, 40 * step, 40 * step + 40)
        trace.loader(40 * step, 40 * step + 20)
        trace.kernel(40 * step, 40 * step + 40)
    assert milliseconds(profiled(trace))["data"] == 0 and profiled(trace).loader == pytest.approx((0.02, 0.0))
    assert ids(profiled(trace)) == []


def test_host_bound_on_a_gpu_is_a_device_that_does_nothing() -> None:
    trace = MadeTrace()
    for step in range(5):
        trace.step(step, 40 * step, 40 * step + 40)
        for launch in range(10):
            begin = 40 * step + 4 * launch
            trace.operator(begin, begin + 4, "aten::add_")
            trace.kernel(begin + 3, begin + 4)
    profile = profiled(trace)
    assert milliseconds(profile)["host"] == 30 and ids(profile) == ["host-bound"]


def test_clocks_of_two_hosts_are_aligned_at_the_ends_of_collectives() -> None:
    made = gloo_traces(4, {1: 6.0})
    for trace in made[2:]:
        trace.host = "node2"
        for event in trace.events:
            event["ts"] += 3.25e6  # a clock of more than three seconds ahead
    profile = profiled(*made)
    assert {rank: (clock.basis, round(clock.shift)) for rank, clock in profile.clocks.items()} == {
        0: ("same-host", 0), 1: ("same-host", 0), 2: ("collectives", 0), 3: ("collectives", 0),
    }  # fmt: skip
    assert [milliseconds(profile, rank)["waiting"] for rank in range(4)] == [6, 0, 6, 6]
    assert profile.remarks == []


def test_without_common_collectives_the_reader_is_told() -> None:
    made = gloo_traces(2, {})
    made[1].host = "node2"
    made[1].events = [event for event in made[1].events if not event["name"].startswith("gloo")]
    profile = profiled(*made)
    assert profile.clocks[1].basis == "unaligned" and any("clocks" in each for each in profile.remarks)
    assert milliseconds(profile, 0)["waiting"] is None and milliseconds(profile, 0)["communication"] == 4


def test_of_ranks_that_are_missing_waiting_is_not_known() -> None:
    profile = profiled(*gloo_traces(4, {1: 6.0})[:2])
    assert milliseconds(profile, 0)["waiting"] is None and milliseconds(profile, 0)["communication"] == 10
    assert dict(profile.shares.ranks[0].unknown) == {"waiting": "missing-ranks"}
    assert profile.to_json()["processes"] == 4 and any("2 of 4" in each for each in profile.remarks)
    assert "late-rank" not in ids(profile)


def test_a_program_whose_communication_the_trace_does_not_show() -> None:
    made = gloo_traces(2, {1: 50.0})
    for trace in made:
        trace.events = [event for event in trace.events if not event["name"].startswith("gloo")]
    profile = profiled(*made)
    assert {part: milliseconds(profile, 0)[part] for part in ("host", "communication", "waiting")} == {
        "host": None, "communication": None, "waiting": None,
    }  # fmt: skip
    assert milliseconds(profile, 0)["other"] == 57 and ids(profile) == []


def test_groups_of_some_ranks_are_matched_among_them() -> None:
    made = [MadeTrace(rank, 4) for rank in range(4)]
    for step in range(4):
        for trace in made:
            trace.step(step, 40 * step, 40 * step + 40)
            late = 5.0 if trace.rank == 3 else 0.0
            pair = "[0, 1]" if trace.rank < 2 else "[2, 3]"
            trace.kernel(40 * step, 40 * step + 20 + late)
            trace.nccl(
                40 * step + 20 + late, 40 * step + 40, "AllGather",
                **{"Process Group Name": pair, "Process Group Ranks": pair, "Group size": 2},
            )  # fmt: skip
    profile = profiled(*made)
    assert [milliseconds(profile, rank)["waiting"] for rank in range(4)] == [0, 0, 5, 0]
    assert dict(profile.shares.caused) == {3: pytest.approx(0.005)}


def test_a_broadcast_makes_nobody_wait_for_the_last() -> None:
    made = gloo_traces(2, {1: 6.0})
    for trace in made:
        for event in trace.events:
            event["name"] = event["name"].replace("gloo:all_reduce", "gloo:broadcast")
    profile = profiled(*made)
    assert milliseconds(profile, 0)["waiting"] is None and milliseconds(profile, 0)["communication"] == 10


def test_without_steps_those_of_the_optimizer_count_and_without_those_all_is_one() -> None:
    trace = MadeTrace()
    for step in range(4):
        trace.operator(10 * step, 10 * step + 8)
        trace.add("user_annotation", "Optimizer.step#SGD.step", 10 * step + 8, 10 * step + 9)
    profile = profiled(trace)
    assert profile.shares.ranks[0].steps == 3 and profile.shares.ranks[0].seconds == pytest.approx(0.01)
    trace.events = [event for event in trace.events if event["cat"] == "cpu_op"]
    profile = profiled(trace)
    assert profile.shares.ranks[0].steps == 1 and not profile.marked
    assert any("mark no steps" in each for each in profile.remarks) and profile.verdict.startswith("no verdict")


def test_memory_is_told_where_it_was_recorded() -> None:
    trace = gloo_traces(1, {})[0]
    assert profiled(trace).memory == {}
    for total, kind in ((100, 0), (900, 0), (300, 0), (5000, 1)):
        trace.memory(1.0, total, kind)
    assert profiled(trace).memory == {"tensors": 900, "device": 5000}


def test_operators_are_told_by_their_own_time() -> None:
    trace = MadeTrace()
    trace.step(0, 0, 100)
    trace.operator(0, 50, "aten::linear")
    trace.operator(5, 45, "aten::addmm")
    trace.operator(60, 70, "aten::addmm")
    assert [(each.name, each.calls, round(1e3 * each.seconds, 3)) for each in profiled(trace).operators] == [
        ("aten::addmm", 2, 50), ("aten::linear", 1, 10),
    ]  # fmt: skip


def test_two_traces_of_one_rank_are_refused(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    files = [gloo_traces(2, {})[0].write(tmp_path / name) for name in ("a", "b")]
    with pytest.raises(RequestError, match="both of rank 0"):
        read_profile(files)


def test_traces_that_do_not_say_their_rank_are_numbered(tmp_path: Path) -> None:
    made = gloo_traces(2, {1: 6.0})
    files = []
    for trace in made:
        value = trace.value()
        del value["distributedInfo"]
        files.append(tmp_path / f"trace{trace.rank}.json")
        files[-1].write_text(json.dumps(value))
    assert read_profile(files).to_json()["late_rank"] == 1


spans = st.lists(st.tuples(st.floats(0, 100), st.floats(0, 30)), max_size=12)


@settings(max_examples=40)
@given(st.lists(st.tuples(spans, spans, spans, spans, spans), min_size=1, max_size=3))
def test_the_parts_always_add_up_to_the_step(ranks: list[tuple[list[tuple[float, float]], ...]]) -> None:
    made = []
    for rank, (loading, operators, gloo, kernels, nccl) in enumerate(ranks):
        trace = MadeTrace(rank, len(ranks))
        for step in range(3):
            trace.step(step, 40 * step, 40 * step + 40)
        for add, intervals in (
            (trace.loader, loading), (trace.operator, operators), (trace.gloo, gloo), (trace.kernel, kernels),
            (trace.nccl, nccl),
        ):  # fmt: skip
            for begin, took in intervals:
                add(begin, begin + took)
        made.append(trace)
    profile = profiled(*made)
    for each in profile.shares.ranks:
        parts = [getattr(each, part) for part in PARTS]
        assert sum(part for part in parts if part is not None) == pytest.approx(each.seconds, rel=1e-6)
        assert all(part is None or part >= -1e-12 for part in parts)
    assert json.loads(json.dumps(profile.to_json(), allow_nan=False))


def test_a_rank_has_entered_when_the_program_called() -> None:
    made = gloo_traces(2, {1: 6.0})
    for trace in made:
        for event in [each for each in trace.events if each["name"] == "gloo:all_reduce"]:
            called = (event["ts"] - 1e6) / 1e3
            trace.add("cpu_op", "c10d::allreduce_", called, called + 0.1)
            event["ts"], event["dur"] = event["ts"] + 1500, event["dur"] - 1500  # the thread takes it up later
    profile = profiled(*made)
    assert [milliseconds(profile, rank)["waiting"] for rank in (0, 1)] == [6, 0]
    assert [milliseconds(profile, rank)["communication"] for rank in (0, 1)] == [4, 4]


def test_a_recorded_trace_of_torch() -> None:
    """Of torch 2.13.0, two ranks of DDP on gloo; rank 1 slept 50 ms in each step, on a busy machine of two cores."""
    files = [TESTS / f"samples/torch_profiler/late-rank-{rank}.json.gz" for rank in range(2)]
    found = read_profile(files).to_json()
    assert (found["processes"], found["late_rank"], found["remarks"]) == (2, 1, [])
    assert [each["steps"] for each in found["ranks"]] == [5, 5]
    assert [each["clock"]["basis"] for each in found["ranks"]] == ["same-host", "same-host"]
    assert found["ranks"][0]["waiting"] == pytest.approx(0.0516, abs=0.002)
    assert found["ranks"][1]["waiting"] == 0 and found["ranks"][1]["host"] == pytest.approx(0.0529, abs=0.002)
    for each in found["ranks"]:
        assert sum(each[part] for part in PARTS) == pytest.approx(each["seconds"], rel=1e-4)
    assert found["findings"][0]["id"] == "late-rank" and found["operators"][0]["name"] == "aten::mm"
    assert {each["rank"] for each in found["gaps"][:5]} == {1}
